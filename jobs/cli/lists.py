"""`themescope list`: registered implementations and stored objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from themescope.core.config import default_of, options
from themescope.core.registry import Card
from themescope.db.store import Store
from themescope.jobs.cli.shell import Shell, common, pass_shell, table
from themescope.jobs.common.models import NOT_STORED, pretrained_models, selectable_models
from themescope.jobs.common.results import estimates

Rows = list[dict[str, Any]]


_FAMILIES = {
    "methods": "themescope.core.models",
    "clusterers": "themescope.core.clustering",
    "readers": "themescope.core.readers",
    "metrics": "themescope.core.metrics",
    "summarizers": "themescope.core.tasks.summaries",
    "jobs": "themescope.jobs.kinds",
}


def _cards(family: str) -> Rows:
    import importlib

    registry: Iterable[Card] = importlib.import_module(_FAMILIES[family]).REGISTRY
    return [
        {
            **_fields(card, "id", "title", "summary", "source", "revision"),
            "tags": " ".join(sorted(card.tags)),
            "settings": {
                name: {"help": info.help, "default": default_of(field)}
                for name, (field, _, info) in options(card.config_class()).items()
            },
        }
        for card in registry
    ]


def _corpora(store: Store) -> Rows:
    with store.reading() as r:
        return [
            _fields(c, "name", "language", "articles", "sections", "paragraphs", "sentences") for c in r.corpora.list()
        ]


def _triplets(store: Store) -> Rows:
    with store.reading() as r:
        return [
            {"name": s.name, "kind": s.kind, "seed": s.seed, "digest": s.digest, **s.counts.get("triplets", {})}
            for s in r.triplets.list()
        ]


def _models(store: Store) -> Rows:
    """Return stored and pretrained models; those not stored yet have no creation time."""
    pretrained = {model.digest for model in pretrained_models()}
    return [
        {
            "name": m.name,
            "method": m.method,
            "seed": m.seed,
            "pretrained": m.digest in pretrained,
            "created": "" if m.id == NOT_STORED else f"{m.created:%Y-%m-%d %H:%M}",
        }
        for m in selectable_models(store)
    ]


def _benchmarks(store: Store) -> Rows:
    with store.reading() as r:
        return [
            {"name": b.name, "articles": b.counts.get("articles", {}).get("taken", 0), "digest": b.digest}
            for b in r.benchmarks.list()
        ]


def _runs(store: Store) -> Rows:
    with store.reading() as r:
        runs = r.runs.list()
        models = {m.id: m.name for m in r.models.list()}
        sources = {("benchmark_id", b.id): b.name for b in r.benchmarks.list()}
        sources |= {("triplet_set_id", s.id): s.name for s in r.triplets.list()}
        sources |= {("corpus_id", c.id): c.name for c in r.corpora.list()}
    rows = []
    for run in runs:
        source = next((name for (key, id), name in sources.items() if getattr(run, key) == id), "")
        scores = {metric: score["value"] for metric, score in estimates(store, run.id).items()}
        model = models.get(run.model_id or 0, "–")
        rows.append({"id": run.id, "on": source, "model": model, "clusterer": run.clusterer or "–", "scores": scores})
    return rows


def _maps(store: Store) -> Rows:
    with store.reading() as r:
        return [_fields(m, "id", "name", "faithfulness", "sampled_from", "seed") for m in r.maps.list()]


def _fields(record: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


_STORED: dict[str, Callable[[Store], Rows]] = {
    "corpora": _corpora,
    "triplets": _triplets,
    "models": _models,
    "benchmarks": _benchmarks,
    "runs": _runs,
    "maps": _maps,
}


@click.command("list")
@click.argument("what", type=click.Choice([*_FAMILIES, *_STORED]))
@common
@pass_shell
def list_(shell: Shell, what: str) -> None:
    """List what is registered (methods, clusterers, readers, metrics, summarizers, kinds of jobs) or stored."""
    if what in _FAMILIES:
        rows, columns = _cards(what), ["id", "title", "tags"]
    else:
        rows, columns = _STORED[what](shell.store), None
    shell.show({what: rows}, table(rows, columns, empty=f"There are no {what} yet."))
