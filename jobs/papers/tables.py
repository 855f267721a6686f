"""Reproduced tables as JSON: published and measured values, intervals, spread over seeds, data, tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from themescope.core.compute import processor
from themescope.core.config import config_from_dict, default_of, option, options
from themescope.core.errors import Cancelled, ConfigError, DataError, StoreError, ThemescopeError
from themescope.core.metrics.statistics import bootstrap_mean, holm, paired_test
from themescope.core.models import REGISTRY as METHODS
from themescope.core.papers import PAPERS, paper
from themescope.core.papers.spec import (
    SIMILAR,
    Accuracy,
    ChosenSetting,
    Claim,
    ClusteringMeasures,
    CountBenchmark,
    CountSummaries,
    CountTopics,
    CountTriplets,
    ExamplePredictions,
    Measure,
    Paper,
    RelatednessMeasures,
    ResultTable,
    Row,
    SummaryMeasures,
    Topics,
)
from themescope.core.records.stored import ModelRecord
from themescope.core.types import Estimate, Floats, Ids, Sentence, Split
from themescope.jobs.common.articles import code_revision, code_version, file_digest, folder_digest
from themescope.jobs.common.job import JobConfig, JobContext
from themescope.jobs.common.vectors import load_model
from themescope.jobs.kinds.import_corpus import text_key
from themescope.jobs.papers.document import data_of, records_beside, write_document
from themescope.jobs.papers.sources import Wanted, find_sources
from themescope.jobs.papers.work import Steps, Work

Json = dict[str, Any]
PENDING = "the job has not reached this row yet."
HOLDS, REVERSED, OPEN = "holds", "reversed", "not shown"
_SIGNIFICANT = 0.05
Progress = Callable[[int, int], None]
"""Callback for the numbers of measurements done and in total."""


def reproduce_table(table: ResultTable, work: Work, progress: Progress, keep: Callable[[Json], None]) -> Json:
    """Measure every row with every seed, then test the claims. A row that cannot be measured contains the reason.

    ``keep`` is called with the table after each row that was computed; the remaining rows are marked as not measured.
    """
    found: dict[str, list[Measurement]] = {}
    rows = [_blank(row) | {"missing": PENDING} for row in table.rows]
    for number, row in enumerate(table.rows):

        def part(done: int, of: int, before: int = number) -> None:
            progress(before * of + done, len(table.rows) * of)

        computed = work.steps.computed
        rows[number] = _row(table, row, work, found, part)
        if work.steps.computed > computed and number + 1 < len(rows):
            keep(_content(table, work, rows, found) | {"complete": False})
    return _content(table, work, rows, found) | {"complete": True}


def _content(table: ResultTable, work: Work, rows: Sequence[Json], found: Mapping[str, Sequence[Measurement]]) -> Json:
    columns = [
        {"metric": c.metric, "title": c.title, "digits": c.digits, "lower_is_better": c.lower_is_better}
        for c in table.columns
    ]
    of = work.profile
    profile: Json = {"title": of.title, "seeds": list(of.seeds), "split": of.split.value}
    profile |= {"articles": of.articles, "documents": of.documents}
    about: Json = {"title": table.title, "source": table.source, "about": table.about, "columns": columns}
    about |= {"profile": profile, "settings": _settings(table, work, found), "made": _made(table, work, found)}
    return about | {"rows": list(rows), "claims": _claims(table, found)}


def _settings(table: ResultTable, work: Work, measured: Iterable[str]) -> list[Json]:
    """Return groups of models that were fitted with the same settings, as stored with them, without the defaults.

    Files are left out, because the notes of the rows name them.
    """
    groups: dict[str, Json] = {}
    for key in work.models_for(table.row(id) for id in measured):
        model = work.fitted(key)
        if model is not None:
            settings = _changed(model)
            group = groups.setdefault(str(settings), {"models": [], "settings": settings})
            group["models"] += [key[0]] if key[0] not in group["models"] else []
    return list(groups.values())


def _made(table: ResultTable, work: Work, measured: Mapping[str, Sequence[Measurement]]) -> Json:
    """Return where the numbers come from: code, machine, wall-clock seconds as stored, and digests of the data."""
    rows = [table.row(id) for id in measured]
    models = {key: work.paper.model(key[0]) for key in work.models_for(rows)}
    used = {("triplets", id) for model in models.values() for id in (model.triplets, model.validation)}
    used |= {(kind, getattr(row.measure, kind, "")) for row in rows for kind in ("triplets", "benchmark")}
    data = {f"{kind} {id}": record.digest for kind, id in sorted(used) if (record := work.made(kind, id))}
    files = {str(getattr(row.measure, "documents", "")) for row in rows}
    data |= {name: file_digest(_documents(name, work)) for name in sorted(files) if name}
    if work.sources.sick and any(isinstance(row.measure, RelatednessMeasures | ExamplePredictions) for row in rows):
        data["SICK"] = folder_digest(work.sources.sick)
    words = {Path(work.sources.words_for(model.words)) for model in models.values() if model.words}
    data |= {path.name: file_digest(path) for path in sorted(words) if path.is_file()}
    corpora = {model.corpus for model in models.values() if model.corpus}
    data |= {work.corpus(id).name: str(text_key(work.corpus(id))[0]) for id in sorted(corpora)}
    if work.sources.articles is not None:
        data[work.sources.corpus.name] = str(text_key(work.sources.corpus)[0])
    digests = {reading.run for readings in measured.values() for reading in readings if reading.run}
    with work.store.reading() as r:
        runs = [run for digest in sorted(digests) if (run := r.runs.by_digest(digest))]
    fitted = [model for key in models if (model := work.fitted(key))]
    fits = round(sum(float(model.metrics.get("seconds", 0)) for model in fitted), 1)
    seconds = {"fits": fits, "evaluations": round(sum(run.seconds for run in runs), 3)}
    machine = f"{processor()}, {os.cpu_count()} cores"
    code = {"version": code_version(), "revision": code_revision()}
    return code | {"machine": machine, "seconds": seconds, "data": data}


def _changed(model: ModelRecord) -> Json:
    declared = METHODS.get(model.method).config_class()
    settings = config_from_dict(declared, model.config).result_settings()
    known = {name: (default_of(field), info.file) for name, (field, _, info) in options(declared).items()}
    return {
        name: value
        for name, value in settings.items()
        if not known[name][1] and value != (list(default) if isinstance(default := known[name][0], tuple) else default)
    }


def _blank(row: Row) -> Json:
    about: Json = {"id": row.id, "title": row.title, "published": dict(row.published), "ours": {}, "difference": {}}
    return about | {"data": "", "deviation": row.deviation, "missing": "", "runs": []}


def _row(table: ResultTable, row: Row, work: Work, found: dict[str, list[Measurement]], progress: Progress) -> Json:
    content = _blank(row)
    seeds = work.seeds_of(row.measure)
    try:
        measurements = []
        for number, seed in enumerate(seeds):
            progress(number, len(seeds))
            measurements.append(measure(row.measure, work, seed))
        content["data"] = "; ".join(filter(None, (data_of(row.measure, work), measurements[0].warning)))
    except (Cancelled, StoreError):
        raise
    except ThemescopeError as error:
        return content | {"missing": str(error)}
    found[row.id] = measurements
    metrics = [column.metric for column in table.columns if column.metric in measurements[0].scores]
    content["ours"] = {metric: summary(metric, measurements) for metric in metrics}
    content["difference"] = {
        metric: content["ours"][metric]["value"] - row.published[metric]
        for metric in metrics
        if metric in row.published
    }
    content["runs"] = [measurement.run for measurement in measurements if measurement.run]
    return content


def summary(metric: str, measurements: Sequence[Measurement]) -> Json:
    """Return the mean over seeds with its interval over items, and the standard deviation over seeds."""
    by_seed = [float(measurement.scores[metric]) for measurement in measurements]
    estimate = _estimate(metric, measurements)
    found: Json = {"value": float(np.mean(by_seed)), "seeds": by_seed}
    if len(by_seed) > 1:
        found["spread"] = float(np.std(by_seed, ddof=1))
    if estimate is not None:
        found |= {"low": estimate.low, "high": estimate.high, "n": estimate.n}
    return found


def _estimate(metric: str, measurements: Sequence[Measurement]) -> Estimate | None:
    if metric in measurements[0].values:
        return bootstrap_mean(_mean_values(metric, measurements), measurements[0].values[metric].groups)
    ends = [measurement.intervals[metric] for measurement in measurements if metric in measurement.intervals]
    if not ends:
        return None
    low, high = (float(np.mean([end[i] for end in ends])) for i in (0, 1))
    return Estimate(float("nan"), low, high, ends[0][2])


def _mean_values(metric: str, measurements: Sequence[Measurement]) -> Any:
    return np.mean([measurement.values[metric].values for measurement in measurements], axis=0)


def _claims(table: ResultTable, found: Mapping[str, Sequence[Measurement]]) -> list[Json]:
    """Test every claim whose rows share their items, with p-values corrected over the table."""
    tests = [(claim, _tested(claim, found)) for claim in table.claims]
    ps = holm([test["p"] for _, test in tests if test])
    claims: list[Json] = []
    for claim, test in tests:
        about: Json = {"first": table.row(claim.first).title, "second": table.row(claim.second).title}
        about |= {"metric": claim.metric, "relation": claim.relation}
        if test:
            corrected = ps.pop(0)
            about |= test | {"p_holm": corrected, "verdict": _verdict(claim, test, corrected)}
        claims.append(about)
    return claims


def _tested(claim: Claim, found: Mapping[str, Sequence[Measurement]]) -> Json:
    first, second = (found.get(row, ()) for row in (claim.first, claim.second))
    if not first or not second or claim.metric not in first[0].values or claim.metric not in second[0].values:
        return {}
    items = first[0].values[claim.metric]
    if not np.array_equal(items.items, second[0].values[claim.metric].items):
        return {}
    one, other = (_mean_values(claim.metric, measurements) for measurements in (first, second))
    test = paired_test(one, other, items.groups)
    difference = test.difference
    return {"difference": difference.value, "low": difference.low, "high": difference.high, "p": test.p}


def _verdict(claim: Claim, test: Mapping[str, float], p: float) -> str:
    """Return the verdict; an order needs an interval without 0 and a significant corrected p-value."""
    if claim.relation == SIMILAR:
        return HOLDS if test["low"] <= 0.0 <= test["high"] else REVERSED
    if p >= _SIGNIFICANT:
        return OPEN
    if test["low"] > 0.0:
        return HOLDS
    return REVERSED if test["high"] < 0.0 else OPEN


# Measurements of a row with one seed: the job to run, and its values per item

ACCURACY = "accuracy"
BY_DOCUMENT = "accuracy by document"
"""Mean over documents of the share of sentences with the correct topic; used in paired tests."""
SECONDS = "seconds"
"""Wall-clock seconds of fitting the model and its base models."""


@dataclass(frozen=True)
class PerItem:
    """(n,) values of a metric, one for each of the (n,) items."""

    values: Floats
    items: Ids
    groups: Ids | None = None
    """Articles of the items, if an article has several items."""


@dataclass(frozen=True)
class Measurement:
    """Measured scores; counts have no values per item."""

    scores: Mapping[str, float]
    values: Mapping[str, PerItem] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float, int]] = field(default_factory=dict)
    """(low, high, n) of metrics that have no values per item."""
    run: str = ""
    """Digest of the stored run."""
    warning: str = ""
    """Warning about the validity of the scores."""


def measure(wanted: Measure, work: Work, seed: int) -> Measurement:
    """Carry out a measurement, reusing stored results."""
    match wanted:
        case CountTriplets(triplets):
            counts = work.triplet_set(triplets).counts
            numbers = {split.value: float(counts["triplets"][split.value]) for split in Split}
            return Measurement({**numbers, "articles": float(counts["articles"]["with_triplets"]["total"])})
        case CountBenchmark(benchmark):
            table = work.benchmark(benchmark).counts["table"]["ours"]
            return Measurement({name: float(value) for name, value in table.items()})
        case Accuracy():
            return _accuracy(wanted, work, seed)
        case ClusteringMeasures():
            return _clustering(wanted, work, seed)
        case RelatednessMeasures():
            args = {"sick": str(work.sources.pairs()), "regressor": wanted.regressor, "seed": seed}
            result = work.steps.run("evaluate-relatedness", {"model": work.model(wanted.model, seed).name, **args})
            scores: Mapping[str, Mapping[str, Any]] = result["scores"]
            return Measurement(
                {metric: score["value"] for metric, score in scores.items()},
                intervals={metric: (score["low"], score["high"], score["n"]) for metric, score in scores.items()},
                run=result["digest"],
            )
        case ExamplePredictions():
            return _examples(wanted, work, seed)
        case _:
            return _measure_topics(wanted, work, seed)


def _measure_topics(
    wanted: CountTopics | CountSummaries | Topics | ChosenSetting | SummaryMeasures, work: Work, seed: int
) -> Measurement:
    match wanted:
        case CountTopics():
            result = _evaluated(Topics(wanted.labels, wanted.labels, wanted.settings), work, work.profile.seeds[0])
            return Measurement({name: float(value) for name, value in result["counts"].items()}, run=result["digest"])
        case CountSummaries():
            from themescope.core.tasks.summaries import read_summary_documents

            found = read_summary_documents(_documents(wanted.documents, work), report=work.steps.context)
            parts = ("sentences", "references")
            means = {name: float(np.mean([len(getattr(d, name)) for d in found])) for name in parts}
            return Measurement({"documents": float(len(found)), **means})
        case Topics():
            return _topics(wanted, work, seed)
        case ChosenSetting():
            settings = {**wanted.settings, "part": "validation"}
            scores = {
                value: _evaluated(Topics(model, wanted.labels, settings), work, seed)["scores"]["weighted F1"]
                for value, model in sorted(wanted.models.items())
            }
            best = max(scores, key=lambda value: scores[value]["value"])
            return Measurement({"value": best, "f1": scores[best]["value"]})
        case SummaryMeasures():
            return _summaries(wanted, work, seed)


def _examples(wanted: ExamplePredictions, work: Work, seed: int) -> Measurement:
    """Return the score of a test pair, and the predictions of regressors, which are fitted anew and not stored."""
    from themescope.core.tasks.relatedness import fit_relatedness, read_sick

    pairs, context = read_sick(work.sources.pairs()), work.steps.context
    known = dict(zip(zip(pairs.test.first, pairs.test.second, strict=True), pairs.test.scores.tolist(), strict=True))
    if wanted.pair not in known:
        raise DataError("The test part of this copy of SICK does not have the pair.")
    scores = {"score": known[wanted.pair]}
    # Each sentence is an article of its own, as where the regressor is trained.
    sentences = [Sentence(text, article_id=i, opens_paragraph=True) for i, text in enumerate(wanted.pair)]
    for metric, id in wanted.models.items():
        model = load_model(work.store, work.model(id, seed))[0]
        vectors = model.embed(sentences)
        regressor = fit_relatedness(model, pairs, seed=seed, report=context)
        scores[metric] = float(regressor.predict(vectors[:1], vectors[1:])[0])
    return Measurement(scores)


def _accuracy(wanted: Accuracy, work: Work, seed: int) -> Measurement:
    args: dict[str, Any] = {"model": work.model(wanted.model, seed).name}
    if wanted.regressor:
        args["sick"] = str(work.sources.pairs())
    file = work.test_file(wanted.triplets)
    if file:
        split, set_id = Split.TEST, 0
        args["file"] = str(file)
    else:
        data, split = work.triplet_set(wanted.triplets), work.profile.split
        set_id = data.id
        args |= {"triplets": data.name, "split": split.value}
        args["articles"] = work.profile.articles
    result = work.steps.run("evaluate-triplets", args)
    with work.store.reading() as r:
        ids, margins = r.runs.margins(result["run_id"], split)
        rows = r.triplets.rows(set_id, split) if set_id else None
    groups = None
    if rows is not None:
        article_of = dict(zip(rows.ids.tolist(), rows.articles.tolist(), strict=True))
        groups = np.array([article_of[id] for id in ids.tolist()], np.int64)
    correct = (0.5 + 0.5 * np.sign(margins)).astype(np.float64)
    values = {ACCURACY: PerItem(correct, ids, groups)}
    return Measurement({ACCURACY: float(correct.mean())}, values, run=result["digest"])


def _clustering(wanted: ClusteringMeasures, work: Work, seed: int) -> Measurement:
    args = {
        "model": work.model(wanted.model, seed).name if wanted.model else "",
        "clusterer": wanted.clusterer,
        "benchmark": work.benchmark(wanted.benchmark).name,
        "settings": dict(wanted.settings),
        "seed": seed,
    }
    result = work.steps.run("cluster", args)
    with work.store.reading() as r:
        rows = r.runs.scores([result["run_id"]], per_article=True)
    by_metric: dict[str, dict[int, float]] = {}
    for row in rows:
        by_metric.setdefault(row.metric, {})[row.article_id or 0] = row.value
    items = np.array(sorted(next(iter(by_metric.values()))), dtype=np.int64)
    values = {metric: PerItem(np.array([found[int(i)] for i in items]), items) for metric, found in by_metric.items()}
    seen = result["articles_seen_in_training"]
    warning = f"{seen:,} of these articles were in its training" if seen else ""
    means = {metric: float(found.values.mean()) for metric, found in values.items()}
    # A mean over a single article has no interval.
    return Measurement(means, values if len(items) > 1 else {}, run=result["digest"], warning=warning)


def _topics(wanted: Topics, work: Work, seed: int) -> Measurement:
    """Return the scores of both tasks, with accuracy per document for paired tests."""
    result = _evaluated(wanted, work, seed)
    with work.store.reading() as r:
        rows = r.runs.scores([result["run_id"]], per_article=True)
    of_document = {row.article_id: row.value for row in rows if row.metric == ACCURACY and row.article_id}
    items = np.array(sorted(of_document), dtype=np.int64)
    by_document = np.array([of_document[int(i)] for i in items])
    found: Mapping[str, Mapping[str, Any]] = result["scores"]
    known = {metric: score for metric, score in found.items() if score["low"] is not None}
    return Measurement(
        {metric: score["value"] for metric, score in found.items()}
        | {BY_DOCUMENT: float(by_document.mean()), SECONDS: _seconds(wanted.model, work, seed)},
        {BY_DOCUMENT: PerItem(by_document, items)},
        intervals={metric: (score["low"], score["high"], score["n"]) for metric, score in known.items()},
        run=result["digest"],
        warning="" if result["converged"] else "the classifier was stopped before its end",
    )


def _summaries(wanted: SummaryMeasures, work: Work, seed: int) -> Measurement:
    path = str(_documents(wanted.documents, work))
    args: dict[str, Any] = {"documents": path, "summarizer": wanted.summarizer, "seed": seed}
    if wanted.model:
        args["model"] = work.model(wanted.model, seed).name
    result = work.steps.run("evaluate-summaries", args)
    with work.store.reading() as r:
        single = r.runs.get(result["run_id"]).config["per_document"]
    items = np.arange(len(single["ids"]))
    values = {metric: PerItem(np.array(found), items) for metric, found in single.items() if metric != "ids"}
    scores = {metric: float(found.values.mean()) for metric, found in values.items()}
    return Measurement(scores, values, run=result["digest"])


def _evaluated(wanted: Topics, work: Work, seed: int) -> dict[str, Any]:
    model, labels = (work.model(id, seed).name for id in (wanted.model, wanted.labels))
    corpus = work.corpus_of_model(wanted.labels).name
    args = {"model": model, "labels": labels, "corpus": corpus, "seed": seed, **wanted.settings}
    if work.profile.documents:
        args["documents"] = work.profile.documents
    return work.steps.run("evaluate-topics", args)


def _seconds(id: str, work: Work, seed: int) -> float:
    own = float(work.model(id, seed).metrics.get("seconds", 0.0))
    return own + sum(_seconds(part, work, seed) for part in work.paper.model(id).parts)


def _documents(name: str, work: Work) -> Path:
    path = work.sources.data / name if work.sources.data else None
    if path is None or not path.exists():
        raise DataError(f"The data folder (--data) has no {name}.")
    return path.absolute()


# The job


_DOCUMENTS_PER_ARTICLE = 10  # a document of a topic task has about a tenth of the sentences of an article


@dataclass(frozen=True)
class ReproduceConfig(JobConfig):
    """Arguments of a reproduction."""

    removed: ClassVar[frozenset[str]] = frozenset({"encoder", "models", "training", "queue_trainings"})

    paper: str = option("", f"Id of the paper: {', '.join(PAPERS)}.", required=True)
    profile: str = option("quick", "Computational effort: quick (minutes), or full (about an hour for each network).")
    tables: tuple[str, ...] = option((), "Tables to reproduce; empty: all.")
    corpus: str = option("", "Name of a corpus in the store; empty: the articles of the data folder.")
    data: str = option("", "Folder with data sets: wikipedia/articles, wikipedia-more, vectors, sick.", file=True)
    words: str = option(
        "", "Table of word vectors for running text, an id or a file; empty: that of the data folder.", file=True
    )
    triplets: str = option("", "Folder with a copy of the published triplet files, or the test file.", file=True)
    scb: str = option("", "A copy of the published clustering benchmark (CSV).", file=True)
    sick: str = option("", "A copy of SICK; empty: that of the data folder.", file=True)
    articles: int = option(
        0, "Maximum number of evaluated articles of each data set; 0: that of the profile.", low=0, unit="articles"
    )
    seeds: int = option(0, "Number of seeds of random steps: the first ones of the profile; 0: all.", low=0, high=100)
    document: str = option(
        "",
        "Markdown file to write the results to when all are computed, with their records beside it as a .json "
        "file; empty: none.",
        file=True,
    )
    replace: bool = option(False, "Replace the document if it exists.")

    def validate(self) -> None:
        """Check profile and tables."""
        declared = paper(self.paper)
        declared.profile(self.profile)
        for table in self.tables:
            declared.table(table)
        if Path(self.document).suffix == records_beside(Path("x")).suffix:
            raise ConfigError(f"{self.document} is the name of the records. Name the document with the ending .md.")

    def title(self) -> str:
        """Return a title with paper, profile and tables."""
        which = f"table{'s' if len(self.tables) > 1 else ''} {', '.join(self.tables)}" if self.tables else "all tables"
        return f"Reproduce {self.paper}, {which} ({self.profile})"


def run(args: ReproduceConfig, context: JobContext) -> dict[str, Any]:
    """Reproduce the tables; each is stored row by row and replaces the older one when complete.

    The document is written at the end, so that there is none of an unfinished run.
    """
    document = Path(args.document)
    for file in (document, records_beside(document)) if args.document and not args.replace else ():
        if file.exists():
            raise ConfigError(f"{file} exists. Name another file (--document), or replace it (--replace).")
    declared = paper(args.paper)
    profile = declared.profile(args.profile)
    profile = replace(profile, seeds=profile.seeds[: args.seeds or None])
    if args.articles:
        profile = replace(profile, articles=args.articles, documents=args.articles * _DOCUMENTS_PER_ARTICLE)
    steps = Steps(context)
    steps.window(0.0, 0.02)
    wanted = Wanted(args.corpus, args.data, args.words, args.triplets, args.scb, args.sick)
    sampled = bool(declared.triplets or declared.benchmarks)  # from a corpus of articles with sections
    sources = find_sources(context.store, wanted, steps.run, needs_articles=sampled)
    work = Work(declared, profile, sources, steps)
    tables = [table for table in declared.tables if not args.tables or table.id in args.tables]
    missing = 0
    total, before = sum(len(table.rows) for table in tables), 0
    for table in tables:

        def window(done: int, of: int, before: int = before, rows: int = len(table.rows)) -> None:
            """Give the next steps part ``done`` of ``of`` parts of the table, in proportion to its rows."""
            ends = ((before + rows * part / of) / total for part in (done, done + 1))
            steps.window(*(0.02 + 0.97 * end for end in ends))

        keep = partial(_keep, args, context, declared, table.id)
        content = reproduce_table(table, work, window, keep)
        before += len(table.rows)
        missing += sum(bool(row["missing"]) for row in content["rows"])
        keep(content)
    if args.document:
        with context.store.reading() as r:
            records = r.papers.list(declared.id, args.profile)
        write_document(document, declared, args.profile, records)
    about: Json = {"paper": declared.id, "profile": profile.id, "tables": [table.id for table in tables]}
    about |= {"computed": steps.computed, "reused": steps.reused, "cached": steps.computed == 0}
    return about | {"rows": total, "rows_not_measured": missing, "document": args.document}


def _keep(args: ReproduceConfig, context: JobContext, declared: Paper, name: str, content: dict[str, Any]) -> None:
    """Store a table; an incomplete one does not replace a complete one."""
    with context.store.reading() as r:
        before = r.papers.find(declared.id, name, args.profile)
    if before is not None and before.content["complete"] and not content["complete"]:
        return
    if before is not None and "made" in before.content and {**before.content, "made": {}} == {**content, "made": {}}:
        return  # Where and by which code they were made is known already.
    arguments = {key: value for key, value in args.to_dict().items() if key not in ("tables", "document", "replace")}
    with context.writing() as w:
        w.papers.put(declared.id, name, args.profile, arguments, content)
