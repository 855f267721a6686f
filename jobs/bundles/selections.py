"""Named selections as JSON lines; sentences are numbered by their place in the corpus."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AwareDatetime, Field

from themescope.core.errors import ReadError, ThemescopeError
from themescope.core.labelling.operations import Origin, Selection
from themescope.core.records.stored import CorpusRecord
from themescope.core.types import Ids
from themescope.db import error_notebooks
from themescope.db.store import Store, Unit
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


def store_notebook(unit: Unit, project: CorpusRecord, lines: Iterable[str], ids: Ids, path: str) -> None:
    """Store the error notebook of a bundle of version 0.2 or 0.3 as failures; ``ids`` are the project's sentences.

    Raises :class:`ReadError` if it is damaged.
    """
    rows: dict[str, list[dict[str, Any]]] = {table: [] for table in error_notebooks.TABLES}
    try:
        for line in lines:
            ((table, row),) = json.loads(line).items()
            rows[table].append({"id": len(rows[table])} | row)
        for row in chain.from_iterable(rows.values()):
            row |= {name: None if row[name] is None else datetime.fromisoformat(row[name])
                    for name in ("created", "deleted") if name in row}  # fmt: skip
        for case in rows["error_case"]:
            case["sentence_ids"] = ids[np.array(case["sentence_ids"], np.uint32)].tolist()
        error_notebooks.move(unit.failures.connection, project, rows)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError):
        raise ReadError(path, "this is not an error notebook.", "", "Export it again.") from None
