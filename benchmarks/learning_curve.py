"""Learning curve of triplets-sen (Ein Dor et al. 2018), trained as published: accuracy and AMI by articles and passes.

    python -m benchmarks.learning_curve --home FOLDER --triplets SET --evaluated SET --words FILE [--train .1 .25 .5 1]

``SET`` are triplet sets of the store in FOLDER: ``--triplets`` with all eligible triplets (profile all),
``--evaluated`` with the validation and test triplets (profile max-signal). Every model of the store that was trained on
the first with the settings of ``reproduce ed18 --profile full`` (``--set`` changes one) is measured, whatever its share
of the articles, its seed and the command that trained it; ``--train`` trains those of these shares of the articles that
are missing, on one core. Beside them are measured ``mean-vectors`` and the networks of the same settings that learned
from other triplets of the corpus (titles, other negatives), with the differences of ``triplets-sen`` from each: of the
network of most articles from ``mean-vectors``, of the one with as many triplets from the others. Trainings have
checkpoints, and every step is a job whose result is stored, so that a run that was stopped goes on where it was. The
record is written with a figure (``.svg``) of it.

The fit is accuracy = a - b · articles^-c, and the same for AMI; intervals resample the test articles.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks._shared import about
from themescope.core.config import config_from_dict
from themescope.core.models import REGISTRY as METHODS
from themescope.core.models.triplet_network.network import articles_within
from themescope.core.papers import paper
from themescope.core.records.stored import JobStatus, ModelRecord
from themescope.core.types import Split
from themescope.db.records import TripletSetRecord
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.queue.runner import resume_here, run_here

Floats = npt.NDArray[np.float64]
ARTICLES_OF_PAPER = 650_000
PUBLISHED = {"accuracy": 0.74, "ami": 0.296}
RESAMPLES = 1_000
CURVATURES = np.linspace(0.05, 1.5, 59)
"""Exponents c among which the best one is chosen."""
NAMES = {"accuracy": "Triplet accuracy", "ami": "AMI, Iclust"}
OTHERS = ("triplets-titles", "triplets-sen-same-art", "triplets-sen-rand-art")
Scores = dict[str, tuple[Floats, Floats]]
"""Metric → (sums, counts) of the test articles."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Train what is missing, measure, fit, and write record and figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--triplets", required=True)
    parser.add_argument("--evaluated", required=True)
    parser.add_argument("--words", required=True, help="table of word vectors")
    parser.add_argument("--train", type=float, nargs="*", default=(), help="shares of the training articles")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another setting")
    parser.add_argument("--record", type=Path, default=Path("benchmarks/records/learning-curve.json"))
    parser.add_argument("--figure", type=Path, default=Path("docs/images/learning-curve.svg"))
    options = parser.parse_args(arguments)
    changed = {name: json.loads(value) for name, _, value in (item.partition("=") for item in options.set)}
    with closing(Store(Settings.in_folder(options.home))) as store:
        curve = Curve(store, options.triplets, options.evaluated, options.words, changed)
        for share in options.train:
            curve.train(share)
        record = curve.record()
    options.record.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    options.figure.write_text(figure(record), encoding="utf-8")
    print(summary(record))


