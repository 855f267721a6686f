"""Constrained re-clustering around sentences that users placed, without training.

Placed sentences stay where they are, so every "these belong together" and "these do not" of theirs holds; each other
sentence goes to the cluster that it is most like on average, again and again until nothing moves (the moves of Iclust
with fixed items; seeded clustering of Basu, Banerjee, Mooney 2002).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.labelling.partition import Partition
from core.labelling.suggestions import affinities
from core.types import Ids, Matrix

_SWEEPS = 30


def recluster(partition: Partition, x: Matrix, fixed: Ids) -> Partition:
    """Return the clusters with sentences that are not ``fixed`` reassigned by (n, dim) vectors.

    Sentences that somebody left unassigned on purpose are fixed as well when they are in ``fixed``. A cluster is
    never emptied: its last sentence stays.
    """
    numbers = np.array(sorted(partition.clusters), dtype=np.int64)
    if not len(numbers):
        return partition
    free = np.flatnonzero(~np.isin(partition.ids, fixed))
    now, seen = partition, set()
    for _ in range(_SWEEPS):
        similarity = affinities(now, x)[free]
        best = numbers[similarity.argmax(axis=1)]
        best = np.where(np.isfinite(similarity.max(axis=1)), best, now.numbers[free])
        after = now.numbers.copy()
        after[free] = best
        for number in numbers[~np.isin(numbers, after) & np.isin(numbers, now.numbers)]:
            after[np.flatnonzero(now.numbers == number)[0]] = number
        key = after.tobytes()
        if np.array_equal(after, now.numbers) or key in seen:
            break
        seen.add(key)
        now = replace(now, numbers=after)
    return now
