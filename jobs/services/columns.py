"""Columns of stored sentences as columns of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from themescope.core.columns import ColumnLevel, ColumnType, Values, plain_values
from themescope.core.types import Ids, Value
from themescope.db.records import ColumnRecord
from themescope.db.store import Store
from themescope.jobs.services.table_files import parquet_bytes


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of a file."""

    name: str
    type: ColumnType
    values: Sequence[object]
    """One value per row: text, number, :class:`~datetime.date` or, if not all are whole days, time; None is missing."""


def file_columns(store: Store, corpus_id: int, sentences: Ids, taken: Iterable[str] = ()) -> list[FileColumn]:
    """Return the columns of a corpus for the sentences (n,) with these ids; names that are ``taken`` get a number."""
    with store.reading() as r:
        columns = r.columns.list(corpus_id)
        if not columns:
            return []
        articles = np.empty(0, np.int64)
        if any(column.level is ColumnLevel.ARTICLE for column in columns):
            known = r.corpora.sentences_by_id(sentences)
            articles = np.array([known[id].article_id for id in sentences.tolist()], dtype=np.int64)
        ids = {ColumnLevel.SENTENCE: sentences, ColumnLevel.ARTICLE: articles}
        found = [(column, r.columns.values(column, ids[column.level])) for column in columns]
    used = set(taken)
    return [
        FileColumn(_free(column.name, used), ColumnType(column.type), _file_values(column, values))
        for column, values in found
    ]


def _file_values(column: ColumnRecord, values: Values) -> list[object]:
    plain: list[Value] = plain_values(ColumnType(column.type), values, column.categories)
    if column.type == ColumnType.DATE and column.about.get("days"):
        return [value.date() if isinstance(value, datetime) else None for value in plain]
    if column.type == ColumnType.NUMBER and column.about.get("whole"):
        return [int(value) if isinstance(value, float) else None for value in plain]
    return [*plain]


def _free(name: str, used: set[str]) -> str:
    """Return the name, numbered if it is used, and mark it as used."""
    free, number = name, 1
    while free in used:
        number += 1
        free = f"{name} ({number})"
    used.add(free)
    return free


def file_content(
    store: Store, corpus_id: int, write: Callable[..., Any], header: Sequence[str], rows: Sequence[Sequence[Any]]
) -> Any:
    """Return a file of sentences with the columns of their corpus at the end.

    ``write`` is a function of :mod:`themescope.jobs.services.table_files`; the first cell of every row is the id of its
    sentence.
    """
    columns = file_columns(store, corpus_id, np.array([row[0] for row in rows], dtype=np.int64), header)
    if not columns:
        return write(header, rows)
    further = zip(*(column.values for column in columns), strict=True)
    wide = [(*row, *more) for row, more in zip(rows, further, strict=True)]
    names = (*header, *(column.name for column in columns))
    if write is parquet_bytes:
        return write(names, wide, types={column.name: column.type for column in columns})
    return write(names, wide)
