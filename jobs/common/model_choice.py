"""Order of models for a choice, notes on a model for a text, and the languages of a corpus.

The best validated model comes first, never merely the newest:

1. for text that is not English, models that a person marked as multilingual, then those made for its languages;
2. models that were evaluated on a benchmark of at least six articles, by their best score;
3. the pretrained models, the default one first;
4. all others, the newest first.

Models whose packages are not installed come last, before them those that cannot read the language, and before these
those whose vectors depend on the article where sentences of several articles are compared. Languages are detected at
the import of a corpus and kept in its report.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from themescope.core.errors import ThemescopeError
from themescope.core.models import REGISTRY
from themescope.core.paths import default_models, lacks_packages
from themescope.core.records.stored import CorpusRecord, ModelRecord, RunRecord
from themescope.core.registry import Card
from themescope.core.text.languages import (
    Shares,
    frequent,
    language_name,
    language_shares,
    main_language,
    sampled,
    shares_text,
)
from themescope.core.text.splitting import LANGUAGES
from themescope.core.text.word_vectors import english_only
from themescope.core.types import Article
from themescope.db.records import BenchmarkRecord
from themescope.db.store import Store
from themescope.jobs.common.importing.reading import preview_of
from themescope.jobs.common.models import built_on, selectable_models

WITHIN_ARTICLE = (
    "The vectors of this model are computed within the article: they depend on its other sentences, and similarities "
    "across articles mean less."
)
"""Note on models for which :func:`within_article` holds."""
ENGLISH = frozenset({"en"})
_LEAST_READ = 0.9
"""Share of its languages from which a model reads a text."""
ADVICE = (
    "Expect poor results: it knows few words of other languages. Use universal-sentence-encoder if it reads this "
    "language, tf-idf, CON-S2V trained on this text, or a multilingual sentence-transformers encoder, whose folder you "
    "name when you train “Sentence encoder”. A model that reads this language is marked as multilingual on the page "
    "Models."
)


def within_article(model: ModelRecord) -> bool:
    """Return whether the model's vectors of a sentence depend on the other sentences of its article."""
    return model.method in REGISTRY and "per-article" in REGISTRY.get(model.method).tags


def same_for_same_text(model: ModelRecord) -> bool:
    """Return whether identical texts have the same vector by a model, wherever they stand."""
    return model.method in REGISTRY and not {"per-article", "transductive"} & REGISTRY.get(model.method).tags


def language_note(store: Store, model: ModelRecord, shares: Shares) -> str:
    """Return what a user gets who applies ``model`` to text with these ``shares`` of languages; "" if they fit."""
    languages = languages_of(store, model)
    return "" if reads(languages, shares) else f"“{model.name}” {_limit(languages, shares)} {ADVICE}"


def method_note(card: Card, shares: Shares) -> str:
    """Return what a user gets who trains a method with its default settings on such a text; "" if they fit."""
    if not reads(card.languages, shares):
        return f"“{card.title}” {_limit(card.languages, shares)}"
    if "english" not in card.tags or reads(ENGLISH, shares):
        return ""
    return (
        f"“{card.title}” builds on English word vectors or an English encoder, and this text is "
        f"{shares_text(shares)}. Name word vectors or an encoder for this language in the settings, or choose a method "
        "that learns from this text alone, such as CON-S2V."
    )


def _limit(languages: frozenset[str], shares: Shares) -> str:
    named = sorted(map(language_name, languages))
    listed = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
    return f"is for {listed} text only, and this text is {shares_text(shares)}."


def base_note(store: Store, model: ModelRecord) -> str:
    """Return which stored models a model is built on, and whether its files contain them; "" if on none."""
    from themescope.core.models.artifact import named_models

    parts = built_on(store, model)
    if model.method not in REGISTRY or "any-models" not in REGISTRY.get(model.method).tags or not parts:
        return ""
    names = ", ".join(f"“{part.name}”" for part in parts)
    if named_models(store.artifacts.path(model.artifact)):
        return f"Built on {names}. Its files contain no copy of it, so elsewhere it needs that pretrained model."
    copies = "a copy of it" if len(parts) == 1 else "copies of them"
    return f"Built on {names}. Its files contain {copies}, so it also works elsewhere and after a deletion."


def reads(languages: frozenset[str], shares: Shares) -> bool:
    """Return whether less than a tenth of a text is in languages other than these; empty stands for all languages."""
    known = sum(shares.get(code, 0.0) for code in languages) or 1.0
    return not languages or (languages.issuperset(frequent(shares)) and known >= _LEAST_READ)


