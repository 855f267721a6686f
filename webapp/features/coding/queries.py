"""Queries of the page Code.

The cached functions take as their key what tells the sentences of a labelling, and the digest of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.columns import ColumnLevel, ColumnType
from themescope.core.errors import DataError
from themescope.core.labelling import coding, learning
from themescope.core.labelling.changes import ChangeSet
from themescope.core.labelling.coding import ClusterGroup
from themescope.core.labelling.learning import Centres
from themescope.core.labelling.partition import Partition
from themescope.core.labelling.provenance import Source
from themescope.core.readers.table import ROW
from themescope.core.records.stored import LabellingRecord, ModelRecord
from themescope.core.types import Ids, Matrix, Points, Sentence
from themescope.db.records import Presence
from themescope.jobs.common.columns import is_list, waves_of
from themescope.jobs.common.labelled import provenance_of
from themescope.jobs.common.models import corpus_shares
from themescope.jobs.services import search
from themescope.jobs.services.labelling import session
from themescope.jobs.services.labelling.session import Reclustered
from themescope.jobs.services.labelling.starts import LEAD
from themescope.jobs.services.samples import places_of
from themescope.jobs.services.search import MOST_WITH_VECTORS
from themescope.webapp.shared import people, queries
from themescope.webapp.shared.choose import grouped
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.text import shorten


@dataclass(frozen=True, slots=True)
class Texts:
    """The sentences of a labelling; row i of every part is one of them.

    They are in reading order, those of a task in the order of the items of its person.
    """

    ids: Ids
    sentences: list[Sentence]
    articles: list[str]
    sections: list[str]
    row: dict[int, int]
    """Sentence id → row."""
    several_articles: bool
    several_sections: bool
    """Both are False for a list, whose waves are its articles."""


Members = tuple[datetime, int]
"""What identifies the sentences of a labelling, with its id, see :attr:`LabellingRecord.members`."""


@st.cache_resource(show_spinner="Reading units …", max_entries=6)
def texts(labelling_id: int, members: Members) -> Texts:
    """Return the sentences of a labelling."""
    with queries.store().reading() as r:
        ids = r.labellings.snapshot(labelling_id).partition.ids
        known = r.corpora.sentences_by_id(ids)
        articles = r.corpora.articles_by_id({s.article_id for s in known.values()})
        sections = r.corpora.sections_of(list(articles))
        of_list = is_list(r.corpora.get(r.labellings.get(labelling_id).corpus_id))
        of_task = r.tasks.of_labelling(labelling_id)
        items = r.tasks.items(of_task[0].id, of_task[1]) if of_task else []
    place = {at: item.place for item in items for at in places_of([item.range])}
    titles = {article: {s.position: s.title.strip() or LEAD for s in found} for article, found in sections.items()}
    ordered = sorted(known.values(), key=lambda s: (articles[s.article_id].position, s.position))
    ordered.sort(key=lambda s: place.get((s.article_id, s.position), len(place)))
    return Texts(
        np.array([s.id for s in ordered], dtype=np.int64),
        ordered,
        [articles[s.article_id].title for s in ordered],
        [titles[s.article_id].get(s.section, LEAD) for s in ordered],
        {s.id: row for row, s in enumerate(ordered)},
        len(articles) > 1 and not of_list,
        len({(s.article_id, s.section) for s in ordered}) > 1 and not of_list,
    )


def neighbours_in_text(sentences: Sequence[Sentence], corpus_id: int) -> list[tuple[str, str]]:
    """Return the texts before and after each sentence in its article, "" for none; rows of a list have no neighbours.

    A list is a corpus of failures, or one whose waves have one article each, with columns of sentences.
    """
    with queries.store().reading() as r:
        corpus, columns = r.corpora.get(corpus_id), r.columns.list(corpus_id)
        alone = bool(corpus.failures_of) or corpus.articles <= max(len(waves_of(corpus)), 1)
        if alone and any(c.level is ColumnLevel.SENTENCE for c in columns):
            return [("", "")] * len(sentences)
        places = {(s.article_id, s.position + offset) for s in sentences for offset in (-1, 1)}
        known = {(s.article_id, s.position): s.text for s in r.corpora.sentences_at(sorted(places))}
    near = ([known.get((s.article_id, s.position + offset), "") for offset in (-1, 1)] for s in sentences)
    return [(before, after) for before, after in near]


_MOST_COLUMNS, _MOST_VALUE, _MOST_TEXT, _MOST_CONTEXT = 5, 40, 6_000, 220


def unit_texts(state: RelabelState, ids: Ids) -> dict[int, dict[str, Any]]:
    """Return texts, neighbours and columns of units; what was read before is kept until texts are edited."""
    held: dict[int, dict[str, Any]] = st.session_state.setdefault(f"code_unit_texts_{state.record.members}", {})
    new = np.array([id for id in ids.tolist() if id not in held], np.int64)
    if len(new):
        texts = state.texts
        found = [texts.sentences[texts.row[id]] for id in new.tolist()]
        near = neighbours_in_text(found, state.record.corpus_id)
        corpus = queries.read(lambda r: r.corpora.get(state.record.corpus_id))
        articles = np.array([one.article_id for one in found], np.int64)
        shown = [column for column in queries.columns(corpus) if column.name != ROW][:_MOST_COLUMNS]
        values = [[_value(column.type, one) for one in queries.plain_column(column, new, articles)] for column in shown]
        for place, (id, sentence, (before, after)) in enumerate(zip(new.tolist(), found, near, strict=True)):
            article = texts.articles[texts.row[id]] if texts.several_articles else ""
            about = [shorten(part, _MOST_VALUE) for part in (article, *(one[place] for one in values)) if part]
            held[id] = {
                "text": shorten(sentence.text, _MOST_TEXT),
                "before": before if len(before) <= _MOST_CONTEXT else f"…{before[1 - _MOST_CONTEXT :]}",
                "after": shorten(after, _MOST_CONTEXT),
                "about": " · ".join(about),
            }
    return held


def _value(type: str, value: Any) -> str:
    if value is None:
        return ""
    if type == ColumnType.DATE:
        return f"{value:%d %B %Y}".lstrip("0")
    return f"{value:g}" if type == ColumnType.NUMBER else str(value)


def models_for(labelling_id: int, members: Members) -> list[ModelRecord]:
    """Return the models with vectors of all articles of a labelling, newest first; at most 30 seconds old."""
    return _models_for(labelling_id, members, current_person())


@st.cache_data(show_spinner=False, ttl=30, max_entries=32)
def _models_for(labelling_id: int, members: Members, person: str) -> list[ModelRecord]:
    corpus = queries.read(lambda r: r.labellings.get(labelling_id).corpus_id)
    return search.models_for(queries.store(), corpus, {s.article_id for s in texts(labelling_id, members).sentences})


@st.cache_resource(show_spinner="Reading vectors …", max_entries=3)
def matrix(model_id: int, digest: str, labelling_id: int, members: Members) -> Matrix:
    """Return (n, dim) vectors of the sentences of a labelling, in the order of their ids."""
    return search.vectors_of(queries.store(), model_id, _ids(labelling_id))


def suggesting_models(record: LabellingRecord, units: int) -> dict[str, ModelRecord]:
    """Return name → model with vectors of a labelling's sentences: the best ones first.

    Without vectors, or with too many sentences, there are none.
    """
    fits = units <= search.MOST_WITH_VECTORS
    embedded = models_for(record.id, record.members) if fits else []
    if not embedded:
        return {}
    corpus = queries.read(lambda r: r.corpora.get(record.corpus_id))
    across = record.article_id is None and corpus.articles > 1
    best = queries.best_first(corpus_shares(corpus), corpus.id, embedded, across)
    return {m.name: m for m in grouped(best, lambda m: m.method)}


@st.cache_data(show_spinner="Searching …", max_entries=32)
def similarities(
    _model: ModelRecord, digest: str, labelling_id: int, members: Members, query: str | int
) -> npt.NDArray[np.float32]:
    """Return (n,) cosines of the sentences of a labelling, in the order of their ids, to words or to one of them.

    Raises ``ThemescopeError`` if the model knows none of the words.
    """
    x = matrix(_model.id, digest, labelling_id, members)
    return session.similarities(queries.store(), _model, x, _ids(labelling_id), query)


@st.cache_data(show_spinner=False, max_entries=8)
def quick_map(model_id: int, digest: str, labelling_id: int, members: Members) -> Points:
    """Return (n, 2) principal components of the vectors of a labelling's sentences."""
    return session.principal_components(matrix(model_id, digest, labelling_id, members))