class Curve:
    """Trainings and measurements of a store."""

    def __init__(self, store: Store, triplets: str, evaluated: str, words: str, changed: Mapping[str, Any]) -> None:
        declared = paper("ed18")
        model, full = declared.model("triplets-sen"), declared.profile("full")
        self.settings = {**full.budgets[model.budget], **model.settings, **changed, "word_vectors": words}
        self.store, self.words = store, words
        with store.reading() as r:
            self.set, self.evaluated = (r.triplets.by_name(name) for name in (triplets, evaluated))
            self.groups = r.triplets.rows(self.set.id, Split.TRAIN).articles
            self.corpus = r.corpora.get(self.set.corpus_id).name

    def train(self, share: float) -> None:
        """Train on this share of the triplets, which are those of whole articles, unless it is done."""
        limit = 0 if share >= 1 else round(share * len(self.groups))
        args = {"method": "triplets-sen", "name": f"curve {share:g}", "triplets": self.set.name, "seed": 0}
        settings = {**self.settings, "training_limit": limit}
        resume_here(
            self.store, "train", {**args, "keep_start": True, "validation": self.evaluated.name, "settings": settings}
        )

    def models(self) -> list[ModelRecord]:
        """Return the networks of the store whose settings differ in their share of the articles at most."""
        declared = METHODS.get("triplets-sen").config_class()

        def compared(settings: Mapping[str, Any]) -> dict[str, Any]:
            known = config_from_dict(declared, settings).result_settings()
            return {name: value for name, value in known.items() if name not in ("training_limit", "word_vectors")}

        wanted = compared(self.settings)
        with self.store.reading() as r:
            found, sets = r.models.list(), {s.id for s in r.triplets.list() if s.corpus_id == self.set.corpus_id}
        return [
            model
            for model in found
            if model.triplet_set_id in (sets if model.method in OTHERS else {self.set.id})
            and model.method in ("triplets-sen", *OTHERS)
            and compared(model.config) == wanted
        ]

    def record(self) -> dict[str, Any]:
        """Measure all models and mean-vectors, and fit the curves."""
        base = {"method": "mean-vectors", "name": "curve mean-vectors", "settings": {"word_vectors": self.words}}
        with self.store.reading() as r:
            known = {model.name for model in r.models.list()}
        if base["name"] not in known:
            run_here(self.store, "train", {**base, "keep_start": True})
        points, items, others = [], [], []
        for model in self.models():
            scores, values = self.measured(model.name)
            found = {"model": model.name, **self.trained(model), **scores}
            if model.method in OTHERS:
                others.append(({"method": model.method, **found}, values))
            else:
                points.append(found)
                items.append(values)
        order = sorted(range(len(points)), key=lambda i: (points[i]["articles"], points[i]["seed"]))
        points, items = [points[i] for i in order], [items[i] for i in order]
        alike = {(point["limit"], point["seed"]): values for point, values in zip(points, items, strict=True)}
        level = self.measured(str(base["name"]))
        compared = [("mean-vectors", items[-1:], level[1])]
        compared += [(o["method"], [alike[k] for k in alike if k == (o["limit"], o["seed"])], v) for o, v in others]
        return {
            **about("python -m benchmarks.learning_curve"),
            "data": {use: _described(found) for use, found in (("trained", self.set), ("evaluated", self.evaluated))},
            "settings": {name: value for name, value in self.settings.items() if name != "word_vectors"},
            "words": Path(self.words).name,
            "mean-vectors": level[0],
            "points": points,
            "others": [found for found, _ in others],
            "differences": [{"method": name, **_differences(of[0], values)} for name, of, values in compared if of],
            "fit": {metric: fitted([p["articles"] for p in points], [i[metric] for i in items]) for metric in NAMES},
        }

    def trained(self, model: ModelRecord) -> dict[str, Any]:
        """Return what a model learned from, and for how long."""
        with self.store.reading() as r:
            groups = r.triplets.rows(int(model.triplet_set_id or 0), Split.TRAIN).articles
        limit = int(model.config.get("training_limit", 0))
        own = articles_within(groups, limit, model.seed)
        used = {"articles": len(np.unique(groups[own])), "triplets": len(own), "limit": limit, "seed": model.seed}
        return {**used, "minutes": round(model.metrics["training seconds"] / 60, 1), "passes": self.passes(model)}

    def measured(self, model: str) -> tuple[dict[str, Any], Scores]:
        """Return both scores with intervals, and (sums, counts) of the test articles."""
        args = {"model": model, "triplets": self.evaluated.name, "split": "test"}
        run = run_here(self.store, "evaluate-triplets", args)["run_id"]
        with self.store.reading() as r:
            ids, margins = r.runs.margins(run, Split.TEST)
            rows = r.triplets.rows(self.evaluated.id, Split.TEST)
        article_of = dict(zip(rows.ids.tolist(), rows.articles.tolist(), strict=True))
        _, article = np.unique([article_of[id] for id in ids.tolist()], return_inverse=True)
        right = np.bincount(article, 0.5 + 0.5 * np.sign(margins)), np.bincount(article).astype(np.float64)
        built = {"corpus": self.corpus, "name": "learning curve", "splits": ["test"]}
        with self.store.reading() as r:
            known = {benchmark.name for benchmark in r.benchmarks.list()}
        if built["name"] not in known:
            run_here(self.store, "build-benchmark", built)
        clusters = {"model": model, "clusterer": "iclust", "benchmark": built["name"], "settings": {"restarts": 50}}
        run = run_here(self.store, "cluster", clusters)["run_id"]
        with self.store.reading() as r:
            scores = [s.value for s in r.runs.scores([run], per_article=True) if s.metric == "ami" and s.article_id]
        values = {"accuracy": right, "ami": (np.array(scores), np.ones(len(scores)))}
        return {metric: _interval(*found) for metric, found in values.items()}, values

    def passes(self, model: ModelRecord) -> list[tuple[float, float]]:
        """Return (passes, validation accuracy) of a training, from its job."""
        with self.store.reading() as r:
            jobs = [j for j in r.jobs.list(limit=10_000, status=(JobStatus.DONE,)) if j.kind == "train"]
            for job in jobs:
                if job.result.get("model_id") == model.id and (found := r.jobs.metrics(job.id)):
                    return [(p.step, round(p.value, 4)) for p in found if p.name == "validation accuracy"]
        return []


