"""Arguments and options that name models, corpora and settings, or say how a table is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from themescope.core.config import Config, json_or_text, options, parse_value
from themescope.core.errors import ConfigError, UnknownNameError
from themescope.core.readers.tables import TableForm
from themescope.core.registry import Card
from themescope.core.types import Split
from themescope.jobs.cli.shell import F, Shell
from themescope.jobs.common.model_choice import corpus_shares, language_note
from themescope.jobs.common.models import find_model, pretrained_models
from themescope.jobs.papers.sources import corpus_of


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
