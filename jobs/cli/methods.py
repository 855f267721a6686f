"""`themescope methods`: methods section of a paper about labellings."""

from __future__ import annotations

import click

from themescope.jobs.cli.shell import Shell, common, pass_shell

_FORMATS = ("markdown", "latex", "bibtex")


@click.command("methods")
@click.argument("labellings", nargs=-1, required=True)
@click.option("--format", "kind", type=click.Choice(_FORMATS), default=_FORMATS[0], show_default=True, help="Format.")
@common
@pass_shell
def methods(shell: Shell, labellings: tuple[str, ...], kind: str) -> None:
    """Describe for a paper how LABELLINGS were made.

    Corpus, initial clusters, tasks, steps, agreement, reliability, adjudication and training, as far as the store knows
    them. BibTeX has the references of the text.
    """
    from themescope.jobs.services.methods import methods_section

    with shell.store.reading() as r:
        ids = [r.labellings.by_name(name).id for name in labellings]
    text = str(getattr(methods_section(shell.store, ids), kind))
    shell.show({kind: text}, text.rstrip("\n"))
