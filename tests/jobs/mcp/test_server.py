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

from mcp import Client, StdioServerParameters

from tests import event_loops
from tests.homes import MakeHome
from tests.jobs.helpers import WORDS, program, program_environment, write_articles
from tests.jobs.mcp import session
from themescope.core.records.stored import Role
from themescope.db.access import Actor, Right
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.mcp import TOOLS, server_for
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import people

PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def filled(make_home: MakeHome) -> Iterator[Store]:
    home = make_home(lambda store: None)
    store = Store(Settings.in_folder(home))
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
    content = found.structured_content
    return content["result"] if content.keys() == {"result"} else content


async def names_of(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


READ, LABEL, MANAGE = (
    {name for name, tool in TOOLS.items() if tool.right is right} for right in (Right.LOOK, Right.LABEL, Right.MANAGE)
)


def labellings_of(store: Store) -> set[str]:
    with store.reading() as r:
        return {record.name for record in r.labellings.list()}


def test_tools_depend_on_the_role_and_are_described_and_marked(filled: Store) -> None:
    async def tools_of(client: Client) -> Any:
        return (await client.list_tools()).tools

    actor = actor_of(filled, "lea")
    listed = talk(server_for(filled, actor), tools_of)
    assert {tool.name for tool in listed} == READ | LABEL
    assert talk(server_for(filled, actor, read_only=True), names_of) == READ
    assert talk(server_for(filled, actor_of(filled, "vic")), names_of) == READ
    assert talk(server_for(filled, actor_of(filled, "ada")), names_of) == READ | LABEL | MANAGE
    assert not [name for name in TOOLS if "delete" in name] and len(TOOLS) <= 15
    for tool in listed:
        assert tool.description and tool.description[0].isupper(), tool.name
        assert tool.annotations.read_only_hint is (tool.name in READ)
        assert all(schema["description"] for schema in tool.input_schema["properties"].values()), tool.name
        assert {*tool.input_schema["required"]} <= tool.input_schema["properties"].keys()
        assert "$ref" not in str(tool.input_schema)


def test_reading_searching_and_measuring(filled: Store) -> None:
    async def conversation(client: Client) -> None:
        (corpus,) = [c for c in await call(client, "list_corpora") if c["id"] == 1]
        (run,) = await call(client, "list_theme_runs", corpus_id=1)
        every = await call(client, "list_theme_members", run_id=run["id"], limit=1_000)
        assert every["total"] == corpus["sentences"] > 0
        sentence = every["items"][1]["sentence"]
        word = sentence["text"].split()[1]
        for method in ("text", "words"):
            found = await call(client, "search_sentences", corpus_id=1, text=word, method=method, limit=1_000)
            assert sentence["id"] in [match["sentence"]["id"] for match in found["items"]]
        near = await call(client, "search_sentences", corpus_id=1, text="river", method="meaning", limit=3)
        assert len(near["items"]) == 3
        members = await call(client, "list_theme_members", run_id=run["id"], theme=0)
        assert members["total"] == run["themes"][0]["size"]

    talk(server_for(filled, actor_of(filled, "vic")), conversation)


def test_two_coders_agree_and_their_codes_are_estimated(filled: Store) -> None:
    people.add(filled, "tom", Role.LABELLER, PASSWORD)

    async def code(client: Client) -> int:
        made = await call(client, "create_labelling", corpus_id=1, name="codes", start="nothing")
        rows = (await call(client, "list_labels", labelling_id=made["id"]))["items"]
        ids = [one["sentence"]["id"] for one in rows]
        for name, part in (("A", ids[:3]), ("B", ids[3:9])):
            await call(client, "create_cluster", labelling_id=made["id"], name=name, sentences=part, coder="")
        return int(made["id"])

    both = [talk(server_for(filled, actor_of(filled, name)), code) for name in ("lea", "tom")]

    async def measure(client: Client) -> None:
        found = await call(client, "agreement", labellings=both)
        assert (found["sentences"], found["observed"], round(found["alpha"]["estimate"]["value"], 9)) == (9, 1.0, 1.0)
        found = await call(client, "estimate", labellings=both)
        shares = found["codes"]
        assert shares.keys() == {"A", "B"} and found["notes"]
        assert (shares["A"][0]["coded"], shares["A"][0]["checked"], shares["A"][0]["corrected"]) == (3, 9, None)
        alone = await client.call_tool("agreement", {"labellings": both[:1]})
        assert alone.is_error and "two labellings" in alone.content[0].text
        unknown = await client.call_tool("estimate", {"labellings": both, "by": "year"})
        assert unknown.is_error and "no column" in unknown.content[0].text

    talk(server_for(filled, actor_of(filled, "vic")), measure)


def test_an_admin_queues_jobs(filled: Store) -> None:
    async def conversation(client: Client) -> None:
        jobs = await call(client, "find_themes", sentences=["One.", "Two."], corpus="from a program", k=2)
        assert [job["kind"] for job in jobs][:1] == ["import-list"] and "traceback" not in jobs[0]
        found = await call(client, "get_job", job_id=jobs[0]["id"])
        assert found["status"] == "queued"

    talk(server_for(filled, actor_of(filled, "ada")), conversation)


def test_an_address_in_place_of_an_id_is_refused(filled: Store) -> None:
    """Dots in an address are folded: ``clusters/..`` was the labelling itself, and it was deleted."""

    async def conversation(client: Client) -> int:
        made = await call(client, "create_labelling", corpus_id=1, name="stays", start="sections")
        for tool in (await client.list_tools()).tools:
            schema = tool.input_schema["properties"]
            ids = [name for name in schema if name.endswith("_id") or name == "cluster"]
            for place in ids:
                for wrong in ("..", ".", "%2e%2e", f"{made['id']}/..", "1?x", ""):
                    about = {
                        name: made["id"] if name == "labelling_id" else 1 for name in tool.input_schema["required"]
                    }
                    refused = await client.call_tool(tool.name, about | {place: wrong})
                    assert refused.is_error, (tool.name, place, wrong)
        return int(made["id"])

    id = talk(server_for(filled, actor_of(filled, "lea")), conversation)
    with filled.reading() as r:
        assert r.labellings.get(id).deleted is None


def test_errors_are_messages(filled: Store) -> None:
    async def conversation(client: Client) -> None:
        unknown = await client.call_tool("get_labelling", {"labelling_id": 999_999})
        assert unknown.is_error and "no labelling" in unknown.content[0].text
        invalid = await client.call_tool("search_sentences", {"corpus_id": 1, "text": "a", "limit": 0})
        assert invalid.is_error and "limit" in invalid.content[0].text
        missing = await client.call_tool("search_sentences", {"text": "a"})
        assert missing.is_error and "corpus_id" in missing.content[0].text
        for id in ("seven", 2**70, 10**5_000, "\ud800", [1], float("nan"), None):
            refused = await client.call_tool("get_labelling", {"labelling_id": id})
            assert refused.is_error and len(refused.content[0].text) < 300
        unknown = await client.call_tool("get_job", {"state": "done"})
        assert unknown.is_error and "no argument 'state'. It has: job_id, wait" in unknown.content[0].text
        gone = await client.call_tool("delete_labelling", {"labelling_id": 1})
        assert gone.is_error and "no tool called" in gone.content[0].text

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
    token = people.create(store, person, f"mcp of {person}").secret
    words = program("mcp", *options)
    variables = {**program_environment(), "THEMESCOPE_HOME": str(store.settings.home), "THEMESCOPE_TOKEN": token}
    return StdioServerParameters(command=str(words[0]), args=[str(word) for word in words[1:]], env=variables)


def test_a_labeller_labels_through_the_command(filled: Store) -> None:
    talk(command(filled, "lea"), label)


async def label(client: Client) -> None:
    """Search, label what was found, and undo it."""
    found = await call(client, "search_sentences", corpus_id=1, text="the", limit=4)
    ids = [match["sentence"]["id"] for match in found["items"]]
    made = await call(client, "create_labelling", corpus_id=1, name="by a program", start="nothing")
    step = await call(client, "create_cluster", labelling_id=made["id"], name="Found", sentences=ids[:2])
    assert (step["person"], step["operation"]) == ("lea", "create")
    state = await call(client, "get_labelling", labelling_id=made["id"])
    (cluster,) = state["labelling"]["clusters"]
    assert [code["name"] for code in state["codebook"]] == ["Found"]
    arguments = {"labelling_id": made["id"], "cluster": cluster["number"], "reason": "similar"}
    await call(client, "assign", sentences=ids, **arguments)
    state = (await call(client, "get_labelling", labelling_id=made["id"]))["labelling"]
    assert [(c["name"], c["size"]) for c in state["clusters"]] == [("Found", 4)] and state["can_undo"]
    undone = await call(client, "undo", labelling_id=made["id"])
    assert undone["kind"] == "undo"
    labels = await call(client, "list_labels", labelling_id=made["id"], cluster=cluster["number"])
    assert [(label["source"], bool(label["coder"])) for label in labels["items"]] == [("machine", True)] * 2
    await call(client, "assign", sentences=ids[:1], coder="", **arguments)


def test_a_viewer_reads_through_the_command_and_changes_nothing(filled: Store) -> None:
    async def conversation(client: Client) -> None:
        assert not await names_of(client) & LABEL
        refused = await client.call_tool("create_labelling", {"corpus_id": 1, "name": "no", "start": "nothing"})
        assert refused.is_error
        for token in people.tokens_of(filled, "vic"):
            people.revoke(filled, token.id)
        refused = await client.call_tool("list_corpora", {})
        assert refused.is_error and "revoked" in refused.content[0].text

    talk(command(filled, "vic"), conversation)
    assert "no" not in labellings_of(filled)


def test_a_wrong_token_ends_the_command_with_a_message(filled: Store) -> None:
    variables = {**program_environment(), "THEMESCOPE_HOME": str(filled.settings.home), "THEMESCOPE_TOKEN": "wrong"}
    done = subprocess.run(program("mcp"), input=b"", capture_output=True, check=False, env=variables)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", f"{people.WRONG_TOKEN}\n".encode())


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, themescope_home: Path) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "themescope.jobs.mcp")
    result = CliRunner().invoke(main, ["mcp"])
    assert (result.exit_code, "themescope[mcp]" in result.stderr) == (2, True)


def test_the_documented_session_is_what_happens() -> None:
    assert session.documented() == session.transcript()
