"""What all commands share: options, store access, output (tables or JSON), errors, exit codes, names in arguments."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from datetime import datetime
from functools import cached_property, partial, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from themescope.core.config import Config, json_or_text, options, parse_value
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
from themescope.core.readers.tables import TableForm
from themescope.core.registry import Card
from themescope.core.types import Split
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.model_choice import corpus_shares, language_note
from themescope.jobs.common.models import find_model, pretrained_models
from themescope.jobs.papers.sources import corpus_of
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.execution import sentence_for
from themescope.jobs.queue.foreground import JobFailed, run_here

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
        store = Store(Settings.from_environment())
        store.migrate()
        return store

    def run(self, kind: str, args: Json) -> dict[str, Any]:
        """Run a job here with a progress bar, or queue it with ``--background``."""
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


def settings_option(what: str) -> Callable[[F], F]:
    """Give a command the option ``--set name=value``."""
    return click.option("--set", "pairs", multiple=True, metavar="NAME=VALUE", help=f"A setting of the {what}.")


def form_options(command: F) -> F:
    """Give a command an option for each way in which the table of a file can be written."""
    for name, (field, kind, info) in reversed(options(TableForm).items()):
        flag, values = f"--{name.replace('_', '-')}", info.choices
        how: dict[str, Any] = {"is_flag": True} if kind is bool else {"default": field.default}
        if values:
            how["type"] = click.Choice([str(value) for value in values if value])
            how["default"] = None
        elif kind is int:
            how["type"] = click.IntRange(int(info.low or 0), int(info.high or 0))
        command = click.option(flag, name, help=info.help, **how)(command)
    return command


def form_of(chosen: dict[str, Any]) -> TableForm:
    """Return how a table is written, and remove the options that say so from ``chosen``."""
    given = {name: chosen.pop(name) for name in options(TableForm)}
    return TableForm(**{name: value for name, value in given.items() if value is not None})


def settings_of(cls: type[Config], pairs: Sequence[str]) -> dict[str, Any]:
    """Return the settings in ``name=value`` pairs; raise ``ConfigError`` if ``cls`` does not accept them.

    ``name.key=value`` sets one entry of a setting that is a mapping.
    """
    found: dict[str, Any] = {}
    try:
        for pair in pairs:
            _set(cls, found, *_split(pair))
        cls(**found)
    except ConfigError as error:
        raise ConfigError(f"--set: {error}") from None
    return found


def _split(pair: str) -> tuple[str, str]:
    name, equals, text = pair.partition("=")
    if not equals:
        raise ConfigError(f"expected NAME=VALUE, not {pair!r}.")
    return name.strip(), text


def _set(cls: type[Config], found: dict[str, Any], name: str, text: str) -> None:
    name, dot, key = name.partition(".")
    if not dot:
        found[name] = parse_value(cls, name, text)
        return
    inner = found.setdefault(name, {})
    if not isinstance(inner, dict):
        raise ConfigError(f"{name!r} was set as a whole, so {name}.{key} cannot be set.")
    inner[key] = json_or_text(text)


class Commands(click.Group):
    """Command group that reports errors as a message and an exit code."""

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
        except JobFailed as error:
            return _report(shell, str(error), FAILED, error.traceback)
        except ThemescopeError as error:
            return _report(
                shell, with_place(error), BAD_INPUT if isinstance(error, _INPUT) else FAILED, traceback.format_exc()
            )
        except BrokenPipeError:
            return FAILED
        except (OSError, MemoryError) as error:
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
    lines = [names, ["─" * width for width in widths], *cells]
    return "\n".join(_line(line, widths, numeric) for line in lines)


def pairs(values: Mapping[str, Any]) -> str:
    """Return one ``name value`` line for each entry."""
    width = max(len(name) for name in values)
    return "\n".join(f"{name.ljust(width)}  {_cell(value)}".rstrip() for name, value in values.items())


def interval(score: Mapping[str, Any] | None) -> str:
    """Return ``.512 [.498, .527]``, the value alone without an interval, or a dash without a score."""
    if score is None:
        return "–"
    if score["low"] is None:
        return f"{score['value']:.3f}"
    return f"{score['value']:.3f} [{score['low']:.3f}, {score['high']:.3f}]"


def _line(cells: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    aligned = [c.rjust(w) if n else c.ljust(w) for c, w, n in zip(cells, widths, numeric, strict=True)]
    return "  ".join(aligned).rstrip()


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


MODEL_HELP = "Name or folder of a model, or id of a method; “default” is the pretrained model."


def model_for(shell: Shell, wanted: str, corpus: str = "") -> str:
    """Return the name of the stored model that ``wanted`` refers to.

    This is a stored model by name, a pretrained one by name or as "default", a method (see :func:`_model_of_method`),
    or the folder of a saved model. Pretrained and saved models are stored first. A warning is printed if the model is
    for another language than that of ``corpus``.
    """
    name = _name_of(shell, wanted, corpus)
    if corpus:
        # Warn before the work starts that a model is for another language than that of the corpus.
        with shell.store.reading() as r:
            record = next((c for c in r.corpora.list() if c.name == corpus), None)
        if record and (note := language_note(shell.store, find_model(shell.store, name), corpus_shares(record))):
            click.echo(note, err=True)
    return name


def _name_of(shell: Shell, wanted: str, corpus: str) -> str:
    """Return the name of the stored model that ``wanted`` refers to, see :func:`model_for`."""
    from themescope.core.models import REGISTRY as METHODS

    try:
        return find_model(shell.store, wanted).name
    except UnknownNameError as error:
        if wanted in METHODS:
            return _model_of_method(shell, METHODS.get(wanted), corpus)
        if Path(wanted).is_dir():
            folder = Path(wanted).absolute()
            return str(_here(shell, "add-model", {"folder": str(folder), "name": folder.name})["model"])
        raise UnknownNameError("model, method or folder", wanted, [*METHODS.ids(), *error.known]) from None


_NEEDED = {
    "needs-triplets": ("triplets", "--triplets SET"),
    "needs-sections": ("the sections of a corpus", "--corpus CORPUS"),
    "needs-models": ("other models", "--model A --model B"),
}
"""What a method with a tag is made from, and the options that name it."""


def _model_of_method(shell: Shell, card: Card, corpus: str) -> str:
    """Return the name of a model of a method.

    A method that needs none of :data:`_NEEDED` is fitted with its default settings, unless that was done before. For
    other methods it is the newest stored model, or else a pretrained one.
    """
    if not card.tags & set(_NEEDED):
        data = {"corpus": corpus} if "needs-sentences" in card.tags else {}
        return str(_here(shell, "train", {"method": card.id, "name": card.id, **data})["model"])
    with shell.store.reading() as r:
        own = r.models.list(card.id)[-1:] or [model for model in pretrained_models() if model.method == card.id]
    if not own:
        needed = [words for tag, words in _NEEDED.items() if tag in card.tags]
        sources, choices = zip(*needed, strict=True)
        raise ConfigError(
            f"{card.id!r} has no model yet, because it is made from {' and '.join(sources)}. Train one first: "
            f"themescope train {card.id} {' '.join(choices)}"
        )
    return find_model(shell.store, own[0].name).name


def benchmark_for(
    shell: Shell, source: str, splits: tuple[str, ...], rules: Mapping[str, Any], seed: int
) -> tuple[str, str]:
    """Return (benchmark, corpus) for a published CSV file, a corpus or a benchmark; build it if missing."""
    with shell.store.reading() as r:
        by_name = {b.name: b for b in r.benchmarks.list()}
        if source in by_name:
            return source, r.corpora.get(by_name[source].corpus_id).name
    if looks_like_file(source):
        path = Path(source)
        corpus = corpus_of(shell.store, partial(_here, shell), [path], path.stem, "scb-csv")
        rules, splits = {"as_given": True}, tuple(s.value for s in Split)
    else:
        corpus = source
    with shell.store.reading() as r:
        name = r.benchmarks.usable_name(f"{corpus} benchmark")
    args: dict[str, object] = {"corpus": corpus, "name": name, "rules": rules, "seed": seed}
    args |= {"splits": list(splits)} if splits else {}
    return str(_here(shell, "build-benchmark", args)["benchmark"]), corpus


def looks_like_file(source: str) -> bool:
    """Return whether ``source`` is a file or has the suffix of one."""
    return Path(source).is_file() or source.lower().endswith((".csv", ".csv.gz"))


def _here(shell: Shell, kind: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Run a job in the foreground, even if the command's main job is queued."""
    background, shell.background = shell.background, False
    try:
        return shell.run(kind, args)
    finally:
        shell.background = background
