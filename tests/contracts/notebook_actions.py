"""What pages change in error notebooks, and the right that each change requires."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from core.types import Split
from db.access import Right
from db.notebook_records import ErrorCategory
from db.store import Unit
from jobs.services.notebook import samples
from tests.db.test_error_notebook import case

OTHER = "max"


def fill(w: Unit, corpus: int, name: str) -> None:
    """Add a case with a note, a category and a coding of a person."""
    added = w.error_notebook.add(case(corpus, source=f"of {name}"), name, f"note of {name}")
    category = w.error_categories.add(corpus, f"of {name}", "", name)
    w.error_categories.code(added.id, category.id, name, True)


def add_failures(w: Unit, model: int, set_id: int) -> None:
    """Add an evaluation of a model that is always wrong."""
    ids = w.triplets.ids(set_id, Split.TRAIN)
    margins = {Split.TRAIN: (ids, np.full(len(ids), -1.0, np.float32))}
    config = {"split": "train"}
    w.runs.add(kind="triplets", digest="wrong", model_id=model, triplet_set_id=set_id, config=config, margins=margins)


def _case(w: Unit, s: Any, name: str) -> int:
    return next(one.id for one in w.error_notebook.list(s.corpus) if one.person == name)


def _category(w: Unit, s: Any, name: str = OTHER) -> ErrorCategory:
    return next(one for one in w.error_categories.list(s.corpus) if one.person == name)


def _changed_note(name: str | None) -> Callable[[Any], object]:
    def do(s: Any) -> None:
        def change(w: Unit) -> None:
            note = next(n for n in w.error_notebook.notes(s.corpus) if n.person == (name or s.name))
            w.error_notebook.change_note(note, "changed", s.name)

        s.write(change)

    return do


def _restored(name: str | None) -> Callable[[Any], object]:
    def do(s: Any) -> None:
        def change(w: Unit) -> None:
            id = _case(w, s, name or s.name)
            w.error_notebook.delete([id], s.name)
            w.error_notebook.restore([id], s.name)
            w.error_notebook.add_note(id, "restored", s.name)

        s.write(change)

    return do


def _restored_category(s: Any) -> None:
    def change(w: Unit) -> None:
        w.error_categories.restore(w.error_categories.delete(_category(w, s), s.name), s.name)

    s.write(change)


def _drawn(s: Any) -> None:
    with s.store.reading() as r:
        run = next(run for run in r.runs.list(kind="triplets") if run.digest == "wrong")
    found = samples.failures(s.store, run, "net", lambda id: f"triplets?triplets_triplet={id}")
    samples.draw(s.store, s.corpus, found, 1, 0, s.name)


def _write(change: Callable[[Unit, Any], object]) -> Callable[[Any], object]:
    return lambda s: s.write(lambda w: change(w, s))


LABEL, MANAGE = Right.LABEL, Right.MANAGE
ACTIONS: dict[str, dict[str, tuple[Right, Callable[[Any], object]]]] = {
    "error_notebook.add": {
        "under their name": (LABEL, _write(lambda w, s: w.error_notebook.add(case(s.corpus, source="new"), s.name))),
        "under another name": (MANAGE, _write(lambda w, s: w.error_notebook.add(case(s.corpus, source="new"), OTHER))),
    },
    "error_notebook.add_note": {
        "on any case": (LABEL, _write(lambda w, s: w.error_notebook.add_note(_case(w, s, OTHER), "new", s.name))),
    },
    "error_notebook.change_note": {
        "of their own": (LABEL, _changed_note(None)),
        "of another": (MANAGE, _changed_note(OTHER)),
    },
    "error_notebook.delete": {
        "of their own": (LABEL, _write(lambda w, s: w.error_notebook.delete([_case(w, s, s.name)], s.name))),
        "of another": (MANAGE, _write(lambda w, s: w.error_notebook.delete([_case(w, s, OTHER)], s.name))),
    },
    "error_notebook.restore": {"of their own": (LABEL, _restored(None)), "of another": (MANAGE, _restored(OTHER))},
    "error_categories.add": {
        "for everybody": (LABEL, _write(lambda w, s: w.error_categories.add(s.corpus, "new", "", s.name))),
    },
    "error_categories.change": {
        "of anybody": (LABEL, _write(lambda w, s: w.error_categories.change(_category(w, s), "new", "", 1, s.name))),
    },
    "error_categories.merge": {
        "of anybody": (
            LABEL, _write(lambda w, s: w.error_categories.merge(_category(w, s), _category(w, s, s.name).id, s.name)),
        ),
    },
    "error_categories.delete": {
        "of anybody": (LABEL, _write(lambda w, s: w.error_categories.delete(_category(w, s), s.name))),
    },
    "error_categories.restore": {"of anybody": (LABEL, _restored_category)},
    "error_categories.code": {
        "under their name": (
            LABEL, _write(lambda w, s: w.error_categories.code(_case(w, s, OTHER), None, s.name, True)),
        ),
        "under another name": (
            MANAGE, _write(lambda w, s: w.error_categories.code(_case(w, s, OTHER), None, OTHER, True)),
        ),
    },
    "error_categories.undo": {
        "of their own": (LABEL, _write(lambda w, s: w.error_categories.undo(s.corpus, s.name))),
        "of another": (MANAGE, _write(lambda w, s: w.error_categories.undo(s.corpus, OTHER))),
    },
    "jobs.services.notebook.samples.draw": {"of failures": (LABEL, _drawn)},
}  # fmt: skip
READING = {
    "jobs.services.notebook.cases.sentence_case",
    "jobs.services.notebook.report.report",
    "jobs.services.notebook.samples.failures",
}
