"""Saved views of pages."""

from __future__ import annotations

import builtins

import sqlalchemy as sa

from core.errors import DataError, DuplicateNameError
from db import tables as t
from db.records import SavedViewRecord
from db.repositories.base import NAME_LIMIT, Repository
from db.repositories.people import People
from db.sql import now
from db.types import clean_text

_VIEW = [t.saved_view.c[f] for f in SavedViewRecord.__dataclass_fields__]
QUERY_LIMIT = 8_000
"""Maximum URL length in characters that every browser supports."""


class Views(Repository):
    """Repository of saved views, visible to all people of the store."""

    def add(self, page: str, name: str, query: str, person: str = "") -> SavedViewRecord:
        """Save a view.

        Raises
        ------
        DuplicateNameError
            If the page has a view of that name.
        DataError
            If the name is empty or too long, or the view too large for an address.
        StoreError
            If the person may only look.
        """
        People(self.connection).check_may_write(clean_text(person))
        name = clean_text(name).strip()
        if not name or len(name) > NAME_LIMIT:
            raise DataError(f"A view needs a name of at most {NAME_LIMIT} characters.")
        if len(query) > QUERY_LIMIT:
            raise DataError("This view holds too much for an address. Choose less, then save it.")
        c = t.saved_view.c
        if self._row(sa.select(c.id).where(c.page == page, c.name == name)) is not None:
            raise DuplicateNameError("saved view", name)
        values = {"page": page, "name": name, "query": clean_text(query), "person": clean_text(person)}
        return self.get(self._insert(t.saved_view, **values, created=now()))

    def get(self, view_id: int) -> SavedViewRecord:
        """The view of that id, or :class:`core.errors.UnknownNameError`."""
        return SavedViewRecord(*self._by_id(t.saved_view, _VIEW, view_id))

    def list(self, page: str | None = None) -> builtins.list[SavedViewRecord]:
        """Return all views (of a page), newest first."""
        query = sa.select(*_VIEW).order_by(t.saved_view.c.id.desc())
        if page is not None:
            query = query.where(t.saved_view.c.page == page)
        return [SavedViewRecord(*row) for row in self.connection.execute(query)]

    def delete(self, view_id: int) -> None:
        """Delete a view; requires the person who saved it or an admin."""
        self._require_own(self.get(view_id).person)
        self._delete(t.saved_view, view_id)
