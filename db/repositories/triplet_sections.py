"""Section titles of many triplets as arrays, read by a few statements.

Half a million triplets share some 200,000 sentences. Each is looked up once and joined in memory, which is quicker than
a join in the database for every triplet, and far quicker than cards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.types import Ids, TripletRows
from db import tables as t
from db.records import TripletSections
from db.sql import grouped_columns, id_chunks, plain_rows, within

_Codes = npt.NDArray[np.int32]
_Table = tuple[Ids, _Codes]
"""Ascending keys, and the code of the title of each."""
PLACES = 1 << 20
"""More sections than any article has: (article, position) as one number."""


def section_titles(connection: Connection, kind: str, rows: TripletRows) -> TripletSections:
    """The titles of the sections of pivots and negatives; of a set of kind "titles" a negative is a section itself."""
    titled = kind == "titles"
    sentences = rows.pivots if titled else np.concatenate([rows.pivots, rows.negatives])
    ids, places = _places(connection, sentences)
    codes = {"": 0}
    of_sentence = ids, looked_up(titles_at(connection, places, codes), places)
    of_negative = _titles_of(connection, rows.negatives, codes) if titled else of_sentence
    own, other = looked_up(of_sentence, rows.pivots), looked_up(of_negative, rows.negatives)
    return TripletSections(rows.ids, rows.articles, own, other, list(codes))


def _places(connection: Connection, sentence_ids: Ids) -> tuple[Ids, Ids]:
    """Ascending ids of the sentences that are there, and (article, position of the section) of each as one number."""
    c = t.sentence.c
    found = [np.empty((3, 0), np.int64)]
    for chunk in id_chunks(sentence_ids):
        numbers = grouped_columns(connection, c.article_id, (c.id, c.section), within(connection, c.id, chunk))
        found.append(np.stack(numbers))
    articles, ids, sections = np.concatenate(found, axis=1)
    order = np.argsort(ids, kind="stable")
    return ids[order], (articles * PLACES + sections)[order]


def titles_at(connection: Connection, places: Ids, codes: dict[str, int]) -> _Table:
    """Titles of the sections of every article that ``places`` name; ``codes`` grows by what is new."""
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
    """(key, title) rows as arrays."""
    listed = list(rows)
    titles = [title for _, title in listed]
    for title in dict.fromkeys(titles):
        codes.setdefault(title, len(codes))
    keys = np.fromiter((key for key, _ in listed), np.int64, len(listed))
    values = np.fromiter(map(codes.__getitem__, titles), np.int32, len(titles))
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]


def looked_up(table: _Table, wanted: Ids) -> _Codes:
    """The code of every wanted key; that of no title where it is gone."""
    keys, codes = table
    if not len(keys):
        return np.zeros(len(wanted), np.int32)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, codes[at], 0).astype(np.int32)
