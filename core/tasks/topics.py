"""Topic classification and clustering of sentences (Saha et al. 2017, section 4.2)."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering.inputs import unit_rows
from themescope.core.config import Config, option
from themescope.core.errors import DataError
from themescope.core.metrics.partition import ContingencyTable
from themescope.core.metrics.statistics import LEVEL
from themescope.core.tasks.summaries import lexrank, ranked
from themescope.core.text.languages import content_words
from themescope.core.types import SILENT, Estimate, Floats, Ids, Labels, Matrix, Report, Sentence, fold_title

SCORES = ("accuracy", "macro F1", "weighted F1", "kappa")
"""The columns of classification, in the order of :class:`TopicScores`."""
_TOLERANCE = 1e-6
_STARTS = 10


@dataclass(frozen=True)
class MaxEntSettings(Config):
    """Settings of the classifier; the defaults are the paper's: logistic regression, L2, C = 1, one-vs-rest."""

    c: float = option(1.0, "Inverse strength of the L2 penalty.", low=1e-6, high=1e6)
    multinomial: bool = option(False, "Train one softmax over all topics instead of one classifier for each.")
    scaling: str = option(
        "raw",
        "Scaling of the vectors: raw leaves them unchanged, unit scales them to length 1, standard scales every column "
        "to mean 0 and standard deviation 1.",
        choices=("raw", "unit", "standard"),
    )
    iterations: int = option(1_000, "Maximum number of steps of the optimiser.", low=1, high=1_000_000)


@dataclass(frozen=True, slots=True)
class TopicScores:
    """Scores of topic classification, each in 0…1 (kappa from -1)."""

    accuracy: float
    macro_f1: float
    weighted_f1: float
    """F1 weighted by the frequency of a topic: probably what the paper reports as "macro F1"."""
    kappa: float
    """Cohen's kappa: accuracy above chance."""
    predicted: Labels
    """(n,) predicted topic of every test sentence."""
    correct: npt.NDArray[np.bool_]
    """(n,) correctness, for paired tests of two methods."""
    converged: bool
    """False if the optimiser reached its maximum number of steps."""


class TopicClusters(NamedTuple):
    """Scores of clusters against topics."""

    v: float
    ami_max: float
    ami_arithmetic: float


def classify(
    x_train: Matrix,
    y_train: Labels,
    x_test: Matrix,
    y_test: Labels,
    settings: MaxEntSettings | None = None,
    report: Report = SILENT,
) -> TopicScores:
    """Fit a classifier to (n, dim) vectors with (n,) labels and predict the labels of (m, dim) vectors.

    Raises :class:`DataError` with fewer than two topics in training, without test sentences, or for vectors that are
    not finite.
    """
    settings = settings or MaxEntSettings()
    if x_train.shape[0] != len(y_train) or x_test.shape[0] != len(y_test):
        raise DataError("The numbers of vectors and topics differ.")
    if len(np.unique(y_train)) < 2 or not len(y_test):
        raise DataError("A classifier needs training sentences of two topics, and a test sentence.")
    for x in (x_train, x_test):
        if not np.isfinite(x.data if isinstance(x, sparse.csr_array) else x).all():
            raise DataError("The vectors contain values that are not finite. Embed the sentences again.")
    train, test = _prepared(x_train, x_test, settings.scaling)
    topics = np.unique(y_train)
    # One softmax over all topics, or one classifier for each against the rest.
    targets = [y_train] if settings.multinomial else [y_train == topic for topic in topics]
    models, converged = [], True
    for number, target in enumerate(targets):
        report.progress(number, len(targets), f"classifier {number + 1} of {len(targets)}")
        model, ended = _fitted(train, target, settings)
        models.append(model)
        converged = converged and ended
    if settings.multinomial:
        predicted = np.asarray(models[0].predict(test), np.int32)
    else:
        decisions = np.stack([model.decision_function(test) for model in models], axis=1)
        predicted = np.asarray(topics[decisions.argmax(axis=1)], np.int32)
    return TopicScores(*_scores(y_test, predicted), predicted, predicted == y_test, converged)


