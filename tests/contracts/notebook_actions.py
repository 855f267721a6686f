"""Actions on the error notebook, see :mod:`tests.contracts.test_actions`."""

from __future__ import annotations

import numpy as np

from tests.contracts.scene import PEOPLE, Do, Scene
from themescope.core.labelling.error_cases import CaseFacts, CaseKind, Passage
from themescope.db.access import Right
from themescope.db.notebook_records import ErrorCategory, ErrorNote, NewCase
from themescope.db.store import Unit
from themescope.jobs.services.notebook import samples


def _case(corpus: int, text: str) -> NewCase:
    return NewCase(corpus, CaseKind.SENTENCE, (), CaseFacts("a search", (Passage(text, "A", ""),)), "map")


def fill(w: Unit, corpus: int) -> None:
    """Add a case with a note of everybody, a deleted one, three categories (one deleted), and an evaluation."""
    for person in ("max", *PEOPLE):
        w.error_notebook.add(_case(corpus, f"of {person}"), person, f"note of {person}")
    gone = w.error_notebook.add(_case(corpus, "gone"), "max")
    w.error_notebook.delete([gone.id], "max")
    for name in ("first", "second", "old"):
        category = w.error_categories.add(corpus, name, "", "max")
    w.error_categories.delete(category, "max")
    (triplets,), model = w.triplets.list(), w.models.by_name("model")
    about = {"model_id": model.id, "triplet_set_id": triplets.id, "config": {"split": "test"}}
    w.runs.add(kind="triplets", digest="margins", **about)


def _id(w: Unit, corpus: int, person: str) -> int:
    return next(case.id for case in w.error_notebook.list(corpus) if case.person == person)


def _note(w: Unit, corpus: int, person: str) -> ErrorNote:
    return next(note for note in w.error_notebook.notes(corpus) if note.person == person)


def _category(w: Unit, corpus: int, place: int) -> ErrorCategory:
    return w.error_categories.list(corpus)[place]


def _code_and_undo(w: Unit, s: Scene) -> None:
    w.error_categories.code(_id(w, s.corpus, "max"), _category(w, s.corpus, 0).id, s.name, True)
    w.error_categories.undo(s.corpus, s.name)


def _draw(s: Scene) -> None:
    with s.store.reading() as r:
        run = next(run for run in r.runs.list() if run.kind == "triplets")
    failed = samples.Failures(run, "m on set (test)", "m", np.array([s.triplet]), lambda id: f"triplets?id={id}")
    samples.draw(s.store, s.corpus, failed, 1, 0, s.name)


ACTIONS: dict[str, dict[str, tuple[Right, Do]]] = {
    "themescope.jobs.services.notebook.samples.draw": {"under their name": (Right.LABEL, _draw)},
    "error_notebook.add": {
        "under their name": (
            Right.LABEL, lambda s: s.write(lambda w: w.error_notebook.add(_case(s.corpus, "new"), s.name)),
        ),
        "under another name": (
            Right.MANAGE, lambda s: s.write(lambda w: w.error_notebook.add(_case(s.corpus, "new"), "somebody")),
        ),
    },
    "error_notebook.add_note": {
        "on the case of another": (
            Right.LABEL,
            lambda s: s.write(lambda w: w.error_notebook.add_note(_id(w, s.corpus, "max"), "x", s.name)),
        ),
    },
    "error_notebook.change_note": {
        "of their own": (
            Right.LABEL,
            lambda s: s.write(lambda w: w.error_notebook.change_note(_note(w, s.corpus, s.name), "x", s.name)),
        ),
        "of another": (
            Right.MANAGE,
            lambda s: s.write(lambda w: w.error_notebook.change_note(_note(w, s.corpus, "max"), "x", s.name)),
        ),
    },
    "error_notebook.delete": {
        "of their own": (
            Right.LABEL, lambda s: s.write(lambda w: w.error_notebook.delete([_id(w, s.corpus, s.name)], s.name)),
        ),
        "of another": (
            Right.MANAGE, lambda s: s.write(lambda w: w.error_notebook.delete([_id(w, s.corpus, "max")], s.name)),
        ),
    },
    "error_notebook.restore": {
        "of another": (
            Right.MANAGE,
            lambda s: s.write(
                lambda w: w.error_notebook.restore([w.error_notebook.list(s.corpus, deleted=True)[0].id], s.name)
            ),
        ),
    },
    "error_categories.add": {
        "any": (Right.LABEL, lambda s: s.write(lambda w: w.error_categories.add(s.corpus, "new", "", s.name))),
    },
    "error_categories.change": {
        "of another": (
            Right.LABEL,
            lambda s: s.write(lambda w: w.error_categories.change(_category(w, s.corpus, 0), "new", "", 3, s.name)),
        ),
    },
    "error_categories.merge": {
        "of another": (
            Right.LABEL,
            lambda s: s.write(
                lambda w: w.error_categories.merge(_category(w, s.corpus, 0), _category(w, s.corpus, 1).id, s.name)
            ),
        ),
    },
    "error_categories.delete": {
        "of another": (
            Right.LABEL, lambda s: s.write(lambda w: w.error_categories.delete(_category(w, s.corpus, 0), s.name)),
        ),
    },
    "error_categories.restore": {
        "of another": (
            Right.LABEL, lambda s: s.write(lambda w: w.error_categories.restore(_category(w, s.corpus, 2), s.name)),
        ),
    },
    "error_categories.code": {
        "under their name": (
            Right.LABEL,
            lambda s: s.write(lambda w: w.error_categories.code(_id(w, s.corpus, "max"), None, s.name, True)),
        ),
        "under another name": (
            Right.MANAGE,
            lambda s: s.write(lambda w: w.error_categories.code(_id(w, s.corpus, "max"), None, "somebody", True)),
        ),
    },
    "error_categories.undo": {
        "of their own": (Right.LABEL, lambda s: s.write(lambda w: _code_and_undo(w, s))),
    },
}  # fmt: skip
