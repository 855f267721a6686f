"""Compare Iclust with 10 restarts with scikit-learn's KMeans(n_init=10).

    python -m benchmarks.iclust --articles 692 --dim 600
    python -m benchmarks.iclust --articles 0 --many 20000 --dim 384 --repeats 5

Synthetic articles have the sizes of the Sentence Clustering Benchmark (K about 8, N about 67), vectors in noisy
clusters. Everything runs on one thread. The goal is a time ratio of at most 0.1. ``--many`` clusters one large input in
blocks, beside MiniBatchKMeans, with a goal of at most 5 times its CPU seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans, MiniBatchKMeans
from threadpoolctl import threadpool_limits

from benchmarks._shared import AMI, timed
from themescope.core.clustering import REGISTRY
from themescope.core.clustering.iclust import objective
from themescope.core.clustering.inputs import unit_rows
from themescope.core.types import Matrix

Labels = npt.NDArray[np.int32]
Article = tuple[Matrix, Labels]
Method = Callable[[Matrix, int], Labels]


def synthetic(articles: int, dim: int, seed: int = 0) -> list[Article]:
    """Return articles with log-normal cluster sizes and clusters that overlap about as much as real ones."""
    rng = np.random.default_rng(seed)
    result: list[Article] = []
    for _ in range(articles):
        sizes = 3 + np.floor(rng.lognormal(1.1, 1.0, size=rng.integers(5, 13))).astype(int)
        truth = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
        centres = rng.normal(size=(len(sizes), dim)) * 0.18 + rng.normal(size=dim)
        result.append(((centres[truth] + rng.normal(size=(len(truth), dim))).astype(np.float32), truth))
    return result


def main() -> None:
    """Print time, time ratio and AMI."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--articles", type=int, default=200)
    parser.add_argument("--dim", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--many", type=int, default=0, help="sentences to cluster in blocks")
    args = parser.parse_args()
    articles = synthetic(args.articles, args.dim)
    with threadpool_limits(limits=1):
        if articles:
            compare(articles, args.repeats)
        if args.many:
            cluster_in_blocks(args.many, args.dim, args.repeats)


def compare(articles: list[Article], repeats: int) -> None:
    """Print time and AMI of every clusterer on all articles."""
    sentences = np.mean([len(truth) for _, truth in articles])
    clusters = np.mean([len(np.unique(truth)) for _, truth in articles])
    print(f"{len(articles)} articles, {sentences:.1f} sentences and {clusters:.2f} clusters per article")
    iclust = REGISTRY.build("iclust")
    ours = measure(articles, lambda vectors, k: iclust.fit_predict(vectors, k, 0), repeats)
    theirs = measure(articles, kmeans, 1)
    for title, (seconds, ami) in (("Iclust R=10", ours), ("scikit-learn KMeans(n_init=10)", theirs)):
        print(f"{title:32}{seconds:8.3f} s   AMI {ami:.3f}")
    print(f"Iclust / KMeans {ours[0] / theirs[0]:.4f} (goal: at most 0.1)")


def cluster_in_blocks(n: int, dim: int, repeats: int) -> None:
    """Print CPU seconds, AMI and F on ``n`` sentences of 20 themes, beside MiniBatchKMeans."""
    rng = np.random.default_rng(0)
    truth = rng.integers(20, size=n).astype(np.int32)
    x = (0.18 * rng.normal(size=(20, dim))[truth] + rng.normal(size=(n, dim))).astype(np.float32)
    unit = unit_rows(x.astype(np.float64))
    blocks = REGISTRY.build("iclust-blocks")
    mini_batch = MiniBatchKMeans(20, n_init=3, random_state=0)
    blocks.fit_predict(x[:200], 2, 0)
    print(f"{n:,} sentences, 20 clusters: F of the true themes {objective(unit, truth, 20):.5f}")
    rows: dict[str, Callable[[], Labels]] = {
        "iclust-blocks": lambda: blocks.fit_predict(x, 20, 0),
        "MiniBatchKMeans(n_init=3)": lambda: mini_batch.fit_predict(unit.astype(np.float32)),
    }
    seconds = {}
    for title, cluster in rows.items():
        runs = [timed(cluster) for _ in range(repeats)]
        labels, seconds[title] = runs[-1][0], float(np.median([processor for _, _, processor in runs]))
        ami, found = AMI.score(truth, labels), objective(unit, labels, 20)
        print(f"{title:32}{seconds[title]:8.2f} CPU s   AMI {ami:.3f}   F {found:.5f}")
    ratio = seconds["iclust-blocks"] / seconds["MiniBatchKMeans(n_init=3)"]
    print(f"ratio {ratio:.1f} (goal: at most 5)")


def kmeans(vectors: Matrix, k: int) -> Labels:
    """Return the labels of scikit-learn's KMeans on unit vectors."""
    return KMeans(k, n_init=10, random_state=0).fit_predict(unit_rows(vectors)).astype(np.int32)


def measure(articles: list[Article], method: Method, repeats: int) -> tuple[float, float]:
    """Return the median time in seconds for all articles, and the mean AMI; an untimed call compiles first."""
    method(articles[0][0], 3)
    runs = [timed(lambda: [method(x, len(np.unique(truth))) for x, truth in articles]) for _ in range(repeats)]
    scores = [AMI.score(truth, predicted) for (_, truth), predicted in zip(articles, runs[-1][0], strict=True)]
    return float(np.median([wall for _, wall, _ in runs])), float(np.mean(scores))


if __name__ == "__main__":
    main()