def tuned(
    x_train: Matrix,
    y_train: Labels,
    x_validation: Matrix,
    y_validation: Labels,
    settings: MaxEntSettings,
    grid: Sequence[float] = (0.01, 0.1, 1.0, 10.0, 100.0),
    report: Report = SILENT,
) -> MaxEntSettings:
    """Return the settings with the C of ``grid`` that has the largest weighted F1 on the validation part."""
    best, best_score = settings, -1.0
    for number, c in enumerate(sorted(grid)):
        report.progress(number, len(grid), f"C = {c:g}")
        tried = dataclasses.replace(settings, c=c)
        score = classify(x_train, y_train, x_validation, y_validation, tried).weighted_f1
        if score > best_score:
            best, best_score = tried, score
    return best


def cluster_topics(x: Matrix, y: Labels, k: int, seed: int, unit: bool = False) -> TopicClusters:
    """Compare k-means clusters of (n, dim) vectors with (n,) topics: greedy k-means++, the best of 10 starts.

    The paper clusters raw vectors; ``unit`` scales them to length 1 first. Raises :class:`DataError` if there are fewer
    sentences than clusters.
    """
    from sklearn.cluster import KMeans

    if len(y) < k or x.shape[0] != len(y):
        raise DataError(f"{x.shape[0]} vectors with {len(y)} topics cannot be divided into {k} clusters.")
    rows = _float32(x)
    if sparse.issparse(rows):
        rows = _columns(rows, np.unique(rows.indices))  # most of a million hashed columns are empty
    rows = unit_rows(rows) if unit else rows
    with warnings.catch_warnings():
        # Warnings about duplicate vectors and about memory on Windows, neither of which changes the labels.
        warnings.simplefilter("ignore")
        labels = KMeans(k, init="k-means++", n_init=_STARTS, random_state=seed % 2**32).fit_predict(rows)
    table = ContingencyTable.of(y, np.asarray(labels, np.int32))
    first, second = table.entropies()
    v = 2 * table.mutual_information() / (first + second) if first + second > 0 else 1.0
    return TopicClusters(v, table.adjusted(max(first, second)), table.adjusted((first + second) / 2))


def _float32(x: Matrix) -> Any:
    return sparse.csr_array(x, dtype=np.float32) if sparse.issparse(x) else np.ascontiguousarray(x, np.float32)


def _columns(x: Any, used: npt.NDArray[Any]) -> Any:
    """Return some columns of a CSR array, with the 32-bit indices that scikit-learn requires."""
    part = x[:, used]
    return sparse.csr_array((part.data, part.indices.astype(np.int32), part.indptr.astype(np.int32)), shape=part.shape)


def _prepared(x_train: Matrix, x_test: Matrix, scaling: str) -> tuple[Any, Any]:
    """Return both parts as float32, scaled; of sparse vectors only the columns that occur in training."""
    train, test = _float32(x_train), _float32(x_test)
    if sparse.issparse(train):
        used = np.unique(train.indices)
        train, test = _columns(train, used), _columns(test, used)
    if scaling == "unit":
        return unit_rows(train), unit_rows(test)
    if scaling == "standard":
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler(with_mean=not sparse.issparse(train)).fit(train)
        return scaler.transform(train), scaler.transform(test)
    return train, test


