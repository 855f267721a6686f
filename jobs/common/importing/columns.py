"""Columns of an import: which are kept, and their types once all values are stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from themescope.core.columns import (
    DECLARED,
    MOST_COLUMNS,
    OMIT,
    ColumnLevel,
    ColumnType,
    Profile,
    TypedColumn,
    Values,
    coded,
    column_name,
    count_categories,
    plain_values,
    summary,
    typed,
)
from themescope.core.errors import ConfigError
from themescope.core.protocols import Report
from themescope.core.records.stored import ArticleRecord, ColumnRecord
from themescope.core.types import Article, Ids, SectionRecord, Sentence, Value
from themescope.db.repositories.blocks import packed_blocks
from themescope.db.store import Store
from themescope.jobs.common.job import JobContext

V = TypeVar("V")
_GROUP_SENTENCES = 20_000
LEFT_OUT = "columns beyond the first 100"
"""Reason, in the report of an import, for which columns are missing."""


def check_types(types: Mapping[str, Any], label: str) -> None:
    """Raise ``ConfigError`` unless every value is a type that can be declared."""
    for name, type in types.items():
        if type not in DECLARED:
            raise ConfigError(f"{label}: the type of {name!r} must be one of {', '.join(DECLARED)}, not {type!r}.")


class KeptColumns:
    """Filter of the columns of new articles: not those that a person omits, and at most 100 of each level."""

    def __init__(self, types: Mapping[str, str], known: Iterable[ColumnRecord] = ()) -> None:
        self._types = types
        self._seen: dict[ColumnLevel, dict[str, None]] = {level: {} for level in ColumnLevel}
        self.left_out: set[str] = set()
        """Names of the columns beyond the limit."""
        for column in known:
            self._seen[column.level][column.name] = None

    def __call__(self, articles: Iterable[Article]) -> Iterator[Article]:
        """Yield the articles with the columns that are kept."""
        for article in articles:
            if article.values or article.sentence_values:
                article = replace(
                    article,
                    values=self._kept(ColumnLevel.ARTICLE, article.values),
                    sentence_values=self._kept(ColumnLevel.SENTENCE, article.sentence_values),
                )
            yield article

    def _kept(self, level: ColumnLevel, values: Mapping[str, V]) -> dict[str, V]:
        seen, kept = self._seen[level], {}
        for source, value in values.items():
            name = column_name(source)
            if not name or self._types.get(name) == OMIT:
                continue
            if name in seen or len(seen) < MOST_COLUMNS:
                seen[name] = None
                kept[name] = value
            else:
                self.left_out.add(name)
        return kept


def find_types(context: JobContext, corpus_id: int, declared: Callable[[ColumnRecord], str], report: Report) -> None:
    """Give each column of an import the declared type, or where that is "" the one that its values have.

    A column is converted in one transaction, so a resumed import goes on with the others.
    """
    with context.store.reading() as r:
        columns = r.columns.list(corpus_id)
    for done, column in enumerate(columns):
        report.progress(done, len(columns), f"Column {column.name}")
        if column.type:
            continue
        ids, found = typed_column(context.store, column, declared(column))
        blocks = packed_blocks(ids, found)
        with context.writing() as w:
            if found.about["missing"] == len(ids):
                w.columns.remove(column)  # without any value
            else:
                w.columns.set_type(column, found, blocks)


Stored = tuple[ArticleRecord, list[SectionRecord], list[Sentence]]


def with_values(r: Any, corpus_id: int) -> Iterator[tuple[Stored, dict[str, Value], dict[str, list[Value]]]]:
    """Yield every stored article of a corpus with the values of its columns, and those of its sentences.

    ``r`` are the repositories. Values are read for groups of articles.
    """
    columns = r.columns.list(corpus_id)
    group: list[Stored] = []
    size = 0
    for found in r.corpora.iterate(corpus_id):
        group.append(found)
        size += len(found[2])
        if size >= _GROUP_SENTENCES:
            yield from _group_values(r, columns, group)
            group, size = [], 0
    yield from _group_values(r, columns, group)


def _group_values(
    r: Any, columns: Sequence[ColumnRecord], group: Sequence[Stored]
) -> Iterator[tuple[Stored, dict[str, Value], dict[str, list[Value]]]]:
    articles = np.array([article.id for article, _, _ in group], np.int64)
    sentences = np.array([sentence.id for _, _, found in group for sentence in found], np.int64)
    of_articles = _plain_values(r, columns, ColumnLevel.ARTICLE, articles)
    of_sentences = _plain_values(r, columns, ColumnLevel.SENTENCE, sentences)
    start = 0
    for row, found in enumerate(group):
        end = start + len(found[2])
        values = {name: values[row] for name, values in of_articles.items()}
        yield found, values, {name: values[start:end] for name, values in of_sentences.items()} if end > start else {}
        start = end


def _plain_values(r: Any, columns: Iterable[ColumnRecord], level: ColumnLevel, ids: Ids) -> dict[str, list[Value]]:
    chosen = [column for column in columns if column.level is level]
    return {c.name: plain_values(ColumnType(c.type), r.columns.values(c, ids), c.categories) for c in chosen}


def typed_column(
    store: Store, column: ColumnRecord, declared: str, before: Sequence[str] = ()
) -> tuple[Ids, TypedColumn]:
    """Return ids and values of a column without a type, in the declared type or else the one that its values have.

    Categories ``before`` keep their codes; new ones follow.
    """
    profile, counts = Profile(declared), Counter[str]()
    for _, values in raw_values(store, column):
        profile.add(values)
    type, format = profile.type, profile.format
    if type is ColumnType.CATEGORY:
        for _, values in raw_values(store, column):
            count_categories(counts, values)
        new = sorted(counts.keys() - set(before), key=lambda text: (-counts[text], text))
        listed = [*before, *new]
        codes = {text: code for code, text in enumerate(listed)}
        ids, found = _converted(store, column, lambda values: coded(values, codes))
        more: dict[str, Any] = {"categories": listed, "counts": [counts[text] for text in listed]}
    else:
        ids, found = _converted(store, column, lambda values: typed(values, type, format))
        more = {}
    about = summary(type, found) | more
    if about["missing"] > profile.missing:
        about["unreadable"] = about["missing"] - profile.missing
    return ids, TypedColumn(type, found, about)


def _converted(store: Store, column: ColumnRecord, convert: Callable[[list[Value]], Values]) -> tuple[Ids, Values]:
    parts = [(ids, convert(values)) for ids, values in raw_values(store, column)]
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([values for _, values in parts])


def raw_values(store: Store, column: ColumnRecord) -> Iterator[tuple[Ids, list[Value]]]:
    """Yield ids and values, as the source gave them, of a column without a type."""
    after = -1
    while True:
        with store.reading() as r:
            blocks = r.columns.raw(column, after)
        if not blocks:
            return
        yield from blocks
        after = int(blocks[-1][0][-1])
