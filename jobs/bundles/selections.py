"""Named selections and the error notebook as JSON lines; sentences are numbered by their place in the corpus."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import sqlalchemy as sa
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, create_model

from themescope.core.errors import ReadError, ThemescopeError
from themescope.core.labelling.error_cases import MOST_SENTENCES, CaseFacts, CaseKind
from themescope.core.labelling.partition import COLOURS
from themescope.core.labelling.selections import Origin, Selection
from themescope.core.types import Ids
from themescope.db.repositories.error_notebook import REFERENCES, Row, columns_of
from themescope.db.store import Store, Unit
from themescope.db.tables import metadata
from themescope.db.types import Big, Text, UtcDateTime
from themescope.jobs.bundles.parts import Number, parsed


@dataclass(frozen=True, slots=True, eq=False)
class BundledSelection:
    """A named selection; ``places`` are the places of its sentences among those of the corpus, ascending."""

    name: str
    person: str
    created: datetime
    origin: Origin
    places: Ids

    def to_line(self) -> str:
        """Return one line of JSON with non-ASCII characters escaped."""
        facts = {"name": self.name, "person": self.person, "created": self.created.isoformat()}
        return json.dumps({**facts, "origin": self.origin.to_json(), "sentences": self.places.tolist()}) + "\n"


def bundled_selections(store: Store, corpus_id: int, sentence_ids: Ids) -> Iterator[BundledSelection]:
    """Yield the named selections of a corpus, oldest first; ``sentence_ids`` are the sentences in their order."""
    order = np.argsort(sentence_ids, kind="stable")
    with store.reading() as r:
        for record in reversed(r.selections.list(corpus_id)):
            ids = r.selections.ids(record.id)
            places = np.sort(order[np.searchsorted(sentence_ids[order], ids)])
            yield BundledSelection(record.name, record.person, record.created, Origin.from_json(record.origin), places)


def selections_from_lines(lines: Iterable[str], sentences: int, path: Path | str) -> list[BundledSelection]:
    """Read what :meth:`BundledSelection.to_line` wrote; raise :class:`ReadError` for other lines.

    ``sentences`` is the number of sentences of the corpus.
    """
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(_parsed(line, sentences))
        except (ValueError, ThemescopeError):
            problem = "this line is not a selection of a bundle."
            raise ReadError(path, problem, f"line {number:,}", "Export it again.") from None
    if len({one.name for one in found}) < len(found):
        raise ReadError(path, "two selections have the same name.", "", "Export it again.")
    return found


@dataclass(frozen=True, slots=True)
class _SelectionLine:
    name: Annotated[str, Field(min_length=1)]
    person: str
    created: AwareDatetime
    origin: dict[str, Any]
    sentences: Annotated[list[Number], Field(min_length=1)]


def _parsed(text: str, sentences: int) -> BundledSelection:
    line = parsed(_SelectionLine, text)
    places = np.array(line.sentences, dtype=np.int64)
    if (np.diff(places) <= 0).any() or places[0] < 0 or places[-1] >= sentences:
        raise ValueError(text)
    return BundledSelection(line.name, line.person, line.created, Origin.from_json(line.origin), places)


def store_selection(unit: Unit, corpus_id: int, selection: BundledSelection, sentence_ids: Ids) -> None:
    """Store a selection with its person and time; ``sentence_ids`` are the sentences of the corpus in their order."""
    ids = np.sort(sentence_ids[selection.places])
    found = Selection(corpus_id, ids, selection.origin)
    unit.selections.add(found, selection.name, selection.person, selection.created)


Rows = dict[str, list[Row]]


def notebook_lines(store: Store, corpus_id: int, sentence_ids: Ids) -> Iterator[str]:
    """Yield one line of JSON for each row of the notebook; ``sentence_ids`` are the sentences in their order.

    Sentences that a case names, but that do not exist, are left out.
    """
    place = {int(id): number for number, id in enumerate(sentence_ids)}
    with store.reading() as r:
        found = r.notebook_rows.read(corpus_id)
    for table, rows in found.items():
        for row in rows:
            if "sentence_ids" in row:
                row["sentence_ids"] = [place[id] for id in row["sentence_ids"] if id in place]
            yield json.dumps({table: row}, default=datetime.isoformat) + "\n"


def notebook_from_lines(lines: Iterable[str], sentences: int, path: Path | str) -> Rows:
    """Read what :func:`notebook_lines` wrote; raise :class:`ReadError` for other lines.

    ``sentences`` is the number of sentences of the corpus.
    """
    found: Rows = {table: [] for table in REFERENCES}
    for number, line in enumerate(lines, 1):
        try:
            ((table, row),) = json.loads(line).items()
            found[table].append(_parsed_row(table, row, found, sentences))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ThemescopeError):
            problem = "this line is not a row of an error notebook."
            raise ReadError(path, problem, f"line {number:,}", "Export it again.") from None
    categories = found["error_category"]
    if any(not _refers(row["merged_into"], len(categories)) for row in categories):
        raise ReadError(path, "a category is merged into one that is missing.", "", "Export it again.")
    return found


def _parsed_row(table: str, row: Any, found: Rows, sentences: int) -> Row:
    parsed_row: Row = dict(parsed(_row_of(table), json.dumps(row)))
    for column, of in REFERENCES[table].items():
        if column != "merged_into" and not _refers(parsed_row[column], len(found[of])):
            raise ValueError(column)
    if any(place >= sentences for place in parsed_row.get("sentence_ids", ())):
        raise ValueError("sentence_ids")
    return parsed_row


def _refers(place: int | None, known: int) -> bool:
    return place is None or 0 <= place < known


_TYPES: Mapping[type, Any] = {Text: str, Big: Number, sa.Integer: Number, sa.Boolean: bool, UtcDateTime: AwareDatetime}
_CHECKED: Mapping[str, Any] = {
    "version": Annotated[int, Field(ge=0, lt=2**31)],
    "colour": Annotated[int, Field(ge=0, lt=COLOURS)],
    "sentence_ids": Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=MOST_SENTENCES)],
    "kind": Annotated[str, AfterValidator(lambda value: CaseKind(value).value)],
    "facts": Annotated[dict[str, Any], AfterValidator(lambda value: CaseFacts.from_json(value).to_json())],
}
"""Columns whose values are not only of the type of their column."""


@cache
def _row_of(table: str) -> type[BaseModel]:
    """Return the class of the rows of a table as bundles have them."""
    columns = {name: metadata.tables[table].c[name] for name in columns_of(table)}
    types = {name: _CHECKED[name] if name in _CHECKED else _TYPES[type(c.type)] for name, c in columns.items()}
    fields: Any = {name: (types[name] | None if c.nullable else types[name], ...) for name, c in columns.items()}
    return create_model(table, __config__=ConfigDict(extra="forbid"), **fields)
