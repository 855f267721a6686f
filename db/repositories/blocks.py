"""What articles and sentences have besides their text, stored in blocks: columns of corpora and vectors of models.

A block of a column has up to 65,536 values; one of vectors those of an article, in the database or in a file.
"""

from __future__ import annotations

import builtins
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from themescope.core.columns import ColumnLevel, ColumnType, TypedColumn, Values
from themescope.core.errors import StoreError
from themescope.core.records.stored import ColumnRecord
from themescope.core.types import Article, Ids, Matrix, Value
from themescope.db import tables as t
from themescope.db.files.vector_files import DTYPES, Span, VectorFile, VectorFiles, check_dtype, stored_values
from themescope.db.records import VectorBlock
from themescope.db.sql import RecordRepository, Repository, bulk_insert, from_bytes, id_chunks, now, to_bytes, within
from themescope.db.types import clean_text

RAW = ""
"""Type of a column while its corpus is being imported; its values are as the source gave them."""
BLOCK = 65_536
"""Maximum number of values of a block."""
Block = tuple[int, int, bytes, bytes]
"""First id, number of values, ids, and values."""
_COLUMNS = ("column_id", "first", "rows", "ids", "data")
_NAT = np.datetime64("NaT", "us")
_MISSING: Mapping[str, Any] = {
    ColumnType.TEXT: None,
    ColumnType.CATEGORY: -1,
    ColumnType.NUMBER: np.nan,
    ColumnType.DATE: _NAT,
}
_DTYPES = {ColumnType.TEXT: "O", ColumnType.CATEGORY: "i4", ColumnType.NUMBER: "f8", ColumnType.DATE: "M8[us]"}


