"""The MCP session in docs/other-tools.md: ``python -m tests.jobs.mcp.session --write`` runs it and writes it there."""

import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mcp import Client

from tests.event_loops import run
from tests.places import ROOT
from themescope.core.records.stored import Role
from themescope.core.types import Article, Paragraph, Section
from themescope.db.access import Actor
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.mcp import server_for

DOCUMENT = ROOT / "docs" / "other-tools.md"
BEGIN, END = "<!-- session -->\n```text\n", "```\n<!-- end of session -->"
CLAIMS = (
    "Nuclear power emits little carbon.", "Wind farms disturb birds.", "A curfew lowers crime at night.",
    "Solar power is cheap by now.", "A curfew punishes the innocent.", "Power lines spoil the landscape.",
)  # fmt: skip
_LEFT_OUT = {"created", "started", "ended", "when", "offset", "version"}


def transcript() -> str:
    """Run the session with the official client, and return its calls and results."""
    with tempfile.TemporaryDirectory() as home:
        store = Store(Settings.in_folder(Path(home)))
        try:
            store.migrate()
            with store.writing() as w:
                corpus = w.corpora.create("claims", "en")
                section = Section("", 1, tuple(Paragraph("", (claim,)) for claim in CLAIMS))
                w.corpora.add_articles(corpus.id, [Article("claims", (section,))])
                w.corpora.finish(corpus.id, {})
                w.people.set_role("lea", Role.LABELLER, "lea")
            return run(partial(_run, server_for(store, lambda: Actor("lea", Role.LABELLER))))
        finally:
            store.close()


async def _run(server: Any) -> str:
    lines: list[str] = []
    async with Client(server) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        lines += ["> tools", ", ".join(tools), ""]

        async def call(tool: str, **arguments: Any) -> Any:
            given = ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())
            found = (await client.call_tool(tool, arguments)).structured_content
            found = found.get("result", found)
            lines.extend([f"> {tool}({given})", *_shown(found), ""])
            return found

        await _session(call)
    return "\n".join(lines).rstrip() + "\n"


async def _session(call: Callable[..., Any]) -> None:
    (corpus,) = await call("list_corpora")
    found = await call("search_sentences", corpus_id=corpus["id"], text="power", method="words")
    ids = [match["sentence"]["id"] for match in found["items"]]
    labelling = await call("create_labelling", corpus_id=corpus["id"], name="claims by topic", start="nothing")
    topic = {"labelling_id": labelling["id"]}
    await call("create_cluster", **topic, name="Energy", sentences=ids, reason="They contain the word power.")
    await call("create_cluster", **topic, name="Landscape", sentences=ids[2:], reason="About landscape.")
    await call("undo", **topic)
    await call("get_labelling", **topic)


def _shown(value: Any) -> list[str]:
    """Return a result in lines: one per item of a list, without times."""
    items = value["items"] if isinstance(value, dict) and "items" in value else value
    return [json.dumps(_kept(item), ensure_ascii=False) for item in (items if isinstance(items, list) else [items])]


def _kept(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _kept(item) for key, item in value.items() if key not in _LEFT_OUT and item not in ("", None)}
    return [_kept(item) for item in value] if isinstance(value, list) else value


def documented() -> str:
    return DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        text = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(text.replace(BEGIN + documented() + END, BEGIN + transcript() + END), encoding="utf-8")
    else:
        sys.stdout.write(transcript())
