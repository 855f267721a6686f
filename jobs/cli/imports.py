"""Commands that import files as a corpus, or add them to one, and show what an import left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any, Literal

import click

from themescope.core.config import config_from_dict
from themescope.core.config import options as settings_named
from themescope.core.errors import ConfigError, DataError, ReadError
from themescope.core.readers import REGISTRY as READERS
from themescope.core.readers.formats import detect, files_of
from themescope.jobs.bundles.parts import BUNDLE
from themescope.jobs.cli.arguments import FORM, done, form_of, job_options, settings_of, settings_option
from themescope.jobs.cli.main import Several, Shell, command, fields, pairs, table
from themescope.jobs.common.files import is_archive
from themescope.jobs.common.models import language_of_file
from themescope.jobs.kinds.append_corpus import AppendConfig, coming
from themescope.jobs.services import corpus_edits
from themescope.jobs.services.pipeline import follow_ups, queue_pipeline, queue_wave

_MADE = {"model": "model", "sentences": "sentences", "number of themes": "k", "map": "map"}
_APART = frozenset({"skipped", "changed", "notes", "digest", "duplicate_texts", "added", "readers"})
"""Parts of a result that the report does not list as they are."""


_FILES = [
    *job_options("import-corpus", ["reader", "workers"]),
    click.Option(
        ["--type", "types"],
        multiple=True,
        metavar="COLUMN=TYPE",
        help="Type of a column: text, category, number or date, or omit to leave it out (repeatable).",
    ),
    click.Option(["--text-column"], default="", metavar="COLUMN", help="Column of the texts of a table."),
    *FORM,
    settings_option("reader"),
]
"""Options of a command that reads files into a corpus."""


@command(more=[*job_options("import-corpus", ["unit"]), *_FILES], queued=True)
def import_(
    shell: Shell,
    files: tuple[Path, ...],
    corpus: Annotated[str, "Name of the new corpus; of a bundle, by default the name in it."] = "",
    language: Annotated[str, "Language for splitting sentences, as a two-letter code; default: detected."] = "",
    then: Annotated[
        Literal["nothing", "all"], "all: compute vectors, themes and a map afterwards, as the pages do."
    ] = "nothing",
    **options: Any,
) -> None:
    """Import FILES as a new corpus, or the bundle that `export bundle` wrote, with its labellings.

    Of a folder, all files below it are read, each by the reader of its format; those that no reader can read are left
    out and listed.
    """
    if len(files) == 1 and is_archive(files[0], BUNDLE):
        done(shell, shell.run("import-bundle", {"file": str(files[0].absolute()), "corpus": corpus}))
        return
    if not corpus:
        raise click.UsageError("Missing option '--corpus'.")
    args = _arguments(files, options)
    language = language or language_of_file(Path(args["files"][0]), args["reader"])
    result = shell.run("import-corpus", {**args, "corpus": corpus, "language": language})
    if then == "all" and shell.background:
        queued = queue_pipeline(shell.store, corpus, language, after=result["job"])
        result["then"] = {job.kind: f"job {job.id}" for job in queued}
    elif then == "all":
        result["then"] = {}
        for kind, how in follow_ups(shell.store, corpus, language):
            made = shell.run(kind, how)
            result["then"] |= {name: made[key] for name, key in _MADE.items() if key in made}
    _report(shell, result)


_WAVE = ["corpus", "wave", "date", "language", "id_column", "duplicates"]


@command(more=[*job_options("append-corpus", _WAVE), *_FILES], queued=True)
def append(
    shell: Shell,
    files: tuple[Path, ...],
    columns: Annotated[
        Several,
        "--column COLUMN=COLUMN",
        "Column of the files and the column of the corpus with its values, where their names differ.",
    ] = (),
    then: Annotated[
        Literal["nothing", "place"],
        "place: compute vectors, map positions and predicted codes of the wave afterwards, as the pages do.",
    ] = "place",
    **options: Any,
) -> None:
    """Add FILES to a corpus as a wave. Nothing that is stored changes: ids, labels, vectors and maps stay."""
    args = _arguments(files, options)
    if wrong := [pair for pair in columns if "=" not in pair]:
        raise ConfigError(f"--column {wrong[0]} must name two columns, as in Party=party.")
    args["columns"] = dict(pair.split("=", 1) for pair in columns)
    click.echo(coming(shell.store, config_from_dict(AppendConfig, args)), err=True)
    result = shell.run("append-corpus", args)
    corpus, wave = args["corpus"], args["wave"].strip()
    if then == "place" and shell.background:
        queued = queue_wave(shell.store, corpus, wave, result["job"])
        result["then"] = {job.kind: f"job {job.id}" for job in queued}
    elif then == "place":
        placed = shell.run("place-wave", {"corpus": corpus, "wave": wave})
        result |= {"then": placed} if shell.json else _placed(placed)
    _report(shell, result)


def _placed(result: Mapping[str, Any]) -> dict[str, str]:
    """Return what became of the sentences of a wave, by vectors, map and labelling."""
    found = {"vectors": f"{result['sentences']:,} sentences by {', '.join(result['models'])}"}
    found |= {f"map “{one['map']}”": f"{one['points']:,} points added" for one in result["maps"]}
    for one in result["labellings"]:
        new = "; ".join(f"{theme['name']} ({theme['sentences']:,})" for theme in one["candidates"])
        found[f"labelling “{one['labelling']}”"] = (
            f"{one['predicted']:,} codes predicted, {one['unusual']:,} sentences fit no code, "
            f"possible new themes: {new or 'none'}"
        )
    if result["left_out"]:
        found["left out"] = str(result["left_out"])
    return found


def _arguments(files: Sequence[Path], options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of an import: files, readers with the settings that these have, and other options."""
    given, types, text = options.pop("pairs"), options.pop("types"), options.pop("text_column")
    settings = {name: value for name, value in {**form_of(options).to_dict(), "text": text}.items() if value}
    paths = [file.absolute() for path in files for file in files_of(path)]
    by_file: dict[str, dict[str, Any]] = {}
    problem = ConfigError("No file can be read.")
    for path in paths if settings or given else ():
        try:
            id = options["reader"] or ("table" if settings.get("lines") else detect(path))
            config = READERS.get(id).config_class()
            if unknown := [name for name in settings if name not in settings_named(config)]:
                raise ConfigError(f"The reader of {path.name} has no {', '.join(unknown)}.")
            by_file[str(path)] = {"reader": id, "settings": {**settings, **settings_of(config, given)}}
        except ConfigError as error:
            problem = error
        except ReadError:
            continue  # reported by the import
    if (settings or given) and not by_file:
        raise problem
    return {
        "files": [str(path) for path in paths],
        "by_file": by_file,
        "skip_unreadable": len(paths) > len(files),
        "types": {column: type for column, _, type in (pair.rpartition("=") for pair in types)},
        **options,
    }