def _described(found: TripletSetRecord) -> dict[str, Any]:
    return {"triplets": found.counts["triplets"], "articles": found.counts["articles"]["with_triplets"],
            "digest": found.digest}  # fmt: skip


def _resampled(articles: int) -> Floats:
    """Return (resamples, articles) numbers of draws."""
    weights = np.random.default_rng(0).multinomial(articles, np.full(articles, 1 / articles), size=RESAMPLES)
    return weights.astype(np.float64)


def _interval(sums: Floats, counts: Floats) -> dict[str, Any]:
    weights = _resampled(len(sums))
    low, high = np.quantile((weights @ sums) / (weights @ counts), [0.025, 0.975]).tolist()
    return {"value": float(sums.sum() / counts.sum()), "low": low, "high": high, "articles": len(sums)}


def _differences(scores: Scores, others: Scores) -> dict[str, Any]:
    """Return how much higher the first scores are, on the same articles."""
    return {metric: _interval(sums - others[metric][0], counts) for metric, (sums, counts) in scores.items()}


def fitted(articles: Sequence[int], scores: Sequence[tuple[Floats, Floats]]) -> dict[str, Any] | None:
    """Return a, b, c of a - b · articles^-c and its value at 650,000, with 95 % intervals; None below four sizes.

    ``scores`` are (sums, counts) of the same test articles for each model; models of one size are averaged by the fit.
    """
    if len(set(articles)) < 4:
        return None
    weights = np.concatenate([np.ones((1, len(scores[0][0]))), _resampled(len(scores[0][0]))])
    y = np.stack([(weights @ sums) / (weights @ counts) for sums, counts in scores])
    x = np.asarray(articles, np.float64)
    best = np.full(y.shape[1], np.inf)
    found = np.zeros((3, y.shape[1]))
    for c in CURVATURES:
        design = np.stack([np.ones_like(x), -(x**-c)], axis=1)
        solved = np.linalg.lstsq(design, y, rcond=None)[0]
        errors = ((design @ solved - y) ** 2).sum(axis=0)
        better = errors < best - 1e-15
        best[better] = errors[better]
        found[:, better] = np.stack([solved[0], solved[1], np.full(y.shape[1], c)])[:, better]
    a, b, c = found
    at = a - b * ARTICLES_OF_PAPER**-c
    low, high = np.quantile(at[1:], [0.025, 0.975]).tolist()
    grid = np.geomspace(x.min(), ARTICLES_OF_PAPER, 40)
    curves = a[:, None] - b[:, None] * grid ** -c[:, None]
    band = np.quantile(curves[1:], [0.025, 0.975], axis=0)
    line = [[float(v) for v in values] for values in zip(grid, curves[0], *band, strict=True)]
    numbers = {"a": float(a[0]), "b": float(b[0]), "c": float(c[0])}
    return {**numbers, f"at {ARTICLES_OF_PAPER}": {"value": float(at[0]), "low": low, "high": high}, "line": line}


