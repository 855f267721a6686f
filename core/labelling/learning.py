"""What is learned from labellings: training data (contradictions and triplets), and suggestions from vectors.

Only sentences that a person has placed are used, not those of the initial partition. Articles of the test split are
excluded: :func:`labelled_triplets` determines the split of an article by its title.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.clustering.inputs import (
    canonical_labels,
    cosine_matrix,
    distinct_texts,
    extended_labels,
    squared_lengths,
    unit_rows,
)
from themescope.core.compute import nearest_neighbours
from themescope.core.errors import DataError
from themescope.core.labelling.changes import EntryChange
from themescope.core.labelling.operations import Operation, OperationKind, entries
from themescope.core.labelling.partition import (
    UNASSIGNED,
    Entry,
    EntryKind,
    Partition,
    code_clusters,
    combinations,
    has_code,
)
from themescope.core.registry import Card
from themescope.core.types import Floats, Ids, Mask, Matrix, Split, TripletRows, split_of_title

FINE_TUNING_SETTINGS: dict[str, Any] = {"loss": "log", "learning_rate": 1e-4, "epochs": 2, "evaluations_per_epoch": 2}
"""Settings for fine-tuning a triplet network on the few triplets of labels: at three times this learning rate the
section loss only lowers the accuracy (experiment log)."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Sentences of a labelling that users placed explicitly."""

    partition: Partition
    ids: Ids
    """(m,) ascending; each is assigned and not marked uncertain."""


@dataclass(frozen=True, slots=True)
class LabelContradiction:
    """Two sentences that some labellings put together and others apart."""

    first: int
    second: int
    together: tuple[int, ...]
    """Positions of the labellings that put them together."""
    apart: tuple[int, ...]


def contradictions(labellings: Sequence[Placed], most: int = 1_000) -> list[LabelContradiction]:
    """Return at most ``most`` contradictory pairs, in the order of their ids."""
    ids, counts = np.unique(np.concatenate([np.zeros(0, np.int64), *(p.ids for p in labellings)]), return_counts=True)
    shared = ids[counts > 1]
    cluster = np.full((len(labellings), len(shared)), UNASSIGNED, dtype=np.int64)
    for row, placed in zip(cluster, labellings, strict=True):
        both, here, _ = np.intersect1d(shared, placed.ids, assume_unique=True, return_indices=True)
        row[here] = placed.partition.numbers[placed.partition.rows(both)]
    found: list[LabelContradiction] = []
    for place in range(len(shared)):
        later, own = cluster[:, place + 1 :], cluster[:, place, None]
        judged = (own != UNASSIGNED) & (later != UNASSIGNED)
        together, apart = judged & (later == own), judged & (later != own)
        for other in np.flatnonzero(together.any(axis=0) & apart.any(axis=0)):
            says = (tuple(np.flatnonzero(side[:, other]).tolist()) for side in (together, apart))
            found.append(LabelContradiction(int(shared[place]), int(shared[place + 1 + other]), *says))
            if len(found) == most:
                return found
    return found


def section_separation(x: Matrix, articles: Ids, sections: Ids) -> npt.NDArray[np.float64]:
    """Return the separation of sections by (n, dim) vectors, per sentence within its article.

    The (n,) values are, for each sentence, the share of pairs of a sentence of its section and one of another section
    of which the first is nearer by cosine; ties count half. NaN if there is no such pair.
    """
    shares = np.full(len(articles), np.nan)
    for article in np.unique(articles):
        rows = np.flatnonzero(articles == article)
        similarity, own = cosine_matrix(x[rows]), sections[rows]
        for place, row in enumerate(rows.tolist()):
            same, other = own == own[place], np.sort(similarity[place, own != own[place]])
            same[place] = False
            if same.any() and len(other):
                mine = similarity[place, same]
                beaten = np.searchsorted(other, mine, "left") + np.searchsorted(other, mine, "right")
                shares[row] = beaten.mean() / 2 / len(other)
    return shares


