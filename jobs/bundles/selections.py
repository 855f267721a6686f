"""Named selections and the error notebook as JSON lines; sentences are numbered by their place in the corpus."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.errors import ReadError, ThemescopeError
from themescope.core.labelling.error_cases import MOST_SENTENCES, CaseFacts, CaseKind
from themescope.core.labelling.partition import COLOURS
from themescope.core.labelling.selections import Origin, Selection
from themescope.core.types import Ids
from themescope.db.repositories.error_notebook import REFERENCES, Row, columns_of
from themescope.db.store import Store, Unit
from themescope.jobs.bundles.parts import string, whole_number


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
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ThemescopeError):
            problem = "this line is not a selection of a bundle."
            raise ReadError(path, problem, f"line {number:,}", "Export it again.") from None
    if len({one.name for one in found}) < len(found):
        raise ReadError(path, "two selections have the same name.", "", "Export it again.")
    return found


def _parsed(line: str, sentences: int) -> BundledSelection:
    entry = json.loads(line)
    places = np.array([whole_number(place) for place in entry["sentences"]], dtype=np.int64)
    created, name = datetime.fromisoformat(entry["created"]), string(entry["name"])
    if created.tzinfo is None or not name or not len(places) or (np.diff(places) <= 0).any():
        raise ValueError(line)
    if places[0] < 0 or places[-1] >= sentences:
        raise ValueError(line)
    return BundledSelection(name, string(entry["person"]), created, Origin.from_json(entry["origin"]), places)


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


def _parsed_row(table: str, row: Mapping[str, Any], found: Rows, sentences: int) -> Row:
    if set(row) != set(columns_of(table)):
        raise KeyError(table)
    parsed = {name: _PARSERS[name](value) for name, value in row.items()}
    for column, of in REFERENCES[table].items():
        if column != "merged_into" and not _refers(parsed[column], len(found[of])):
            raise ValueError(column)
    if any(parsed[column] is None for column in ("case_id",) if column in parsed):
        raise ValueError(table)
    if any(place >= sentences for place in parsed.get("sentence_ids", ())):
        raise ValueError("sentence_ids")
    return parsed


def _refers(place: int | None, known: int) -> bool:
    return place is None or 0 <= place < known


def _time(value: Any) -> datetime:
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise ValueError(value)
    return found


def _optional(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else parse(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


def _below(limit: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        if not 0 <= whole_number(value) < limit:
            raise ValueError(value)
        return int(value)

    return parse


def _places(value: Any) -> list[int]:
    found = np.array([whole_number(place) for place in value], dtype=np.int64)
    if len(found) > MOST_SENTENCES or (len(found) and found.min() < 0):
        raise ValueError("sentence_ids")
    return [int(place) for place in found]


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("name", "model", "person", "permalink", "text", "description"), string),
    **dict.fromkeys(("population", "seed", "case_id"), whole_number),
    **dict.fromkeys(("merged_into", "sample_id", "note", "category_id", "undoes"), _optional(whole_number)),
    "created": _time,
    "deleted": _optional(_time),
    "version": _below(2**31),
    "given": _boolean,
    "colour": _below(COLOURS),
    "sentence_ids": _places,
    "kind": lambda value: CaseKind(value).value,
    "facts": lambda value: CaseFacts.from_json(value).to_json(),
}
