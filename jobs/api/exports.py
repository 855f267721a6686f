"""Exports of labellings and themes as streams of CSV, JSON lines or Parquet, whose memory does not grow with them."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Any
from urllib.parse import quote

import numpy as np
from starlette.responses import StreamingResponse

from themescope.core.columns import ColumnType
from themescope.db.store import Store
from themescope.jobs.api.problems import responses
from themescope.jobs.services.labelling.agreement import known_labelling
from themescope.jobs.services.labelling.files import HEADER, Row, row_parts
from themescope.jobs.services.table_files import arrow_column, csv_pieces, file_columns, json_pieces
from themescope.jobs.services.themes import theme_record, theme_table


class ExportFormat(StrEnum):
    """Format of an export."""

    CSV = "csv"
    """Cells that spreadsheets would run as formulas begin with an apostrophe."""
    JSONL = "jsonl"
    PARQUET = "parquet"


MEDIA_TYPES = {
    ExportFormat.CSV: "text/csv; charset=utf-8",
    ExportFormat.JSONL: "application/jsonl",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
}


@dataclass(frozen=True, slots=True)
class TableExport:
    """An export whose rows are still to be read."""

    name: str
    """Name of the labelling or of the corpus."""
    header: tuple[str, ...]
    parts: Callable[[], Iterator[list[Row]]]
    """Yields the rows; the first cell of each is the id of its sentence."""
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    """Types of columns of the corpus."""

    def stream(self, format: ExportFormat) -> Iterator[bytes]:
        """Yield the file in pieces of about 2,000 rows."""
        if format is ExportFormat.PARQUET:
            yield from _parquet(self.header, self.parts(), self.types)
            return
        write, header = (csv_pieces if format is ExportFormat.CSV else json_pieces), self.header
        for number, rows in enumerate(self.parts()):
            pieces = [*write(header, rows)]
            if number and format is ExportFormat.CSV:
                del pieces[0]  # the header
            yield "".join(pieces).encode("utf-8")


def labels(store: Store, labelling_id: int, columns: bool = False) -> TableExport:
    """Return the export of the current state of a labelling, in reading order; see :data:`HEADER`.

    With ``columns``, the columns of the corpus follow.
    """
    with store.reading() as r:
        record = known_labelling(r, labelling_id)
    found = TableExport(record.name, HEADER, lambda: row_parts(store, labelling_id))
    return with_columns(store, record.corpus_id, found) if columns else found


def themes(store: Store, run_id: int, columns: bool = False) -> TableExport:
    """Return the export of the themes of a run, see :func:`.theme_table`; with ``columns``, the corpus's follow."""
    with store.reading() as r:
        corpus = r.corpora.get(int(theme_record(r, run_id).found["corpus_id"]))
    found = TableExport(corpus.name, *theme_table(store, run_id))
    return with_columns(store, corpus.id, found) if columns else found


def with_columns(store: Store, corpus_id: int, export: TableExport) -> TableExport:
    """Return the export with the columns of the corpus behind its own, as in :func:`file_columns`."""
    known = file_columns(store, corpus_id, np.empty(0, np.int64), export.header)

    def parts() -> Iterator[list[Row]]:
        for rows in export.parts():
            ids = np.array([row[0] for row in rows], dtype=np.int64)
            further = [column.values for column in file_columns(store, corpus_id, ids, export.header)]
            yield [(*row, *values) for row, *values in zip(rows, *further, strict=True)]

    header = (*export.header, *(column.name for column in known))
    return TableExport(export.name, header, parts, {column.name: column.type for column in known})


FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()},
    },
    **responses(404),
}


def download(export: TableExport, format: ExportFormat) -> StreamingResponse:
    """Return the answer with a file. Its first rows are read now, so that errors are answered as such."""
    pieces, headers = export.stream(format), attachment(f"{export.name}.{format.value}")
    return StreamingResponse(chain([next(pieces)], pieces), headers=headers, media_type=MEDIA_TYPES[format])


def attachment(name: str) -> dict[str, str]:
    """Return the header that names the file of an answer."""
    return {"Content-Disposition": f"attachment; filename*=utf-8''{quote(name, safe='')}"}


class _Sink(io.RawIOBase):
    """A file whose pieces are sent while it is written."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        """Return that this file is for writing."""
        return True

    def write(self, data: Any) -> int:
        """Keep a piece."""
        self._pieces.append(bytes(data))
        return len(self._pieces[-1])

    def taken(self) -> bytes:
        """Return and forget the pieces."""
        found, self._pieces = b"".join(self._pieces), []
        return found


def _parquet(header: Sequence[str], parts: Iterator[list[Row]], further: Mapping[str, ColumnType]) -> Iterator[bytes]:
    """Yield a Parquet file with one row group for each part."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {name: pa.int64() for name in ("sentence_id", "position", "paragraph", "start")}
    types |= {"uncertain": pa.bool_(), "margin": pa.float64()}
    types |= {"cluster_number": pa.int64(), "theme_number": pa.int64(), "probability": pa.float64()}
    types |= {name: arrow_column([], type).type for name, type in further.items()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in header])
    sink = _Sink()
    with pq.ParquetWriter(sink, schema) as writer:
        for rows in parts:
            columns = [*zip(*rows, strict=True)] or [()] * len(header)
            arrays = [
                arrow_column(column, further[field.name]) if field.name in further else pa.array(column, field.type)
                for column, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield sink.taken()
    yield sink.taken()
