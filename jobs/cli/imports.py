"""Commands that import files as a corpus, or add them to one, and show what an import left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from themescope.core.config import config_from_dict
from themescope.core.config import options as settings_named
from themescope.core.errors import ConfigError, DataError, ReadError
from themescope.jobs.bundles.parts import BUNDLE
from themescope.jobs.cli.arguments import done, form_of, form_options, job_options, settings_of, settings_option
from themescope.jobs.cli.main import Shell, background, common, pairs, pass_shell, table
from themescope.jobs.common.files import is_archive
from themescope.jobs.common.models import language_of_file
from themescope.jobs.services import corpus_edits
from themescope.jobs.services.pipeline import follow_ups, queue_pipeline, queue_wave

_MADE = {"model": "model", "sentences": "sentences", "number of themes": "k", "map": "map"}
_APART = frozenset({"skipped", "changed", "notes", "digest", "duplicate_texts", "added", "readers"})
"""Parts of a result that the report does not list as they are."""


def _file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that reads files into a corpus."""
    types = click.option(
        "--type",
        "types",
        multiple=True,
        metavar="COLUMN=TYPE",
        help="Type of a column: text, category, number or date, or omit to leave it out (repeatable).",
    )
    text = click.option("--text-column", default="", metavar="COLUMN", help="Column of the texts of a table.")
    reading = (form_options, text, types, job_options("import-corpus", ["reader", "workers"]))
    for add in (pass_shell, common, background, settings_option("reader"), *reading):
        command = add(command)
    return command


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--corpus", default="", help="Name of the new corpus; of a bundle, by default the name in it.")
@click.option(
    "--language", default="", help="Language for splitting sentences, as a two-letter code; default: detected."
)
@job_options("import-corpus", ["unit"])
@click.option(
    "--then",
    type=click.Choice(("nothing", "all")),
    default="nothing",
    show_default=True,
    help="all: compute vectors, themes and a map afterwards, as the pages do.",
)
@_file_options
def import_(shell: Shell, files: tuple[Path, ...], then: str, **options: Any) -> None:
    """Import FILES as a new corpus, or the bundle that `export bundle` wrote, with its labellings.

    Of a folder, all files below it are read, each by the reader of its format; those that no reader can read are left
    out and listed.
    """
    if len(files) == 1 and is_archive(files[0], BUNDLE):
        done(shell, shell.run("import-bundle", {"file": str(files[0].absolute()), "corpus": options["corpus"]}))
        return
    if not options["corpus"]:
        raise click.UsageError("Missing option '--corpus'.")
    args = _arguments(files, options)
    args["language"] = args["language"] or language_of_file(Path(args["files"][0]), args["reader"])
    result = shell.run("import-corpus", args)
    if then == "all":
        corpus, language, then_made = args["corpus"], args["language"], dict[str, Any]()
        if shell.background:
            queued = queue_pipeline(shell.store, corpus, language, after=result["job"])
            then_made = {job.kind: f"job {job.id}" for job in queued}
        for kind, how in () if shell.background else follow_ups(shell.store, corpus, language):
            made = shell.run(kind, how)
            then_made |= {name: made[key] for name, key in _MADE.items() if key in made}
        result["then"] = then_made
    _report(shell, result)


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@job_options("append-corpus", ["corpus", "wave", "date", "language", "id_column", "duplicates"])
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="COLUMN=COLUMN",
    help="Column of the files and the column of the corpus with its values, where their names differ (repeatable).",
)
@click.option(
    "--then",
    type=click.Choice(("nothing", "place")),
    default="place",
    show_default=True,
    help="place: compute vectors, map positions and predicted codes of the wave afterwards, as the pages do.",
)
@_file_options
def append(shell: Shell, files: tuple[Path, ...], columns: tuple[str, ...], then: str, **options: Any) -> None:
    """Add FILES to a corpus as a wave. Nothing that is stored changes: ids, labels, vectors and maps stay."""
    args = _arguments(files, options)
    args["columns"] = dict(pair.split("=", 1) for pair in columns if "=" in pair)
    if wrong := [pair for pair in columns if "=" not in pair]:
        raise ConfigError(f"--column {wrong[0]} must name two columns, as in Party=party.")
    from themescope.jobs.kinds.append_corpus import AppendConfig, coming

    click.echo(coming(shell.store, config_from_dict(AppendConfig, args)), err=True)
    result = shell.run("append-corpus", args)
    if then == "place":
        corpus, wave = args["corpus"], args["wave"].strip()
        if shell.background:
            queued = queue_wave(shell.store, corpus, wave, result["job"])
            result["then"] = {job.kind: f"job {job.id}" for job in queued}
        else:
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
    """Return the arguments of an import: the files, the readers with their settings, and the other options."""
    from themescope.core.readers.formats import files_of

    given, types = options.pop("pairs"), options.pop("types")
    paths = [file.absolute() for path in files for file in files_of(path)]
    form = {name: value for name, value in form_of(options).to_dict().items() if value}
    settings = form | ({"text": text} if (text := options.pop("text_column")) else {})
    return {
        "files": [str(path) for path in paths],
        "by_file": _by_file(paths, options["reader"], settings, given) if settings or given else {},
        "skip_unreadable": len(paths) > len(files),
        "types": {column: type for column, _, type in (pair.rpartition("=") for pair in types)},
        **options,
    }


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
            id = reader or ("table" if settings.get("lines") else detect(path))
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
            listed = "; ".join(f"{one.place}: {_shortened(one.text)}".strip(": ") for one in places[:3])
            parts.append(f"{name}  {number:,} × {reason}" + (f" ({listed})" if listed else ""))
    parts += [f"read as  {name}: {note}" for name, note in result["notes"].items()]
    if not result["skipped"] and not result["changed"]:
        parts.append("Nothing was skipped or changed.")
    elif entries:
        parts.append(f"Every place: themescope list skipped {result['corpus']!r} --out FILE.csv")
    click.echo("\n".join(parts))


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


@click.command()
@click.argument("corpus")
@click.option("--remove-wave", default="", metavar="WAVE", help="Remove a wave.")
@click.option("--remove-article", "titles", multiple=True, metavar="TITLE", help="Remove an article (repeatable).")
@click.option("--sentence", type=int, default=0, help="Id of a sentence whose text is corrected.")
@click.option("--text", default="", help="Its corrected text.")
@click.option("--undo", "undone", type=int, default=0, metavar="NUMBER", help="Undo an edit.")
@click.option("--person", default="", help="Who edits; written into the history.")
@common
@pass_shell
def edit(
    shell: Shell,
    corpus: str,
    remove_wave: str,
    titles: tuple[str, ...],
    sentence: int,
    text: str,
    undone: int,
    person: str,
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
    rows = [{"number": e.id, "what": e.summary, "labels": e.labels, "person": e.person, "time": e.created.isoformat(),
             "undone": e.undone.isoformat() if e.undone else ""} for e in edits]  # fmt: skip
    shown = table(rows) if rows else f"Nothing was edited in {corpus}."
    note = f"\n{lost:,} labels did not come back, because their clusters no longer exist." if lost else ""
    shell.show({"edits": rows, "labels_lost": lost}, shown + note)
