"""Job kinds of themes: find them by clustering all sentences of a corpus, and name them by a language model.

The result of finding themes is a run of kind "themes" with the labels by article, the margin of every sentence, and in
``config`` the names, curves and reason. The labels are deleted with the corpus. With the argument ``article`` they are
the clusters of one article. In a corpus with waves, themes continue those of an earlier result where they match. Each
other level of the hierarchy is a run of its own, which names that of the result (:meth:`.Runs.levels`).

For names, the job sends what a person agreed to, which the digest ``texts`` identifies, to the endpoint that was shown,
or nothing. Bad, slow or hostile answers never make it fail: such a theme keeps its name, and the result says why.
Answers are kept in the checkpoint folder, so that a resumed job does not ask for them again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from themescope.core.clustering.generated_names import GeneratedName, NameState, checked_answer, made_unique
from themescope.core.config import config_from_dict, option
from themescope.core.errors import DataError
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.metrics.partition import same_clusters
from themescope.core.records.stored import ArticleRecord, CorpusRecord, ModelRecord, RunRecord
from themescope.core.types import Labels, Sentence, Split
from themescope.db.repositories.corpus_edits import IMPORTED_DIGEST
from themescope.db.store import Store, Unit
from themescope.jobs.common.articles import ready_corpus, sampled_articles, work_digest
from themescope.jobs.common.columns import is_list, waves_of
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.labelled import is_running_text
from themescope.jobs.common.language_models import (
    Endpoint,
    Message,
    Requests,
    SendingConfig,
    ThemeMaterial,
    agreed_digest,
    amount,
    materials_of_run,
    prompt,
)
from themescope.jobs.common.models import find_model
from themescope.jobs.common.vectors import embed_articles, method_of, rows_of
from themescope.jobs.kinds import REGISTRY as KINDS

if TYPE_CHECKING:
    from themescope.core.tasks.themes import FoundThemes, Theme

KIND = "themes"
_NAMES = ("name", "description", "default_name", "naming")
"""What a theme that continues an earlier one has from it."""


@dataclass(frozen=True)
class FindThemesConfig(JobConfig):
    """Arguments of finding themes."""

    corpus: str = option("", "Name of the corpus.", required=True)
    model: str = option("", "Name of the model with the vectors to cluster.", required=True)
    article: int = option(0, "Id of the article to cluster; 0: the whole corpus.", low=0)
    limit: int = option(0, "Maximum number of sentences; of more, articles drawn at random; 0: all.", low=0)
    settings: Mapping[str, Any] = option({}, "Settings of finding themes.")
    seed: int = option(0, "Seed of samples and initialisation.", low=0)

    def validate(self) -> None:
        """Check the settings."""
        from themescope.core.tasks.themes import ThemesConfig

        config_from_dict(ThemesConfig, self.settings)

    def title(self) -> str:
        """Return a title with the article or the corpus, and the model."""
        if self.article:
            return f"Cluster an article of “{self.corpus}” by “{self.model}”"
        return f"Find themes in “{self.corpus}” by “{self.model}”"


def find_themes_of_corpus(args: FindThemesConfig, context: JobContext) -> dict[str, Any]:
    """Embed, find themes and store them. Stored themes with the same digest are returned."""
    from themescope.core.clustering import REGISTRY as CLUSTERERS
    from themescope.core.sentence_model import load
    from themescope.core.tasks.density import load_calibration
    from themescope.core.tasks.themes import MOST, ThemesConfig, continued, find_themes
    from themescope.core.themes import suited

    store = context.store
    corpus = ready_corpus(store, args.corpus)
    model = find_model(store, args.model, corpus)
    config = config_from_dict(ThemesConfig, args.settings)
    inputs: dict[str, Any] = {"corpus": corpus.id, "created": corpus.created.isoformat(), "model": model.digest}
    cards = KINDS.get("find-themes"), method_of(model), CLUSTERERS.get(config.clusterer)
    articles = _articles(store, corpus, args)
    if len(articles) < corpus.articles:
        inputs["articles"] = [article.id for article in articles]
    if IMPORTED_DIGEST in corpus.report or (waves_of(corpus) and len(articles) == corpus.articles):
        inputs["text"] = corpus.digest
    with store.reading() as r:
        earlier = None if args.article else _earlier(r, corpus)
        if earlier is not None:
            inputs["earlier"] = earlier.digest
        digest = work_digest(*cards, config=config.to_dict(), seed=args.seed, **inputs)
        existing = r.runs.by_digest(digest)
    if existing is not None:
        return _result(existing, corpus, model, cached=True)
    if (asked := sum(article.sentences for article in articles)) > MOST:
        what = articles[0].title if args.article else corpus.name
        raise DataError(
            f"“{what}” has {asked:,} sentences; the maximum for finding themes is {MOST:,}. Import a list of the "
            "relevant sentences, or set a limit."
        )
    begun = time.monotonic()
    embed_articles(context, model, articles, context.part(0.0, 0.5))
    work = _Work(context, corpus, model, articles, digest, args.seed, args.article)
    sentences = work.sentences()
    context.progress(0.5, 1, "Reading vectors")
    vectors = rows_of(store, model, {a.id: np.arange(a.sentences) for a in articles if a.sentences})
    folder, plain = store.artifacts.path(model.artifact), None
    calibration = load_calibration(folder)
    texts, part = [s.text for s in sentences], context.part(0.5, 0.98)
    with store.reading() as r:
        running = len(articles) == 1 and is_running_text(r, corpus, sentences)
    positions = np.array([s.position for s in sentences], np.int64) if running else None
    if is_list(corpus) and not running and calibration.clear is not None:
        found = suited(load(folder), texts, vectors)
        vectors, calibration, plain = found.vectors, found.calibration, found.plain
    themes = find_themes(texts, vectors, config, args.seed, part, calibration, positions, plain)
    context.progress(0.98, 1, "Storing the themes")
    kept: dict[int, Mapping[str, Any]] = {}
    if earlier is not None:
        with store.reading() as r:
            before = r.runs.labels(earlier.id)
        parts = [before.get(a.id, np.full(a.sentences, UNASSIGNED, np.int32)) for a in articles if a.sentences]
        themes, places = continued(themes, np.concatenate(parts))
        kept = {place: earlier.found["themes"][old] for place, old in places.items()}
    settings = config.to_dict() | {"shared": themes.shared, "order": themes.order}
    settings |= {"context": themes.context, "density": themes.by_density}
    record = work.keep(sentences, themes, settings, time.monotonic() - begun, kept)
    return _result(record, corpus, model, cached=False)


def _earlier(r: Unit, corpus: CorpusRecord) -> RunRecord | None:
    """Return the newest themes from before the newest wave of a corpus, or their continuation by it."""
    if not waves_of(corpus):
        return None
    for run in reversed(r.runs.themes(corpus.id, whole=True)):
        if "continues" in run.config or run.found.get("sampled_from", corpus.sentences) < corpus.sentences:
            return run
    return None


def _articles(store: Store, corpus: CorpusRecord, args: FindThemesConfig) -> list[ArticleRecord]:
    """Return the article that is named; else all articles, or a sample of them with at most ``limit`` sentences."""
    with store.reading() as r:
        if not args.article:
            return sampled_articles(r.corpora.articles(corpus.id, limit=max(corpus.articles, 1)), args.limit)
        found = r.corpora.articles_by_id([args.article])
    if args.article not in found or found[args.article].corpus_id != corpus.id:
        raise DataError(f"“{corpus.name}” has no article with id {args.article}.")
    return [found[args.article]]


@dataclass(frozen=True)
class _Work:
    context: JobContext
    corpus: CorpusRecord
    model: ModelRecord
    articles: Sequence[ArticleRecord]
    digest: str
    seed: int
    article: int

    def sentences(self) -> list[Sentence]:
        """Return every sentence in store order, which is the order of the vectors."""
        with self.context.store.reading() as r:
            found = r.corpora.sentences_of([a.id for a in self.articles])
        return [sentence for article in self.articles for sentence in found.get(article.id, [])]

    def keep(
        self,
        sentences: Sequence[Sentence],
        themes: FoundThemes,
        settings: dict[str, Any],
        seconds: float,
        kept: Mapping[int, Mapping[str, Any]],
    ) -> RunRecord:
        """Store labels, margins and names of the themes, and the other levels.

        Themes in ``kept`` have the names of earlier ones, on every level that has the same theme.
        """
        ids = np.array([s.id for s in sentences], dtype=np.int64)
        owners = np.array([s.article_id for s in sentences], dtype=np.int64)
        own = len(themes.coarser)
        described = _described(themes.themes, ids, kept)
        config: dict[str, Any] = {
            "corpus_id": self.corpus.id,
            "settings": settings,
            "curves": asdict(themes.curves),
            "reason": themes.reason,
            "interval": list(themes.interval),
            "sentences": len(sentences),
            "compared": themes.compared,
            "distinct": themes.distinct,
            "usual": len(themes.usual),
            "sampled_from": self.corpus.sentences,
        } | ({"article": self.article, "title": self.articles[0].title} if self.article else {})

        def add(labels: Labels, margins: np.ndarray, digest: str, about: dict[str, Any]) -> RunRecord:
            repeated = themes.frequent
            frequent = [{"id": int(ids[row]), "count": n, "theme": int(labels[row])} for row, n in repeated]
            return w.runs.add(
                kind=KIND,
                digest=digest,
                model_id=self.model.id,
                clusterer=settings["clusterer"],
                config=config | {"frequent": frequent} | about,
                seed=self.seed,
                seconds=seconds,
                assignments={a.id: labels[owners == a.id] for a in self.articles if a.sentences},
                margins={Split.TEST: (ids, margins)},
            )

        with self.context.writing() as w:
            sizes = [len(listed) for listed in (*(level.themes for level in themes.coarser), themes.themes)]
            sizes += [len(level.themes) for level in themes.finer]
            about: dict[str, Any] = {"themes": described, "level": own, "levels": sizes}
            stored = add(themes.labels, themes.margins, self.digest, about)
            for place, level in enumerate((*themes.coarser, *themes.finer)):
                same = same_clusters(level.labels, themes.labels)
                number, known = place + (place >= own), {t: described[other] for t, other in same.items()}
                about = {"themes": _described(level.themes, ids, known), "level": number, "level_of": stored.id}
                digest = work_digest(KINDS.get("find-themes"), result=self.digest, level=number)
                add(level.labels, level.margins, digest, about)
        return stored


def _described(themes: Sequence[Theme], ids: np.ndarray, kept: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return themes as they are stored, with the ids of their central sentences, and with names in ``kept``."""
    described = [{**asdict(t), "central": ids[list(t.central)].tolist()} for t in themes]
    names = [theme["name"] for theme in kept.values()]
    new = [place for place in range(len(described)) if place not in kept]
    free = made_unique([described[p]["name"] for p in new], [described[p]["words"] for p in new], names)
    for place, name in zip(new, free, strict=True):
        described[place]["name"] = name
    for place, theme in kept.items():
        described[place] |= {key: theme[key] for key in _NAMES if key in theme}
    return described


