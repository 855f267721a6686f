"""The MCP server: tools by role, in process and with the official client against the real command."""

import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("mcp")

from mcp import Client, MCPError, StdioServerParameters

from tests import event_loops
from tests.jobs.helpers import WORDS, program, program_environment, write_articles
from tests.jobs.mcp import session
from themescope.core.records.stored import Role
from themescope.db.access import Actor
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.mcp import server_for, tools
from themescope.jobs.queue.foreground import run_here
from themescope.jobs.services.accounts import api_tokens, people

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    home = tmp_path_factory.mktemp("filled")
    store = Store(Settings.in_folder(home))
    store.migrate()
    do = partial(run_here, store, quiet=True)
    do("import-corpus", {"files": [str(write_articles(home, 3, sections=2, paragraphs=2))], "corpus": "C"})
    vectors = home / "vectors.txt"
    vectors.write_text("".join(f"{word} {i % 3} {i % 4} 1\n" for i, word in enumerate(WORDS)), encoding="utf-8")
    do("train", {"method": "mean-vectors", "name": "M", "settings": {"word_vectors": str(vectors)}})
    do("find-themes", {"corpus": "C", "model": "M", "settings": {"k": 2}})
    for name, role in (("ada", Role.ADMIN), ("lea", Role.LABELLER), ("vic", Role.VIEWER)):
        people.add(store, name, role, PASSWORD)
    yield store
    store.close()


def actor_of(store: Store, name: str) -> Callable[[], Actor]:
    def found() -> Actor:
        with store.reading() as r:
            return r.people.actor(name)

    return found


def talk(server: Any, conversation: Callable[[Client], Awaitable[Any]]) -> Any:
    """Run a session of the official client with a server."""

    async def connected() -> Any:
        async with Client(server) as client:
            return await conversation(client)

    return event_loops.run(connected)


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found.content
    return found.structured_content.get("result", found.structured_content)


