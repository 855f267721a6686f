"""Two-dimensional maps of sentences."""

from __future__ import annotations

from themescope.core.errors import ConflictError, DataError
from themescope.core.types import Ids
from themescope.db import tables as t
from themescope.db.records import Json, MapPoints, MapRecord, SentencePlaces
from themescope.db.repositories.base import RecordRepository
from themescope.db.repositories.sentence_arrays import sentence_places
from themescope.db.sql import from_bytes, now, to_bytes


class Maps(RecordRepository[MapRecord]):
    """Repository of maps; points are stored as one block per map and fetched only on request."""

    table, record = t.map_, MapRecord

    def add(
        self,
        *,
        corpus_id: int,
        model_id: int,
        name: str,
        config: Json,
        seed: int,
        digest: str,
        faithfulness: float,
        sampled_from: int,
        points: MapPoints,
    ) -> MapRecord:
        """Add a map.

        Raises ``ConflictError`` if a map with this digest is stored already, and ``DataError`` if sentences and
        coordinates differ in number.
        """
        if self.by_digest(digest) is not None:
            raise ConflictError("The same map is stored already.")
        n = len(points.sentence_ids)
        if points.points.shape != (n, 2):
            raise DataError(f"A map of {n} sentences needs {n} × 2 coordinates, not {points.points.shape}.")
        values = {"corpus_id": corpus_id, "model_id": model_id, "name": name, "config": config, "seed": seed}
        about = {"digest": digest, "faithfulness": faithfulness, "sampled_from": sampled_from, "created": now()}
        blocks = {
            "sentence_ids": to_bytes(points.sentence_ids, "<i8"),
            "points": to_bytes(points.points, "<f4"),
        }
        return self.get(self._insert(t.map_, **values, **about, **blocks))

    def list(self, corpus_id: int | None = None) -> list[MapRecord]:
        """Return all maps (of one corpus), oldest first."""
        query = self._select().order_by(t.map_.c.id)
        if corpus_id is not None:
            query = query.where(t.map_.c.corpus_id == corpus_id)
        return self._records(query)

    def by_digest(self, digest: str) -> MapRecord | None:
        """Return the map with that digest, if any."""
        return self._first(self._select().where(t.map_.c.digest == digest))

    def points(self, map_id: int) -> MapPoints:
        """Return sentence ids (n,) and coordinates (n, 2)."""
        row = self._by_id(t.map_, [t.map_.c.sentence_ids, t.map_.c.points], map_id)
        return MapPoints(from_bytes(row.sentence_ids, "<i8"), from_bytes(row.points, "<f4").reshape(-1, 2))

    def places(self, sentence_ids: Ids) -> SentencePlaces:
        """Return the positions of sentences in the order of their ids; missing ones are skipped."""
        return sentence_places(self.connection, sentence_ids)

    def delete(self, map_id: int) -> None:
        """Delete a map."""
        self._delete(t.map_, map_id)
