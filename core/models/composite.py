"""Models built from others: ``hybrid``, ``doc-mean``, ``neighbour-mean``, ``smoothed`` and ``linear-metric``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import splu

from themescope.core.config import Config, option
from themescope.core.errors import DataError
from themescope.core.models.artifact import has_file, read_tensors, write_tensors
from themescope.core.models.bag_of_words import Tfidf, TfidfConfig
from themescope.core.models.base import CombiningModel, unit_length
from themescope.core.models.con_s2v.text import Graph, discourse_graph
from themescope.core.types import (
    SILENT,
    Corpus,
    FittedModel,
    Float32,
    Floats,
    Index,
    Report,
    Sentence,
    Split,
    SubReport,
    TripletTexts,
    Vectors,
)

# Dense models concatenated with tf-idf, ``hybrid``; and the order of sentences as vectors, for Themes

WORDS = 2.0
"""Default weight of tf-idf, against 1 for the models."""


@dataclass(frozen=True)
class HybridConfig(Config):
    """Settings of ``hybrid``."""

    words: float = option(
        WORDS,
        "Weight of the cosine of tf-idf within the article, against 1 for the mean cosine of the models.",
        low=0.0,
        high=1_000.0,
    )
    stop_words: bool = option(True, "Count stop words in tf-idf too.")


class Hybrid(CombiningModel, config=HybridConfig):
    """Concatenated vectors of dense models and of tf-idf within the article, cosine distance."""

    config: HybridConfig

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the models in ``corpus.models``. Raises ``DataError`` without models and for a sparse model."""
        purpose, dense = "This method concatenates fitted models with tf-idf.", "A hybrid includes tf-idf already."
        self._take(corpus.models, purpose, dense)
        report.progress(1, 1, "Nothing to learn")
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dimensions of all models + 2²⁰) CSR rows, length at most 1; without words a row is empty."""
        parts = [np.asarray(model.embed(sentences), np.float32) for model in self.submodels]
        return concatenate_with_tfidf(parts, sentences, self.config.words, self.config.stop_words)


def concatenate_with_tfidf(
    parts: Sequence[npt.NDArray[np.float32]], sentences: Sequence[Sentence], words: float, stop_words: bool = True
) -> sparse.csr_array:
    """Return (n, dim + 2²⁰) float32 CSR rows whose inner products are weighted means of cosines.

    ``parts`` are (n, dim) vectors of the ``sentences`` by one or more models, which share the weight 1; tf-idf within
    the article has the weight ``words`` and counts English stop words if ``stop_words`` is true.
    """
    share = 1.0 / (1.0 + words)
    dense = np.concatenate([unit_length(part) for part in parts], axis=1) * np.float32(np.sqrt(share / len(parts)))
    counted: Any = Tfidf(TfidfConfig(stop_words=stop_words), 0).embed(sentences) * np.float32(np.sqrt(1.0 - share))
    return sparse.csr_array(sparse.hstack([sparse.csr_array(dense), counted], format="csr", dtype=np.float32))


COLUMNS = 2**20
"""Columns of the positions of all articles."""
_STRIDE = 7_919  # columns between the first sentences of successive articles; prime, so that few articles overlap
_CUT = 6  # points on each side of a position: the curve is exp(−9) at the last of them


def position_rows(sentences: Sequence[Sentence], reach: float) -> sparse.csr_array:
    """Return (n, 2²⁰) CSR rows of length 1 whose inner products are k(d) within an article and else 0.

    Rows of two articles overlap where their hashed columns do, which is the case for about one pair of articles in ten
    thousand.
    """
    if not sentences:
        return sparse.csr_array((0, COLUMNS), dtype=np.float32)
    step = reach / 2
    positions = np.array([s.position for s in sentences], np.float64)
    articles = np.array([s.article_id for s in sentences], np.int64)
    nearest = np.rint(positions / step).astype(np.int64)
    points = nearest[:, None] + np.arange(-_CUT, _CUT + 1)
    values = np.exp(-(((positions[:, None] - points * step) / reach) ** 2))
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    columns = (articles[:, None] * _STRIDE + points) % COLUMNS
    starts = np.arange(0, values.size + 1, values.shape[1])
    parts = values.astype(np.float32).ravel(), columns.ravel(), starts
    rows = sparse.csr_array(parts, shape=(len(sentences), COLUMNS))
    rows.sort_indices()
    return rows


_LSA, _AXES = "lsa.safetensors", "axes.safetensors"
_BLOCK = 4_096
_SMALLEST = 1e-9  # axes with less than this share of the largest variance are rounding noise


def transition(graph: Graph) -> sparse.csr_array:
    """Return the (n, n) row-normalised adjacency: the probability 1/degree of a step to each neighbour."""
    weights = np.repeat(1 / np.maximum(graph.degrees, 1), graph.degrees)
    return sparse.csr_array((weights, graph.targets, graph.starts), shape=(len(graph), len(graph)))


@dataclass(frozen=True)
class LatentAxes:
    """Projection of sparse vectors to their main directions (LSA, Deerwester et al. 1990)."""

    columns: npt.NDArray[np.int64]
    """(used,) columns that some sentence of the corpus uses; the others are dropped."""
    axes: npt.NDArray[np.float32]
    """(used, count)."""

    @classmethod
    def of(cls, x: sparse.csr_array, count: int, seed: int) -> Self:
        """Return the first ``count`` right singular vectors of (n, columns) ``x``, fewer where there are fewer."""
        from sklearn.utils.extmath import randomized_svd

        used = np.flatnonzero(np.bincount(x.indices, minlength=x.shape[1]))
        count = min(count, len(used), x.shape[0])
        _, _, right = randomized_svd(x[:, used], count, random_state=seed)
        return cls(used, np.ascontiguousarray(right.T, np.float32))

    def project(self, x: Any) -> Float32:
        """Return (n, count) coordinates of (n, columns) sparse rows."""
        return np.asarray(x[:, self.columns] @ self.axes, np.float32)


@dataclass(frozen=True)
class PrincipalAxes:
    """PCA whitening. Zero vectors take no part in the fit and stay zero."""

    mean: Float32
    """(1, dim)."""
    axes: Float32
    """(dim, count), scaled."""

    @classmethod
    def of(cls, blocks: Iterable[Float32], count: int, evenness: float) -> Self:
        """Return the first ``count`` axes of the (n, dim) rows in ``blocks``, fewer where the rows span fewer.

        An axis is divided by its standard deviation to the power ``evenness``: 0 is plain PCA, 1 full whitening.
        """
        n, total, products = 0, np.zeros(0), np.zeros((0, 0))
        for block in blocks:
            used = block[block.any(axis=1)].astype(np.float64)
            if not n:
                total, products = np.zeros(block.shape[1]), np.zeros((block.shape[1], block.shape[1]))
            n, total, products = n + len(used), total + used.sum(axis=0), products + used.T @ used
        mean = total / max(n, 1)
        values, vectors = np.linalg.eigh(products / max(n, 1) - np.outer(mean, mean))
        order = np.argsort(values)[::-1][:count]
        order = order[values[order] > _SMALLEST * values.max(initial=0.0)]
        axes = vectors[:, order] / values[order] ** (evenness / 2)
        return cls(mean[None].astype(np.float32), axes.astype(np.float32))

    def project(self, x: Float32) -> Float32:
        """Return (n, count) coordinates of (n, dim) ``x``."""
        return np.where(x.any(axis=1, keepdims=True), (x - self.mean) @ self.axes, 0).astype(np.float32)


@dataclass(frozen=True)
class ContextSmoothingConfig(Config):
    """Settings that all smoothing methods share."""

    lsa: int = option(300, "Dimensions that the vectors of a sparse model are reduced to by LSA.", low=2, high=2_000)
    unit: bool = option(False, "Scale the vectors of every model to length 1 before smoothing.")
    unit_mixed: bool = option(False, "Scale the smoothed vectors of every model, and the result, to length 1.")
    axes: int = option(
        0,
        "Reduce the result to this many principal axes of the corpus and whiten them; 0 omits this step.",
        low=0,
        high=2_000,
    )
    evenness: float = option(
        1.0,
        "Strength of whitening: each axis is divided by its standard deviation to this power. 0 is plain PCA.",
        low=0,
        high=1,
    )


@dataclass(frozen=True)
class DocumentMeanConfig(ContextSmoothingConfig):
    """Settings of ``doc-mean``."""

    keep_own: bool = option(False, "Concatenate the sentence's own vector with the mean of its document.")


@dataclass(frozen=True)
class NeighbourMeanConfig(ContextSmoothingConfig):
    """Settings of ``neighbour-mean``."""


@dataclass(frozen=True)
class SmoothedConfig(ContextSmoothingConfig):
    """Settings of ``smoothed``."""

    share: float = option(
        0.85, "Share of the result that comes from surrounding sentences: a of (1 − a)(I − aP)⁻¹X.", low=0, high=0.999
    )


class _ContextSmoothing(CombiningModel):
    """Base of the smoothing methods; a subclass implements :meth:`_smooth`. Cosine distance."""

    _latent: tuple[LatentAxes | None, ...] = ()
    """Axes of each submodel that is sparse."""
    _axes: PrincipalAxes | None = None

    @abstractmethod
    def _smooth(self, x: Float32, articles: Index, positions: Index) -> Float32:
        """Return (n, dim) rows of ``x`` smoothed within their articles; ``articles`` and ``positions`` are (n,)."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the models in ``corpus.models``; fit LSA and whitening on ``corpus.sentences`` where they are used."""
        self._take(corpus.models, "This method smooths the vectors of fitted models.")
        steps = len(self._models) + 1
        stages = [SubReport(report, number / steps, (number + 1) / steps) for number in range(steps)]
        self._latent = tuple(
            _latent_axes(model, corpus, self.config.lsa, self.seed, stage)
            for model, stage in zip(self._models, stages, strict=False)
        )
        self._axes = None
        if self.config.axes:
            if not len(corpus.sentences):
                raise DataError("Whitening is fitted on the sentences of a corpus, but this corpus has none.")
            blocks = map(self._smoothed, _whole_articles(corpus.sentences, stages[-1]))
            self._axes = PrincipalAxes.of(blocks, self.config.axes, self.config.evenness)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) smoothed vectors, those of several models concatenated.

        A sentence without an article keeps its own vector.
        """
        x = self._smoothed(sentences)
        if self._axes is None:
            return x
        return unit_length(self._axes.project(x)) if self.config.unit_mixed else self._axes.project(x)

    def _smoothed(self, sentences: Sequence[Sentence]) -> Float32:
        """Return (n, dim) smoothed vectors of all models, concatenated, before whitening."""
        articles = np.array([s.article_id for s in sentences], np.int64)
        positions = np.array([s.position for s in sentences], np.int64)
        parts = []
        for model, latent in zip(self.submodels, self._latent, strict=True):
            found: Any = model.embed(sentences)
            x = np.asarray(found if latent is None else latent.project(found), np.float32)
            x = unit_length(x) if self.config.unit else x
            smooth = np.array(self._smooth(x, articles, positions), np.float32)
            smooth[~x.any(axis=1)] = 0
            parts.append(unit_length(smooth) if self.config.unit_mixed else smooth)
        return np.concatenate(parts, axis=1)

    def _write(self, folder: Path) -> None:
        super()._write(folder)
        latent = {number: axes for number, axes in enumerate(self._latent) if axes is not None}
        if latent:
            columns = {f"{number}.columns": axes.columns for number, axes in latent.items()}
            write_tensors(folder / _LSA, columns | {f"{number}.axes": axes.axes for number, axes in latent.items()})
        if self._axes is not None:
            write_tensors(folder / _AXES, {"mean": self._axes.mean, "axes": self._axes.axes})

    def _read(self, folder: Path) -> None:
        super()._read(folder)
        found = read_tensors(folder / _LSA) if has_file(folder / _LSA) else {}
        self._latent = tuple(
            LatentAxes(found[f"{number}.columns"], found[f"{number}.axes"]) if f"{number}.axes" in found else None
            for number in range(len(self._models))
        )
        if has_file(folder / _AXES):
            tensors = read_tensors(folder / _AXES, ("mean", "axes"))
            self._axes = PrincipalAxes(tensors["mean"], tensors["axes"])


class DocumentMean(_ContextSmoothing, config=DocumentMeanConfig):
    """Mean of the vectors of a sentence's document."""

    def _smooth(self, x: Float32, articles: Index, positions: Index) -> Float32:
        own = np.where(articles == -1, articles.max(initial=-1) + 1 + np.arange(len(articles)), articles)
        _, groups, sizes = np.unique(own, return_inverse=True, return_counts=True)
        shares = (1 / sizes[groups], (groups, np.arange(len(groups))))
        means: Any = sparse.csr_array(shares, shape=(len(sizes), len(groups))) @ x
        found = np.asarray(means[groups], x.dtype)
        return np.concatenate([x, found], axis=1) if self.config.keep_own else found


