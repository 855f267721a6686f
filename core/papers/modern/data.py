"""Data, models and profiles of the comparison."""

from __future__ import annotations

from themescope.core.papers.ed18 import data as ed18
from themescope.core.papers.sjh17 import data as sjh17
from themescope.core.papers.spec import (
    STATIC_WORDS,
    TEXT_WORDS,
    BenchmarkData,
    CorpusData,
    ModelSpec,
    RunProfile,
    Settings,
)
from themescope.core.types import Split

SENTENCES, TITLES, SCB = ed18.SENTENCES, ed18.TITLES, ed18.SCB
CLAIMS = "claims"

TRIPLETS = tuple(data for data in ed18.TRIPLETS if data.id in (SENTENCES, TITLES))
CORPORA = (
    *(data for data in sjh17.CORPORA if data.id != sjh17.BILLS),
    CorpusData(
        sjh17.BILLS, "BillSum, with sections", (sjh17.SUMMARY_FILES[sjh17.BILLS],), "summaries", {"headings": True}
    ),
    CorpusData(
        CLAIMS,
        "Debater claims",
        ("debater-claims-evidence/claims.tsv.gz",),
        "table",
        {"text": "Claim original text", "section": "Topic", "rows": "sentences", "name": "Debater claims"},
    ),
)
BENCHMARKS = (
    BenchmarkData(SCB),
    BenchmarkData(CLAIMS, {"as_given": True}, CLAIMS),
    BenchmarkData(sjh17.PAPERS, {"max_articles": 100}, sjh17.PAPERS),
    BenchmarkData(sjh17.BILLS, {"min_sections": 3}, sjh17.BILLS),
)

CENTRED, WITH_WORDS = "centred", "tfidf"
ENCODER, IN_CONTEXT = "thematic-encoder", "context-encoder"
SET, UNBIASED = "set-encoder", "set-encoder-unbiased"
WITH_ORDER = "set-encoder-order"


def centred_id(model: str) -> str:
    """Return the id of a model whose vectors are centred in their article."""
    return f"{model}-{CENTRED}"


def with_words_id(model: str) -> str:
    """Return the id of a model that is concatenated with tf-idf within the article."""
    return f"{model}-{WITH_WORDS}"


def distilled_id(model: str) -> str:
    """Return the id of a model whose teacher is the thematic encoder."""
    return f"{model}-distilled"


def _centred(model: str) -> ModelSpec:
    return ModelSpec(centred_id(model), "centred", parts=(model,), random=False)


def _with_words(model: str, weight: float | None) -> ModelSpec:
    """Return a hybrid; without a weight it uses the one that a set encoder has learned."""
    return ModelSpec(with_words_id(model), "hybrid", parts=(model,), settings={"words": weight}, random=False)


def _set_encoder(id: str, base: str, budget: str = SET, **settings: object) -> ModelSpec:
    return ModelSpec(id, "set-encoder", parts=(base,), settings=settings, budget=budget)


_PRETRAINED, _CONTRASTIVE = "triplets-sen-titles", "triplets-sen-contrastive"
_TABLES = (STATIC_WORDS, TEXT_WORDS)
_OF_ED18 = tuple(model for model in ed18.MODELS if model.id in ("mean-vectors", "tfidf", "triplets-sen"))
_OF_SJH17 = tuple(model for model in sjh17.MODELS if model.method in (sjh17.LABELS, "con-s2v-dis", "tfidf"))
BASES = (
    ModelSpec("static", "mean-vectors", words=STATIC_WORDS, budget="static", random=False),
    ModelSpec("static-encoder", "static-encoder", budget="static-encoder", tables=_TABLES),
    ModelSpec(_PRETRAINED, _PRETRAINED, pretrained=f"{_PRETRAINED}-wikipedia", random=False),
    ModelSpec(_CONTRASTIVE, _CONTRASTIVE, words=TEXT_WORDS, budget="contrastive"),
    ModelSpec("minilm", "minilm", encoder=True, random=False),
    ModelSpec(ENCODER, ENCODER, budget="encoder"),
    ModelSpec(
        distilled_id("static-encoder"), "static-encoder", parts=(ENCODER,), budget="static-encoder", tables=_TABLES
    ),
    ModelSpec(distilled_id(_CONTRASTIVE), _CONTRASTIVE, words=TEXT_WORDS, parts=(ENCODER,), budget="contrastive"),
)
CURVE_SIZES = (250, 1_000)
"""Numbers of training articles of the learning curve."""