def _ids(labelling_id: int) -> Ids:
    return queries.read(lambda r: r.labellings.snapshot(labelling_id).partition.ids)


def small_map(state: RelabelState) -> npt.NDArray[np.uint8] | None:
    """Return (n, 2) places of the units, whole numbers up to 255, from a stored map, else by the model's vectors.

    The second is counted from the top, as a screen does.
    """
    model = state.model
    id, digest = (0, None) if model is None else (model.id, model.digest)
    return _small_map(state.record.id, state.record.members, id, digest)


@st.cache_data(show_spinner=False, max_entries=8, ttl=300)
def _small_map(labelling_id: int, members: Members, model_id: int, digest: str | None) -> npt.NDArray[np.uint8] | None:
    record, ids = queries.read(lambda r: r.labellings.get(labelling_id)), _ids(labelling_id)
    known = (queries.map_points(one.id) for one in queries.maps(record.corpus_id))
    found = next((one for one in known if np.isin(ids, one.sentence_ids).all()), None)
    if found is not None:
        order = np.argsort(found.sentence_ids)
        points = found.points[order[np.searchsorted(found.sentence_ids, ids, sorter=order)]]
    elif digest is not None:
        points = quick_map(model_id, digest, labelling_id, members)
    else:
        return None
    points = points * (1, -1)
    low, high = np.quantile(points, [0.002, 0.998], axis=0)
    return np.clip(255 * (points - low) / np.maximum(high - low, 1e-9), 0, 255).astype(np.uint8)


