"""Vectors of stored sentences, one block per article and model, in the database or in files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from themescope.core.types import Ids, Matrix
from themescope.db import tables as t
from themescope.db.files.vector_files import DTYPES, Span, VectorFile, VectorFiles, check_dtype, stored_values
from themescope.db.records import VectorBlock, VectorIndexRecord
from themescope.db.repositories.base import Repository
from themescope.db.sql import bulk_insert, from_bytes, id_chunks, now, to_bytes, within

_COLUMNS = ("model_id", "article_id", "format", "dtype", "rows", "dim", "data")
_IN_FILE = ("model_id", "article_id", "file_id", "first", "rows")
_TABLES = (t.embedding, t.filed_embedding)


class Embeddings(Repository):
    """Repository of vectors: blocks of shape (sentences, dim), rows in sentence order; dense, or sparse as CSR.

    A block is in the database, or in one of the files of vectors; readers do not see the difference.
    """

    def __init__(self, connection: Connection, files: VectorFiles) -> None:
        super().__init__(connection)
        self._files = files

    def add(self, model_id: int, blocks: Sequence[VectorBlock], dtype: str = "float16") -> None:
        """Store blocks in the database, replacing older ones of the same articles.

        ``dtype`` is "float16" or "float32". Raises ``DataError`` if a value is not finite in it.
        """
        check_dtype(dtype)
        rows = [(int(model_id), int(block.article_id), *_packed(block, dtype)) for block in blocks]
        self._forget(model_id, [int(block.article_id) for block in blocks])
        bulk_insert(self.connection, t.embedding, _COLUMNS, rows)

    def add_file(self, model_id: int, file: VectorFile) -> None:
        """Record the blocks of a file that was written before the transaction, replacing older ones."""
        self._forget(model_id, list(file.spans))
        about = {"model_id": model_id, "digest": file.digest, "size": file.size, "created": now()}
        file_id = self._insert(t.vector_file, **about)
        rows = ((int(model_id), article, file_id, first, count) for article, (first, count) in file.spans.items())
        bulk_insert(self.connection, t.filed_embedding, _IN_FILE, rows)

    def _forget(self, model_id: int, article_ids: Sequence[int]) -> None:
        for chunk in id_chunks(article_ids):
            for table in _TABLES:
                chosen = within(self.connection, table.c.article_id, chunk)
                self.connection.execute(table.delete().where(table.c.model_id == model_id, chosen))
            owners = sa.select(t.article.c.corpus_id).where(within(self.connection, t.article.c.id, chunk))
            c = t.vector_index.c
            changed = t.vector_index.delete().where(c.model_id == model_id, c.corpus_id.in_(owners))
            self.connection.execute(changed)

    def have(self, model_id: int, corpus_id: int) -> set[int]:
        """Return the ids of the embedded articles."""
        found: set[int] = set()
        for table in _TABLES:
            query = sa.select(table.c.article_id).join(t.article, t.article.c.id == table.c.article_id)
            chosen = query.where(table.c.model_id == model_id, t.article.c.corpus_id == corpus_id)
            found.update(self.connection.execute(chosen).scalars())
        return found

    def models(self, article_id: int) -> set[int]:
        """Return the ids of the models that have embedded an article."""
        queries = (sa.select(table.c.model_id).where(table.c.article_id == article_id) for table in _TABLES)
        return {id for query in queries for id in self.connection.execute(query).scalars()}

    def get(self, model_id: int, article_ids: Iterable[int] | Ids) -> dict[int, Matrix]:
        """Return float32 blocks (n, dim) by article, dense or CSR as stored; articles without one are skipped.

        Raises ``ArtifactError`` if a file of vectors is missing or damaged.
        """
        found: dict[int, Matrix] = {}
        c = t.embedding.c
        for chunk in id_chunks(article_ids):
            chosen = within(self.connection, c.article_id, chunk)
            query = sa.select(c.article_id, c.format, c.dtype, c.rows, c.dim, c.data).where(
                c.model_id == model_id, chosen
            )
            found.update((id, _unpacked(*packed)) for id, *packed in self.connection.execute(query))
            for digest, spans in self._filed(model_id, chunk).items():
                found.update(zip(spans, self._files.get(digest, list(spans.values())), strict=True))
        return found

    def _filed(self, model_id: int, article_ids: Sequence[int]) -> dict[str, dict[int, Span]]:
        """Return file → article → first row and number of rows."""
        c = t.filed_embedding.c
        query = sa.select(t.vector_file.c.digest, c.article_id, c.first, c.rows).join(t.vector_file)
        chosen = within(self.connection, c.article_id, article_ids)
        placed: dict[str, dict[int, Span]] = {}
        for digest, id, first, rows in self.connection.execute(query.where(c.model_id == model_id, chosen)):
            placed.setdefault(digest, {})[id] = (first, rows)
        return placed

    def delete(self, model_id: int) -> None:
        """Delete all vectors of a model; the next cleanup removes their files."""
        for table in (*_TABLES, t.vector_file, t.vector_index):
            self.connection.execute(table.delete().where(table.c.model_id == model_id))

    def files(self) -> dict[str, int]:
        """Return the digest and the size in bytes of every file that vectors refer to."""
        rows = self.connection.execute(sa.select(t.vector_file.c.digest, t.vector_file.c.size))
        return {digest: size for digest, size in rows}

    def set_index(self, index: VectorIndexRecord) -> None:
        """Record the index of a model's vectors of a corpus, replacing an older one."""
        c = t.vector_index.c
        old = t.vector_index.delete().where(c.model_id == index.model_id, c.corpus_id == index.corpus_id)
        self.connection.execute(old)
        self._insert(t.vector_index, **asdict(index), created=now())

    def index(self, model_id: int, corpus_id: int) -> VectorIndexRecord | None:
        """Return the index of a model's vectors of a corpus; None if there is none, or if vectors have changed."""
        c = t.vector_index.c
        row = self.connection.execute(
            sa.select(*(c[field.name] for field in fields(VectorIndexRecord))).where(
                c.model_id == model_id, c.corpus_id == corpus_id
            )
        ).one_or_none()
        return None if row is None else VectorIndexRecord(*row)

    def indexes(self) -> dict[str, int]:
        """Return the digest and the size in bytes of every index."""
        rows = self.connection.execute(sa.select(t.vector_index.c.digest, t.vector_index.c.size))
        return {digest: size for digest, size in rows}

    def forget_empty_files(self) -> int:
        """Delete the rows of files without an article, all of whose articles were deleted; return their number."""
        c = t.filed_embedding.c
        used = sa.select(c.file_id).where(c.file_id == t.vector_file.c.id)
        return self.connection.execute(t.vector_file.delete().where(~used.exists())).rowcount


