"""Tables of papers as they were last reproduced."""

from __future__ import annotations

import sqlalchemy as sa

from db import tables as t
from db.records import Json, PaperTableRecord
from db.repositories.base import Repository
from db.sql import now

_TABLE = [t.paper_table.c[f] for f in PaperTableRecord.__dataclass_fields__]


class Papers(Repository):
    """One row a table and profile; what is put there replaces what was."""

    def put(self, paper: str, name: str, profile: str, arguments: Json, content: Json) -> PaperTableRecord:
        """Keep ``content``; one that is the same as before keeps its time as well."""
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
        """The table as last reproduced, if it ever was."""
        c = t.paper_table.c
        row = self._row(sa.select(*_TABLE).where(c.paper == paper, c.name == name, c.profile == profile))
        return None if row is None else PaperTableRecord(*row)

    def list(self, paper: str | None = None, profile: str | None = None) -> list[PaperTableRecord]:
        """All tables (of a paper, of a profile), in the order in which they were first made."""
        query = sa.select(*_TABLE).order_by(t.paper_table.c.id)
        for name, value in (("paper", paper), ("profile", profile)):
            if value is not None:
                query = query.where(t.paper_table.c[name] == value)
        return [PaperTableRecord(*row) for row in self.connection.execute(query)]
