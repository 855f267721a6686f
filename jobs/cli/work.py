"""Commands that create corpora, triplet sets, models and maps, and move them between stores and as datasets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from themescope.core.config import options as settings_named
from themescope.core.errors import ArtifactError, ConfigError, ReadError
from themescope.core.types import FittedModel, ReadEntry
from themescope.jobs.cli.shell import (
    MODEL_HELP,
    Shell,
    background,
    common,
    form_of,
    form_options,
    model_for,
    pairs,
    pass_shell,
    seed_option,
    settings_of,
    settings_option,
    table,
)
from themescope.jobs.common.files import whole
from themescope.jobs.common.model_choice import language_of_file
from themescope.jobs.common.models import announcement, find_model
from themescope.jobs.services.pipeline import follow_ups, queue_pipeline
from themescope.jobs.services.table_files import csv_text

_MADE = {"model": "model", "sentences": "sentences", "number of themes": "k", "map": "map"}
KINDS = click.Choice(("sentences", "titles"))
SEED = seed_option("Random seed.")


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--corpus", required=True, help="Name of the new corpus.")
@click.option(
    "--language", default="", help="Language for splitting sentences, as a two-letter code; default: detected."
)
@click.option("--reader", default="", help="Reader to use, see `list readers`; else the format is detected.")
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    default=0,
    help="Local processes that parse files; 0: those of EXECUTOR_URL.",
)
@click.option(
    "--then",
    type=click.Choice(("nothing", "all")),
    default="nothing",
    show_default=True,
    help="all: compute vectors, themes and a map afterwards, as the pages do.",
)
@click.option(
    "--type",
    "types",
    multiple=True,
    metavar="COLUMN=TYPE",
    help="Type of a column: text, category, number or date, or omit to leave it out (repeatable).",
)
@click.option("--text-column", default="", metavar="COLUMN", help="Column of the texts of a table.")
@form_options
@settings_option("reader")
@background
@common
@pass_shell
def import_(
    shell: Shell, files: tuple[Path, ...], pairs: tuple[str, ...], types: tuple[str, ...], then: str, **options: Any
) -> None:
    """Import FILES as a new corpus.

    Of a folder, all files below it are read, each by the reader of its format; those that no reader can read are left
    out and listed.
    """
    from themescope.core.readers.formats import files_of

    paths = [file.absolute() for given in files for file in files_of(given)]
    form = {name: value for name, value in form_of(options).to_dict().items() if value}
    settings = form | ({"text": text} if (text := options.pop("text_column")) else {})
    declared = {column: type for column, _, type in (pair.rpartition("=") for pair in types)}
    options["language"] = options["language"] or language_of_file(paths[0], options["reader"])
    args = {
        "files": [str(path) for path in paths],
        "by_file": _by_file(paths, options["reader"], settings, pairs) if settings or pairs else {},
        "skip_unreadable": len(paths) > len(files),
        "types": declared,
        **options,
    }
    result = shell.run("import-corpus", args)
    if then == "all":
        result["then"] = _follow_ups(shell, options["corpus"], options["language"], result["job"])
    if "corpus_id" in result and not shell.json:
        click.echo(_import_report(shell, result))
        return
    _done(shell, result)


def _by_file(
    paths: Sequence[Path], reader: str, settings: Mapping[str, Any], pairs: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return path → reader and settings of the files whose reader has these settings."""
    from themescope.core.readers import REGISTRY as READERS
    from themescope.core.readers.formats import detect

    found: dict[str, dict[str, Any]] = {}
    problem = ConfigError("No file can be read.")
    for path in paths:
        try:
            id = reader or detect(path)
            config = READERS.get(id).config_class()
            if unknown := [name for name in settings if name not in settings_named(config)]:
                raise ConfigError(f"The reader of {path.name} has no {', '.join(unknown)}.")
            found[str(path)] = {"reader": id, "settings": {**settings, **settings_of(config, pairs)}}
        except ConfigError as error:
            problem = error
        except ReadError:
            continue  # reported by the import
    if not found:
        raise problem
    return found


def _import_report(shell: Shell, result: Mapping[str, Any]) -> str:
    """Return what an import stored, left out and changed, with the first places of each."""
    with shell.store.reading() as r:
        entries = r.corpora.entries(result["corpus_id"])
    shown = {name: value for name, value in result.items() if name not in ("skipped", "changed", "notes", "digest")}
    parts = [pairs(shown)]
    for change, name in ((False, "skipped"), (True, "changed")):
        for reason, number in result[name].items():
            places = [entry for entry in entries if (entry.change, entry.reason) == (change, reason)]
            listed = "; ".join(f"{one.place}: {_shortened(one.text)}".strip(": ") for one in places[:3])
            parts.append(f"{name}  {number:,} × {reason}" + (f" ({listed})" if listed else ""))
    parts += [f"read as  {name}: {note}" for name, note in result["notes"].items()]
    if not result["skipped"] and not result["changed"]:
        parts.append("Nothing was skipped or changed.")
    elif entries:
        parts.append(f"Every place: themescope skipped {result['corpus']!r} --out FILE.csv")
    return "\n".join(parts)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


