"""Themes of lists, beside BERTopic, EVoC, UMAP with HDBSCAN, and k-means by silhouette on the same vectors.

    python -m benchmarks.list_themes LISTS.json --record RECORD.json [--rows 300 1000] [--most 3] [--ours]
    python -m benchmarks.list_themes --record RECORD.json

LISTS is a JSON list of [kind, sentences, codes] (`benchmarks.lists`), of which the first ``--most`` of each kind are
cut to so many random rows. The record has AMI (max), ARI and the number of themes of each way; a list that it has
already is not run again. ``find_themes`` chooses encoder and way as it does for a user. The others have the vectors of
the base encoder, or with "both vectors" those of `find_themes`: UMAP (15 neighbours, 5 dimensions) with HDBSCAN,
minimum sizes 5 and 10, outliers to the nearest theme; BERTopic with its defaults on the same layout, and with its
outliers reduced; EVoC; k-means with the largest silhouette among 2 to 60 themes. With the true number given:
`find_themes`, k-means, and UMAP with k-means. BERTopic and EVoC are left out where they are not installed.

Without lists, the tables of the record are printed: means by kind, weighted alike, with the mean relative error of the
number of themes; differences of ``find_themes`` from the others on the mean of kinds, with 95 % bootstrap intervals
over the lists; the number of themes by number of rows; and for codes of two levels the AMI of each level with both.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import silhouette_score

from benchmarks._shared import AMI, ARI, QUICK, numbered
from benchmarks.lists import TWO_LEVELS
from themescope import load
from themescope.core.clustering.inputs import unit_rows
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.projection import UmapConfig, laid_out
from themescope.core.sentence_model import SentenceModel, vectors_of
from themescope.core.tasks.themes import FoundThemes, ThemesConfig, find_themes
from themescope.core.themes import suited
from themescope.core.types import SILENT, Float32, Labels

OURS, GIVEN = "find_themes", "find_themes, number given"
KS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 23, 26, 30, 35, 40, 46, 52, 60)
Scores = dict[str, Any]


def nearest(labels: Labels, x: Float32) -> Labels:
    """Return labels with outliers (-1) in the cluster with the nearest centre."""
    known = np.unique(labels[labels >= 0])
    if not len(known):
        return np.zeros(len(labels), np.int32)
    centres = np.asarray(unit_rows(np.array([x[labels == label].mean(axis=0) for label in known], np.float32)))
    return np.where(labels >= 0, labels, known[(x @ centres.T).argmax(axis=1)]).astype(np.int32)


class Known:
    """Layout that BERTopic takes for its own."""

    def __init__(self, points: Float32) -> None:
        self.points = points

    def fit(self, x: object, y: object = None) -> Known:
        """Do nothing."""
        return self

    def transform(self, x: object) -> Float32:
        """Return the layout."""
        return self.points


def by_bertopic(texts: Sequence[str], x: Float32, points: Float32) -> dict[str, Labels]:
    """Return the topics of BERTopic with its defaults, as they are and with its outliers reduced."""
    from bertopic import BERTopic

    model = BERTopic(umap_model=Known(points))
    topics, _ = model.fit_transform(list(texts), embeddings=x)
    found = {"BERTopic, outliers are a theme": np.asarray(topics, np.int32)}
    if -1 in topics and max(topics) >= 0:
        topics = model.reduce_outliers(list(texts), topics, strategy="embeddings", embeddings=x)
    return found | {"BERTopic, outliers reduced": np.asarray(topics, np.int32)}


def of_others(texts: Sequence[str], x: Float32, k: int) -> dict[str, Labels]:
    """Return the partitions of the other ways on (n, dim) unit vectors, with a given number of k themes last."""
    points = laid_out(x, UmapConfig(min_dist=0.0), 0, SILENT, 5)
    found: dict[str, Labels] = {}
    for size in (5, 10):
        labels = HDBSCAN(min_cluster_size=size, copy=True).fit_predict(points).astype(np.int32)
        found[f"HDBSCAN {size}, nearest"] = nearest(labels, x)
    if find_spec("bertopic"):
        found |= by_bertopic(texts, x, points)
    if find_spec("evoc"):
        from evoc import EVoC

        labels = np.asarray(EVoC(random_state=0).fit_predict(x), np.int32)
        found |= {"EVoC, outliers are a theme": labels, "EVoC, nearest": nearest(labels, x)}
    tried = [KMeans(k, n_init=2, random_state=0).fit_predict(x) for k in KS if k < len(x) // 3]
    found["k-means by silhouette"] = max(
        tried, key=lambda labels: float(silhouette_score(x, labels, metric="cosine", sample_size=2_000, random_state=0))
    )
    found["k-means, number given"] = KMeans(k, n_init=3, random_state=0).fit_predict(x)
    found["UMAP and k-means, number given"] = KMeans(k, n_init=3, random_state=0).fit_predict(points)
    return found


def ours(model: SentenceModel, texts: list[str], x: Float32, k: int = 0) -> FoundThemes:
    """Return the themes that ``find_themes`` finds; ``x`` are the vectors of the ``model`` for lists."""
    found = suited(model, texts, x)
    config = ThemesConfig(k=k, **QUICK)
    return find_themes(texts, found.vectors, config, 0, SILENT, found.calibration, None, found.plain)


def score(truth: Labels, labels: Labels) -> list[float]:
    """Return AMI, ARI and the number of themes."""
    found = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    return [*(round(metric.score(truth, found), 4) for metric in (AMI, ARI)), len(np.unique(labels[labels >= 0]))]


def measured(model: SentenceModel, x: Float32, kind: str, texts: list[str], codes: list[str], alone: bool) -> Scores:
    """Return way → scores of a list, and for codes of two levels also the AMI of each level with both."""
    truth = numbered(codes)
    k, found, started = int(truth.max()) + 1, dict[str, Labels](), time.process_time()
    themes = ours(model, texts, x)
    found[OURS], scores = themes.labels, {"seconds": round(time.process_time() - started, 2)}
    base = np.asarray(unit_rows(x[:, : x.shape[1] // 2]), np.float32)
    if not alone:
        found[GIVEN] = ours(model, texts, x, k).labels
        both = of_others(texts, np.asarray(unit_rows(x), np.float32), k)
        found |= of_others(texts, base, k) | {f"{way}, both vectors": labels for way, labels in both.items()}
    scores |= {"k": k, "ways": {way: score(truth, labels) for way, labels in found.items()}}
    if kind in TWO_LEVELS:
        coarse = numbered([code.partition(".")[0] for code in codes])
        levels = [level.labels for level in (*themes.coarser, themes, *themes.finer)]
        scores["levels"] = [[int(own.max()) + 1, score(coarse, own)[0], score(truth, own)[0]] for own in levels]
        scores |= {"suggested": themes.suggested, "coarse": int(coarse.max()) + 1}
    return scores


def run(args: argparse.Namespace, record: Scores) -> None:
    """Measure the lists that the record does not have."""
    model, count, numbered = load().for_lists(), Counter[str](), []
    for kind, texts, codes in json.loads(args.lists.read_text(encoding="utf-8")):
        count[kind] += 1
        numbered.append((count[kind], kind, texts, codes))
    for number, kind, every, codes in sorted(numbered, key=lambda one: one[0]):
        order = np.random.default_rng([number, 0]).permutation(len(every))[: max(args.rows)]
        cuts = [np.sort(order[:rows]) for rows in dict.fromkeys(min(rows, len(order)) for rows in args.rows)]
        digests = [
            hashlib.blake2b("\n".join(every[i] for i in cut).encode(), digest_size=8).hexdigest() for cut in cuts
        ]
        known = {one["texts"] for one in record["lists"]}
        if number > args.most or known.issuperset(digests):
            continue
        x = np.asarray(vectors_of(model, [every[row] for row in order]), np.float32)[np.argsort(order)]
        for cut, digest in zip(cuts, digests, strict=True):
            texts, truth = [every[row] for row in cut], [codes[row] for row in cut]
            own = x[np.searchsorted(np.sort(order), cut)]
            scores = measured(model, own, kind, texts, truth, args.ours)
            record["lists"].append({"kind": kind, "number": number, "rows": len(texts), "texts": digest} | scores)
            args.record.write_text(json.dumps(record) + "\n", encoding="utf-8")
            print(kind, number, len(texts), scores["k"], scores["ways"][OURS], flush=True)


def tables(lists: Sequence[Scores]) -> None:
    """Print the tables of a record."""
    whole = [one for one in lists if len(one["ways"]) > 2 and one["kind"] != TWO_LEVELS[-1]]  # too many codes
    kinds = list(dict.fromkeys(one["kind"] for one in whole))
    numbers = [sum(one["kind"] == kind for one in whole) for kind in kinds]
    head = [f"{kind} ({number})" for kind, number in zip(kinds, numbers, strict=True)]

    def means(pick: Callable[[Scores], Sequence[float]]) -> list[list[float]]:
        return [np.mean([pick(one) for one in whole if one["kind"] == kind], axis=0).tolist() for kind in kinds]

    print("| way | " + " | ".join(head) + " | mean of kinds | find_themes − this: AMI, ARI |")
    print("|---" * (len(kinds) + 3) + "|")
    ways = [way for way in (whole[0]["ways"] if whole else []) if all(way in one["ways"] for one in whole)]
    weight = np.array([len(whole) / len(kinds) / numbers[kinds.index(one["kind"])] for one in whole])
    for way in sorted(ways, key=lambda way: ("number given" in way, way not in (OURS, GIVEN))):
        values = means(lambda one, way=way: [*one["ways"][way][:2], abs(one["ways"][way][2] - one["k"]) / one["k"]])
        cells = ["; ".join(f"{value:.3f}" for value in row) for row in [*values, np.mean(values, axis=0)]]
        mine, gains = (GIVEN if "number given" in way else OURS), []
        for column in (0, 1) if way != mine else ():
            apart = np.array([one["ways"][mine][column] - one["ways"][way][column] for one in whole])
            gain = bootstrap_mean(apart * weight, seed=0)
            gains.append(f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]")
        print(f"| {way} | {' | '.join(cells)} | {', '.join(gains)} |")
    print("\n| list | rows: themes of codes (AMI) |\n|---|---|")
    for kind in dict.fromkeys(one["kind"] for one in lists if one not in whole):
        own = [one for one in lists if one not in whole and one["kind"] == kind and one["number"] == 1]
        sizes = [f"{one['rows']:,}: {one['ways'][OURS][2]} of {one['k']} ({one['ways'][OURS][0]:.3f})" for one in own]
        print(f"| {kind} | {' · '.join(sizes)} |")
    print("\n| list | coarse; fine codes | levels: themes, AMI with the coarse and the fine codes |\n|---|---|---|")
    for one in lists:
        if "levels" in one and one["coarse"] > 1:
            mark = {one["suggested"]: "**"}
            cells = [
                f"{mark.get(at, '')}{k}{mark.get(at, '')}: {with_coarse:.3f}; {with_fine:.3f}"
                for at, (k, with_coarse, with_fine) in enumerate(one["levels"])
            ]
            print(
                f"| {one['kind']} {one['number']}, {one['rows']} | {one['coarse']}; {one['k']} | {' · '.join(cells)} |"
            )


def main() -> None:
    """Measure lists, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path, nargs="?")
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[300])
    parser.add_argument("--most", type=int, default=100)
    parser.add_argument("--ours", action="store_true", help="no other ways: the number of themes by rows")
    args = parser.parse_args()
    record: Scores = {"program": "benchmarks.list_themes", "versions": {}, "lists": []}
    if args.record.is_file():
        record = json.loads(args.record.read_text(encoding="utf-8"))
    for name in ("themescope", "umap-learn", "scikit-learn", "bertopic", "evoc"):
        with suppress(PackageNotFoundError):
            record["versions"].setdefault(name, version(name))
    if args.lists is None:
        tables(record["lists"])
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a seed makes UMAP use one thread, which it announces
            run(args, record)


if __name__ == "__main__":
    main()