def labelled_triplets(
    placed: Placed,
    article_of: Mapping[int, int],
    titles: Mapping[int, str],
    without: Iterable[tuple[int, int]] = (),
    per_sentence: int = 5,
    seed: int = 0,
) -> dict[Split, TripletRows]:
    """Return triplets (a placed sentence, another of its cluster, one of another cluster) within single articles.

    The positive and the negative are placed sentences if there are any, otherwise other sentences of the cluster; pairs
    in ``without`` (contradictions) are not used. The title of an article determines its split; articles of the test
    split are excluded. Raises :class:`DataError` if an article has no title, so that its split is unknown.
    """
    random = np.random.default_rng(seed)
    barred = {frozenset(pair) for pair in without}
    rows: dict[Split, list[tuple[int, int, int, int]]] = {Split.TRAIN: [], Split.VALIDATION: []}
    ids, known = placed.partition.ids.tolist(), set(placed.ids.tolist())
    numbers = dict(zip(ids, placed.partition.numbers.tolist(), strict=True))
    by_article: dict[int, list[int]] = {}
    for sentence in ids:
        by_article.setdefault(article_of[sentence], []).append(sentence)

    def surest(sentences: list[int]) -> list[int]:
        """Return the sentences that users placed, or all sentences if there are none."""
        return [s for s in sentences if s in known] or sentences

    for article, sentences in by_article.items():
        if article not in titles:
            raise DataError("An article has no title, so its split is unknown.")
        split, found = split_of_title(titles[article]), []
        assigned = [s for s in sentences if numbers[s] != UNASSIGNED and split in rows]
        for pivot in (s for s in assigned if s in known):
            free = [s for s in assigned if s != pivot and frozenset((s, pivot)) not in barred]
            same = surest([s for s in free if numbers[s] == numbers[pivot]])
            other = surest([s for s in free if numbers[s] != numbers[pivot]])
            for _ in range(min(per_sentence, len(same) * len(other))):
                found.append((article, pivot, same[random.integers(len(same))], other[random.integers(len(other))]))
        if found:
            rows[split] += dict.fromkeys(found)
    tables = {split: np.array(found, dtype=np.int64).reshape(-1, 4) for split, found in rows.items()}
    return {split: TripletRows(np.zeros(len(t), np.int64), *np.ascontiguousarray(t.T)) for split, t in tables.items()}


# Suggestions from vectors for a labelling: places of sentences, clusters to group or to divide

_BLOCK = 20_000
"""Sentences whose sums are computed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """Clusters with sentences; row i of every array is cluster ``numbers[i]``, ascending."""

    numbers: Ids
    sizes: Floats
    means: Floats
    """(k, dim) mean of the unit vectors."""

    def only(self, numbers: Iterable[int]) -> Centres:
        """Return some of the clusters."""
        kept = np.isin(self.numbers, list(numbers))
        return Centres(self.numbers[kept], self.sizes[kept], self.means[kept])


def centres(partition: Partition, x: Matrix) -> Centres:
    """Return the centres of the clusters with sentences, from (n, dim) vectors in the order of the partition's ids."""
    unit: Any = unit_rows(x)
    assigned = np.flatnonzero(partition.numbers != UNASSIGNED)
    numbers, column = np.unique(partition.numbers[assigned], return_inverse=True)
    sizes = np.bincount(column, minlength=len(numbers)).astype(np.float64)
    sums = np.zeros((len(numbers), x.shape[1]))
    for first in range(0, len(assigned), _BLOCK):
        rows, owner = assigned[first : first + _BLOCK], column[first : first + _BLOCK]
        membership = np.zeros((len(rows), len(numbers)), dtype=np.float32)
        membership[np.arange(len(rows)), owner] = 1.0
        part = unit[rows]
        sums += np.asarray((part.T @ membership).T, dtype=np.float64)
    return Centres(numbers, sizes, sums / np.maximum(sizes, 1)[:, None])