def _fitted(x: Any, y: npt.NDArray[Any], settings: MaxEntSettings) -> tuple[Any, bool]:
    """Fit a logistic regression by L-BFGS, in double precision if it does not converge in single precision."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    for kind in (np.float32, np.float64):
        model = LogisticRegression(C=settings.c, tol=_TOLERANCE, max_iter=settings.iterations)
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            model.fit(x.astype(kind), y)
        converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in raised)
        if converged or int(np.max(model.n_iter_)) >= settings.iterations:
            break
    return model, converged


def scores_with_intervals(
    truth: Labels, scores: TopicScores, groups: Ids, seed: int = 0, n_resamples: int = 2_000
) -> dict[str, Estimate]:
    """Return the four scores with 95 % intervals by resampling whole documents; (n,) ``groups`` are their ids."""
    k = int(max(truth.max(), scores.predicted.max())) + 1
    _, places = np.unique(groups, return_inverse=True)
    n = int(places.max()) + 1
    cell = truth.astype(np.int64) * k + scores.predicted
    cells = sparse.csr_array((np.ones(len(truth)), (places, cell)), shape=(n, k * k))
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=n_resamples)
    resampled = _scores_of((drawn @ cells).reshape(-1, k, k))
    tails = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    values = scores.accuracy, scores.macro_f1, scores.weighted_f1, scores.kappa
    ends = [np.quantile(draws, tails).tolist() for draws in resampled]
    return {name: Estimate(value, low, high, n) for name, value, (low, high) in zip(SCORES, values, ends, strict=True)}


def _scores(truth: Labels, predicted: Labels) -> tuple[float, float, float, float]:
    """Return accuracy, macro F1, weighted F1 and kappa."""
    k = int(max(truth.max(), predicted.max())) + 1
    table = np.bincount(truth.astype(np.int64) * k + predicted, minlength=k * k).reshape(1, k, k)
    accuracy, macro, weighted, kappa = (float(values[0]) for values in _scores_of(table))
    return accuracy, macro, weighted, kappa


def _scores_of(tables: npt.NDArray[Any]) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the (r,) scores of (r, k, k) confusion matrices: true topic by row, predicted topic by column."""
    n, given, predicted = tables.sum(axis=(1, 2)), tables.sum(axis=2), tables.sum(axis=1)
    right, both = np.diagonal(tables, axis1=1, axis2=2), given + predicted
    f1 = np.divide(2.0 * right, both, out=np.zeros(both.shape), where=both > 0)
    accuracy, chance = right.sum(axis=1) / n, (given * predicted).sum(axis=1) / n.astype(np.float64) ** 2
    kappa = np.divide(accuracy - chance, 1 - chance, out=np.ones(len(n)), where=chance < 1)
    return accuracy, f1.sum(axis=1) / (both > 0).sum(axis=1), (f1 * given).sum(axis=1) / n, kappa


# The topic task of Saha et al. 2017 (section 4.1): sentences labelled with the topic of their document


@dataclass(frozen=True)
class TopicSettings(Config):
    """Settings for labelling sentences and holding out documents; the defaults are the paper's."""

    share: float = option(0.2, "Share of a document's sentences to label, rounded up.", low=0.0, high=1.0)
    min_words: int = option(3, "Minimum number of words, without punctuation, of a sentence.", low=0, high=100)
    threshold: float = option(0.1, "Minimum cosine of connected sentences in LexRank.", low=-1.0, high=1.0)
    centred: bool = option(
        False,
        "Subtract the mean of all vectors before LexRank; otherwise short sentences are central, because they are "
        "closest to the mean.",
    )
    validation: float = option(0.2, "Share of the training documents held out for tuning.", low=0.0, high=0.9)
    seed: int = option(0, "Seed of the choice of held-out documents.", low=0)


@dataclass(frozen=True, slots=True)
class TopicDocument:
    """A document with its topic, its sentences in page order, and its part according to the source."""

    title: str
    topic: str
    part: str
    """"train", "test" or ""; documents without part or topic are ignored."""
    sentences: Sequence[Sentence]


@dataclass(frozen=True, slots=True)
class TopicItems:
    """Labelled sentences; row i of every (n,) array is one of them, in document order."""

    sentences: Ids
    """Ids of the store."""
    articles: Ids
    positions: Ids
    """Index of the sentence in its article."""
    labels: Labels
    """Index into :attr:`TopicTask.topics`."""

    def __len__(self) -> int:
        return len(self.sentences)


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """Sizes of a topic task, in the paper's terms."""

    documents: int
    sentences: int
    """Number of sentences that are long enough, labelled or not."""
    annotated: int
    train: int
    validation: int
    test: int


PUBLISHED: Mapping[str, TopicCounts] = {
    "reuters": TopicCounts(9_001, 42_192, 13_305, 7_738, 1_949, 3_618),
    "newsgroups": TopicCounts(7_781, 95_809, 22_374, 10_594, 2_705, 9_075),
}
"""Table 2 of Saha et al. 2017; validation is the difference there between annotated and train + test."""


