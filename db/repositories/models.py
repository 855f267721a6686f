"""Fitted methods."""

from __future__ import annotations

import sqlalchemy as sa

from core.errors import ConflictError
from db import tables as t
from db.records import Json, ModelRecord
from db.repositories.base import Repository
from db.sql import now

_MODEL = [t.model.c[f] for f in ModelRecord.__dataclass_fields__]


class Models(Repository):
    """Repository of models; their files are artifacts."""

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
    ) -> ModelRecord:
        """Enter a model.

        Raises
        ------
        DuplicateNameError
            If the name is taken.
        ConflictError
            If the same model (by ``digest``) is there already.
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
        }
        return self.get(self._insert(t.model, **values, created=now()))

    def list(self, method: str | None = None) -> list[ModelRecord]:
        """Return all models (of one method), oldest first."""
        query = sa.select(*_MODEL).order_by(t.model.c.id)
        if method is not None:
            query = query.where(t.model.c.method == method)
        return [ModelRecord(*row) for row in self.connection.execute(query)]

    def get(self, model_id: int) -> ModelRecord:
        """Return the model with that id; raise :class:`UnknownNameError` if there is none."""
        return ModelRecord(*self._by_id(t.model, _MODEL, model_id))

    def by_name(self, name: str) -> ModelRecord:
        """Return the model called ``name``; :class:`UnknownNameError` suggests similar names."""
        return ModelRecord(*self._named(t.model, _MODEL, name))

    def by_digest(self, digest: str) -> ModelRecord | None:
        """Return the model with this digest, if there is one."""
        row = self._row(sa.select(*_MODEL).where(t.model.c.digest == digest))
        return None if row is None else ModelRecord(*row)

    def set_revision(self, model_id: int, revision: int) -> None:
        """Record the revision of the method that the vectors of a model are computed with from now on."""
        self.connection.execute(t.model.update().where(t.model.c.id == model_id).values(revision=revision))

    def delete(self, model_id: int) -> None:
        """Delete a model with its vectors, runs and maps; the next cleanup of artifacts removes its files."""
        self._delete(t.model, model_id)

    def usable_name(self, wanted: str) -> str:
        """Return ``wanted``, with the first free number appended if taken: ``wanted 2``."""
        return self._usable_name(t.model, wanted)
