"""Triplets of a single article, drawn by hashes.

Every random choice is a hash of (seed, article title, purpose). Therefore it depends neither on the order of files, nor
on the rest of the corpus, nor on the ids of the store, and whole columns are drawn at once.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.compute.random_numbers import GOLDEN, mix
from themescope.core.triplets.rules import ArticleSentences, KeptSection, TripletRules, eligible, fold
from themescope.core.types import Split, fold_title

Keys = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]


def text_key(text: str) -> int:
    """Return the 64-bit hash of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def article_key(title: str, seed: int) -> int:
    """Return the 64-bit seed of an article, from its title."""
    return text_key(f"{seed}\n{fold_title(title)}")


def keys(base: int, purpose: str, *columns: Indices) -> Keys:
    """Return (n,) hashes of the rows of the (n,) columns; different purposes give independent hashes."""
    start = np.uint64(base ^ text_key(purpose))
    mixed = np.full(columns[0].shape, start, dtype=np.uint64)
    for column in columns:
        mixed = mix(mixed + GOLDEN + column.astype(np.uint64))
    return mixed


def below(drawn: Keys, bound: Indices) -> Indices:
    """Return (n,) whole numbers 0…bound-1 from hashes; ``bound`` must be positive."""
    return (drawn % bound.astype(np.uint64)).astype(np.int64)


def two_below(first: Keys, second: Keys, which: Indices, bound: Indices) -> Indices:
    """Return the ``which``-th (0 or 1) of two different numbers below ``bound``; with a bound of 1 both are 0."""
    start = below(first, bound)
    step = 1 + below(second, np.maximum(bound - 1, 1))
    return (start + which * step) % bound


def smallest_per_group(drawn: Keys, groups: Indices, most: int) -> Indices:
    """Return the sorted indices of a uniform sample of at most ``most`` rows of every group."""
    order = np.lexsort((drawn, groups))
    ordered = groups[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.empty(0, np.int64)
    sizes = np.diff(np.r_[starts, len(ordered)])
    rank = np.arange(len(ordered)) - np.repeat(starts, sizes)
    return np.sort(order[rank < most])


Mask: TypeAlias = npt.NDArray[np.bool_]
_NEGATIVE = "third"  # part of the hash of a negative; another string would change every triplet set


@dataclass(frozen=True, slots=True)
class TextColumns:
    """Columns of texts: (n,) store ids, hashes of the exact text, hashes of the folded text."""

    ids: Indices
    exact: Keys
    folded: Keys

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Indices) -> TextColumns:
        """Return rows in the given order."""
        return TextColumns(self.ids[rows], self.exact[rows], self.folded[rows])


@dataclass(frozen=True, slots=True)
class Drawn:
    """Triplets of one article. ``negatives`` is None if they are sampled from other articles.

    ``pool`` are its eligible sentences; ``slots`` is (u, v, which): the positions of the pair and the number of the
    triplet within the pair, (n,) each.
    """

    title: str
    article_id: int
    split: Split
    pool: TextColumns
    pivots: TextColumns
    positives: TextColumns
    negatives: TextColumns | None
    slots: tuple[Indices, Indices, Indices]

    def order(self) -> tuple[str, bytes]:
        """Return the sort key of the canonical order: title, then content."""
        return self.title, self.pool.exact.tobytes()


@dataclass(frozen=True, slots=True)
class _Eligible:
    """Columns of eligible sentences, (n,) each; ``starts`` and ``counts`` are (m,), one entry per kept section."""

    texts: TextColumns
    positions: Indices
    sections: Indices
    paragraphs: Indices
    opens: Mask
    starts: Indices
    counts: Indices


def draw_sentences(
    article: ArticleSentences, kept: list[KeptSection], rules: TripletRules, seed: int, counts: Counter[str]
) -> Drawn:
    """Draw triplets of sentences (``triplets-sen``): pairs of one section by rule (i) with a negative."""
    pool = _eligible(kept, rules, counts)
    base = article_key(article.title, seed)
    u, v = _pairs(pool, rules.max_paragraph_distance)
    counts["pairs_possible"] += len(u)
    per_section, per_article = rules.caps()
    if per_section is not None:
        hashes = keys(base, "pair", pool.positions[u], pool.positions[v])
        chosen = smallest_per_group(hashes, pool.sections[u], per_section)
        u, v = u[chosen], v[chosen]
    counts["pairs_used"] += len(u)
    pair, which, neighbour = _slots(pool.sections[u], pool.counts)
    counts["triplets_possible"] += len(pair)
    drawn = keys(base, "triplet", pool.positions[u[pair]], pool.positions[v[pair]], which)
    chosen = _capped(drawn, per_article)
    u, v, which, neighbour = u[pair[chosen]], v[pair[chosen]], which[chosen], neighbour[chosen]
    slots = (pool.positions[u], pool.positions[v], which)
    swap = (keys(base, "pivot", slots[0], slots[1]) & np.uint64(1)).astype(bool)
    return Drawn(
        article.title,
        article.article_id,
        article.split,
        pool.texts,
        pool.texts.take(np.where(swap, v, u)),
        pool.texts.take(np.where(swap, u, v)),
        _negatives(pool, pool.sections[u], neighbour, rules.negative, base, slots),
        slots,
    )


