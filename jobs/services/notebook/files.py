"""The cases of an error notebook as tables: CSV for spreadsheets, JSON lines for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from db.notebook_records import ErrorCase, Notebook
from jobs.services.table_files import csv_text, json_lines

HEADER = (
    "case", "kind", "source", "article", "section", "predicted", "models", "margins", "sentences", "roles", "placed",
    "sentence_ids", "notes", "categories", "sample", "person", "created", "permalink",
)  # fmt: skip
_SEPARATOR = " | "


def jsonl(notebook: Notebook, address: Callable[[ErrorCase], str]) -> str:
    """Return one object per case; ``address`` returns the link to the view that a case was found in."""
    return json_lines(HEADER, [values(notebook, case, address) for case in notebook.cases])


def csv(notebook: Notebook, address: Callable[[ErrorCase], str]) -> str:
    """Return one row per case; lists are joined by a vertical bar, and formulas are escaped."""
    rows = ([_flat(value) for value in values(notebook, case, address)] for case in notebook.cases)
    return csv_text(HEADER, rows)


def values(notebook: Notebook, case: ErrorCase, address: Callable[[ErrorCase], str]) -> list[Any]:
    """Return the values of a case in the order of :data:`HEADER`."""
    facts, names = case.facts, {category.id: category.name for category in notebook.current_categories()}
    coded = {person: of[case.id] for person, of in notebook.coded().items() if case.id in of}
    sample = next((sample.name for sample in notebook.samples if sample.id == case.sample_id), "")
    return [
        case.id, case.kind.value, facts.source, facts.article, facts.section, facts.predicted, list(facts.models),
        dict(facts.margins), [p.text for p in facts.passages], [p.role for p in facts.passages],
        [p.placed for p in facts.passages], list(case.sentence_ids),
        [{"person": note.person, "text": note.text} for note in notebook.notes_of().get(case.id, ())],
        {person: sorted(names[id] for id in codes) for person, codes in coded.items()},
        sample, case.person, case.created, address(case),
    ]  # fmt: skip


def _flat(value: Any) -> Any:
    if isinstance(value, dict):
        return _SEPARATOR.join(f"{key}: {_flat(part)}" for key, part in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        texts = [f"{one['person']}: {one['text']}" if isinstance(one, dict) else str(one) for one in value]
        return _SEPARATOR.join(text for text in texts if text)
    return value
