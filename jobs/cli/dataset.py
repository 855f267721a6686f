"""`themescope dataset`: corpora as folders of Hugging Face datasets."""

from __future__ import annotations

from pathlib import Path

import click

from themescope.jobs.cli.shell import Shell, background, common, pairs, pass_shell


@click.group("dataset")
def dataset() -> None:
    """Write corpora as Hugging Face datasets; `import` reads them."""


@dataset.command()
@click.argument("corpus")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--labelling", default="", help="Labelling whose clusters become the column “label”.")
@click.option("--themes", is_flag=True, help="Write the newest themes as the column “label”.")
@background
@common
@pass_shell
def export(shell: Shell, corpus: str, folder: Path, labelling: str, themes: bool) -> None:
    """Write CORPUS into the new FOLDER: Parquet files and a dataset card, which datasets.load_dataset(FOLDER) reads."""
    args = {"corpus": corpus, "folder": str(folder.absolute()), "labelling": labelling, "themes": themes}
    shell.show(result := shell.run("export-dataset", args), pairs(result))
