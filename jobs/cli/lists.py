"""`themescope list`: registered implementations and stored objects."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
import numpy as np

from themescope.core.config import default_of, options
from themescope.core.errors import ConfigError, DataError, UnknownNameError
from themescope.core.paths import DEFAULT
from themescope.core.readers.tables import MOST_ROWS, Sheet, distinct_names, read_sheet
from themescope.core.registry import Card
from themescope.core.types import NullReport, ReadEntry
from themescope.db.store import Store
from themescope.jobs.cli.arguments import FORM, MODEL_HELP, check_out, form_of, is_file, model_for, write
from themescope.jobs.cli.main import Seed, Shell, command, fields, pairs, table
from themescope.jobs.common.articles import estimates
from themescope.jobs.common.models import NOT_STORED, find_model, pretrained_models, selectable_models
from themescope.jobs.common.reading import call_apart
from themescope.jobs.queue.runner import Bar
from themescope.jobs.services.search import find_similar
from themescope.jobs.services.table_files import TABLE_WRITERS, csv_text, json_lines, parquet_bytes

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
        about = fields(card, "id", "title", "summary", "source", "revision")
        rows.append({**about, "tags": " ".join(sorted(card.tags)), "settings": settings})
    return rows


_STORED = {
    "corpora": ("name", "language", "articles", "sections", "paragraphs", "sentences"),
    "triplets": ("name", "kind", "seed", "digest"),
    "models": ("name", "method", "seed"),
    "benchmarks": ("name", "digest"),
    "runs": ("id", "clusterer"),
    "maps": ("id", "name", "faithfulness", "sampled_from", "seed"),
    "labellings": ("name", "owner", "sentences"),
}
"""What is stored → fields of it."""
_SKIPPED = "skipped"


def _stored(store: Store, what: str) -> Rows:
    """Return the rows of what is stored; pretrained models that are not stored yet have no creation time."""
    with store.reading() as r:
        names = {
            key: {one.id: one.name for one in getattr(r, key).list()}
            for key in ("corpora", "models", "benchmarks", "triplets")
        }
        records = selectable_models(store) if what == "models" else getattr(r, what).list()
    pretrained = {model.digest for model in pretrained_models()} if what == "models" else set()
    rows = [fields(one, *_STORED[what]) for one in records]
    for row, one in zip(rows, records, strict=True):
        if what == "triplets":
            row |= one.counts.get("triplets", {})
        elif what == "models":
            row["pretrained"] = one.digest in pretrained
            row["created"] = "" if one.id == NOT_STORED else f"{one.created:%Y-%m-%d %H:%M}"
        elif what == "benchmarks":
            row["articles"] = one.counts.get("articles", {}).get("taken", 0)
        elif what == "labellings":
            row["corpus"] = names["corpora"][one.corpus_id]
        elif what == "runs":
            of = {"benchmarks": one.benchmark_id, "triplets": one.triplet_set_id, "corpora": one.corpus_id}
            row["on"] = next((names[key][id] for key, id in of.items() if id in names[key]), "")
            row["model"] = names["models"].get(one.model_id, "–")
            row["scores"] = {metric: score["value"] for metric, score in estimates(store, one.id).items()}
    return rows


@command()
def list_(
    shell: Shell,
    what: Annotated[str, click.Choice([*_FAMILIES, *_STORED, _SKIPPED])],
    corpus: str = "",
    out: Annotated[Path | None, "File to write (.csv)."] = None,
) -> None:
    """List what is registered (methods, clusterers, readers, metrics, summarizers, jobs) or stored.

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
        rows = _stored(shell.store, what)
    text = table(rows, columns, empty=empty)
    if out is not None:
        header = columns or [*(rows[0] if rows else ())]
        write(out, csv_text(header, [[row[name] for name in header] for row in rows]))
        text = f"{len(rows):,} rows in {out}"
    shell.show(value or {what: rows}, text)


# Inference on a corpus, or on a file without a store: `embed`, `similar` and `cluster`

Method = Annotated[str, MODEL_HELP]
Precision = Annotated[
    Literal["fp32", "int8"], "int8 is faster; only triplet networks, such as triplets-sen-titles-wikipedia, have it."
]
Out = Annotated[Path | None, "File to write."]
_TABLE = [
    click.Option(
        ["--column", "--text-column"], default="", help="Column of the sentences; default: the one with the most text."
    ),
    *FORM,
]
"""Options that say how a file is written, and in which column the sentences are."""


@command(more=_TABLE, queued=True)
def embed(
    shell: Shell, source: str, method: Method = DEFAULT, out: Out = None, precision: Precision = "fp32", **form: Any
) -> None:
    """Compute the vectors of SOURCE.

    For a file (txt, csv, tsv, jsonl, xlsx), they are written to --out (.npy, .jsonl, .csv or .parquet) and not stored.
    For a corpus, they are stored and reused by other commands.
    """
    if not is_file(source):
        args = {"corpus": source, "model": model_for(shell, method, source)}
        shell.show(result := shell.run("embed", args), pairs(result))
        return
    out = out or Path(source).with_suffix(".npy")
    ending = check_out(out, "Vectors", (".npy", ".jsonl", ".csv", ".parquet"), Path(source))
    *_, texts = _read(Path(source), form)
    vectors = _model(shell, method, precision).encode(texts)
    vectors = np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors, dtype=np.float32)
    write(out, _vector_file(ending, texts, vectors))
    result = {"file": str(out), "sentences": len(texts), "dim": vectors.shape[1]}
    shell.show(result, pairs(result))


