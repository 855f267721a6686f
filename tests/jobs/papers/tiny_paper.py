"""A paper with a table of every kind of measurement, small enough to be reproduced within a test."""

from themescope.core.papers.spec import (
    SIMILAR,
    Accuracy,
    BenchmarkData,
    Claim,
    ClusteringMeasures,
    CountBenchmark,
    CountTriplets,
    ExamplePredictions,
    MetricColumn,
    ModelSpec,
    Paper,
    RelatednessMeasures,
    ResultTable,
    Row,
    RunProfile,
    TripletSource,
)

NET = {"hidden": 4, "attention": 4, "epochs": 1, "triplets_per_epoch": 64, "batch_size": 32, "threads": 1}
SAME = "Nothing differs."
KNOWN = ("A pair of the test part", "Another one")
ACCURACY = (MetricColumn("accuracy", "Accuracy"),)
AMI = (MetricColumn("ami", "AMI"),)


def _counts(id: str, row: Row, *metrics: str) -> ResultTable:
    return ResultTable(
        id, f"Counts {id}", "section 1", "What there is.", tuple(MetricColumn(m, m, 0) for m in metrics), (row,)
    )


TINY = Paper(
    id="tiny",
    title="A tiny paper",
    citation="Nobody 2000, On nothing.",
    triplets=(TripletSource("sentences", replaceable=True), TripletSource("titles", kind="titles")),
    benchmarks=(BenchmarkData("scb"),),
    models=(
        ModelSpec("mean", "mean-vectors", words="text", random=False),
        ModelSpec("mean-pairs", "mean-vectors", words="pairs", random=False),
        ModelSpec("net", "triplets-sen", "sentences", "text", budget="net"),
        ModelSpec("titles", "triplets-titles", "titles", "text", budget="net"),
        ModelSpec("both", "triplets-sen-titles", settings={"unit_components": True}, parts=("net", "titles")),
        ModelSpec("tfidf", "tfidf", random=False),
        ModelSpec("default", "triplets-sen", random=False, pretrained="default"),
    ),
    tables=(
        _counts("1", Row("t", "triplets", CountTriplets("sentences"), SAME, {"train": 100.0}), "train", "articles"),
        ResultTable(
            "2",
            "Accuracy",
            "section 2",
            "Share of triplets.",
            ACCURACY,
            (
                Row("mean", "mean-vectors", Accuracy("mean", "sentences"), SAME, {"accuracy": 0.65}),
                Row("net", "net | small", Accuracy("net", "sentences"), SAME, {"accuracy": 0.74}),
                Row("related", "by relatedness", Accuracy("mean", "sentences", regressor=True), "Needs SICK."),
            ),
            (Claim("net", "mean", "accuracy"), Claim("mean", "related", "accuracy", SIMILAR)),
        ),
        _counts("3", Row("b", "benchmark", CountBenchmark("scb"), SAME, {"articles": 692.0}), "articles", "clusters"),
        ResultTable(
            "4",
            "Clusters",
            "section 3",
            "Clusters of sentences.",
            AMI,
            (
                Row("both", "both", ClusteringMeasures("both", "iclust", "scb", {"restarts": 2}), SAME, {"ami": 0.3}),
                Row("tfidf", "tfidf", ClusteringMeasures("tfidf", "iclust", "scb"), "Ours."),
                Row("random", "random", ClusteringMeasures("", "random", "scb"), "Ours."),
            ),
            (Claim("both", "random", "ami"), Claim("tfidf", "random", "ami")),
        ),
        ResultTable(
            "5",
            "Pairs",
            "section 4",
            "Pairs of sentences.",
            (MetricColumn("pearson", "r"), MetricColumn("mse", "MSE", lower_is_better=True)),
            (
                Row("mean", "mean-vectors", RelatednessMeasures("mean"), SAME, {"pearson": 0.7, "mse": 0.4}),
                Row("default", "what comes along", RelatednessMeasures("default", regressor=False), "Ours."),
                Row("pairs", "vectors of the pairs", RelatednessMeasures("mean-pairs", regressor=False), "Ours."),
            ),
        ),
        ResultTable(
            "examples",
            "Example predictions",
            "section 4",
            "Pairs of sentences.",
            (MetricColumn("score", "Score", 1), MetricColumn("mean-vectors", "mean-vectors", 1)),
            (
                Row("known", "a test pair", ExamplePredictions(KNOWN, {"mean-vectors": "mean"}), SAME, {"score": 4.5}),
                Row("other", "no pair", ExamplePredictions(("A", "B"), {"mean-vectors": "mean"}), SAME),
            ),
        ),
    ),
    profiles=(
        RunProfile("quick", "Quick", "Less of everything.", (0, 1, 2), {"profile": "paper-like"}, {}, {"net": NET}),
        RunProfile("full", "Full", "All.", (0, 1, 2)),
    ),
)
