"""Ein Dor et al. 2018, *Learning Thematic Similarity Metric (from Article Sections) Using Triplet Networks*.

Published numbers are copied from the paper, whose Tables 3 to 6 have results (Tables 1 and 2 are examples of triplets,
which the page Triplets shows). Tables of our own have names.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from themescope.core.papers.spec import (
    PAIR_WORDS,
    SIMILAR,
    TEXT_WORDS,
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
    Settings,
    TripletSource,
    claims,
)
from themescope.core.tasks.scb import PUBLISHED as SCB_PUBLISHED

# Data, models and profiles of Ein Dor et al. 2018

SENTENCES, TITLES, SAME_ART, RAND_ART = "sentences", "titles", "same-article", "random-article"
EVALUATED = "evaluated"
"""Set whose validation and test triplets are used: at most three pairs of a section, so that long articles, which have
most of the eligible triplets, do not decide alone."""
SCB = "scb"

TRIPLETS = (
    TripletSource(SENTENCES, replaceable=True),
    TripletSource(TITLES, kind="titles"),
    TripletSource(SAME_ART, rules={"negative": "same_article"}),
    TripletSource(RAND_ART, rules={"negative": "random_article"}),
    TripletSource(EVALUATED, rules={"profile": "max-signal"}, replaceable=True),
)


def _net(id: str, triplets: str, method: str, seeds: int = 1, budget: str = "net", **settings: Any) -> ModelSpec:
    settings = {"loss": "paper", "temperature": 1.0, **settings}  # as printed in section 4, which has no temperature
    validation = EVALUATED if triplets == SENTENCES else ""
    return ModelSpec(id, method, triplets, TEXT_WORDS, settings, budget, validation=validation, seeds=seeds)


def _ablation(id: str, **settings: Any) -> ModelSpec:
    return _net(f"ablation-{id}", SENTENCES, "triplets-sen", budget="ablation", **settings)


def _joined(id: str, unit: bool) -> ModelSpec:
    parts = ("triplets-sen", "triplets-titles")
    return ModelSpec(id, "triplets-sen-titles", settings={"unit_components": unit}, parts=parts, seeds=1)


MODELS = (
    ModelSpec("mean-vectors", "mean-vectors", words=TEXT_WORDS, budget="words", random=False),
    ModelSpec("mean-vectors-840b", "mean-vectors", words=PAIR_WORDS, settings={"storage": "fp32"}, random=False),
    ModelSpec("tfidf", "tfidf", random=False),
    ModelSpec("skip-thought", "skip-thought", words=TEXT_WORDS, budget="recurrent"),
    _net("triplets-sen", SENTENCES, "triplets-sen", seeds=3),
    _net("triplets-titles", TITLES, "triplets-titles"),
    _joined("triplets-sen-titles", unit=False),
    _joined("triplets-sen-titles-unit", unit=True),
    _net("triplets-sen-same-art", SAME_ART, "triplets-sen-same-art"),
    _net("triplets-sen-rand-art", RAND_ART, "triplets-sen-rand-art"),
    _ablation("l1"),
    _ablation("l2", distance="l2"),
    _ablation("cosine", distance="cosine"),
    _ablation("cosine-measured", distance="cosine", temperature=None),
    _ablation("facenet", loss="facenet"),
    _ablation("section", loss="section", temperature=None),
    _ablation("dropout-0", dropout_rate=0.0),
    _ablation("dropout-80", dropout_rate=0.8),
    _ablation("dropout-output", dropout_rate=0.8, dropout_sites=("output",)),
    ModelSpec("default", "triplets-sen-titles", random=False, pretrained="triplets-sen-titles-wikipedia"),
    ModelSpec("hybrid-default", "hybrid", parts=("default",), random=False),
)

_SMALL: Settings = {
    "hidden": 32,
    "attention": 16,
    "batch_size": 64,
    "epochs": 1,
    "triplets_per_epoch": 2_000,
    "validation_limit": 500,
    "evaluations_per_epoch": 1,
    "schedule": "linear",
    "vocabulary_limit": 20_000,
    "threads": 1,
}
QUICK = RunProfile(
    "quick",
    "Quick",
    "A test run, not a result: networks of 32 units per direction are trained once on 2,000 triplets, the word table "
    "is limited to its first 20,000 words, and at most 100 articles are evaluated, 40 of the benchmark.",
    seeds=(0, 1, 2),
    articles=100,
    triplet_rules={"profile": "paper-like"},
    benchmark_rules={"max_articles": 40},
    budgets={
        "words": {"vocabulary_limit": 20_000},
        "net": _SMALL,
        "ablation": {**_SMALL, "triplets_per_epoch": 1_000},
        "recurrent": {
            "hidden": 16,
            "decoder": 16,
            "word_dim": 16,
            "vocabulary": 2_000,
            "negatives": 64,
            "sentences_per_epoch": 2_000,
            "vocabulary_limit": 20_000,
            "threads": 1,
        },
    },
)
_AS_PUBLISHED: Settings = {
    "batch_size": 256,
    "batching": "by-article",
    "run_length": 64,
    "schedule": "linear",
    "epochs": 3,
    "evaluations_per_epoch": 8,
    "patience_stop": 16,
    "storage": "fp16",
    "threads": 1,
}
"""Settings that the paper leaves open; units, attention, Adam and its rate are the defaults, which are the paper's.

