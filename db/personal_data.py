"""Replacement of a person's name by a pseudonym wherever people or Themescope wrote it.

Names are searched in every column with text or JSON of every table except the texts of corpora, so that a new table
needs no change here. They are found as whole words in any case, also in the parameters of saved links.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from themescope.db import label_tables as lt
from themescope.db import tables as t
from themescope.db.sql import contains
from themescope.db.types import Json, Text

PSEUDONYM = "former-user"
"""Beginning of pseudonyms, which are the same in texts and in links."""
_TEXTS_OF_CORPORA = frozenset({t.article, t.section, t.sentence})
_OTHER_COLUMNS = frozenset({lt.person.c.name, lt.labelling.c.owner})
"""Columns with the name of a person that are not called ``person``."""


def person_columns() -> list[sa.Column[str]]:
    """Return the columns with the name of a person."""
    columns = (column for table in t.metadata.sorted_tables for column in table.c)
    return [column for column in columns if column.name == "person" or column in _OTHER_COLUMNS]


class Replacement:
    """Replacement of a person's name by a pseudonym in texts and JSON values."""

    def __init__(self, name: str, pseudonym: str, others: Collection[str] = ()) -> None:
        """``others`` are names that may contain this one."""
        self.name, self.pseudonym = name, pseudonym
        kept = [re.escape(other) for other in sorted(others, key=len, reverse=True) if name in other and name != other]
        forms = "|".join(re.escape(form) for form in {name, quote(name), quote_plus(name)})
        self._pattern = re.compile(rf"(?<!\w)(?:({'|'.join(kept) or '(?!)'})|(?:{forms}))(?!\w)", re.IGNORECASE)

    @property
    def needle(self) -> str:
        """Return a part of the name that is the same in texts, in JSON and in links; "" if there is none."""
        return max(re.findall(r"[A-Za-z0-9]+", self.name), key=len, default="")

    def text(self, text: str) -> str:
        """Return a text with the name replaced."""
        return self._pattern.sub(lambda match: match[1] or self.pseudonym, text)

    def value(self, value: Any) -> Any:
        """Return a JSON value with the name replaced in all its texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self.value(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(part) for part in value]
        return value


def replacement_of(connection: Connection, name: str) -> Replacement:
    """Return the replacement of a name by one that no row has: "former-user-1", or the next one."""
    known = people_named(connection)
    free = next(found for number in range(1, len(known) + 2) if (found := f"{PSEUDONYM}-{number}") not in known)
    return Replacement(name, free, known)


def people_named(connection: Connection) -> set[str]:
    """Return every name that is stored as that of a person."""
    return {name for column in person_columns() for name in connection.execute(sa.select(column).distinct()).scalars()}


def replace_name(connection: Connection, replacement: Replacement) -> None:
    """Replace the name in every row."""
    names = set(person_columns())
    for column in names:
        own = column == replacement.name
        connection.execute(column.table.update().where(own).values({column: replacement.pseudonym}))
    for table in t.metadata.sorted_tables:
        columns = [c for c in table.c if isinstance(c.type, Text | Json) and c not in names]
        if not columns or table in _TEXTS_OF_CORPORA:
            continue
        keys, raw = [*table.primary_key], [sa.type_coerce(column, sa.Text()) for column in columns]
        where = sa.or_(*(contains(connection, text, replacement.needle) for text in raw))
        # All rows first: they are changed while this goes on.
        for row in connection.execute(sa.select(*keys, *columns).where(where)).all():
            values = dict(zip((c.name for c in columns), row[len(keys) :], strict=True))
            changed = {name: new for name, old in values.items() if (new := replacement.value(old)) != old}
            if changed:
                own = sa.and_(*(key == value for key, value in zip(keys, row[: len(keys)], strict=True)))
                connection.execute(table.update().where(own).values(changed))