def similar_groups(found: Centres, groups: int) -> list[tuple[int, ...]]:
    """Return groups of clusters for ``groups`` themes, in the order of their first clusters.

    Ward's criterion on the centres, less their mean and scaled to length 1: it finds the subjects of newsgroups better
    than average linkage of the cosines (experiment log).
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(found.numbers) < 2:
        return [(int(number),) for number in found.numbers]
    centred = np.asarray(unit_rows(found.means - found.means.mean(axis=0)))
    labels = fcluster(linkage(centred, "ward"), max(groups, 1), criterion="maxclust")
    return [tuple(found.numbers[labels == label].tolist()) for label in dict.fromkeys(labels.tolist())]


# --- suggestions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Suggestions for n sentences; row i of every array is one sentence."""

    best: Ids
    """Number of the most similar cluster; :data:`UNASSIGNED` without clusters."""
    margin: Floats
    """Best minus second best similarity, ≥ 0; infinite with fewer than two clusters."""
    pull: Floats
    """Similarity to the best cluster minus that to the own one; above 0 the model disagrees. 0 if unassigned."""

    def queue(self, partition: Partition) -> Ids:
        """Return sentence ids by ascending margin; sentences marked uncertain come first."""
        order = np.lexsort((partition.ids, self.margin, ~partition.uncertain))
        return np.asarray(partition.ids[order])

    def against(self, partition: Partition) -> Ids:
        """Return the ids of assigned sentences that the model puts into another cluster, largest margin first."""
        differ = (self.best != partition.numbers) & (partition.numbers != UNASSIGNED) & (self.best != UNASSIGNED)
        rows = np.flatnonzero(differ)
        return np.asarray(partition.ids[rows[np.argsort(-self.pull[rows], kind="stable")]])


def suggest(partition: Partition, x: Matrix) -> Suggestions:
    """Return suggestions for all sentences, from (n, dim) vectors in the order of the partition's ids.

    Where a sentence may have several codes, single codes are suggested, and its own code is the most similar one.
    """
    numbers = np.array(sorted(code_clusters(partition)), dtype=np.int64)
    n, similarity = len(partition.ids), affinities(partition, x)
    if not len(numbers) or not np.isfinite(similarity).any():
        return Suggestions(np.full(n, UNASSIGNED, dtype=np.int64), np.full(n, np.inf), np.zeros(n))
    order = np.argsort(-similarity, axis=1, kind="stable")
    best = similarity[np.arange(n), order[:, 0]]
    second = similarity[np.arange(n), order[:, 1]] if len(numbers) > 1 else np.full(n, -np.inf)
    margin = np.where(np.isfinite(second), best - np.where(np.isfinite(second), second, 0.0), np.inf)
    has = _membership(partition, numbers)
    to_own = np.where(has, similarity, -np.inf).max(axis=1)
    assigned = np.isfinite(to_own)
    pull = np.where(assigned, best - np.where(assigned, to_own, 0.0), 0.0)
    found = np.where(np.isfinite(best), numbers[order[:, 0]], UNASSIGNED)
    return Suggestions(np.where(has[np.arange(n), order[:, 0]], partition.numbers, found), margin, pull)


def _membership(partition: Partition, numbers: Ids) -> Mask:
    """Return the (n, k) mask of which sentence has which code."""
    columns = [has_code(partition, number) for number in numbers.tolist()]
    return np.array(columns, np.bool_).reshape(len(numbers), len(partition.ids)).T


def affinities(partition: Partition, x: Matrix) -> Floats:
    """Return the (n, k) mean cosines of each sentence to the others with each code, by number; -inf without others."""
    unit: Any = unit_rows(x)
    membership = _membership(partition, np.array(sorted(code_clusters(partition)), np.int64)).astype(np.float32)
    sums = np.asarray(unit @ (unit.T @ membership), dtype=np.float64) - membership * squared_lengths(unit)[:, None]
    others = membership.sum(axis=0, dtype=np.float64) - membership
    return np.where(others > 0.5, sums / np.maximum(others, 1.0), -np.inf)


