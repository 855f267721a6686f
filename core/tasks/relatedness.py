"""Relatedness of sentence pairs on SICK (Kiros et al. 2015 following Tai et al. 2015; Ein Dor et al. 2018, Table 5).

Two measurements of a model: the cosine of a pair's vectors, or the expected score of a regressor trained on SICK.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from themescope.core.errors import DataError, ReadError
from themescope.core.metrics.statistics import agreement_with_scores, pearson
from themescope.core.models.base import cosine_distances
from themescope.core.types import Estimate, Floats, Model, Report, Sentence, Vectors

FILES = {"train": "SICK_train.txt", "trial": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
WHOLE = "SICK.txt"
LOWEST, HIGHEST = 1.0, 5.0
_BLOCK = 2_048  # sentences embedded at once


@dataclass(frozen=True, slots=True)
class PairSet:
    """Sentence pairs with their relatedness: row i is (``first[i]``, ``second[i]``, ``scores[i]`` in 1 … 5)."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    scores: Floats

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True)
class SickPairs:
    """The three parts of SICK: 4,500 / 500 / 4,927 pairs in the full release."""

    train: PairSet
    trial: PairSet
    test: PairSet

    def sets(self) -> tuple[PairSet, PairSet, PairSet]:
        """Return train, trial and test."""
        return self.train, self.trial, self.test


def read_sick(path: Path) -> SickPairs:
    """Read SICK from a folder with its three files, or from the one file of the full release (column SemEval_set).

    Raises :class:`ReadError` with the line of the error: missing files or columns, a score outside 1 … 5.
    """
    if path.is_dir() and not (path / WHOLE).is_file():
        return SickPairs(**{part: _pair_set(_rows(path / name)) for part, name in FILES.items()})
    file = path / WHOLE if path.is_dir() else path
    rows = _rows(file)
    parts = {part: [row for row in rows if row[3].casefold() == part] for part in FILES}
    empty = [part for part, found in parts.items() if not found]
    if empty:
        problem = f"No pair is marked {empty[0].upper()} in a column SemEval_set."
        raise ReadError(file, problem, advice="Give the folder of SICK.")
    return SickPairs(**{part: _pair_set(found) for part, found in parts.items()})


def evaluate_sick(model: Model, pairs: SickPairs, *, regressor: bool, seed: int, report: Report) -> dict[str, Estimate]:
    """Return "pearson", "spearman" and mean squared error ("mse", scale 1 … 5) on the test pairs.

    With ``regressor``, scores are predicted by the regressor of Kiros et al., trained on train with early stopping on
    trial. Otherwise the correlations are those of the cosine, and the error is that of the least-squares line from
    cosine to score over the training pairs. Intervals resample test pairs.
    """
    first, second = _embedded(model, pairs, report)
    ends = np.cumsum([len(part) for part in pairs.sets()])
    train, test = slice(0, ends[0]), slice(ends[1], ends[2])
    if regressor:
        predicted = _trained(first, second, pairs, seed, report).predict(first[test], second[test])
        return agreement_with_scores(predicted, predicted, pairs.test.scores, seed)
    cosines = 1 - cosine_distances(first, second).astype(np.float64)
    fitted = _line(cosines[train], pairs.train.scores, cosines[test])
    return agreement_with_scores(cosines[test], fitted, pairs.test.scores, seed)


def fit_relatedness(model: Model, pairs: SickPairs, *, seed: int, report: Report) -> TrainedRegressor:
    """Train the regressor of Kiros et al. on the vectors of ``model``; its scores can also order triplets."""
    return _trained(*_embedded(model, pairs, report), pairs, seed, report)


