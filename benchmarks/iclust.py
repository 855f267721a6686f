"""Iclust with ten starts beside scikit-learn's KMeans(n_init=10) and sIB with ten starts, in one run.

    python -m benchmarks.iclust --articles 692 --dim 600
    python -m benchmarks.iclust --articles 0 --many 20000

Articles have the sizes of the Sentence Clustering Benchmark (K about 8, N about 67); their vectors are noisy clusters
and their words are drawn from themes (sIB clusters words, so that its AMI is no comparison with the others), or they
are those of a .npz file with arrays ``vectors`` (n, dim), ``starts`` (m + 1,) and ``truth`` (n,), then without sIB.
All run on one thread. The goal is a ratio of at most 0.1. ``--many`` clusters that many sentences at once in blocks.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from core.clustering import REGISTRY
from core.clustering.iclust import objective
from core.clustering.inputs import unit_rows
from core.metrics import REGISTRY as METRICS
from core.types import Matrix

Labels = npt.NDArray[np.int32]
Article = tuple[Matrix, Labels]
Method = Callable[[Matrix, int], Labels]


def synthetic(articles: int, dim: int, seed: int = 0) -> list[Article]:
    """Articles with lognormal cluster sizes and clusters that overlap about as much as real ones."""
    rng = np.random.default_rng(seed)
    made: list[Article] = []
    for _ in range(articles):
        sizes = 3 + np.floor(rng.lognormal(1.1, 1.0, size=rng.integers(5, 13))).astype(int)
        truth = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
        centres = rng.normal(size=(len(sizes), dim)) * 0.18 + rng.normal(size=dim)
        made.append(((centres[truth] + rng.normal(size=(len(truth), dim))).astype(np.float32), truth))
    return made


def with_words(articles: list[Article], seed: int = 0) -> list[Article]:
    """The same articles as counts: 20 words a sentence, three in ten from its theme's 40, the others common."""
    rng = np.random.default_rng(seed)
    made: list[Article] = []
    for _, truth in articles:
        own = rng.random((len(truth), 20)) < 0.3
        words = np.where(own, 1_000 + 40 * truth[:, None] + rng.integers(40, size=own.shape),
                         rng.zipf(1.3, size=own.shape) % 1_000)  # fmt: skip
        starts = np.arange(0, words.size + 1, words.shape[1])
        counts = sparse.csr_array((np.ones(words.size), words.ravel(), starts), shape=(len(truth), 2_000))
        counts.sum_duplicates()
        made.append((counts, truth))
    return made


def from_file(path: Path) -> list[Article]:
    """Articles of a .npz file."""
    with np.load(path, allow_pickle=False) as file:
        vectors, starts, truth = file["vectors"], file["starts"], file["truth"]
    return [(vectors[a:b], truth[a:b]) for a, b in pairwise(starts)]


def main() -> None:
    """Print seconds, ratio and AMI."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--articles", type=int, default=200)
    parser.add_argument("--dim", type=int, default=600)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--many", type=int, default=0)
    args = parser.parse_args()
    articles = from_file(args.vectors) if args.vectors else synthetic(args.articles, args.dim)
    with threadpool_limits(limits=1):
        if articles:
            beside(articles, [] if args.vectors else with_words(articles), args.repeats)
        if args.many:
            at_once(args.many, args.dim)


def beside(articles: list[Article], words: list[Article], repeats: int) -> None:
    """Every clusterer over all articles."""
    sentences = np.mean([len(truth) for _, truth in articles])
    clusters = np.mean([len(np.unique(truth)) for _, truth in articles])
    print(f"{len(articles)} articles, {sentences:.1f} sentences and {clusters:.2f} clusters an article")
    ours, ours_ami = measure(articles, registered("iclust"), repeats)
    theirs, theirs_ami = measure(articles, kmeans, 1)
    rows = [("Iclust R=10", ours, ours_ami), ("scikit-learn KMeans(n_init=10)", theirs, theirs_ami)]
    if words:
        rows.append(("sib-clustering n_init=10, words", *measure(words, registered("sib"), 1)))
    rows += [(id, *measure(articles, registered(id), 1)) for id in ("ward", "spectral")]
    for title, seconds, ami in rows:
        print(f"{title:32}{seconds:8.3f} s   AMI {ami:.3f}")
    print(f"Iclust / KMeans {ours / theirs:.4f} (goal: at most 0.1)")


def at_once(n: int, dim: int) -> None:
    """Iclust in blocks over ``n`` sentences of 20 themes, one start, beside the size of the matrix it does without."""
    rng = np.random.default_rng(0)
    truth = rng.integers(20, size=n).astype(np.int32)
    x = (0.18 * rng.normal(size=(20, dim))[truth] + rng.normal(size=(n, dim))).astype(np.float32)
    clusterer = REGISTRY.build("iclust-blocks", {"restarts": 1})
    clusterer.fit_predict(x[:200], 2, 0)
    tracemalloc.start()
    start = time.perf_counter()
    labels = clusterer.fit_predict(x, 20, 0)
    seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    unit = unit_rows(x.astype(np.float64))
    print(f"{n:,} sentences at once, 20 clusters, blocks of 2,000: {seconds:.1f} s, AMI "
          f"{METRICS.build('ami').score(truth, labels):.3f}, F {objective(unit, labels, 20):.5f} "
          f"(true themes {objective(unit, truth, 20):.5f}), peak {peak / 2**20:,.0f} MiB above the vectors "
          f"(vectors {x.nbytes / 2**20:,.0f} MiB, whole matrix {8 * n * n / 2**20:,.0f} MiB)")  # fmt: skip


def registered(id: str) -> Method:
    """A clusterer of ours with its default settings; similarities are part of the work."""
    return lambda vectors, k: REGISTRY.build(id).fit_predict(vectors, k, 0)


def kmeans(vectors: Matrix, k: int) -> Labels:
    """Labels by scikit-learn on unit vectors."""
    return KMeans(k, n_init=10, random_state=0).fit_predict(unit_rows(vectors)).astype(np.int32)


def measure(articles: list[Article], method: Method, repeats: int) -> tuple[float, float]:
    """Median seconds over all articles, and mean AMI; compiled code is warmed up before."""
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
