"""Named selections of a corpus as JSON lines; sentences are numbered by their place in the corpus."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from themescope.core.errors import ReadError, ThemescopeError
from themescope.core.labelling.selections import Origin, Selection
from themescope.core.types import Ids
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
