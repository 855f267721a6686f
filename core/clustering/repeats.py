"""Different texts of a list: identical texts are clustered as one point, in an order that the list does not determine.

In a survey, many rows have the same text, such as "Don't know". As points of their own, they would form dense clusters,
so that the number of clusters and those of all other texts depended on the number of copies, and the starts of a
clusterer on the order of the rows. A text therefore counts once, however many rows have it. Frequent answers that fit
nothing do not count at all, and are themes of their own, while others keep their place: one point more or less can lead
a clusterer to another optimum (docs/experiments.md, section 25). Sentences that differ in numbers only are not divided.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering.inputs import cosine_matrix
from themescope.core.text.cleaning import text_key
from themescope.core.types import Ids, Matrix

_OFTEN, _COPIES, _DOMINANT = 0.02, 5, 0.2
"""Minimum share and number of the rows with a frequent text, and share of those with one that dominates."""
_ISOLATED, _UNLIKE, _REFERENCE = 0.25, 0.6, 1_000
"""Share of the other texts that are as far from their nearest neighbours as a text that dominates and fits nothing;
similarity of another frequent one, as a share of their median; number of them that are compared."""
_REMAINING = 0.75
"""Share of the texts that are not frequent, from which the frequent ones are compared with those alone."""
_NO_ANSWER = """
    don't know, dont know, i don't know, i dont know, do not know, not sure, unsure, no idea, no answer,
    no comment, none, no opinion, nothing, nothing to add, nothing to say, not applicable, n/a, na, nil,
    no, no response, refused, prefer not to say, idk, weiß nicht, keine angabe, keine ahnung, keine,
    k.a, nichts, nein, ich weiß nicht, ne sais pas, je ne sais pas, sans réponse, sans opinion, rien,
    aucun, aucune, non, no sé, no sabe, no lo sé, nada, ninguno, ninguna, sin respuesta, no contesta,
    ns/nc, 不知道, 不清楚, 没有, 无, 無, わからない, 分からない, 特になし, なし, 特にない, 無回答
