"""The cases of an error notebook as tables: CSV for spreadsheets, JSON lines for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from themescope.db.notebook_records import ErrorCase, Notebook
from themescope.jobs.services.table_files import csv_text, json_lines

HEADER = (
    "case", "kind", "source", "article", "section", "predicted", "models", "margins", "sentences", "roles", "placed",
    "sentence_ids", "notes", "categories", "sample", "person", "created", "permalink",
)  # fmt: skip
_SEPARATOR = " | "


def jsonl(notebook: Notebook, address: Callable[[ErrorCase], str]) -> str:
    """Return one object per case; ``address`` returns the link to the view that a case was found in."""
    return json_lines(HEADER, _rows(notebook, address))


def csv(notebook: Notebook, address: Callable[[ErrorCase], str]) -> str:
    """Return one row per case; lists are joined by a vertical bar, and formulas are escaped."""
    return csv_text(HEADER, ([_flat(value) for value in row] for row in _rows(notebook, address)))


def _rows(notebook: Notebook, address: Callable[[ErrorCase], str]) -> Iterator[list[Any]]:
    """Yield the values of each case in the order of :data:`HEADER`."""
    notes, given = notebook.notes_of(), notebook.names_given()
    samples = {sample.id: sample.name for sample in notebook.samples}
    for case in notebook.cases:
        facts = case.facts
        yield [
            case.id, case.kind.value, facts.source, facts.article, facts.section, facts.predicted, list(facts.models),
            dict(facts.margins), [p.text for p in facts.passages], [p.role for p in facts.passages],
            [p.placed for p in facts.passages], list(case.sentence_ids),
            [{"person": note.person, "text": note.text} for note in notes.get(case.id, ())], given.get(case.id, {}),
            samples.get(case.sample_id or 0, ""), case.person, case.created, address(case),
        ]  # fmt: skip


def _flat(value: Any) -> Any:
    if isinstance(value, dict):
        return _SEPARATOR.join(f"{key}: {_flat(part)}" for key, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        texts = [f"{one['person']}: {one['text']}" if isinstance(one, dict) else str(one) for one in value]
        return _SEPARATOR.join(text for text in texts if text)
    return value
