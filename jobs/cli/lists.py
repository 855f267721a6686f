"""`themescope list`: registered implementations and stored objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from themescope.core.config import default_of, options
from themescope.core.registry import Card
from themescope.core.types import ReadEntry
from themescope.db.store import Store
from themescope.jobs.cli.shell import Shell, common, pass_shell, table
from themescope.jobs.common.files import whole
from themescope.jobs.common.models import NOT_STORED, pretrained_models, selectable_models
from themescope.jobs.common.results import estimates
from themescope.jobs.services.table_files import csv_text

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


def _labellings(store: Store) -> Rows:
    with store.reading() as r:
        corpora = {c.id: c.name for c in r.corpora.list()}
        found = r.labellings.list()
    return [{"name": x.name, "corpus": corpora[x.corpus_id], "owner": x.owner, "sentences": x.sentences} for x in found]


_STORED: dict[str, Callable[[Store], Rows]] = {
    "corpora": _corpora,
    "triplets": _triplets,
    "models": _models,
    "benchmarks": _benchmarks,
    "runs": _runs,
    "maps": _maps,
    "labellings": _labellings,
}
_SKIPPED = "skipped"


@click.command("list")
@click.argument("what", type=click.Choice([*_FAMILIES, *_STORED, _SKIPPED]))
@click.argument("corpus", default="")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="File to write (.csv).")
@common
@pass_shell
def list_(shell: Shell, what: str, corpus: str, out: Path | None) -> None:
    """List what is registered (methods, clusterers, readers, metrics, summarizers, kinds of jobs) or stored.

    `list skipped CORPUS` shows what the import of CORPUS left out or changed, with the place and text of each.
    """
    value: dict[str, Any] = {}
    columns, empty = None, f"There are no {what} yet."
    if bool(corpus) != (what == _SKIPPED):
        raise click.UsageError("Name a corpus for `list skipped`, and for nothing else.")
    if what == _SKIPPED:
        with shell.store.reading() as r:
            record = r.corpora.by_name(corpus)
            entries = r.corpora.entries(record.id)
        rows = [
            {"what": "changed" if e.change else "skipped"} | {k: v for k, v in e._asdict().items() if k != "change"}
            for e in entries
        ]
        columns = ["what", *ReadEntry._fields[1:]]
        value = {name: dict(record.report.get(name, {})) for name in ("skipped", "changed", "notes")}
        value |= {"entries": rows}
        empty = "Nothing was skipped or changed with a known place."
    elif what in _FAMILIES:
        rows, columns = _cards(what), ["id", "title", "tags"]
    else:
        rows = _STORED[what](shell.store)
    text = table(rows, columns, empty=empty)
    if out is not None:
        header = columns or [*(rows[0] if rows else ())]
        with whole(out) as partial:
            partial.write_text(csv_text(header, [[row[name] for name in header] for row in rows]), "utf-8")
        text = f"{len(rows):,} rows in {out}"
    shell.show(value or {what: rows}, text)
