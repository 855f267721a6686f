"""Measure the estimate of the number of themes on debate motions and on articles.

    python -m benchmarks.theme_counts CLAIMS --model NAME --validation a.json --test b.json

CLAIMS is a folder with ``claims.tsv.gz``, which has the columns motion, claim, corrected claim (IBM Debater, EMNLP
2015). A draw has a uniform number of motions with all their claims. Motions are divided into two parts by a hash of
their names. ``--validation`` and ``--test`` are JSON lists of [title, [[sentence, …], …]] with one list a section.

The calibration is that of the model. ``--fit FOLDER`` fits it on the validation half of the motions and on the
validation articles, and writes it into the folder of the model; the other lists have no part in it.

Two tables are printed. Pair probabilities: Brier score, skill against the share of the list, and the mean probability
and observed share in each tenth of the pairs. Numbers of themes: median relative error with its interval over the
lists, median ratio to the true number, share of the lists whose true number is in the suggested interval, and the mean
AMI (max) of Iclust on the vectors and shared words, as in Themes, at the true number and at the suggested one.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from benchmarks._shared import AMI
from themescope import load
from themescope.core.clustering.iclust import IclustConfig, best_partition
from themescope.core.clustering.inputs import PairCalibration, centred_cosines, checked, cosine_matrix, effective_themes
from themescope.core.errors import DataError
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.models.composite import concatenate_with_tfidf
from themescope.core.paths import model_folder
from themescope.core.tasks.density import load_calibration, save_calibration, suggest
from themescope.core.types import Estimate, Matrix, Sentence

_MOST, _RESAMPLES = 200, 2_000
_PAIRS = 4_000  # pairs of a list that the log-odds are fitted on
_BINS = 10
_DECIMALS = 4  # of the coefficients
Floats = npt.NDArray[np.floating]
Encode = Callable[[Sequence[str]], Floats]


@dataclass(frozen=True, slots=True)
class KnownList:
    """Sentences with known themes: (n, dim) ``vectors``, (n,) ``truth`` with the values 0…k-1, and their texts."""

    vectors: Matrix
    truth: npt.NDArray[np.integer]
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PairQuality:
    """Quality of pair probabilities; intervals are over lists, each of which has the same weight."""

    brier: Estimate
    """Mean squared error of the probabilities."""
    skill: Estimate
    """1 minus the Brier score divided by that of the list's own share of pairs that share a theme."""
    predicted: tuple[float, ...]
    """Mean probability in each tenth of the pairs, from the lowest probabilities to the highest."""
    observed: tuple[float, ...]
    """Share of pairs in each tenth that share a theme."""


def fit_calibration(kinds: Sequence[Sequence[KnownList]], seed: int) -> PairCalibration:
    """Fit all coefficients on lists of one or more kinds, such as articles and mixtures.

    Every kind has the same weight, and every list of a kind. The log-odds are a logistic regression; the number of
    themes minimises the absolute error of its logarithm. Raises :class:`themescope.core.errors.DataError` without
    lists.
    """
    if not kinds or not all(kinds):
        raise DataError("A calibration needs at least one list with known themes of every kind.")
    random = np.random.default_rng(seed)
    rows, labels, weights, effective, counts, shares = [], [], [], [], [], []
    for lists in kinds:
        for item in lists:
            z, themes, same = _sampled(item, random)
            rows.append(np.stack([z, np.full(len(z), themes), z * themes], axis=1))
            labels.append(same)
            weights.append(np.full(len(z), 1 / (len(z) * len(lists))))
            effective.append(themes)
            counts.append(np.log(int(item.truth.max()) + 1))
            shares.append(1 / len(lists))
    weight = np.concatenate(weights)
    model = LogisticRegression(C=1e3, max_iter=1_000)
    model.fit(np.concatenate(rows), np.concatenate(labels), sample_weight=weight / weight.mean())
    x, y, share = np.array(effective), np.array(counts), np.array(shares)
    errors = lambda p: np.abs(np.log1p(np.exp(p[0] + p[1] * x)) - y)  # noqa: E731
    found = minimize(lambda p: float(share @ errors(p)), [0.0, 1.0], method="Nelder-Mead").x
    standardised, themes, interaction = model.coef_[0].tolist()
    fitted = {
        "intercept": model.intercept_[0], "standardised": standardised, "themes": themes, "interaction": interaction,
        "count_intercept": found[0], "count_slope": np.clip(found[1], 0, 5),
        "count_error": np.quantile(errors(found), 0.9),
    }  # fmt: skip
    return PairCalibration(**{name: round(float(value), _DECIMALS) for name, value in fitted.items()})


