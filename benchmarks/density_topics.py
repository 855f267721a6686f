"""Compare the pipeline of BERTopic with Iclust on the articles of a stored benchmark.

    python -m benchmarks.density_topics "modern scb, full" --model "modern minilm, full, seed 0" [--articles 50]

The pipeline is UMAP followed by HDBSCAN with the defaults of BERTopic 0.17: 5 dimensions, 15 neighbours, cosine,
min_dist 0, and clusters of at least 10 sentences, found by excess of mass. It chooses the number of clusters and leaves
outliers without one. The sections of an article are smaller than the topics of a collection, so other sizes are tried
as well, and outliers are counted as a cluster of their own or given to the nearest cluster, as ``reduce_outliers`` of
BERTopic does with embeddings. UMAP followed by k-means, and Iclust, know the true number.

Benchmark and model are those of the store; ``themescope reproduce modern`` makes both. Prints AMI (max) with intervals
over the articles, seconds, and the mean numbers of clusters.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.models.base import unit_length
from themescope.core.types import Labels
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.models import find_model
from themescope.jobs.common.vectors import load_model

Floats: TypeAlias = npt.NDArray[np.float32]
Item: TypeAlias = "tuple[Labels, Floats]"
NEIGHBOURS, DIMENSIONS, LEAST_SIZES = 15, 5, (10, 5, 3)


def items_of(store: Store, benchmark: str, model: str, most: int) -> Iterator[Item]:
    """Yield the true sections and the vectors of the sentences of every article."""
    fitted, _ = load_model(store, find_model(store, model))
    with store.reading() as r:
        items = r.benchmarks.items(r.benchmarks.by_name(benchmark).id)[: most or None]
    for item in items:
        with store.reading() as r:
            sentences = r.corpora.sentences_of([item.article_id])[item.article_id]
        rows = {sentence.id: row for row, sentence in enumerate(sentences)}
        x: Any = fitted.embed(sentences)
        yield item.truth, x[[rows[int(id)] for id in item.sentence_ids]]


def reduced(x: Floats, seed: int) -> Floats:
    """Return (n, 5) coordinates by UMAP; fewer neighbours and dimensions for the smallest articles."""
    import umap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a seed makes UMAP use one thread, which it announces
        mapper = umap.UMAP(
            n_neighbors=min(NEIGHBOURS, len(x) - 1), n_components=min(DIMENSIONS, len(x) - 2), min_dist=0.0,
            metric="cosine", random_state=seed, init="random" if len(x) < 2 * NEIGHBOURS else "spectral",
        )  # fmt: skip
        return np.asarray(mapper.fit_transform(x), np.float32)


def dense(points: Floats, least: int) -> Labels:
    """Return the clusters of HDBSCAN, -1 for outliers."""
    from sklearn.cluster import HDBSCAN

    least = min(least, len(points) // 2)
    found = HDBSCAN(min_cluster_size=least, cluster_selection_method="eom", copy=True).fit_predict(points)
    return np.asarray(found, np.int32)


def without_outliers(labels: Labels, x: Floats) -> Labels:
    """Return the labels with every outlier in the cluster whose mean vector has the largest cosine."""
    known = np.unique(labels[labels >= 0])
    if not len(known):
        return np.zeros_like(labels)
    unit = unit_length(x)
    means = unit_length(np.stack([unit[labels == label].mean(axis=0) for label in known]))
    return np.where(labels >= 0, labels, known[np.argmax(unit @ means.T, axis=1)]).astype(np.int32)


Way: TypeAlias = Callable[[Item, Floats, int], Labels]
"""Function of an item, its coordinates by UMAP and a number of its own to labels."""


def ways() -> dict[str, Way]:
    """Return the compared ways of clustering."""
    iclust = CLUSTERERS.build("iclust", None)

    def pipeline(least: int, *, all_of_them: bool) -> Way:
        def cluster(item: Item, points: Floats, number: int) -> Labels:
            labels = dense(points, least)
            return without_outliers(labels, item[1]) if all_of_them else labels

        return cluster

    def kmeans(item: Item, points: Floats, number: int) -> Labels:
        return CLUSTERERS.build("kmeans-raw", None).fit_predict(points, len(np.unique(item[0])), number)

    def exchange(x: Callable[[Floats], Floats]) -> Way:
        return lambda item, points, number: iclust.fit_predict(x(item[1]), len(np.unique(item[0])), number)

    found: dict[str, Way] = {}
    for least in LEAST_SIZES:
        found[f"UMAP + HDBSCAN ≥ {least}, outliers are a cluster"] = pipeline(least, all_of_them=False)
        found[f"UMAP + HDBSCAN ≥ {least}, outliers to the nearest"] = pipeline(least, all_of_them=True)
    found["UMAP + k-means, true number"] = kmeans
    found["Iclust on the vectors, true number"] = exchange(lambda x: x)
    found["Iclust on centred vectors, true number"] = exchange(lambda x: unit_length(x) - unit_length(x).mean(axis=0))
    return found


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark")
    parser.add_argument("--model", required=True)
    parser.add_argument("--articles", type=int, default=0, help="number of articles; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    metric, compared = METRICS.build("ami"), ways()
    scores: dict[str, list[float]] = {name: [] for name in compared}
    clusters: dict[str, list[int]] = {name: [] for name in compared}
    seconds = dict.fromkeys((*compared, "UMAP"), 0.0)
    true: list[int] = []
    store = Store(Settings.from_environment())
    for number, item in enumerate(items_of(store, args.benchmark, args.model, args.articles)):
        begun = time.perf_counter()
        points = reduced(item[1], args.seed + number)
        seconds["UMAP"] += time.perf_counter() - begun
        true.append(len(np.unique(item[0])))
        for name, way in compared.items():
            begun = time.perf_counter()
            labels = way(item, points, args.seed + number)
            seconds[name] += time.perf_counter() - begun
            scores[name].append(metric.score(item[0], labels))
            clusters[name].append(len(np.unique(labels)))
    print(f"{len(true):,} articles, {np.mean(true):.1f} sections each; UMAP {seconds['UMAP']:.1f} s")
    for name, values in scores.items():
        ami = bootstrap_mean(np.array(values))
        print(
            f"{name:46} AMI {ami.value:.3f} [{ami.low:.3f}, {ami.high:.3f}], {np.mean(clusters[name]):5.1f} clusters, "
            f"{seconds[name]:6.1f} s"
        )


if __name__ == "__main__":
    main()
