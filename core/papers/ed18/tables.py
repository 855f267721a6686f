"""Tables 1, 2, 3, 5 and 6 of Ein Dor et al. 2018: data, triplet accuracy, benchmark, SICK, ablations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from themescope.core.papers.spec import (
    PAIR_WORDS,
    SIMILAR,
    TEXT_WORDS,
    Accuracy,
    BenchmarkData,
    Claim,
    CountBenchmark,
    CountTriplets,
    MetricColumn,
    ModelSpec,
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
SCB = "scb"

TRIPLETS = (
    TripletSource(SENTENCES, replaceable=True),
    TripletSource(TITLES, kind="titles"),
    TripletSource(SAME_ART, rules={"negative": "same_article"}),
    TripletSource(RAND_ART, rules={"negative": "random_article"}),
)
BENCHMARKS = (BenchmarkData(SCB),)


def _net(id: str, triplets: str, method: str = "triplets-sen", budget: str = "net", **settings: Any) -> ModelSpec:
    return ModelSpec(id, method, triplets, TEXT_WORDS, settings, budget)


def _ablation(id: str, **settings: Any) -> ModelSpec:
    return _net(id, SENTENCES, budget="ablation", **settings)


def _joined(id: str, sentences: str, titles: str, unit: bool) -> ModelSpec:
    return ModelSpec(id, "triplets-sen-titles", settings={"unit_components": unit}, parts=(sentences, titles))


BASELINES = (
    ModelSpec("mean-vectors", "mean-vectors", words=TEXT_WORDS, budget="words", random=False),
    ModelSpec("mean-vectors-840b", "mean-vectors", words=PAIR_WORDS, settings={"storage": "fp32"}, random=False),
    ModelSpec("tfidf", "tfidf", random=False),
    ModelSpec("skip-thought", "skip-thought", words=TEXT_WORDS, budget="recurrent"),
)
_PRINTED: Settings = {"loss": "paper", "temperature": 1.0}
"""The loss of section 3.2 as printed, without a temperature, which equals a temperature of 1."""
PUBLISHED_NETS = (
    _net("triplets-sen", SENTENCES, **_PRINTED),
    _net("triplets-titles", TITLES, "triplets-titles", **_PRINTED),
    _joined("triplets-sen-titles", "triplets-sen", "triplets-titles", unit=False),
    _joined("triplets-sen-titles-unit", "triplets-sen", "triplets-titles", unit=True),
    _net("triplets-sen-same-art", SAME_ART, "triplets-sen-same-art", **_PRINTED),
    _net("triplets-sen-rand-art", RAND_ART, "triplets-sen-rand-art", **_PRINTED),
)
OWN_NETS = (
    _net("triplets-sen-section", SENTENCES, loss="section"),
    _net("triplets-titles-section", TITLES, "triplets-titles", loss="section"),
    _joined("triplets-sen-titles-section", "triplets-sen-section", "triplets-titles-section", unit=True),
    _net("triplets-sen-rand-art-section", RAND_ART, "triplets-sen-rand-art", loss="section"),
    _net("triplets-sen-log", SENTENCES, loss="log"),
    _net("triplets-sen-measured", SENTENCES, loss="paper"),
)
ABLATIONS = (
    _ablation("ablation-l1", **_PRINTED),
    _ablation("ablation-l1-measured", loss="paper"),
    _ablation("ablation-l2", distance="l2", **_PRINTED),
    _ablation("ablation-l2-measured", loss="paper", distance="l2"),
    _ablation("ablation-cosine", distance="cosine", **_PRINTED),
    _ablation("ablation-cosine-measured", loss="paper", distance="cosine"),
    _ablation("ablation-facenet", loss="facenet"),
    _ablation("ablation-log", loss="log"),
    _ablation("ablation-section", loss="section"),
    _ablation("ablation-bounded", norm_bound=2.0, **_PRINTED),
    _ablation("ablation-scale", learned_scale=True, **_PRINTED),
    _ablation("ablation-dropout-0", dropout_rate=0.0, **_PRINTED),
    _ablation("ablation-dropout-50", dropout_rate=0.5, **_PRINTED),
    _ablation("ablation-dropout-80", dropout_rate=0.8, **_PRINTED),
    _ablation("ablation-dropout-output", dropout_rate=0.8, dropout_sites=("output",), **_PRINTED),
    _ablation("ablation-mask", mask="per-sequence", **_PRINTED),
)
CURVE_SIZES = {10_000: 6, 30_000: 3, 100_000: 1}
"""Numbers of triplets of the learning curve → passes over them in the profile full."""
CURVE = tuple(
    ModelSpec(
        f"curve-{size // 1_000}k",
        "triplets-sen",
        SENTENCES,
        TEXT_WORDS,
        {"loss": "section", "training_limit": size},
        f"curve-{size // 1_000}k",
    )
    for size in CURVE_SIZES
)
PRETRAINED_MODELS = (
    ModelSpec("default", "triplets-sen-titles", random=False, pretrained="triplets-sen-titles-wikipedia"),
)
HYBRIDS = (
    ModelSpec("hybrid-section", "hybrid", parts=("triplets-sen-section",)),
    ModelSpec("hybrid-default", "hybrid", parts=("default",), random=False),
)
MODELS = BASELINES + PUBLISHED_NETS + OWN_NETS + ABLATIONS + CURVE + PRETRAINED_MODELS + HYBRIDS

_STEPS: Settings = {
    "hidden": 128,
    "attention": 100,
    "batch_size": 256,
    "run_length": 64,
    "article_balance": 0.5,
    "epochs": 1,
    "evaluations_per_epoch": 2,
    "validation_limit": 2_000,
    "schedule": "linear",
    "patience_stop": 1_000,
    "threads": 1,
}
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
    "is limited to its first 20,000 words, and the benchmark has at most 40 articles.",
    seeds=(0, 1, 2),
    triplet_rules={"profile": "paper-like"},
    benchmark_rules={"max_articles": 40},
    budgets={
        "words": {"vocabulary_limit": 20_000},
        "net": _SMALL,
        "ablation": {**_SMALL, "triplets_per_epoch": 1_000},
        **{f"curve-{size // 1_000}k": {**_SMALL, "triplets_per_epoch": 1_000} for size in CURVE_SIZES},
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
FULL = RunProfile(
    "full",
    "Full",
    "About three hours on one processor core. Networks have 128 units per direction (the paper: 300), which learn more "
    "in the same time, and are trained once on 120,000 triplets (the paper: 1.78 million, up to ten times), in batches "
    "of 256 with a linear learning rate; those of Table 6 on 16,000. Skip-Thought is the small version of 600 units, "
    "trained once on 24,000 sentences with their neighbours.",
    seeds=(0, 1, 2),
    triplet_rules={"profile": "max-signal"},
    budgets={
        "net": {**_STEPS, "triplets_per_epoch": 120_000},
        "ablation": {**_STEPS, "triplets_per_epoch": 16_000, "evaluations_per_epoch": 1},
        **{f"curve-{size // 1_000}k": {**_STEPS, "epochs": passes} for size, passes in CURVE_SIZES.items()},
        "recurrent": {"sentences_per_epoch": 24_000, "threads": 1},
    },
)
PUBLISHED = RunProfile(
    "published",
    "As published",
    "No limits: all triplets, up to ten passes, batches of 128. Intended for a GPU.",
    seeds=(0, 1, 2),
    triplet_rules={"profile": "max-signal"},
)
PROFILES = (QUICK, FULL, PUBLISHED)

SMALLER_DATA = (
    "Far fewer articles than the 809,000 of the paper, other word vectors than GloVe 840B, and a smaller training "
    "budget (see the profile)."
)
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
OWN_LOSS = "Not in the paper: all related sentences of a batch are compared (section loss)."
OTHER_WORDS = "Other word vectors than GloVe 840B (see data)."
OWN: Mapping[str, tuple[str, str]] = {
    "triplets-sen-titles-unit": ("triplets-sen-titles, unit components", JOINED_UNIT),
    "triplets-sen-measured": ("triplets-sen, τ measured", "Not in the paper: τ is the spread of Δ before training."),
    "triplets-sen-log": ("triplets-sen, log loss", "Not in the paper: softplus instead of the sigmoid."),
    "triplets-sen-section": ("triplets-sen, section loss", OWN_LOSS),
    "triplets-titles-section": ("triplets-titles, section loss", OWN_LOSS),
    "triplets-sen-rand-art-section": ("triplets-sen-rand-art, section loss", OWN_LOSS),
    "triplets-sen-titles-section": ("triplets-sen-titles, section loss, unit components", OWN_LOSS),
    "default": ("the pretrained triplet networks of Themescope", PRETRAINED),
    "tfidf": ("Tf-idf within the article", "Not in the paper: a baseline without training."),
    "hybrid-section": ("triplets-sen, section loss, with Tf-idf", HYBRID),
    "hybrid-default": ("the pretrained triplet networks of Themescope, with Tf-idf", HYBRID),
}
"""Model of our own → title and remark of its rows."""

ACCURACY = "accuracy"
_ACCURACY_COLUMN = (MetricColumn(ACCURACY, "Accuracy"),)
_WITHOUT_ACCURACY = ("triplets-sen-titles-unit", "triplets-titles-section")


TABLE_1 = ResultTable(
    "1",
    "Triplets by part",
    "Ein Dor et al. 2018, section 3 (sizes of the data sets)",
    "Triplets sampled from the corpus by the paper's rules; parts are split by article title, 80/10/10.",
    tuple(
        MetricColumn(metric, metric.capitalize(), digits=0) for metric in ("train", "validation", "test", "articles")
    ),
    (
        Row(
            "sentences",
            "triplets-sen",
            CountTriplets(SENTENCES),
            "Our corpus is a fraction of the dump of May 2017; pairs per section are limited, as the paper's numbers "
            "imply but its text does not state.",
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
    numbers = {ACCURACY: published} if published else {}
    return Row(id, title, Accuracy(model or id, SENTENCES), deviation, numbers)


TABLE_2 = ResultTable(
    "2",
    "Triplet accuracy on unseen articles",
    "Ein Dor et al. 2018, section 5.1, Table 3",
    "Share of test triplets whose pivot is nearer to the positive, a sentence of its section, than to the negative, a "
    "sentence of an adjacent section. Intervals over articles.",
    _ACCURACY_COLUMN,
    (
        _accuracy("mean-vectors", "mean-vectors", OTHER_WORDS, 0.65),
        _accuracy("skip-thoughts-cs", "skip-thoughts-CS", SMALL_SKIP_THOUGHT, 0.615, model="skip-thought"),
        Row(
            "skip-thoughts-sick",
            "skip-thoughts-SICK",
            Accuracy("skip-thought", SENTENCES, regressor=True),
            f"{SMALL_SKIP_THOUGHT} Its regressor is trained on SICK.",
            {ACCURACY: 0.547},
        ),
        _accuracy("triplets-sen", "triplets-sen", SMALLER_DATA, 0.74),
        _accuracy("triplets-titles", "triplets-titles", "Not in the paper's table: trained on titles only."),
        _accuracy("triplets-sen-titles", "triplets-sen-titles", f"Not in the paper's table. {JOINED_RAW}"),
        _accuracy("triplets-sen-rand-art", "triplets-sen-rand-art", "Not in the paper's table."),
        *(_accuracy(id, *own) for id, own in OWN.items() if id not in _WITHOUT_ACCURACY),
    ),
    claims(
        ACCURACY,
        {
            "triplets-sen": ("mean-vectors", "triplets-sen-rand-art"),
            "mean-vectors": ("skip-thoughts-cs",),
            "skip-thoughts-cs": ("skip-thoughts-sick",),
            "triplets-sen-section": ("triplets-sen", "triplets-sen-rand-art-section"),
            "default": ("triplets-sen-section", "mean-vectors", "tfidf"),
            "hybrid-section": ("triplets-sen-section", "mean-vectors"),
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
TABLE_3 = ResultTable(
    "3",
    "The clustering benchmark",
    "Ein Dor et al. 2018, section 3.3 (SCB; numbers of version 1.0.2)",
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


SICK_ROWS = (
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
        f"{SMALL_SKIP_THOUGHT} The published MSE and correlations seem to be those of different models.",
        *(0.858, 0.791, 0.287),
        model="skip-thought",
    ),
    _related("triplets-sen", "triplets-sen", SMALLER_DATA, 0.797, 0.704, 0.372),
    _related("triplets-titles", "triplets-titles", SMALLER_DATA, 0.786, 0.685, 0.393),
    _related("triplets-sen-titles", "triplets-sen-titles", JOINED_RAW, 0.818, 0.724, 0.339),
)
_NO_TRAINING = "Not in the paper: no training on SICK."
TABLE_5 = ResultTable(
    "5",
    "Relatedness of sentence pairs (SICK)",
    "Ein Dor et al. 2018, section 5.2, Table 5; protocol of Kiros et al. 2015",
    "A softmax regression on |u−v| and u⊙v, with early stopping on the trial part; intervals over pairs.",
    _PAIR_COLUMNS,
    (
        *SICK_ROWS,
        _related("mean-vectors-text", "mean-vectors, words of the text", "Not in the paper: the words of the networks.",
                 model="mean-vectors"),
        *(_related(id, *OWN[id]) for id in ("triplets-sen-titles-unit", "triplets-sen-titles-section", "default")),
        _related("cosine-mean-vectors", "mean-vectors, cosine only", _NO_TRAINING, model="mean-vectors-840b",
                 regressor=False),
        _related("cosine-triplets-sen-titles", "triplets-sen-titles, cosine only", _NO_TRAINING,
                 model="triplets-sen-titles", regressor=False),
    ),
)  # fmt: skip


def _variant(id: str, title: str, deviation: str) -> Row:
    return _accuracy(id, title, deviation, model=f"ablation-{id}")


_NO_NUMBER = "The paper states the order, not the number."
TABLE_6 = ResultTable(
    "6",
    "Distances, losses and dropout",
    "Ein Dor et al. 2018, sections 3.2 and 4 (statements without numbers)",
    "The same network on the same triplets, with one change at a time; all with a smaller budget than Table 2.",
    _ACCURACY_COLUMN,
    (
        _variant("l1", "L1, τ = 1 (base)", f"The published loss as printed. {_NO_NUMBER}"),
        _variant("l2", "L2, τ = 1", _NO_NUMBER),
        _variant("cosine", "cosine, τ = 1", f"{_NO_NUMBER} At this scale the loss cannot fall below .238."),
        _variant("l1-measured", "L1, τ measured", "Not in the paper: L1 with a measured temperature."),
        _variant("l2-measured", "L2, τ measured", "Not in the paper: L2 with a measured temperature."),
        _variant("cosine-measured", "cosine, τ measured", "Not in the paper: cosine with a measured temperature."),
        _variant("facenet", "FaceNet loss", f"{_NO_NUMBER} Margin 0.2 on unit vectors, mean over all triplets."),
        _variant("log", "log loss", "Not in the paper: softplus of the difference."),
        _variant("section", "section loss", OWN_LOSS),
        _variant("bounded", "L1, bounded norms", "Not in the paper: vectors longer than 2 are scaled to length 2."),
        _variant("scale", "L1, learned scale", "Not in the paper: training may adjust the temperature."),
        _variant("dropout-0", "no dropout", "The paper says “0.8 dropout”; base: rate 0.2 on words and states."),
        _variant("dropout-50", "dropout 0.5", "The paper says “0.8 dropout”; base: rate 0.2 on words and states."),
        _variant("dropout-80", "dropout 0.8", "One literal interpretation: rate 0.8 on words and states."),
        _variant("dropout-output", "dropout 0.8 on the sentence vector", "The other literal interpretation."),
        _variant("mask", "one dropout mask per sentence", "Not in the paper."),
        _accuracy(
            "same-article",
            "negatives from the whole article",
            "The paper reports no difference from adjacent sections; full budget, to be compared with triplets-sen.",
            model="triplets-sen-same-art",
        ),
        _accuracy(
            "adjacent", "negatives from adjacent sections", "The row triplets-sen of Table 2.", model="triplets-sen"
        ),
    ),
    (
        *claims(ACCURACY, {"l1": ("l2", "cosine", "facenet", "l1-measured"), "cosine-measured": ("cosine",)}),
        Claim("adjacent", "same-article", ACCURACY, SIMILAR),
    ),
)

CURVE_TABLE = ResultTable(
    "curve",
    "Learning curve",
    "Not in the paper",
    "Triplet accuracy on unseen articles by the number of training triplets, which are those of whole articles sampled "
    "with the seed.",
    _ACCURACY_COLUMN,
    (
        *(
            _accuracy(f"{size // 1_000}k", f"{size:,} triplets", OWN_LOSS, model=f"curve-{size // 1_000}k")
            for size in CURVE_SIZES
        ),
        _accuracy(
            "all",
            "all triplets of the set, with the budget of Table 2",
            f"{OWN_LOSS} The row of Table 2.",
            model="triplets-sen-section",
        ),
        _accuracy("default", *OWN["default"]),
        _accuracy("mean-vectors", "mean-vectors", "The row of Table 2: no triplets."),
    ),
    claims(ACCURACY, {"30k": ("10k",), "100k": ("30k",), "all": ("100k",), "default": ("all",)}),
)
