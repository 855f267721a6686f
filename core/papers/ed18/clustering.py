"""Table 4 of Ein Dor et al. 2018 (clustering by theme), variants of its k-means, and the whole paper."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from themescope.core.papers.ed18.tables import (
    ABLATIONS,
    BENCHMARK,
    BENCHMARKS,
    JOINED_RAW,
    MODELS,
    OTHER_WORDS,
    OWN,
    PROFILES,
    SCB,
    SMALL_SKIP_THOUGHT,
    SMALLER_DATA,
    TABLE_3,
    TABLE_5,
    TABLE_6,
    TRIPLET_SETS,
    TRIPLETS,
)
from themescope.core.papers.spec import Claim, ClusteringMeasures, MetricColumn, Paper, ResultTable, Row, claims

_COLUMNS = (
    MetricColumn("mi", "MI (nats)"),
    MetricColumn("ami", "AMI (max)"),
    MetricColumn("ri", "RI"),
    MetricColumn("ari", "ARI"),
)
AMI = "ami"
_SETTINGS: Mapping[str, Mapping[str, Any]] = {"iclust": {"restarts": 50}}
_CLUSTERERS = {"iclust": "Iclust", "kmeans": "k-means"}
_SKIP_CS = "skip-thoughts-CS"

_PUBLISHED: Mapping[str, Mapping[str, tuple[float, float, float, float]]] = {
    "iclust": {
        "mean-vectors": (0.811, 0.222, 0.774, 0.154),
        _SKIP_CS: (0.656, 0.125, 0.747, 0.087),
        "triplets-sen-rand-art": (0.885, 0.266, 0.787, 0.192),
        "triplets-sen": (0.935, 0.296, 0.801, 0.224),
        "triplets-titles": (0.904, 0.273, 0.799, 0.206),
        "triplets-sen-titles": (0.945, 0.303, 0.803, 0.230),
    },
    "kmeans": {
        "mean-vectors": (0.706, 0.153, 0.776, 0.103),
        _SKIP_CS: (0.624, 0.099, 0.745, 0.067),
        "triplets-sen-rand-art": (0.793, 0.205, 0.775, 0.145),
        "triplets-sen": (0.873, 0.257, 0.791, 0.195),
        "triplets-titles": (0.836, 0.231, 0.786, 0.172),
        "triplets-sen-titles": (0.873, 0.258, 0.791, 0.194),
    },
}
_MODELS = {_SKIP_CS: "skip-thought"}
_DEVIATIONS = {"mean-vectors": OTHER_WORDS, _SKIP_CS: SMALL_SKIP_THOUGHT, "triplets-sen-titles": JOINED_RAW}
_HOW = {
    "iclust": "Temperature 0 and 50 random starts; the paper gives neither.",
    "kmeans": "Lloyd on unit vectors, greedy k-means++, 10 starts; the paper does not say which k-means.",
}


def _clustering(id: str, title: str, deviation: str, model: str, clusterer: str) -> Row:
    return Row(id, title, ClusteringMeasures(model, clusterer, SCB, _SETTINGS.get(clusterer, {})), deviation)


def _rows(clusterer: str) -> tuple[Row, ...]:
    title, metrics = _CLUSTERERS[clusterer], [column.metric for column in _COLUMNS]
    published = (
        Row(
            f"{clusterer}:{name}",
            f"{name}, {title}",
            ClusteringMeasures(_MODELS.get(name, name), clusterer, SCB, _SETTINGS.get(clusterer, {})),
            f"{_DEVIATIONS.get(name, SMALLER_DATA)} {_HOW[clusterer]}",
            dict(zip(metrics, numbers, strict=True)),
        )
        for name, numbers in _PUBLISHED[clusterer].items()
    )
    own = (
        _clustering(f"{clusterer}:{id}", f"{own_title}, {title}", deviation, id, clusterer)
        for id, (own_title, deviation) in OWN.items()
    )
    return (*published, *own)


_ORDER = ("triplets-sen-titles", "triplets-sen", "triplets-sen-rand-art", "mean-vectors", _SKIP_CS)


_BETTER = {
    "triplets-sen": ("mean-vectors",),
    "triplets-sen-section": ("triplets-sen", "mean-vectors"),
    "default": ("triplets-sen-section", "mean-vectors", "tfidf"),
    "hybrid-section": ("triplets-sen-section", "tfidf", "mean-vectors"),
    "hybrid-default": ("default", "mean-vectors"),
}
_STEPS = (*pairwise(_ORDER), ("triplets-sen", "triplets-titles"), ("triplets-titles", "mean-vectors"))
"""Claims about the order of published rows."""

TABLE_4 = ResultTable(
    "4",
    "Clustering the sentences of an article by theme",
    "Ein Dor et al. 2018, Table 4",
    "Each article is clustered separately into as many clusters as it has sections; means over articles. MI in nats, "
    "AMI normalised by the larger entropy, the variants that the published numbers imply.",
    _COLUMNS,
    (
        *_rows("iclust"),
        *_rows("kmeans"),
        Row("random", "random labels", ClusteringMeasures("", "random", SCB), "Not in the paper: the lower baseline."),
    ),
    (
        *(Claim(f"{clusterer}:{a}", f"{clusterer}:{b}", AMI) for clusterer in _CLUSTERERS for a, b in _STEPS),
        *(Claim(f"iclust:{name}", f"kmeans:{name}", AMI) for name in _PUBLISHED["iclust"]),
        *claims(AMI, _BETTER, "iclust:"),
    ),
)

_VARIANTS = (
    ("iclust", "Iclust", "The row of Table 4."),
    ("kmeans", "k-means on unit vectors", "The row of Table 4."),
    ("kmeans-raw", "k-means on raw vectors", "Another interpretation of the paper."),
    ("kmeans-spherical", "spherical k-means", "Another interpretation of the paper."),
    ("ward", "Ward", "Not in the paper: agglomerative, without random starts."),
    ("spectral", "spectral", "Not in the paper: clusters of the graph of nearest neighbours."),
)
CLUSTERERS = ResultTable(
    "clusterers",
    "Clusterers on the vectors of triplets-sen",
    "Ein Dor et al. 2018, section 5.1 and footnote 4",
    "The paper does not specify its k-means, so every interpretation and further clusterers use the same vectors.",
    _COLUMNS,
    tuple(_clustering(id, title, deviation, "triplets-sen", id) for id, title, deviation in _VARIANTS),
    (Claim("iclust", "kmeans", AMI),),
)

ED18 = Paper(
    id="ed18",
    title="Learning Thematic Similarity Metric Using Triplet Networks",
    citation="Ein Dor, Mass, Halfon, Venezian, Shnayderman, Aharonov, Slonim. ACL 2018 (short papers), 49–54.",
    triplets=TRIPLETS,
    benchmarks=BENCHMARKS,
    models=MODELS,
    tables=(TRIPLET_SETS, BENCHMARK, TABLE_3, TABLE_4, TABLE_5, TABLE_6, ABLATIONS, CLUSTERERS),
    profiles=PROFILES,
    notes=(
        "Tables have the numbers of the paper, and those without a number are ours. The paper's Tables 1 and 2 are "
        "examples of triplets; the page *Triplets* shows ours.",
        "The paper trains on about 650,000 articles. What more articles and passes are worth here is the "
        "[learning curve](experiments.md#learning-curve).",
    ),
)
