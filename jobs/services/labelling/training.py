"""Training items (gold sentences) of labellings, and the attempts of people at them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from themescope.core.labelling.task_items import TrainingItem, items_of, share_right
from themescope.core.types import Estimate
from themescope.db.label_records import PracticeRecord
from themescope.db.store import Store, Unit


def items(r: Unit, labelling_id: int) -> list[TrainingItem]:
    """Return the training items of a labelling, by sentence id; at most one for each sentence."""
    return items_of(r.labellings.entries(labelling_id), r.labellings.clusters(labelling_id))


def record_attempt(
    store: Store, labelling_id: int, person: str, answers: Sequence[tuple[int, int, int]]
) -> PracticeRecord:
    """Store an attempt: (sentence, chosen cluster, right cluster) of each item.

    Raises ``StoreError`` if the person may only view, and ``DataError`` without answers.
    """
    with store.writing() as w:
        return w.practice.add(labelling_id, person, answers)


@dataclass(frozen=True, slots=True)
class PracticeProgress:
    """Attempts of one person at the training items of a labelling."""

    person: str
    attempts: tuple[PracticeRecord, ...]
    """Oldest first; at least one."""

    @property
    def last(self) -> Estimate:
        """Share of right answers of the last attempt, with its interval."""
        return _share(self.attempts[-1])

    @property
    def best(self) -> Estimate:
        """Share of right answers of the best attempt; of equal ones, that with most items."""
        return _share(max(self.attempts, key=lambda one: (one.correct / one.items, one.items)))


def progress(r: Unit, labelling_id: int, person: str | None = None) -> list[PracticeProgress]:
    """Return the attempts at the training items of a labelling by person, of one person if given."""
    found: dict[str, list[PracticeRecord]] = {}
    for attempt in r.practice.list(labelling_id, person):
        found.setdefault(attempt.person, []).append(attempt)
    return [PracticeProgress(name, tuple(attempts)) for name, attempts in sorted(found.items())]


def _share(attempt: PracticeRecord) -> Estimate:
    found = share_right([chosen == right for _, chosen, right in attempt.answers])
    assert found is not None
    return found
