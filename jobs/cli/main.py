"""Command line, which runs the same jobs as the pages in the foreground."""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from datetime import datetime
from functools import cached_property
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click

from themescope.core import errors

if TYPE_CHECKING:
    from themescope.db.store import Store

# Waiting OpenMP threads must not occupy a core that another process needs: with two processes on two cores, 2.4 s
# became 18 s. Torch reads this when it is imported, so it is set first.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


# What all commands share: store access, output (tables or JSON), errors and exit codes

FAILED, BAD_INPUT, CANCELLED = 1, 2, 130
_FAILURES = (errors.ExecutorError, errors.PluginError, errors.RequestError, errors.StoreError, errors.TrainingError)
"""Errors that are not those of the input."""

Seed = Annotated[int, "Seed of sampling and initialisation.", click.IntRange(min=0)]
Several = tuple[str, ...]
Json = Mapping[str, Any]


class Shell:
    """Options and store of one invocation of the command line."""

    def __init__(self) -> None:
        self.json = False
        self.debug = False
        self.background = False
        self._output = sys.stdout

    @cached_property
    def store(self) -> Store:
        """Migrated store that the environment variables select."""
        from themescope.db.settings import Settings
        from themescope.db.store import Store

        store = Store(Settings.from_environment())
        store.migrate()
        return store

    def run(self, kind: str, args: Json, here: bool = False) -> dict[str, Any]:
        """Run a job here with a progress bar; with ``--background``, queue it unless it must be done ``here``."""
        from themescope.jobs.queue.control import enqueue
        from themescope.jobs.queue.runner import run_here

        if self.background and not here:
            job = enqueue(self.store, kind, args)
            return {"job": job.id, "status": job.status.value, "title": job.title}
        return run_here(self.store, kind, args, quiet=self.json and not sys.stderr.isatty())

    def show(self, value: Json, text: str) -> None:
        """Print ``value`` as JSON with ``--json``, else ``text``."""
        shown = json.dumps(value, ensure_ascii=False, indent=2, default=_plain) if self.json else text
        click.echo(shown, file=self._output)


pass_shell = click.make_pass_decorator(Shell, ensure=True)