class NeighbourMean(_ContextSmoothing, config=NeighbourMeanConfig):
    """½ of a sentence's own vector, ¼ of the previous and ¼ of the next one's.

    The share of a missing neighbour is added to that of the other, or of the sentence itself if both are missing.
    """

    def _smooth(self, x: Float32, articles: Index, positions: Index) -> Float32:
        graph = discourse_graph(articles, positions)
        mixed: Any = 0.5 * x + 0.5 * (transition(graph) @ x)
        isolated: Any = sparse.diags_array(0.5 * (graph.degrees == 0))
        return np.asarray(mixed + isolated @ x, x.dtype)


class Smoothed(_ContextSmoothing, config=SmoothedConfig):
    """Personalised PageRank along the order of sentences (Haveliwala 2002): (1 − a)(I − aP)⁻¹ x.

    P is the row-normalised adjacency: the weight of a sentence falls with its distance. A sentence without neighbours
    is not changed.
    """

    def _smooth(self, x: Float32, articles: Index, positions: Index) -> Float32:
        graph, share = discourse_graph(articles, positions), self.config.share
        steps = transition(graph) + sparse.diags_array((graph.degrees == 0).astype(np.float64))
        solver = splu(sparse.csc_array(sparse.eye_array(len(graph)) - share * steps))
        return np.asarray((1 - share) * solver.solve(np.asarray(x, np.float64)), x.dtype)


