"""Models and maps."""

from __future__ import annotations

import math

from themescope.core.client.records import Map, MapPoints, Model, ModelCard
from themescope.core.models import REGISTRY
from themescope.db.records import MapRecord, ModelRecord
from themescope.db.store import Store
from themescope.jobs.common.model_notes import WITHIN_ARTICLE, base_note, within_article
from themescope.jobs.common.models import pretrained_folder

_CARD = "README.md"


def models(store: Store) -> list[Model]:
    """Return all stored models, oldest first."""
    with store.reading() as r:
        return [_model(record) for record in r.models.list()]


def model_card(store: Store, model_id: int) -> ModelCard:
    """Return the description of a model."""
    with store.reading() as r:
        record = r.models.get(model_id)
    card = REGISTRY.get(record.method) if record.method in REGISTRY else None
    about = (card.title, card.summary, card.source) if card else (record.method, "", "")
    notes = [base_note(store, record), WITHIN_ARTICLE if within_article(record) else ""]
    folder = pretrained_folder(record)
    path = None if folder is None else folder / _CARD
    text = path.read_text(encoding="utf-8") if path is not None and path.is_file() else ""
    numbers = dict(record.config), dict(record.metrics)
    return ModelCard(_model(record), *about, *numbers, [note for note in notes if note], text)


def maps(store: Store, corpus_id: int | None = None) -> list[Map]:
    """Return all maps (of one corpus), oldest first."""
    with store.reading() as r:
        return [_map(record) for record in r.maps.list(corpus_id)]


def map_(store: Store, map_id: int) -> Map:
    """Return a map."""
    with store.reading() as r:
        return _map(r.maps.get(map_id))


def map_points(store: Store, map_id: int, offset: int = 0, limit: int = 10_000) -> MapPoints:
    """Return points of a map."""
    with store.reading() as r:
        points = r.maps.points(map_id)
    part = slice(offset, offset + limit)
    x, y = (points.points[part, axis].astype(float).tolist() for axis in (0, 1))
    return MapPoints(points.sentence_ids[part].tolist(), x, y, len(points.sentence_ids), offset)


def _model(record: ModelRecord) -> Model:
    origin = record.corpus_id, record.triplet_set_id
    return Model(record.id, record.name, record.method, record.seed, *origin, record.created)


def _map(record: MapRecord) -> Map:
    kept = None if math.isnan(record.faithfulness) else record.faithfulness
    return Map(record.id, record.name, record.corpus_id, record.model_id, kept, record.sampled_from, record.created)