def command(
    group: click.Group | None = None, name: str = "", more: Sequence[click.Parameter] = (), queued: bool = False
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a decorator that makes a command of a function, whose first parameter is the :class:`Shell`.

    The other parameters are the arguments and options of the command, with the types and defaults of the signature.
    ``Annotated`` has the help of an option and, where needed, its type and its name with a word for its value, such as
    "--by COLUMN"; a parameter without help is an argument. ``more`` are passed to the function by their names.
    """

    def make(function: Callable[..., Any]) -> click.Command:
        hints, (_, *parameters) = get_type_hints(function, include_extras=True), signature(function).parameters.values()
        own = [
            parameter(one.name, hints[one.name], one.default) for one in parameters if one.kind is not one.VAR_KEYWORD
        ]
        made = command_of(name or function.__name__.strip("_"), function, [*own, *more], function.__doc__ or "", queued)
        if group is not None:
            group.add_command(made)
        return made

    return make


def command_of(
    name: str, function: Callable[..., Any], params: Sequence[click.Parameter], help: str, queued: bool = False
) -> click.Command:
    """Return a command with the options ``--json`` and ``--debug``, and ``--background`` for one that is ``queued``.

    Standard output gets its result and nothing else.
    """

    @pass_shell
    def with_messages_apart(*args: Any, **kwargs: Any) -> Any:
        # Packages print to standard output too: Ray, in a thread of its own, that a node of the cluster was lost.
        with redirect_stdout(sys.stderr):
            return function(*args, **kwargs)

    flags = {"background": "Queue the job for a worker and return immediately."} if queued else {}
    flags |= {"debug": "Show the traceback of an error.", "json": "Print the result as JSON on standard output."}
    every = [*params, *(_flag(flag, text) for flag, text in flags.items())]
    return click.Command(name, params=every, callback=with_messages_apart, help=cleandoc(help))


def parameter(name: str, hint: Any, default: Any) -> click.Parameter:
    """Return an argument or option of a command, which is required if ``default`` is ``Parameter.empty``."""
    kind, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    kind = next((one for one in get_args(kind) if type(None) in get_args(kind)), kind)
    parts, flag = get_args(kind), f"--{name.replace('_', '-')}"
    if several := get_origin(kind) is tuple and ... in parts:
        kind, flag = parts[0], flag.removesuffix("s")
    how: dict[str, Any] = {"required": True} if default is Parameter.empty else {"default": default}
    if get_origin(kind) is Literal:
        how["type"] = click.Choice(parts)
    elif kind is not bool:
        how["type"] = click.Path(path_type=Path) if kind is Path else parts if get_origin(kind) is tuple else kind
    elif default:
        flag += f"/--no-{flag[2:]}"
    for note in notes:
        if isinstance(note, click.ParamType):
            how["type"] = note
        elif note.startswith("--"):
            flag, _, metavar = note.partition(" ")
            how["metavar"] = metavar or None
        else:
            how["help"] = f"{note[:-1]} (repeatable)." if several else note
    if "help" not in how:
        return click.Argument([name], **how, nargs=-1 if several else 1)
    shown = kind is not bool and default not in (Parameter.empty, None, (), "", 0)
    return click.Option([flag, name], is_flag=kind is bool, multiple=several, show_default=shown, **how)


class Commands(click.Group):
    """Group of the commands in :data:`COMMANDS` that reports errors as a message and an exit code."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name of the command in ``args``, the command of its module, and the other arguments.

        It is called like its function, with a final underscore where the name means something else in Python.
        """
        name, command, rest = super().resolve_command(ctx, args)
        for module, summaries in COMMANDS.items():
            if name in summaries:
                found, attribute = importlib.import_module(f"{__package__}.{module}"), str(name).replace("-", "_")
                command = getattr(found, f"{attribute}_", None) or getattr(found, attribute)
        return name, command, rest

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command and exit with 0 (success), 1 (failure), 2 (bad input) or 130 (cancelled)."""
        # The traceback of a defect is stored with the job and shown with --debug, so it is not logged as well.
        logging.getLogger("themescope").addHandler(logging.NullHandler())
        kwargs.pop("standalone_mode", None)
        shell = kwargs.setdefault("obj", Shell())
        try:
            code: Any = super().main(*args, **{**kwargs, "standalone_mode": False})
            sys.exit(code if isinstance(code, int) else 0)
        except click.ClickException as error:
            error.show()
            sys.exit(BAD_INPUT)
        except BrokenPipeError:
            sys.exit(FAILED)
        except (Exception, KeyboardInterrupt) as error:
            sys.exit(_report(shell, error))


def _report(shell: Shell, error: BaseException) -> int:
    """Print what went wrong, with --debug also where; return the exit code."""
    code, trace = FAILED, getattr(error, "traceback", "") or traceback.format_exc()  # of the job, where a job failed
    if isinstance(error, errors.Cancelled | click.Abort | KeyboardInterrupt):
        code, sentence, trace = CANCELLED, "Cancelled.", ""
    elif isinstance(error, errors.ThemescopeError):
        code, sentence = FAILED if isinstance(error, _FAILURES) else BAD_INPUT, errors.with_place(error)
    elif isinstance(error, OSError | MemoryError):
        from themescope.jobs.queue.control import sentence_for

        sentence = sentence_for(error)
    else:
        sentence = f"Internal error ({type(error).__name__}: {error}). Show the traceback with --debug."
    click.echo(f"{trace}\n{sentence}" if shell.debug and trace else sentence, err=True)
    if shell.json:
        click.echo(json.dumps({"error": sentence}, ensure_ascii=False))
    return code


def _flag(name: str, help: str) -> click.Option:
    """Return a flag, which sets an attribute of the :class:`Shell`."""

    def set_flag(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            setattr(context.ensure_object(Shell), name, True)

    return click.Option([f"--{name}"], is_flag=True, expose_value=False, callback=set_flag, help=help)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None, empty: str = "No entries.") -> str:
    """Return ``rows`` as an aligned table, or ``empty`` if there are none."""
    if not rows:
        return empty
    names = list(columns or rows[0])
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    numeric = [all(isinstance(row.get(name), int | float) for row in rows) for name in names]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]
    lines = []
    for line in (names, ["─" * width for width in widths], *cells):
        aligned = (c.rjust(w) if n else c.ljust(w) for c, w, n in zip(line, widths, numeric, strict=True))
        lines.append("  ".join(aligned).rstrip())
    return "\n".join(lines)


