"""Items of labelling tasks: their distribution to people, items with a known label, and checks of the work over time.

Items with a known label are sentences with their right cluster, chosen by people who may change the labelling. Tasks
use them to check the work of labellers, and to show it to them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

import numpy as np

from themescope.core.errors import DataError
from themescope.core.labelling.partition import Entry, EntryKey, EntryKind, Partition
from themescope.core.metrics.formulas import wilson
from themescope.core.types import Estimate, Floats, Ids


class Order(StrEnum):
    """Order in which a person gets the items."""

    GIVEN = "given"
    RANDOM = "random"
    UNCERTAIN = "most uncertain first"


@dataclass(frozen=True, slots=True)
class DistributionPlan:
    """How the items of a task are distributed."""

    people: tuple[str, ...]
    share: float = 0.2
    """Share of the items that several people label."""
    several: int = 2
    """Number of people of such an item; each of the others has one."""
    order: Order = Order.GIVEN
    seed: int = 0
    quotas: Mapping[str, int] | None = None
    """Maximum number of items of a person, without gold items; no limit for the others."""


def distribute(
    items: int, plan: DistributionPlan, uncertainty: Floats | None = None, gold: Sequence[int] = ()
) -> list[list[int]]:
    """Return the items 0 … ``items`` - 1 of each person of ``plan``, in the person's order.

    Every item has exactly its number of people, all different, and loads differ by at most one where quotas allow it.
    ``gold`` items are labelled by everybody, spread evenly over the person's list, and do not count for quotas. Items
    with several people are drawn at random, and two people share about as many items as any other two. Raises
    :class:`DataError` if the plan cannot be met, with what is missing.
    """
    if not plan.people or len({*plan.people}) < len(plan.people):
        raise DataError("A task needs people, each of them once.")
    if not items:
        raise DataError("A task needs articles.")
    if not 0.0 <= plan.share <= 1.0:
        raise DataError(f"The share of items with several people is between 0 and 100 %, not {plan.share:.0%}.")
    if plan.share and not 2 <= plan.several <= len(plan.people):
        raise DataError(
            f"{plan.several} people are to label the same item, but the task has {len(plan.people)}. "
            "Add people, or lower the overlap."
        )
    if plan.order is Order.UNCERTAIN and (uncertainty is None or len(uncertainty) != items):
        raise DataError("There is no measure of uncertainty for these items. Choose another order.")
    random = np.random.default_rng(plan.seed)
    known = {*gold}
    ordinary = np.array([item for item in range(items) if item not in known], dtype=np.int64)
    demand = np.ones(len(ordinary), dtype=np.int64)
    shared = random.permutation(len(ordinary))[: round(plan.share * len(ordinary))]
    demand[shared] = plan.several
    loads = _loads(int(demand.sum()), len(ordinary), plan)
    lists: list[list[int]] = [[] for _ in plan.people]
    for place, people in _assigned(demand, loads, random):
        for person in people:
            lists[person].append(int(ordinary[place]))
    return [_ordered(own, plan.order, uncertainty, gold, random) for own in lists]


def _loads(total: int, items: int, plan: DistributionPlan) -> Ids:
    """Return the (people,) number of items of each person: equal up to one, except where a quota is lower."""
    quotas = plan.quotas or {}
    most = np.array([min(quotas.get(person, items), items) for person in plan.people], dtype=np.int64)
    if (most < 0).any():
        raise DataError("A quota is at least 0.")
    room = int(most.sum())
    if room < total:
        raise DataError(
            f"The items need {total:,} codings, but the quotas allow {room:,}: {total - room:,} are missing. "
            "Raise a quota, add people, or lower the overlap."
        )
    loads = np.zeros(len(most), dtype=np.int64)
    while total:
        free = np.flatnonzero(loads < most)
        step = max(total // len(free), 1)
        more = min(step, int((most[free] - loads[free]).min()))
        taken = free if more * len(free) <= total else free[:total]
        loads[taken] += more
        total -= more * len(taken)
    return loads


def _assigned(demand: Ids, loads: Ids, random: np.random.Generator) -> list[tuple[int, list[int]]]:
    """Return (item, people) such that items have their demand and people their load.

    Items of highest demand first, each to the people with the most left (Ryser 1957, Canadian Journal of Mathematics
    9). Among equals, those who have shared the fewest items with the others of the item.
    """
    left, shared = loads.copy(), np.zeros((len(loads), len(loads)), dtype=np.int64)
    order = random.permutation(len(demand))
    order = order[np.argsort(-demand[order], kind="stable")]
    found = []
    for item in order.tolist():
        people: list[int] = []
        for _ in range(int(demand[item])):
            together = shared[people].sum(axis=0)
            keys = (random.permutation(len(left)), together, -left)
            free = [int(p) for p in np.lexsort(keys) if p not in people]
            person = free[0]
            if not left[person]:
                raise DataError(
                    "The quotas do not allow that many different people for an item. Raise a quota, or lower the "
                    "overlap."
                )
            people.append(person)
        for person in people:
            left[person] -= 1
            shared[person, [other for other in people if other != person]] += 1
        found.append((item, people))
    return found


def _ordered(
    own: list[int], order: Order, uncertainty: Floats | None, gold: Sequence[int], random: np.random.Generator
) -> list[int]:
    """Return the items in their order, with gold items in between, at even distances."""
    items = np.sort(np.array(own, dtype=np.int64))
    if order is Order.RANDOM:
        items = random.permutation(items)
    elif order is Order.UNCERTAIN and uncertainty is not None:
        items = items[np.argsort(-uncertainty[items], kind="stable")]
    mixed, total = list[int](items.tolist()), len(own) + len(gold)
    for place, item in enumerate(random.permutation(np.array(gold, dtype=np.int64)).tolist()):
        mixed.insert(min(round((place + 0.5) * total / len(gold)), len(mixed)), item)
    return mixed


# --- gold items -------------------------------------------------------------------------------------------------------


EXPLANATION_LIMIT, ITEM_LIMIT = 5_000, 500
"""Maximum number of characters of an explanation, and of items of a labelling."""


@dataclass(frozen=True, slots=True)
class TrainingItem:
    """Sentence with the cluster into which it belongs."""

    key: str
    """Key of its entry."""
    sentence: int
    cluster: int
    explanation: str = ""
    """Why it belongs there."""


def training_items(partition: Partition) -> list[TrainingItem]:
    """Return the training items of a labelling, see :func:`items_of`."""
    return items_of(partition.entries, partition.clusters)


def items_of(entries: Mapping[EntryKey, Entry], clusters: Collection[int]) -> list[TrainingItem]:
    """Return the training items whose cluster is one of ``clusters``, by sentence; of several for one, the first."""
    found: dict[int, TrainingItem] = {}
    for (kind, key), entry in sorted(entries.items(), key=lambda pair: pair[0]):
        if kind is EntryKind.TRAINING and len(entry.sentences) == len(entry.clusters) == 1:
            text = entry.data.get("explanation")
            item = TrainingItem(key, *entry.sentences, *entry.clusters, text if isinstance(text, str) else "")
            if item.cluster in clusters:
                found.setdefault(item.sentence, item)
    return [found[id] for id in sorted(found)]


def share_right(answers: Sequence[bool]) -> Estimate | None:
    """Return the share of right answers with its 95 % interval; None without answers.

    The interval is that of Wilson 1927 (score interval), which is defined for 0 and all right, too.
    """
    if not answers:
        return None
    share = sum(answers) / len(answers)
    low, high = wilson(share, len(answers), NormalDist().inv_cdf(0.975))
    return Estimate(share, float(low), float(high), len(answers))
