"""Stored objects of an experiment spec, made on first use by steps, each of which is a job kind of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from themescope.core.config import digest_of
from themescope.core.errors import Cancelled, StoreError, ThemescopeError
from themescope.core.models import REGISTRY as METHODS
from themescope.core.papers.spec import (
    Accuracy,
    BenchmarkData,
    ChosenSetting,
    CorpusData,
    ExamplePredictions,
    Measure,
    ModelSpec,
    Paper,
    Row,
    RunProfile,
    SummaryMeasures,
    TripletSource,
    models_of,
)
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.core.types import Report, Split
from themescope.db.records import BenchmarkRecord, TripletSetRecord
from themescope.jobs.common.articles import ready_corpus
from themescope.jobs.common.job import JobContext
from themescope.jobs.common.models import find_model
from themescope.jobs.executors import ShardExecutor
from themescope.jobs.kinds import REGISTRY, check_job
from themescope.jobs.papers.sources import Sources, corpus_of

_ALL_SPLITS = [split.value for split in Split]
ModelKey: TypeAlias = tuple[str, int]
"""Id of a model and its seed."""


class StepContext(JobContext):
    """Context of a step: row, owner and stop request of the whole job, with its own checkpoint folder."""

    def __init__(self, parent: JobContext, report: Report, folder: Path) -> None:
        with parent.store.reading() as r:
            job = r.jobs.get(parent.job_id)
        super().__init__(parent.store, job, parent.owner, watcher=lambda share, text: report.progress(share, 1, text))
        self._parent, self._folder = parent, folder

    @property
    def executor(self) -> ShardExecutor:
        """Workers of the whole job."""
        return self._parent.executor

    def checkpoint_folder(self) -> Path:
        """Return the checkpoint folder of the step, which it finds again after a crash."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def check(self) -> None:
        """Raise the error of a stop request for the whole job, if there is one."""
        self._parent.check()


