"""Data, models and profiles of Ein Dor et al. 2018."""

from __future__ import annotations

from typing import Any

from themescope.core.papers.spec import (
    PAIR_WORDS,
    TEXT_WORDS,
    BenchmarkData,
    ModelSpec,
    RunProfile,
    Settings,
    TripletSource,
)

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
PRETRAINED = (ModelSpec("default", "triplets-sen-titles", random=False, pretrained="triplets-sen-titles-wikipedia"),)
HYBRIDS = (
    ModelSpec("hybrid-section", "hybrid", parts=("triplets-sen-section",)),
    ModelSpec("hybrid-default", "hybrid", parts=("default",), random=False),
)
MODELS = BASELINES + PUBLISHED_NETS + OWN_NETS + ABLATIONS + CURVE + PRETRAINED + HYBRIDS

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