def _report(shell: Shell, result: dict[str, Any]) -> None:
    """Show what an import stored, left out and changed, with the first places of each."""
    if "corpus_id" not in result or shell.json:
        done(shell, result)
        return
    with shell.store.reading() as r:
        entries = r.corpora.entries(result["corpus_id"])
    shown = {name: value for name, value in result.items() if name not in _APART and value not in ("", [], {})}
    parts = [pairs(shown)]
    for change, name in ((False, "skipped"), (True, "changed")):
        for reason, number in result[name].items():
            places = [entry for entry in entries if (entry.change, entry.reason) == (change, reason)]
            listed = "; ".join(
                f"{one.place}: {shorten(one.text, 60, placeholder=' …')}".strip(": ") for one in places[:3]
            )
            parts.append(f"{name}  {number:,} × {reason}" + (f" ({listed})" if listed else ""))
    parts += [f"read as  {name}: {note}" for name, note in result["notes"].items()]
    if not result["skipped"] and not result["changed"]:
        parts.append("Nothing was skipped or changed.")
    elif entries:
        parts.append(f"Every place: themescope list skipped {result['corpus']!r} --out FILE.csv")
    click.echo("\n".join(parts))


@command()
def edit(
    shell: Shell,
    corpus: str,
    remove_wave: Annotated[str, "--remove-wave WAVE", "Remove a wave."] = "",
    titles: Annotated[Several, "--remove-article TITLE", "Remove an article."] = (),
    sentence: Annotated[int, "Id of a sentence whose text is corrected."] = 0,
    text: Annotated[str, "Its corrected text."] = "",
    undone: Annotated[int, "--undo NUMBER", "Undo an edit."] = 0,
    person: Annotated[str, "Who edits; written into the history."] = "",
) -> None:
    """Remove a wave or articles of CORPUS, or correct a text; without an option, list what was edited.

    Removed sentences leave maps, themes, search, labellings and estimates. Undo brings them back with their labels.
    """
    if sum(map(bool, (remove_wave, titles, sentence, undone))) > 1:
        raise ConfigError("Give one of --remove-wave, --remove-article, --sentence and --undo.")
    with shell.store.reading() as r:
        id = r.corpora.by_name(corpus).id
        found = {title: [article.id for article in r.corpora.articles_by_title(id, title)] for title in titles}
    if missing := [title for title, ids in found.items() if not ids]:
        raise DataError(f"{corpus!r} has no article {missing[0]!r}.")
    store, lost = shell.store, 0
    if remove_wave:
        corpus_edits.remove_wave(store, id, remove_wave, person)
    elif titles:
        corpus_edits.remove_articles(store, id, [one for ids in found.values() for one in ids], person)
    elif sentence:
        corpus_edits.correct_text(store, id, sentence, text, person)
    elif undone:
        lost = corpus_edits.undo(store, id, undone, person).unassigned
    with store.reading() as r:
        edits = r.corpus_edits.list(id)
    rows = [
        {
            "number": e.id,
            "what": e.summary,
            **fields(e, "labels", "person"),
            "time": e.created,
            "undone": e.undone or "",
        }
        for e in edits
    ]
    shown = table(rows, empty=f"Nothing was edited in {corpus}.")
    note = f"\n{lost:,} labels did not come back, because their clusters no longer exist." if lost else ""
    shell.show({"edits": rows, "labels_lost": lost}, shown + note)
