"""Commands that create triplet sets, models and maps, and move corpora and models between stores and as datasets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from themescope.core.errors import ArtifactError, ConfigError
from themescope.core.types import FittedModel
from themescope.jobs.cli.arguments import MODEL_HELP, model_for, settings_of, settings_option
from themescope.jobs.cli.shell import Shell, background, common, pairs, pass_shell, seed_option
from themescope.jobs.common.models import announcement, find_model

KINDS = click.Choice(("sentences", "titles"))
SEED = seed_option("Random seed.")


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
    done(shell, shell.run("build-triplets", args | ({"splits": list(splits)} if splits else {})))


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
    done(shell, shell.run("train", {"method": method, "settings": settings, **options}))


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
    done(shell, shell.run("add-model", args))


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
    "--small",
    is_flag=True,
    help="Round weights to 8 bits and word vectors to 6 bits, compress the files, and name pretrained models that the "
    "model is built on instead of copying them.",
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
    done(shell, {"model": record.name, "folder": str(folder), **facts, "megabytes": round(size / 1e6, 1)})


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
    done(shell, shell.run("project", args))


def _announce(shell: Shell, name: str) -> None:
    """Warn before the work starts that the name of a new model is taken."""
    if warning := announcement(shell.store, name):
        click.echo(warning, err=True)


def done(shell: Shell, result: dict[str, Any]) -> None:
    """Show the result of a job, without what is empty."""
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