class RelatednessOrder:
    """Model for triplet accuracy by predicted relatedness: "skip-thoughts-SICK" of Ein Dor et al. 2018, Table 3.

    It takes the place of the model in :func:`themescope.core.metrics.triplets.triplet_accuracy`.
    """

    def __init__(self, model: Model, regressor: TrainedRegressor) -> None:
        self._model, self._regressor = model, regressor

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return the (n, dim) vectors of the model."""
        return self._model.embed(sentences)

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """Return (n,) 5 - expected relatedness of row i of ``a`` and row i of ``b``."""
        return np.asarray(HIGHEST - self._regressor.predict(a, b), np.float32)


def _trained(first: Any, second: Any, pairs: SickPairs, seed: int, report: Report) -> TrainedRegressor:
    """Train on the training pairs, with early stopping and choice of the penalty by Pearson on the trial pairs.

    Training takes blocks of 10 epochs and ends after three blocks without a gain. Features are standardised over the
    training pairs.
    """
    end, last = len(pairs.train), len(pairs.train) + len(pairs.trial)
    columns = None
    if sparse.issparse(first):
        columns = np.union1d(first[:end].indices, second[:end].indices).astype(np.int64)
    raw = pair_features(first[:end], second[:end], columns)
    mean, scale = raw.mean(axis=0), raw.std(axis=0)
    scale[scale == 0] = 1
    features = torch.from_numpy((raw - mean) / scale)
    held_out = torch.from_numpy((pair_features(first[end:last], second[end:last], columns) - mean) / scale)
    fit = _Fit(features, torch.from_numpy(soft_targets(pairs.train.scores)), seed)
    fit.run(held_out, pairs.trial.scores, report)
    best = int(np.argmax(fit.best))
    return TrainedRegressor(columns, mean, scale, fit.weights[best], fit.bias[best])


def _embedded(model: Model, pairs: SickPairs, report: Report) -> tuple[Any, Any]:
    """Return the vectors of the first and of the second sentences of all parts; every sentence is embedded once."""
    places: dict[str, int] = {}
    columns = [
        [places.setdefault(text, len(places)) for part in pairs.sets() for text in texts(part)]
        for texts in (lambda p: p.first, lambda p: p.second)
    ]
    # Each caption is an article of its own, so that its vector does not depend on other captions.
    sentences = [Sentence(text, article_id=i, opens_paragraph=True) for text, i in places.items()]
    parts: list[Any] = []
    for start in range(0, len(sentences), _BLOCK):
        parts.append(model.embed(sentences[start : start + _BLOCK]))
        report.progress(min(start + _BLOCK, len(sentences)), len(sentences), "SICK sentences embedded")
    if not parts:
        raise DataError("SICK has no pairs to evaluate on.")
    vectors = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    return vectors[columns[0]], vectors[columns[1]]


def _line(cosines: Floats, scores: Floats, wanted: Floats) -> Floats:
    """Return the least-squares line through (cosine, score) at ``wanted``; the mean score if all cosines are equal."""
    spread = cosines.var()
    slope = float(((cosines - cosines.mean()) * (scores - scores.mean())).mean() / spread) if spread > 0 else 0.0
    return np.asarray(scores.mean() + slope * (wanted - cosines.mean()), np.float64)


def _pair_set(rows: Sequence[tuple[str, str, float, str]]) -> PairSet:
    first, second, scores, _ = zip(*rows, strict=True)
    return PairSet(first, second, np.array(scores, np.float64))


def _rows(path: Path) -> list[tuple[str, str, float, str]]:
    """Return sentences, score and part ("" if not given) of each line."""
    rows = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            header = [name.strip().casefold() for name in next(lines, [])]
            for name in ("sentence_a", "sentence_b", "relatedness_score"):
                if name not in header:
                    advice = "Give a tab-separated file of SICK."
                    raise ReadError(path, f"The column {name} is missing.", "line 1", advice)
            for line in filter(None, lines):
                row = {name: part.strip() for name, part in zip(header, line, strict=False)}
                first, second = row.get("sentence_a"), row.get("sentence_b")
                score = _score(row.get("relatedness_score", ""))
                if first is None or second is None or not LOWEST <= score <= HIGHEST:
                    problem = "A pair needs two sentences and a score from 1 to 5."
                    raise ReadError(path, problem, f"line {lines.line_num}")
                rows.append((first, second, score, row.get("semeval_set", "")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReadError(path, f"The file cannot be read: {error}.", advice="Give the folder of SICK.") from error
    if not rows:
        raise ReadError(path, "There are no pairs below the header.")
    return rows


def _score(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


# The relatedness regressor of Kiros et al. 2015, section 3.1, after Tai et al. 2015

CLASSES = 5
PENALTIES = (0.0, 1e-4, 1e-3)
"""L2 penalties of the weights; the one with the best Pearson on trial is kept."""
_BLOCK_EPOCHS, _PATIENCE, _MOST_BLOCKS = 10, 3, 30
_BATCH, _RATE = 64, 1e-3


@dataclass(frozen=True)
class TrainedRegressor:
    """A trained regressor."""

    columns: npt.NDArray[np.int64] | None
    """Columns of sparse vectors that occurred in training; None for dense ones."""
    mean: npt.NDArray[np.float32]
    scale: npt.NDArray[np.float32]
    weights: Tensor
    """(features, 5)"""
    bias: Tensor

    def predict(self, first: Any, second: Any) -> Floats:
        """Return the (n,) expected relatedness 1 … 5 of the rows of two (n, dim) matrices."""
        features = torch.from_numpy((pair_features(first, second, self.columns) - self.mean) / self.scale)
        return _expectation(features @ self.weights + self.bias)


def soft_targets(scores: Floats) -> npt.NDArray[np.float32]:
    """Return (n, 5) probabilities of the two whole scores around y, whose mean is y: 3.6 → (0, 0, .4, .6, 0)."""
    if len(scores) and not (scores.min() >= 1 and scores.max() <= CLASSES):
        raise DataError("Relatedness scores must be between 1 and 5.")
    floor = np.minimum(np.floor(scores), CLASSES - 1).astype(np.int64)
    targets = np.zeros((len(scores), CLASSES))
    rows = np.arange(len(scores))
    targets[rows, floor - 1] = floor + 1 - scores
    targets[rows, floor] = scores - floor
    return targets.astype(np.float32)


def pair_features(first: Any, second: Any, columns: npt.NDArray[np.int64] | None) -> npt.NDArray[np.float32]:
    """Return (n, 2·dim) float32 [|u − v| ; u⊙v]; of sparse vectors only ``columns``."""
    u, v = (x[:, columns].toarray() if sparse.issparse(x) else np.asarray(x) for x in (first, second))
    return np.concatenate([np.abs(u - v), u * v], axis=1).astype(np.float32)


class _Fit:
    """One softmax regression for each penalty, trained together on the same batches."""

    def __init__(self, features: Tensor, targets: Tensor, seed: int) -> None:
        self.features, self.targets = features, targets
        self.now = (
            torch.zeros((len(PENALTIES), features.shape[1], CLASSES), requires_grad=True),
            torch.zeros((len(PENALTIES), 1, CLASSES), requires_grad=True),
        )
        self.penalties = torch.tensor(PENALTIES)[:, None, None]
        self.optimizer = torch.optim.Adam(self.now, lr=_RATE, fused=True)
        self.generator = torch.Generator().manual_seed(seed % 2**63)
        self.best = np.full(len(PENALTIES), -2.0)  # Pearson on trial
        self.weights, self.bias = (tensor.detach().clone() for tensor in self.now)

    def run(self, trial: Tensor, scores: Floats, report: Report) -> None:
        """Train until no penalty improves; the best parameters of each are kept."""
        without = np.zeros(len(PENALTIES), np.int64)
        for block in range(_MOST_BLOCKS):
            for _ in range(_BLOCK_EPOCHS):
                report.progress(block, _MOST_BLOCKS, "Training the relatedness regressor")
                self._epoch()
            with torch.inference_mode():
                found = [pearson(_expectation(logits), scores) for logits in self._logits(trial)]
            for row in np.flatnonzero((np.array(found) > self.best) & (without < _PATIENCE)).tolist():
                self.best[row], without[row] = found[row], -1
                self.weights[row], self.bias[row] = (tensor.detach()[row] for tensor in self.now)
            without += 1
            if (without >= _PATIENCE).all():
                break

    def _logits(self, features: Tensor) -> Tensor:
        """Return (penalties, n, 5) scores before the softmax."""
        return features @ self.now[0] + self.now[1]

    def _epoch(self) -> None:
        order = torch.randperm(len(self.features), generator=self.generator)
        for rows in order.split(_BATCH):
            likelihoods = torch.log_softmax(self._logits(self.features[rows]), dim=2) * self.targets[rows]
            loss = -likelihoods.sum() / len(rows) + (self.penalties * self.now[0].square()).sum()
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()


def _expectation(logits: Tensor) -> Floats:
    steps = torch.arange(1, CLASSES + 1, dtype=torch.float64)
    return np.asarray((torch.softmax(logits.detach().double(), dim=1) @ steps).numpy(), np.float64)