"""
_NO_ANSWERS = frozenset(text_key(" ".join(text.split())) for text in _NO_ANSWER.split(","))
"""Keys of what people write instead of an answer."""
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_SENTENCE = re.compile(r"[^\W\d_]{12}|(?:[^\W\d_]+[\W\d_]+){2}[^\W\d_]")
"""What sentences have in common that are nearly identical: three words, or as much text without spaces."""
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DistinctTexts:
    """The m different texts among n rows, in ascending order of their :func:`~themescope.core.text.cleaning.text_key`.

    The order of the rows determines only which of the rows with a text represents it.
    """

    rows: Integers
    """(m,) row that represents each text: the first one with its most frequent spelling."""
    place: Integers
    """(n,) number of the text of each row."""
    counts: Integers
    """(m,) number of rows with each text."""
    order: Integers
    """(n,) rows by text and spelling."""

    def vectors(self, x: Matrix) -> Matrix:
        """Return (m, dim) means of the (n, dim) dense or CSR rows of each text, in their type."""
        n, m = len(self.place), len(self.rows)
        if m == n:
            return x[self.rows]
        # Sums of the same numbers in another order differ in their last digit.
        place = self.place[self.order]
        mean = sparse.csr_array((1.0 / self.counts[place], (place, np.arange(n))), shape=(m, n))
        found: Any = mean @ x[self.order]
        return found.astype(x.dtype)

    def usual(self, x: Matrix, least: int, texts: Sequence[str] = ()) -> Integers:
        """Return the ascending numbers of the texts that are clustered; ``x`` are their (m, dim) vectors.

        ``texts`` are the (m,) different ones; frequent ones that are known to be no answer, in six languages, are left
        out.
        Frequent answers such as "None" are left out if they fit nothing: texts of 2 % of the rows whose similarity to
        their nearest neighbours is less than three fifths of that of half of the texts that are not frequent, and texts
        of 20 % of the rows that are less similar to theirs than 75 % of these. Where fewer than ``least`` or than three
        quarters of the texts are not frequent, texts of 20 % are left out, and no others. One text always remains.
        """
        n, m = len(self.place), len(self.rows)
        often = self.counts >= max(_OFTEN * n, _COPIES)
        frequent, others = np.flatnonzero(often), np.flatnonzero(~often)
        if not len(frequent):
            return np.arange(m)
        out = self.counts[frequent] >= _DOMINANT * n
        if len(others) >= max(least, _REMAINING * m):
            sample = others[np.linspace(0, len(others) - 1, min(len(others), _REFERENCE)).astype(int)]
            cosines = cosine_matrix(x[np.concatenate([sample, frequent])])[:, : len(sample)]
            np.fill_diagonal(cosines, -1.0)
            nearest = cosines.max(axis=1)
            isolated, usual = np.quantile(nearest[: len(sample)], (_ISOLATED, 0.5))
            out = nearest[len(sample) :] < np.where(out, isolated, _UNLIKE * usual)
        if texts:
            out |= [text_key(texts[i]) in _NO_ANSWERS for i in frequent.tolist()]
        return np.setdiff1d(np.arange(m), frequent[out]) if out.sum() < m else np.array([int(self.counts.argmin())])

    def joined(self, texts: Sequence[str]) -> DistinctTexts:
        """Return the texts with those joined that differ in numbers only; ``texts`` are the (m,) different ones."""
        number: dict[str, int] = {}
        of = np.empty(len(texts), np.int64)
        for i, text in enumerate(texts):
            key = _NUMBER.sub("0", text_key(text))
            of[i] = number.setdefault(key if _SENTENCE.search(key) else text, len(number))
        if len(number) == len(texts):
            return self
        rows = self.rows[np.unique(of, return_index=True)[1]]
        counts = np.bincount(of, self.counts).astype(np.int64)
        return replace(self, rows=rows, place=of[self.place], counts=counts)

    def frequent(self, most: int) -> tuple[tuple[int, int], ...]:
        """Return (representing row, number of rows) of up to ``most`` repeated texts, most frequent first."""
        order = np.argsort(-self.counts, kind="stable")[:most]
        return tuple((int(self.rows[i]), int(self.counts[i])) for i in order if self.counts[i] > 1)


def distinct_texts(texts: Sequence[str]) -> DistinctTexts:
    """Return the different texts of (n,) ``texts``."""
    keys = [text_key(text) for text in texts]
    spellings: dict[str, Counter[str]] = {}
    first: dict[str, int] = {}
    for row, (key, text) in enumerate(zip(keys, texts, strict=True)):
        spellings.setdefault(key, Counter())[text] += 1
        first.setdefault(text, row)
    number = {key: i for i, key in enumerate(sorted(spellings))}
    # Of equally frequent spellings the first, small letters before capital ones.
    usual = [
        min(found, key=lambda text: (-found[text], text.swapcase())) for found in (spellings[key] for key in number)
    ]
    return DistinctTexts(
        np.array([first[text] for text in usual], np.int64),
        np.array([number[key] for key in keys], np.int64),
        np.array([spellings[key].total() for key in number], np.int64),
        np.array(sorted(range(len(texts)), key=lambda row: (keys[row], texts[row])), np.int64),
    )


def with_duplicates(ids: Ids, texts: dict[int, str]) -> Ids:
    """Return ``ids`` and the ids of identical sentences by :func:`text_key`, ascending.

    ``texts`` contains every sentence of the labelling.
    """
    folded = {i: text_key(text) for i, text in texts.items()}
    wanted = {folded[int(i)] for i in ids if int(i) in folded}
    return np.array(sorted({*(int(i) for i in ids), *(i for i, t in folded.items() if t in wanted)}), dtype=np.int64)