def fields(record: Any, *names: str) -> dict[str, Any]:
    """Return attributes of a record by their names."""
    return {name: getattr(record, name) for name in names}


def pairs(values: Mapping[str, Any]) -> str:
    """Return one ``name value`` line for each entry."""
    width = max(len(name) for name in values)
    return "\n".join(f"{name.ljust(width)}  {_cell(value)}".rstrip() for name, value in values.items())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_cell(v)}" for k, v in value.items())
    return str(value)


COMMANDS = {
    "imports": {
        "import": "Import FILES as a new corpus, or the bundle that `export bundle` wrote, with its labellings.",
        "append": "Add FILES to a corpus as a wave.",
        "edit": "Remove a wave or articles of CORPUS, or correct a text; without an option, list what was edited.",
    },
    "labels": {
        "sample": "Draw units of CORPUS at random and give them to people as TASK.",
        "estimate": "Estimate the share of codes from the labels in LABELLINGS and the machine's predictions.",
        "report": "Write the report of CORPUS: question, data, codes or themes, agreement, method, limits.",
        "labels": "Export and import labellings, or let a language model code sentences.",
    },
    "work": {
        "triplets": "Sample triplets from CORPUS, or import a table with the columns pivot, positive and negative.",
        "train": "Fit METHOD and store it as a model.",
        "add-model": "Add the saved model, or the sentence-transformers encoder, in FOLDER to the store.",
        "map": "Compute a map of CORPUS, or of some of its articles.",
        "export": "Write a corpus as a bundle or a Hugging Face dataset, or a model into a folder.",
        "jobs": "Run, list, follow, cancel and retry jobs; queue the demo.",
    },
    "lists": {
        "embed": "Compute the vectors of SOURCE.",
        "similar": "Find the nearest neighbours of SENTENCE in a corpus or a file.",
        "cluster": "Find the themes of SOURCE: a file, written with a theme for each sentence to --out, or a corpus.",
        "list": "List what is registered (methods, clusterers, readers, metrics, summarizers, jobs) or stored.",
    },
    "evaluate": {
        "evaluate": "Measure models: clustering against sections, triplets, sentence pairs, topics, or summaries.",
        "reproduce": "Reproduce the tables of PAPER and compare them with the published numbers.",
    },
    "administration": {
        "mcp": "Serve a program, such as a language model, on standard input and output (Model Context Protocol).",
        "people": "Manage accounts and roles (viewer, labeller, admin).",
        "worker": "Run queued jobs until stopped.",
        "backup": "Write a backup of the whole store to the new FILE, also while people work, and check it.",
        "restore": "Restore the backup FILE into an empty data folder and an empty database.",
        "doctor": "Check the installation: Python, packages, store, queue, worker, disk, word vectors.",
    },
}
"""Module of this package → name of a command in it → the first sentence of its help."""


def _show_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from themescope.jobs.common.articles import code_version

        click.echo(f"themescope, version {code_version()}")
        context.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Train, cluster with and evaluate sentence embeddings for thematic clustering.

    Settings come from the environment: THEMESCOPE_HOME (data folder), DATABASE_URL.
    """


for summaries in COMMANDS.values():
    for name, summary in summaries.items():
        main.add_command(click.Command(name, help=summary))

if __name__ == "__main__":
    main()
