"""Fitted models and their vectors, one block per article and model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from core.errors import ConflictError, DataError
from core.types import Ids, Matrix
from db import tables as t
from db.records import Json, ModelRecord, VectorBlock
from db.repositories.base import NamedRepository, Repository
from db.sql import bulk_insert, from_bytes, id_chunks, now, to_bytes, within


class Models(NamedRepository[ModelRecord]):
    """Repository of models; their files are artifacts."""

    table, record = t.model, ModelRecord

    def add(
        self,
        *,
        name: str,
        method: str,
        config: Json,
        seed: int,
        digest: str,
        artifact: str,
        corpus_id: int | None = None,
        triplet_set_id: int | None = None,
        metrics: Json | None = None,
        revision: int = 1,
    ) -> ModelRecord:
        """Add a model.

        Raises ``DuplicateNameError`` if the name is taken, and ``ConflictError`` if a model with this digest is stored
        already.
        """
        same = self.by_digest(digest)
        if same is not None:
            raise ConflictError(f"The same model is stored already, as {same.name!r}.")
        values = {
            "name": self._free_name(t.model, name),
            "method": method,
            "config": config,
            "seed": seed,
            "digest": digest,
            "artifact": artifact,
            "corpus_id": corpus_id,
            "triplet_set_id": triplet_set_id,
            "metrics": metrics or {},
            "revision": revision,
        }
        return self.get(self._insert(t.model, **values, created=now()))

    def list(self, method: str | None = None) -> list[ModelRecord]:
        """Return all models (of one method), oldest first."""
        query = self._select().order_by(t.model.c.id)
        if method is not None:
            query = query.where(t.model.c.method == method)
        return self._records(query)

    def by_digest(self, digest: str) -> ModelRecord | None:
        """Return the model with this digest, if there is one."""
        return self._first(self._select().where(t.model.c.digest == digest))

    def set_revision(self, model_id: int, revision: int) -> None:
        """Record the revision of the method that the vectors of a model are computed with from now on."""
        self.connection.execute(t.model.update().where(t.model.c.id == model_id).values(revision=revision))

    def delete(self, model_id: int) -> None:
        """Delete a model with its vectors, runs and maps; the next cleanup of artifacts removes its files."""
        self._delete(t.model, model_id)


_DTYPES = {"float16": "<f2", "float32": "<f4"}
_COLUMNS = ("model_id", "article_id", "format", "dtype", "rows", "dim", "data")


class Embeddings(Repository):
    """Repository of vectors: blocks of shape (sentences, dim), rows in sentence order; dense, or sparse as CSR."""

    def add(self, model_id: int, blocks: Sequence[VectorBlock], dtype: str = "float16") -> None:
        """Store blocks, replacing older ones of the same articles; ``dtype`` is "float16" or "float32".

        Raises ``DataError`` if a value is not finite in ``dtype``.
        """
        if dtype not in _DTYPES:
            raise DataError(f"Vectors are stored as {' or '.join(_DTYPES)}, not {dtype!r}.")
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
    """Return (format, dtype, rows, dim, data); the data of CSR are row starts (int32), columns (int32) and values."""
    x: Any = block.vectors
    dense = isinstance(x, np.ndarray)
    rows, dim = x.shape
    with np.errstate(over="ignore"):
        values = np.asarray(x if dense else x.data).astype(_DTYPES[dtype])
    if not np.isfinite(values).all():
        raise DataError(f"A vector of article {block.article_id} has a value that is not finite as {dtype}.")
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