def languages_of(store: Store, model: ModelRecord) -> frozenset[str]:
    """Return the languages that a model, and each one that it is built on, reads.

    Empty if it reads any, if they are not known, and if it is marked as multilingual.
    """
    if model.method not in REGISTRY or model.multilingual:
        return frozenset()
    card = REGISTRY.get(model.method)
    parts = built_on(store, model) if "needs-models" in card.tags else []
    if parts:
        known = [languages for part in parts if (languages := languages_of(store, part))]
        return frozenset.intersection(*known) if known else frozenset()
    return ENGLISH if english_only(card, model.config) else card.languages


LEAST_ARTICLES = 6
"""Articles from which a benchmark tells models apart: the paired tests need six pairs to reach p < 0.05."""
SCORE = "ami"


def best_first(
    store: Store,
    shares: Shares,
    corpus_id: int | None = None,
    *,
    models: Sequence[ModelRecord] = (),
    across: bool = True,
) -> list[ModelRecord]:
    """Return ``models``, by default all that a job can use, the best one for a text first.

    The text has these ``shares`` of languages; benchmarks of the corpus ``corpus_id`` count more than others. With
    ``across``, sentences of several articles will be compared.
    """
    found = list(models) or selectable_models(store)
    scores = validated(store, corpus_id)
    english = reads(ENGLISH, shares)
    preferred = {name: place for place, name in enumerate(default_models())}

    def key(model: ModelRecord) -> tuple[object, ...]:
        languages = languages_of(store, model)
        poor = lacks_packages(model.name), not reads(languages, shares), across and within_article(model)
        score = scores.get(model.id)
        pretrained = preferred.get(model.name, len(preferred))
        return (
            *poor,
            0 if english or model.multilingual else 1 if languages else 2,
            score is None,
            -(score or 0.0),
            pretrained,
            -model.created.timestamp(),
            -model.id,
        )

    return sorted(found, key=key)


def validated(store: Store, corpus_id: int | None = None) -> dict[int, float]:
    """Return model id → best mean AMI on one benchmark of at least :data:`LEAST_ARTICLES` articles.

    Of several benchmarks, one of the corpus is taken, then that with the most models, then that with the most articles.
    """
    with store.reading() as r:
        large = {b.id: b for b in r.benchmarks.list() if articles_of(b) >= LEAST_ARTICLES}
        runs = [run for run in r.runs.list(kind="clustering") if run.benchmark_id in large and run.model_id]
        if not runs:
            return {}
        chosen = max({run.benchmark_id for run in runs}, key=lambda id: _weight(large[id or 0], runs, corpus_id))
        of = {run.id: run.model_id for run in runs if run.benchmark_id == chosen}
        scores = [score for score in r.runs.scores(list(of)) if score.metric == SCORE]
    best: dict[int, float] = {}
    for score in scores:
        model = of[score.run_id] or 0
        best[model] = max(score.value, best.get(model, score.value))
    return best


def articles_of(benchmark: BenchmarkRecord) -> int:
    """Return the number of articles of a benchmark."""
    return int(benchmark.counts.get("articles", {}).get("taken", 0))


def _weight(benchmark: BenchmarkRecord, runs: Sequence[RunRecord], corpus_id: int | None) -> tuple[bool, int, int, int]:
    models = len({run.model_id for run in runs if run.benchmark_id == benchmark.id})
    return benchmark.corpus_id == corpus_id, models, articles_of(benchmark), benchmark.id


REPORTED = "languages"
"""Key of the shares in the report of a corpus."""
_PREVIEWED = 5


def corpus_shares(corpus: CorpusRecord) -> Shares:
    """Return the shares of the languages of a corpus; the stated language where nothing was detected."""
    return corpus.report.get(REPORTED) or {corpus.language: 1.0}


def language_report(store: Store, corpus_id: int) -> dict[str, Any]:
    """Return the entry of the import report with the shares of the languages, from a sample of the stored text."""
    with store.reading() as r:
        texts = r.corpora.sample_texts(corpus_id)
    return {REPORTED: language_shares(texts)}


def splitting_language(shares: Shares) -> str:
    """Return the main language if sentences can be split in it, else English."""
    found = main_language(shares)
    return found if found in LANGUAGES else "en"


def language_of_file(path: Path, reader: str = "") -> str:
    """Return the language for splitting the sentences of a file, by its first articles; English if it has none."""
    try:
        seen = preview_of(path, reader, {}, _PREVIEWED)
    except ThemescopeError:
        return "en"  # the import reports what is wrong with the file
    return splitting_language(language_shares(sampled(_lines(seen.articles))))


def _lines(articles: Sequence[Article]) -> list[str]:
    """Return the sentences of articles, or where they are not split, pieces of their paragraphs."""
    paragraphs = [p for article in articles for section in article.sections for p in section.paragraphs]
    return [line for p in paragraphs for line in (p.sentences or p.text.split(". "))]