class Steps:
    """Runner of steps that counts the computed and the reused ones. Steps reuse stored results by digest."""

    def __init__(self, context: JobContext) -> None:
        self.context = context
        self.computed, self.reused = 0, 0
        self._low, self._high = 0.0, 1.0

    def window(self, low: float, high: float) -> None:
        """Set the part of the whole job's progress for the next steps."""
        self._low, self._high = low, high

    def run(self, kind: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run one step, which takes half of the remaining progress, and return its result."""
        config = check_job(kind, args)
        end = (self._low + self._high) / 2
        report = self.context.part(self._low, end, config.title())
        folder = self.context.checkpoint_folder() / digest_of([kind, config.to_dict()])
        result: dict[str, Any] = REGISTRY.get(kind).resolve()(config, StepContext(self.context, report, folder))
        shutil.rmtree(folder, ignore_errors=True)
        self._low, found = end, bool(result.get("cached", False))
        self.computed, self.reused = self.computed + (not found), self.reused + found
        return result


T = TypeVar("T")


class Work:
    """Corpora, triplet sets, benchmarks and models of an experiment spec for a profile and data."""

    def __init__(self, paper: Paper, profile: RunProfile, sources: Sources, steps: Steps) -> None:
        self.paper, self.profile, self.sources, self.steps = paper, profile, sources, steps
        self.store = steps.context.store
        self._made: dict[tuple[str, str, int], Any] = {}

    def corpus(self, id: str) -> CorpusRecord:
        """Return the corpus with that id; "" means the corpus of articles."""
        if not id:
            return self.sources.corpus
        return self._once(("corpus", id, 0), lambda: self._corpus(self.paper.corpus_data(id)))

    def corpus_of_model(self, id: str) -> CorpusRecord:
        """Return the corpus on which the model with that id is trained."""
        return self.corpus(self.paper.model(id).corpus)

    def triplet_set(self, id: str) -> TripletSetRecord:
        """Return the set with that id, sampled from the corpus without articles of a published benchmark."""
        return self._once(("triplets", id, 0), lambda: self._triplet_set(self.paper.triplet_data(id)))

    def benchmark(self, id: str) -> BenchmarkRecord:
        """Return the benchmark with that id: the published file if given, else built from its corpus."""
        return self._once(("benchmark", id, 0), lambda: self._benchmark(self.paper.benchmark(id)))

    def model(self, id: str, seed: int) -> ModelRecord:
        """Return the model with that id; one that does not depend on the seed is fitted once."""
        id, seed = self.key(id, seed)
        return self._once(("model", id, seed), lambda: self._model(self.paper.model(id), seed))

    def fitted(self, key: ModelKey) -> ModelRecord | None:
        """Return a model that was fitted for a row, or was stored already; None for a pretrained one."""
        found = self._made.get(("model", *key))
        return found if isinstance(found, ModelRecord) and not self.paper.model(key[0]).pretrained else None

    def made(self, kind: str, id: str) -> TripletSetRecord | BenchmarkRecord | None:
        """Return a triplet set ("triplets") or benchmark that was used, if it was not replaced by a file."""
        found = self._made.get((kind, id, 0))
        return found if isinstance(found, TripletSetRecord | BenchmarkRecord) else None

    def key(self, id: str, seed: int) -> ModelKey:
        """Return the id with the seed that the model has in measurements with ``seed``."""
        seeds = self.seeds_of_model(id)
        return id, seed if seed in seeds else seeds[seed % len(seeds)]

    def parts_of(self, key: ModelKey) -> list[ModelKey]:
        """Return the submodels of a model; a pretrained one has none."""
        declared = self.paper.model(key[0])
        return [] if declared.pretrained else [self.key(part, key[1]) for part in declared.parts]

    def seeds_of_model(self, id: str) -> tuple[int, ...]:
        """Return the seeds of the profile that give different models."""
        declared = self.paper.model(id)
        seeds = self.profile.seeds[: declared.seeds or None]
        if declared.pretrained:
            return seeds[:1]
        if declared.random:
            return seeds
        return seeds[: max((len(self.seeds_of_model(part)) for part in declared.parts), default=1)]

    def seeds_of(self, measure: Measure) -> tuple[int, ...]:
        """Return the seeds on which a measurement depends; counts depend on none."""
        match measure:
            case ChosenSetting() | ExamplePredictions():
                return self.profile.seeds[:1]
            case SummaryMeasures(_, summarizer, ""):
                return self.profile.seeds if "seeded" in SUMMARIZERS.get(summarizer).tags else (0,)
            case Accuracy(model):
                return self.seeds_of_model(model)
        used: str | None = getattr(measure, "model", None)
        return (0,) if used is None else self.profile.seeds[: (self.paper.model(used).seeds if used else 0) or None]

    def models_for(self, rows: Iterable[Row]) -> list[ModelKey]:
        """Return the models of these rows with their seeds, each after those that it is made from."""
        found: dict[ModelKey, None] = {}

        def add(key: ModelKey) -> None:
            for part in self.parts_of(key):
                add(part)
            found.setdefault(key)

        for row in rows:
            for model in models_of(row.measure):
                for seed in self.seeds_of(row.measure):
                    add(self.key(model, seed))
        return list(found)

    def test_file(self, triplets: str) -> Path | None:
        """Return the published file that replaces the evaluated triplets of a set, if there is one."""
        replaceable = self.paper.triplet_data(triplets).replaceable
        return self.sources.triplet_files.get(Split.TEST) if replaceable else None

    def _once(self, key: tuple[str, str, int], make: Callable[[], T]) -> T:
        """Build an object once; if that failed, raise the same error again for every row that needs it."""
        if key not in self._made:
            try:
                self._made[key] = make()
            except (Cancelled, StoreError):
                raise
            except ThemescopeError as error:
                self._made[key] = error
        found = self._made[key]
        if isinstance(found, ThemescopeError):
            raise found
        return cast(T, found)

    def _corpus(self, data: CorpusData) -> CorpusRecord:
        files = self.sources.files_of(data)
        name = corpus_of(self.store, self.steps.run, files, data.title, data.reader, data.settings)
        return ready_corpus(self.store, name)

    def _triplet_set(self, data: TripletSource) -> TripletSetRecord:
        args: dict[str, Any] = {
            "corpus": self.sources.corpus.name,
            "kind": data.kind,
            "rules": {**self.profile.triplet_rules, **data.rules},
            "without": [self.sources.benchmark_corpus] if self.sources.benchmark_corpus else [],
        }
        # The rules are part of the name, so that the next attempt finds the leftovers of a killed one.
        name = f"{self.paper.id} {data.id} {digest_of(args)[:6]}"
        result = self.steps.run("build-triplets", {**args, "name": name})
        with self.store.reading() as r:
            return r.triplets.get(result["triplet_set_id"])

    def _benchmark(self, data: BenchmarkData) -> BenchmarkRecord:
        rules: dict[str, Any] = {**self.profile.benchmark_rules, **data.rules}
        if limit := self.profile.articles:
            rules["max_articles"] = min(limit, rules.get("max_articles", limit))
        args: dict[str, Any] = {"corpus": self.sources.corpus.name, "splits": [self.profile.split.value]}
        if self.sources.benchmark_corpus:
            rules = {"as_given": True}
            args = {"corpus": self.sources.benchmark_corpus, "splits": _ALL_SPLITS}
        with self.store.reading() as r:
            name = r.benchmarks.usable_name(f"{self.paper.id} {data.id}, {self.profile.id}")
        args |= {"name": name, "rules": rules}
        result = self.steps.run("build-benchmark", args)
        with self.store.reading() as r:
            return r.benchmarks.get(result["benchmark_id"])

    def _model(self, model: ModelSpec, seed: int) -> ModelRecord:
        if model.pretrained:
            return find_model(self.store, model.pretrained)
        settings = {**self.profile.budgets.get(model.budget, {}), **model.settings}
        if model.words:
            settings["word_vectors"] = self.sources.words_for(model.words)
        args: dict[str, Any] = {"method": model.method, "seed": seed, "keep_start": True}
        args |= self._data(model, METHODS.get(model.method).tags)
        if model.parts:
            args["models"] = [self.model(*part).name for part in self.parts_of((model.id, seed))]
        name = f"{self.paper.id} {model.id}, {self.profile.id}, seed {seed}"
        result = self.steps.run("train", {**args, "name": name, "settings": settings})
        with self.store.reading() as r:
            return r.models.get(result["model_id"])

    def _data(self, model: ModelSpec, tags: frozenset[str]) -> dict[str, Any]:
        """Return the training data: published files if given, else sampled triplets, or the corpus."""
        if model.triplets:
            files = self.sources.training_files() if self.paper.triplet_data(model.triplets).replaceable else None
            if files:
                return {"files": list(map(str, files))}
            sets = {"triplets": model.triplets, "validation": model.validation}
            return {use: self.triplet_set(id).name for use, id in sets.items() if id}
        if "needs-sections" in tags:
            without = [self.sources.benchmark_corpus] if self.sources.benchmark_corpus else []
            return {"corpus": self.corpus(model.corpus).name, "without": without}
        if "needs-sentences" not in tags:
            return {}
        # As in the paper, vectors of a specified corpus are trained on all of its text, without its labels.
        return {"corpus": self.corpus(model.corpus).name} | ({"everything": True} if model.corpus else {})
