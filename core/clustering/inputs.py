"""Input and output of clusterers: checks, unit vectors, similarity matrices, labels, repeated texts, pairs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.config import Config, option
from themescope.core.errors import ConfigError, DataError
from themescope.core.text.cleaning import text_key
from themescope.core.types import Floats, Ids, Index, Labels, Matrix

Square = npt.NDArray[np.float64]  # (n, n)
MOST_ITEMS = 12_000
"""Maximum number of items of a similarity matrix, which then takes 1.2 GB."""


def check_items(n: int, k: int | None, most: int = MOST_ITEMS) -> int:
    """Return ``k``; raise an error if it is missing, or if there are too few or too many items."""
    if k is None:
        raise ConfigError("This clusterer does not choose the number of clusters itself. Give k.")
    if k < 1:
        raise ConfigError(f"The number of clusters must be at least 1, not {k}.")
    if n < k:
        few = "1 sentence" if n == 1 else f"{n:,} sentences"
        raise DataError(f"{few} cannot be divided into {k:,} non-empty clusters. Use a smaller k.")
    if n > most:
        raise DataError(
            f"{n:,} sentences are too many for a matrix of all similarities (at most {most:,}). Cluster them by "
            "article, or use iclust-blocks."
        )
    return k


def checked(x: Matrix, k: int | None, most: int = MOST_ITEMS) -> tuple[Matrix, int]:
    """Return the matrix as float64 (CSR stays sparse) and the number of clusters; raise an error if invalid."""
    if x.ndim != 2:
        raise DataError(f"A clusterer needs one row of numbers per sentence, not an array of shape {x.shape}.")
    k = check_items(x.shape[0], k, most)
    matrix: Matrix = sparse.csr_array(x, dtype=np.float64) if sparse.issparse(x) else np.asarray(x, dtype=np.float64)
    if not np.isfinite(matrix.data if isinstance(matrix, sparse.csr_array) else matrix).all():
        raise DataError("The vectors contain values that are not finite. Embed the sentences again.")
    return matrix, k


def gram_matrix(x: Matrix) -> Square:
    """Return the (n, n) inner products of the rows, float64 and C-contiguous."""
    if not isinstance(x, sparse.csr_array):
        return np.ascontiguousarray(x @ x.T, dtype=np.float64)
    counts = np.bincount(x.indices, minlength=x.shape[1])
    full = counts > x.shape[0] / 2
    if 2 * counts[full].sum() < x.nnz:
        return np.ascontiguousarray((x @ x.T).toarray(), dtype=np.float64)
    # Columns in which most rows have a value, as the first ones of a hybrid, are multiplied many times faster densely.
    dense, rest = x[:, full].toarray(), x[:, ~full]
    return np.ascontiguousarray(dense @ dense.T + (rest @ rest.T).toarray(), dtype=np.float64)


def unit_rows(x: Matrix) -> Matrix:
    """Return the rows scaled to length 1; a zero row stays zero, so that its similarity to all rows is 0."""
    if isinstance(x, sparse.csr_array):
        lengths = np.sqrt(np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64)).ravel()
        return sparse.csr_array(sparse.diags_array(_inverse(lengths)) @ x)
    return np.asarray(x * _inverse(np.linalg.norm(x, axis=1))[:, None])


def squared_lengths(x: Any) -> Floats:
    """Return the (n,) squared lengths of the rows of a dense or CSR matrix."""
    products = x.multiply(x) if sparse.issparse(x) else x * x
    return np.asarray(products.sum(axis=1), np.float64).ravel()


def cosine_matrix(x: Matrix) -> Square:
    """Return the (n, n) cosines of the rows of a dense or CSR matrix."""
    return gram_matrix(unit_rows(x))


def canonical_labels(labels: npt.ArrayLike) -> Labels:
    """Number the clusters of (n,) ``labels`` 0, 1, … in order of first appearance, as int32; -1 is kept.

    Otherwise numbers would follow the order in which random starts or eigenvectors find the clusters, which depends on
    rounding errors, and therefore on the processor.
    """
    found = np.asarray(labels)
    assigned = found >= 0
    _, first, place = np.unique(found[assigned], return_index=True, return_inverse=True)
    numbered = np.full(len(found), -1, np.int32)
    numbered[assigned] = first.argsort().argsort()[place]
    return numbered


def row_order(x: Matrix) -> npt.NDArray[np.int64]:
    """Return the (n,) rows of a dense or CSR matrix in ascending order of their bytes, whatever their order in it."""
    if isinstance(x, sparse.csr_array):
        sorted_x = x.sorted_indices()
        parts = [np.split(values, sorted_x.indptr[1:-1]) for values in (sorted_x.indices, sorted_x.data)]
        keys = [(columns.tobytes(), values.tobytes()) for columns, values in zip(*parts, strict=True)]
        return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
    rows = [row.tobytes() for row in np.ascontiguousarray(x)]
    return np.array(sorted(range(len(rows)), key=rows.__getitem__), np.int64)


def extended_labels(x: Matrix, rows: npt.NDArray[np.int64], labels: Labels, k: int) -> Labels:
    """Return labels of all rows of ``x``, given (m,) ``labels`` 0…k-1 of ``rows``.

    Every other row is assigned to the cluster with the highest mean cosine.
    """
    return labels if len(rows) == x.shape[0] else extended_unit(unit_rows(x), rows, labels, k)


def extended_unit(unit: Matrix, rows: npt.NDArray[np.int64], labels: npt.NDArray[np.integer], k: int) -> Labels:
    """Return :func:`extended_labels` for rows of length 1."""
    membership = np.zeros((len(rows), k))
    membership[np.arange(len(rows)), labels] = 1.0 / np.bincount(labels, minlength=k)[labels]
    extended: Labels = np.asarray(unit @ (unit[rows].T @ membership)).argmax(axis=1).astype(np.int32)
    extended[rows] = labels
    return extended


def kernel_seed(seed: int) -> Any:
    """Return a whole number modulo 2**64, as compiled functions take it."""
    return np.uint64(seed % 2**64)


def _inverse(lengths: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    inverse = np.zeros_like(lengths)
    np.divide(1.0, lengths, out=inverse, where=lengths > 0)
    return inverse


# Different texts of a list: identical texts are clustered as one point, in an order that the list does not determine

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


@dataclass(frozen=True, slots=True)
class DistinctTexts:
    """The m different texts among n rows, in ascending order of their :func:`~themescope.core.text.cleaning.text_key`.

    The order of the rows determines only which of the rows with a text represents it.
    """

    rows: Index
    """(m,) row that represents each text: the first one with its most frequent spelling."""
    place: Index
    """(n,) number of the text of each row."""
    counts: Index
    """(m,) number of rows with each text."""
    order: Index
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

    def usual(self, x: Matrix, least: int, texts: Sequence[str] = ()) -> Index:
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
        return replace(self, rows=rows, place=of[self.place], counts=np.bincount(of, self.counts).astype(np.int64))

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
    usual = [min(own, key=lambda text: (-own[text], text.swapcase())) for own in (spellings[key] for key in number)]
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


# Calibrated probability that two sentences of a list share a theme, and the effective number of themes

_ORDERS = (1.5, 2.0)
_SMALLEST, _SHORT = 1e-9, 1e-6
_SPARSE_ROWS = 1_500


@dataclass(frozen=True)
class PairCalibration(Config):
    """Coefficients that turn the vectors of a model into probabilities and a number of themes, and a weight of words.

    The defaults were fitted with MiniLM-L6 (docs/number-of-themes.md). Without noise, the intercept 0 and slope 1 give
    the exact number of themes of equal size.

    With z = (s - mean) / standard deviation over the pairs of a list, the log-odds that a pair shares a theme are
    ``intercept + standardised·z + themes·ln H + interaction·z·ln H``. The number of themes is
    ``1 + exp(count_intercept + count_slope·ln H)``, because the centring takes one dimension from k themes; it is
    within a factor of exp(``count_error``) of the true number on nine of ten validation lists.
    """

    intercept: float = option(1.43, "Constant of the log-odds.")
    standardised: float = option(0.40, "Coefficient of the standardised cosine.")
    themes: float = option(-1.58, "Coefficient of the logarithm of the effective number of themes.")
    interaction: float = option(0.31, "Coefficient of the standardised cosine times that logarithm.")
    count_intercept: float = option(-0.34, "Logarithm of the number of further themes where the effective number is 1.")
    count_slope: float = option(1.16, "Exponent of the effective number of themes.", low=0.0, high=5.0)
    count_error: float = option(
        0.45, "Error of the logarithm of the number of themes on nine of ten lists.", low=0.0, high=5.0
    )
    removed: ClassVar[frozenset[str]] = frozenset({"distinct"})

    clear: float | None = option(
        None,
        "Silhouette above which the clearest number of groups of a list is taken. Empty: lists are divided by Iclust.",
        low=-1.0,
        high=1.0,
    )
    one_subject: float = option(
        1.0,
        "Mean cosine above which long sentences in which nobody speaks are those of an article.",
        low=-1.0,
        high=1.0,
    )
    before: int = option(
        0, "Number of first columns that are vectors from before fine-tuning, beside those of the model alone.", low=0
    )
    shared: float = option(
        2.0, "Weight of shared words for finding themes, against 1 for the vectors.", low=0.0, high=1_000.0
    )

    def log_odds(self, cosines: Square, effective: float) -> Square:
        """Return the (n, n) log-odds that two rows share a theme.

        ``cosines`` are :func:`centred_cosines` and ``effective`` is :func:`effective_themes` of the same rows.
        """
        n = len(cosines)
        pairs = max(n * (n - 1), 1)
        mean = float(cosines.sum() - np.trace(cosines)) / pairs
        squares = float(np.einsum("ij,ij->", cosines, cosines) - (np.diag(cosines) ** 2).sum()) / pairs
        spread = max(np.sqrt(max(squares - mean * mean, 0.0)), _SMALLEST)
        themes = float(np.log(effective))
        slope = (self.standardised + self.interaction * themes) / spread
        return np.asarray(cosines * slope + (self.intercept + self.themes * themes - slope * mean))

    def count(self, effective: float) -> float:
        """Return the number of themes, not rounded, for an effective number of themes."""
        return 1.0 + float(np.exp(self.count_intercept + self.count_slope * np.log(effective)))


DEFAULT_CALIBRATION = PairCalibration()


def centred_cosines(x: Matrix) -> Square:
    """Return the (n, n) cosines of the rows of a dense or CSR matrix, each minus the mean of the unit rows."""
    if not sparse.issparse(x):
        return gram_matrix(_centred_rows(x))
    gram = gram_matrix(unit_rows(sparse.csr_array(x, dtype=np.float64)))
    means = gram.mean(axis=0)
    centred = gram - means - means[:, None] + means.mean()
    lengths = np.sqrt(np.maximum(np.diag(centred), 0.0))
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > _SHORT)
    return np.asarray(centred * inverse[:, None] * inverse)


def effective_themes(x: Matrix, seed: int = 0) -> float:
    """Return the effective number of themes of (n, dim) rows, at least 1.

    Of a CSR matrix, at most 1,500 random rows are used.
    """
    if sparse.issparse(x):
        rows = np.random.default_rng(seed).permutation(x.shape[0])[:_SPARSE_ROWS]
        return _hill_number(np.linalg.eigvalsh(centred_cosines(sparse.csr_array(x)[np.sort(rows)])))
    dense = _centred_rows(x)
    smaller = dense.T @ dense if dense.shape[0] > dense.shape[1] else dense @ dense.T
    return _hill_number(np.linalg.eigvalsh(smaller))


def _centred_rows(x: Any) -> Floats:
    """Return unit rows minus their mean, scaled to length 1; a row that equals the mean becomes zero."""
    unit = np.asarray(unit_rows(np.asarray(x, np.float64)))
    centred = unit - unit.mean(axis=0)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    rows: Floats = np.divide(centred, lengths, out=np.zeros_like(centred), where=lengths > _SHORT)
    return rows


def _hill_number(eigenvalues: npt.NDArray[np.floating]) -> float:
    """Return the Hill number of the positive eigenvalues of a matrix of cosines minus 1, its diagonal."""
    found = eigenvalues - 1.0
    found = found[found > _SMALLEST]
    if not len(found):
        return 1.0
    low, high = (float((found**order).sum()) for order in _ORDERS)
    return max(low**4 / high**3, 1.0)
