"""What the actions of the pages are tried on: something of everything that pages change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from themescope.db.label_records import Role
from themescope.db.records import PaperTableRecord
from themescope.db.store import Store, Unit

PEOPLE = {"val": Role.VIEWER, "lea": Role.LABELLER, "ada": Role.ADMIN}
"""The people with a role; "max", who made what belongs to somebody else, has none yet."""


@dataclass(frozen=True)
class Scene:
    """Something of everything that pages change, and the store of a visitor."""

    store: Store
    name: str
    corpus: int
    labelling: int
    own_labelling: int
    deleted: int
    set: int
    triplet: int
    model: int
    job: int
    view: int
    own_view: int
    table: PaperTableRecord
    lines: tuple[str, ...]

    def write(self, change: Callable[[Unit], object]) -> None:
        with self.store.writing() as w:
            change(w)


Do = Callable[[Scene], object]