def neighbours(x: Matrix, row: int, top_k: int) -> Ids:
    """Return the rows of the ``top_k`` other sentences nearest to one by cosine, nearest first."""
    found = nearest_neighbours(x[[row]], [(np.arange(x.shape[0]), x)], top_k + 1)
    return np.array([other for other, _ in found if other != row][:top_k], dtype=np.int64)


_SWEEPS = 30


def recluster(partition: Partition, x: Matrix, fixed: Ids) -> Partition:
    """Return the partition with sentences that are not ``fixed`` reassigned by (n, dim) vectors.

    Each is moved to the cluster with the highest mean cosine until none moves (the moves of Iclust with fixed items;
    seeded clustering of Basu, Banerjee, Mooney 2002). Unassigned sentences in ``fixed`` stay unassigned, and no cluster
    becomes empty. Raises :class:`DataError` where sentences have several codes.
    """
    if combinations(partition):
        raise DataError("Re-clustering gives each sentence one code, and this coding has sentences with several.")
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


# --- reclustering -----------------------------------------------------------------------------------------------------


MOST = 4_000
"""Maximum number of sentences that are clustered; the others are assigned to the nearest part."""
FEWEST = 2
"""Minimum number of sentences and of parts."""


@dataclass(frozen=True, slots=True)
class ClusterPart:
    """A proposed cluster, with its sentences, most central first."""

    name: str
    ids: Ids


def clusterers() -> list[Card]:
    """Return the clusterers that divide vectors into a given number of clusters."""
    unsuitable = {"no-vectors", "many-items"}
    return [card for card in CLUSTERERS if "needs-k" in card.tags and not card.tags & unsuitable]


def propose(ids: Ids, texts: Sequence[str], x: Matrix, k: int, clusterer: str = "iclust") -> list[ClusterPart]:
    """Divide (n,) sentences by their (n, dim) vectors into at most ``k`` parts, the largest part first.

    Identical texts count once and stay together. Raises :class:`DataError` if there are fewer of them than parts.
    """
    from themescope.core.clustering.naming import theme_names, theme_words

    different = distinct_texts(texts)
    points = different.vectors(x)
    if points.shape[0] < max(k, FEWEST):
        raise DataError(f"{points.shape[0]} different sentences cannot be divided into {max(k, FEWEST)} parts.")
    compared = np.sort(np.random.default_rng(0).permutation(points.shape[0])[:MOST])
    some = canonical_labels(CLUSTERERS.build(clusterer).fit_predict(points[compared], k, 0))
    found = int(some.max()) + 1
    labels = extended_labels(points, compared, some, found)[different.place]
    names = theme_names(theme_words(texts, labels, found))
    parts = []
    for label, name in enumerate(names):
        rows = np.flatnonzero(labels == label)
        unit: Any = unit_rows(x[rows])
        central = np.asarray(unit @ np.asarray(unit.sum(axis=0)).ravel()).ravel()
        parts.append(ClusterPart(name, ids[rows[np.argsort(-central, kind="stable")]]))
    return sorted(parts, key=lambda part: -len(part.ids))


NEW_THEMES = "new themes"
"""Key of the entry with the sentences of all new themes that a person dismissed."""


def dismiss_new_theme(partition: Partition, name: str, ids: Ids) -> Operation:
    """Dismiss the suggestion that sentences of a wave are a new theme."""
    old = partition.entries.get((EntryKind.DISMISSED, NEW_THEMES))
    known = np.union1d(old.sentences if old else (), partition.ids[partition.rows(ids)]).astype(np.int64)
    change = EntryChange(EntryKind.DISMISSED, NEW_THEMES, old, Entry(sentences=tuple(known.tolist())))
    return entries(OperationKind.DISMISS, f"no new theme: {name}", [change])


def in_no_new_theme(partition: Partition) -> Ids:
    """Return the ascending ids of the sentences of dismissed new themes."""
    entry = partition.entries.get((EntryKind.DISMISSED, NEW_THEMES))
    return np.array(entry.sentences if entry else (), dtype=np.int64)
