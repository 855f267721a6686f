"""Selections of sentences that people named or shared."""

from __future__ import annotations

import builtins
from typing import Any

import sqlalchemy as sa

from themescope.core.errors import DataError, DuplicateNameError
from themescope.core.labelling.selections import Origin, Selection
from themescope.core.records.stored import SelectionRecord
from themescope.core.types import Ids
from themescope.db import tables as t
from themescope.db.repositories.base import NAME_LIMIT, RecordRepository
from themescope.db.repositories.people import People
from themescope.db.sql import from_bytes, now, to_bytes
from themescope.db.types import clean_text

_LARGEST = 5_000_000
"""Maximum number of sentences of a stored selection (40 MB)."""


class Selections(RecordRepository[SelectionRecord]):
    """Repository of selections, visible to all people of the store."""

    table, record = t.selection, SelectionRecord

    def add(self, selection: Selection, name: str = "", person: str = "", created: Any = None) -> SelectionRecord:
        """Store a selection; without a name it is stored for a link, once for each set of sentences.

        Raises ``DuplicateNameError`` if the corpus has a selection of that name, ``DataError`` for a name that is too
        long or a selection that is empty or too large, and ``StoreError`` if the person may only view.
        """
        People(self.connection).check_may_write(clean_text(person))
        if not 0 < len(selection) <= _LARGEST:
            raise DataError(f"A stored selection has 1 to {_LARGEST:,} sentences; this one has {len(selection):,}.")
        name, digest, c = self._usable(selection.corpus_id, name), selection.digest, t.selection.c
        if not name:
            same = self._select().where(c.corpus_id == selection.corpus_id, c.digest == digest, c.name == "")
            known = next((r for r in self._records(same) if r.origin == selection.origin.to_json()), None)
            if known is not None:
                return known
        values = {"corpus_id": selection.corpus_id, "name": name, "person": clean_text(person)}
        about = {"origin": selection.origin.to_json(), "digest": digest, "sentences": len(selection)}
        block = to_bytes(selection.ids, "<i8")
        return self.get(self._insert(t.selection, **values, **about, created=created or now(), sentence_ids=block))

    def _usable(self, corpus_id: int, name: str) -> str:
        name, c = clean_text(name).strip(), t.selection.c
        if len(name) > NAME_LIMIT:
            raise DataError(f"The name of a selection has at most {NAME_LIMIT} characters; this has {len(name)}.")
        if name and self._row(sa.select(c.id).where(c.corpus_id == corpus_id, c.name == name)) is not None:
            raise DuplicateNameError("selection", name)
        return name

    def list(self, corpus_id: int) -> builtins.list[SelectionRecord]:
        """Return the named selections of a corpus, newest first."""
        c = t.selection.c
        return self._records(self._select().where(c.corpus_id == corpus_id, c.name != "").order_by(c.id.desc()))

    def ids(self, selection_id: int) -> Ids:
        """Return the (n,) sentence ids of a selection, ascending."""
        return from_bytes(self._by_id(t.selection, [t.selection.c.sentence_ids], selection_id).sentence_ids, "<i8")

    def selection(self, selection_id: int) -> Selection:
        """Return a stored selection with its sentences."""
        record = self.get(selection_id)
        return Selection(record.corpus_id, self.ids(selection_id), Origin.from_json(record.origin))

    def delete(self, selection_id: int) -> None:
        """Delete a selection; requires the person who made it or an admin."""
        self._require_own(self.get(selection_id).person)
        self._delete(t.selection, selection_id)