def _vector_file(ending: str, texts: Sequence[str], vectors: Any) -> str | bytes:
    header, rows = ("sentence", "vector"), zip(texts, vectors.tolist(), strict=True)
    if ending == ".npy":
        np.save(stream := io.BytesIO(), vectors, allow_pickle=False)
        return stream.getvalue()
    if ending == ".jsonl":
        return json_lines(header, rows)
    if ending == ".parquet":
        return parquet_bytes(header, [*zip(texts, vectors, strict=True)])
    return csv_text(("sentence", *(f"v{i}" for i in range(vectors.shape[1]))), ((text, *row) for text, row in rows))


@command(more=_TABLE)
def similar(
    shell: Shell,
    sentence: str,
    source: Annotated[str, "--in SOURCE", "Corpus or file to search."],
    top: Annotated[int, "Number of sentences to show.", click.IntRange(1, 1_000)] = 10,
    method: Method = DEFAULT,
    **form: Any,
) -> None:
    """Find the nearest neighbours of SENTENCE in a corpus or a file."""
    from themescope.core.compute import nearest_neighbours

    if not sentence.strip():
        raise DataError("Give a sentence to search for.")
    if is_file(source):
        *_, texts = _read(Path(source), form)
        vectors = _model(shell, method, "fp32").encode([sentence, *texts])
        near = nearest_neighbours(vectors[:1], [(np.arange(len(texts)), vectors[1:])], top)
        among, found = len(texts), [(cosine, texts[row]) for row, cosine in near]
    else:  # vectors are stored, and computed where they are missing
        embedded = shell.run("embed", {"corpus": source, "model": model_for(shell, method, source)}, here=True)
        with shell.store.reading() as r:
            corpus, model = r.corpora.by_name(source), r.models.by_name(embedded["model"])
        among = embedded["sentences"]
        matches = find_similar(shell.store, corpus.id, sentence, model.id, top).items
        found = [(match.cosine or 0.0, match.sentence.text) for match in matches]
    rows = [{"cosine": round(float(cosine), 4), "sentence": text} for cosine, text in found]
    shell.show({"sentence": sentence, "among": among, "nearest": rows}, table(rows))


@command(more=_TABLE)
def cluster(
    shell: Shell,
    source: str,
    k: Annotated[str, "Number of themes, or auto to choose it."] = "auto",
    seed: Seed = 0,
    in_order: Annotated[bool, "The sentences of a file are a running text, whose order counts."] = False,
    model_only: Annotated[bool, "Ignore the words that sentences share."] = False,
    method: Method = DEFAULT,
    out: Out = None,
    precision: Precision = "fp32",
    **form: Any,
) -> None:
    """Find the themes of SOURCE: a file, written with a theme for each sentence to --out, or a corpus.

    --out is .csv (default), .jsonl, .parquet or .xlsx. To score clusters against sections, see `evaluate scb`.
    """
    from themescope.core.tasks.themes import ThemesConfig
    from themescope.core.themes import themes_of

    if k != "auto" and (not k.isdecimal() or int(k) < 1):
        raise ConfigError(f"--k must be a number or auto, not {k!r}.")
    config = ThemesConfig(k=0 if k == "auto" else int(k), shared=0.0 if model_only else None)
    if not is_file(source):
        model = model_for(shell, method, source)
        args = {"corpus": source, "model": model, "settings": config.to_dict(), "seed": seed}
        result = shell.run("find-themes", args)
        shell.show(result, "\n".join(filter(None, [result["reason"], "", table(result["themes"])])))
        return
    out = out or Path(source).with_name(f"{Path(source).stem}-themes.csv")
    write_table = _TABLE_FILES[check_out(out, "Themes", _TABLE_FILES, Path(source))]
    begun = time.monotonic()
    sheet, kept, texts = _read(Path(source), form)
    encoder, bar = _model(shell, method, precision), _BarReport(Bar("Find themes", quiet=shell.json))
    found = themes_of(texts, encoder, config, seed, bar, in_order, lists=method == DEFAULT)
    levels = found.level_names()
    known = [(label + 1, found.themes[label].name) for label in found.labels.tolist()]
    rows = [
        (sheet.numbers[row], *sheet.rows[row], *theme, round(float(margin), 4), *names)
        for row, theme, margin, *names in zip(kept, known, found.margins, *levels.values(), strict=True)
    ]
    write(out, write_table(distinct_names(("row", *sheet.columns, "theme", "name", "margin", *levels)), rows))
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
    about = {"file": str(out), "sentences": len(texts), **fields(found, "distinct", "reason", "order", "context")}
    about |= {"levels": found.levels, "themes": themes, "seconds": seconds}
    about |= {"input": {**counts, **sheet.account.notes}}
    shell.show(about, "\n".join(filter(None, [found.reason, table(themes), *told])))


_TABLE_FILES = {f".{name.lower()}": write_table for name, write_table in TABLE_WRITERS.items()}


class _BarReport(NullReport):
    def __init__(self, bar: Bar) -> None:
        super().__init__()
        self._bar = bar

    def progress(self, done: float, total: float, message: str = "") -> None:
        self._bar(done / total if total else 0.0, message)


def _model(shell: Shell, wanted: str, precision: Precision) -> SentenceModel:
    """Return a pretrained model, one in a folder, a stored one, or the model of a method."""
    from themescope import load

    try:
        return load(wanted, precision)
    except UnknownNameError:
        record = find_model(shell.store, model_for(shell, wanted))
        return load(shell.store.artifacts.path(record.artifact), precision)


def _read(path: Path, form: dict[str, Any]) -> tuple[Sheet, list[int], list[str]]:
    """Return the table of a file, its rows that have a sentence, and the sentences."""
    column = form.pop("column")
    sheet = call_apart(path, read_sheet, path, MOST_ROWS, form_of(form))
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