def brier_scores(lists: Sequence[KnownList], calibration: PairCalibration, seed: int) -> PairQuality:
    """Measure the pair probabilities of ``lists`` on at most 4,000 random pairs each."""
    random = np.random.default_rng(seed)
    scores, skills, every, hits = [], [], [], []
    for item in lists:
        z, themes, same = _sampled(item, random)
        slope = calibration.standardised + calibration.interaction * themes
        p = expit(calibration.intercept + calibration.themes * themes + slope * z)
        scores.append(float(np.mean((p - same) ** 2)))
        base = float(same.mean() * (1 - same.mean()))
        skills.append(1 - scores[-1] / base if base else 0.0)
        every.append(p)
        hits.append(same)
    p, same = np.concatenate(every), np.concatenate(hits)
    tenths = np.array_split(np.argsort(p, kind="stable"), _BINS)
    return PairQuality(
        bootstrap_mean(np.array(scores), seed=seed), bootstrap_mean(np.array(skills), seed=seed),
        tuple(float(p[t].mean()) for t in tenths), tuple(float(same[t].mean()) for t in tenths),
    )  # fmt: skip


def _sampled(item: KnownList, random: np.random.Generator) -> tuple[Floats, float, npt.NDArray[np.bool_]]:
    """Return standardised cosines of random pairs, ln of the effective number of themes, and whether themes agree."""
    cosines = centred_cosines(item.vectors)
    first, second = np.triu_indices(len(cosines), 1)
    values = cosines[first, second]
    taken = random.permutation(len(values))[:_PAIRS]
    z = (values[taken] - values.mean()) / max(float(values.std()), 1e-9)
    return z, float(np.log(effective_themes(item.vectors))), item.truth[first[taken]] == item.truth[second[taken]]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Sentences of a collection with their vectors and the name of their theme."""

    names: Sequence[str]
    texts: Sequence[str]
    vectors: Floats

    def draws(self, count: int, half: int | None, seed: int) -> list[KnownList]:
        """Return ``count`` lists of the sentences of 2 or more themes of one half, or of all for None."""
        themes = np.unique(self.names)
        chosen = themes[[half is None or bucket(str(name)) == half for name in themes]]
        random = np.random.default_rng(seed)
        return [self.only(random.permutation(chosen)[: random.integers(2, len(chosen) + 1)]) for _ in range(count)]

    def only(self, themes: Sequence[str] | npt.NDArray[np.str_]) -> KnownList:
        """Return the list of all sentences of ``themes``."""
        rows = np.flatnonzero(np.isin(self.names, themes))
        truth = np.unique(np.asarray(self.names)[rows], return_inverse=True)[1]
        return KnownList(self.vectors[rows], truth, [self.texts[row] for row in rows.tolist()])


def bucket(name: str) -> int:
    """Return 0 for the validation half and 1 for the test half."""
    return hashlib.blake2b(name.encode(), digest_size=4).digest()[-1] % 2


def claims(folder: Path, encode: Encode) -> Labelled:
    """Return the claims with their motions."""
    with gzip.open(folder / "claims.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    texts = [row[2] for row in rows]
    return Labelled([row[0] for row in rows], texts, encode(texts))


def articles(path: Path, encode: Encode) -> list[KnownList]:
    """Return the articles of a file as lists."""
    found = [sections for _, sections in json.loads(path.read_text(encoding="utf-8"))]
    vectors, lists, start = encode([text for sections in found for section in sections for text in section]), [], 0
    for sections in found:
        texts = [text for section in sections for text in section]
        truth = np.repeat(np.arange(len(sections)), [len(section) for section in sections])
        lists.append(KnownList(vectors[start : start + len(texts)], truth, texts))
        start += len(texts)
    return lists


def clustered(item: KnownList, ks: Sequence[int], shared: float) -> list[float]:
    """Return the AMI (max) of Iclust on vectors and shared words at each of ``ks``; equal ones are computed once."""
    sentences = [Sentence(text, position=i) for i, text in enumerate(item.texts)]
    joined = concatenate_with_tfidf([item.vectors.astype(np.float32)], sentences, shared)
    similarity = cosine_matrix(checked(joined, 1)[0])
    scores = {k: AMI.score(item.truth, best_partition(similarity, k, IclustConfig(restarts=3), 0)[0]) for k in set(ks)}
    return [scores[k] for k in ks]


def compare(name: str, lists: Sequence[KnownList], calibration: PairCalibration) -> None:
    """Print a row."""
    truth = np.array([int(item.truth.max()) + 1 for item in lists])
    found = [suggest(item.vectors, calibration, _MOST, 0) for item in lists]
    k, low, high = np.array([(one.k, one.low, one.high) for one in found]).T
    amis = np.array([clustered(item, ks, calibration.shared) for item, *ks in zip(lists, truth, k, strict=True)])
    error, random = np.abs(k / truth - 1), np.random.default_rng(0)
    resampled = np.median(error[random.integers(0, len(error), (_RESAMPLES, len(error)))], axis=1)
    ends, inside = np.quantile(resampled, [0.025, 0.975]), np.mean((low <= truth) & (truth <= high))
    print(f"| {name} | {len(lists)} | {np.median(error):.2f} [{ends[0]:.2f}, {ends[1]:.2f}] | "
          f"{np.median(k / truth):.2f} | {inside:.2f} | {amis[:, 0].mean():.3f} | {amis[:, 1].mean():.3f} |",
          flush=True)  # fmt: skip


def calibrated(name: str, lists: Sequence[KnownList], calibration: PairCalibration) -> None:
    """Print the quality of the pair probabilities."""
    found = brier_scores(lists, calibration, 0)
    means = [f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]" for e in (found.brier, found.skill)]
    curve = [f"{p:.3f} / {o:.3f}" for p, o in zip(found.predicted, found.observed, strict=True)]
    print(f"| {' | '.join([name, str(len(lists)), *means, *curve])} |", flush=True)


def main() -> None:
    """Run the comparison and print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--validation", type=Path)
    parser.add_argument("--test", type=Path)
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--fit", type=Path, help="folder of the model to write the calibration to")
    wanted = parser.parse_args()
    encode, draws = load(wanted.model).encode, wanted.draws
    motions = claims(wanted.claims, encode)
    calibration = load_calibration(model_folder(wanted.model))
    if wanted.fit:
        fitted = [motions.draws(draws, 0, 0), articles(wanted.validation, encode) if wanted.validation else []]
        found = fit_calibration([lists for lists in fitted if lists], 0)
        calibration = replace(found, shared=calibration.shared)
        save_calibration(wanted.fit, calibration)
    print(calibration, flush=True)
    lists = {"articles, test": articles(wanted.test, encode)} if wanted.test else {}
    lists |= {
        "motions, test half": motions.draws(draws, 1, 1),
        "motions, both parts": motions.draws(draws, None, 2),
        "all motions": [motions.only(np.unique(motions.names))],
    }
    tenths = " | ".join(f"tenth {number}" for number in range(1, 11))
    print(f"\n| lists | n | Brier score | skill | {tenths} |\n|{' --- |' * 14}")
    for name, kept in lists.items():
        calibrated(name, kept, calibration)
    print("\n| lists | n | relative error | ratio | in the interval | AMI, true number | AMI, this number |")
    print(f"|{' --- |' * 7}")
    for name, kept in lists.items():
        compare(name, kept, calibration)


if __name__ == "__main__":
    main()
