"""Operations on models and maps."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from themescope.core.models import REGISTRY
from themescope.core.records.answers import ModelDescription, PointPage
from themescope.core.records.stored import MapRecord, ModelRecord
from themescope.db.access import Right
from themescope.jobs.api.problems import WRITING, Caller, CallerNow, Id, Offset, SomeId, responses
from themescope.jobs.common.models import WITHIN_ARTICLE, base_note, pretrained_folder, within_article
from themescope.jobs.queue.control import without_paths
from themescope.jobs.services.search import check_corpus

MOST_POINTS = 50_000
router = APIRouter(responses=responses())
_FOUND = responses(404)


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
