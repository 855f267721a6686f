"""A clustering that was made elsewhere becomes the clusters of a labelling, around the sentences that people placed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from themescope.core.labelling.codebook import entries as codebook
from themescope.core.labelling.operations import free_colour, free_name
from themescope.core.labelling.partition import UNASSIGNED, Cluster, Partition
from themescope.core.types import Ids, Labels

Name = Callable[[Ids], str]
"""Function of the sentence ids of a new cluster that returns a name for it."""


def matched_clusters(partition: Partition, labels: Labels, fixed: Ids) -> dict[int, int]:
    """Return label → number of the cluster that it continues, one-to-one; labels without a match are left out.

    The number of shared sentences in ``fixed`` is maximal, and then that of all shared sentences (Kuhn 1955).
    """
    from scipy.optimize import linear_sum_assignment

    known, numbers = np.unique(labels[labels >= 0]), np.array(sorted(partition.clusters), dtype=np.int64)
    if not len(known) or not len(numbers):
        return {}
    both = (labels >= 0) & (partition.numbers != UNASSIGNED)
    weight = np.where(np.isin(partition.ids, fixed), len(labels) + 1.0, 1.0)
    table = np.zeros((len(known), len(numbers)))
    places = np.searchsorted(known, labels[both]), np.searchsorted(numbers, partition.numbers[both])
    np.add.at(table, places, weight[both])
    rows, columns = linear_sum_assignment(-table)
    return {int(known[r]): int(numbers[c]) for r, c in zip(rows, columns, strict=True) if table[r, c] > 0}


def adopted(partition: Partition, labels: Labels, fixed: Ids, first_number: int, name: Name) -> Partition:
    """Return the partition with its sentences in the clusters of (n,) ``labels``, -1 for unassigned.

    Sentences in ``fixed`` keep their clusters. A label continues the cluster that it matches; others become new
    clusters from ``first_number`` on. Clusters that become empty are deleted with their codebook entries, unless they
    have sub-themes.
    """
    numbers = matched_clusters(partition, labels, fixed)
    clusters: dict[int, Cluster] = dict(partition.clusters)
    kept = np.isin(partition.ids, fixed)
    for label in np.unique(labels[(labels >= 0) & ~kept]).tolist():
        if label in numbers:
            continue
        now = partition.with_clusters(clusters)
        numbers[label] = first_number
        wanted = name(partition.ids[labels == label]) or "New cluster"
        clusters[first_number] = Cluster(first_number, free_name(now, wanted), free_colour(now))
        first_number += 1
    after = np.array([numbers.get(label, UNASSIGNED) for label in labels.tolist()], dtype=np.int64)
    after = np.where(kept, partition.numbers, after)
    left = _without_emptied(partition, clusters, after)
    gone = [number for number in clusters if number not in left]
    changes = [change for number in gone for change in codebook.removed(partition, number)]
    entries = {key: entry for key, entry in partition.entries.items() if key not in {(c.kind, c.key) for c in changes}}
    return replace(partition, numbers=after, clusters=left, entries=entries)


def _without_emptied(partition: Partition, clusters: Mapping[int, Cluster], after: Ids) -> dict[int, Cluster]:
    emptied = np.setdiff1d(partition.numbers, after).tolist()
    parents = {c.parent for n, c in clusters.items() if n not in emptied}
    return {n: c for n, c in clusters.items() if n not in emptied or n in parents}
