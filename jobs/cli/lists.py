"""`themescope list`: registered implementations and stored objects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import numpy as np

from themescope.core.config import default_of, options
from themescope.core.errors import ConfigError, DataError, UnknownNameError
from themescope.core.paths import DEFAULT
from themescope.core.readers.tables import KINDS, MOST_ROWS, Sheet, distinct_names, read_sheet
from themescope.core.registry import Card
from themescope.core.types import NullReport, ReadEntry
from themescope.db.store import Store
from themescope.jobs.cli.arguments import MODEL_HELP, form_of, form_options, here, model_for
from themescope.jobs.cli.main import F, Shell, background, common, pairs, pass_shell, seed_option, table
from themescope.jobs.common.articles import estimates
from themescope.jobs.common.files import check_target, whole
from themescope.jobs.common.models import NOT_STORED, find_model, pretrained_models, selectable_models
from themescope.jobs.common.reading import call_apart
from themescope.jobs.queue.runner import Bar
from themescope.jobs.services.search import find_similar
from themescope.jobs.services.table_files import csv_text, excel_bytes, json_lines

if TYPE_CHECKING:
    from themescope.core.sentence_model import SentenceModel

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

    rows = []
    registry: Iterable[Card] = importlib.import_module(_FAMILIES[family]).REGISTRY
    for card in registry:
        known = options(card.config_class()).items()
        settings = {name: {"help": info.help, "default": default_of(field)} for name, (field, _, info) in known}
        about = _fields(card, "id", "title", "summary", "source", "revision")
        rows.append({**about, "tags": " ".join(sorted(card.tags)), "settings": settings})
    return rows


def _stored(store: Store, what: str) -> Rows:
    """Return the rows of what is stored, except models and runs."""
    with store.reading() as r:
        corpora = r.corpora.list()
        if what == "corpora":
            names = ("name", "language", "articles", "sections", "paragraphs", "sentences")
            return [_fields(corpus, *names) for corpus in corpora]
        if what == "triplets":
            sets = r.triplets.list()
            return [_fields(s, "name", "kind", "seed", "digest") | dict(s.counts.get("triplets", {})) for s in sets]
        if what == "benchmarks":
            taken = [(b, b.counts.get("articles", {}).get("taken", 0)) for b in r.benchmarks.list()]
            return [{"name": b.name, "articles": articles, "digest": b.digest} for b, articles in taken]
        if what == "maps":
            return [_fields(m, "id", "name", "faithfulness", "sampled_from", "seed") for m in r.maps.list()]
        found, named = r.labellings.list(), {corpus.id: corpus.name for corpus in corpora}
    return [{"name": x.name, "corpus": named[x.corpus_id], "owner": x.owner, "sentences": x.sentences} for x in found]


def _models(store: Store) -> Rows:
    """Return stored and pretrained models; those not stored yet have no creation time."""
    rows, pretrained = [], {model.digest for model in pretrained_models()}
    for model in selectable_models(store):
        created = "" if model.id == NOT_STORED else f"{model.created:%Y-%m-%d %H:%M}"
        about = _fields(model, "name", "method", "seed")
        rows.append({**about, "pretrained": model.digest in pretrained, "created": created})
    return rows


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


def _fields(record: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


_STORED = ("corpora", "triplets", "models", "benchmarks", "runs", "maps", "labellings")
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
        columns = ["what", *ReadEntry._fields[1:]]
        rows = [dict(zip(columns, ("changed" if e[0] else "skipped", *e[1:]), strict=True)) for e in entries]
        value = {name: dict(record.report.get(name, {})) for name in ("skipped", "changed", "notes")}
        value |= {"entries": rows}
        empty = "Nothing was skipped or changed with a known place."
    elif what in _FAMILIES:
        rows, columns = _cards(what), ["id", "title", "tags"]
    else:
        read = {"models": _models, "runs": _runs}.get(what)
        rows = read(shell.store) if read else _stored(shell.store, what)
    text = table(rows, columns, empty=empty)
    if out is not None:
        header = columns or [*(rows[0] if rows else ())]
        with whole(out) as partial:
            partial.write_text(csv_text(header, [[row[name] for name in header] for row in rows]), "utf-8")
        text = f"{len(rows):,} rows in {out}"
    shell.show(value or {what: rows}, text)


# Inference on a corpus, or on a file without a store: `embed`, `similar` and `cluster`

METHOD = click.option("--method", default=DEFAULT, help=MODEL_HELP)
_COLUMN = click.option(
    "--column", "--text-column", default="", help="Column of the sentences; default: the one with the most text."
)
PRECISION = click.option(
    "--precision",
    type=click.Choice(("fp32", "int8")),
    default="fp32",
    show_default=True,
    help="int8 is faster; only triplet networks, such as triplets-sen-titles-wikipedia, have it.",
)
OUT = click.option("--out", type=click.Path(path_type=Path), default=None, help="File to write.")
Precision = Literal["fp32", "int8"]
Positions = Sequence[Sequence[Any]]


def column_and_form(command: F) -> F:
    """Give a command the options that say how the file is written, and in which column the sentences are."""
    return _COLUMN(form_options(command))


@click.command()
@click.argument("source")
@METHOD
@column_and_form
@OUT
@PRECISION
@background
@common
@pass_shell
def embed(shell: Shell, source: str, method: str, **options: Any) -> None:
    """Compute the vectors of SOURCE.

    For a file (txt, csv, tsv, jsonl, xlsx), they are written to --out (.npy, .jsonl, .csv or .parquet) and not stored.
    For a corpus, they are stored and reused by other commands.
    """
    if not is_file(source):
        args = {"corpus": source, "model": model_for(shell, method, source)}
        shell.show(result := shell.run("embed", args), pairs(result))
        return
    out = options["out"] or Path(source).with_suffix(".npy")
    if out.suffix.lower() not in _VECTOR_FILES:
        raise ConfigError(f"Vectors are written as {', '.join(_VECTOR_FILES)}, not as {out.suffix or 'no ending'!r}.")
    check_target(out, Path(source))
    *_, texts = _read(Path(source), options)
    vectors = _model(shell, method, options["precision"]).encode(texts)
    vectors = np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors, dtype=np.float32)
    with whole(out) as partial:
        _write_vectors(partial, out.suffix.lower(), texts, vectors)
    result = {"file": str(out), "sentences": len(texts), "dim": vectors.shape[1]}
    shell.show(result, pairs(result))


@click.command()
@click.argument("sentence")
@click.option("--in", "source", required=True, metavar="SOURCE", help="Corpus or file to search.")
@click.option(
    "--top", type=click.IntRange(1, 1_000), default=10, show_default=True, help="Number of sentences to show."
)
@METHOD
@column_and_form
@common
@pass_shell
def similar(shell: Shell, sentence: str, source: str, top: int, method: str, **options: Any) -> None:
    """Find the nearest neighbours of SENTENCE in a corpus or a file."""
    from themescope.core.compute import nearest_neighbours

    if not sentence.strip():
        raise DataError("Give a sentence to search for.")
    if is_file(source):
        *_, texts = _read(Path(source), options)
        vectors = _model(shell, method, "fp32").encode([sentence, *texts])
        near = nearest_neighbours(vectors[:1], [(np.arange(len(texts)), vectors[1:])], top)
        among, found = len(texts), [(cosine, texts[row]) for row, cosine in near]
    else:  # vectors are stored, and computed where they are missing
        embedded = here(shell, "embed", {"corpus": source, "model": model_for(shell, method, source)})
        with shell.store.reading() as r:
            corpus, model = r.corpora.by_name(source), r.models.by_name(embedded["model"])
        among = embedded["sentences"]
        matches = find_similar(shell.store, corpus.id, sentence, model.id, top).items
        found = [(match.cosine or 0.0, match.sentence.text) for match in matches]
    rows = [{"cosine": round(float(cosine), 4), "sentence": text} for cosine, text in found]
    shell.show({"sentence": sentence, "among": among, "nearest": rows}, table(rows))


@click.command()
@click.argument("source")
@click.option("--k", "wanted", default="auto", show_default=True, help="Number of themes, or auto to choose it.")
@seed_option("Seed of sampling and initialisation.")
@click.option("--in-order", is_flag=True, help="The sentences of a file are a running text, whose order counts.")
@click.option("--model-only", is_flag=True, help="Ignore the words that sentences share.")
@METHOD
@column_and_form
@OUT
@PRECISION
@common
@pass_shell
def cluster(shell: Shell, source: str, wanted: str, seed: int, method: str, **options: Any) -> None:
    """Find the themes of SOURCE: a file, written with a theme for each sentence to --out, or a corpus.

    --out is .csv (default), .jsonl or .xlsx. To score clusters against sections, see `evaluate scb`.
    """
    from themescope.core.tasks.themes import ThemesConfig
    from themescope.core.themes import themes_of

    config = ThemesConfig(k=_number(wanted), shared=0.0 if options["model_only"] else None)
    if not is_file(source):
        model = model_for(shell, method, source)
        args = {"corpus": source, "model": model, "settings": config.to_dict(), "seed": seed}
        result = shell.run("find-themes", args)
        shell.show(result, "\n".join(filter(None, [result["reason"], "", table(result["themes"])])))
        return
    out = options["out"] or Path(source).with_name(f"{Path(source).stem}-themes.csv")
    if out.suffix.lower() not in _TABLE_FILES:
        raise ConfigError(f"Themes are written as {', '.join(_TABLE_FILES)}, not as {out.suffix or 'no ending'!r}.")
    check_target(out, Path(source))
    begun = time.monotonic()
    sheet, kept, texts = _read(Path(source), options)
    encoder, bar = _model(shell, method, options["precision"]), _BarReport(Bar("Find themes", quiet=shell.json))
    found = themes_of(texts, encoder, config, seed, bar, options["in_order"], lists=method == DEFAULT)
    levels = found.level_names()
    known = [(label + 1, found.themes[label].name) for label in found.labels.tolist()]
    rows = [
        (sheet.numbers[row], *sheet.rows[row], *theme, round(float(margin), 4), *names)
        for row, theme, margin, *names in zip(kept, known, found.margins, *levels.values(), strict=True)
    ]
    header = distinct_names(("row", *sheet.columns, "theme", "name", "margin", *levels))
    with whole(out) as partial:
        partial.write_bytes(_TABLE_FILES[out.suffix.lower()](header, rows))
    themes = [{"theme": i, "name": t.name, "size": t.size} for i, t in enumerate(found.themes, 1)]
    seconds = round(time.monotonic() - begun, 2)
    counts = {"skipped": dict(sheet.account.skipped), "changed": dict(sheet.account.changed)}
    told = [f"{name}  {n:,} × {reason}" for name, reasons in counts.items() for reason, n in reasons.items()]
    told += [f"read as  {name}: {note}" for name, note in sheet.account.notes.items()]
    if found.order:
        told.append("uses the order of the sentences")
    if found.context:
        told.append("one subject: each sentence was encoded together with the mean of all")
    told += [
        f"repeated  {copies:,} of {len(texts):,} × {texts[row]!r}, in theme {found.labels[row] + 1}"
        for row, copies in found.frequent
    ]
    told.append(f"{len(texts):,} sentences in {out}, {seconds} s")
    about = {"file": str(out), "sentences": len(texts), **_fields(found, "distinct", "reason", "order", "context")}
    about |= {"levels": found.levels, "themes": themes, "seconds": seconds}
    about |= {"input": {**counts, **sheet.account.notes}}
    shell.show(about, "\n".join(filter(None, [found.reason, table(themes), *told])))


class _BarReport(NullReport):
    def __init__(self, bar: Bar) -> None:
        super().__init__()
        self._bar = bar

    def progress(self, done: float, total: float, message: str = "") -> None:
        self._bar(done / total if total else 0.0, message)


def is_file(source: str) -> bool:
    """Return whether ``source`` is a file or has the suffix of one."""
    return Path(source).is_file() or Path(source).suffix.lower().lstrip(".") in KINDS


def _model(shell: Shell, wanted: str, precision: Precision) -> SentenceModel:
    """Return a pretrained model, one in a folder, a stored one, or the model of a method."""
    from themescope import load

    try:
        return load(wanted, precision)
    except UnknownNameError:
        record = find_model(shell.store, model_for(shell, wanted))
        return load(shell.store.artifacts.path(record.artifact), precision)


def _read(path: Path, options: dict[str, Any]) -> tuple[Sheet, list[int], list[str]]:
    """Return the table of a file, its rows that have a sentence, and the sentences."""
    column = options.pop("column")
    sheet = call_apart(path, read_sheet, path, MOST_ROWS, form_of(options))
    if sheet.cut:
        raise DataError(
            f"{path.name} has more than {len(sheet.rows):,} rows. `themescope import {path.name} --corpus NAME "
            "--then all` takes more: it stores them with their themes and a map."
        )
    name = column or sheet.likely_columns()[0]
    if name not in sheet.columns:
        raise UnknownNameError("column", name, sheet.columns)
    column_of_texts = sheet.column(name)
    rows = [row for row, text in enumerate(column_of_texts) if text]
    if not rows:
        raise DataError(f"The column {name!r} of {path.name} has no sentences.")
    for row in set(range(len(column_of_texts))) - set(rows):
        sheet.account.skip("no text", f"row {sheet.numbers[row]:,}", " ".join(sheet.rows[row]))
    return sheet, rows, [column_of_texts[row] for row in rows]


def _number(wanted: str) -> int:
    if wanted == "auto":
        return 0
    if not wanted.isdecimal() or int(wanted) < 1:
        raise ConfigError(f"--k must be a number or auto, not {wanted!r}.")
    return int(wanted)


_VECTOR_FILES = (".npy", ".jsonl", ".csv", ".parquet")


def _write_vectors(out: Path, suffix: str, texts: Sequence[str], vectors: Any) -> None:
    if suffix == ".npy":
        with out.open("wb") as stream:
            np.save(stream, vectors, allow_pickle=False)
    elif suffix == ".jsonl":
        lines = json_lines(("sentence", "vector"), zip(texts, vectors.tolist(), strict=True))
        out.write_text(lines, encoding="utf-8", newline="\n")
    elif suffix == ".csv":
        header = ("sentence", *(f"v{i}" for i in range(vectors.shape[1])))
        rows = ((text, *row) for text, row in zip(texts, vectors.tolist(), strict=True))
        out.write_bytes(csv_text(header, rows).encode("utf-8"))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
        pq.write_table(pa.table({"sentence": pa.array(texts), "vector": lists}), out)


_TABLE_FILES: dict[str, Callable[[Sequence[str], Positions], bytes]] = {
    ".csv": lambda header, rows: csv_text(header, rows).encode("utf-8"),
    ".jsonl": lambda header, rows: json_lines(header, rows).encode("utf-8"),
    ".xlsx": excel_bytes,
}
