"""Compare estimates of the number of themes on draws of debate motions and on articles.

    python -m benchmarks.theme_counts FOLDER --model NAME --draws 50
    python -m benchmarks.theme_counts FOLDER --vectors a.npy --articles articles.json --article-vectors b.npy

FOLDER contains ``claims.tsv.gz`` with the columns motion, claim, corrected claim (IBM Debater, EMNLP 2015). Motions are
divided into two parts by a hash of their names: ``validation`` for fitting and choosing, ``test`` for reporting. A
draw has a uniform number of motions with all their claims. ``--articles`` is a JSON list of [title, [[sentence, …], …]]
with one list a section, and its vectors in that order; articles are divided by a hash of their titles. The table has,
for each method, the median relative error of the number, the median ratio to the true number, and the AMI (max) of
Iclust at that number divided by its AMI at the true number. ``--fit FOLDER`` fits the calibration on the validation
parts and writes it there; without it the default coefficients are used, which were fitted on another division of the
same motions and articles, so that the test parts are then not unseen.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from core.clustering import REGISTRY as CLUSTERERS
from core.clustering.iclust import IclustConfig, best_partition
from core.clustering.inputs import cosine_matrix
from core.clustering.pairs import DEFAULT_CALIBRATION, PairCalibration
from core.metrics import REGISTRY as METRICS
from core.protocols import SILENT
from core.tasks.pair_calibration import KnownList, brier_scores, fit_calibration, save_calibration
from core.tasks.theme_counts import measure, silhouette, suggest

_TRIED = (*range(2, 13), 14, 16, 18, 20, 23, 26, 30, 35, 40, 46, 52, 58, 66, 75)
_MOST = 200
Estimate = Callable[[KnownList], int]


def bucket(name: str) -> int:
    """Return 0 for the validation half and 1 for the test half."""
    return hashlib.blake2b(name.encode(), digest_size=4).digest()[-1] % 2


def draws(
    names: Sequence[str], vectors: npt.NDArray[np.float32], count: int, half: int | None, seed: int
) -> list[KnownList]:
    """Return ``count`` lists of the claims of 2 or more motions of one half, or of both for None."""
    motions, groups = np.unique(names, return_inverse=True)
    chosen = np.flatnonzero([half is None or bucket(str(name)) == half for name in motions])
    random, found = np.random.default_rng(seed), []
    for _ in range(count):
        picked = random.permutation(chosen)[: int(random.integers(2, len(chosen) + 1))]
        rows = np.flatnonzero(np.isin(groups, picked))
        found.append(KnownList(vectors[rows], np.unique(groups[rows], return_inverse=True)[1]))
    return found


def articles(path: Path, vectors: npt.NDArray[np.float32], half: int) -> list[KnownList]:
    """Return the articles of one half as lists."""
    found, start = [], 0
    for title, sections in json.loads(path.read_text(encoding="utf-8")):
        truth = np.repeat(np.arange(len(sections)), [len(section) for section in sections])
        if bucket(title) == half:
            found.append(KnownList(vectors[start : start + len(truth)], truth))
        start += len(truth)
    return found


def by_silhouette(item: KnownList) -> int:
    """Return the number of Ward clusters with the highest silhouette."""
    from scipy.cluster.hierarchy import cut_tree, linkage

    ks = [k for k in _TRIED if k <= max(len(item.truth) // 3, 2)]
    unit = item.vectors / np.maximum(np.linalg.norm(item.vectors, axis=1, keepdims=True), 1e-9)
    cuts = cut_tree(linkage(unit, "ward"), n_clusters=ks)
    return ks[int(np.argmax([silhouette(item.vectors, cuts[:, i].astype(np.int32), k) for i, k in enumerate(ks)]))]


def by_hdbscan(item: KnownList) -> int:
    """Return the number of HDBSCAN clusters of unit vectors with at least 5 sentences, at least 1."""
    from sklearn.cluster import HDBSCAN

    unit = item.vectors / np.maximum(np.linalg.norm(item.vectors, axis=1, keepdims=True), 1e-9)
    return max(int(HDBSCAN(min_cluster_size=5, copy=True).fit_predict(unit).max()) + 1, 1)


def by_curves(item: KnownList) -> int:
    """Return the choice of version 0.1: the mean vote of silhouette, bend of the gain, and stability up to 30."""
    rows = np.sort(np.random.default_rng(0).permutation(len(item.truth))[:1_000])
    ks = [k for k in _TRIED if k <= min(max(len(rows) // 3, 2), 30)]
    if len(ks) < 2:
        return ks[0]
    curves = measure(item.vectors[rows], ks, 5, 0, SILENT)
    gains, costs = np.array(curves.gain), np.log(ks)
    bend = gains - np.interp(costs, costs[[0, -1]], gains[[0, -1]])
    votes = [np.array(curves.silhouette), bend, np.array(curves.stability)]
    return ks[int(np.argmax(sum((v - v.min()) / max(np.ptp(v), 1e-12) for v in votes)))]


def by_correlation(item: KnownList) -> int:
    """Return the number of clusters of correlation clustering."""
    return int(CLUSTERERS.build("correlation").fit_predict(item.vectors, None, 0).max()) + 1


def by_spectrum(calibration: PairCalibration) -> Estimate:
    """Return the estimator of this project with a calibration."""
    return lambda item: suggest(item.vectors, calibration, _MOST, 0).k


def table(name: str, lists: Sequence[KnownList], methods: dict[str, Estimate], scored: int) -> None:
    """Print a row for each method; AMI is computed on the first ``scored`` lists."""
    metric = METRICS.build("ami")
    truth = np.array([item.truth.max() + 1 for item in lists], float)
    cached: dict[tuple[int, int], float] = {}

    def ami(number: int, k: int) -> float:
        if (number, k) not in cached:
            item = lists[number]
            labels = best_partition(cosine_matrix(item.vectors.astype(np.float64)), k, IclustConfig(restarts=3), 0)[0]
            cached[number, k] = metric.score(item.truth, labels)
        return cached[number, k]

    for method, estimate in methods.items():
        begun = time.monotonic()
        found = np.array([estimate(item) for item in lists], float)
        seconds = (time.monotonic() - begun) / len(lists)
        error = np.abs(found / truth - 1)
        means = [np.median(error[np.random.default_rng(i).integers(0, len(error), len(error))]) for i in range(2_000)]
        low, high = np.quantile(means, [0.025, 0.975])
        numbers = range(min(scored, len(lists)))
        own, best = (np.mean([ami(i, int(ks[i])) for i in numbers]) if scored else np.nan for ks in (found, truth))
        print(f"| {name} | {len(lists)} | {method} | {np.median(error):.2f} [{low:.2f}, {high:.2f}] | "
              f"{np.median(found / truth):.2f} | {own / best:.2f} | {seconds:.1f} |", flush=True)  # fmt: skip


def main() -> None:
    """Run the comparison and print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--articles", type=Path)
    parser.add_argument("--article-vectors", type=Path)
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--scored", type=int, default=50, help="lists of a kind to compute AMI on")
    parser.add_argument("--fit", type=Path, help="folder of the model to write the calibration to")
    parser.add_argument("--methods", nargs="*", help="methods to compare; all by default")
    wanted = parser.parse_args()
    with gzip.open(wanted.data / "claims.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines][1:]
    names = [row[0] for row in rows]
    if wanted.vectors:
        vectors = np.load(wanted.vectors)
    else:
        from core import load

        vectors = np.asarray(load(wanted.model).encode([row[2] for row in rows]))
    lists = {"motions, validation half": draws(names, vectors, wanted.draws, 0, 0),
             "motions, test half": draws(names, vectors, wanted.draws, 1, 1),
             "motions, both parts": draws(names, vectors, wanted.draws, None, 2)}  # fmt: skip
    if wanted.articles:
        found = np.load(wanted.article_vectors)
        lists |= {
            f"articles, {n} half": articles(wanted.articles, found, h) for h, n in enumerate(("validation", "test"))
        }
    calibration = DEFAULT_CALIBRATION
    if wanted.fit:
        kinds = [kept for name, kept in lists.items() if "validation" in name]
        calibration = fit_calibration(kinds, 0)
        save_calibration(wanted.fit, calibration)
        print(calibration)
    for name, kept in lists.items():
        quality = brier_scores(kept, calibration, 0)
        skill = quality.skill
        curve = [f"{p:.3f}/{o:.3f}" for p, o in zip(quality.predicted, quality.observed, strict=True)]
        print(f"{name}: Brier {quality.brier.value:.3f}, skill {skill.value:.3f} [{skill.low:.3f}, {skill.high:.3f}], "
              f"predicted/observed {' '.join(curve)}", flush=True)  # fmt: skip
    methods: dict[str, Estimate] = {
        "spectrum": by_spectrum(calibration), "silhouette": by_silhouette, "hdbscan": by_hdbscan,
        "correlation": by_correlation, "curves": by_curves,
    }  # fmt: skip
    print(
        "| lists | n | method | relative error | ratio | AMI ratio | s |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    for name, kept in lists.items():
        table(
            name, kept, {m: f for m, f in methods.items() if not wanted.methods or m in wanted.methods}, wanted.scored
        )


if __name__ == "__main__":
    main()
