"""Operations on models and maps."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from themescope.core.client.records import Map, MapPoints, Model, ModelCard
from themescope.jobs.services.remote import models
from themescope.webapp.api.access import CallerNow
from themescope.webapp.api.parameters import Id, Offset, SomeId
from themescope.webapp.api.problems import responses

MOST_POINTS = 50_000
router = APIRouter(responses=responses())
_FOUND = responses(404)


@router.get("/models", tags=["models"])
def list_models(caller: CallerNow) -> list[Model]:
    """List all stored models, oldest first."""
    return models.models(caller.store)


@router.get("/models/{model_id}", responses=_FOUND, tags=["models"])
def get_model_card(caller: CallerNow, model_id: Id) -> ModelCard:
    """Return a model with its method, settings, numbers and limits."""
    return models.model_card(caller.store, model_id)


@router.get("/maps", tags=["maps"])
def list_maps(caller: CallerNow, corpus_id: SomeId = None) -> list[Map]:
    """List all maps (of one corpus), oldest first."""
    return models.maps(caller.store, corpus_id)


@router.get("/maps/{map_id}", responses=_FOUND, tags=["maps"])
def get_map(caller: CallerNow, map_id: Id) -> Map:
    """Return a map without its points."""
    return models.map_(caller.store, map_id)


@router.get("/maps/{map_id}/points", responses=_FOUND, tags=["maps"])
def list_points(
    caller: CallerNow,
    map_id: Id,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_POINTS, description="Maximum number of points.")] = 10_000,
) -> MapPoints:
    """List the points of a map: sentence ids and coordinates."""
    return models.map_points(caller.store, map_id, offset, limit)
