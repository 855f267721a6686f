"""Clustering benchmarks."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

import sqlalchemy as sa

from themescope.core.errors import DataError
from themescope.core.types import BenchmarkItem
from themescope.db import tables as t
from themescope.db.records import BenchmarkRecord, Json
from themescope.db.repositories.base import NamedRepository
from themescope.db.sql import bulk_insert, from_bytes, now, to_bytes

_ITEM = ("benchmark_id", "position", "article_id", "sentence_ids", "truth")


class Benchmarks(NamedRepository[BenchmarkRecord]):
    """Repository of benchmarks: articles with the true section of each sentence."""

    table, record = t.benchmark, BenchmarkRecord

    def add(
        self,
        corpus_id: int,
        name: str,
        config: Json,
        digest: str,
        counts: Json,
        items: Iterable[BenchmarkItem],
        *,
        revision: int = 1,
    ) -> BenchmarkRecord:
        """Add a benchmark; items keep their order.

        Raises ``DuplicateNameError`` if the name is taken, and ``DataError`` if sentences and true sections of an item
        differ in number.
        """
        values = {"corpus_id": corpus_id, "name": self._free_name(t.benchmark, name), "config": config}
        values |= {"digest": digest, "counts": counts, "created": now(), "revision": revision}
        id = self._insert(t.benchmark, **values)
        rows = [(id, position, int(item.article_id), *_packed(item)) for position, item in enumerate(items)]
        bulk_insert(self.connection, t.benchmark_item, _ITEM, rows)
        return self.get(id)

    def list(self, corpus_id: int | None = None) -> list[BenchmarkRecord]:
        """Return all benchmarks (of one corpus), oldest first."""
        query = self._select().order_by(t.benchmark.c.id)
        if corpus_id is not None:
            query = query.where(t.benchmark.c.corpus_id == corpus_id)
        return self._records(query)

    def items(self, benchmark_id: int) -> builtins.list[BenchmarkItem]:
        """Return the articles of a benchmark, in order."""
        c = t.benchmark_item.c
        query = sa.select(c.article_id, c.sentence_ids, c.truth).where(c.benchmark_id == benchmark_id)
        return [_item(*row) for row in self.connection.execute(query.order_by(c.position))]

    def article_ids(self, benchmark_id: int) -> builtins.list[int]:
        """Return the ids of the articles of a benchmark, in order."""
        c = t.benchmark_item.c
        query = sa.select(c.article_id).where(c.benchmark_id == benchmark_id).order_by(c.position)
        return [*self.connection.scalars(query)]

    def items_of(self, article_id: int) -> dict[int, BenchmarkItem]:
        """Return benchmark id → the item of an article."""
        c = t.benchmark_item.c
        query = sa.select(c.benchmark_id, c.article_id, c.sentence_ids, c.truth).where(c.article_id == article_id)
        return {id: _item(*row) for id, *row in self.connection.execute(query.order_by(c.benchmark_id))}

    def delete(self, benchmark_id: int) -> None:
        """Delete a benchmark with its runs."""
        self._delete(t.benchmark, benchmark_id)


def _item(article_id: int, sentence_ids: bytes, truth: bytes) -> BenchmarkItem:
    return BenchmarkItem(article_id, from_bytes(sentence_ids, "<i8"), from_bytes(truth, "<i4"))


def _packed(item: BenchmarkItem) -> tuple[bytes, bytes]:
    if len(item.sentence_ids) != len(item.truth):
        raise DataError(
            f"Article {item.article_id} of a benchmark has {len(item.sentence_ids)} sentences "
            f"but {len(item.truth)} true sections."
        )
    return to_bytes(item.sentence_ids, "<i8"), to_bytes(item.truth, "<i4")