def _result(run: RunRecord, corpus: CorpusRecord, model: ModelRecord, cached: bool) -> dict[str, Any]:
    found, sentences, k = run.found, run.found["sentences"], len(run.found["themes"])
    about = {"run_id": run.id, "corpus": corpus.name, "model": model.name, "digest": run.digest, "cached": cached}
    about |= {"seconds": round(run.seconds, 3), "sentences": sentences, "distinct": found.get("distinct", sentences)}
    # Results of earlier versions have no interval.
    about |= {"k": k, "levels": found.get("levels", [k]), "reason": found["reason"], "interval": found.get("interval")}
    return about | {"themes": [{"name": theme["name"], "size": theme["size"]} for theme in found["themes"]]}


@dataclass(frozen=True)
class NameThemesConfig(SendingConfig):
    """Arguments of naming themes."""

    TITLE = "Name themes by “{model}”"

    run: int = option(0, "Id of the result of finding themes.", low=0, required=True)
    numbers: tuple[int, ...] = option((), "Places of the themes from 0; empty: all.")


def name_themes(args: NameThemesConfig, context: JobContext) -> dict[str, Any]:
    """Ask for every name, check the answers and store the names."""
    endpoint = args.agreed_endpoint(context.store.settings)
    with context.store.reading() as r:
        run = r.runs.get(args.run)
    themes = run.found.get("themes")
    if themes is None or not all(0 <= n < len(themes) for n in args.numbers):
        raise DataError("This result does not have these themes.")
    numbers = list(args.numbers or range(len(themes)))
    materials = materials_of_run(context.store, run, numbers)
    if agreed_digest(materials) != args.texts:
        raise DataError("The themes have changed since their texts were shown. Nothing was sent. Show them again.")
    answers = _Answers(args, context, endpoint, materials)
    names = answers.unique(answers.of_all(), [theme["name"] for n, theme in enumerate(themes) if n not in numbers])
    sentences, characters = amount(materials)
    report: dict[str, Any] = {state.value: sum(name.state is state for name in names) for state in NameState}
    report |= {"endpoint": endpoint.url, "model": endpoint.model, "sentences": sentences, "characters": characters}
    with context.writing() as w:
        changed = [dict(theme) for theme in w.runs.get(run.id).found["themes"]]
        for material, name in zip(materials, names, strict=True):
            changed[material.number] |= _changes(changed[material.number], name)
        w.runs.set_themes(run.id, changed, naming=report)
    return report | {"names": [_row(m, name) for m, name in zip(materials, names, strict=True)]}


