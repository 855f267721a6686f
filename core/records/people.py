"""Records of people and of labelling tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from themescope.core.records.stored import Described, Role


@dataclass(frozen=True, slots=True)
class PersonRecord(Described):
    """Person known to the store; "" is the person without a name."""

    name: str
    role: Role
    created: datetime
    seen: datetime | None = None
    """Time of last use of a page, to the minute."""


class ItemState(StrEnum):
    """State of an item of a task."""

    OPEN = "open"
    STARTED = "in progress"
    DONE = "done"


class Reason(StrEnum):
    """Why a person has an item."""

    DISTRIBUTION = "distribution"
    GOLD = "gold"
    ROUTING = "routing"
    """Other people disagree about its sentences."""


@dataclass(frozen=True, slots=True)
class TaskRecord(Described):
    """Labelling task without its items."""

    id: int
    corpus_id: int
    name: str
    person: str
    """Who made it."""
    created: datetime
    due: datetime | None
    closed: datetime | None
    instructions: str
    blind: bool
    settings: Mapping[str, Any]
    """``share``, ``several``, ``order``, ``seed``, ``start`` (initial clusters), ``tell`` (people see their checks)."""
    gold_id: int | None
    """Labelling whose labels are known to be right; the labels of gold items are compared with it."""


@dataclass(frozen=True, slots=True)
class MemberRecord(Described):
    """Person of a task."""

    task_id: int
    person: str
    labelling_id: int | None
    """The person's labelling; None before the person begins."""
    quota: int | None
    """Maximum number of items from the distribution."""


@dataclass(frozen=True, slots=True)
class ItemRecord(Described):
    """Sentences of an article, by position, that one person labels."""

    id: int
    task_id: int
    article_id: int
    first: int
    last: int
    """Position of the last sentence, inclusive."""
    person: str
    place: int
    """Place in the order of the person."""
    reason: Reason
    opened: datetime | None
    done: datetime | None

    @property
    def state(self) -> ItemState:
        """State of the item."""
        if self.done is not None:
            return ItemState.DONE
        return ItemState.OPEN if self.opened is None else ItemState.STARTED

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return self.last - self.first + 1

    @property
    def range(self) -> tuple[int, int, int]:
        """Article and positions, which are the same for all people who label the item."""
        return self.article_id, self.first, self.last
