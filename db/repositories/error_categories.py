"""Categories of error notebooks, and the categories that people gave to cases."""

from __future__ import annotations

import builtins
from typing import Any

import sqlalchemy as sa

from themescope.core.errors import ConflictError, DataError, DuplicateNameError
from themescope.core.labelling.partition import COLOURS
from themescope.db import notebook_tables as t
from themescope.db.notebook_records import ErrorCategory, ErrorCoding
from themescope.db.repositories.base import NAME_LIMIT, RecordRepository
from themescope.db.repositories.people import People
from themescope.db.sql import now
from themescope.db.types import clean_text

DESCRIPTION_LIMIT = 2_000
MOST_CATEGORIES = 200
"""Maximum number of categories of a notebook."""


class ErrorCategories(RecordRepository[ErrorCategory]):
    """Repository of categories. Deleted and merged ones are kept, so that both can be undone."""

    table, record = t.error_category, ErrorCategory

    def list(self, corpus_id: int) -> builtins.list[ErrorCategory]:
        """Return all categories of a corpus, oldest first, also merged and deleted ones."""
        c = t.error_category.c
        return self._records(self._select().where(c.corpus_id == corpus_id).order_by(c.id))

    def add(self, corpus_id: int, name: str, description: str, person: str) -> ErrorCategory:
        """Add a category with the next colour of the palette."""
        People(self.connection).check_may_write(clean_text(person))
        known = self.list(corpus_id)
        if len(known) >= MOST_CATEGORIES:
            raise DataError(f"An error notebook has at most {MOST_CATEGORIES} categories, also deleted ones.")
        values: dict[str, Any] = {"name": self._usable(corpus_id, name), "description": _description(description)}
        values |= {"colour": len(known) % COLOURS, "merged_into": None, "version": 0}
        values |= {"person": clean_text(person), "created": now(), "deleted": None}
        return self.get(self._insert(t.error_category, corpus_id=corpus_id, **values))

    def change(self, seen: ErrorCategory, name: str, description: str, colour: int, person: str) -> ErrorCategory:
        """Change a category; raise ``ConflictError`` if it has changed since it was ``seen``."""
        changed = clean_text(name).strip() != seen.name
        usable = self._usable(seen.corpus_id, name) if changed else seen.name
        return self._set(seen, person, name=usable, description=_description(description), colour=colour)

    def merge(self, seen: ErrorCategory, into: int, person: str) -> ErrorCategory:
        """Count the cases of a category for another one; :meth:`restore` undoes it."""
        target = self.get(into)
        if target.id == seen.id or target.corpus_id != seen.corpus_id or target.deleted or target.merged_into:
            raise DataError(f"{seen.name!r} cannot be merged into {target.name!r}. Choose another category.")
        return self._set(seen, person, merged_into=into)

    def delete(self, seen: ErrorCategory, person: str) -> ErrorCategory:
        """Hide a category; its cases keep it until :meth:`restore`."""
        return self._set(seen, person, deleted=now())

    def restore(self, seen: ErrorCategory, person: str) -> ErrorCategory:
        """Undo the deletion or the merge of a category; its name is numbered if another one took it meanwhile."""
        name, number = seen.name, 2
        while self._taken(seen.corpus_id, name):
            name, number = f"{seen.name} {number}", number + 1
        return self._set(seen, person, deleted=None, merged_into=None, name=name)

    def _set(self, seen: ErrorCategory, person: str, **values: Any) -> ErrorCategory:
        People(self.connection).check_may_write(clean_text(person))
        c = t.error_category.c
        update = t.error_category.update().where(c.id == seen.id, c.version == seen.version)
        if not self.connection.execute(update.values(**values, version=seen.version + 1)).rowcount:
            raise ConflictError(f"The category {seen.name!r} was changed meanwhile. Nothing was overwritten.")
        return self.get(seen.id)

    def _usable(self, corpus_id: int, name: str) -> str:
        name = clean_text(name).strip()
        if not 0 < len(name) <= NAME_LIMIT:
            raise DataError(f"The name of a category has 1 to {NAME_LIMIT} characters.")
        if self._taken(corpus_id, name):
            raise DuplicateNameError("category", name)
        return name

    def _taken(self, corpus_id: int, name: str) -> bool:
        current = (one for one in self.list(corpus_id) if one.deleted is None and one.merged_into is None)
        return any(one.name.casefold() == name.casefold() for one in current)

    # --- codings ----------------------------------------------------------------------------------------------------

    def code(self, case_id: int, category_id: int | None, person: str, given: bool) -> None:
        """Give a category to a case, or take it back; None states that no category applies."""
        People(self.connection).check_may_write(clean_text(person))
        self._code(case_id, category_id, clean_text(person), given, None)

    def undo(self, corpus_id: int, person: str) -> int | None:
        """Undo the person's last coding that is not undone yet; return its case, None if there is nothing to undo."""
        person = clean_text(person)
        People(self.connection).check_may_write(person)
        c, other = t.error_coding.c, t.error_coding.alias()
        of = sa.select(t.error_case.c.id).where(t.error_case.c.corpus_id == corpus_id, t.error_case.c.deleted.is_(None))
        query = self._select_codings().where(c.case_id.in_(of), c.person == person, c.undoes.is_(None))
        query = query.where(~sa.exists().where(other.c.undoes == c.id)).order_by(c.id.desc())
        row = self._row(query)
        if row is None:
            return None
        last = ErrorCoding(*row)
        self._code(last.case_id, last.category_id, person, not last.given, last.id)
        return last.case_id

    def _code(self, case_id: int, category_id: int | None, person: str, given: bool, undoes: int | None) -> None:
        values = {"case_id": case_id, "category_id": category_id, "person": person, "given": given}
        self._insert(t.error_coding, **values, undoes=undoes, created=now())

    def codings(self, corpus_id: int) -> builtins.list[ErrorCoding]:
        """Return the codings in force: the newest of each case, category and person, if it gives the category."""
        c = t.error_coding.c
        of = sa.select(t.error_case.c.id).where(t.error_case.c.corpus_id == corpus_id)
        newest = sa.select(sa.func.max(c.id)).where(c.case_id.in_(of)).group_by(c.case_id, c.category_id, c.person)
        query = self._select_codings().where(c.id.in_(newest), c.given).order_by(c.id)
        return [ErrorCoding(*row) for row in self.connection.execute(query)]

    def _select_codings(self) -> sa.Select[Any]:
        return sa.select(*(t.error_coding.c[name] for name in ErrorCoding.__dataclass_fields__))


def _description(text: str) -> str:
    text = clean_text(text).strip()
    if len(text) > DESCRIPTION_LIMIT:
        raise DataError(f"A description has at most {DESCRIPTION_LIMIT:,} characters; this one has {len(text):,}.")
    return text