@click.command()
@click.argument("corpus")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="File to write (.csv).")
@common
@pass_shell
def skipped(shell: Shell, corpus: str, out: Path | None) -> None:
    """Show what the import of CORPUS left out or changed, with the place and text of each."""
    with shell.store.reading() as r:
        record = r.corpora.by_name(corpus)
        entries = r.corpora.entries(record.id)
    rows = [{"what": "changed" if e.change else "skipped", **e._asdict()} for e in entries]
    for row in rows:
        del row["change"]
    if out is not None:
        with whole(out) as partial:
            partial.write_text(csv_text(("what", *ReadEntry._fields[1:]), [[*row.values()] for row in rows]), "utf-8")
    counts = {name: dict(record.report.get(name, {})) for name in ("skipped", "changed", "notes")}
    empty = "Nothing was skipped or changed with a known place."
    shell.show({**counts, "entries": rows}, f"{len(rows):,} places in {out}" if out else table(rows, empty=empty))


@click.command()
@click.argument("corpus")
@click.option("--kind", type=KINDS, default="sentences", show_default=True, help="Texts compared with the pivot.")
@click.option("--name", default="", help="Name of the new set; default: named after corpus and kind.")
@click.option("--split", "splits", multiple=True, help="Split to sample (repeatable); default: all three.")
@click.option("--without", multiple=True, metavar="CORPUS", help="Exclude articles that CORPUS contains (repeatable).")
@settings_option("rules")
@SEED
@background
@common
@pass_shell
def triplets(shell: Shell, corpus: str, pairs: tuple[str, ...], splits: tuple[str, ...], **options: Any) -> None:
    """Sample weakly labelled triplets from CORPUS."""
    from themescope.core.triplets.rules import TripletRules

    if not options["name"]:
        with shell.store.reading() as r:
            options["name"] = r.triplets.usable_name(f"{corpus} {options['kind']}")
    options["without"] = list(options["without"])
    args = {"corpus": corpus, "rules": settings_of(TripletRules, pairs), **options}
    _done(shell, shell.run("build-triplets", args | ({"splits": list(splits)} if splits else {})))


@click.command()
@click.argument("method")
@click.option("--triplets", default="", help="Triplet set to train on.")
@click.option("--validation", default="", help="Another triplet set, whose validation triplets decide early stopping.")
@click.option("--corpus", default="", help="Corpus to train on, for methods that need no triplets.")
@click.option("--model", "models", multiple=True, help="Component, submodel, base model or teacher (repeatable).")
@click.option(
    "--without", multiple=True, help="Corpus whose articles are left out, for methods that use sections (repeatable)."
)
@click.option("--name", default="", help="Name of the new model; default: the method's.")
@settings_option("method")
@SEED
@background
@common
@pass_shell
def train(shell: Shell, method: str, pairs: tuple[str, ...], **options: Any) -> None:
    """Fit METHOD and store it as a model. Ctrl-C stops it; `jobs retry` resumes from the checkpoint."""
    from themescope.core.models import REGISTRY as METHODS

    settings = settings_of(METHODS.get(method).config_class(), pairs)
    options |= {name: list(options[name]) for name in ("models", "without")} | {"name": options["name"] or method}
    _announce(shell, options["name"])
    _done(shell, shell.run("train", {"method": method, "settings": settings, **options}))


@click.command("add-model")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", default="", help="Name of the model; default: the folder's.")
@background
@common
@pass_shell
def add_model(shell: Shell, folder: Path, name: str) -> None:
    """Add the saved model, or the sentence-transformers encoder, in FOLDER to the store."""
    args = {"folder": str(folder.absolute()), "name": name or folder.absolute().name}
    _announce(shell, args["name"])
    _done(shell, shell.run("add-model", args))


@click.command("export-model")
@click.argument("model")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(("themescope", "sentence-transformers")),
    default="themescope",
    show_default=True,
    help="sentence-transformers: a folder that SentenceTransformer(FOLDER) loads.",
)
@click.option(
    "--small", is_flag=True, help="Round weights to 8 bits and word vectors to 6 bits, and compress the files."
)
@common
@pass_shell
def export_model(shell: Shell, model: str, folder: Path, format_: str, small: bool) -> None:
    """Write MODEL to FOLDER. `add-model` adds it to another store."""
    from themescope.core.models.artifact import load_model

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArtifactError(f"{str(folder)!r} exists and is not an empty folder. Choose a new one.")
    if small and format_ != "themescope":
        raise ConfigError("--small is for the format themescope only.")
    record = find_model(shell.store, model)
    source = shell.store.artifacts.path(record.artifact)
    fitted, info = load_model(source)
    facts = _written(fitted, info, source, folder, format_, small)
    size = sum(file.stat().st_size for file in folder.rglob("*"))
    _done(shell, {"model": record.name, "folder": str(folder), **facts, "megabytes": round(size / 1e6, 1)})


