"""Themes of lists, beside UMAP with HDBSCAN and k-means by silhouette on the vectors of the base encoder.

    python -m benchmarks.list_themes LISTS.json [--model default]

LISTS is a JSON list of [kind, sentences, codes]. Printed are the means over the lists of each kind of AMI (max), ARI,
and the relative error of the number of themes: for ``find_themes`` with its defaults; for the same with the vectors of
the model, as stored corpora have them; for the former way (Iclust, the number from the variety of similarities); for
UMAP (15 neighbours, 5 dimensions) followed by HDBSCAN with minimum sizes of 10 (BERTopic's default, outliers as one
theme) and 5, 10 and 15 (outliers to the nearest theme); and for k-means with the largest silhouette among 2 to 60
themes. Last are the differences of ``find_themes`` from the best of the other programs' ways on the mean of kinds, with
95 % bootstrap intervals over the lists.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import umap
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import silhouette_score

from themescope import find_themes, load
from themescope.core.metrics.partition import AdjustedMutualInformation, AdjustedRandIndex, MetricConfig
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.models.base import unit_length
from themescope.core.protocols import SILENT
from themescope.core.tasks.themes import ThemesConfig
from themescope.core.tasks.themes import find_themes as find
from themescope.core.types import Float32, Labels

QUICK: dict[str, Any] = {"sample": 10, "subsamples": 1}
"""The curves take no part in the themes, so they are measured on few sentences."""
OURS, STORED, FORMER = "find_themes", "model's vectors", "Iclust, as before"
KS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 23, 26, 30, 35, 40, 46, 52, 60)


def nearest(labels: Labels, x: Float32) -> Labels:
    """Return labels with outliers (-1) in the cluster with the nearest centre."""
    known = np.unique(labels[labels >= 0])
    if not len(known):
        return np.zeros(len(labels), np.int32)
    centres = unit_length(np.array([x[labels == label].mean(axis=0) for label in known], np.float32))
    return np.where(labels >= 0, labels, known[(x @ centres.T).argmax(axis=1)]).astype(np.int32)


def of_others(x: Float32) -> dict[str, Labels]:
    """Return the partitions of the other ways on (n, dim) unit vectors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a seed makes UMAP use one thread, which it announces
        neighbours = min(15, len(x) - 1)
        mapper = umap.UMAP(n_neighbors=neighbours, n_components=5, min_dist=0.0, metric="cosine", random_state=0)
        points = mapper.fit_transform(x)
    found = {}
    for size in (5, 10, 15):
        labels = HDBSCAN(min_cluster_size=size, copy=True).fit_predict(points).astype(np.int32)
        found[f"HDBSCAN {size}, nearest"] = nearest(labels, x)
        if size == 10:
            found["HDBSCAN 10, outliers"] = labels
    tried = [KMeans(k, n_init=2, random_state=0).fit_predict(x) for k in KS if k < len(x) // 3]
    found["k-means"] = max(tried, key=lambda labels: float(silhouette_score(x, labels, metric="cosine")))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path)
    parser.add_argument("--model", default="default")
    args = parser.parse_args()
    model = load(args.model)
    plain: Any = model.fitted.base()  # type: ignore[attr-defined]
    metrics = AdjustedMutualInformation(MetricConfig()), AdjustedRandIndex(MetricConfig())
    rows: list[tuple[str, dict[str, tuple[float, ...]]]] = []
    for kind, texts, codes in json.loads(args.lists.read_text(encoding="utf-8")):
        truth = np.unique(codes, return_inverse=True)[1].astype(np.int32)
        k, x = int(truth.max()) + 1, model.encode(texts)
        former, stored = ThemesConfig(density=False, **QUICK), ThemesConfig(**QUICK)
        found = {
            OURS: find_themes(texts, settings=QUICK).labels,
            STORED: find(texts, x, stored, 0, SILENT, model.calibration).labels,
            FORMER: find(texts, x, former, 0, SILENT, model.calibration).labels,
            **of_others(unit_length(np.asarray(load_base(plain, texts), np.float32))),
        }
        scores = {
            way: (*(m.score(truth, labels) for m in metrics), abs(len(np.unique(labels)) - k) / k)
            for way, labels in found.items()
        }
        rows.append((kind, scores))
    kinds = list(dict.fromkeys(kind for kind, _ in rows))
    mean = {
        way: np.array([np.mean([s[way] for one, s in rows if one == kind], axis=0) for kind in kinds])
        for way in rows[0][1]
    }
    print("| way | " + " | ".join(f"{kind} ({sum(one == kind for one, _ in rows)})" for kind in kinds) + " | mean |")
    print("|---" * (len(kinds) + 2) + "|")
    for way, values in mean.items():
        cells = ["; ".join(f"{value:.3f}" for value in row) for row in (*values, values.mean(axis=0))]
        print(f"| {way} | " + " | ".join(cells) + " |")
    others = [way for way in mean if way not in (OURS, STORED, FORMER)]
    weight = np.array([1 / sum(one == kind for one, _ in rows) for kind, _ in rows])
    for column, name in enumerate(("AMI", "ARI")):
        best = max(others, key=lambda way: float(mean[way][:, column].mean()))
        apart = np.array([s[OURS][column] - s[best][column] for _, s in rows]) * weight * len(rows) / len(kinds)
        gain = bootstrap_mean(apart, seed=0)
        print(f"{name}: {gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] over {best}")


def load_base(plain: Any, texts: list[str]) -> Any:
    """Return the vectors of the base encoder."""
    from themescope.core.types import Sentence

    return plain.embed([Sentence(text) for text in texts])


if __name__ == "__main__":
    main()
