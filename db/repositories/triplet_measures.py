"""Sentence lengths and distances of many triplets as arrays, read without fetching text."""

from __future__ import annotations

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.types import Ids, TripletRows
from db import tables as t
from db.records import TripletMeasures
from db.repositories.triplet_sections import PLACES
from db.sql import id_chunks, id_columns, within


def measures(connection: Connection, kind: str, rows: TripletRows) -> TripletMeasures:
    """Words and paragraphs of n triplets; words are counted by the spaces between them."""
    parts = [rows.pivots] if kind == "titles" else [rows.pivots, rows.positives, rows.negatives]
    ids, words, paragraphs = _sentences(connection, np.concatenate(parts))
    if not len(ids):
        nothing = np.empty(0, np.int64)
        return TripletMeasures(nothing, nothing, nothing, nothing)
    at = [np.minimum(np.searchsorted(ids, part), len(ids) - 1) for part in parts]
    shortest = np.min([words[places] for places in at], axis=0)
    apart = np.full(len(rows.ids), -1) if kind == "titles" else np.abs(paragraphs[at[0]] - paragraphs[at[1]])
    return TripletMeasures(rows.ids, rows.articles, shortest, apart)


def _sentences(connection: Connection, sentence_ids: Ids) -> tuple[Ids, Ids, Ids]:
    """Ascending ids of the sentences that are there, their words, and their paragraph counted through the article."""
    c = t.sentence.c
    words = sa.func.length(c.text) - sa.func.length(sa.func.replace(c.text, " ", "")) + 1
    query = sa.select(c.id, c.article_id * PLACES + c.section, c.paragraph, words)
    found = [np.empty((4, 0), np.int64)]
    for chunk in id_chunks(sentence_ids):
        found.append(np.stack(id_columns(connection.execute(query.where(within(connection, c.id, chunk))), 4)))
    ids, places, paragraphs, lengths = np.concatenate(found, axis=1)
    order = np.argsort(ids, kind="stable")
    return ids[order], lengths[order], (paragraphs + _before(connection, places))[order]


def _before(connection: Connection, places: Ids) -> Ids:
    """How many paragraphs stand before each section, counted through all articles that ``places`` (n,) name."""
    c = t.sentence.c
    place = (c.article_id * PLACES + c.section).label("place")
    query = sa.select(place, sa.func.max(c.paragraph) + 1).group_by(place)
    found = [np.empty((2, 0), np.int64)]
    for chunk in id_chunks(places // PLACES):
        found.append(np.stack(id_columns(connection.execute(query.where(within(connection, c.article_id, chunk))), 2)))
    known, sizes = np.concatenate(found, axis=1)
    order = np.argsort(known, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes[order])])
    return starts[np.searchsorted(known[order], places)]
