"""Short names of nested groups of sentences, such as the regions of a map at several levels of zoom.

Words and pairs of words are ranked by class-based tf-idf, as in :mod:`themescope.core.clustering.naming`. All levels
are named from one pass over the texts: the counts of a group are the sums of those of its parts. A word in many
sentences of the sample is a function word of whatever language the sentences are in, so it is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering.naming import related
from themescope.core.text.tokens import SMART_STOP_WORDS
from themescope.core.types import Labels

_WORD = re.compile(r"[^\W\d_][\w'’-]+")
_COMMON = 0.2
"""Share of the sentences from which a word is left out."""
_COMMON_FROM = 50
"""Number of sentences from which that share means something."""
_NEAR = 12
"""Number of ranked terms for each one that is shown."""
_PAIR = 0.6
"""Weight of a pair of words, as a share of that of one of its words, from which it is shown instead of the word."""
_LEAST = 2
"""Sentences of a group that a term must occur in, unless no term occurs in so many."""


def level_names(
    texts: Sequence[str], levels: Sequence[Labels], words: int = 2, given: Mapping[int, Sequence[str]] | None = None
) -> list[list[str]]:
    """Return the names of the groups of each level, finest level first as in ``levels``.

    Parameters
    ----------
    levels
        (n,) group of each text, 0 … k - 1, for each level. Each group of a level is part of one group of the next.
    words
        Maximum number of words or pairs of words of a name.
    given
        Known names of the groups of some levels, by position of the level; they are kept.

    Returns
    -------
    list of lists of str
        The name of each group. A group has no word of the group that it is part of; "" where nothing is left.
    """
    counts, terms, frequencies = _counted(texts, levels[0])
    forms = _forms(texts, terms)
    names: list[list[str]] = []
    above: list[str] = []
    for level in reversed(range(len(levels))):
        parts, sizes = _sums(counts, levels[0], levels[level])
        used = [above[owner].lower() for owner in _owners(levels[level], levels[level + 1])] if above else [""] * sizes
        known = (given or {}).get(level)
        above = list(known) if known else [
            " · ".join(_written(term, forms) for term in _picked(weights, terms, _WORD.findall(taken), words))
            for weights, taken in zip(_weighted(parts, frequencies), used, strict=True)
        ]  # fmt: skip
        names.insert(0, above)
    return names


def _terms(text: str) -> list[str]:
    """Return the words of a sentence and its pairs of neighbouring words, without English function words."""
    found, before = [], ""
    for word in _WORD.findall(text.lower()):
        if word in SMART_STOP_WORDS or len(word) < 3:
            before = ""
            continue
        found.append(word)
        if before and not related(before, word):
            found.append(f"{before} {word}")
        before = word
    return found


def _forms(texts: Sequence[str], terms: Sequence[str]) -> dict[str, str]:
    """Return how words are written most often inside sentences, by the word in small letters.

    The first word of a sentence has a capital in any case, so it does not count.
    """
    written = Counter(word for text in texts for word in _WORD.findall(text)[1:])
    known, forms = set(terms), dict[str, str]()
    for word, _ in sorted(written.items(), key=lambda item: (-item[1], item[0])):
        if (small := word.lower()) in known:
            forms.setdefault(small, word)
    return forms


def _written(term: str, forms: Mapping[str, str]) -> str:
    """Return a word or a pair of words with the capitals that it has in the texts."""
    return " ".join(forms.get(word, word) for word in term.split())


def _counted(texts: Sequence[str], groups: Labels) -> tuple[sparse.csr_array, list[str], npt.NDArray[np.float64]]:
    """Return (k, t) sentences of each group with each term, the terms, and the (t,) sentences with each."""
    index: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for group, text in zip(groups.tolist(), texts, strict=True):
        there = {index.setdefault(term, len(index)) for term in _terms(text)}
        rows += [group] * len(there)
        columns += there
    shape = (int(groups.max(initial=-1)) + 1, len(index))
    counts = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    frequencies = np.bincount(np.array(columns, dtype=np.intp), minlength=len(index)).astype(np.float64)
    if len(texts) >= _COMMON_FROM:
        common = {term for term, column in index.items() if frequencies[column] > _COMMON * len(texts)}
        kept = np.array([common.isdisjoint(term.split()) for term in index], dtype=bool)
        counts = counts.multiply(kept).tocsr()
        counts.eliminate_zeros()
    return counts, list(index), frequencies


def _owners(fine: Labels, coarse: Labels) -> list[int]:
    """Return the group of the coarse level of each group of the fine one."""
    owner = np.zeros(int(fine.max(initial=-1)) + 1, dtype=np.int64)
    owner[fine] = coarse
    return [int(value) for value in owner]


def _sums(counts: sparse.csr_array, fine: Labels, level: Labels) -> tuple[sparse.csr_array, int]:
    """Return the counts of the groups of a level from those of the finest one, and the number of groups."""
    k = int(level.max(initial=-1)) + 1
    owner = np.array(_owners(fine, level), dtype=np.intp)
    joined = sparse.csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(k, len(owner)))
    return (joined @ counts).tocsr(), k


def _weighted(parts: sparse.csr_array, frequencies: npt.NDArray[np.float64]) -> Iterator[dict[int, float]]:
    """Yield the class-based tf-idf of the terms of each group, without those of a single sentence of many."""
    mean = float(parts.sum()) / max(parts.shape[0], 1)
    for start, end in pairwise(parts.indptr.tolist()):
        columns, counts = parts.indices[start:end], parts.data[start:end]
        keep = counts >= _LEAST if (counts >= _LEAST).any() else counts > 0
        weights = counts[keep] * np.log1p(mean / frequencies[columns[keep]])
        yield dict(zip(columns[keep].tolist(), weights.tolist(), strict=True))


def _picked(weights: Mapping[int, float], terms: Sequence[str], taken: Sequence[str], words: int) -> list[str]:
    """Return the best terms of a group, without words that are related to ``taken`` ones or to each other."""
    ranked = sorted(weights, key=lambda column: (-weights[column], terms[column]))[: _NEAR * words]
    named: list[str] = []
    for column in ranked:
        used = [*taken, *(word for name in named for word in name.split())]
        fitting = (
            term
            for term in (_with_pair(column, ranked, weights, terms), terms[column])
            if not any(related(word, other) for word in term.split() for other in used)
        )
        if len(named) < words and (term := next(fitting, "")):
            named.append(term)
    return named


def _with_pair(column: int, ranked: Sequence[int], weights: Mapping[int, float], terms: Sequence[str]) -> str:
    """Return a term, or the first pair of words that contains it and weighs enough."""
    term = terms[column]
    for other in ranked:
        pair = terms[other].split()
        if len(pair) > 1 and term in pair and weights[other] >= _PAIR * weights[column]:
            return terms[other]
    return term
