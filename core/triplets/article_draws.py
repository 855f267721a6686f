"""Triplets of a single article."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from core.triplets.draws import (
    Indices,
    Keys,
    article_key,
    below,
    keys,
    smallest_per_group,
    text_key,
    two_below,
)
from core.triplets.filtering import KeptSection, eligible
from core.triplets.rules import ArticleSentences, TripletRules, fold
from core.types import Split

Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts by column: (n,) store ids, hashes of the exact text, hashes of the folded text."""

    ids: Indices
    exact: Keys
    folded: Keys

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Indices) -> Texts:
        """Pick rows, in the order given."""
        return Texts(self.ids[rows], self.exact[rows], self.folded[rows])


@dataclass(frozen=True, slots=True)
class Drawn:
    """Triplets of one article. ``negatives`` is None if they are sampled from other articles.

    ``pool`` are its eligible sentences; ``slots`` holds (u, v, which): the positions of the pair and the number
    of the triplet within the pair, (n,) each.
    """

    title: str
    article_id: int
    split: Split
    pool: Texts
    pivots: Texts
    positives: Texts
    negatives: Texts | None
    slots: tuple[Indices, Indices, Indices]

    def order(self) -> tuple[str, bytes]:
        """Sort key of the canonical order: by title, then by content."""
        return self.title, self.pool.exact.tobytes()


@dataclass(frozen=True, slots=True)
class _Eligible:
    """Eligible sentences by column, (n,) each; ``starts`` and ``counts`` are (m,), one entry a kept section."""

    texts: Texts
    positions: Indices
    sections: Indices
    paragraphs: Indices
    opens: Mask
    starts: Indices
    counts: Indices


def draw_sentences(
    article: ArticleSentences, kept: list[KeptSection], rules: TripletRules, seed: int, counts: Counter[str]
) -> Drawn:
    """Triplets of sentences (``triplets-sen``): pairs of one section by rule (i) with a negative."""
    pool = _eligible(kept, rules, counts)
    base = article_key(article.title, seed)
    u, v = _chosen_pairs(pool, rules, base, counts)
    pair, which, third = _slots(pool.sections[u], pool.counts)
    counts["triplets_possible"] += len(pair)
    drawn = keys(base, "triplet", pool.positions[u[pair]], pool.positions[v[pair]], which)
    chosen = _capped(drawn, rules.caps()[1])
    u, v, which, third = u[pair[chosen]], v[pair[chosen]], which[chosen], third[chosen]
    slots = (pool.positions[u], pool.positions[v], which)
    swap = (keys(base, "pivot", slots[0], slots[1]) & np.uint64(1)).astype(bool)
    return Drawn(
        article.title,
        article.article_id,
        article.split,
        pool.texts,
        pool.texts.take(np.where(swap, v, u)),
        pool.texts.take(np.where(swap, u, v)),
        _negatives(pool, pool.sections[u], third, rules.third, base, slots),
        slots,
    )


def _chosen_pairs(pool: _Eligible, rules: TripletRules, base: int, counts: Counter[str]) -> tuple[Indices, Indices]:
    """Pairs of rule (i), at most as many a section as the cap allows."""
    u, v = _pairs(pool, rules.max_paragraph_distance)
    counts["pairs_possible"] += len(u)
    cap = rules.caps()[0]
    if cap is not None:
        chosen = smallest_per_group(keys(base, "pair", pool.positions[u], pool.positions[v]), pool.sections[u], cap)
        u, v = u[chosen], v[chosen]
    counts["pairs_used"] += len(u)
    return u, v


def _negatives(
    pool: _Eligible, own: Indices, neighbour: Indices, third: str, base: int, slots: tuple[Indices, Indices, Indices]
) -> Texts | None:
    """Draw a sentence of the neighbouring or another section; None if it comes from another article."""
    if third == "random_article":
        return None
    section = neighbour if third == "adjacent" else _other_sections(pool, own, base, slots)
    return pool.texts.take(pool.starts[section] + below(keys(base, "third", *slots), pool.counts[section]))