def curve_id(model: str, articles: int) -> str:
    """Return the id of a model that is trained on so many articles."""
    return f"{model}-{articles}"


_CURVE = tuple(
    model
    for size in CURVE_SIZES
    for model in (
        ModelSpec(curve_id(ENCODER, size), ENCODER, settings={"training_limit": size}, budget="encoder"),
        _set_encoder(curve_id("set-encoder-static", size), "static", training_limit=size),
    )
)
_OWN = (
    *map(_centred, ("static", "minilm", ENCODER)),
    _with_words(_PRETRAINED, 2.0),
    *(_with_words(centred_id(base), 1.0) for base in ("static", "minilm", ENCODER)),
    ModelSpec(IN_CONTEXT, IN_CONTEXT, parts=(ENCODER,), budget=IN_CONTEXT),
    _set_encoder("set-encoder-static", "static"),
    _set_encoder("set-encoder-minilm", "minilm"),
    _set_encoder(SET, ENCODER),
    _set_encoder(UNBIASED, ENCODER, word_bias=False),
    ModelSpec(WITH_ORDER, "with-order", parts=(SET,), random=False),
    *(_with_words(base, None) for base in ("set-encoder-static", "set-encoder-minilm", SET)),
    ModelSpec("ensemble-encoder", "centred", parts=(ENCODER,), random=False, ensemble=True),
    ModelSpec("ensemble-set", "hybrid", parts=(SET,), settings={"words": None}, random=False, ensemble=True),
)
MODELS = _OF_ED18 + _OF_SJH17 + BASES + _CURVE + _OWN

_SHORT: Settings = {"epochs": 1, "training_limit": 20, "validation_limit": 10, "threads": 1}
QUICK = RunProfile(
    "quick",
    "Quick",
    "A test run, not a result: validation articles, eight of each data set, and models that were trained on 20 "
    "articles.",
    seeds=(0, 1, 2),
    triplet_rules=ed18.QUICK.triplet_rules,
    budgets={
        **{name: ed18.QUICK.budgets[name] for name in ("words", "net")},
        sjh17.ENGINE: sjh17.QUICK.budgets[sjh17.ENGINE],
        "static": {"vocabulary_limit": 2_000},
        "static-encoder": {**_SHORT, "vocabulary_limit": 2_000},
        "contrastive": {**_SHORT, "hidden": 32, "attention": 16, "vocabulary_limit": 20_000},
        "encoder": _SHORT,
        IN_CONTEXT: _SHORT,
        SET: {**_SHORT, "width": 32, "layers": 1},
    },
    split=Split.VALIDATION,
    articles=8,
    documents=80,
)
_BUDGETS = {
    "net": ed18.FULL.budgets["net"],
    sjh17.ENGINE: sjh17.FULL.budgets[sjh17.ENGINE],
    "static": {"vocabulary_limit": 30_000},
    "static-encoder": {"vocabulary_limit": 30_000},
}
VALIDATION = RunProfile(
    "validation",
    "Validation",
    "For choosing among models: validation articles, at most 60 of each data set. Training stops early by articles of "
    "the same split, so the numbers of trained models are optimistic.",
    seeds=(0, 1, 2),
    triplet_rules=ed18.FULL.triplet_rules,
    budgets=_BUDGETS,
    split=Split.VALIDATION,
    articles=60,
    documents=600,
)
FULL = RunProfile(
    "full",
    "Full",
    "Test articles. Models are trained with the settings of their cards, triplets-sen and con-s2v-dis as in the "
    "profile full of their papers; where a trained model was given, the notes below a table name it.",
    seeds=(0, 1, 2),
    triplet_rules=ed18.FULL.triplet_rules,
    budgets=_BUDGETS,
)
PROFILES = (QUICK, VALIDATION, FULL)
