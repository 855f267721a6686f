"""Clustering benchmarks."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

import sqlalchemy as sa

from core.errors import DataError
from core.types import BenchmarkItem
from db import tables as t
from db.records import BenchmarkRecord, Json
from db.repositories.base import Repository
from db.sql import bulk_insert, from_bytes, now, to_bytes

_BENCHMARK = [t.benchmark.c[f] for f in BenchmarkRecord.__dataclass_fields__]
_ITEM = ("benchmark_id", "position", "article_id", "sentence_ids", "truth")


class Benchmarks(Repository):
    """Repository of benchmarks: articles with the true section of each sentence."""

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
        """Enter a benchmark; items keep their order.

        Raises
        ------
        DuplicateNameError
            If the name is taken.
        DataError
            If an item has not one truth for each sentence.
        """
        values = {"corpus_id": corpus_id, "name": self._free_name(t.benchmark, name), "config": config}
        values |= {"digest": digest, "counts": counts, "created": now(), "revision": revision}
        id = self._insert(t.benchmark, **values)
        rows = [(id, position, int(item.article_id), *_packed(item)) for position, item in enumerate(items)]
        bulk_insert(self.connection, t.benchmark_item, _ITEM, rows)
        return self.get(id)

    def list(self, corpus_id: int | None = None) -> list[BenchmarkRecord]:
        """Return all benchmarks (of one corpus), oldest first."""
        query = sa.select(*_BENCHMARK).order_by(t.benchmark.c.id)
        if corpus_id is not None:
            query = query.where(t.benchmark.c.corpus_id == corpus_id)
        return [BenchmarkRecord(*row) for row in self.connection.execute(query)]

    def get(self, benchmark_id: int) -> BenchmarkRecord:
        """Return the benchmark with that id; raise :class:`UnknownNameError` if there is none."""
        return BenchmarkRecord(*self._by_id(t.benchmark, _BENCHMARK, benchmark_id))

    def by_name(self, name: str) -> BenchmarkRecord:
        """Return the benchmark called ``name``; :class:`UnknownNameError` suggests similar names."""
        return BenchmarkRecord(*self._named(t.benchmark, _BENCHMARK, name))

    def usable_name(self, wanted: str) -> str:
        """Return ``wanted``, with the first free number appended if taken: ``wanted 2``."""
        return self._usable_name(t.benchmark, wanted)

    def items(self, benchmark_id: int) -> builtins.list[BenchmarkItem]:
        """Return the articles of a benchmark, in order."""
        c = t.benchmark_item.c
        query = sa.select(c.article_id, c.sentence_ids, c.truth).where(c.benchmark_id == benchmark_id)
        return [_item(*row) for row in self.connection.execute(query.order_by(c.position))]

    def items_of(self, article_id: int) -> dict[int, BenchmarkItem]:
        """Return benchmark id → its items of an article."""
        c = t.benchmark_item.c
        query = sa.select(c.benchmark_id, c.article_id, c.sentence_ids, c.truth).where(c.article_id == article_id)
        return {id: _item(*row) for id, *row in self.connection.execute(query.order_by(c.benchmark_id))}

    def delete(self, benchmark_id: int) -> None:
        """Remove a benchmark with its runs."""
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