def draw_titles(
    article: ArticleSentences, kept: list[KeptSection], rules: TripletRules, seed: int, counts: Counter[str]
) -> Drawn:
    """Triplets of a sentence and two titles (``triplets-titles``): own section's title, a neighbour's title.

    The pivot is the sentence that opens the section; if it fails rule (ii) the section gives none. With
    ``title_pivots="all"`` (not in the paper) all its other eligible sentences are pivots too.
    """
    pool = _eligible(kept, rules, counts)
    base = article_key(article.title, seed)
    titles = _texts([(section.record.id, f"{article.title} {section.record.title}") for section in kept])
    titled = np.array([bool(section.record.title.strip()) for section in kept], dtype=bool)
    wanted = titled[pool.sections]
    if rules.title_pivots == "first":
        wanted &= pool.opens & (pool.paragraphs == 0)
    pivots = np.flatnonzero(wanted)
    counts["pairs_possible"] += len(pivots)
    counts["pairs_used"] += len(pivots)
    pair, which, third = _slots(pool.sections[pivots], titled.astype(np.int64))
    counts["triplets_possible"] += len(pair)
    own = pool.positions[pivots[pair]]
    chosen = _capped(keys(base, "title", own, which), rules.caps()[1])
    pair, which, third, own = pair[chosen], which[chosen], third[chosen], own[chosen]
    rows = pivots[pair]
    return Drawn(
        article.title,
        article.article_id,
        article.split,
        pool.texts,
        pool.texts.take(rows),
        titles.take(pool.sections[rows]),
        titles.take(third),
        (own, own, which),
    )


def _texts(rows: list[tuple[int, str]]) -> Texts:
    return Texts(
        np.array([id for id, _ in rows], dtype=np.int64),
        np.array([text_key(text) for _, text in rows], dtype=np.uint64),
        np.array([text_key(fold(text)) for _, text in rows], dtype=np.uint64),
    )


def _eligible(kept: list[KeptSection], rules: TripletRules, dropped: Counter[str]) -> _Eligible:
    found = [eligible(section, rules, dropped, openers_only=rules.openers_only) for section in kept]
    rows = [(sentence, paragraph, j) for j, section in enumerate(found) for sentence, paragraph in section]
    sizes = np.array([len(section) for section in found], dtype=np.int64)
    dropped["eligible"] += len(rows)
    return _Eligible(
        _texts([(sentence.id, sentence.text) for sentence, _, _ in rows]),
        np.array([sentence.position for sentence, _, _ in rows], dtype=np.int64),
        np.array([j for _, _, j in rows], dtype=np.int64),
        np.array([paragraph for _, paragraph, _ in rows], dtype=np.int64),
        np.array([sentence.opens_paragraph for sentence, _, _ in rows], dtype=bool),
        np.cumsum(sizes) - sizes,
        sizes,
    )


def _pairs(pool: _Eligible, farthest: int) -> tuple[Indices, Indices]:
    """Rule (i): indices u < v of one section whose paragraphs are 1…farthest apart, in article order."""
    firsts, seconds = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    near = np.arange(len(pool.sections))
    for step in range(1, len(pool.sections)):
        near = near[near + step < len(pool.sections)]
        distance = pool.paragraphs[near + step] - pool.paragraphs[near]
        inside = (pool.sections[near] == pool.sections[near + step]) & (distance <= farthest)
        if not inside.any():  # paragraphs only grow: nor is any pair further apart in the list
            break
        near, distance = near[inside], distance[inside]
        firsts.append(near[distance >= 1])
        seconds.append(near[distance >= 1] + step)
    u, v = np.concatenate(firsts), np.concatenate(seconds)
    order = np.lexsort((v, u))
    return u[order], v[order]


def _slots(own: Indices, available: Indices) -> tuple[Indices, Indices, Indices]:
    """Every (pair, which, neighbour): one triplet for each neighbouring section with eligible items.

    ``own`` (n,) is the section of each pair, ``available`` (m,) how much each section offers.
    """
    padded = np.concatenate([[0], available, [0]])
    before, after = padded[own] > 0, padded[own + 2] > 0
    pair = np.concatenate([np.flatnonzero(before), np.flatnonzero(after)])
    third = np.concatenate([own[before] - 1, own[after] + 1])
    which = np.concatenate([np.zeros(before.sum(), np.int64), before[after].astype(np.int64)])
    order = np.lexsort((which, pair))
    return pair[order], which[order], third[order]


def _capped(drawn: Keys, most: int | None) -> Indices:
    if most is None:
        return np.arange(len(drawn))
    return smallest_per_group(drawn, np.zeros(len(drawn), np.int64), most)


def _other_sections(pool: _Eligible, own: Indices, base: int, slots: tuple[Indices, Indices, Indices]) -> Indices:
    """For each triplet another section that has eligible sentences; the two triplets of a pair get different ones."""
    filled = np.flatnonzero(pool.counts)
    place = np.searchsorted(filled, own)
    others = np.full(len(own), len(filled) - 1, dtype=np.int64)
    first, second = keys(base, "section", *slots[:2]), keys(base, "second section", *slots[:2])
    drawn = two_below(first, second, slots[2], others)
    return filled[drawn + (drawn >= place)]
