"""Tables of papers as they were last reproduced."""

from __future__ import annotations

import sqlalchemy as sa

from db import tables as t
from db.records import Json, PaperTableRecord
from db.repositories.base import Repository
from db.sql import now

_TABLE = [t.paper_table.c[f] for f in PaperTableRecord.__dataclass_fields__]


class Papers(Repository):
    """Repository of paper tables, one per table and profile."""

    def put(self, paper: str, name: str, profile: str, arguments: Json, content: Json) -> PaperTableRecord:
        """Store ``content``; the time changes only if the content does."""
        found = self.get(paper, name, profile)
        if found is not None and (found.content, found.arguments) == (content, arguments):
            return found
        c, values = t.paper_table.c, {"arguments": arguments, "content": content, "created": now()}
        if found is None:
            self._insert(t.paper_table, paper=paper, name=name, profile=profile, **values)
        else:
            self.connection.execute(t.paper_table.update().where(c.id == found.id).values(**values))
        record = self.get(paper, name, profile)
        assert record is not None
        return record

    def get(self, paper: str, name: str, profile: str) -> PaperTableRecord | None:
        """Return the table as last reproduced, if any."""
        c = t.paper_table.c
        row = self._row(sa.select(*_TABLE).where(c.paper == paper, c.name == name, c.profile == profile))
        return None if row is None else PaperTableRecord(*row)

    def list(self, paper: str | None = None, profile: str | None = None) -> list[PaperTableRecord]:
        """Return all tables (of a paper, of a profile), in order of creation."""
        query = sa.select(*_TABLE).order_by(t.paper_table.c.id)
        for name, value in (("paper", paper), ("profile", profile)):
            if value is not None:
                query = query.where(t.paper_table.c[name] == value)
        return [PaperTableRecord(*row) for row in self.connection.execute(query)]
