"""Training data from labellings: contradictions and triplets.

Only sentences that a person has placed are used, not those of the initial partition. Articles of the test split are
excluded: :func:`labelled_triplets` determines the split of an article by its title.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.clustering.inputs import cosine_matrix
from themescope.core.errors import DataError
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.types import Ids, Matrix, Split, TripletRows, split_of_title

FINE_TUNING_SETTINGS: Mapping[str, Any] = {
    "loss": "log",
    "learning_rate": 1e-4,
    "epochs": 2,
    "evaluations_per_epoch": 2,
}
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
    split are excluded.

    Raises :class:`DataError` if an article has no title, so that its split is unknown.
    """
    random = np.random.default_rng(seed)
    barred = {frozenset(pair) for pair in without}
    rows: dict[Split, list[tuple[int, int, int, int]]] = {Split.TRAIN: [], Split.VALIDATION: []}
    known = set(placed.ids.tolist())
    by_article: dict[int, list[int]] = {}
    for sentence in placed.partition.ids.tolist():
        by_article.setdefault(article_of[sentence], []).append(sentence)
    for article, sentences in by_article.items():
        if article not in titles:
            raise DataError("An article has no title, so its split is unknown.")
        split = split_of_title(titles[article])
        if split in rows:
            rows[split] += _of_article(article, sentences, placed.partition, known, barred, per_sentence, random)
    return {split: _columns(found) for split, found in rows.items()}


def _of_article(
    article: int,
    sentences: list[int],
    partition: Partition,
    known: set[int],
    barred: set[frozenset[int]],
    per_sentence: int,
    random: np.random.Generator,
) -> list[tuple[int, int, int, int]]:
    numbers = dict(zip(sentences, partition.numbers[partition.rows(sentences)].tolist(), strict=True))
    found = []
    for pivot in (s for s in sentences if s in known):
        free = [s for s in sentences if s != pivot and numbers[s] != UNASSIGNED and frozenset((s, pivot)) not in barred]
        same = _surest([s for s in free if numbers[s] == numbers[pivot]], known)
        other = _surest([s for s in free if numbers[s] != numbers[pivot]], known)
        if not same or not other:
            continue
        for _ in range(min(per_sentence, len(same) * len(other))):
            found.append((article, pivot, same[random.integers(len(same))], other[random.integers(len(other))]))
    return list(dict.fromkeys(found))


def _surest(sentences: list[int], known: set[int]) -> list[int]:
    """Return the sentences that users placed, or all sentences if there are none."""
    return [s for s in sentences if s in known] or sentences


def _columns(rows: list[tuple[int, int, int, int]]) -> TripletRows:
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return TripletRows(np.zeros(len(table), dtype=np.int64), *(np.ascontiguousarray(table[:, c]) for c in range(4)))
