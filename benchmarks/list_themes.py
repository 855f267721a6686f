"""Themes of lists, beside BERTopic, EVoC, UMAP with HDBSCAN, and k-means by silhouette on the same vectors.

    python -m benchmarks.list_themes LISTS.json --record RECORD.json [--rows 300 1000] [--most 3] [--ours]
    python -m benchmarks.list_themes --clones FOLDER --record RECORD.json [--rows 300 1000] [--ours]
    python -m benchmarks.list_themes --record RECORD.json

LISTS is a JSON list of [kind, sentences, codes] (`benchmarks.lists`), of which the first ``--most`` of each kind are
cut to so many random rows. With clones, the lists are those of the record's ``sources`` (`benchmarks._public_lists`),
for which nothing is run with "both vectors" or the number given. The record has AMI (max), ARI and the number of themes
of each way; a list that it has already is not run again. ``find_themes`` chooses encoder and way as it does for a user.
The others have the vectors of the base encoder, or with "both vectors" those of `find_themes`: UMAP (15 neighbours, 5
dimensions) with HDBSCAN, minimum sizes 5 and 10, outliers to the nearest theme; BERTopic with its defaults on the same
layout, and with its outliers reduced; EVoC; k-means with the largest silhouette among 2 to 60 themes. With the true
number given: `find_themes`, k-means, and UMAP with k-means. BERTopic and EVoC are left out where they are not
installed.

Without lists, the tables of the record are printed: means of kinds, weighted alike, with the relative error of the
number of themes; differences of ``find_themes`` from the others, with 95 % bootstrap intervals over the lists; means by
kind; themes by number of rows; and for codes of two levels the AMI of each level with both.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import silhouette_score

from benchmarks._public_lists import public_lists
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
MULTILINGUAL = "universal-sentence-encoder"
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


def of_others(texts: Sequence[str], x: Float32, k: int = 0) -> dict[str, Labels]:
    """Return the partitions of the other ways on (n, dim) unit vectors, with a given number of k > 0 themes last."""
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
    for way, rows in {"k-means, number given": x, "UMAP and k-means, number given": points}.items() if k else ():
        found[way] = KMeans(k, n_init=3, random_state=0).fit_predict(rows)
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


def measured(
    model: SentenceModel, x: Float32, kind: str, texts: list[str], codes: list[str], alone: bool, language: str
) -> Scores:
    """Return way → scores of a list, and for codes of two levels also the AMI of each level with both."""
    truth = numbered(codes)
    k, found, started = int(truth.max()) + 1, dict[str, Labels](), time.process_time()
    themes = ours(model, texts, x)
    found[OURS], scores = themes.labels, {"seconds": round(time.process_time() - started, 2)}
    base = np.asarray(unit_rows(x[:, : x.shape[1] // 2] if language in ("", "en") else x), np.float32)
    if not alone and language:
        found |= of_others(texts, base)
    elif not alone:
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
    models, count, numbered = {True: load().for_lists()}, Counter[str](), []
    given = public_lists(record["sources"], args.clones) if args.clones else json.loads(args.lists.read_text("utf-8"))
    for kind, texts, codes, *of in given:
        count[kind] += 1
        numbered.append((count[kind], kind, texts, codes, *(of or ("", ""))))
    for number, kind, every, codes, language, name in sorted(numbered, key=lambda one: one[0]):
        if (english := language in ("", "en")) not in models:
            models[english] = load(MULTILINGUAL)
        order = np.random.default_rng([number, 0]).permutation(len(every))[: max(args.rows)]
        cuts = [np.sort(order[:rows]) for rows in dict.fromkeys(min(rows, len(order)) for rows in args.rows)]
        digests = [
            hashlib.blake2b("\n".join(every[i] for i in cut).encode(), digest_size=8).hexdigest() for cut in cuts
        ]
        known = {one["texts"] for one in record["lists"]}
        if number > args.most or known.issuperset(digests):
            continue
        model, started = models[english], time.process_time()
        x = np.asarray(vectors_of(model, [every[row] for row in order]), np.float32)[np.argsort(order)]
        print(f"{kind}, {name}: {len(order)} texts read in {time.process_time() - started:.1f} s", flush=True)
        for cut, digest in zip(cuts, digests, strict=True):
            if digest in known:
                continue
            texts, truth = [every[row] for row in cut], [codes[row] for row in cut]
            own = x[np.searchsorted(np.sort(order), cut)]
            scores = measured(model, own, kind, texts, truth, args.ours, language)
            about = {"kind": kind, "number": number, "name": name, "rows": len(texts), "texts": digest}
            record["lists"].append(about | scores)
            args.record.write_text(json.dumps(record) + "\n", encoding="utf-8")
            print(kind, number, len(texts), scores["k"], scores["ways"][OURS], flush=True)


def tables(lists: Sequence[Scores]) -> None:
    """Print the tables of a record."""
    whole = [one for one in lists if len(one["ways"]) > 2 and one["kind"] != TWO_LEVELS[-1]]  # too many codes
    of, ways = np.array([one["kind"] for one in whole]), list(whole[0]["ways"])
    ways = sorted((w for w in ways if all(w in one["ways"] for one in whole)), key=lambda w: "number given" in w)
    kinds, show = list(dict.fromkeys(of.tolist())), "{:.3f}; {:.3f}".format
    scores = [[[*one["ways"][w][:2], abs(one["ways"][w][2] / one["k"] - 1)] for w in ways] for one in whole]
    x, weight = np.array(scores), np.array([len(whole) / len(kinds) / sum(of == kind) for kind in of])
    means = {kind: x[of == kind].mean(axis=0) for kind in kinds}
    print("| way | AMI; ARI | error: mean; median | find_themes − this: AMI, ARI |\n|---|---|---|---|")
    for at, way in enumerate(ways):
        mine, mean = ways.index(GIVEN if "number given" in way else OURS), np.mean(list(means.values()), axis=0)[at]
        gains = [bootstrap_mean((x[:, mine, column] - x[:, at, column]) * weight, seed=0) for column in (0, 1)]
        apart = ", ".join(f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]" for gain in gains)
        print(f"| {way} | {show(*mean[:2])} | {show(mean[2], np.median(x[:, at, 2]))} | {apart} |")
    print(f"\n| kind (lists) | {' | '.join(ways)} |\n|---|{'---|' * len(ways)}")
    for kind, own in means.items():
        print(f"| {kind} ({sum(of == kind)}) | {' | '.join(show(*row[:2]) for row in own)} |")
    print("\n| list | codes | rows: themes (AMI; ARI) | most / fewest rows |\n|---|---|---|---|")
    shown = [one for one in lists if one.get("name") or one not in whole]
    sized = {(one["kind"], one.get("name", "")): list[Scores]() for one in shown}
    for one in sorted(lists, key=lambda one: int(one["rows"])):
        sized.get((one["kind"], one.get("name", "")), []).append(one)
    for name, own in sized.items():
        found = [(one["rows"], *one["ways"][OURS]) for one in own]
        sizes = " · ".join(f"{rows:,}: {k} ({show(ami, ari)})" for rows, ami, ari, k in found)
        print(f"| {', '.join(name)} | {own[0]['k']} | {sizes} | {found[-1][3] / found[0][3]:.2f} |")
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
    parser.add_argument("--clones", type=Path)
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
    if not (args.lists or args.clones):
        tables(record["lists"])
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a seed makes UMAP use one thread, which it announces
            run(args, record)


if __name__ == "__main__":
    main()