def _latent_axes(model: FittedModel, corpus: Corpus, count: int, seed: int, report: Report) -> LatentAxes | None:
    """Return the LSA axes of a sparse model on the sentences of ``corpus``, None for a dense model."""
    if not sparse.issparse(model.embed([])):
        report.progress(1, 1, "Nothing to learn")
        return None
    if not len(corpus.sentences):
        raise DataError("LSA of a sparse model is fitted on the sentences of a corpus, but this corpus has none.")
    blocks: Any = [model.embed(block) for block in _whole_articles(corpus.sentences, report)]
    return LatentAxes.of(sparse.vstack(blocks, format="csr"), count, seed)


def _whole_articles(sentences: Sequence[Sentence], report: Report) -> Iterator[Sequence[Sentence]]:
    """Yield the sentences in blocks of at least :data:`_BLOCK` that split no article."""
    begin = 0
    for end in range(1, len(sentences) + 1):
        last = end == len(sentences)
        if last or (end - begin >= _BLOCK and sentences[end].article_id != sentences[end - 1].article_id):
            report.progress(begin, len(sentences), "sentences read")
            yield sentences[begin:end]
            begin = end


# A metric learned from pairs that belong together and pairs that do not, in closed form: ``linear-metric``

_NEGLIGIBLE = 1e-3
_LEAST_LENGTH = 1e-6