def summary(record: Mapping[str, Any]) -> str:
    """Return the points as a table of Markdown, and what the fits say."""

    def cell(score: Mapping[str, Any]) -> str:
        return "{value:.3f} [{low:.3f}, {high:.3f}]".format(**score).replace("0.", ".")

    lines = ["| | training articles | triplets | passes | minutes | accuracy | AMI |", "|---|---|---|---|---|---|---|"]
    for point in [{"method": "triplets-sen", **point} for point in record["points"]] + record["others"]:
        passes = f"{max((step for step, _ in point['passes']), default=math.nan):.1f}"
        numbers = (f"{point['articles']:,}", f"{point['triplets']:,}", passes, f"{point['minutes']:.0f}")
        cells = (f"`{point['method']}`", *numbers, cell(point["accuracy"]), cell(point["ami"]))
        lines.append("| " + " | ".join(cells) + " |")
    base = record["mean-vectors"]
    lines.append(f"| `mean-vectors` | | | | | {cell(base['accuracy'])} | {cell(base['ami'])} |")
    for found in record["differences"]:
        than = "`mean-vectors`" if found["method"] == "mean-vectors" else f"`{found['method']}` of as many triplets"
        accuracy, ami = (cell(found[metric]) for metric in NAMES)
        lines += ["", f"`triplets-sen` less {than}: accuracy {accuracy}, AMI {ami}."]
    for metric, found in record["fit"].items():
        if found is None:
            lines += ["", f"{NAMES[metric]}: a fit needs four numbers of articles."]
            continue
        there, published = found[f"at {ARTICLES_OF_PAPER}"], PUBLISHED[metric]
        meets = "is inside" if there["low"] <= published <= there["high"] else "is outside"
        lines += ["", f"{NAMES[metric]} at {ARTICLES_OF_PAPER:,} articles by the fit: {cell(there)}; published "
                  f"{published:.3f} {meets} the interval.".replace("0.", ".")]  # fmt: skip
    return "\n".join(lines)


WIDTH, HEIGHT, LEFT, TOP = 250, 190, 52, 30
COLOURS = ("#1b6ca8", "#c1440e", "#5a7d2a", "#7b4b94", "#8a6d1b")


def figure(record: Mapping[str, Any]) -> str:
    """Return an SVG with accuracy and AMI by articles, and validation accuracy by passes."""
    across = LEFT + WIDTH + 28
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {3 * across} {TOP + HEIGHT + 66}" '
        'font-family="sans-serif" font-size="11" fill="#222">',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for number, metric in enumerate(NAMES):
        parts += [f'<g transform="translate({number * across + LEFT} {TOP})">', *_by_articles(record, metric), "</g>"]
    parts += [f'<g transform="translate({2 * across + LEFT} {TOP})">', *_by_passes(record), "</g>", "</svg>"]
    return "\n".join(parts) + "\n"


def _frame(title: str, under: str, y: tuple[float, float], ticks: Mapping[float, str]) -> Iterator[str]:
    """Draw title, axes and marks; ``ticks`` are places from 0 to 1 with their texts."""
    yield f'<text x="0" y="-12" font-weight="bold">{title}</text>'
    yield f'<path d="M0 0V{HEIGHT}H{WIDTH}" fill="none" stroke="#888"/>'
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        at = f"{y[0] + share * (y[1] - y[0]):.3f}".replace("0.", ".", 1)
        yield f'<text x="-6" y="{HEIGHT * (1 - share) + 4:.1f}" text-anchor="end">{at}</text>'
    for place, text in ticks.items():
        yield f'<text x="{place * WIDTH:.1f}" y="{HEIGHT + 16}" text-anchor="middle">{text}</text>'
    yield f'<text x="{WIDTH / 2}" y="{HEIGHT + 34}" text-anchor="middle">{under}</text>'


