"""Iclust with ten starts beside scikit-learn's KMeans(n_init=10) on the same vectors, in one run.

    python -m benchmarks.iclust --articles 200 --dim 600

Articles have the sizes of the Sentence Clustering Benchmark (K about 8, N about 67); their vectors are noisy clusters,
or those of a .npz file with arrays ``vectors`` (n, dim), ``starts`` (m + 1,) and ``truth`` (n,).
Both run on one thread. The goal is a ratio of at most 0.1.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from core.clusterers import REGISTRY
from core.clusterers.inputs import unit_rows
from core.evaluation import REGISTRY as METRICS

Article = tuple[npt.NDArray[np.float32], npt.NDArray[np.int32]]


def synthetic(articles: int, dim: int, seed: int = 0) -> list[Article]:
    """Articles with lognormal cluster sizes and clusters that overlap about as much as real ones."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(articles):
        sizes = 3 + np.floor(rng.lognormal(1.1, 1.0, size=rng.integers(5, 13))).astype(int)
        truth = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
        centres = rng.normal(size=(len(sizes), dim)) * 0.18 + rng.normal(size=dim)
        made.append(((centres[truth] + rng.normal(size=(len(truth), dim))).astype(np.float32), truth))
    return made


def from_file(path: Path) -> list[Article]:
    """Articles of a .npz file."""
    with np.load(path, allow_pickle=False) as file:
        vectors, starts, truth = file["vectors"], file["starts"], file["truth"]
    spans = pairwise(starts)
    return [(vectors[a:b], truth[a:b]) for a, b in spans]


def main() -> None:
    """Print seconds, ratio and AMI."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--articles", type=int, default=200)
    parser.add_argument("--dim", type=int, default=600)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    articles = from_file(args.vectors) if args.vectors else synthetic(args.articles, args.dim)
    sentences = np.mean([len(truth) for _, truth in articles])
    clusters = np.mean([len(np.unique(truth)) for _, truth in articles])
    print(f"{len(articles)} articles, {sentences:.1f} sentences and {clusters:.2f} clusters an article")
    with threadpool_limits(limits=1):
        ours, ours_ami = measure(articles, iclust, args.repeats)
        theirs, theirs_ami = measure(articles, kmeans, 1)
    print(f"Iclust R=10                    {ours:8.3f} s   AMI {ours_ami:.3f}")
    print(f"scikit-learn KMeans(n_init=10) {theirs:8.3f} s   AMI {theirs_ami:.3f}")
    print(f"ratio {ours / theirs:.4f} (goal: at most 0.1)")


def iclust(vectors: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int32]:
    """Labels by Iclust; the cosine matrix is part of the work."""
    return REGISTRY.build("iclust").cluster(vectors, k, 0)


def kmeans(vectors: npt.NDArray[np.float32], k: int) -> npt.NDArray[np.int32]:
    """Labels by scikit-learn on unit vectors."""
    return KMeans(k, n_init=10, random_state=0).fit_predict(unit_rows(vectors)).astype(np.int32)


def measure(articles: list[Article], method: object, repeats: int) -> tuple[float, float]:
    """Median seconds over all articles, and mean AMI; compiled code is warmed up before."""
    assert callable(method)
    method(articles[0][0], 3)
    seconds, ami = [], METRICS.build("ami")
    for _ in range(repeats):
        start = time.perf_counter()
        labels = [method(vectors, len(np.unique(truth))) for vectors, truth in articles]
        seconds.append(time.perf_counter() - start)
    scores = [ami.score(truth, found) for (_, truth), found in zip(articles, labels, strict=True)]
    return float(np.median(seconds)), float(np.mean(scores))


if __name__ == "__main__":
    main()
