"""Job kinds, as cards through which the queue, the pages and the command line use them.

A kind is a config (a :class:`~themescope.jobs.common.job.JobConfig`) and a function of it and a context, which returns
the result as a mapping of JSON values; kinds of the same noun share a module. A job may be interrupted at any time and
run again, so the function finds what is stored already. Other packages add kinds through entry points of the group
``themescope.job_kinds``.

Tags: ``fills-a-corpus`` and ``fills-a-triplet-set``: the job writes, in several transactions, the corpus named by its
argument ``corpus`` or the triplet set named by ``name``, so an unfinished one is not removed while the job is queued or
running. ``adds-a-wave``: the job writes a hidden corpus first, which stays likewise. ``runs-others``: the job runs jobs
of other kinds as steps, so nothing unfinished is removed while it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints

from themescope.core.config import Config
from themescope.core.errors import PluginError
from themescope.core.registry import Card, Registry
from themescope.jobs.common.job import JobConfig


@dataclass(frozen=True, slots=True)
class ResultLink:
    """Link to the view of a page that shows the result of a job."""

    page: str
    """Id of the page."""
    view: Mapping[str, str] = field(default_factory=dict)
    """Parameters of the page with fixed values."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Parameter of the page → argument or result of the job with its value."""

    def view_of(self, known: Mapping[str, Any]) -> dict[str, str] | None:
        """Return the parameters of the page, given a job's arguments and results; None where one is missing."""
        if not known.keys() >= set(self.names.values()):
            return None
        return {**self.view, **{name: str(known[key]) for name, key in self.names.items()}}


@dataclass(frozen=True, slots=True)
class JobCard(Card):
    """Declaration of a job kind; ``factory`` names the function that does the work."""

    source: str = "Themescope"
    factory: str = ""
    config: str = ""
    """Class of the arguments; by default the type of the function's parameter ``args``."""
    pages: tuple[str, ...] = ()
    """Ids of the pages that show the progress of such jobs; the page of all jobs shows every kind."""
    link: ResultLink | None = None
    """Link to the result, if a page shows it."""

    def config_class(self) -> type[Config]:
        """Import and return the class of the arguments."""
        if self.config:
            return Card.config_class(self)
        declared: type[Config] | None = get_type_hints(self.resolve()).get("args")
        if declared is None:
            raise PluginError(self.factory, "its parameter 'args' must be annotated with a subclass of Config.")
        return declared


