"""Operations on runs, clusterings and themes, models and maps."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Annotated, Any
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import StreamingResponse

from themescope.core.columns import ColumnType
from themescope.core.errors import UnknownNameError
from themescope.core.models import REGISTRY
from themescope.core.records.answers import ModelDescription, Page, PointPage, ThemeMember, ThemeRun
from themescope.core.records.stored import MapRecord, ModelRecord, RunRecord
from themescope.db.access import Right
from themescope.db.store import Store
from themescope.db.types import NAME_LIMIT
from themescope.jobs.api.problems import (
    MOST_ID,
    WRITING,
    Body,
    Caller,
    CallerNow,
    Id,
    Limit,
    Offset,
    SomeId,
    WithColumns,
    responses,
)
from themescope.jobs.common.models import WITHIN_ARTICLE, base_note, pretrained_folder, within_article
from themescope.jobs.queue.control import without_paths
from themescope.jobs.services.labelling.agreement import known_labelling
from themescope.jobs.services.labelling.files import HEADER, Row, row_parts
from themescope.jobs.services.search import check_corpus, sentences_of_ids
from themescope.jobs.services.selections import theme_arrays, theme_record, theme_run, theme_table
from themescope.jobs.services.table_files import arrow_column, csv_pieces, file_columns, json_pieces

# Exports of labellings and themes as streams of CSV, JSON lines or Parquet, whose memory does not grow with them


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


def _parquet(header: Sequence[str], parts: Iterator[list[Row]], further: Mapping[str, ColumnType]) -> Iterator[bytes]:
    """Yield a Parquet file with one row group for each part."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {name: pa.int64() for name in ("sentence_id", "position", "paragraph", "start")}
    types |= {"uncertain": pa.bool_(), "margin": pa.float64()}
    types |= {"cluster_number": pa.int64(), "theme_number": pa.int64(), "probability": pa.float64()}
    types |= {name: arrow_column([], type).type for name, type in further.items()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in header])
    out = io.BytesIO()

    def taken() -> bytes:
        """Return what was written, and forget it."""
        found = out.getvalue()
        out.seek(0)
        out.truncate()
        return found

    with pq.ParquetWriter(out, schema) as writer:
        for rows in parts:
            columns = [*zip(*rows, strict=True)] or [()] * len(header)
            arrays = [
                arrow_column(column, further[field.name]) if field.name in further else pa.array(column, field.type)
                for column, field in zip(columns, schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield taken()
    yield taken()


class NewThemeName(Body):
    """A new name for a theme."""

    name: str = Field(min_length=1, max_length=NAME_LIMIT, examples=["Energy"])


router = APIRouter(responses=responses())
_FOUND = responses(404)


@router.get("/runs", responses=_FOUND, tags=["runs"])
def list_runs(
    caller: CallerNow,
    kind: Annotated[str | None, Query(max_length=100, examples=["clustering"])] = None,
    model_id: SomeId = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[RunRecord]:
    """List runs (of one kind, of one model) with their scores, oldest first."""
    with caller.store.reading() as r:
        if model_id is not None:
            r.models.get(model_id)
        found = r.runs.list(kind=kind, model_id=model_id)
        page = found[offset : offset + limit]
        scores = r.runs.scores([run.id for run in page])
    own = [replace(run, scores=[score for score in scores if score.run_id == run.id]) for run in page]
    return Page(own, len(found), offset)


@router.get("/themes", responses=_FOUND, tags=["themes"])
def list_theme_runs(caller: CallerNow, corpus_id: SomeId = None) -> list[ThemeRun]:
    """List the runs that found themes (in one corpus) with their themes, oldest first."""
    with caller.store.reading() as r:
        check_corpus(r, corpus_id)
        return [theme_run(r, run) for run in r.runs.themes(corpus_id)]


@router.get("/themes/{run_id}", responses=_FOUND, tags=["themes"])
def get_theme_run(caller: CallerNow, run_id: Id) -> ThemeRun:
    """Return a run that found themes."""
    with caller.store.reading() as r:
        return theme_run(r, theme_record(r, run_id))


@router.patch("/themes/{run_id}/themes/{theme}", responses=responses(404, *WRITING), tags=["themes"])
def rename_theme(
    caller: CallerNow, run_id: Id, theme: Annotated[int, Path(ge=0, le=MOST_ID)], new: NewThemeName
) -> ThemeRun:
    """Rename a theme. Requires the admin role."""
    with caller.store.writing() as w:
        theme_record(w, run_id)
        w.runs.rename_theme(run_id, theme, new.name)
    return get_theme_run(caller, run_id)


@router.get("/themes/{run_id}/sentences", responses=_FOUND, tags=["themes"])
def list_theme_members(
    caller: CallerNow,
    run_id: Id,
    theme: Annotated[int | None, Query(ge=0, le=MOST_ID, description="Number of the theme; by default all.")] = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[ThemeMember]:
    """List the sentences of a theme, the most typical first, or of all themes, one theme after the other."""
    with caller.store.reading() as r:
        count = len(theme_record(r, run_id).found["themes"])
        if theme is not None and theme >= count:
            raise UnknownNameError("theme of this run", str(theme), [str(number) for number in range(count)])
        ids, numbers, margins = theme_arrays(r, run_id)
        rows = np.arange(len(ids)) if theme is None else np.flatnonzero(numbers == theme)
        rows = rows[np.lexsort((-margins[rows], numbers[rows]))]
        page = rows[offset : offset + limit]
        known = sentences_of_ids(r, ids[page].tolist())
    members = [ThemeMember(known[int(ids[i])], theme=int(numbers[i]), margin=float(margins[i])) for i in page]
    return Page(members, len(rows), offset)


@router.get("/themes/{run_id}/export", responses=FILE, response_class=StreamingResponse, tags=["themes", "exports"])
def export_themes(
    caller: CallerNow, run_id: Id, format: ExportFormat = ExportFormat.CSV, columns: WithColumns = False
) -> StreamingResponse:
    """Export every sentence with its theme as a file."""
    with caller.store.reading() as r:
        corpus = r.corpora.get(int(theme_record(r, run_id).found["corpus_id"]))
    found = TableExport(corpus.name, *theme_table(caller.store, run_id))
    return download(with_columns(caller.store, corpus.id, found) if columns else found, format)


# Operations on models and maps

MOST_POINTS = 50_000


@router.get("/models", tags=["models"])
def list_models(caller: CallerNow) -> list[ModelRecord]:
    """List all stored models, oldest first."""
    with caller.store.reading() as r:
        return [_shown(caller, record) for record in r.models.list()]


@router.get("/models/{model_id}", responses=_FOUND, tags=["models"])
def get_model_card(caller: CallerNow, model_id: Id) -> ModelDescription:
    """Return a model with its method, card and limits."""
    with caller.store.reading() as r:
        record = r.models.get(model_id)
    card = REGISTRY.get(record.method) if record.method in REGISTRY else None
    notes = [base_note(caller.store, record), WITHIN_ARTICLE if within_article(record) else ""]
    folder = pretrained_folder(record)
    path = None if folder is None else folder / "README.md"
    text = path.read_text(encoding="utf-8") if path is not None and path.is_file() else ""
    about = (card.title, card.summary, card.source) if card else (record.method, "", "")
    return ModelDescription(_shown(caller, record), *about, notes=[note for note in notes if note], text=text)


def _shown(caller: Caller, model: ModelRecord) -> ModelRecord:
    return model if caller.actor.may(Right.MANAGE) else without_paths(model)


@router.delete("/models/{model_id}", status_code=204, responses=responses(404, *WRITING), tags=["models"])
def delete_model(caller: CallerNow, model_id: Id) -> None:
    """Delete a model with its vectors, runs and maps. This cannot be undone. Requires the admin role."""
    with caller.store.writing() as w:
        w.models.delete(model_id)


@router.get("/maps", responses=_FOUND, tags=["maps"])
def list_maps(caller: CallerNow, corpus_id: SomeId = None) -> list[MapRecord]:
    """List all maps (of one corpus), oldest first."""
    with caller.store.reading() as r:
        check_corpus(r, corpus_id)
        return r.maps.list(corpus_id)


@router.get("/maps/{map_id}/points", responses=_FOUND, tags=["maps"])
def list_points(
    caller: CallerNow,
    map_id: Id,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_POINTS, description="Maximum number of points.")] = 10_000,
) -> PointPage:
    """List the points of a map: sentence ids and coordinates."""
    with caller.store.reading() as r:
        points = r.maps.points(map_id)
    part = slice(offset, offset + limit)
    x, y = (points.points[part, axis].astype(float).tolist() for axis in (0, 1))
    return PointPage(points.sentence_ids[part].tolist(), x, y, total=len(points.sentence_ids), offset=offset)
