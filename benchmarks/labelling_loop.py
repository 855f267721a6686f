"""Labelling loop on real data: a simulated user restores the sections of articles, and a network is trained on them.

    python -m benchmarks.labelling_loop --corpus wikipedia --triplets wikipedia --benchmark "wikipedia benchmark"

Everything runs as Themescope jobs in the store of ``THEMESCOPE_HOME``:

1. Import articles of the training split as a separate corpus, and cluster each with Iclust and a network that was not
   trained on them (``--base``; by default, a small network is trained first).
2. Simulate a user who moves every sentence to the cluster of its section, in one step per section.
3. Turn the steps into triplets (job ``learn-labels``) and fine-tune the network on them. As a control, fine-tune it on
   the same number of weak triplets from articles of its training set.
4. Measure triplet accuracy on ``--triplets`` and AMI on ``--benchmark``, whose articles are of the test split, for all
   three networks, with confidence intervals over articles and paired tests.
5. Without training, cluster the articles of the benchmark again after the first 5, 10 and 20 corrections and measure
   AMI, for corrections in the order of the suggestions and in random order.

Prints one JSON object per step. Without a store, ``--minutes articles/*.jsonl.xz`` compares all ways to correct
clusters by the minutes that they take (``benchmarks/_labelling_minutes.py``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._labelling_minutes import report
from benchmarks._section_articles import section_articles
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import apply
from themescope.core.labelling.learning import FINE_TUNING_SETTINGS
from themescope.core.labelling.partition import Cluster, Partition, start
from themescope.core.labelling.suggestions import recluster, suggest
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.metrics.matching import match_clusters
from themescope.core.metrics.statistics.intervals import bootstrap_mean
from themescope.core.metrics.statistics.paired_tests import paired_test
from themescope.core.metrics.triplets import correctness
from themescope.core.protocols import Metric
from themescope.core.types import BenchmarkItem, Estimate, Ids, Labels, Matrix, Split
from themescope.db.label_records import NewLabelling, Sharing
from themescope.db.records import ModelRecord
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.vectors import rows_of
from themescope.jobs.queue.foreground import resume_here
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.labelling.starts import begin, from_labels

USER = "simulated labeller"
CORRECTIONS = (0, 5, 10, 20)
_BASE = {"loss": "section", "training_limit": 60_000, "epochs": 3, "threads": 1, "checkpoint_seconds": 30.0}
_FINE_TUNING = dict(FINE_TUNING_SETTINGS) | {"threads": 1}
_AMI: Metric = METRICS.build("ami", {})


class Loop:
    """Steps of the labelling loop in one store; results of an earlier run are reused."""

    def __init__(self, store: Store, args: argparse.Namespace) -> None:
        self.store, self.args = store, args
        self.name = f"{args.articles} articles of {args.corpus}, seed {args.seed}"

    def job(self, kind: str, **args: Any) -> dict[str, Any]:
        """Run a job in this process."""
        return resume_here(self.store, kind, args, quiet=True)

    def model(self, name: str) -> ModelRecord:
        """Return a model by name."""
        with self.store.reading() as r:
            return r.models.by_name(name)

    def items(self, benchmark: str) -> list[BenchmarkItem]:
        """Return the articles of a benchmark."""
        with self.store.reading() as r:
            return r.benchmarks.items(r.benchmarks.by_name(benchmark).id)

    def articles(self) -> None:
        """Import ``--articles`` random articles of the training split that suit a benchmark as a corpus."""
        with self.store.reading() as r:
            if any(c.name == self.name for c in r.corpora.list()):
                return
        result = self.job("build-benchmark", corpus=self.args.corpus, name="every training article", splits=["train"])
        items = self.items(result["benchmark"])
        chosen = np.random.default_rng(self.args.seed).permutation(len(items))[: self.args.articles]
        file = self.store.settings.home / f"{self.name}.jsonl"
        lines = (_line(self.store, items[i].article_id) for i in sorted(chosen.tolist()))
        file.write_text("".join(lines), encoding="utf-8")
        self.job("import-corpus", files=[str(file)], corpus=self.name)

    def base(self) -> str:
        """Return the name of a network that was not trained on these articles."""
        if self.args.base:
            return str(self.args.base)
        weak = f"{self.args.corpus} without {self.name}"
        self.job("build-triplets", corpus=self.args.corpus, name=weak, without=[self.name])
        result = self.job("train", method="triplets-sen", name=f"base for {self.name}", triplets=weak,
                        settings=_BASE | {"word_vectors": self.args.words})  # fmt: skip
        return str(result["model"])

    def label(self, base: str) -> dict[str, Any]:
        """Cluster with Iclust, restore the sections, build triplets from the steps; return the counts."""
        benchmark = self.job("build-benchmark", corpus=self.name, name=self.name, splits=["train"])["benchmark"]
        run = self.job("cluster", model=base, clusterer="iclust", benchmark=benchmark)["run_id"]
        with self.store.reading() as r:
            found, corpus = r.runs.labels(run), r.corpora.by_name(self.name)
            known = {labelling.name for labelling in r.labellings.list()}
        steps, moved, kept, names = [], [], [], []
        for item in self.items(benchmark):
            name = f"{self.name}: {item.article_id}"
            names.append(name)
            matching = match_clusters(item.truth, found[item.article_id])
            wrong = matching.moved
            steps.append(len(np.unique(item.truth[wrong])))
            moved.append(len(wrong))
            kept.append(len(item.truth))
            if name not in known:
                self._restore(corpus.id, name, item, matching.aligned)
        result = self.job("learn-labels", labellings=names, name=f"labels of {self.name}")
        return {"articles": len(names), "sentences": sum(kept), "moved": sum(moved), "steps": sum(steps),
                "steps per article": float(np.mean(steps)), "moved per article": float(np.mean(moved)),
                "triplet set": result["triplets"], "counts": result["counts"]}  # fmt: skip

    def _restore(self, corpus_id: int, name: str, item: BenchmarkItem, aligned: Labels) -> None:
        """Assign the sentences of each section to the cluster that matches it best, in one step per section."""
        new = NewLabelling(corpus_id, name, USER, Sharing.OWN, article_id=item.article_id)
        sections = {int(label): f"section {label}" for label in np.unique(np.concatenate([aligned, item.truth]))}
        record = begin(self.store, new, from_labels(item.sentence_ids, aligned, sections, {"from": "run"}))
        session = LabellingSession(self.store, record.id, USER)
        for label in np.unique(item.truth):
            wanted = item.sentence_ids[item.truth == label]
            number = _number(session.partition, f"section {label}")
            if number is None:
                session.do(
                    op.create(session.partition, session.next_number, f"section {label}", wanted),
                    selection_method="table",
                )
            else:
                session.do(op.assign(session.partition, wanted, number), selection_method="table")
        assert _AMI.score(item.truth, session.partition.numbers.astype(np.int32)) > 1 - 1e-9

    def fine_tune(self, base: str, labels: str) -> dict[str, str]:
        """Fine-tune the network on the labels and, as a control, on as many weak triplets."""
        with self.store.reading() as r:
            count = len(r.triplets.ids(r.triplets.by_name(labels).id, Split.TRAIN))
        common = {"method": "triplets-sen", "models": [base], "validation": self.args.triplets}
        after = self.job("train", name=f"{base} + labels", triplets=labels, settings=_FINE_TUNING, **common)
        weak = _FINE_TUNING | {"training_limit": count}
        control = self.job("train", name=f"{base} + weak", triplets=self.args.triplets, settings=weak, **common)
        return {"before": base, "after": after["model"], "control": control["model"]}

    def measure(self, models: dict[str, str]) -> dict[str, Any]:
        """Return held-out accuracy and AMI, and paired tests against the base network."""
        accuracy, ami = {}, {}
        for name, model in models.items():
            run = self.job("evaluate-triplets", model=model, triplets=self.args.triplets)["run_id"]
            accuracy[name], groups = self._margins(run)
            run = self.job("cluster", model=model, clusterer="iclust", benchmark=self.args.benchmark)["run_id"]
            with self.store.reading() as r:
                ids, values, _ = r.runs.article_values([run], "ami")[run]
            ami[name] = np.asarray(values)[np.argsort(ids)]
        return {
            "triplet accuracy": _comparison(accuracy, groups),
            "AMI": _comparison(ami, None),
        }

    def _margins(self, run: int) -> tuple[Any, Ids]:
        with self.store.reading() as r:
            ids, margins = r.runs.margins(run, Split.TEST)
            rows = r.triplets.rows(r.triplets.by_name(self.args.triplets).id, Split.TEST)
        order = np.argsort(ids)[np.searchsorted(np.sort(ids), rows.ids)]
        return correctness(margins[order]), rows.articles

    def recluster_curves(self, base: str) -> dict[str, Any]:
        """Return AMI on held-out articles after each number of corrections and clustering again."""
        run = self.job("cluster", model=base, clusterer="iclust", benchmark=self.args.benchmark)["run_id"]
        with self.store.reading() as r:
            found = r.runs.labels(run)
        model = self.model(base)
        curves: dict[str, dict[int, list[float]]] = {name: {n: [] for n in CORRECTIONS} for name in ORDERS}
        for item in self.items(self.args.benchmark):
            with self.store.reading() as r:
                sentences = r.corpora.sentences_by_id(item.sentence_ids)
            positions = np.array([sentences[int(i)].position for i in item.sentence_ids])
            x = rows_of(self.store, model, {item.article_id: positions})
            for name, order in ORDERS.items():
                for count in CORRECTIONS:
                    curves[name][count].append(_ami_at(item, found[item.article_id], x, count, order, self.args.seed))
        random = curves["random"]
        return {
            name: {
                count: {"AMI": _interval(bootstrap_mean(values))}
                | ({"difference from random": _test(values, random[count])} if name != "random" and count else {})
                for count, values in by_count.items()
            }
            for name, by_count in curves.items()
        }


Order = Callable[[Partition, Matrix, np.random.Generator], Ids]


def _queue(partition: Partition, x: Matrix, random: np.random.Generator) -> Ids:
    return suggest(partition, x).queue(partition)


def _random(partition: Partition, x: Matrix, random: np.random.Generator) -> Ids:
    return random.permutation(partition.ids)


ORDERS: dict[str, Order] = {"least clear first": _queue, "random": _random}


def _ami_at(item: BenchmarkItem, labels: Labels, x: Matrix, count: int, order: Order, seed: int) -> float:
    """Return AMI (max) after ``count`` sentences are moved to their section and the others are clustered again."""
    aligned = match_clusters(item.truth, labels).aligned
    names = np.unique(np.concatenate([aligned, item.truth])).tolist()
    partition = start(np.arange(len(labels)), aligned + 1, [Cluster(n + 1, str(n), 0) for n in names])
    chosen = order(partition, x, np.random.default_rng([seed, item.article_id]))[:count]
    for sentence in chosen.tolist():
        partition = apply(
            partition, op.assign(partition, np.array([sentence]), int(item.truth[sentence]) + 1).change_set
        )
    if count:
        partition = recluster(partition, x, chosen)
    return _AMI.score(item.truth, partition.numbers.astype(np.int32))


def _number(partition: Partition, name: str) -> int | None:
    return next((number for number, cluster in partition.clusters.items() if cluster.name == name), None)


def _line(store: Store, article_id: int) -> str:
    """Return an article as a line for the JSON Lines reader."""
    with store.reading() as r:
        (article,) = r.corpora.articles_by_id([article_id]).values()
        sentences, sections = r.corpora.sentences(article_id), r.corpora.sections_of([article_id])[article_id]
    paragraphs: dict[int, dict[int, list[str]]] = {}
    for s in sentences:
        paragraphs.setdefault(s.section, {}).setdefault(s.paragraph, []).append(s.text)
    sections_json = [
        {
            "title": s.title,
            "level": s.level,
            "paragraphs": [" ".join(p) for p in paragraphs.get(s.position, {}).values()],
        }
        for s in sections
    ]
    return json.dumps({"title": article.title, "sections": sections_json}, ensure_ascii=False) + "\n"


def _interval(estimate: Estimate) -> str:
    return f"{estimate.value:.4f} [{estimate.low:.4f}, {estimate.high:.4f}]"


def _test(a: Any, b: Any, groups: Ids | None = None) -> str:
    test = paired_test(a, b, groups)
    return f"{_interval(test.difference)} p {test.p:.2g}"


def _comparison(values: dict[str, Any], groups: Ids | None) -> dict[str, Any]:
    return {
        name: {"mean": _interval(bootstrap_mean(found, groups))}
        | ({"difference from before": _test(found, values["before"], groups)} if name != "before" else {})
        for name, found in values.items()
    }


def _steps(loop: Loop) -> Iterator[tuple[str, Any]]:
    loop.articles()
    base = loop.base()
    labelled = loop.label(base)
    yield "labelling", labelled
    models = loop.fine_tune(base, labelled["triplet set"])
    yield "models", models
    yield "held out", loop.measure(models)
    yield "clustered again", loop.recluster_curves(base)


def main() -> None:
    """Run the loop, print the result of each step, and write all results to ``--out``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=Path, nargs="+", help="articles as compressed JSON lines")
    parser.add_argument("--cache", type=Path, help="file (.npz) for the vectors of --minutes")
    parser.add_argument("--errors", type=float, nargs="+", default=[0.0, 0.1], help="shares of wrong answers")
    parser.add_argument("--corpus", help="corpus with sections")
    parser.add_argument("--triplets", help="triplet set for early stopping and evaluation")
    parser.add_argument("--benchmark", help="clustering benchmark for evaluation")
    parser.add_argument("--base", default="", help="network to fine-tune (default: train a small one)")
    parser.add_argument("--words", default="glove-6b-50d", help="word vectors of the small network")
    parser.add_argument("--articles", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="file for all results as one JSON object")
    args = parser.parse_args()
    if args.minutes:
        articles = section_articles(args.minutes, Split.TEST, args.articles, cache=args.cache, seed=args.seed)
        for error in args.errors:
            report(articles, error)
        return
    if not (args.corpus and args.triplets and args.benchmark):
        parser.error("give --corpus, --triplets and --benchmark, or --minutes")
    store = Store(Settings.from_environment())
    store.migrate()
    results: dict[str, Any] = vars(args) | {"out": None}
    for name, part in _steps(Loop(store, args)):
        results[name] = part
        print(json.dumps({name: part}, indent=2), flush=True)
    if args.out:
        args.out.write_text(json.dumps(results, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
