"""Positions, section titles and lengths of the sentences of maps and triplet sets, as arrays and without their text.

Half a million triplets share some 200,000 sentences. Each sentence is looked up once and joined in memory, which is
faster than a join in the database per triplet.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from themescope.core.types import Ids, TripletRows
from themescope.db import tables as t
from themescope.db.records import SentencePlaces, TripletMeasures, TripletSections
from themescope.db.sql import grouped_columns, id_chunks, id_columns, plain_rows, within

_Codes = npt.NDArray[np.int32]
_Table = tuple[Ids, _Codes]
"""Ascending keys, and the code of the title of each."""
PLACES = 1 << 20
"""Factor that combines an article id and the position of a section to one number; no article has so many sections."""


def section_titles(connection: Connection, kind: str, rows: TripletRows) -> TripletSections:
    """Return the section titles of pivots and negatives; in sets of kind "titles", negatives are sections."""
    titled = kind == "titles"
    sentences = rows.pivots if titled else np.concatenate([rows.pivots, rows.negatives])
    ids, places = _places(connection, sentences)
    codes = {"": 0}
    of_sentence = ids, looked_up(titles_at(connection, places, codes), places)
    of_negative = _titles_of(connection, rows.negatives, codes) if titled else of_sentence
    own, other = looked_up(of_sentence, rows.pivots), looked_up(of_negative, rows.negatives)
    return TripletSections(rows.ids, rows.articles, own, other, list(codes))


def _places(connection: Connection, sentence_ids: Ids) -> tuple[Ids, Ids]:
    """Return the ascending ids of existing sentences, and the article and section of each as one number."""
    c = t.sentence.c
    found = [np.empty((3, 0), np.int64)]
    for chunk in id_chunks(sentence_ids):
        numbers = grouped_columns(connection, c.article_id, (c.id, c.section), within(connection, c.id, chunk))
        found.append(np.stack(numbers))
    articles, ids, sections = np.concatenate(found, axis=1)
    order = np.argsort(ids, kind="stable")
    return ids[order], (articles * PLACES + sections)[order]


def titles_at(connection: Connection, places: Ids, codes: dict[str, int]) -> _Table:
    """Return the section titles of all articles in ``places``; new titles are added to ``codes``."""
    c = t.section.c
    query = sa.select(c.article_id * PLACES + c.position, c.title)
    chunks = (query.where(within(connection, c.article_id, chunk)) for chunk in id_chunks(places // PLACES))
    return _table((row for chunk in chunks for row in plain_rows(connection.execute(chunk))), codes)


def _titles_of(connection: Connection, section_ids: Ids, codes: dict[str, int]) -> _Table:
    c = t.section.c
    query = sa.select(c.id, c.title)
    chunks = (query.where(within(connection, c.id, chunk)) for chunk in id_chunks(section_ids))
    return _table((row for chunk in chunks for row in plain_rows(connection.execute(chunk))), codes)


def _table(rows: Iterable[Any], codes: dict[str, int]) -> _Table:
    """Return rows of (key, title) as arrays."""
    listed = list(rows)
    titles = [title for _, title in listed]
    for title in dict.fromkeys(titles):
        codes.setdefault(title, len(codes))
    keys = np.fromiter((key for key, _ in listed), np.int64, len(listed))
    values = np.fromiter(map(codes.__getitem__, titles), np.int32, len(titles))
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]


def looked_up(table: _Table, wanted: Ids) -> _Codes:
    """Return the codes of the wanted keys; 0, the code of no title, for missing ones."""
    keys, codes = table
    if not len(keys):
        return np.zeros(len(wanted), np.int32)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, codes[at], 0).astype(np.int32)


def measures(connection: Connection, kind: str, rows: TripletRows) -> TripletMeasures:
    """Return lengths and distances of n triplets; words are counted by the spaces between them."""
    parts = [rows.pivots] if kind == "titles" else [rows.pivots, rows.positives, rows.negatives]
    ids, words, paragraphs = _lengths(connection, np.concatenate(parts))
    if not len(ids):
        nothing = np.empty(0, np.int64)
        return TripletMeasures(nothing, nothing, nothing, nothing)
    at = [np.minimum(np.searchsorted(ids, part), len(ids) - 1) for part in parts]
    shortest = np.min([words[places] for places in at], axis=0)
    apart = np.full(len(rows.ids), -1) if kind == "titles" else np.abs(paragraphs[at[0]] - paragraphs[at[1]])
    return TripletMeasures(rows.ids, rows.articles, shortest, apart)


def _lengths(connection: Connection, sentence_ids: Ids) -> tuple[Ids, Ids, Ids]:
    """Return the ascending ids of existing sentences, their numbers of words, and their paragraphs in the article."""
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
    """Return the number of paragraphs before each section of ``places`` (n,), summed over all articles in it."""
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


def sentence_places(connection: Connection, sentence_ids: Ids) -> SentencePlaces:
    """Return article, position and section title of existing sentences, in the order of the ids."""
    c = t.sentence.c
    found = [np.empty((4, 0), np.int64)]
    for chunk in id_chunks(sentence_ids):
        numbers = grouped_columns(
            connection, c.article_id, (c.id, c.position, c.section), within(connection, c.id, chunk)
        )
        found.append(np.stack(numbers))
    table = np.concatenate(found, axis=1)
    table = table[:, np.argsort(table[1], kind="stable")]
    at = np.minimum(np.searchsorted(table[1], sentence_ids), max(table.shape[1] - 1, 0))
    there = table[1][at] == sentence_ids if table.shape[1] else np.zeros(len(sentence_ids), bool)
    articles, ids, positions, sections = table[:, at[there]] if table.shape[1] else table
    codes: dict[str, int] = {"": 0}
    places = articles * PLACES + sections
    titles = looked_up(titles_at(connection, places, codes), places)
    return SentencePlaces(ids, articles, positions, titles, list(codes))
