"""Labelling loop on real data: a simulated user restores the sections of articles, and a network is trained on them.

    python -m benchmarks.labelling_loop --corpus wikipedia --triplets wikipedia --benchmark "wikipedia benchmark"

Everything goes through the product's own jobs, in the store of ``THEMESCOPE_HOME``:

1. Articles of the training split become a corpus of their own, and a network (``--base``; by default a small one,
   trained here) that has seen none of them clusters each with Iclust.
2. A simulated labeller moves every sentence that is not with its section: one step a section, by its session.
3. The steps become triplets (job ``learn-labels``), and the network goes on from where it was with them. As a control
   it goes on with as many weak triplets of articles that it knows already.
4. Triplet accuracy on ``--triplets`` and AMI on ``--benchmark``, whose articles are of the test split: before, after,
   control, with intervals over articles and paired tests.
5. Clustering again around the first 5, 10, 20 corrections, without training: AMI on the articles of the benchmark, for
   corrections from the queue of the least clear sentences and for random ones.

Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from core.labelling import operations as op
from core.labelling.changes import apply
from core.labelling.learning import FINE_TUNING_SETTINGS
from core.labelling.partition import Cluster, Partition, start
from core.labelling.suggestions import recluster, suggest
from core.metrics import REGISTRY as METRICS
from core.metrics.matching import match_clusters
from core.metrics.statistics.intervals import bootstrap_mean
from core.metrics.statistics.paired_tests import paired_test
from core.metrics.triplets import correctness
from core.protocols import Metric
from core.types import BenchmarkItem, Estimate, Ids, Labels, Matrix, Split
from db.label_records import NewLabelling, Sharing
from db.records import ModelRecord
from db.settings import Settings
from db.store import Store
from jobs.common.vectors import rows_of
from jobs.queue.foreground import resume_here
from jobs.services.labelling.session import LabellingSession
from jobs.services.labelling.starts import begin, from_labels

PERSON = "simulated labeller"
CORRECTIONS = (0, 5, 10, 20)
_BASE = {"loss": "section", "training_limit": 60_000, "epochs": 3, "threads": 1, "checkpoint_seconds": 30.0}
_FURTHER = dict(FINE_TUNING_SETTINGS) | {"threads": 1}
_AMI: Metric = METRICS.build("ami", {})


class Loop:
    """The steps of the loop in one store; whatever is there already is taken as it is."""

    def __init__(self, store: Store, args: argparse.Namespace) -> None:
        self.store, self.args = store, args
        self.name = f"{args.articles} articles of {args.corpus}, seed {args.seed}"

    def job(self, kind: str, **args: Any) -> dict[str, Any]:
        """Run a job here and now."""
        return resume_here(self.store, kind, args, quiet=True)

    def model(self, name: str) -> ModelRecord:
        """The model of that name."""
        with self.store.reading() as r:
            return r.models.by_name(name)

    def items(self, benchmark: str) -> list[BenchmarkItem]:
        """The articles of a benchmark."""
        with self.store.reading() as r:
            return r.benchmarks.items(r.benchmarks.by_name(benchmark).id)

    def articles(self) -> None:
        """A corpus of ``--articles`` articles of the training split that make good benchmarks, drawn by the seed."""
        with self.store.reading() as r:
            if any(c.name == self.name for c in r.corpora.list()):
                return
        made = self.job("build-benchmark", corpus=self.args.corpus, name="every training article", splits=["train"])
        items = self.items(made["benchmark"])
        chosen = np.random.default_rng(self.args.seed).permutation(len(items))[: self.args.articles]
        file = self.store.settings.home / f"{self.name}.jsonl"
        lines = (_line(self.store, items[i].article_id) for i in sorted(chosen.tolist()))
        file.write_text("".join(lines), encoding="utf-8")
        self.job("import-corpus", files=[str(file)], corpus=self.name)

    def base(self) -> str:
        """The network that has seen none of these articles."""
        if self.args.base:
            return str(self.args.base)
        weak = f"{self.args.corpus} without {self.name}"
        self.job("build-triplets", corpus=self.args.corpus, name=weak, without=[self.name])
        made = self.job("train", method="triplets-sen", name=f"base for {self.name}", triplets=weak,
                        settings=_BASE | {"word_vectors": self.args.words})  # fmt: skip
        return str(made["model"])

    def label(self, base: str) -> dict[str, Any]:
        """Cluster by Iclust, restore the sections, learn triplets; what it took."""
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
        made = self.job("learn-labels", labellings=names, name=f"labels of {self.name}")
        return {"articles": len(names), "sentences": sum(kept), "moved": sum(moved), "steps": sum(steps),
                "steps an article": float(np.mean(steps)), "moved an article": float(np.mean(moved)),
                "set": made["triplets"], "counts": made["counts"]}  # fmt: skip

    def _restore(self, corpus_id: int, name: str, item: BenchmarkItem, aligned: Labels) -> None:
        """One step a section: what belongs to it is assigned to the cluster that is most of it already."""
        new = NewLabelling(corpus_id, name, PERSON, Sharing.OWN, article_id=item.article_id)
        sections = {int(label): f"section {label}" for label in np.unique(np.concatenate([aligned, item.truth]))}
        record = begin(self.store, new, from_labels(item.sentence_ids, aligned, sections, {"from": "run"}))
        session = LabellingSession(self.store, record.id, PERSON)
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

    def further(self, base: str, labels: str) -> dict[str, str]:
        """The network trained further, by labels and by as many weak triplets."""
        with self.store.reading() as r:
            count = len(r.triplets.ids(r.triplets.by_name(labels).id, Split.TRAIN))
        common = {"method": "triplets-sen", "models": [base], "validation": self.args.triplets}
        after = self.job("train", name=f"{base} + labels", triplets=labels, settings=_FURTHER, **common)
        weak = _FURTHER | {"training_limit": count}
        control = self.job("train", name=f"{base} + weak", triplets=self.args.triplets, settings=weak, **common)
        return {"before": base, "after": after["model"], "control": control["model"]}

    def measure(self, models: dict[str, str]) -> dict[str, Any]:
        """Held-out accuracy and AMI, and paired tests against the network before."""
        accuracy, ami = {}, {}
        for what, model in models.items():
            run = self.job("evaluate-triplets", model=model, triplets=self.args.triplets)["run_id"]
            accuracy[what], groups = self._margins(run)
            run = self.job("cluster", model=model, clusterer="iclust", benchmark=self.args.benchmark)["run_id"]
            with self.store.reading() as r:
                ids, values, _ = r.runs.article_values([run], "ami")[run]
            ami[what] = np.asarray(values)[np.argsort(ids)]
        return {
            "triplet accuracy": _compared(accuracy, groups),
            "AMI": _compared(ami, None),
        }

    def _margins(self, run: int) -> tuple[Any, Ids]:
        with self.store.reading() as r:
            ids, margins = r.runs.margins(run, Split.TEST)
            rows = r.triplets.rows(r.triplets.by_name(self.args.triplets).id, Split.TEST)
        place = np.argsort(ids)[np.searchsorted(np.sort(ids), rows.ids)]
        return correctness(margins[place]), rows.articles

    def reclustered(self, base: str) -> dict[str, Any]:
        """AMI on held-out articles after so many corrections and clustering again around them."""
        run = self.job("cluster", model=base, clusterer="iclust", benchmark=self.args.benchmark)["run_id"]
        with self.store.reading() as r:
            found = r.runs.labels(run)
        model = self.model(base)
        curves: dict[str, dict[int, list[float]]] = {way: {n: [] for n in CORRECTIONS} for way in WAYS}
        for item in self.items(self.args.benchmark):
            with self.store.reading() as r:
                sentences = r.corpora.sentences_by_id(item.sentence_ids)
            positions = np.array([sentences[int(i)].position for i in item.sentence_ids])
            x = rows_of(self.store, model, {item.article_id: positions})
            for way, order in WAYS.items():
                for count in CORRECTIONS:
                    curves[way][count].append(_after(item, found[item.article_id], x, count, order, self.args.seed))
        random = curves["random"]
        return {
            way: {
                count: {"AMI": _told(bootstrap_mean(values))}
                | ({"above random": _test(values, random[count])} if way != "random" and count else {})
                for count, values in by_count.items()
            }
            for way, by_count in curves.items()
        }


Order = Callable[[Partition, Matrix, np.random.Generator], Ids]


def _queue(partition: Partition, x: Matrix, random: np.random.Generator) -> Ids:
    return suggest(partition, x).queue(partition)


def _random(partition: Partition, x: Matrix, random: np.random.Generator) -> Ids:
    return random.permutation(partition.ids)


WAYS: dict[str, Order] = {"least clear first": _queue, "random": _random}


def _after(item: BenchmarkItem, labels: Labels, x: Matrix, count: int, order: Order, seed: int) -> float:
    """AMI (max) after ``count`` sentences were put with their section, and the others clustered again around them."""
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
    """An article as the reader of JSON lines takes it."""
    with store.reading() as r:
        (article,) = r.corpora.articles_by_id([article_id]).values()
        sentences, sections = r.corpora.sentences(article_id), r.corpora.sections_of([article_id])[article_id]
    paragraphs: dict[int, dict[int, list[str]]] = {}
    for s in sentences:
        paragraphs.setdefault(s.section, {}).setdefault(s.paragraph, []).append(s.text)
    told = [
        {
            "title": s.title,
            "level": s.level,
            "paragraphs": [" ".join(p) for p in paragraphs.get(s.position, {}).values()],
        }
        for s in sections
    ]
    return json.dumps({"title": article.title, "sections": told}, ensure_ascii=False) + "\n"


def _told(estimate: Estimate) -> str:
    return f"{estimate.value:.4f} [{estimate.low:.4f}, {estimate.high:.4f}]"


def _test(a: Any, b: Any, groups: Ids | None = None) -> str:
    test = paired_test(a, b, groups)
    return f"{_told(test.difference)} p {test.p:.2g}"


def _compared(values: dict[str, Any], groups: Ids | None) -> dict[str, Any]:
    return {
        what: {"mean": _told(bootstrap_mean(found, groups))}
        | ({"less before": _test(found, values["before"], groups)} if what != "before" else {})
        for what, found in values.items()
    }


def _steps(loop: Loop) -> Iterator[tuple[str, Any]]:
    loop.articles()
    base = loop.base()
    labelled = loop.label(base)
    yield "labelling", labelled
    models = loop.further(base, labelled["set"])
    yield "models", models
    yield "held out", loop.measure(models)
    yield "clustered again", loop.reclustered(base)


def main() -> None:
    """Parse, go through the loop, print each part when it is known, and all of it in the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True, help="corpus with sections")
    parser.add_argument("--triplets", required=True, help="triplet set to stop by and to measure on")
    parser.add_argument("--benchmark", required=True, help="clustering benchmark to measure on")
    parser.add_argument("--base", default="", help="network to go on from; default: a small one that is trained here")
    parser.add_argument("--words", default="glove-6b-50d", help="word vectors of the small network")
    parser.add_argument("--articles", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="where to write the JSON object as well")
    args = parser.parse_args()
    store = Store(Settings.from_environment())
    store.migrate()
    told: dict[str, Any] = vars(args) | {"out": None}
    for name, part in _steps(Loop(store, args)):
        told[name] = part
        print(json.dumps({name: part}, indent=2), flush=True)
    if args.out:
        args.out.write_text(json.dumps(told, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