async def names_of(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


READ = {tool.operation["operationId"] for tool in tools() if tool.reads}
LABEL = {tool.operation["operationId"] for tool in tools() if not tool.reads}


def labellings_of(store: Store) -> set[str]:
    with store.reading() as r:
        return {record.name for record in r.labellings.list()}


def test_tools_depend_on_the_role(filled: Store) -> None:
    actor = actor_of(filled, "lea")
    assert talk(server_for(filled, actor), names_of) == READ | LABEL
    assert talk(server_for(filled, actor, read_only=True), names_of) == READ
    assert talk(server_for(filled, actor_of(filled, "vic")), names_of) == READ
    assert {"assign", "create_labelling", "merge_clusters", "undo"} < LABEL and "search_sentences" in READ
    assert not (READ | LABEL) & {"queue_job", "cancel_job", "export_labels"}


def test_tools_are_described_and_marked(filled: Store) -> None:
    async def conversation(client: Client) -> Any:
        return (await client.list_tools()).tools

    for tool in talk(server_for(filled, actor_of(filled, "lea")), conversation):
        assert tool.description and tool.description[0].isupper(), tool.name
        assert tool.annotations.read_only_hint is (tool.name in READ)
        assert all(schema["description"] for schema in tool.input_schema["properties"].values()), tool.name
        assert "$ref" not in str(tool.input_schema)


def test_every_read_tool_answers(filled: Store) -> None:
    async def conversation(client: Client) -> None:
        (corpus,) = [c for c in await call(client, "list_corpora") if c["id"] == 1]
        articles = await call(client, "list_articles", corpus_id=1, limit=2)
        article = articles["items"][0]["id"]
        sentence = (await call(client, "list_sentences_of_article", article_id=article))["items"][1]
        word = "river"
        for method in ("text", "words"):
            found = await call(client, "search_sentences", corpus_id=1, text=word, method=method)
            assert sentence["id"] in [match["sentence"]["id"] for match in found["items"]]
        near = await call(client, "search_sentences", corpus_id=1, text=word, method="meaning", limit=3)
        assert len(near["items"]) == 3
        assert await call(client, "list_similar_sentences", sentence_id=sentence["id"], limit=1)
        assert await call(client, "list_models") and (await call(client, "list_jobs"))["total"] >= 0
        for run in await call(client, "list_theme_runs", corpus_id=1):
            assert (await call(client, "list_theme_members", run_id=run["id"], theme=0))["total"] == run["themes"][0][
                "size"
            ]
        assert (await call(client, "get_me"))["rights"] == ["look"] and corpus["sentences"] > 0
        resource = await client.read_resource(f"themescope://articles/{sentence['article_id']}")
        assert (
            resource.contents[0].text.startswith(f"# {sentence['article']}")
            and sentence["text"] in resource.contents[0].text
        )

    talk(server_for(filled, actor_of(filled, "vic")), conversation)


def test_every_tool_answers_or_says_what_is_missing(filled: Store) -> None:
    """With the smallest arguments that its schema allows; what deletes comes last."""
    smallest = {"integer": 1, "boolean": True, "array": [1], "object": {}, "string": "x"}
    refused: dict[str, str] = {}

    async def conversation(client: Client) -> None:
        made = await call(client, "create_labelling", corpus_id=1, name="of every tool", start="sections")
        offered = (await client.list_tools()).tools
        for tool in sorted(offered, key=lambda tool: tool.name.startswith("delete")):
            schema = tool.input_schema
            given = {name: schema["properties"][name] for name in schema["required"]}
            arguments = {
                name: made["id"] if name == "labelling_id" else (one.get("examples") or [smallest[one["type"]]])[0]
                for name, one in given.items()
            }
            found = await client.call_tool(tool.name, arguments)
            if found.is_error:
                refused[tool.name] = found.content[0].text

    talk(server_for(filled, actor_of(filled, "lea")), conversation)
    assert not [message for message in refused.values() if "Internal" in message or "invalid" in message], refused
    assert len(refused) < len(READ | LABEL) / 3, refused


def test_errors_are_messages(filled: Store) -> None:
    async def conversation(client: Client) -> None:
        unknown = await client.call_tool("get_article", {"article_id": 999_999})
        assert unknown.is_error and "no article" in unknown.content[0].text
        invalid = await client.call_tool("list_articles", {"corpus_id": 1, "limit": 0})
        assert invalid.is_error and "limit" in invalid.content[0].text
        for id in ("seven", "1/sections", "..", "", 2**70, 10**5_000, "\ud800", [1], float("nan")):
            refused = await client.call_tool("get_article", {"article_id": id})
            assert refused.is_error and len(refused.content[0].text) < 300
        unknown = await client.call_tool("list_jobs", {"state": "done"})
        assert unknown.is_error and "no argument 'state'. It has: status" in unknown.content[0].text
        with pytest.raises(MCPError, match="no article"):
            await client.read_resource("themescope://articles/999999")

    talk(server_for(filled, actor_of(filled, "vic")), conversation)


def test_a_role_that_was_lowered_is_refused_by_the_store(filled: Store) -> None:
    people.add(filled, "max", Role.LABELLER, PASSWORD)
    server = server_for(filled, actor_of(filled, "max"))
    people.set_role(filled, "max", Role.VIEWER, by="ada")

    async def conversation(client: Client) -> None:
        refused = await client.call_tool("create_labelling", {"corpus_id": 1, "name": "x", "start": "nothing"})
        assert refused.is_error and "may view" in refused.content[0].text

    talk(server, conversation)
    assert "x" not in labellings_of(filled)


def command(store: Store, person: str, *options: str) -> StdioServerParameters:
    """The real command, for a person with a token."""
    token = api_tokens.create(store, person, f"mcp of {person}").secret
    words = program("mcp", *options)
    variables = {**program_environment(), "THEMESCOPE_HOME": str(store.settings.home), "THEMESCOPE_TOKEN": token}
    return StdioServerParameters(command=str(words[0]), args=[str(word) for word in words[1:]], env=variables)


async def label(client: Client) -> None:
    """Search, label what was found, and undo it."""
    found = await call(client, "search_sentences", corpus_id=1, text="the", limit=4)
    ids = [match["sentence"]["id"] for match in found["items"]]
    made = await call(client, "create_labelling", corpus_id=1, name="by a program", start="nothing")
    step = await call(client, "create_cluster", labelling_id=made["id"], name="Found", sentences=ids[:2])
    assert (step["person"], step["operation"]) == ("lea", "create")
    state = await call(client, "get_labelling", labelling_id=made["id"])
    (cluster,) = state["clusters"]
    arguments = {"labelling_id": made["id"], "cluster": cluster["number"], "reason": "similar"}
    await call(client, "assign", sentences=ids, **arguments)
    await call(client, "rename_cluster", labelling_id=made["id"], cluster=cluster["number"], name="Named")
    state = await call(client, "get_labelling", labelling_id=made["id"])
    assert [(c["name"], c["size"]) for c in state["clusters"]] == [("Named", 4)] and state["can_undo"]
    await call(client, "undo", labelling_id=made["id"])
    await call(client, "undo", labelling_id=made["id"])
    state = await call(client, "get_labelling", labelling_id=made["id"])
    assert [(c["name"], c["size"]) for c in state["clusters"]] == [("Found", 2)]
    history = await call(client, "list_steps", labelling_id=made["id"])
    assert [step["kind"] for step in history["items"]] == ["undo", "undo", "do", "do", "do"]
    assert history["items"][3]["reason"] == "similar"
    assert history["items"][3]["coder"], "the name of the client"
    labels = await call(client, "list_labels", labelling_id=made["id"])
    sources = [label["source"] for label in labels["items"] if label["source"]]
    assert sources == ["machine", "machine"]
    await call(client, "assign", sentences=ids[:1], coder="", **arguments | {"cluster": cluster["number"]})


def test_a_viewer_reads_through_the_command_and_changes_nothing(filled: Store) -> None:
    async def conversation(client: Client) -> None:
        assert not await names_of(client) & LABEL
        assert (await call(client, "get_me"))["name"] == "vic"
        refused = await client.call_tool("create_labelling", {"corpus_id": 1, "name": "no", "start": "nothing"})
        assert refused.is_error
        for token in api_tokens.tokens_of(filled, "vic"):
            api_tokens.revoke(filled, token.id)
        refused = await client.call_tool("list_corpora", {})
        assert refused.is_error and "revoked" in refused.content[0].text

    talk(command(filled, "vic"), conversation)
    assert "no" not in labellings_of(filled)


def test_standard_output_carries_the_protocol_only(filled: Store) -> None:
    """Nothing is written without a request, and a wrong token ends the server with a message."""
    variables = {**program_environment(), "THEMESCOPE_HOME": str(filled.settings.home)}
    run = partial(subprocess.run, program("mcp", "--read-only"), input=b"", capture_output=True, check=False)
    done = run(env=variables)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    done = run(env={**variables, "THEMESCOPE_TOKEN": "wrong"})
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", f"{api_tokens.WRONG}\n".encode())


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, themescope_home: Path) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "themescope.jobs.mcp")
    result = CliRunner().invoke(main, ["mcp"])
    assert (result.exit_code, "themescope[mcp]" in result.stderr) == (2, True)


def test_the_documented_session_is_what_happens() -> None:
    assert session.documented() == session.transcript()
