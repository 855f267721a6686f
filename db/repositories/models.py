"""Fitted models."""

from __future__ import annotations

from themescope.core.errors import ConflictError
from themescope.db import tables as t
from themescope.db.records import Json, ModelRecord
from themescope.db.repositories.base import NamedRepository
from themescope.db.sql import now


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
        multilingual: bool = False,
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
            "multilingual": multilingual,
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

    def set_multilingual(self, model_id: int, multilingual: bool) -> None:
        """Record whether a model reads many languages."""
        self.connection.execute(t.model.update().where(t.model.c.id == model_id).values(multilingual=multilingual))

    def delete(self, model_id: int) -> None:
        """Delete a model with its vectors, runs and maps; the next cleanup of artifacts removes its files."""
        self._delete(t.model, model_id)