@dataclass(frozen=True, slots=True)
class TopicTask:
    """Labelled sentences in three parts, with their topics and counts."""

    topics: tuple[str, ...]
    train: TopicItems
    validation: TopicItems
    test: TopicItems
    counts: TopicCounts


def joined(parts: Sequence[TopicItems]) -> TopicItems:
    """Return the concatenated items of several parts."""
    names = ("sentences", "articles", "positions", "labels")
    return TopicItems(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def assemble(documents: Iterable[tuple[TopicDocument, Sequence[int]]], settings: TopicSettings) -> TopicTask:
    """Build the task from documents with the indices of their labelled sentences, see :func:`central`.

    Raises :class:`DataError` without labelled sentences for training or test, or with fewer than two topics.
    """
    kept = [(document, chosen) for document, chosen in documents if document.topic and document.part]
    topics = tuple(sorted({document.topic for document, _ in kept}))
    held_out = _held_out([document.title for document, _ in kept if document.part == "train"], settings)
    parts: dict[str, list[tuple[TopicDocument, Sequence[int]]]] = {"train": [], "validation": [], "test": []}
    for document, chosen in kept:
        held = document.part == "train" and fold_title(document.title) in held_out
        parts["validation" if held else document.part].append((document, chosen))
    train, validation, test = (_items(parts[name], topics) for name in ("train", "validation", "test"))
    if len(topics) < 2:
        raise DataError(
            f"The documents have {len(topics)} topics, but at least two are needed. Import a corpus whose documents "
            "have topics, such as Reuters-21578 or 20 Newsgroups."
        )
    for items, name in ((train, "training"), (test, "test")):
        if not len(items):
            raise DataError(
                f"No sentence in the {name} part has a topic. The source must mark documents train or test."
            )
    sentences = sum(len(long_enough(document.sentences, settings.min_words)) for document, _ in kept)
    sizes = len(train), len(validation), len(test)
    return TopicTask(topics, train, validation, test, TopicCounts(len(kept), sentences, sum(sizes), *sizes))


def long_enough(sentences: Sequence[Sentence], min_words: int) -> list[int]:
    """Return the indices of the sentences with at least ``min_words`` words."""
    return [i for i, s in enumerate(sentences) if len(content_words(s.text, stemmed=False)) >= min_words]


def central(sentences: Sequence[Sentence], vectors: Matrix, settings: TopicSettings) -> list[int]:
    """Return the indices of the sentences to label, by LexRank among those that are long enough, ascending."""
    if vectors.shape[0] != len(sentences):
        raise DataError(f"A document has {len(sentences)} sentences but {vectors.shape[0]} vectors.")
    usable = long_enough(sentences, settings.min_words)
    number = math.ceil(round(settings.share * len(usable), 9))
    if not number:
        return []
    order = ranked(lexrank(vectors[np.asarray(usable)], threshold=settings.threshold))[:number]
    return sorted(usable[i] for i in order)


def _held_out(titles: Sequence[str], settings: TopicSettings) -> set[str]:
    """Return the folded titles of the share ``settings.validation`` of the documents.

    Titles are ordered by a hash, so that adding or removing a document moves few others.
    """

    def order(title: str) -> bytes:
        return hashlib.blake2b(f"{settings.seed}\0{title}".encode(), digest_size=8).digest()

    return {fold_title(title) for title in sorted(titles, key=order)[: round(settings.validation * len(titles))]}


def _items(documents: Sequence[tuple[TopicDocument, Sequence[int]]], topics: Sequence[str]) -> TopicItems:
    rows = [(document.sentences[i], topics.index(document.topic)) for document, chosen in documents for i in chosen]
    return TopicItems(
        np.array([s.id for s, _ in rows], np.int64),
        np.array([s.article_id for s, _ in rows], np.int64),
        np.array([s.position for s, _ in rows], np.int64),
        np.array([label for _, label in rows], np.int32),
    )
