"""Stored models: lookup by name, and adding from a folder. Pretrained models are added on first use."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from themescope.core.config import digest_of
from themescope.core.errors import ArtifactError, ConflictError, DuplicateNameError, ThemescopeError, UnknownNameError
from themescope.core.models import REGISTRY
from themescope.core.paths import DEFAULT, default_models, lacks_packages, model_folder, pretrained_folders
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
from themescope.db.files.artifacts import digest_of_folder
from themescope.db.records import BenchmarkRecord
from themescope.db.store import Store, Unit
from themescope.jobs.common.columns import is_list
from themescope.jobs.common.reading import preview_of

Writing = Callable[[], AbstractContextManager[Unit]]
NOT_STORED = 0
"""Id of the record of a pretrained model that the store does not hold yet."""


def find_model(store: Store, name: str, corpus: CorpusRecord | None = None) -> ModelRecord:
    """Return the stored model called ``name``; a pretrained model, by its name or as "default", is added if needed.

    "default" is that for the kind of a ``corpus``: which vectors lists and articles have is decided here alone.

    Raises :class:`themescope.core.errors.UnknownNameError` if there is neither.
    """
    if corpus is not None and name == DEFAULT:
        name = next(iter(default_models(is_list(corpus))), name)
    with store.reading() as r:
        try:
            return r.models.by_name(name)
        except UnknownNameError as error:
            if name != DEFAULT and name not in pretrained_folders():
                raise UnknownNameError("model", name, [*error.known, DEFAULT, *pretrained_folders()]) from None
    return _stored(store, model_folder(name))


def built_on(store: Store, model: ModelRecord) -> list[ModelRecord]:
    """Return the stored components, submodels and base models of a model.

    Empty if the model's files cannot be read; loading the model reports that.
    """
    from themescope.core.models.artifact import read_info

    try:
        digests = read_info(store.artifacts.path(model.artifact))["record"].get("models", ())
    except ArtifactError:
        return []
    with store.reading() as r:
        found = [r.models.by_digest(digest) for digest in digests]
    return [record for record in found if record is not None]


def _stored(store: Store, folder: Path) -> ModelRecord:
    """Return the record of the pretrained model in ``folder``, which is added to the store if needed.

    A copy that another version stored may have other files beside the same training.
    """
    wanted = _record(folder.name, folder)
    digest = wanted.digest
    with store.reading() as r:
        same = (model for model in r.models.list() if _training(model) == _training(wanted))
        found = r.models.by_digest(digest) or next(same, None)
    if found is not None:
        return found
    try:
        return add_model(store, folder, folder.name, _info(folder), store.writing)[0]
    except (ConflictError, DuplicateNameError):  # another process may have added it meanwhile
        with store.reading() as r:
            found = r.models.by_digest(digest)
        if found is None:
            raise
        return found


def selectable_models(store: Store) -> list[ModelRecord]:
    """Return the stored models, and with the id ``NOT_STORED`` the pretrained ones that are not stored yet.

    :func:`find_model` finds both by name.
    """
    with store.reading() as r:
        stored = r.models.list()
    taken = {model.digest for model in stored} | {model.name for model in stored}
    return stored + [model for model in pretrained_models() if not {model.digest, model.name} & taken]


def pretrained_models() -> list[ModelRecord]:
    """Return the pretrained models of this installation as records, the default one first."""
    best = default_models()[:1]
    folders = sorted(pretrained_folders().items(), key=lambda item: (item[0] not in best, item[0]))
    return [_record(name, folder) for name, folder in folders]


def pretrained_folder(model: ModelRecord) -> Path | None:
    """Return the folder of the pretrained model that ``model`` is, or is a stored copy of; None for other models.

    A copy that an earlier version stored may lack files that were added later, so the training is compared.
    """
    folders = pretrained_folders().items()
    return next((folder for name, folder in folders if _training(_record(name, folder)) == _training(model)), None)


def _training(model: ModelRecord) -> tuple[Any, ...]:
    return model.method, model.seed, dict(model.config), dict(model.metrics)


def add_model(
    store: Store, source: Path, name: str, info: Mapping[str, Any], writing: Writing
) -> tuple[ModelRecord, bool]:
    """Copy the saved model in ``source`` into the store, unless the same files are stored already.

    ``info`` is its ``model.json``. Returns the record and whether the model was stored before.
    """

    def copy(target: Path) -> None:  # the regular files: a saved model has no subfolders
        for file in sorted(source.iterdir()):
            if file.is_file() and not file.is_symlink():
                shutil.copyfile(file, target / file.name)

    artifact = store.artifacts.put(copy)
    digest = _digest(artifact)
    with writing() as w:
        existing = w.models.by_digest(digest)
        if existing is not None:
            return existing, True
        name, revision = w.models.usable_name(name), REGISTRY.get(info["method"]).revision
        return w.models.add(name=name, digest=digest, artifact=artifact, revision=revision, **_facts(info)), False


def _digest(artifact: str) -> str:
    """Return the digest that identifies a model by its files, in the form that version 0.1 stored."""
    return digest_of({"what": "add-model", "code": "0.1.0", "artifact": artifact})


@cache
def _record(name: str, folder: Path) -> ModelRecord:
    artifact = digest_of_folder(folder)
    return ModelRecord(
        id=NOT_STORED,
        name=name,
        digest=_digest(artifact),
        corpus_id=None,
        triplet_set_id=None,
        artifact=artifact,
        created=datetime.min.replace(tzinfo=UTC),
        **_facts(_info(folder)),
    )


def _facts(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a model's record that its ``model.json`` has."""
    return {**{key: info[key] for key in ("method", "config", "seed")}, "metrics": info["record"].get("metrics", {})}


def _info(folder: Path) -> dict[str, Any]:
    from themescope.core.models.artifact import read_info

    return read_info(folder)


def announcement(store: Store, wanted: str) -> str:
    """Return a warning if the name of a new model is taken, else ""."""
    with store.reading() as r:
        name = r.models.usable_name(wanted)
    if not _numbered(wanted, name):
        return ""
    return f"A model called {wanted!r} exists already. A new one will be called {name!r}."


def renamed(wanted: str, name: str) -> dict[str, str]:
    """Return result entries that report that a number was appended to the requested model name."""
    if not _numbered(wanted, name):
        return {}
    return {"renamed": f"A model called {wanted!r} existed already, so the new one is called {name!r}."}


def _numbered(wanted: str, name: str) -> bool:
    """Return whether a number was appended; surrounding spaces are ignored."""
    return name.startswith(f"{wanted.strip()} ")


# Order of models for a choice, notes on a model for a text, and the languages of a corpus

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
    with store.reading() as r:
        lists = corpus_id is not None and is_list(r.corpora.get(corpus_id))
    preferred = {name: place for place, name in enumerate(default_models(lists))}

    def key(model: ModelRecord) -> tuple[object, ...]:
        languages = languages_of(store, model)
        poor = lacks_packages(model.name), not reads(languages, shares), across and within_article(model)
        score = scores.get(model.id)
        language = 0 if english or model.multilingual else 1 if languages else 2
        pretrained, age = preferred.get(model.name, len(preferred)), (-model.created.timestamp(), -model.id)
        return *poor, language, score is None, -(score or 0.0), pretrained, *age

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
    paragraphs = [p for article in seen.articles for section in article.sections for p in section.paragraphs]
    lines = [line for p in paragraphs for line in (p.sentences or p.text.split(". "))]
    return splitting_language(language_shares(sampled(lines)))