def _written(
    fitted: FittedModel, info: Mapping[str, Any], source: Path, folder: Path, format_: str, small: bool
) -> dict[str, Any]:
    """Write a model in one of the formats, and return what the command shows about it."""
    from themescope.core.models.artifact import save_for_sentence_transformers, save_model
    from themescope.core.tasks.pair_calibration import copy_calibration

    if format_ == "sentence-transformers":
        save_for_sentence_transformers(fitted, folder)
        return {"format": format_}
    digest = save_model(fitted, info["method"], folder, info["record"], small=small)
    copy_calibration(source, folder)
    return {"digest": digest}


@click.command("map")
@click.argument("corpus")
@click.option("--method", required=True, help=MODEL_HELP)
@click.option("--article", "articles", multiple=True, help="Title or id of an article to draw (repeatable).")
@click.option(
    "--limit", type=click.IntRange(min=5), default=20_000, show_default=True, help="Maximum number of sentences."
)
@click.option("--name", default="", help="Name of the map.")
@settings_option("projection")
@SEED
@background
@common
@pass_shell
def map_(shell: Shell, corpus: str, method: str, articles: tuple[str, ...], **options: Any) -> None:
    """Compute a map of CORPUS, or of some of its articles."""
    from themescope.core.projection.maps import UmapConfig

    options["settings"] = settings_of(UmapConfig, options.pop("pairs"))
    options["articles"] = [int(article) for article in articles if article.isdecimal()]
    options["titles"] = [article for article in articles if not article.isdecimal()]
    args = {"corpus": corpus, "model": model_for(shell, method, corpus), **options}
    _done(shell, shell.run("project", args))


def _follow_ups(shell: Shell, corpus: str, language: str, job: int) -> dict[str, Any]:
    """Run the jobs after an import and return what they made; with ``--background`` queue them after ``job``."""
    if shell.background:
        return {queued.kind: f"job {queued.id}" for queued in queue_pipeline(shell.store, corpus, language, after=job)}
    made: dict[str, Any] = {}
    for kind, args in follow_ups(shell.store, corpus, language):
        result = shell.run(kind, args)
        made |= {name: result[key] for name, key in _MADE.items() if key in result}
    return made


def _announce(shell: Shell, name: str) -> None:
    """Warn before the work starts that the name of a new model is taken."""
    if warning := announcement(shell.store, name):
        click.echo(warning, err=True)


def _done(shell: Shell, result: dict[str, Any]) -> None:
    shown = {k: v for k, v in result.items() if v not in ({}, [], "")}
    if shown.get("cached"):
        shown["cached"] = "yes, the stored result was used"
    shell.show(result, pairs({k: json.dumps(v) if isinstance(v, list) else v for k, v in shown.items()}))


@click.group("bundle")
def bundle() -> None:
    """Move a corpus with its labellings, their history, and vectors to another installation."""


@bundle.command()
@click.argument("corpus")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--without-labellings", is_flag=True, help="Exclude labellings.")
@click.option(
    "--model", "models", multiple=True, metavar="MODEL", help="Model to include with its vectors (repeatable)."
)
@background
@common
@pass_shell
def export(shell: Shell, corpus: str, file: Path, without_labellings: bool, models: tuple[str, ...]) -> None:
    """Write CORPUS into FILE (a zip)."""
    args = {"corpus": corpus, "file": str(file.absolute()), "labellings": not without_labellings, "models": [*models]}
    shell.show(result := shell.run("export-bundle", args), pairs(result))


@bundle.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", default="", help="Name of the new corpus; default: the name in the bundle, numbered if taken.")
@background
@common
@pass_shell
def import_bundle(shell: Shell, file: Path, name: str) -> None:
    """Import the bundle FILE. If an error occurs, nothing is imported."""
    result = shell.run("import-bundle", {"file": str(file.absolute()), "corpus": name})
    shell.show(result, pairs(result))


@bundle.command()
@click.argument("file", type=click.Path(path_type=Path))
@common
@pass_shell
def show(shell: Shell, file: Path) -> None:
    """Show the content of the bundle FILE without importing it."""
    from themescope.jobs.bundles.parts import BUNDLE, contents
    from themescope.jobs.common.archive import ArchiveReader

    with ArchiveReader(file, BUNDLE) as found:
        about = contents(found.about, file)
    facts = {name: getattr(about.corpus, name) for name in ("name", "language", "articles", "sentences", "digest")}
    facts["labellings"] = ", ".join(f"{one.name} ({one.owner or 'no name'})" for one in about.labellings)
    facts["models"] = ", ".join(model.name for model in about.models)
    shell.show(facts, pairs(facts))


@click.group("dataset")
def dataset() -> None:
    """Write corpora as Hugging Face datasets; `import` reads them."""


@dataset.command("export")
@click.argument("corpus")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--labelling", default="", help="Labelling whose clusters become the column “label”.")
@click.option("--themes", is_flag=True, help="Write the newest themes as the column “label”.")
@background
@common
@pass_shell
def export_dataset(shell: Shell, corpus: str, folder: Path, labelling: str, themes: bool) -> None:
    """Write CORPUS into the new FOLDER: Parquet files and a dataset card, which datasets.load_dataset(FOLDER) reads."""
    args = {"corpus": corpus, "folder": str(folder.absolute()), "labelling": labelling, "themes": themes}
    shell.show(result := shell.run("export-dataset", args), pairs(result))
