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
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from themescope.core.errors import (
    ArtifactError,
    Cancelled,
    ConfigError,
    DataError,
    DuplicateNameError,
    MissingExtraError,
    ReadError,
    ThemescopeError,
    UnknownNameError,
    with_place,
)

if TYPE_CHECKING:
    from themescope.db.store import Store

# Waiting OpenMP threads must not occupy a core that another process needs: with two processes on two cores, 2.4 s
# became 18 s. Torch reads this when it is imported, so it is set first.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


# What all commands share: store access, output (tables or JSON), errors and exit codes

FAILED, BAD_INPUT, CANCELLED = 1, 2, 130
_INPUT = (ArtifactError, ConfigError, DataError, DuplicateNameError, MissingExtraError, ReadError, UnknownNameError)

F = TypeVar("F", bound=Callable[..., Any])
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

    def run(self, kind: str, args: Json) -> dict[str, Any]:
        """Run a job here with a progress bar, or queue it with ``--background``."""
        from themescope.jobs.queue.control import enqueue
        from themescope.jobs.queue.runner import run_here

        if self.background:
            job = enqueue(self.store, kind, args)
            return {"job": job.id, "status": job.status.value, "title": job.title}
        return run_here(self.store, kind, args, quiet=self.json and not sys.stderr.isatty())

    def show(self, value: Json, text: str) -> None:
        """Print ``value`` as JSON with ``--json``, else ``text``."""
        shown = json.dumps(value, ensure_ascii=False, indent=2, default=_plain) if self.json else text
        click.echo(shown, file=self._output)


pass_shell = click.make_pass_decorator(Shell, ensure=True)


def common(command: F) -> F:
    """Give a command the options ``--json`` and ``--debug``; standard output gets its result and nothing else."""

    @wraps(command)
    def with_messages_apart(*args: Any, **kwargs: Any) -> Any:
        # Packages print to standard output too: Ray, in a thread of its own, that a node of the cluster was lost.
        with redirect_stdout(sys.stderr):
            return command(*args, **kwargs)

    function = _flag("json", "Print the result as JSON on standard output.")(cast(F, with_messages_apart))
    return _flag("debug", "Show the traceback of an error.")(function)


def background(function: F) -> F:
    """Give a command the option ``--background``."""
    return _flag("background", "Queue the job for a worker and return immediately.")(function)


def seed_option(help: str) -> Callable[[F], F]:
    """Give a command the option ``--seed``."""
    return click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help=help)


class DeferredCommand(click.Command):
    """Name and summary of a command, whose module is imported when it is called.

    Its function is called like the command, with a final underscore where the name means something else in Python.
    """

    def __init__(self, name: str, module: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self.module = module

    def load(self) -> click.Command:
        """Return the command itself."""
        module, name = importlib.import_module(self.module), str(self.name).replace("-", "_")
        return cast(click.Command, getattr(module, f"{name}_", None) or getattr(module, name))


class Commands(click.Group):
    """Group of deferred commands that reports errors as a message and an exit code."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name of the command in ``args``, the imported command, and the other arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, DeferredCommand) else command, rest

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command and exit with 0 (success), 1 (failure), 2 (bad input) or 130 (cancelled)."""
        # The traceback of a defect is stored with the job and shown with --debug, so it is not logged as well.
        logging.getLogger("themescope").addHandler(logging.NullHandler())
        kwargs.pop("standalone_mode", None)
        shell = kwargs.setdefault("obj", Shell())
        sys.exit(self._guarded(shell, args, kwargs))

    def _guarded(self, shell: Shell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        try:
            code: Any = super().main(*args, **{**kwargs, "standalone_mode": False})
            return code if isinstance(code, int) else 0
        except click.ClickException as error:
            error.show()
            return BAD_INPUT
        except (Cancelled, click.Abort, KeyboardInterrupt):
            return _report(shell, "Cancelled.", CANCELLED)
        except ThemescopeError as error:
            trace = getattr(error, "traceback", "") or traceback.format_exc()  # of the job, where a job failed
            return _report(shell, with_place(error), BAD_INPUT if isinstance(error, _INPUT) else FAILED, trace)
        except BrokenPipeError:
            return FAILED
        except (OSError, MemoryError) as error:
            from themescope.jobs.queue.control import sentence_for

            return _report(shell, sentence_for(error), FAILED, traceback.format_exc())
        except Exception as error:
            sentence = f"Internal error ({type(error).__name__}: {error}). Show the traceback with --debug."
            return _report(shell, sentence, FAILED, traceback.format_exc())


def _report(shell: Shell, sentence: str, code: int, trace: str = "") -> int:
    if shell.debug and trace:
        click.echo(trace, err=True)
    click.echo(sentence, err=True)
    if shell.json:
        click.echo(json.dumps({"error": sentence}, ensure_ascii=False))
    return code


def _flag(name: str, help: str) -> Callable[[F], F]:
    """Return a decorator that adds a flag, which sets an attribute of the :class:`Shell`."""

    def set_flag(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            setattr(context.ensure_object(Shell), name, True)

    return click.option(f"--{name}", is_flag=True, expose_value=False, callback=set_flag, help=help)


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


def pairs(values: Mapping[str, Any]) -> str:
    """Return one ``name value`` line for each entry."""
    width = max(len(name) for name in values)
    return "\n".join(f"{name.ljust(width)}  {_cell(value)}".rstrip() for name, value in values.items())


FEW = 10
"""Number of groups below which the interval of a bootstrap over them is too narrow to be shown."""


def interval(score: Mapping[str, Any] | None) -> str:
    """Return ``.512 [.498, .527]``, or a dash without a score.

    The value stands alone without an interval, and where it is one of fewer than :data:`FEW` articles or other groups.
    """
    if score is None:
        return "–"
    if score["low"] is None or score["n"] < FEW:
        return f"{score['value']:.3f}"
    return f"{score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}]"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}"
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
        "report": "Write the report of CORPUS: question, data, codes or themes with intervals, agreement, method, "
        "limits.",
        "labels": "Export and import labellings, or let a language model code sentences.",
    },
    "work": {
        "triplets": "Sample weakly labelled triplets from CORPUS, or import a CSV or JSON lines file with the columns "
        "pivot, positive and negative.",
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
        "list": "List what is registered (methods, clusterers, readers, metrics, summarizers, kinds of jobs) or "
        "stored.",
    },
    "evaluate": {
        "evaluate": "Measure models: clustering against sections, triplets, sentence pairs, topics, or summaries.",
        "reproduce": "Reproduce the tables of PAPER and compare them with the published numbers.",
    },
    "administration": {
        "mcp": "Serve a program, such as a language model, on standard input and output (Model Context Protocol).",
        "people": "Manage accounts and roles (viewer, labeller, admin).",
        "worker": "Run queued jobs until stopped.",
        "backup": "Write a backup of the whole store to the new FILE, while people work, and compare it with its "
        "checksums.",
        "restore": "Restore the backup FILE into an empty data folder and an empty database, and compare it with its "
        "checksums.",
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


for module, summaries in COMMANDS.items():
    for name, summary in summaries.items():
        main.add_command(DeferredCommand(name, f"{__package__}.{module}", summary))

if __name__ == "__main__":
    main()