class _Answers:
    def __init__(
        self, args: NameThemesConfig, context: JobContext, endpoint: Endpoint, materials: Sequence[ThemeMaterial]
    ) -> None:
        self._context, self._materials = context, materials
        file = context.checkpoint_folder() / "answers.jsonl"
        self._requests = Requests(endpoint, file, args.timeout, args.parallel)

    def of_all(self) -> list[GeneratedName]:
        return self._asked({place: m.messages() for place, m in enumerate(self._materials)}, 0.0, 0.9)

    def unique(self, names: list[GeneratedName], others: Sequence[str]) -> list[GeneratedName]:
        """Return the answers with unique names: repeated ones are requested once more, then get a key phrase."""
        both = [*zip(self._materials, names, strict=True)]
        taken = [*others, *(m.name for m, name in both if name.state is not NameState.NAMED)]
        again, known = list[int](), {name.casefold() for name in taken}
        for place, name in enumerate(names):  # the first theme with a name keeps it
            if name.state is NameState.NAMED:
                again += [place] if name.name.casefold() in known else []
                known.add(name.name.casefold())
        used = [*taken, *(name.name for place, name in enumerate(names) if place not in again and name.name)]
        requests = {place: self._materials[place].messages([*used, names[place].name]) for place in again}
        for place, name in zip(again, self._asked(requests, 0.9, 1.0), strict=True):
            names[place] = name if name.state is NameState.NAMED else names[place]
        named = [place for place, name in enumerate(names) if name.state is NameState.NAMED]
        free = made_unique([names[p].name for p in named], [self._materials[p].phrases for p in named], taken)
        for place, unique in zip(named, free, strict=True):
            names[place] = replace(names[place], name=unique)
        return names

    def _asked(self, requests: Mapping[int, list[Message]], low: float, high: float) -> list[GeneratedName]:
        """Return the checked answers; a request without an answer keeps the name."""

        def progress(done: int) -> None:
            share = low + (high - low) * done / len(requests)
            self._context.progress(share, 1, f"{done:,} of {len(requests):,} themes answered")

        return [
            GeneratedName(NameState.KEPT, reason=answer.failure)
            if answer.failure
            else checked_answer(answer.text, self._materials[place].texts, prompt("system"))
            for place, answer in self._requests.ask(requests, progress).items()
        ]


def _row(material: ThemeMaterial, name: GeneratedName) -> dict[str, Any]:
    row = {"number": material.number, "before": material.name, "name": name.name, "description": name.description}
    return row | {"state": name.state.value, "reason": name.reason}


def _changes(theme: Mapping[str, Any], name: GeneratedName) -> dict[str, Any]:
    naming = {"state": name.state.value, "reason": name.reason}
    if name.state is NameState.NAMED:
        first = theme.get("default_name", theme["name"])
        return {"name": name.name, "description": name.description, "default_name": first, "naming": naming}
    suggestion = {"suggestion": name.name} if name.state is NameState.UNSUPPORTED else {}
    return {"naming": naming | suggestion}


def restored(themes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return themes with the names that were computed, without those of a language model."""
    added = ("default_name", "description", "naming")
    return [
        {key: value for key, value in theme.items() if key not in added}
        | {"name": theme.get("default_name", theme["name"])}
        for theme in themes
    ]
