"""Every kind of job, as cards: what pages offer, what the queue carries, what the command line runs."""

from __future__ import annotations

from core.registry import Card, Registry

_HOUSE = "Themescope"

REGISTRY = Registry(
    "kind of job",
    [
        Card(
            id="import-corpus",
            title="Import a corpus",
            summary="Reads files of articles with sections, splits them into sentences and stores them.",
            source=_HOUSE,
            factory="jobs.import_corpus:run",
            config="jobs.import_corpus:ImportConfig",
        ),
        Card(
            id="build-triplets",
            title="Sample triplets",
            summary="Samples weakly labelled triplets (pivot, same section, other section) from a corpus.",
            source="Ein Dor et al. 2018, section 3",
            factory="jobs.build_triplets:run",
            config="jobs.build_triplets:TripletsConfig",
        ),
        Card(
            id="build-benchmark",
            title="Build a benchmark",
            summary="Chooses articles whose sections are the true clusters of their sentences.",
            source="Ein Dor et al. 2018, section 4.2 (Sentence Clustering Benchmark)",
            factory="jobs.build_benchmark:run",
            config="jobs.build_benchmark:BenchmarkConfig",
        ),
        Card(
            id="train",
            title="Train a method",
            summary="Fits a method to triplets or sentences and keeps it as a model.",
            source="Ein Dor et al. 2018, section 3",
            factory="jobs.train:run",
            config="jobs.train:TrainConfig",
        ),
        Card(
            id="add-model",
            title="Add a saved model",
            summary="Takes a folder with a saved model into the store.",
            source=_HOUSE,
            factory="jobs.add_model:run",
            config="jobs.add_model:AddModelConfig",
        ),
        Card(
            id="embed",
            title="Embed a corpus",
            summary="Computes the vector of every sentence of a corpus and stores one block an article.",
            source=_HOUSE,
            factory="jobs.embed:run",
            config="jobs.embed:EmbedConfig",
        ),
        Card(
            id="evaluate-triplets",
            title="Triplet accuracy",
            summary="Measures how often a model puts the pivot closer to the sentence of its own section.",
            source="Ein Dor et al. 2018, section 4.1",
            factory="jobs.evaluate_triplets:run",
            config="jobs.evaluate_triplets:EvaluateTripletsConfig",
        ),
        Card(
            id="cluster",
            title="Cluster a benchmark",
            summary="Clusters every article of a benchmark and scores the clusters against its sections.",
            source="Ein Dor et al. 2018, section 4.2",
            factory="jobs.cluster:run",
            config="jobs.cluster:ClusterConfig",
        ),
        Card(
            id="evaluate-relatedness",
            title="Relatedness of sentence pairs",
            summary="Measures how well a model's vectors tell the relatedness of the sentence pairs of SICK.",
            source="Kiros et al. 2015, section 3.1; Ein Dor et al. 2018",
            factory="jobs.evaluate_relatedness:run",
            config="jobs.evaluate_relatedness:EvaluateRelatednessConfig",
        ),
        Card(
            id="evaluate-topics",
            title="Topics of sentences",
            summary="Measures how well a model's vectors tell the topic of a document, by classifying and clustering.",
            source="Saha et al. 2017, section 4",
            factory="jobs.evaluate_topics:run",
            config="jobs.evaluate_topics:EvaluateTopicsConfig",
        ),
        Card(
            id="evaluate-summaries",
            title="Summaries",
            summary="Summarises documents by the most central sentences and compares with people's summaries.",
            source="Saha et al. 2017, section 4.3; Lin 2004 (ROUGE)",
            factory="jobs.evaluate_summaries:run",
            config="jobs.evaluate_summaries:EvaluateSummariesConfig",
        ),
        Card(
            id="reproduce",
            title="Reproduce the tables of a paper",
            summary="Samples, trains, clusters and tests whatever the tables of a paper need and the store lacks.",
            source=_HOUSE,
            factory="jobs.reproduce:run",
            config="jobs.reproduce:ReproduceConfig",
            tags=frozenset({"runs-others"}),
        ),
        Card(
            id="project",
            title="Draw a map",
            summary="Projects sentences to two dimensions and measures how faithful the map is.",
            source="McInnes, Healy and Melville 2018 (UMAP)",
            factory="jobs.project:run",
            config="jobs.project:ProjectConfig",
        ),
        Card(
            id="import-list",
            title="Take in a list of sentences",
            summary="Reads one column of a text, CSV, JSON lines or Excel file as a corpus of its own.",
            source=_HOUSE,
            factory="jobs.import_list:run",
            config="jobs.import_list:ImportListConfig",
        ),
        Card(
            id="find-themes",
            title="Find themes",
            summary="Clusters all sentences of a corpus, suggests how many clusters there are, and names them.",
            source="Slonim et al. 2005 (Iclust); Grootendorst 2022 (class-based tf-idf)",
            factory="jobs.find_themes:run",
            config="jobs.find_themes:FindThemesConfig",
        ),
    ],
)
