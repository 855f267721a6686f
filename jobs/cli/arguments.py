"""Commands made from the arguments of jobs; options that name models and settings, or say how a table is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import click

from themescope.core.config import Config, OptionInfo, default_of, json_or_text, options, parse_value
from themescope.core.errors import ConfigError, ReadError, UnknownNameError
from themescope.core.readers.tables import KINDS as TABLES
from themescope.core.readers.tables import TableForm
from themescope.core.registry import Card
from themescope.jobs.cli.main import COMMANDS, Shell, command_of, pairs, parameter
from themescope.jobs.common.files import check_target, whole
from themescope.jobs.common.models import announcement, corpus_shares, find_model, language_note, pretrained_models
from themescope.jobs.kinds import REGISTRY as KINDS


def settings_option(what: str) -> click.Option:
    """Return the option ``--set name=value``."""
    return click.Option(["--set", "pairs"], multiple=True, metavar="NAME=VALUE", help=f"A setting of the {what}.")


def job_command(
    name: str,
    kind: str,
    arguments: Sequence[str],
    prepare: Callable[[Shell, dict[str, Any]], Mapping[str, Any] | tuple[str, Mapping[str, Any]]] | None = None,
    settings: Callable[[dict[str, Any]], type[Config]] | None = None,
    leave_out: Sequence[str] = (),
    help: str = "",
) -> click.Command:
    """Return a command that runs a kind of job: its first settings as arguments, the others as options.

    ``prepare`` completes what was given, or names another kind with its arguments; ``settings`` returns the class of
    the settings that ``--set`` names. The ``help`` is by default that in :data:`.main.COMMANDS`.
    """
    known = options(KINDS.get(kind).config_class())
    inner = next((key for key, (_, hint, _) in known.items() if hint == Mapping[str, Any]), "")

    def run(shell: Shell, set_: tuple[str, ...] = (), **given: Any) -> None:
        given |= {key: str(Path(given[key]).absolute()) for key in ("file", "folder") if given.get(key)}
        args: dict[str, Any] = {
            key: [*one] if isinstance(one, tuple) else one for key, one in given.items() if one is not None
        }
        if settings is not None:
            args[inner] = settings_of(settings(args), set_)
        if args.get("model"):
            args["model"] = model_for(shell, args["model"], args.get("corpus", ""))
        prepared = prepare(shell, args) if prepare else args
        done(shell, shell.run(*prepared) if isinstance(prepared, tuple) else shell.run(kind, prepared))

    params: list[click.Parameter] = [click.Argument([key]) for key in arguments]
    if settings is not None:
        params += [click.Option(["--set", "set_"], multiple=True, metavar="NAME=VALUE", help=known[inner][2].help)]
    params += job_options(kind, [key for key in known if key not in (*arguments, *leave_out, inner)])
    return command_of(name, run, params, help or COMMANDS["work"][name], queued=True)


def job_options(kind: str, names: Sequence[str]) -> list[click.Parameter]:
    """Return options for settings of a job, with their help, limits and choices."""
    known = options(KINDS.get(kind).config_class())
    return [_option(name, *known[name]) for name in names]


def _option(name: str, field: Any, hint: Any, info: OptionInfo) -> click.Parameter:
    """Return the option for a setting; without a default among its choices, it is None."""
    notes: list[Any] = ["--method", MODEL_HELP] if name == "model" else [info.help]
    default = Parameter.empty if info.required and name != "name" else default_of(field)
    low, high = (None if end is None or hint is not int else int(end) for end in (info.low, info.high))
    if info.choices:
        notes, default = [*notes, click.Choice([str(value) for value in info.choices if value])], default or None
    elif hint in (int, float):
        notes = [*notes, click.IntRange(low, high) if hint is int else click.FloatRange(info.low, info.high)]
    return parameter(name, Annotated[(hint, *notes)], default)


FORM = [_option(name, *about) for name, about in options(TableForm).items()]
"""Options that say how the table of a file is written."""


def done(shell: Shell, result: dict[str, Any]) -> None:
    """Show the result of a job, without what is empty."""
    shown = {k: v for k, v in result.items() if v not in ({}, [], "")}
    if shown.get("cached"):
        shown["cached"] = "yes, the stored result was used"
    shell.show(result, pairs({k: json.dumps(v) if isinstance(v, list) else v for k, v in shown.items()}))


def announce(shell: Shell, args: dict[str, Any]) -> dict[str, Any]:
    """Warn before the work starts that the name of a new model is taken."""
    if warning := announcement(shell.store, args["name"]):
        click.echo(warning, err=True)
    return args


def check_out(out: Path, what: str, kinds: Collection[str], source: Path | None = None) -> str:
    """Return the ending of a file to write; raise an error for one not of ``kinds``, or that cannot be written."""
    if (ending := out.suffix.lower()) not in kinds:
        raise ConfigError(f"{what} are written as {', '.join(kinds)}, not as {out.suffix or 'no ending'!r}.")
    check_target(out, source)
    return ending


def write(out: Path, content: str | bytes) -> None:
    """Write a file, which is there as a whole or not at all."""
    with whole(out) as partial:
        partial.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def form_of(chosen: dict[str, Any]) -> TableForm:
    """Return how a table is written, and remove the options that say so from ``chosen``."""
    given = {name: chosen.pop(name) for name in options(TableForm)}
    return TableForm(**{name: value for name, value in given.items() if value is not None})


def settings_of(cls: type[Config], given: Sequence[str], complete: bool = True) -> dict[str, Any]:
    """Return the settings in ``name=value`` pairs; raise ``ConfigError`` if ``cls`` does not accept them.

    ``name.key=value`` sets one entry of a setting that is a mapping. What is not ``complete`` is checked by its job.
    """
    found: dict[str, Any] = {}
    try:
        for pair in given:
            name, equals, text = pair.partition("=")
            if not equals:
                raise ConfigError(f"expected NAME=VALUE, not {pair!r}.")
            name, dot, key = name.strip().partition(".")
            if not dot:
                found[name] = parse_value(cls, name, text)
            elif isinstance(inner := found.setdefault(name, {}), dict):
                inner[key] = json_or_text(text)
            else:
                raise ConfigError(f"{name!r} was set as a whole, so {name}.{key} cannot be set.")
        if complete:
            cls(**found)
    except ConfigError as error:
        raise ConfigError(f"--set: {error}") from None
    return found


MODEL_HELP = "Name or folder of a model, or id of a method; “default” is the pretrained model."


def model_for(shell: Shell, wanted: str, corpus: str = "") -> str:
    """Return the name of the stored model that ``wanted`` refers to.

    This is a stored model by name, a pretrained one by name or as "default", a method (see :func:`_model_of_method`),
    or the folder of a saved model. Pretrained and saved models are stored first. A warning is printed if the model is
    for another language than that of ``corpus``.
    """
    from themescope.core.models import REGISTRY as METHODS

    try:
        name = find_model(shell.store, wanted).name
    except UnknownNameError as error:
        if wanted in METHODS:
            name = _model_of_method(shell, METHODS.get(wanted), corpus)
        elif Path(wanted).is_dir():
            folder = Path(wanted).absolute()
            name = str(shell.run("add-model", {"folder": str(folder), "name": folder.name}, here=True)["model"])
        else:
            raise UnknownNameError("model, method or folder", wanted, [*METHODS.ids(), *error.known]) from None
    if corpus:
        # Warn before the work starts that a model is for another language than that of the corpus.
        with shell.store.reading() as r:
            record = next((c for c in r.corpora.list() if c.name == corpus), None)
        if record and (note := language_note(shell.store, find_model(shell.store, name), corpus_shares(record))):
            click.echo(note, err=True)
    return name


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
        return str(shell.run("train", {"method": card.id, "name": card.id, **data}, here=True)["model"])
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


def is_file(source: str) -> bool:
    """Return whether ``source`` is a file or has the suffix of a table."""
    return Path(source).is_file() or Path(source.lower().removesuffix(".gz")).suffix[1:] in TABLES


def existing(path: str) -> str:
    """Return the absolute path of a file or folder that exists."""
    if not Path(path).exists():
        raise ReadError(path, "this file does not exist.")
    return str(Path(path).absolute())