class Columns(RecordRepository[ColumnRecord]):
    """Repository of columns. Values are numpy arrays in the form of :data:`themescope.core.columns.Values`."""

    table, record = t.corpus_column, ColumnRecord

    def _record(self, row: Any) -> ColumnRecord:
        id, corpus_id, position, name, level, type, about = row
        return ColumnRecord(id, corpus_id, position, name, ColumnLevel(level), type, about)

    def list(self, corpus_id: int, with_removed: bool = False) -> list[ColumnRecord]:
        """Return the columns of a corpus in the order of their source, those of articles first.

        Columns and categories that only removed articles have are left out, unless ``with_removed``.
        """
        c, of = t.corpus_column.c, t.corpus.c
        found = self._records(self._select().where(c.corpus_id == corpus_id).order_by(c.level, c.position, c.id))
        if with_removed or not found:
            return found
        about = self._by_id(t.corpus, [of.articles, of.sentences, of.report], corpus_id)
        units, report = {ColumnLevel.ARTICLE: about.articles, ColumnLevel.SENTENCE: about.sentences}, about.report
        alone = [] if report.get("waves") else report.get("wave_columns", ())  # of a wave that is left alone
        return [
            _present(one)
            for one in found
            if one.type == RAW or (one.about.get("missing", 0) < units[one.level] and one.name not in alone)
        ]

    def get(self, id: int) -> ColumnRecord:
        """Return a column, without categories that only removed articles have."""
        return _present(super().get(id))

    def values(self, column: ColumnRecord, ids: Ids) -> Values:
        """Return the values (n,) of articles or sentences ``ids``, as the level says; missing where there is none.

        Codes are places among the categories of ``column``.
        """
        found = np.full(len(ids), _MISSING[column.type], dtype=_DTYPES[ColumnType(column.type)])
        if not len(ids):
            return found
        for known, values in self._blocks(column, int(ids.min()), int(ids.max())):
            place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
            there = known[place] == ids
            found[there] = values[place[there]]
        stored = super().get(column.id).categories if column.type == ColumnType.CATEGORY else ()
        if len(stored) > len(column.categories):
            code = {name: code for code, name in enumerate(column.categories)}
            found = np.array([*(code.get(name, -1) for name in stored), -1], found.dtype)[found]
        return found

    def _blocks(self, column: ColumnRecord, low: int, high: int) -> Iterator[tuple[Ids, Any]]:
        """Yield ascending ids and the values of the blocks with ids between ``low`` and ``high``."""
        c = t.column_block.c
        before = sa.select(sa.func.max(c.first)).where(c.column_id == column.id, c.first <= low).scalar_subquery()
        query = sa.select(c.first, c.rows, c.ids, c.data).where(c.column_id == column.id, c.first <= high)
        query = query.where(c.first >= sa.func.coalesce(before, low)).order_by(c.first)
        for first, rows, ids, data in self.connection.execute(query):
            known = from_bytes(ids, "<i8") if ids else np.arange(first, first + rows)
            yield known, _unpacked(column.type, data, rows)

    # --- import -------------------------------------------------------------------------------------------------------

    def add_raw(self, corpus_id: int, articles: Sequence[Article], article_ids: Sequence[int]) -> None:
        """Store the values of new articles and of their sentences, as the source gave them."""
        if any(article.values for article in articles):
            names = dict.fromkeys(name for article in articles for name in article.values)
            values = {name: [article.values.get(name) for article in articles] for name in names}
            self._add_blocks(corpus_id, ColumnLevel.ARTICLE, values, np.array(article_ids))
        rich = {id: a for id, a in zip(article_ids, articles, strict=True) if a.sentence_values}
        if rich:
            columns: dict[str, list[Value]] = {}
            for name in dict.fromkeys(name for article in rich.values() for name in article.sentence_values):
                parts = [a.sentence_values.get(name, [None] * a.sentence_count()) for a in rich.values()]
                columns[name] = [value for part in parts for value in part]
            c = t.sentence.c
            query = sa.select(c.id).where(within(self.connection, c.article_id, [*rich]))
            ids = np.array(self.connection.scalars(query.order_by(c.article_id, c.position)).all())
            self._add_blocks(corpus_id, ColumnLevel.SENTENCE, columns, ids)

    def _add_blocks(self, corpus_id: int, level: ColumnLevel, columns: Mapping[str, Sequence[Value]], ids: Ids) -> None:
        known = {column.name: column.id for column in self.list(corpus_id) if column.level is level}
        for name in columns:
            if name not in known:
                values = {"corpus_id": corpus_id, "position": len(known), "name": name, "level": level}
                known[name] = self._insert(t.corpus_column, **values, type=RAW, about={})
        blocks = ((known[name], _packed_raw(values)) for name, values in columns.items())
        rows = ((id, int(ids[0]), len(ids), _packed_ids(ids), data) for id, data in blocks)
        bulk_insert(self.connection, t.column_block, _COLUMNS, rows)

    def raw(
        self, column: ColumnRecord, after: int = -1, blocks: int = 16
    ) -> builtins.list[tuple[Ids, builtins.list[Value]]]:
        """Return ids and values of the next blocks of a column that has no type yet, those from id ``after`` + 1 on."""
        c = t.column_block.c
        query = sa.select(c.first, c.rows, c.ids, c.data).where(c.column_id == column.id, c.first > after)
        found = self.connection.execute(query.order_by(c.first).limit(blocks))
        return [
            (from_bytes(ids, "<i8") if ids else np.arange(first, first + rows), _unpacked_raw(data))
            for first, rows, ids, data in found
        ]

    def set_type(self, column: ColumnRecord, found: TypedColumn, blocks: Sequence[Block]) -> None:
        """Give a column its type, and the values that :func:`packed_blocks` packed before the transaction."""
        self.connection.execute(t.column_block.delete().where(t.column_block.c.column_id == column.id))
        bulk_insert(self.connection, t.column_block, _COLUMNS, ((column.id, *block) for block in blocks))
        new = {"type": found.type, "about": dict(found.about)}
        self.connection.execute(t.corpus_column.update().where(t.corpus_column.c.id == column.id).values(new))

    def add(self, corpus_id: int, level: ColumnLevel, name: str, found: TypedColumn, blocks: Sequence[Block]) -> None:
        """Add a column with a type to a corpus, after its other ones of the level."""
        position = sum(column.level is level for column in self.list(corpus_id))
        values = {"corpus_id": corpus_id, "position": position, "name": name, "level": level}
        id = self._insert(t.corpus_column, **values, type=found.type, about=dict(found.about))
        bulk_insert(self.connection, t.column_block, _COLUMNS, ((id, *block) for block in blocks))

    def extend(self, column: ColumnRecord, about: Mapping[str, Any], blocks: Sequence[Block]) -> None:
        """Add values of later ids to a column; the stored blocks stay, and codes of categories keep their meaning."""
        bulk_insert(self.connection, t.column_block, _COLUMNS, ((column.id, *block) for block in blocks))
        changed = t.corpus_column.update().where(t.corpus_column.c.id == column.id)
        self.connection.execute(changed.values(about=dict(about)))

    def remove(self, column: ColumnRecord) -> None:
        """Remove a column with its values."""
        self._delete(t.corpus_column, column.id)