def _negatives(
    pool: _Eligible, own: Indices, neighbour: Indices, source: str, base: int, slots: tuple[Indices, Indices, Indices]
) -> TextColumns | None:
    """Draw a sentence of the neighbouring or another section; None if it comes from another article."""
    if source == "random_article":
        return None
    section = neighbour if source == "adjacent" else _other_sections(pool, own, base, slots)
    return pool.texts.take(pool.starts[section] + below(keys(base, _NEGATIVE, *slots), pool.counts[section]))


def draw_titles(
    article: ArticleSentences, kept: list[KeptSection], rules: TripletRules, seed: int, counts: Counter[str]
) -> Drawn:
    """Draw triplets of a sentence, the title of its section and that of a neighbour (``triplets-titles``).

    The pivot is the sentence that opens the section; if it fails rule (ii), the section has no triplets. With
    ``title_pivots="all"`` (not in the paper) its other eligible sentences are pivots too.
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
    pair, which, neighbour = _slots(pool.sections[pivots], titled.astype(np.int64))
    counts["triplets_possible"] += len(pair)
    own = pool.positions[pivots[pair]]
    chosen = _capped(keys(base, "title", own, which), rules.caps()[1])
    pair, which, neighbour, own = pair[chosen], which[chosen], neighbour[chosen], own[chosen]
    rows = pivots[pair]
    return Drawn(
        article.title,
        article.article_id,
        article.split,
        pool.texts,
        pool.texts.take(rows),
        titles.take(pool.sections[rows]),
        titles.take(neighbour),
        (own, own, which),
    )


def _texts(rows: list[tuple[int, str]]) -> TextColumns:
    return TextColumns(
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
    """Return the pairs of rule (i): indices u < v of one section whose paragraphs are 1…farthest apart, in order."""
    firsts, seconds = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    near = np.arange(len(pool.sections))
    for step in range(1, len(pool.sections)):
        near = near[near + step < len(pool.sections)]
        distance = pool.paragraphs[near + step] - pool.paragraphs[near]
        inside = (pool.sections[near] == pool.sections[near + step]) & (distance <= farthest)
        if not inside.any():  # paragraphs ascend, so pairs further apart in the list are not eligible either
            break
        near, distance = near[inside], distance[inside]
        firsts.append(near[distance >= 1])
        seconds.append(near[distance >= 1] + step)
    u, v = np.concatenate(firsts), np.concatenate(seconds)
    order = np.lexsort((v, u))
    return u[order], v[order]


def _slots(own: Indices, available: Indices) -> tuple[Indices, Indices, Indices]:
    """Return (pair, which, neighbour) of every triplet, one for each neighbouring section with eligible items.

    ``own`` (n,) is the section of each pair, ``available`` (m,) the number of items of each section.
    """
    padded = np.concatenate([[0], available, [0]])
    before, after = padded[own] > 0, padded[own + 2] > 0
    pair = np.concatenate([np.flatnonzero(before), np.flatnonzero(after)])
    neighbour = np.concatenate([own[before] - 1, own[after] + 1])
    which = np.concatenate([np.zeros(before.sum(), np.int64), before[after].astype(np.int64)])
    order = np.lexsort((which, pair))
    return pair[order], which[order], neighbour[order]


def _capped(drawn: Keys, most: int | None) -> Indices:
    if most is None:
        return np.arange(len(drawn))
    return smallest_per_group(drawn, np.zeros(len(drawn), np.int64), most)


def _other_sections(pool: _Eligible, own: Indices, base: int, slots: tuple[Indices, Indices, Indices]) -> Indices:
    """Return for each triplet another section with eligible sentences, different for the two triplets of a pair."""
    filled = np.flatnonzero(pool.counts)
    place = np.searchsorted(filled, own)
    others = np.full(len(own), len(filled) - 1, dtype=np.int64)
    first, second = keys(base, "section", *slots[:2]), keys(base, "second section", *slots[:2])
    drawn = two_below(first, second, slots[2], others)
    return filled[drawn + (drawn >= place)]
