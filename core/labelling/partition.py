"""The state of a labelling: every sentence in at most one cluster, clusters with names and colours, marks and notes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from core.errors import DataError
from core.types import Ids

UNASSIGNED = -1
"""The cluster number of a sentence that is in no cluster."""
COLOURS = 36
"""Colours are places in a palette, 0…35 (nine hues with four symbols), so that they suit every theme of the page."""
Rows = npt.NDArray[np.intp]  # (m,) places in ``Partition.ids``


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster. Its number is never reused, even after the cluster is deleted."""

    number: int
    name: str
    colour: int


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """State of a labelling; row i of every array is sentence ``ids[i]``."""

    ids: Ids
    """(n,) sentence ids, ascending, each once."""
    numbers: Ids
    """(n,) number of each sentence's cluster; :data:`UNASSIGNED` for none."""
    uncertain: npt.NDArray[np.bool_]
    """(n,) whether somebody was not sure."""
    notes: Mapping[int, str] = field(default_factory=dict)
    """Sentence id → note; sentences without a note are left out."""
    clusters: Mapping[int, Cluster] = field(default_factory=dict)
    """Number → cluster, the empty ones too."""

    def rows(self, ids: Iterable[int] | Ids) -> Rows:
        """(m,) rows of these sentences, in their order; :class:`DataError` for one that is not in the labelling."""
        wanted = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64)
        if not len(wanted):
            return np.empty(0, dtype=np.intp)
        found = np.minimum(np.searchsorted(self.ids, wanted), max(len(self.ids) - 1, 0))
        if not len(self.ids) or (self.ids[found] != wanted).any():
            raise DataError("Some of these sentences are not part of this labelling. Load the page again.")
        return found

    def members(self, number: int) -> Ids:
        """Ids of the sentences in a cluster (or of the unassigned ones), ascending."""
        found: Ids = self.ids[self.numbers == number]
        return found

    def sizes(self) -> dict[int, int]:
        """Return the size of every cluster by number, including :data:`UNASSIGNED`."""
        found, counts = np.unique(self.numbers, return_counts=True)
        counted = dict(zip(found.tolist(), counts.tolist(), strict=True))
        return {number: counted.get(number, 0) for number in (*self.clusters, UNASSIGNED)}

    def cluster(self, number: int) -> Cluster:
        """The cluster of that number, or :class:`DataError`."""
        if number not in self.clusters:
            raise DataError("That cluster is not there any more. Load the page again to see what happened to it.")
        return self.clusters[number]

    def to_bytes(self) -> bytes:
        """Return a canonical serialisation: equal states give equal bytes, different states different bytes."""
        clusters = [(c.number, c.name, c.colour) for _, c in sorted(self.clusters.items())]
        head = json.dumps([clusters, sorted(self.notes.items())], ensure_ascii=True).encode("ascii")
        arrays = (self.ids.astype("<i8"), self.numbers.astype("<i8"), self.uncertain.astype("u1"))
        return b"|".join([head, *(array.tobytes() for array in arrays)])

    def with_clusters(self, clusters: Mapping[int, Cluster]) -> Partition:
        """Return the partition with other clusters."""
        return replace(self, clusters=clusters)


def start(
    ids: Iterable[int] | Ids, numbers: Iterable[int] | Ids | None = None, clusters: Iterable[Cluster] = ()
) -> Partition:
    """Return an initial partition; without ``numbers`` all sentences are unassigned.

    Raises
    ------
    DataError
        If a sentence comes twice, or is in a cluster that is not among ``clusters``.
    """
    given = np.array(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64)
    order = np.argsort(given, kind="stable")
    given = given[order]
    if len(given) > 1 and (given[1:] == given[:-1]).any():
        raise DataError("A sentence may be in a labelling once only; some come twice.")
    known = {cluster.number: cluster for cluster in clusters}
    if numbers is None:
        placed = np.full(len(given), UNASSIGNED, dtype=np.int64)
    else:
        placed = np.array(numbers if isinstance(numbers, np.ndarray) else list(numbers), dtype=np.int64)[order]
    if not set(np.unique(placed).tolist()) <= {*known, UNASSIGNED}:
        raise DataError("Some sentences are in a cluster that the labelling does not have.")
    return Partition(given, placed, np.zeros(len(given), dtype=np.bool_), {}, known)
