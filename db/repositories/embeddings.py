"""Vectors: one block per article and model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from core.errors import DataError
from core.types import Ids, Matrix
from db import tables as t
from db.records import VectorBlock
from db.repositories.base import Repository
from db.sql import bulk_insert, from_bytes, id_chunks, to_bytes, within

_DTYPES = {"float16": "<f2", "float32": "<f4"}
_COLUMNS = ("model_id", "article_id", "format", "dtype", "rows", "dim", "data")


class Embeddings(Repository):
    """Blocks of shape (sentences of the article, dim), rows in sentence order; dense, or sparse as CSR."""

    def add(self, model_id: int, blocks: Sequence[VectorBlock], dtype: str = "float16") -> None:
        """Store blocks, replacing older ones of the same articles; ``dtype`` is "float16" or "float32".

        Raises
        ------
        DataError
            If a block holds a value that is not finite in ``dtype``.
        """
        if dtype not in _DTYPES:
            raise DataError(f"Vectors are kept as {' or '.join(_DTYPES)}, not {dtype!r}.")
        rows = [(int(model_id), int(block.article_id), *_packed(block, dtype)) for block in blocks]
        for chunk in id_chunks([block.article_id for block in blocks]):
            chosen = within(self.connection, t.embedding.c.article_id, chunk)
            self.connection.execute(t.embedding.delete().where(t.embedding.c.model_id == model_id, chosen))
        bulk_insert(self.connection, t.embedding, _COLUMNS, rows)

    def have(self, model_id: int, corpus_id: int) -> set[int]:
        """Return the ids of the embedded articles."""
        query = sa.select(t.embedding.c.article_id).join(t.article, t.article.c.id == t.embedding.c.article_id)
        chosen = query.where(t.embedding.c.model_id == model_id, t.article.c.corpus_id == corpus_id)
        return set(self.connection.execute(chosen).scalars())

    def models(self, article_id: int) -> set[int]:
        """Return the ids of the models that have embedded an article."""
        query = sa.select(t.embedding.c.model_id).where(t.embedding.c.article_id == article_id)
        return set(self.connection.execute(query).scalars())

    def get(self, model_id: int, article_ids: Iterable[int] | Ids) -> dict[int, Matrix]:
        """Return float32 blocks (n, dim) by article, dense or CSR as stored; articles without one are skipped."""
        found: dict[int, Matrix] = {}
        c = t.embedding.c
        for chunk in id_chunks(article_ids):
            chosen = within(self.connection, c.article_id, chunk)
            query = sa.select(c.article_id, c.format, c.dtype, c.rows, c.dim, c.data).where(
                c.model_id == model_id, chosen
            )
            found.update((id, _unpacked(*packed)) for id, *packed in self.connection.execute(query))
        return found

    def delete(self, model_id: int) -> None:
        """Delete all vectors of a model."""
        self.connection.execute(t.embedding.delete().where(t.embedding.c.model_id == model_id))


def _packed(block: VectorBlock, dtype: str) -> tuple[str, str, int, int, bytes]:
    """(format, dtype, rows, dim, data). CSR: row starts int32, columns int32, values, one after the other."""
    x: Any = block.vectors
    dense = isinstance(x, np.ndarray)
    rows, dim = x.shape
    with np.errstate(over="ignore"):
        values = np.asarray(x if dense else x.data).astype(_DTYPES[dtype])
    if not np.isfinite(values).all():
        raise DataError(f"The vectors of article {block.article_id} hold a value that {dtype} cannot keep.")
    if dense:
        return "dense", dtype, rows, dim, to_bytes(values, _DTYPES[dtype])
    if not x.has_sorted_indices:
        return _packed(VectorBlock(block.article_id, x.sorted_indices()), dtype)
    parts = (to_bytes(x.indptr, "<i4"), to_bytes(x.indices, "<i4"), to_bytes(values, _DTYPES[dtype]))
    return "csr", dtype, rows, dim, b"".join(parts)


def _unpacked(format: str, dtype: str, rows: int, dim: int, data: bytes) -> Matrix:
    kind = _DTYPES[dtype]
    if format == "dense":
        return np.frombuffer(data, dtype=kind).reshape(rows, dim).astype(np.float32)
    from scipy import sparse

    starts = from_bytes(data[: 4 * (rows + 1)], "<i4")
    rest, count = data[4 * (rows + 1) :], int(starts[-1])
    values: Any = np.frombuffer(rest[4 * count :], dtype=kind).astype(np.float32)
    return sparse.csr_array((values, from_bytes(rest[: 4 * count], "<i4"), starts), shape=(rows, dim))
