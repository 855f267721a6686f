"""Runs with their scores, clusterings and themes."""

from __future__ import annotations

import numpy as np

from themescope.core.client.records import Clustering, Page, Run, Score, Theme, ThemeMember, ThemeRun
from themescope.core.errors import UnknownNameError
from themescope.core.types import Ids, Split
from themescope.db.records import RunRecord, ScoreRecord
from themescope.db.store import Store, Unit
from themescope.jobs.services.remote.corpora import sentences_of_ids

THEMES = "themes"
"""Kind of the runs that found themes."""


def runs(
    store: Store, kind: str | None = None, model_id: int | None = None, offset: int = 0, limit: int = 100
) -> Page[Run]:
    """Return runs (of one kind, of one model) with their scores, oldest first."""
    with store.reading() as r:
        found = r.runs.list(kind=kind, model_id=model_id)
        page = found[offset : offset + limit]
        scores = r.runs.scores([run.id for run in page])
    return Page([_run(run, scores) for run in page], len(found), offset)


def run(store: Store, run_id: int) -> Run:
    """Return a run with its scores."""
    with store.reading() as r:
        return _run(r.runs.get(run_id), r.runs.scores([run_id]))


def clustered_articles(store: Store, run_id: int) -> list[int]:
    """Return the ids of the articles with clusters in a run."""
    with store.reading() as r:
        r.runs.get(run_id)
        return [*r.runs.labels(run_id)]


def clustering(store: Store, run_id: int, article_id: int) -> Clustering:
    """Return the clusters of the sentences of an article in a run."""
    with store.reading() as r:
        record = r.runs.get(run_id)
        labels = r.runs.labels(run_id, article_id).get(article_id)
        if labels is None:
            raise UnknownNameError("article of this run", str(article_id), ())
        ids = _clustered(r, record, article_id)
    return Clustering(run_id, article_id, ids.tolist(), labels.tolist())


def _clustered(r: Unit, record: RunRecord, article_id: int) -> Ids:
    """Return the sentences (n,) of an article in the order of a run's labels: those of its benchmark, or all."""
    item = None if record.benchmark_id is None else r.benchmarks.items_of(article_id).get(record.benchmark_id)
    if item is not None:
        return item.sentence_ids
    return np.array([s.id for s in r.corpora.sentences(article_id)], dtype=np.int64)


# --- themes -----------------------------------------------------------------------------------------------------------


def theme_runs(store: Store, corpus_id: int | None = None) -> list[ThemeRun]:
    """Return the themes that were found (in one corpus), oldest first."""
    with store.reading() as r:
        ready = {corpus.id for corpus in r.corpora.list()}
        kept = ready if corpus_id is None else ready & {corpus_id}
        return [_themes(r, run) for run in r.runs.list(kind=THEMES) if run.config.get("corpus_id") in kept]


def theme_run(store: Store, run_id: int) -> ThemeRun:
    """Return themes that were found; raise ``UnknownNameError`` if the run found none, or its corpus was deleted."""
    with store.reading() as r:
        return _themes(r, theme_record(r, run_id))


def theme_members(
    store: Store, run_id: int, theme: int | None = None, offset: int = 0, limit: int = 100
) -> Page[ThemeMember]:
    """Return the sentences of a theme, the most typical first, or of all themes, one theme after the other."""
    with store.reading() as r:
        ids, themes, margins = theme_arrays(r, run_id)
        rows = np.arange(len(ids)) if theme is None else np.flatnonzero(themes == theme)
        rows = rows[np.lexsort((-margins[rows], themes[rows]))]
        page = rows[offset : offset + limit]
        known = sentences_of_ids(r, ids[page].tolist())
    members = [ThemeMember(known[int(ids[i])], int(themes[i]), float(margins[i])) for i in page]
    return Page(members, len(rows), offset)


def theme_record(r: Unit, run_id: int) -> RunRecord:
    """Return a run that found themes in a corpus that exists."""
    record = r.runs.get(run_id)
    known = {corpus.id for corpus in r.corpora.list()}
    if record.kind != THEMES or record.config.get("corpus_id") not in known:
        raise UnknownNameError("run with themes", str(run_id), [str(run.id) for run in r.runs.list(kind=THEMES)])
    return record


def theme_arrays(r: Unit, run_id: int) -> tuple[Ids, Ids, np.ndarray]:
    """Return sentence ids (n,), theme numbers (n,) and margins (n,) of a run with themes."""
    theme_record(r, run_id)
    ids, margins = r.runs.margins(run_id, Split.TEST)
    labels, places = r.runs.labels(run_id), r.maps.places(ids)
    themes = np.full(len(ids), -1, dtype=np.int64)
    for article in np.unique(places.articles).tolist():
        rows = np.flatnonzero(places.articles == article)
        themes[rows] = labels[article][places.positions[rows]]
    return ids, themes, margins


def _themes(r: Unit, run: RunRecord) -> ThemeRun:
    config = run.config
    first = [i for theme in config["themes"] for i in theme["central"][:1]]
    texts = {i: sentence.text for i, sentence in r.corpora.sentences_by_id(np.array(first, np.int64)).items()}
    themes = [
        Theme(
            number=number,
            name=str(theme["name"]),
            size=int(theme["size"]),
            words=[*theme.get("words", ())],
            central=[*theme["central"]],
            subtitle=theme.get("description") or next((texts.get(i, "") for i in theme["central"][:1]), ""),
        )
        for number, theme in enumerate(config["themes"])
    ]
    about = run.id, int(config["corpus_id"]), run.model_id or 0, int(config["sentences"])
    return ThemeRun(*about, str(config["reason"]), run.created, themes)


def _run(run: RunRecord, scores: list[ScoreRecord]) -> Run:
    origin = run.model_id, run.corpus_id, run.benchmark_id, run.triplet_set_id
    own = [Score(s.metric, s.value, s.low, s.high, s.n) for s in scores if s.run_id == run.id]
    return Run(run.id, run.kind, *origin, run.clusterer, run.seed, run.seconds, run.created, own)