def _packed(block: VectorBlock, dtype: str) -> tuple[str, str, int, int, bytes]:
    """Return (format, dtype, rows, dim, data); the data of CSR are row starts (int32), columns (int32) and values."""
    x: Any = block.vectors
    rows, dim = x.shape
    values = stored_values(block, dtype)
    if isinstance(x, np.ndarray):
        return "dense", dtype, rows, dim, to_bytes(values, DTYPES[dtype])
    if not x.has_sorted_indices:
        return _packed(VectorBlock(block.article_id, x.sorted_indices()), dtype)
    parts = (to_bytes(x.indptr, "<i4"), to_bytes(x.indices, "<i4"), to_bytes(values, DTYPES[dtype]))
    return "csr", dtype, rows, dim, b"".join(parts)


def _unpacked(format: str, dtype: str, rows: int, dim: int, data: bytes) -> Matrix:
    kind = DTYPES[dtype]
    if format == "dense":
        return np.frombuffer(data, dtype=kind).reshape(rows, dim).astype(np.float32)
    from scipy import sparse

    starts = from_bytes(data[: 4 * (rows + 1)], "<i4")
    rest, count = data[4 * (rows + 1) :], int(starts[-1])
    values: Any = np.frombuffer(rest[4 * count :], dtype=kind).astype(np.float32)
    return sparse.csr_array((values, from_bytes(rest[: 4 * count], "<i4"), starts), shape=(rows, dim))
