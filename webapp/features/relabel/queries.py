"""Queries of the Relabel page.

A labelling never changes its sentences, and a model never its vectors; the cached functions therefore take the ids,
the digest and the time of creation as their key.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.labelling.changes import ChangeSet, Step
from themescope.core.labelling.partition import Partition
from themescope.core.labelling.provenance import Source
from themescope.core.records.stored import LabellingRecord, MapRecord, ModelRecord
from themescope.core.types import Ids, Matrix, Points, Sentence
from themescope.db.records import Presence
from themescope.jobs.common.labelled.placed import provenance_of
from themescope.jobs.common.model_choice import corpus_shares
from themescope.jobs.services import search
from themescope.jobs.services.labelling import assistance
from themescope.jobs.services.labelling.assistance import prepare_vectors
from themescope.jobs.services.labelling.metrics import model_in_use
from themescope.jobs.services.labelling.starts import LEAD
from themescope.webapp.shared import people, queries
from themescope.webapp.shared.choose import grouped
from themescope.webapp.shared.results import partition_queries

if TYPE_CHECKING:
    from themescope.core.labelling.questions.state import QuestionVectors


@dataclass(frozen=True, slots=True)
class Texts:
    """The sentences of a labelling in reading order; row i of every part is one of them."""

    ids: Ids
    sentences: list[Sentence]
    articles: list[str]
    sections: list[str]
    row: dict[int, int]
    """Sentence id → row."""
    several_articles: bool
    several_sections: bool

    def article_ids(self) -> set[int]:
        """Return the ids of their articles."""
        return {s.article_id for s in self.sentences}


@st.cache_resource(show_spinner="Reading sentences …", max_entries=6)
def texts(labelling_id: int, created: datetime) -> Texts:
    """Return the sentences of a labelling."""
    with queries.store().reading() as r:
        ids = r.labellings.snapshot(labelling_id).partition.ids
        known = r.corpora.sentences_by_id(ids)
        articles = r.corpora.articles_by_id({s.article_id for s in known.values()})
        sections = r.corpora.sections_of(list(articles))
    titles = {article: {s.position: s.title.strip() or LEAD for s in found} for article, found in sections.items()}
    ordered = sorted(known.values(), key=lambda s: (articles[s.article_id].position, s.position))
    return Texts(
        np.array([s.id for s in ordered], dtype=np.int64),
        ordered,
        [articles[s.article_id].title for s in ordered],
        [titles[s.article_id].get(s.section, LEAD) for s in ordered],
        {s.id: row for row, s in enumerate(ordered)},
        len(articles) > 1,
        len({(s.article_id, s.section) for s in ordered}) > 1,
    )


@st.cache_data(show_spinner=False, ttl=30, max_entries=32)
def models_for(labelling_id: int, created: datetime) -> list[ModelRecord]:
    """Return the models with vectors of all articles of a labelling, newest first; at most 30 seconds old."""
    corpus = queries.read(lambda r: r.labellings.get(labelling_id).corpus_id)
    return search.models_for(queries.store(), corpus, texts(labelling_id, created).article_ids())


@st.cache_resource(show_spinner="Reading vectors …", max_entries=3)
def matrix(model_id: int, digest: str, labelling_id: int, created: datetime) -> Matrix:
    """Return (n, dim) vectors of the sentences of a labelling, in the order of their ids."""
    return search.vectors_of(queries.store(), model_id, _ids(labelling_id))


@st.cache_resource(show_spinner="Preparing questions …", max_entries=3)
def question_vectors(_model: ModelRecord, digest: str, labelling_id: int, created: datetime) -> QuestionVectors:
    """Return the vectors of the sentences of a labelling, in the order of their ids, prepared for questions."""
    return prepare_vectors(queries.store(), _model, matrix(_model.id, digest, labelling_id, created))


def suggesting_models(record: LabellingRecord, partition: Partition) -> dict[str, ModelRecord]:
    """Return name → model with vectors of a labelling's sentences: its learned metric, then the best ones.

    Without vectors, or with too many sentences, there are none.
    """
    fits = len(partition.ids) <= search.MOST_WITH_VECTORS
    embedded = models_for(record.id, record.created) if fits else []
    if not embedded:
        return {}
    corpus = queries.read(lambda r: r.corpora.get(record.corpus_id))
    across = record.article_id is None and corpus.articles > 1
    best = queries.best_first(corpus_shares(corpus), corpus.id, embedded, across)
    own = model_in_use(queries.store(), partition)
    best.sort(key=lambda m: own is None or m.id != own.id)
    return {m.name: m for m in grouped(best, lambda m: m.method)}


@st.cache_data(show_spinner="Searching …", max_entries=32)
def similarities(
    _model: ModelRecord, digest: str, labelling_id: int, created: datetime, query: str | int
) -> npt.NDArray[np.float32]:
    """Return (n,) cosines of the sentences of a labelling, in the order of their ids, to words or to one of them.

    Raises
    ------
    ThemescopeError
        If the model knows none of the words.
    """
    x = matrix(_model.id, digest, labelling_id, created)
    return assistance.similarities(queries.store(), _model, x, _ids(labelling_id), query)


@st.cache_data(show_spinner=False, max_entries=8)
def quick_map(model_id: int, digest: str, labelling_id: int, created: datetime) -> Points:
    """Return (n, 2) principal components of the vectors of a labelling's sentences."""
    return assistance.principal_components(matrix(model_id, digest, labelling_id, created))


def _ids(labelling_id: int) -> Ids:
    return queries.read(lambda r: r.labellings.snapshot(labelling_id).partition.ids)


def other_labellings(record: LabellingRecord) -> list[tuple[LabellingRecord, Partition]]:
    """Return the other labellings of the same article or corpus with their present partitions."""
    listed = partition_queries.labellings(record.corpus_id)
    found = [x for x in listed if x.article_id == record.article_id and x.id != record.id]
    return queries.read(lambda r: [(other, r.labellings.snapshot(other.id).partition) for other in found])


def maps_with(corpus_id: int, ids: Ids) -> list[MapRecord]:
    """Return the maps of a corpus that show all of these sentences, newest first."""
    return [m for m in queries.maps(corpus_id) if np.isin(ids, queries.map_points(m.id).sentence_ids).all()]


def presence(labelling_id: int, step_id: int) -> tuple[list[Presence], int]:
    """Return who has a labelling open, and the number of its steps after one."""
    return queries.read(lambda r: (r.people.here(labelling_id), len(r.label_steps.list(labelling_id, after=step_id))))


@st.cache_data(show_spinner=False, max_entries=200, ttl=30)
def made_by(_partition: Partition, labelling_id: int, created: datetime, step: int, ids: Ids) -> list[str]:
    """Return who or what gave each of some sentences its label; "" for unassigned ones."""
    shown = _partition.only(ids)
    found = queries.read(lambda r: provenance_of(r, r.labellings.get(labelling_id), shown))
    names = []
    for source, coder, _ in (found.cells(row) for row in shown.rows(ids).tolist()):
        named = coder or (people.UNNAMED if source else "")
        names.append(named if source in ("", Source.HUMAN) else f"{named} ({source})")
    return names


def steps_of_sentence(labelling_id: int, sentence_id: int) -> list[Step]:
    """Return the steps that changed one sentence, in order."""
    return queries.read(lambda r: r.label_steps.of_sentence(labelling_id, sentence_id))


def changes_of(step_id: int) -> ChangeSet:
    """Return what a step changed."""
    return queries.read(lambda r: r.label_steps.change_set(step_id))