def _present(column: ColumnRecord) -> ColumnRecord:
    """Return a column without categories that no article or sentence has now."""
    counts = column.about.get("counts", ())
    if all(counts):
        return column
    kept = [(name, number) for name, number in zip(column.categories, counts, strict=True) if number]
    about = {**column.about, "categories": [name for name, _ in kept], "counts": [number for _, number in kept]}
    return replace(column, about=about)


def packed_blocks(ids: Ids, found: TypedColumn) -> list[Block]:
    """Return the blocks of the values of ascending ``ids`` (n,)."""
    blocks = []
    for start in range(0, len(ids), BLOCK):
        part, values = ids[start : start + BLOCK], found.values[start : start + BLOCK]
        blocks.append((int(part[0]), len(part), _packed_ids(part), _packed(found.type, values)))
    return blocks


def _packed_ids(ids: Ids) -> bytes:
    """Return the bytes of ascending ids; none for consecutive ones."""
    return b"" if int(ids[-1]) - int(ids[0]) == len(ids) - 1 else to_bytes(ids, "<i8")


def _packed_raw(values: Sequence[Value]) -> bytes:
    return zlib.compress(json.dumps(list(map(_json, values)), ensure_ascii=True).encode("ascii"), 1)


def _json(value: Value) -> Any:
    """Return a value as JSON; texts are clean, and times are marked, which texts cannot be."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return clean_text(value) if isinstance(value, str) else [value.isoformat()]


def _unpacked_raw(data: bytes) -> list[Value]:
    values = json.loads(zlib.decompress(data))
    return [datetime.fromisoformat(value[0]) if isinstance(value, list) else value for value in values]


def _packed(type: ColumnType, values: Values) -> bytes:
    """Return the compressed values; codes of categories are one higher, so that 0 is missing, in the smallest type."""
    if type is ColumnType.TEXT:
        return _packed_raw(values.tolist())
    if type is ColumnType.NUMBER:
        return zlib.compress(to_bytes(values, "<f8"), 1)
    if type is ColumnType.DATE:
        return zlib.compress(to_bytes(values.view(np.int64), "<i8"), 1)
    codes = values.astype(np.int64) + 1
    largest = int(codes.max(initial=0))
    return zlib.compress(to_bytes(codes, "<u1" if largest < 1 << 8 else "<u2" if largest < 1 << 16 else "<u4"), 1)


def _unpacked(type: str, data: bytes, rows: int) -> Any:
    content = zlib.decompress(data)
    if type == ColumnType.TEXT:
        texts = np.empty(rows, object)
        texts[:] = json.loads(content)
        return texts
    if type == ColumnType.NUMBER:
        return from_bytes(content, "<f8")
    if type == ColumnType.DATE:
        return from_bytes(content, "<i8").view("M8[us]")
    if type == RAW:
        raise StoreError("The columns of this project have no types yet, because its import is not finished.")
    return from_bytes(content, f"<u{len(content) // max(rows, 1)}").astype(np.int32) - 1


# --- embeddings -------------------------------------------------------------------------------------------------------


_BLOCK_COLUMNS = ("model_id", "article_id", "format", "dtype", "rows", "dim", "data")
_IN_FILE = ("model_id", "article_id", "file_id", "first", "rows")
TABLES_OF_VECTORS = (t.embedding, t.filed_embedding)


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
        rows = [(int(model_id), int(block.article_id), *_packed_vectors(block, dtype)) for block in blocks]
        self._forget(model_id, [int(block.article_id) for block in blocks])
        bulk_insert(self.connection, t.embedding, _BLOCK_COLUMNS, rows)

    def add_file(self, model_id: int, file: VectorFile) -> None:
        """Record the blocks of a file that was written before the transaction, replacing older ones."""
        self._forget(model_id, list(file.spans))
        about = {"model_id": model_id, "digest": file.digest, "size": file.size, "created": now()}
        file_id = self._insert(t.vector_file, **about)
        rows = ((int(model_id), article, file_id, first, count) for article, (first, count) in file.spans.items())
        bulk_insert(self.connection, t.filed_embedding, _IN_FILE, rows)

    def _forget(self, model_id: int, article_ids: Sequence[int]) -> None:
        for chunk in id_chunks(article_ids):
            for table in TABLES_OF_VECTORS:
                chosen = within(self.connection, table.c.article_id, chunk)
                self.connection.execute(table.delete().where(table.c.model_id == model_id, chosen))

    def have(self, model_id: int, corpus_id: int) -> set[int]:
        """Return the ids of the embedded articles."""
        found: set[int] = set()
        for table in TABLES_OF_VECTORS:
            query = sa.select(table.c.article_id).join(t.article, t.article.c.id == table.c.article_id)
            there = (t.article.c.corpus_id == corpus_id) & t.article.c.removed.is_(None)
            found.update(self.connection.execute(query.where(table.c.model_id == model_id, there)).scalars())
        return found

    def get(self, model_id: int, article_ids: Iterable[int] | Ids) -> dict[int, Matrix]:
        """Return float32 blocks (n, dim) by article, dense or CSR as stored; articles without one are skipped.

        Raises ``ArtifactError`` if a file of vectors is missing or damaged.
        """
        found: dict[int, Matrix] = {}
        c, f = t.embedding.c, t.filed_embedding.c
        stored = sa.select(c.article_id, c.format, c.dtype, c.rows, c.dim, c.data).where(c.model_id == model_id)
        filed = sa.select(t.vector_file.c.digest, f.article_id, f.first, f.rows).join(t.vector_file)
        filed = filed.where(f.model_id == model_id)
        for chunk in id_chunks(article_ids):
            blocks = self.connection.execute(stored.where(within(self.connection, c.article_id, chunk)))
            found.update((id, _unpacked_vectors(*packed)) for id, *packed in blocks)
            files: dict[str, dict[int, Span]] = {}
            places = self.connection.execute(filed.where(within(self.connection, f.article_id, chunk)))
            for digest, id, first, rows in places:
                files.setdefault(digest, {})[id] = (first, rows)
            for digest, spans in files.items():
                found.update(zip(spans, self._files.get(digest, list(spans.values())), strict=True))
        return found

    def delete(self, model_id: int) -> None:
        """Delete all vectors of a model; the next cleanup removes their files."""
        for table in (*TABLES_OF_VECTORS, t.vector_file):
            self.connection.execute(table.delete().where(table.c.model_id == model_id))

    def files(self) -> dict[str, int]:
        """Return the digest and the size in bytes of every file that vectors refer to."""
        rows = self.connection.execute(sa.select(t.vector_file.c.digest, t.vector_file.c.size))
        return {digest: size for digest, size in rows}

    def forget_empty_files(self) -> int:
        """Delete the rows of files without an article, all of whose articles were deleted; return their number."""
        c = t.filed_embedding.c
        used = sa.select(c.file_id).where(c.file_id == t.vector_file.c.id)
        return self.connection.execute(t.vector_file.delete().where(~used.exists())).rowcount


def _packed_vectors(block: VectorBlock, dtype: str) -> tuple[str, str, int, int, bytes]:
    """Return (format, dtype, rows, dim, data); the data of CSR are row starts (int32), columns (int32) and values."""
    x: Any = block.vectors
    rows, dim = x.shape
    values = stored_values(block, dtype)
    if isinstance(x, np.ndarray):
        return "dense", dtype, rows, dim, to_bytes(values, DTYPES[dtype])
    if not x.has_sorted_indices:
        return _packed_vectors(VectorBlock(block.article_id, x.sorted_indices()), dtype)
    parts = (to_bytes(x.indptr, "<i4"), to_bytes(x.indices, "<i4"), to_bytes(values, DTYPES[dtype]))
    return "csr", dtype, rows, dim, b"".join(parts)


def _unpacked_vectors(format: str, dtype: str, rows: int, dim: int, data: bytes) -> Matrix:
    kind = DTYPES[dtype]
    if format == "dense":
        return np.frombuffer(data, dtype=kind).reshape(rows, dim).astype(np.float32)
    from scipy import sparse

    starts = from_bytes(data[: 4 * (rows + 1)], "<i4")
    rest, count = data[4 * (rows + 1) :], int(starts[-1])
    values: Any = np.frombuffer(rest[4 * count :], dtype=kind).astype(np.float32)
    return sparse.csr_array((values, from_bytes(rest[: 4 * count], "<i4"), starts), shape=(rows, dim))
