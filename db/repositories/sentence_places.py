"""Positions of many sentences as arrays, read by a few statements without their text."""

from __future__ import annotations

import numpy as np
from sqlalchemy.engine import Connection

from core.types import Ids
from db import tables as t
from db.records import SentencePlaces
from db.repositories.triplet_sections import PLACES, looked_up, titles_at
from db.sql import grouped_columns, id_chunks, within


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
