"""Resolution of command arguments to stored models, benchmarks and corpora."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from themescope.core.errors import ConfigError, UnknownNameError
from themescope.core.registry import Card
from themescope.core.types import Split
from themescope.jobs.cli.shell import Shell
from themescope.jobs.common.languages import corpus_shares
from themescope.jobs.common.model_notes import language_note
from themescope.jobs.common.models import find_model, pretrained_models
from themescope.jobs.papers.sources import corpus_of

MODEL_HELP = "Name or folder of a model, or id of a method; “default” is the pretrained model."


def model_for(shell: Shell, wanted: str, corpus: str = "") -> str:
    """Return the name of the stored model that ``wanted`` refers to.

    This is a stored model by name, a pretrained one by name or as "default", a method (see :func:`_model_of_method`),
    or the folder of a saved model. Pretrained and saved models are stored first. A warning is printed if the model is
    for another language than that of ``corpus``.
    """
    name = _name_of(shell, wanted, corpus)
    if corpus:
        _note(shell, name, corpus)
    return name


def _note(shell: Shell, name: str, corpus: str) -> None:
    """Warn before the work starts that a model is for another language than that of the corpus."""
    with shell.store.reading() as r:
        record = next((c for c in r.corpora.list() if c.name == corpus), None)
    if record and (note := language_note(shell.store, find_model(shell.store, name), corpus_shares(record))):
        click.echo(note, err=True)


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
