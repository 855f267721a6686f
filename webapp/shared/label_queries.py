"""What the pages about labels read; like :mod:`webapp.shared.queries`, through the store's read-only repositories."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.labelling.changes import Batch
from core.labelling.history import Step
from core.labelling.partition import Partition
from core.neighbours import cosines
from core.types import Ids, Matrix, Points, Sentence
from db.label_records import LabellingRecord, Presence
from db.records import MapRecord, ModelRecord
from jobs.services.labelling import vectors
from jobs.services.search import vector_of
from webapp.map_view import map_search
from webapp.shared import queries

Likeness = npt.NDArray[np.float32]
LEAD = "Introduction"


@dataclass(frozen=True, slots=True)
class Texts:
    """The sentences of a labelling, in reading order; row i of every part is one of them."""

    ids: Ids
    sentences: list[Sentence]
    articles: list[str]
    sections: list[str]
    row: dict[int, int]
    """Sentence id → row."""
    several: bool
    """Whether they come from more than one article."""

    def article_ids(self) -> set[int]:
        """Ids of their articles."""
        return {s.article_id for s in self.sentences}


def labellings(corpus_id: int | None = None, deleted: bool = False) -> list[LabellingRecord]:
    """Labellings (of one corpus), the newest first; with ``deleted`` those that were deleted instead."""
    with queries.store().reading() as r:
        return r.labellings.list(corpus_id, deleted)[::-1]


@st.cache_resource(show_spinner="Opening the sentences …", max_entries=6)
def texts(labelling_id: int, created: datetime) -> Texts:
    """The sentences of a labelling; which they are never changes, and ``created`` makes the key unique."""
    with queries.store().reading() as r:
        ids = r.labellings.shown(labelling_id).partition.ids
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
    )


@st.cache_data(show_spinner=False, ttl=30, max_entries=32)
def models_for(labelling_id: int, created: datetime) -> list[ModelRecord]:
    """Models that have vectors of all articles of a labelling, the newest first; half a minute old at most."""
    with queries.store().reading() as r:
        corpus = r.labellings.get(labelling_id).corpus_id
    return vectors.models_for(queries.store(), corpus, texts(labelling_id, created).article_ids())


@st.cache_resource(show_spinner="Reading vectors …", max_entries=3)
def matrix(model_id: int, digest: str, labelling_id: int, created: datetime) -> Matrix:
    """(n, dim) vectors of the sentences of a labelling, in the order of their ids; the other arguments are the key."""
    with queries.store().reading() as r:
        ids = r.labellings.shown(labelling_id).partition.ids
    return vectors.vectors_of(queries.store(), model_id, ids)


@st.cache_data(show_spinner="Comparing with every sentence …", max_entries=32)
def likeness(_model: ModelRecord, digest: str, labelling_id: int, created: datetime, query: str | int) -> Likeness:
    """(n,) cosines of the sentences of a labelling, in the order of their ids, to typed words or to one of them.

    Raises ``ThemescopeError`` where the model knows none of the words.
    """
    x = matrix(_model.id, digest, labelling_id, created)
    if isinstance(query, str):
        return cosines(vector_of(map_search.embedder(_model.artifact, _model), query), x)
    with queries.store().reading() as r:
        ids = r.labellings.shown(labelling_id).partition.ids
    return cosines(x[np.flatnonzero(ids == query)], x)


@st.cache_data(show_spinner=False, max_entries=8)
def quick_map(model_id: int, digest: str, labelling_id: int, created: datetime) -> Points:
    """(n, 2) principal components of those vectors: a map that is there at once, where none has been drawn."""
    from sklearn.decomposition import TruncatedSVD

    x = _centred(matrix(model_id, digest, labelling_id, created))
    return np.asarray(TruncatedSVD(2, random_state=0).fit_transform(x), dtype=np.float32)


def _centred(x: Matrix) -> Any:
    """Rows of length 1, dense ones with their mean taken away."""
    from core.clustering.inputs import unit_rows

    unit: Any = unit_rows(x)
    return unit if hasattr(unit, "todense") else unit - unit.mean(axis=0)


def others(record: LabellingRecord) -> list[tuple[LabellingRecord, Partition]]:
    """Other labellings of the same article or corpus, as they are now."""
    found = [x for x in labellings(record.corpus_id) if x.article_id == record.article_id and x.id != record.id]
    with queries.store().reading() as r:
        return [(other, r.labellings.shown(other.id).partition) for other in found]


def maps_with(corpus_id: int, ids: Ids) -> list[MapRecord]:
    """Maps of a corpus that show all of these sentences, the newest first."""
    return [m for m in queries.maps(corpus_id) if np.isin(ids, queries.map_points(m.id).sentence_ids).all()]


def here(labelling_id: int) -> list[Presence]:
    """Who has a labelling open."""
    with queries.store().reading() as r:
        return r.people.here(labelling_id)


def steps_after(labelling_id: int, step_id: int) -> int:
    """How many steps of a labelling came after one."""
    with queries.store().reading() as r:
        return len(r.label_steps.list(labelling_id, after=step_id))


def steps_of(labelling_id: int, sentence_id: int) -> list[Step]:
    """The steps that touched one sentence, in their order."""
    with queries.store().reading() as r:
        return r.label_steps.of_sentence(labelling_id, sentence_id)


def batch(step_id: int) -> Batch:
    """What a step changed."""
    with queries.store().reading() as r:
        return r.label_steps.batch(step_id)


def log(labelling_id: int) -> list[tuple[Step, Batch]]:
    """Every step of a labelling with its changes."""
    with queries.store().reading() as r:
        return r.label_steps.since(labelling_id, 0)
