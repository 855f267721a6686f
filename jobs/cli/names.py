"""`themescope name-themes`: names of themes by a language model."""

from __future__ import annotations

from typing import Any

import click

from themescope.core.errors import DataError
from themescope.db.records import RunRecord
from themescope.jobs.cli.shell import Shell, background, common, pass_shell, table
from themescope.jobs.common.naming.language_model import Endpoint
from themescope.jobs.common.naming.theme_naming import ThemeMaterial, agreed_digest, amount, materials_of_run


@click.command("name-themes")
@click.argument("corpus")
@click.option("--theme", "numbers", type=click.IntRange(min=1), multiple=True, help="Theme to name (repeatable).")
@click.option("--send", is_flag=True, help="Send the texts; without it, they are only shown.")
@click.option(
    "--timeout", type=click.FloatRange(0.1, 600), default=60.0, show_default=True, help="Seconds per request."
)
@click.option("--parallel", type=click.IntRange(1, 16), default=4, show_default=True, help="Requests at the same time.")
@background
@common
@pass_shell
def name_themes(shell: Shell, corpus: str, numbers: tuple[int, ...], send: bool, **options: Any) -> None:
    """Name the newest themes of CORPUS by the language model at LLM_URL.

    Shows what would be sent, and where; nothing is sent without --send.
    """
    endpoint = Endpoint.of(shell.store.settings)
    run = _newest(shell, corpus)
    chosen = [number - 1 for number in numbers]
    if any(number >= len(run.config["themes"]) for number in chosen):
        raise DataError(f"“{corpus}” has {len(run.config['themes'])} themes. Choose --theme among them.")
    materials = materials_of_run(shell.store, run, chosen)
    if not send:
        shell.show(_preview(endpoint, materials), _preview_text(endpoint, materials))
        return
    args = {"run": run.id, "numbers": chosen, "send": True, "texts": agreed_digest(materials), **options}
    result = shell.run("name-themes", args | {"endpoint": endpoint.url, "model": endpoint.model})
    shown = ("number", "before", "name", "state", "reason")
    rows = [{key: row[key] for key in shown} | {"number": row["number"] + 1} for row in result.get("names", ())]
    shell.show(result, table(rows) if rows else str(result.get("title", "")))


def _newest(shell: Shell, corpus: str) -> RunRecord:
    """Return the newest themes of a whole corpus."""
    with shell.store.reading() as r:
        record = r.corpora.by_name(corpus)
        found = [run for run in r.runs.list(kind="themes") if run.config.get("corpus_id") == record.id]
    whole = [run for run in found if not run.config.get("article")]
    if not whole:
        raise DataError(f"“{corpus}” has no themes yet. Find them with `themescope cluster`.")
    return whole[-1]


def _preview(endpoint: Endpoint, materials: list[ThemeMaterial]) -> dict[str, Any]:
    sentences, characters = amount(materials)
    about = {"sent": False, "endpoint": endpoint.url, "model": endpoint.model}
    requests = [material.messages() for material in materials]
    return about | {"sentences": sentences, "characters": characters, "requests": requests}


def _preview_text(endpoint: Endpoint, materials: list[ThemeMaterial]) -> str:
    sentences, characters = amount(materials)
    blocks = ["\n".join(f"[{m['role']}] {m['content']}" for m in material.messages()) for material in materials]
    what = f"{len(materials):,} requests with {sentences:,} sentences, {characters:,} characters in all"
    where = f"{endpoint.url}, model {endpoint.model}"
    return "\n\n".join([*blocks, f"Nothing was sent. With --send, {what}, go to {where}."])
