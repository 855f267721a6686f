"""Every kind of job, as cards: what pages offer, what the queue carries, what the command line runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.registry import Card, Registry
from jobs.common.config import JobConfig

_HOUSE = "Themescope"

REGISTRY = Registry(
    "kind of job",
    [
        Card(
            id="import-corpus",
            title="Import a corpus",
            summary="Reads files of articles with sections, splits them into sentences and stores them.",
            source=_HOUSE,
            factory="jobs.kinds.import_corpus:run",
            config="jobs.kinds.import_corpus:ImportConfig",
            tags=frozenset({"fills-a-corpus"}),
        ),
        Card(
            id="build-triplets",
            title="Sample triplets",
            summary="Samples weakly labelled triplets (pivot, same section, other section) from a corpus.",
            source="Ein Dor et al. 2018, section 3",
            factory="jobs.kinds.build_triplets:run",
            config="jobs.kinds.build_triplets:TripletsConfig",
        ),
        Card(
            id="clean-triplets",
            title="Leave out bad triplets",
            summary="Makes a triplet set without the triplets that people called bad.",
            source=_HOUSE,
            factory="jobs.kinds.clean_triplets:run",
            config="jobs.kinds.clean_triplets:CleanTripletsConfig",
        ),
        Card(
            id="learn-labels",
            title="Triplets from labels",
            summary="Makes triplets of what people placed in labellings; test articles never teach.",
            source=_HOUSE,
            factory="jobs.kinds.learn_labels:run",
            config="jobs.kinds.learn_labels:LearnConfig",
        ),
        Card(
            id="build-benchmark",
            title="Build a benchmark",
            summary="Chooses articles whose sections are the true clusters of their sentences.",
            source="Ein Dor et al. 2018, section 4.2 (Sentence Clustering Benchmark)",
            factory="jobs.kinds.build_benchmark:run",
            config="jobs.kinds.build_benchmark:BenchmarkConfig",
        ),
        Card(
            id="train",
            title="Train a method",
            summary="Fits a method to triplets or sentences and keeps it as a model.",
            source="Ein Dor et al. 2018, section 3",
            factory="jobs.kinds.train:run",
            config="jobs.kinds.train:TrainConfig",
        ),
        Card(
            id="add-model",
            title="Add a saved model",
            summary="Takes a folder with a saved model into the store.",
            source=_HOUSE,
            factory="jobs.kinds.add_model:run",
            config="jobs.kinds.add_model:AddModelConfig",
        ),
        Card(
            id="embed",
            title="Embed a corpus",
            summary="Computes the vector of every sentence of a corpus and stores one block an article.",
            source=_HOUSE,
            factory="jobs.kinds.embed:run",
            config="jobs.kinds.embed:EmbedConfig",
        ),
        Card(
            id="evaluate-triplets",
            title="Triplet accuracy",
            summary="Measures how often a model puts the pivot closer to the sentence of its own section.",
            source="Ein Dor et al. 2018, section 4.1",
            factory="jobs.kinds.evaluate_triplets:run",
            config="jobs.kinds.evaluate_triplets:EvaluateTripletsConfig",
        ),
        Card(
            id="cluster",
            title="Cluster a benchmark",
            summary="Clusters every article of a benchmark and scores the clusters against its sections.",
            source="Ein Dor et al. 2018, section 4.2",
            factory="jobs.kinds.cluster:run",
            config="jobs.kinds.cluster:ClusterConfig",
        ),
        Card(
            id="evaluate-relatedness",
            title="Relatedness of sentence pairs",
            summary="Measures how well a model's vectors tell the relatedness of the sentence pairs of SICK.",
            source="Kiros et al. 2015, section 3.1; Ein Dor et al. 2018",
            factory="jobs.kinds.evaluate_relatedness:run",
            config="jobs.kinds.evaluate_relatedness:EvaluateRelatednessConfig",
        ),
        Card(
            id="evaluate-topics",
            title="Topics of sentences",
            summary="Measures how well a model's vectors tell the topic of a document, by classifying and clustering.",
            source="Saha et al. 2017, section 4",
            factory="jobs.kinds.evaluate_topics:run",
            config="jobs.kinds.evaluate_topics:EvaluateTopicsConfig",
        ),
        Card(
            id="evaluate-summaries",
            title="Summaries",
            summary="Summarises documents by the most central sentences and compares with people's summaries.",
            source="Saha et al. 2017, section 4.3; Lin 2004 (ROUGE)",
            factory="jobs.kinds.evaluate_summaries:run",
            config="jobs.kinds.evaluate_summaries:EvaluateSummariesConfig",
        ),
        Card(
            id="reproduce",
            title="Reproduce the tables of a paper",
            summary="Samples, trains, clusters and tests whatever the tables of a paper need and the store lacks.",
            source=_HOUSE,
            factory="jobs.papers.job:run",
            config="jobs.papers.job:ReproduceConfig",
            tags=frozenset({"runs-others"}),
        ),
        Card(
            id="project",
            title="Draw a map",
            summary="Projects sentences to two dimensions and measures how faithful the map is.",
            source="McInnes, Healy and Melville 2018 (UMAP)",
            factory="jobs.kinds.project:run",
            config="jobs.kinds.project:ProjectConfig",
        ),
        Card(
            id="import-list",
            title="Take in a list of sentences",
            summary="Reads one column of a text, CSV, JSON lines or Excel file as a corpus of its own.",
            source=_HOUSE,
            factory="jobs.kinds.import_list:run",
            config="jobs.kinds.import_list:ImportListConfig",
        ),
        Card(
            id="export-bundle",
            title="Export a bundle",
            summary="Writes a corpus with its labellings, and models with their vectors, into one file.",
            source=_HOUSE,
            factory="jobs.kinds.export_bundle:run",
            config="jobs.kinds.export_bundle:ExportBundleConfig",
        ),
        Card(
            id="import-bundle",
            title="Take in a bundle",
            summary="Takes in a corpus with its labellings, history and vectors from one file; all of it or nothing.",
            source=_HOUSE,
            factory="jobs.kinds.import_bundle:run",
            config="jobs.kinds.import_bundle:ImportBundleConfig",
            tags=frozenset({"fills-a-corpus"}),
        ),
        Card(
            id="find-themes",
            title="Find themes",
            summary="Clusters all sentences of a corpus, suggests how many clusters there are, and names them.",
            source="Slonim et al. 2005 (Iclust); Grootendorst 2022 (class-based tf-idf)",
            factory="jobs.kinds.find_themes:run",
            config="jobs.kinds.find_themes:FindThemesConfig",
        ),
    ],
    plugin_group="themescope.job_kinds",
)


def check_job(kind: str, args: Mapping[str, Any]) -> JobConfig:
    """Return the config of a job; raises ``ConfigError`` or ``UnknownNameError`` where its arguments are invalid."""
    config = REGISTRY.configure(kind, args)
    assert isinstance(config, JobConfig)
    return config
