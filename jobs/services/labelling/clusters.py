"""Clusters of a labelling as a working set: re-clustering a part, merge suggestions, outliers, groups and names.

All functions use the (n, dim) vectors of a labelling's sentences, in the order of the partition's ids, and change
nothing: a preview becomes an operation that the user may commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from themescope.core.labelling import operations as op
from themescope.core.labelling.hierarchy import ClusterGroup, with_sub_themes
from themescope.core.labelling.partition import Partition
from themescope.core.types import Ids, Matrix
from themescope.db.records import ModelRecord
from themescope.db.store import Store

if TYPE_CHECKING:
    from themescope.core.labelling.suggestions import Centres, ClusterPair, ClusterPart
    from themescope.core.types import Floats

MOST_CHOSEN = 200
"""Maximum number of clusters that the number of themes suggests for a part."""
_NAMED_FROM, _NAMED_OF_EACH = 20_000, 2_000
"""Maximum number of sentences whose words are compared for names, in all and of each named cluster."""


@dataclass(frozen=True, slots=True)
class Reclustered:
    """Preview of re-clustering some sentences: the parts, and why there are so many."""

    parts: list[ClusterPart]
    reason: str
    """Reason for the number of parts; "" if it was given."""


def clusterers() -> dict[str, str]:
    """Return id → title of the clusterers that re-cluster a part."""
    from themescope.core.labelling.suggestions import clusterers as cards

    return {card.id: card.title for card in cards()}


def preview_parts(
    store: Store, model: ModelRecord, texts: Sequence[str], ids: Ids, x: Matrix, k: int | None, clusterer: str
) -> Reclustered:
    """Divide the sentences ``ids`` by their (m, dim) vectors into ``k`` parts, by default as many as their themes.

    Raises ``DataError`` if there are fewer sentences than parts.
    """
    from themescope.core.labelling.suggestions import propose
    from themescope.core.tasks.pair_calibration import load_calibration
    from themescope.core.tasks.theme_counts import suggest

    reason = ""
    if k is None:
        suggestion = suggest(x, load_calibration(store.artifacts.path(model.artifact)), MOST_CHOSEN, seed=0)
        k, reason = suggestion.k, suggestion.reason
    return Reclustered(propose(ids, texts, x, k, clusterer), reason)


def centres(partition: Partition, x: Matrix) -> Centres:
    """Return the centres of the clusters, on which suggestions are based."""
    from themescope.core.labelling.suggestions import centres as computed

    return computed(partition, x)


def similar_pairs(found: Centres, most: int) -> list[ClusterPair]:
    """Return at most ``most`` pairs of clusters that could be one, the best first."""
    from themescope.core.labelling.suggestions import similar_pairs as pairs

    return pairs(found, most)


def between(partition: Partition, x: Matrix, found: Centres, pair: ClusterPair) -> tuple[Ids, int]:
    """Return the sentences between two clusters, and how many are nearer to the other one than to their own."""
    from themescope.core.labelling.suggestions import between as lying

    return lying(partition, x, found, pair)


def nearest(found: Centres, number: int) -> list[tuple[int, float]]:
    """Return the other clusters with their mean cosine to one, most similar first; none for an empty cluster."""
    place = np.flatnonzero(found.numbers == number)
    if not len(place):
        return []
    cosines = found.means @ found.means[place[0]]
    order = [int(row) for row in np.argsort(-cosines, kind="stable") if row != place[0]]
    return [(int(found.numbers[row]), float(cosines[row])) for row in order]


def by_centrality(ids: Ids, x: Matrix) -> Ids:
    """Return the sentences of a cluster with (m, dim) vectors, most central first."""
    from themescope.core.labelling.suggestions import by_centrality as ordered

    return ordered(ids, x)


def densities(x: Matrix) -> Floats:
    """Return the (n,) mean cosines of the sentences to their nearest neighbours; those of outliers are low."""
    from themescope.core.labelling.suggestions import densities as computed

    return computed(x)


def usual_limit(density: Floats) -> float:
    """Return the density below which a sentence is an outlier, if nobody chooses another limit."""
    from themescope.core.labelling.suggestions import usual_limit as fence

    return fence(density)


def suggested_groups(partition: Partition, texts: Mapping[int, str], found: Centres, groups: int) -> list[ClusterGroup]:
    """Return groups of two or more clusters with names, for so many themes; other clusters stay alone."""
    from themescope.core.labelling.suggestions import similar_groups

    numbers = [group for group in similar_groups(found, groups) if len(group) > 1]
    named: list[ClusterGroup] = []
    known = partition
    for group, name in zip(numbers, _names(partition, texts, [list(group) for group in numbers]), strict=True):
        free = op.free_name(known, name or "Theme")
        known = known.with_clusters({**known.clusters, -2 - len(named): replace(known.clusters[group[0]], name=free)})
        named.append(ClusterGroup(free, group))
    return named


def keyword_names(partition: Partition, texts: Mapping[int, str], numbers: Sequence[int]) -> dict[int, str]:
    """Return new names of clusters from their distinctive words; a cluster without such words keeps its name."""
    found: dict[int, str] = {}
    known = dict(partition.clusters)
    for number, name in zip(numbers, _names(partition, texts, [[n] for n in numbers]), strict=True):
        own = known.pop(number)
        free = op.free_name(partition.with_clusters(known), name or own.name)
        found[number], known[number] = free, replace(own, name=free)
    return found


def _names(partition: Partition, texts: Mapping[int, str], groups: Sequence[Sequence[int]]) -> list[str]:
    """Return a name for each group of clusters, from the words that are frequent in it and rare elsewhere."""
    from themescope.core.clustering.naming import theme_words

    group_of = {n: place for place, group in enumerate(groups) for n in with_sub_themes(partition, group)}
    labels = np.array([group_of.get(n, len(groups)) for n in partition.numbers.tolist()], dtype=np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    rows = np.concatenate([order[labels[order] == place][:_NAMED_OF_EACH] for place in range(len(groups) + 1)])
    rows = rows[:_NAMED_FROM]
    listed = [texts[int(partition.ids[row])] for row in rows]
    return [" · ".join(words) for words in theme_words(listed, labels[rows], len(groups) + 1)[: len(groups)]]