def presence(labelling_id: int, step_id: int) -> tuple[list[Presence], int]:
    """Return who has a labelling open, and the number of its steps after one."""
    return queries.read(lambda r: (r.people.here(labelling_id), len(r.label_steps.list(labelling_id, after=step_id))))


@st.cache_data(show_spinner=False, max_entries=200, ttl=30)
def made_by(_partition: Partition, labelling_id: int, members: Members, step: int, ids: Ids) -> list[str]:
    """Return who or what gave each of some sentences its label; "" for unassigned ones."""
    shown = _partition.only(ids)
    found = queries.read(lambda r: provenance_of(r, r.labellings.get(labelling_id), shown))
    names = []
    for source, coder, _ in (found.cells(row) for row in shown.rows(ids).tolist()):
        named = coder or (people.UNNAMED if source else "")
        names.append(named if source in ("", Source.HUMAN) else f"{named} ({source})")
    return names


def changes_of(step_id: int) -> ChangeSet:
    """Return what a step changed."""
    return queries.read(lambda r: r.label_steps.change_set(step_id))


# --- cluster queries --------------------------------------------------------------------------------------------------


if TYPE_CHECKING:
    from themescope.webapp.features.coding.editing import RelabelState

_STATE = "themescope.webapp.features.coding.editing.RelabelState"
_OF_MODEL: dict[str | type[Any], Callable[[Any], Any]] = {
    _STATE: lambda state: (getattr(model_of(state), "digest", ""), state.record.id, state.record.members)
}
"""What identifies a state where the partition makes no difference (``hash_funcs``)."""
_OF_STEP: dict[str | type[Any], Callable[[Any], Any]] = {
    _STATE: lambda state: (_OF_MODEL[_STATE](state), state.session.snapshot.step)
}
"""What identifies a state whose partition a result depends on."""


def model_of(state: RelabelState) -> ModelRecord | None:
    """Return the chosen model; of a labelling that is too large for suggestions, the best one. None without vectors."""
    if state.record.blind or len(state.partition.ids) <= MOST_WITH_VECTORS:
        return state.model
    corpus = queries.read(lambda r: r.corpora.get(state.record.corpus_id))
    embedded = models_for(state.record.id, state.record.members)
    return next(iter(queries.best_first(corpus_shares(corpus), corpus.id, embedded, corpus.articles > 1)), None)


def sample(state: RelabelState) -> tuple[Partition, Matrix] | None:
    """Return the sentences that suggestions are based on, and their vectors; None without a model.

    They are all sentences, or a random sample of :data:`MOST_WITH_VECTORS`, which limits the memory of a page.
    """
    model = model_of(state)
    if model is None:
        return None
    if state.vectors is not None:
        return state.partition, state.vectors
    ids, x = _sampled(state)
    return state.partition.only(ids), x


@st.cache_resource(show_spinner="Reading vectors …", max_entries=2, hash_funcs=_OF_MODEL)
def _sampled(state: RelabelState) -> tuple[Ids, Matrix]:
    model = model_of(state)
    assert model is not None
    ids = np.sort(np.random.default_rng(0).permutation(state.partition.ids)[:MOST_WITH_VECTORS])
    return ids, search.vectors_of(queries.store(), model.id, ids)


@st.cache_resource(show_spinner="Comparing codes …", max_entries=6, hash_funcs=_OF_STEP)
def centres(state: RelabelState) -> Centres | None:
    """Return the centres of the clusters by the chosen model; None without one."""
    found = sample(state)
    return None if found is None else learning.centres(*found)


def ungrouped(state: RelabelState) -> Centres | None:
    """Return the centres of the clusters that are in no theme and have no sub-themes; None without a model."""
    found = centres(state)
    return None if found is None else found.only(coding.ungrouped(state.partition))


@st.cache_resource(show_spinner="Grouping clusters …", max_entries=16, hash_funcs=_OF_STEP)
def suggested_groups(state: RelabelState, groups: int) -> list[ClusterGroup]:
    """Return groups of clusters for as many themes as given or as suggested; needs a model."""
    found = ungrouped(state)
    return [] if found is None else session.suggested_groups(state.partition, state.session.texts, found, groups)


@st.cache_resource(show_spinner="Re-clustering …", max_entries=8, hash_funcs=_OF_MODEL)
def reclustered(state: RelabelState, ids: Ids, k: int | None, clusterer: str) -> Reclustered:
    """Return the preview of re-clustering sentences by the chosen model.

    Raises ``ThemescopeError`` if there are fewer sentences than parts.
    """
    model, x = model_of(state), state.vectors
    assert model is not None
    if len(ids) > MOST_WITH_VECTORS:
        raise DataError(f"At most {MOST_WITH_VECTORS:,} units are re-clustered at once; these are {len(ids):,}.")
    part = search.vectors_of(queries.store(), model.id, ids) if x is None else x[state.partition.rows(ids)]
    texts = [state.session.texts[int(i)] for i in ids]
    return session.preview_parts(queries.store(), model, texts, ids, part, k, clusterer)
