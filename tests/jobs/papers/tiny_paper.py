"""A paper with a table of every kind of measurement, small enough to be reproduced within a test."""

from __future__ import annotations

from themescope.core.papers.measures import Accuracy, Clustering, CountBenchmark, CountTriplets, Relatedness
from themescope.core.papers.spec import (
    SIMILAR,
    BenchmarkData,
    Claim,
    Column,
    Model,
    Paper,
    Profile,
    Row,
    Table,
    TripletData,
)

NET = {"hidden": 4, "attention": 4, "epochs": 1, "triplets_per_epoch": 64, "batch_size": 32, "threads": 1}
SAME = "Nothing differs."
ACCURACY = (Column("accuracy", "Accuracy"),)
AMI = (Column("ami", "AMI"),)


def _counts(id: str, row: Row, *metrics: str) -> Table:
    return Table(id, f"Counts {id}", "section 1", "What there is.", tuple(Column(m, m, 0) for m in metrics), (row,))


TINY = Paper(
    id="tiny",
    title="A tiny paper",
    citation="Nobody 2000, On nothing.",
    triplets=(TripletData("sentences", replaceable=True), TripletData("titles", kind="titles")),
    benchmarks=(BenchmarkData("scb"),),
    models=(
        Model("mean", "mean-vectors", words="text", random=False),
        Model("mean-pairs", "mean-vectors", words="pairs", random=False),
        Model("net", "triplets-sen", "sentences", "text", budget="net"),
        Model("titles", "triplets-titles", "titles", "text", budget="net"),
        Model("both", "triplets-sen-titles", settings={"unit_components": True}, parts=("net", "titles")),
        Model("tfidf", "tfidf", random=False),
        Model("default", "triplets-sen", random=False, pretrained="default"),
    ),
    tables=(
        _counts("1", Row("t", "triplets", CountTriplets("sentences"), SAME, {"train": 100.0}), "train", "articles"),
        Table(
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
        Table(
            "4",
            "Clusters",
            "section 3",
            "Clusters of sentences.",
            AMI,
            (
                Row("both", "both", Clustering("both", "iclust", "scb", {"restarts": 2}), SAME, {"ami": 0.3}),
                Row("tfidf", "tfidf", Clustering("tfidf", "iclust", "scb"), "Ours."),
                Row("random", "random", Clustering("", "random", "scb"), "Ours."),
            ),
            (Claim("both", "random", "ami"), Claim("tfidf", "random", "ami")),
        ),
        Table(
            "5",
            "Pairs",
            "section 4",
            "Pairs of sentences.",
            (Column("pearson", "r"), Column("mse", "MSE", lower_is_better=True)),
            (
                Row("mean", "mean-vectors", Relatedness("mean"), SAME, {"pearson": 0.7, "mse": 0.4}),
                Row("default", "what comes along", Relatedness("default", regressor=False), "Ours."),
                Row("pairs", "vectors of the pairs", Relatedness("mean-pairs", regressor=False), "Ours."),
            ),
        ),
    ),
    profiles=(
        Profile("quick", "Quick", "Less of everything.", (0, 1, 2), {"profile": "paper-like"}, {}, {"net": NET}),
        Profile("full", "Full", "All.", (0, 1, 2)),
    ),
)