Batches of whole articles encode a sentence that several triplets share once: four times as many triplets a second as
shuffled ones, and no lower accuracy in the same time (docs/experiments.md, "Learning curve").
"""
FULL = RunProfile(
    "full",
    "Full",
    "As published, on the articles of the data folder: networks of 300 units per direction, Adam at 0.001, the printed "
    "loss, all eligible triplets in three passes while the rate falls to 0, or until the accuracy on validation "
    "triplets has not risen for two; three seeds for triplets-sen and one for each other network. About an hour for "
    "each network on one processor core. "
    "Ablations learn from 200,000 triplets. Skip-Thought is the small version of 600 units, trained once on "
    "24,000 sentences with their neighbours.",
    seeds=(0, 1, 2),
    triplet_rules={"profile": "all"},
    budgets={
        "net": _AS_PUBLISHED,
        "ablation": {**_AS_PUBLISHED, "training_limit": 200_000},
        "recurrent": {"sentences_per_epoch": 24_000, "threads": 1},
    },
)
PROFILES = (QUICK, FULL)

SMALLER_DATA = "Far fewer articles than the 650,000 that the paper trains on, and other word vectors than GloVe 840B."
SMALL_SKIP_THOUGHT = (
    "The pretrained 4,800-d model is not available: it is replaced by a small Skip-Thought trained by us on the "
    "corpus, so the published number is only a reference."
)
JOINED_RAW = "Components are not scaled, so that the longer one has more weight; smaller data as for its components."
JOINED_UNIT = "Our variant: each component is scaled to length 1 before concatenation."
PRETRAINED = (
    "Not in the paper: the pretrained triplet networks of Themescope, trained on all eligible triplets; one model for "
    "all seeds."
)
HYBRID = "Not in the paper: the network's cosine and, with twice the weight, that of Tf-idf within the article."
OTHER_WORDS = "Other word vectors than GloVe 840B (see data)."
OWN: Mapping[str, tuple[str, str]] = {
    "triplets-sen-titles-unit": ("triplets-sen-titles, unit components", JOINED_UNIT),
    "default": ("the pretrained triplet networks of Themescope", PRETRAINED),
    "tfidf": ("Tf-idf within the article", "Not in the paper: a baseline without training."),
    "hybrid-default": ("the pretrained triplet networks of Themescope, with Tf-idf", HYBRID),
}
"""Model of our own → title and remark of its rows."""

ACCURACY = "accuracy"
_ACCURACY_COLUMN = (MetricColumn(ACCURACY, "Accuracy"),)

TRIPLET_SETS = ResultTable(
    "triplet-sets",
    "Triplets by part",
    "Ein Dor et al. 2018, sections 3.1 and 3.2 (sizes in the text)",
    "Triplets sampled from the corpus by the paper's rules; parts are split by article title, 80/10/10.",
    tuple(MetricColumn(name, name.capitalize(), digits=0) for name in ("train", "validation", "test", "articles")),
    (
        Row(
            "sentences",
            "triplets-sen",
            CountTriplets(SENTENCES),
            "Our corpus is a fraction of the dump of May 2017. The profile full takes all eligible pairs of a section; "
            "the paper's numbers imply 2.75 triplets for each article, which its text does not state.",
            {"train": 1_779_417, "validation": 220_400, "test": 222_957, "articles": 809_000},
        ),
        Row(
            "titles",
            "triplets-titles",
            CountTriplets(TITLES),
            "Our corpus is a fraction of the dump of May 2017; published numbers are rounded.",
            {"train": 1_380_000, "validation": 172_000, "test": 173_000},
        ),
        Row(
            "same-article",
            "triplets-sen, negatives from the whole article",
            CountTriplets(SAME_ART),
            "The paper gives no size; the pairs are those of triplets-sen.",
        ),
        Row(
            "random-article",
            "triplets-sen-rand-art",
            CountTriplets(RAND_ART),
            "The paper gives no size; negatives are sampled from other articles of the same part.",
        ),
    ),
)


def _accuracy(id: str, title: str, deviation: str, published: float = 0.0, *, model: str = "") -> Row:
    return Row(id, title, Accuracy(model or id, EVALUATED), deviation, {ACCURACY: published} if published else {})


TABLE_3 = ResultTable(
    "3",
    "Triplet accuracy on unseen articles",
    "Ein Dor et al. 2018, Table 3",
    "Share of test triplets whose pivot is nearer to the positive, a sentence of its section, than to the negative, a "
    "sentence of an adjacent section. Intervals over articles.",
    _ACCURACY_COLUMN,
    (
        _accuracy("mean-vectors", "mean-vectors", OTHER_WORDS, 0.65),
        _accuracy("skip-thoughts-cs", "skip-thoughts-CS", SMALL_SKIP_THOUGHT, 0.615, model="skip-thought"),
        Row(
            "skip-thoughts-sick",
            "skip-thoughts-SICK",
            Accuracy("skip-thought", EVALUATED, regressor=True),
            f"{SMALL_SKIP_THOUGHT} Its regressor is trained on SICK.",
            {ACCURACY: 0.547},
        ),
        _accuracy("triplets-sen", "triplets-sen", SMALLER_DATA, 0.74),
        _accuracy("triplets-titles", "triplets-titles", "Not in the paper's table: trained on titles only."),
        _accuracy("triplets-sen-titles", "triplets-sen-titles", f"Not in the paper's table. {JOINED_RAW}"),
        _accuracy("triplets-sen-rand-art", "triplets-sen-rand-art", "Not in the paper's table."),
        *(_accuracy(id, *own) for id, own in OWN.items() if id != "triplets-sen-titles-unit"),
    ),
    claims(
        ACCURACY,
        {
            "triplets-sen": ("mean-vectors", "triplets-sen-rand-art"),
            "mean-vectors": ("skip-thoughts-cs",),
            "skip-thoughts-cs": ("skip-thoughts-sick",),
            "default": ("triplets-sen", "mean-vectors", "tfidf"),
            "hybrid-default": ("default", "mean-vectors"),
        },
    ),
)

_SCB_TITLES = {
    "articles": "Articles",
    "clusters": "Clusters",
    "sentences": "Sentences",
    "clusters_per_article_mean": "Clusters per article",
    "sentences_per_article_mean": "Sentences per article",
    "cluster_size_median": "Median cluster size",
    "cluster_size_mean": "Mean cluster size",
    "cluster_size_max": "Largest cluster",
    "tokens_mean": "Tokens per sentence",
}
_WHOLE = ("articles", "clusters", "sentences", "cluster_size_max")
BENCHMARK = ResultTable(
    "benchmark",
    "The clustering benchmark",
    "Ein Dor et al. 2018, section 3.3 (SCB; sizes of version 1.0.2)",
    "Articles whose sections are the true clusters of their sentences, from the test part only.",
    tuple(MetricColumn(metric, title, digits=0 if metric in _WHOLE else 1) for metric, title in _SCB_TITLES.items()),
    (
        Row(
            "scb",
            "SCB",
            CountBenchmark(SCB),
            "A benchmark by the same rules from our corpus, whose articles are longer on average, or the published "
            "file if there is a copy.",
            {metric: SCB_PUBLISHED[metric] for metric in _SCB_TITLES},
        ),
    ),
)

_PAIR_COLUMNS = (
    MetricColumn("pearson", "Pearson r"),
    MetricColumn("spearman", "Spearman ρ"),
    MetricColumn("mse", "MSE", lower_is_better=True),
)
_SICK_TEST = "Our SICK test part has 3,942 of the 4,927 pairs unless a full copy is given."


def _related(id: str, title: str, deviation: str, *numbers: float, model: str = "", regressor: bool = True) -> Row:
    """Return a row of relatedness with its published Pearson, Spearman and MSE."""
    published = dict(zip((column.metric for column in _PAIR_COLUMNS), numbers, strict=False))
    return Row(id, title, RelatednessMeasures(model or id, regressor), f"{deviation} {_SICK_TEST}", published)


_NO_TRAINING = "Not in the paper: no training on SICK."
TABLE_5 = ResultTable(
    "5",
    "Relatedness of sentence pairs (SICK)",
    "Ein Dor et al. 2018, Table 5; protocol of Kiros et al. 2015",
    "A softmax regression on |u−v| and u⊙v, with early stopping on the trial part; intervals over pairs.",
    _PAIR_COLUMNS,
    (
        _related(
            "mean-vectors",
            "mean-vectors",
            "The same word vectors as in the paper, whose row equals that of Tai et al. 2015 and was evidently copied.",
            *(0.757, 0.673, 0.4557),
            model="mean-vectors-840b",
        ),
        _related(
            "skip-thoughts-sick",
            "skip-thoughts-SICK",
            f"{SMALL_SKIP_THOUGHT} The published MSE and correlations seem to be those of different models; the poster "
            "has the same numbers for skip-thoughts-CS.",
            *(0.858, 0.791, 0.287),
            model="skip-thought",
        ),
        _related("triplets-sen", "triplets-sen", SMALLER_DATA, 0.797, 0.704, 0.372),
        _related("triplets-titles", "triplets-titles", SMALLER_DATA, 0.786, 0.685, 0.393),
        _related("triplets-sen-titles", "triplets-sen-titles", JOINED_RAW, 0.818, 0.724, 0.339),
        _related(
            "mean-vectors-text",
            "mean-vectors, words of the text",
            "Not in the paper: the words of the networks.",
            model="mean-vectors",
        ),
        *(_related(id, *OWN[id]) for id in ("triplets-sen-titles-unit", "default")),
        _related(
            "cosine-mean-vectors", "mean-vectors, cosine only", _NO_TRAINING, model="mean-vectors-840b", regressor=False
        ),
        _related(
            "cosine-triplets-sen-titles",
            "triplets-sen-titles, cosine only",
            _NO_TRAINING,
            model="triplets-sen-titles",
            regressor=False,
        ),
    ),
)


_TURTLE = "A sea turtle is hunting for fish"
_EXAMPLES = {
    (_TURTLE, "A sea turtle is hunting for food"): (4.5, 4.2, 4.5),
    ("A sea turtle is not hunting for fish", _TURTLE): (3.4, 4.1, 3.8),
}
"""Pair of sentences → published score and predictions."""
_PREDICTED = {"triplets-sen": "triplets-sen", "skip-thoughts-SICK": "skip-thought"}
TABLE_6 = ResultTable(
    "6",
    "Example predictions on SICK",
    "Ein Dor et al. 2018, Table 6",
    "Relatedness of two pairs from 1 to 5, as people scored it and as the regressors of Table 5 predict it.",
    (MetricColumn("score", "Ground truth", digits=1), *(MetricColumn(name, name, digits=1) for name in _PREDICTED)),
    tuple(
        Row(
            pair[0],
            " – ".join(pair),
            ExamplePredictions(pair, _PREDICTED),
            SMALL_SKIP_THOUGHT,
            dict(zip(("score", *_PREDICTED), numbers, strict=True)),
        )
        for pair, numbers in _EXAMPLES.items()
    ),
)


def _variant(id: str, title: str, deviation: str) -> Row:
    return _accuracy(id, title, deviation, model=f"ablation-{id}")


_NO_NUMBER = "The paper states the order, not the number."
_DROPOUT = "The paper says “0.8 dropout”; base: rate 0.2 on words and states, that is .8 as the probability to keep."
ABLATIONS = ResultTable(
    "ablations",
    "Distances, losses, dropout and negatives",
    "Ein Dor et al. 2018, sections 4 and 5.1 (statements without numbers)",
    "The same network on the same 200,000 triplets with one change at a time, one seed; negatives on all triplets.",
    _ACCURACY_COLUMN,
    (
        _variant("l1", "L1, τ = 1 (base)", f"The published loss as printed. {_NO_NUMBER}"),
        _variant("l2", "L2, τ = 1", _NO_NUMBER),
        _variant("cosine", "cosine, τ = 1", f"{_NO_NUMBER} At this scale the loss cannot fall below .238."),
        _variant("cosine-measured", "cosine, τ measured", "Not in the paper: cosine with a measured temperature."),
        _variant("facenet", "FaceNet loss", f"{_NO_NUMBER} Margin 0.2 on unit vectors, mean over all triplets."),
        _variant("section", "section loss", "Not in the paper: all related sentences of a batch are compared."),
        _variant("dropout-0", "no dropout", _DROPOUT),
        _variant("dropout-80", "dropout 0.8", f"{_DROPOUT} This row: rate 0.8 on both."),
        _variant("dropout-output", "dropout 0.8 on the sentence vector", f"{_DROPOUT} The other literal reading."),
        _accuracy(
            "same-article",
            "negatives from the whole article",
            "The paper reports no difference from adjacent sections; all triplets, one seed.",
            model="triplets-sen-same-art",
        ),
        _accuracy(
            "adjacent", "negatives from adjacent sections", "The row triplets-sen of Table 3.", model="triplets-sen"
        ),
    ),
    (
        *claims(ACCURACY, {"l1": ("l2", "cosine", "facenet", "dropout-80"), "section": ("l1",)}),
        Claim("cosine-measured", "cosine", ACCURACY),
        Claim("adjacent", "same-article", ACCURACY, SIMILAR),
    ),
)

# Table 4 (clustering by theme), and clusterers

_MEASURES = {"mi": "MI (nats)", "ami": "AMI (max)", "ri": "RI", "ari": "ARI"}
_COLUMNS = tuple(MetricColumn(metric, title) for metric, title in _MEASURES.items())
AMI = "ami"
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
_DEVIATIONS = {"mean-vectors": OTHER_WORDS, _SKIP_CS: SMALL_SKIP_THOUGHT, "triplets-sen-titles": JOINED_RAW}
_HOW = {
    "iclust": "Temperature 0 and 50 random starts; the paper gives neither.",
    "kmeans": "Lloyd on unit vectors, greedy k-means++, 10 starts; the paper does not say which k-means.",
}


def _clustering(id: str, title: str, why: str, model: str, clusterer: str, numbers: tuple[float, ...] = ()) -> Row:
    published = dict(zip(_MEASURES, numbers, strict=False))
    used = "skip-thought" if model == _SKIP_CS else model
    measure = ClusteringMeasures(used, clusterer, SCB, {"restarts": 50} if clusterer == "iclust" else {})
    return Row(id, title, measure, why, published)


def _rows(clusterer: str) -> list[Row]:
    rows: list[tuple[str, str, str, tuple[float, ...]]] = [
        (name, name, f"{_DEVIATIONS.get(name, SMALLER_DATA)} {_HOW[clusterer]}", numbers)
        for name, numbers in _PUBLISHED[clusterer].items()
    ]
    rows += [(id, title, deviation, ()) for id, (title, deviation) in OWN.items()]
    title = _CLUSTERERS[clusterer]
    return [_clustering(f"{clusterer}:{id}", f"{name}, {title}", why, id, clusterer, n) for id, name, why, n in rows]


_ORDER = ("triplets-sen-titles", "triplets-sen", "triplets-sen-rand-art", "mean-vectors", _SKIP_CS)
_BETTER = {
    "triplets-sen": ("mean-vectors",),
    "default": ("triplets-sen", "mean-vectors", "tfidf"),
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
    benchmarks=(BenchmarkData(SCB),),
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
