"""Compare estimates of the number of themes on debate motions, on articles and on newsgroups.

    python -m benchmarks.theme_counts CLAIMS --model NAME --validation a.json --test b.json --newsgroups FOLDER

CLAIMS is a folder with ``claims.tsv.gz``, which has the columns motion, claim, corrected claim (IBM Debater, EMNLP
2015). A draw has a uniform number of motions with all their claims. FOLDER has the test messages of 20 Newsgroups as
JSON lines; a draw has a uniform number of groups with 100 messages each. Motions are divided into two parts by a hash
of their names. ``--validation`` and ``--test`` are JSON lists of [title, [[sentence, …], …]] with one list a section.
``--vectors FOLDER`` keeps the vectors for the next run.

The calibration is that of the model. ``--fit FOLDER`` fits it on the validation half of the motions and on the
validation articles, and writes it into the folder of the model; the other lists have no part in it.

Two tables are printed. Pair probabilities: Brier score, skill against the share of the list, and the mean probability
and observed share in each tenth of the pairs. Numbers of themes: median relative error with its interval over the
lists, median ratio to the true number, share of the lists whose true number is in the suggested interval, and the mean
AMI (max) of Iclust on the vectors and shared words, as in Themes, at the true number and at that of the method.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks._pair_calibration import KnownList, brier_scores, fit_calibration
from themescope import load
from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.clustering.iclust import IclustConfig, best_partition
from themescope.core.clustering.inputs import checked, cosine_matrix
from themescope.core.clustering.pairs import PairCalibration
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.models.base import unit_length
from themescope.core.models.composite.hybrid import concatenate_with_tfidf
from themescope.core.paths import model_folder
from themescope.core.readers import REGISTRY as READERS
from themescope.core.tasks.density import load_calibration, measure, save_calibration, silhouette, suggest
from themescope.core.types import SILENT, Sentence

_TRIED = (*range(2, 13), 14, 16, 18, 20, 23, 26, 30, 35, 40, 46, 52, 58, 66, 75)
_MOST, _MOST_OF_0_1 = 200, 30
_MESSAGES, _SHORTEST, _LONGEST = 100, 80, 1_000  # messages of a group; characters of a message
_RESAMPLES = 2_000
Floats = npt.NDArray[np.floating]
Suggested = tuple[int, int, int]
"""Number of themes with the ends of its interval, which are the number itself for a method without one."""
Estimate = Callable[[KnownList], Suggested]
Encode = Callable[[Sequence[str]], Floats]


@dataclass(frozen=True, slots=True)
class TextList:
    """Sentences with their vectors and known themes."""

    texts: Sequence[str]
    known: KnownList


@dataclass(frozen=True, slots=True)
class Labelled:
    """Sentences of a collection with their vectors and the name of their theme."""

    names: Sequence[str]
    texts: Sequence[str]
    vectors: Floats

    def draws(self, count: int, half: int | None, seed: int) -> list[TextList]:
        """Return ``count`` lists of the sentences of 2 or more themes of one half, or of all for None."""
        themes = np.unique(self.names)
        chosen = themes[[half is None or bucket(str(name)) == half for name in themes]]
        random = np.random.default_rng(seed)
        return [self.only(random.permutation(chosen)[: random.integers(2, len(chosen) + 1)]) for _ in range(count)]

    def only(self, themes: Sequence[str] | npt.NDArray[np.str_]) -> TextList:
        """Return the list of all sentences of ``themes``."""
        rows = np.flatnonzero(np.isin(self.names, themes))
        truth = np.unique(np.asarray(self.names)[rows], return_inverse=True)[1]
        return TextList([self.texts[row] for row in rows.tolist()], KnownList(self.vectors[rows], truth))


def bucket(name: str) -> int:
    """Return 0 for the validation half and 1 for the test half."""
    return hashlib.blake2b(name.encode(), digest_size=4).digest()[-1] % 2


def encoder(model: str, folder: Path | None) -> Encode:
    """Return a function that encodes sentences and keeps their vectors in ``folder``."""

    def encode(texts: Sequence[str]) -> Floats:
        digest = hashlib.blake2b("\n".join(texts).encode(), digest_size=8).hexdigest()
        path = folder / f"{model}-{digest}.npy" if folder else None
        if path and path.is_file():
            kept: Floats = np.load(path)
            return kept
        vectors: Floats = np.asarray(load(model).encode(texts))
        if path:
            np.save(path, vectors)
        return vectors

    return encode


def claims(folder: Path, encode: Encode) -> Labelled:
    """Return the claims with their motions."""
    with gzip.open(folder / "claims.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    texts = [row[2] for row in rows]
    return Labelled([row[0] for row in rows], texts, encode(texts))


def articles(path: Path, encode: Encode) -> list[TextList]:
    """Return the articles of a file as lists."""
    found = [sections for _, sections in json.loads(path.read_text(encoding="utf-8"))]
    vectors, lists, start = encode([text for sections in found for section in sections for text in section]), [], 0
    for sections in found:
        texts = [text for section in sections for text in section]
        truth = np.repeat(np.arange(len(sections)), [len(section) for section in sections])
        lists.append(TextList(texts, KnownList(vectors[start : start + len(texts)], truth)))
        start += len(texts)
    return lists


def messages(folder: Path, encode: Encode) -> Labelled:
    """Return the beginnings of 100 random messages of every newsgroup."""
    every: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*-test.jsonl*")):
        for article in READERS.build("newsgroups").read(path, SILENT):
            text = " ".join(" ".join(p.text.split()) for section in article.sections for p in section.paragraphs)
            if len(text) >= _SHORTEST:
                every.setdefault(article.topic, []).append(text[:_LONGEST])
    random, groups, texts = np.random.default_rng(0), [], []
    for group, found in sorted(every.items()):
        taken = sorted(random.permutation(len(found))[:_MESSAGES])
        groups += [group] * len(taken)
        texts += [found[number] for number in taken]
    return Labelled(groups, texts, encode(texts))


def by_silhouette(item: KnownList) -> Suggested:
    """Return the number of Ward clusters with the highest silhouette."""
    from scipy.cluster.hierarchy import cut_tree, linkage

    x, ks = item.vectors, [k for k in _TRIED if k <= max(len(item.truth) // 3, 2)]
    cuts = cut_tree(linkage(unit_length(x), "ward"), n_clusters=ks).astype(np.int32)
    k = ks[int(np.argmax([silhouette(x, cuts[:, number], k) for number, k in enumerate(ks)]))]
    return k, k, k


def by_hdbscan(item: KnownList) -> Suggested:
    """Return the number of HDBSCAN clusters of unit vectors with at least 5 sentences, at least 1."""
    from sklearn.cluster import HDBSCAN

    distances = np.sqrt(np.maximum(2 - 2 * cosine_matrix(item.vectors.astype(np.float64)), 0))
    np.fill_diagonal(distances, 0)
    k = max(int(HDBSCAN(min_cluster_size=5, metric="precomputed", copy=True).fit_predict(distances).max()) + 1, 1)
    return k, k, k


def by_curves(item: KnownList) -> Suggested:
    """Return the choice of version 0.1: the mean vote of silhouette, bend of the gain, and stability up to 30."""
    rows = np.sort(np.random.default_rng(0).permutation(len(item.truth))[:1_000])
    ks = [k for k in _TRIED if k <= min(max(len(rows) // 3, 2), _MOST_OF_0_1)]
    curves = measure(item.vectors[rows], ks, 5, 0, SILENT)
    gains, costs = np.array(curves.gain), np.log(ks)
    bend = gains - np.interp(costs, costs[[0, -1]], gains[[0, -1]])
    votes = [np.array(curves.silhouette), bend, np.array(curves.stability)]
    k = ks[int(np.argmax(sum((v - v.min()) / max(np.ptp(v), 1e-12) for v in votes)))]
    return k, k, k


def by_correlation(item: KnownList) -> Suggested:
    """Return the number of clusters of correlation clustering."""
    k = int(CLUSTERERS.build("correlation").fit_predict(item.vectors, None, 0).max()) + 1
    return k, k, k


def by_spectrum(calibration: PairCalibration) -> Estimate:
    """Return the estimator of this project with a calibration."""

    def estimate(item: KnownList) -> Suggested:
        found = suggest(item.vectors, calibration, _MOST, 0)
        return found.k, found.low, found.high

    return estimate


def clustered(item: TextList, ks: Sequence[int], shared: float) -> list[float]:
    """Return the AMI (max) of Iclust on vectors and shared words at each of ``ks``; equal ones are computed once."""
    sentences = [Sentence(text, position=i) for i, text in enumerate(item.texts)]
    joined = concatenate_with_tfidf([item.known.vectors.astype(np.float32)], sentences, shared)
    similarity, metric = cosine_matrix(checked(joined, 1)[0]), METRICS.build("ami")
    scores = {
        k: metric.score(item.known.truth, best_partition(similarity, k, IclustConfig(restarts=3), 0)[0])
        for k in set(ks)
    }
    return [scores[k] for k in ks]


def compare(name: str, lists: Sequence[TextList], methods: Mapping[str, Estimate], shared: float) -> None:
    """Print a row for each method."""
    truth = np.array([int(item.known.truth.max()) + 1 for item in lists])
    found, seconds = [], []
    for estimate in methods.values():
        begun = time.process_time()
        found.append(np.array([estimate(item.known) for item in lists]))
        seconds.append((time.process_time() - begun) / len(lists))
    tried = np.stack([truth, *(rows[:, 0] for rows in found)], axis=1)
    amis = np.array([clustered(item, ks, shared) for item, ks in zip(lists, tried.tolist(), strict=True)])
    for number, (method, rows) in enumerate(zip(methods, found, strict=True)):
        k, low, high = rows.T
        error, random = np.abs(k / truth - 1), np.random.default_rng(0)
        resampled = np.median(error[random.integers(0, len(error), (_RESAMPLES, len(error)))], axis=1)
        ends = np.quantile(resampled, [0.025, 0.975])
        inside = f"{np.mean((low <= truth) & (truth <= high)):.2f}" if (low < high).any() else "–"
        ratio = np.median(amis[:, number + 1] / np.maximum(amis[:, 0], 1e-9))
        print(f"| {name} | {len(lists)} | {method} | {np.median(error):.2f} [{ends[0]:.2f}, {ends[1]:.2f}] | "
              f"{np.median(k / truth):.2f} | {inside} | {amis[:, 0].mean():.3f} | "
              f"{amis[:, number + 1].mean():.3f} | {ratio:.2f} | {seconds[number]:.2f} |", flush=True)  # fmt: skip


def calibrated(name: str, lists: Sequence[TextList], calibration: PairCalibration) -> None:
    """Print the quality of the pair probabilities."""
    found = brier_scores([item.known for item in lists], calibration, 0)
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
    parser.add_argument("--newsgroups", type=Path)
    parser.add_argument("--vectors", type=Path, help="folder of the vectors")
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--fit", type=Path, help="folder of the model to write the calibration to")
    parser.add_argument("--methods", nargs="*", help="methods to compare; all by default")
    wanted = parser.parse_args()
    encode, draws = encoder(wanted.model, wanted.vectors), wanted.draws
    motions = claims(wanted.claims, encode)
    calibration = load_calibration(model_folder(wanted.model))
    if wanted.fit:
        fitted = [motions.draws(draws, 0, 0), articles(wanted.validation, encode) if wanted.validation else []]
        found = fit_calibration([[item.known for item in lists] for lists in fitted if lists], 0)
        calibration = replace(found, shared=calibration.shared)
        save_calibration(wanted.fit, calibration)
    print(calibration, flush=True)
    lists = {"articles, test": articles(wanted.test, encode)} if wanted.test else {}
    lists |= {
        "motions, test half": motions.draws(draws, 1, 1),
        "motions, both parts": motions.draws(draws, None, 2),
        "all motions": [motions.only(np.unique(motions.names))],
    }
    if wanted.newsgroups:
        lists["newsgroups"] = messages(wanted.newsgroups, encode).draws(draws // 2, None, 3)
    tenths = " | ".join(f"tenth {number}" for number in range(1, 11))
    print(f"\n| lists | n | Brier score | skill | {tenths} |\n|{' --- |' * 14}")
    for name, kept in lists.items():
        calibrated(name, kept, calibration)
    methods: dict[str, Estimate] = {
        "spectrum": by_spectrum(calibration), "silhouette": by_silhouette, "hdbscan": by_hdbscan,
        "correlation": by_correlation, "curves of 0.1": by_curves,
    }  # fmt: skip
    chosen = {name: method for name, method in methods.items() if not wanted.methods or name in wanted.methods}
    print("\n| lists | n | method | relative error | ratio | in the interval | AMI, true number | AMI, this number | "
          f"median AMI ratio | CPU s |\n|{' --- |' * 10}")  # fmt: skip
    for name, kept in lists.items():
        compare(name, kept, chosen, calibration.shared)


if __name__ == "__main__":
    main()