@dataclass(frozen=True)
class LinearMetricConfig(Config):
    """Settings of a learned metric; the defaults were chosen on validation articles (docs/experiments.md)."""

    weight: float = option(2.0, "Weight w of the pairs against the identity; 0 learns nothing.", low=0.0, high=1e6)
    balance: float = option(
        0.2, "Exponent t: 0 uses only pairs that belong together, 1 only pairs that do not.", low=0.0, high=1.0
    )


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """The square root of a metric, I + Vᵀ (diag(f) - I) V, which is symmetric and positive definite."""

    axes: Floats
    """(r, dim) orthonormal rows V."""
    factors: Floats
    """(r,) factors f > 0: above 1 an axis is stretched, below 1 it is shrunk."""

    def apply(self, x: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
        """Return (n, dim) rows of ``x`` under the map."""
        along = (x @ self.axes.T) * (self.factors - 1)
        return np.asarray(x + along @ self.axes, dtype=np.float32)


def learn_directions(
    x: Float32, first: Index, second: Index, together: npt.NDArray[np.bool_], config: LinearMetricConfig
) -> Directions:
    """Return the metric of p pairs of the rows of ``x`` (m, dim), which have length 1 or 0.

    ``first`` and ``second`` (p,) are rows, ``together`` (p,) says whether the two belong together.
    """
    rows = np.asarray(x, dtype=np.float64)
    axes = np.zeros((0, rows.shape[1]))
    if len(rows) > 1:  # orthonormal axes of the differences of rows
        _, lengths, found = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
        axes = found[lengths > _LEAST_LENGTH * max(float(lengths[0]), _LEAST_LENGTH)]
    reduced = rows @ axes.T
    within, between = (_scatter(reduced, first[kind], second[kind]) for kind in (together, ~together))
    scale = (np.trace(within) + np.trace(between)) / 2
    if not config.weight or not len(axes) or scale < _LEAST_LENGTH:
        return Directions(np.zeros((0, rows.shape[1])), np.zeros(0))
    share, identity = config.weight * len(rows) / scale, np.eye(len(axes))
    # A^-1 #_t B = A^-½ (A^½ B A^½)^t A^-½
    a, b = identity + share * within, identity + share * between
    root, inverse = _power(a, 0.5), _power(a, -0.5)
    values, vectors = np.linalg.eigh(inverse @ _power(root @ b @ root, config.balance) @ inverse)
    factors = np.sqrt(values)
    kept = np.abs(np.log(factors)) > _NEGLIGIBLE
    return Directions(vectors.T[kept] @ axes, factors[kept])


def _scatter(x: Floats, first: Index, second: Index) -> Floats:
    """Return the mean outer product of the differences of pairs of rows, XᵀLX / p with the Laplacian L of the pairs."""
    laplacian = np.zeros((len(x), len(x)))
    np.add.at(laplacian, (first, second), -1.0)
    laplacian += laplacian.T
    np.fill_diagonal(laplacian, laplacian.diagonal() - laplacian.sum(axis=1))
    return np.asarray(x.T @ laplacian @ x / max(len(first), 1))


def _power(matrix: Floats, exponent: float) -> Floats:
    """Return a real power of a positive definite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, _LEAST_LENGTH) ** exponent) @ vectors.T)


_FILE = "axes.safetensors"
_MOST = 2_000
"""Maximum number of sentences whose triplets are used; the metric then has at most as many axes as they have."""


class LinearMetric(CombiningModel, config=LinearMetricConfig):
    """Vectors of other models under a learned metric, cosine distance."""

    config: LinearMetricConfig
    _directions: Directions | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn from the training triplets: pivot and positive belong together, pivot and negative do not.

        Raises ``DataError`` without triplets or models, and for a model with sparse vectors.
        """
        triplets = corpus.triplets.get(Split.TRAIN)
        if triplets is None or not len(triplets):
            raise DataError("This method learns from training triplets. Choose a triplet set.")
        purpose = "This method learns a metric on the vectors of fitted models."
        self._take(corpus.models, purpose, "A metric is learned on dense vectors.")
        texts, first, second, together = _pairs(triplets)
        report.progress(0, 1, f"Embedding {len(texts):,} sentences")
        x = self._concatenated([Sentence(text) for text in texts])
        report.progress(0.9, 1, "Learning the metric")
        self._directions = learn_directions(x, first, second, together, self.config)
        return self

    def use(self, base: FittedModel, directions: Directions) -> Self:
        """Take a base model and a metric of its vectors that was learned elsewhere."""
        self._models, self._directions = (base,), directions
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dimensions of all models) vectors under the metric."""
        return self._fitted(self._directions).apply(self._concatenated(sentences))

    def _concatenated(self, sentences: Sequence[Sentence]) -> npt.NDArray[np.float32]:
        """Return the vectors of all models at length 1, concatenated, of length at most 1."""
        parts = [unit_length(np.asarray(model.embed(sentences), np.float32)) for model in self._models]
        return np.concatenate(parts, axis=1) / np.float32(np.sqrt(len(parts)))

    def _write(self, folder: Path) -> None:
        directions = self._fitted(self._directions)
        super()._write(folder)
        write_tensors(folder / _FILE, {"axes": directions.axes, "factors": directions.factors})

    def _read(self, folder: Path) -> None:
        super()._read(folder)
        found: dict[str, Any] = read_tensors(folder / _FILE, ("axes", "factors"))
        self._directions = Directions(found["axes"], found["factors"])


def _pairs(triplets: TripletTexts) -> tuple[list[str], Index, Index, npt.NDArray[np.bool_]]:
    """Return the texts of the first triplets, and their pairs: rows of both texts, and whether they belong together."""
    rows: dict[str, int] = {}
    pairs: dict[tuple[int, int], bool] = {}
    for pivot, positive, negative in zip(triplets.pivots, triplets.positives, triplets.negatives, strict=True):
        if len(rows) > _MOST - 3:
            break
        own, near, far = (rows.setdefault(text, len(rows)) for text in (pivot, positive, negative))
        pairs.setdefault((own, near), True)
        pairs.setdefault((own, far), False)
    first, second = np.array(list(pairs), np.int64).reshape(-1, 2).T
    return list(rows), first, second, np.array(list(pairs.values()), np.bool_)
