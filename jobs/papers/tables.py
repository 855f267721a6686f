"""Reproduced tables as JSON: published and measured values, intervals, spread over seeds, data, tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from themescope.core.compute import processor
from themescope.core.config import config_from_dict, default_of, options
from themescope.core.errors import Cancelled, StoreError, ThemescopeError
from themescope.core.metrics.statistics import bootstrap_mean, holm, paired_test
from themescope.core.models import REGISTRY as METHODS
from themescope.core.papers.spec import SIMILAR, Claim, ResultTable, Row
from themescope.core.records.stored import ModelRecord
from themescope.core.types import Estimate
from themescope.jobs.common.results import code_revision, code_version
from themescope.jobs.kinds.import_corpus import text_key
from themescope.jobs.papers.document import data_of
from themescope.jobs.papers.measurements import Measurement, measure, seeds_of
from themescope.jobs.papers.queued_trainings import models_for
from themescope.jobs.papers.work import Work

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
    return {
        "title": table.title,
        "source": table.source,
        "about": table.about,
        "columns": [
            {"metric": c.metric, "title": c.title, "digits": c.digits, "lower_is_better": c.lower_is_better}
            for c in table.columns
        ],
        "profile": {
            "title": work.profile.title,
            "seeds": list(work.profile.seeds),
            "split": work.profile.split.value,
            "articles": work.profile.articles,
            "documents": work.profile.documents,
        },
        "settings": _settings(table, work, found),
        "made": _made(table, work, found),
        "rows": list(rows),
        "claims": _claims(table, found),
    }


def _settings(table: ResultTable, work: Work, measured: Iterable[str]) -> list[Json]:
    """Return groups of models that were fitted with the same settings, as stored with them, without the defaults.

    Files are left out, because the notes of the rows name them.
    """
    groups: dict[str, Json] = {}
    for key in models_for(work, [table.row(id) for id in measured]):
        model = work.fitted(key)
        if model is not None:
            settings = _changed(model)
            group = groups.setdefault(str(settings), {"models": [], "settings": settings})
            group["models"] += [key[0]] if key[0] not in group["models"] else []
    return list(groups.values())


def _made(table: ResultTable, work: Work, measured: Mapping[str, Sequence[Measurement]]) -> Json:
    """Return where the numbers come from: code, machine, wall-clock seconds as stored, and digests of the data."""
    rows = [table.row(id) for id in measured]
    models = {key: work.paper.model(key[0]) for key in models_for(work, rows)}
    used = {("triplets", id) for model in models.values() for id in (model.triplets, model.validation)}
    used |= {(kind, getattr(row.measure, kind, "")) for row in rows for kind in ("triplets", "benchmark")}
    data = {f"{kind} {id}": record.digest for kind, id in sorted(used) if (record := work.made(kind, id))}
    corpora = {model.corpus for model in models.values() if model.corpus}
    data |= {work.corpus(id).name: str(text_key(work.corpus(id))[0]) for id in sorted(corpora)}
    if work.sources.articles is not None:
        data[work.sources.corpus.name] = str(text_key(work.sources.corpus)[0])
    digests = {reading.run for readings in measured.values() for reading in readings if reading.run}
    with work.store.reading() as r:
        runs = [run for digest in sorted(digests) if (run := r.runs.by_digest(digest))]
    fitted = [model for key in models if (model := work.fitted(key))]
    return {
        "version": code_version(),
        "revision": code_revision(),
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "seconds": {
            "fits": round(sum(float(model.metrics.get("seconds", 0)) for model in fitted), 1),
            "evaluations": round(sum(run.seconds for run in runs), 1),
        },
        "data": data,
    }


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
    return {
        "id": row.id,
        "title": row.title,
        "published": dict(row.published),
        "ours": {},
        "difference": {},
        "data": "",
        "deviation": row.deviation,
        "missing": "",
        "runs": [],
    }


def _row(table: ResultTable, row: Row, work: Work, found: dict[str, list[Measurement]], progress: Progress) -> Json:
    content = _blank(row)
    seeds = seeds_of(row.measure, work)
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
        about: Json = {
            "first": table.row(claim.first).title,
            "second": table.row(claim.second).title,
            "metric": claim.metric,
            "relation": claim.relation,
        }
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