REGISTRY = Registry(
    "job kind",
    [
        JobCard(
            id="import-corpus",
            title="Import a corpus",
            summary="Reads files of articles with sections, splits them into sentences and stores them.",
            factory="themescope.jobs.kinds.import_corpus:import_corpus",
            revision=3,
            tags=frozenset({"fills-a-corpus"}),
            pages=("texts", "import"),
            link=ResultLink("texts", {"view": "Read"}, {"corpus": "corpus"}),
        ),
        JobCard(
            id="append-corpus",
            title="Add files to a corpus",
            summary="Adds the articles of files to a corpus as a wave; nothing that is stored changes.",
            factory="themescope.jobs.kinds.append_corpus:append_corpus",
            tags=frozenset({"adds-a-wave"}),
            pages=("texts", "import"),
            link=ResultLink("texts", {"view": "Read"}, {"corpus": "corpus"}),
        ),
        JobCard(
            id="import-codings",
            title="Import codings",
            summary="Makes the codes of a REFI-QDA project, or of a table of labels, labellings of a corpus.",
            factory="themescope.jobs.services.importing:import_codings",
            pages=("texts", "import", "code", "codebook"),
            link=ResultLink("code", {}, {"labelling": "labelling"}),
        ),
        JobCard(
            id="place-wave",
            title="Place a wave",
            summary="Embeds the sentences of a wave, adds them to maps, predicts their codes and finds new themes.",
            source="McInnes et al. 2018 (transform), Kulldorff 1997 (scan statistic), Guo et al. 2017 (calibration)",
            factory="themescope.jobs.kinds.place_wave:place_wave",
            pages=("texts", "import", "code", "map"),
            link=ResultLink("texts", {"view": "Read"}, {"corpus": "corpus"}),
        ),
        JobCard(
            id="import-triplets",
            title="Import triplets",
            summary="Stores triplets of a file (pivot, positive, negative) as a set, and their sentences as a project.",
            factory="themescope.jobs.kinds.triplets:import_triplets",
            tags=frozenset({"fills-a-corpus", "fills-a-triplet-set"}),
            pages=("triplets",),
            link=ResultLink("triplets", {"view": "Browse"}, {"set": "triplets"}),
        ),
        JobCard(
            id="build-triplets",
            title="Sample triplets",
            summary="Samples weakly labelled triplets (pivot, same section, other section) from a corpus.",
            source="Ein Dor et al. 2018, section 3",
            factory="themescope.jobs.kinds.triplets:build_triplets",
            tags=frozenset({"fills-a-triplet-set"}),
            pages=("triplets",),
            link=ResultLink("triplets", {"view": "Browse"}, {"set": "triplets"}),
        ),
        JobCard(
            id="clean-triplets",
            title="Remove bad triplets",
            summary="Copies a triplet set without the triplets that reviewers marked as bad.",
            factory="themescope.jobs.kinds.triplets:clean_triplets",
            tags=frozenset({"fills-a-triplet-set"}),
            pages=("triplets",),
            link=ResultLink("triplets", {"view": "Browse"}, {"set": "triplets"}),
        ),
        JobCard(
            id="learn-labels",
            title="Sample triplets from labels",
            summary="Samples triplets from the clusters of labellings; articles of the test split are left out.",
            factory="themescope.jobs.kinds.triplets:learn_labels",
            tags=frozenset({"fills-a-triplet-set"}),
            link=ResultLink("triplets", {"view": "Browse"}, {"set": "triplets"}),
        ),
        JobCard(
            id="predict-labels",
            title="Label the rest",
            summary="Predicts the codes of the sentences that nobody has labelled, with their probabilities.",
            source="Zhou et al. 2004 (label spreading), Guo et al. 2017 (calibration)",
            factory="themescope.jobs.kinds.code_with_model:predict_labels",
            pages=("code",),
            link=ResultLink("code", {"view": "Label the rest"}, {"labelling": "labelling"}),
        ),
        JobCard(
            id="code-with-model",
            title="Code with a language model",
            summary="Asks a language model for codes by the codebook, after a person agreed to send the texts.",
            factory="themescope.jobs.kinds.code_with_model:code_with_model",
            pages=("code",),
            link=ResultLink("code", {}, {"labelling": "labelling"}),
        ),
        JobCard(
            id="build-benchmark",
            title="Build a benchmark",
            summary="Chooses articles whose sections are the true clusters of their sentences.",
            source="Ein Dor et al. 2018, section 3.3 (Sentence Clustering Benchmark)",
            factory="themescope.jobs.kinds.benchmarks:build_benchmark",
            pages=("compare",),
        ),
        JobCard(
            id="train",
            title="Train a model",
            summary="Fits a method to triplets or sentences and stores it as a model.",
            source="Ein Dor et al. 2018, section 4",
            factory="themescope.jobs.kinds.train:train",
            pages=("triplets", "train"),
            link=ResultLink("train", {}, {"model": "model"}),
        ),
        JobCard(
            id="add-model",
            title="Add a saved model",
            summary="Copies a folder with a saved model into the store.",
            factory="themescope.jobs.kinds.train:add_saved_model",
            pages=("themes", "train"),
            link=ResultLink("train", {}, {"model": "model"}),
        ),
        JobCard(
            id="embed",
            title="Embed a corpus",
            summary="Computes the vector of every sentence of a corpus and stores one block per article.",
            factory="themescope.jobs.kinds.project:embed",
            pages=("compare", "map"),
        ),
        JobCard(
            id="evaluate-triplets",
            title="Measure triplet accuracy",
            summary="Measures how often a model puts the pivot closer to the sentence of its own section.",
            source="Ein Dor et al. 2018, section 5.1",
            factory="themescope.jobs.kinds.evaluate:evaluate_triplets",
            pages=("triplets", "compare"),
        ),
        JobCard(
            id="cluster",
            title="Cluster a benchmark",
            summary="Clusters every article of a benchmark and scores the clusters against its sections.",
            source="Ein Dor et al. 2018, section 5.1",
            factory="themescope.jobs.kinds.benchmarks:cluster",
            pages=("compare",),
        ),
        JobCard(
            id="evaluate-relatedness",
            title="Measure the relatedness of sentence pairs",
            summary="Measures how well a model's vectors predict the relatedness of the sentence pairs of SICK.",
            source="Kiros et al. 2015, section 3.1; Ein Dor et al. 2018, section 5.2",
            factory="themescope.jobs.kinds.evaluate:evaluate_relatedness",
        ),
        JobCard(
            id="evaluate-topics",
            title="Classify and cluster topics",
            summary="Measures how well a model's vectors predict the topic of a sentence's document.",
            source="Saha et al. 2017, section 4",
            factory="themescope.jobs.kinds.evaluate:evaluate_topics",
        ),
        JobCard(
            id="evaluate-summaries",
            title="Evaluate summaries",
            summary="Summarises documents by their most central sentences and compares with reference summaries.",
            source="Saha et al. 2017, section 4.3; Lin 2004 (ROUGE)",
            factory="themescope.jobs.kinds.evaluate:evaluate_summaries",
        ),
        JobCard(
            id="reproduce",
            title="Reproduce the tables of a paper",
            summary="Runs the experiments of a paper's tables, except those whose results are stored already.",
            factory="themescope.jobs.papers.tables:run",
            tags=frozenset({"runs-others"}),
        ),
        JobCard(
            id="project",
            title="Compute a map",
            summary="Projects sentences to two dimensions and measures how faithful the map is.",
            source="McInnes, Healy and Melville 2018 (UMAP)",
            factory="themescope.jobs.kinds.project:project",
            revision=4,
            pages=("map",),
            link=ResultLink("map", {}, {"corpus": "corpus", "map": "map"}),
        ),
        JobCard(
            id="import-list",
            title="Import a list of sentences",
            summary="Reads a column of sentences of a text, CSV, Excel, Parquet or JSON lines file.",
            factory="themescope.jobs.kinds.import_corpus:import_list",
            revision=2,
            tags=frozenset({"fills-a-corpus"}),
            link=ResultLink("texts", {"view": "Read"}, {"corpus": "corpus"}),
        ),
        JobCard(
            id="export-bundle",
            title="Export a bundle",
            summary="Writes a corpus with its labellings, and models with their vectors, to one file.",
            factory="themescope.jobs.kinds.bundles:export_bundle",
            pages=("texts", "import"),
            link=ResultLink("texts", {"view": "Bundle and dataset"}, {"corpus": "corpus"}),
        ),
        JobCard(
            id="export-dataset",
            title="Export a dataset",
            summary="Writes a corpus, with labels if wanted, as the folder of a Hugging Face dataset.",
            factory="themescope.jobs.kinds.bundles:export_dataset",
            pages=("texts", "import"),
            link=ResultLink("texts", {"view": "Bundle and dataset"}, {"corpus": "corpus"}),
        ),
        JobCard(
            id="import-bundle",
            title="Import a bundle",
            summary="Stores a corpus with its labellings, history and vectors from one file, or nothing if it fails.",
            factory="themescope.jobs.kinds.bundles:import_bundle",
            tags=frozenset({"fills-a-corpus"}),
            pages=("texts", "import"),
            link=ResultLink("texts", {"view": "Read"}, {"corpus": "corpus"}),
        ),
        JobCard(
            id="find-themes",
            title="Find themes",
            summary="Clusters all sentences of a corpus, suggests a number of clusters, and names them.",
            source="Slonim et al. 2005 (Iclust); Grootendorst 2022 (class-based tf-idf)",
            factory="themescope.jobs.kinds.themes:find_themes_of_corpus",
            revision=14,
            pages=("themes",),
        ),
        JobCard(
            id="name-themes",
            title="Name themes by a language model",
            summary="Asks a language model for names of themes, after a person agreed to send their texts.",
            factory="themescope.jobs.kinds.themes:name_themes",
            pages=("themes",),
        ),
    ],
    plugin_group="themescope.job_kinds",
)


def check_job(kind: str, args: Mapping[str, Any]) -> JobConfig:
    """Return the config of a job; raise ``ConfigError`` or ``UnknownNameError`` if its arguments are invalid."""
    config = REGISTRY.configure(kind, args)
    assert isinstance(config, JobConfig)
    return config


def shown_on(page: str) -> frozenset[str]:
    """Return the ids of the kinds whose progress a page shows."""
    return frozenset(card.id for card in REGISTRY if page in card.pages)