def _place(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low)


def _by_articles(record: Mapping[str, Any], metric: str) -> Iterator[str]:
    points, found, base = record["points"], record["fit"][metric], record["mean-vectors"][metric]["value"]
    ends = [p[metric][end] for p in points for end in ("low", "high")] + [base, PUBLISHED[metric]]
    if found:
        ends += [v for row in found["line"] for v in row[1:]]
    y = math.floor(min(ends) * 50) / 50, math.ceil(min(max(ends), PUBLISHED[metric] + 0.1) * 50) / 50
    x = tuple(map(math.log10, (min((p["articles"] for p in points), default=1_000) / 1.5, ARTICLES_OF_PAPER * 1.5)))

    def at(articles: float, value: float) -> tuple[float, float]:
        return _place(math.log10(articles), *x) * WIDTH, HEIGHT * (1 - min(max(_place(value, *y), 0.0), 1.0))

    ticks = {_place(math.log10(n), *x): f"{n:,}" for n in (1_000, 10_000, 100_000) if x[0] <= math.log10(n) <= x[1]}
    yield from _frame(NAMES[metric], "training articles", y, ticks)
    level = at(ARTICLES_OF_PAPER, base)[1]
    yield f'<path d="M0 {level:.1f}H{WIDTH}" stroke="#888" stroke-dasharray="4 3"/>'
    yield f'<text x="{WIDTH - 4}" y="{level - 4:.1f}" text-anchor="end" fill="#666">mean-vectors</text>'
    if found:
        line = [[at(n, v) for v in values] for n, *values in found["line"]]
        band = [p[1] for p in line] + [p[2] for p in reversed(line)]
        yield f'<path d="{_path(band)}Z" fill="{COLOURS[0]}" fill-opacity=".15"/>'
        yield f'<path d="{_path([p[0] for p in line])}" fill="none" stroke="{COLOURS[0]}"/>'
    for point in points:
        (left, low), (_, high) = (at(point["articles"], point[metric][end]) for end in ("low", "high"))
        yield f'<path d="M{left:.1f} {low:.1f}V{high:.1f}" stroke="{COLOURS[0]}"/>'
        left, top = at(point["articles"], point[metric]["value"])
        yield f'<circle cx="{left:.1f}" cy="{top:.1f}" r="3" fill="{COLOURS[0]}"/>'
    left, top = at(ARTICLES_OF_PAPER, PUBLISHED[metric])
    yield f'<path d="M{left - 4:.1f} {top - 4:.1f}l8 8m0 -8l-8 8" stroke="{COLOURS[1]}" stroke-width="2"/>'
    yield f'<text x="{left - 8:.1f}" y="{top + 4:.1f}" text-anchor="end" fill="{COLOURS[1]}">published</text>'


def _by_passes(record: Mapping[str, Any]) -> Iterator[str]:
    lines = {}
    for point in record["points"]:
        if point["seed"] == 0 and point["passes"]:
            lines[point["articles"]] = point["passes"]
    values = [value for line in lines.values() for _, value in line] or [0.6, 0.7]
    y = math.floor(min(values) * 50) / 50, math.ceil(max(values) * 50 + 0.1) / 50
    last = max([1.0, *(step for line in lines.values() for step, _ in line)])
    ticks = {n / last: str(n) for n in range(math.floor(last) + 1)}
    yield from _frame("Validation accuracy", "passes over the triplets", y, ticks)
    for number, ((articles, line), colour) in enumerate(zip(lines.items(), COLOURS, strict=False)):
        drawn = [(step / last * WIDTH, HEIGHT * (1 - _place(value, *y))) for step, value in line]
        yield f'<path d="{_path(drawn)}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        top = HEIGHT - 8 - 14 * (len(lines) - 1 - number)
        yield f'<text x="{WIDTH - 4}" y="{top}" text-anchor="end" fill="{colour}">{articles:,} articles</text>'


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


if __name__ == "__main__":
    main()
