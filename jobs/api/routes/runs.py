"""Operations on runs, clusterings and themes, models and maps."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import StreamingResponse

from themescope.core.errors import UnknownNameError
from themescope.core.models import REGISTRY
from themescope.core.records.answers import ModelDescription, Page, PointPage, ThemeMember, ThemeRun
from themescope.core.records.stored import MapRecord, ModelRecord, RunRecord
from themescope.db.access import Right
from themescope.db.types import NAME_LIMIT
from themescope.jobs.api import exports
from themescope.jobs.api.exports import FILE, ExportFormat, download
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
from themescope.jobs.services.search import check_corpus, sentences_of_ids
from themescope.jobs.services.themes import theme_arrays, theme_record, theme_run


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
    return download(exports.themes(caller.store, run_id, columns), format)


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
    return ModelDescription(
        model=_shown(caller, record),
        title=card.title if card else record.method,
        summary=card.summary if card else "",
        source=card.source if card else "",
        notes=[note for note in notes if note],
        text=path.read_text(encoding="utf-8") if path is not None and path.is_file() else "",
    )


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
