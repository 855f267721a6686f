"""`themescope bundle`: export, import and inspect bundles."""

from __future__ import annotations

from pathlib import Path

import click

from jobs.bundles.archive import BundleReader
from jobs.bundles.contents import contents
from jobs.cli.shell import Shell, background, common, pass_shell
from jobs.cli.tables import pairs


@click.group("bundle")
def bundle() -> None:
    """Move a corpus with its labellings, their history, and vectors to another installation."""


@bundle.command()
@click.argument("corpus")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--without-labellings", is_flag=True, help="Leave out labellings.")
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
def import_(shell: Shell, file: Path, name: str) -> None:
    """Import the bundle FILE. If an error occurs, nothing is imported."""
    result = shell.run("import-bundle", {"file": str(file.absolute()), "corpus": name})
    shell.show(result, pairs(result))


@bundle.command()
@click.argument("file", type=click.Path(path_type=Path))
@common
@pass_shell
def show(shell: Shell, file: Path) -> None:
    """Show the content of the bundle FILE without importing it."""
    with BundleReader(file) as found:
        about = contents(found.about, file)
    said = {name: getattr(about.corpus, name) for name in ("name", "language", "articles", "sentences", "digest")}
    said["labellings"] = ", ".join(f"{name} ({owner or 'no name'})" for name, owner in about.labellings)
    said["models"] = ", ".join(model.name for model in about.models)
    shell.show(dict(said), pairs(said))
