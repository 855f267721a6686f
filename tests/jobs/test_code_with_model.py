"""A language model codes by a codebook: a server that answers, misbehaves or lies; nothing is sent without consent."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner

from tests.db.texts import add_texts
from tests.jobs.helpers import partition_of
from tests.language_model_server import Request, Server, language_model_server
from themescope.core.errors import Cancelled, ConfigError, DataError
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook.entries import CodebookEntry
from themescope.core.labelling.codebook.operations import write
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.provenance import Source
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import NewLabelling
from themescope.db.repositories.jobs import Jobs
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.common.labelled import judged_sentences, placed_sentences, provenance_of
from themescope.jobs.common.language_models import CodingRequest, Endpoint, estimate, newest_result, plan_of
from themescope.jobs.queue.runner import JobFailed, resume_here, run_here
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.agreement import coded_text, left_out
from themescope.jobs.services.labelling.codebook import methods_section
from themescope.jobs.services.labelling.session import LabellingSession

pytestmark = pytest.mark.usefixtures("short_pauses")
THEMES = {"water": "The cold river number {} flows", "money": "Taxes of year {} rose", "music": "She sang song {}"}
EACH = 8
TEXTS = [said.format(i) for said in THEMES.values() for i in range(EACH)]
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def labelling(sqlite_store: Store) -> LabellingRecord:
    """Three codes; Ada placed all sentences. One is an example, and one has the same text as another."""
    written = (*TEXTS, TEXTS[-1])
    with sqlite_store.writing() as w:
        corpus, ids = add_texts(w, "L", [Article("L", (Section("", 1, (Paragraph(sentences=written),)),))])
    record = starts.begin(sqlite_store, NewLabelling(corpus, "mine", "ada"), starts.from_nothing)
    session = LabellingSession(sqlite_store, record.id, "ada")
    for place, name in enumerate(THEMES):
        own = ids[place * EACH : (place + 1) * EACH] if place < 2 else ids[place * EACH :]
        session.do(op.create(session.partition, session.next_number, name, own))
    water = min(session.partition.clusters)
    session.do(write(session.partition, water, CodebookEntry("About rivers.", notes="secret", examples=(int(ids[0]),))))
    return record


@pytest.fixture
def ask(sqlite_store: Store, labelling: LabellingRecord) -> Ask:
    """Run the job against a server with the agreement of a person."""

    def run(server: Server, **changed: Any) -> dict[str, Any]:
        settings = replace(sqlite_store.settings, llm_url=server.url, llm_model="tiny", llm_key="sk-never")
        store, endpoint = Store(settings), Endpoint.of(settings)
        wanted = {k: v for k, v in changed.items() if k in ("sentences", "limit", "seed", "batch", "instructions")}
        plan = plan_of(store, CodingRequest("mine", **wanted))
        args = {"labelling": "mine", "person": "ada", "endpoint": endpoint.url, "model": "tiny", "texts": plan.digest}
        given = {"send": True, "timeout": 5.0, "parallel": 1} | changed
        return run_here(store, "code-with-model", args | given, quiet=True)

    return run


def sentences(request: Request) -> list[str]:
    return [json.loads(line.partition(". ")[2]) for line in request.user.splitlines()]


def right(text: str) -> int:
    return 1 if "river" in text else 2 if "Taxes" in text else 3


def good(request: Request) -> None:
    request.say(json.dumps({str(i): right(text) for i, text in enumerate(sentences(request), 1)}))


def test_the_codes_are_a_labelling_of_a_machine(sqlite_store: Store, labelling: LabellingRecord, ask: Ask) -> None:
    shown = plan_of(sqlite_store, CodingRequest("mine")).text
    with language_model_server(good) as server:
        found = ask(server)
    for request in server.requests:  # what is sent is what the plan shows
        system, user = (message["content"] for message in request.payload["messages"])
        assert system in shown and user in shown and "secret" not in system
        assert request.headers["Authorization"] == "Bearer sk-never"
    assert sorted(text for request in server.requests for text in sentences(request)) == sorted({*TEXTS[1:]})
    assert (found["coded"], found["examples"], found["requests"], len(server.requests)) == (len(TEXTS), 1, 3, 3)
    assert found["labelling"] == "mine · tiny" and found["problems"] == []
    with sqlite_store.reading() as r:
        mine, made = r.labellings.get(labelling.id), r.labellings.get(found["labelling_id"])
        own, state = r.labellings.snapshot(mine.id).partition, r.labellings.snapshot(made.id).partition
        by = provenance_of(r, made, state)
        assert {by.makers[place] for place in by.maker[by.maker >= 0]} == {by.makers[0]}
        assert (by.makers[0].source, by.makers[0].coder) == (Source.MACHINE, "tiny")
        assert not len(judged_sentences(r, made, state)) and not len(placed_sentences(r, made, state))
        text = coded_text(r, [mine, made])
        reasons = left_out(r, text.coders)
    assert state.numbers[0] == UNASSIGNED and (state.numbers[1:] == own.numbers[1:]).all()  # the first is an example
    assert state.clusters == own.clusters and made.owner == "ada" and "About rivers" in made.origin["prompt"]
    assert text.coders[1].placed.sum() == len(TEXTS) and (text.coders[1].judged[1:] == text.coders[0].judged[1:]).all()
    assert reasons == {made.id: "coded by a model, not by a person"}
    section = methods_section(sqlite_store, [mine.id, made.id])
    assert "1 person made 1 coding" in section and "The language model “tiny” coded 24 units" in section
    with pytest.raises(DataError, match="coding of a person"):
        methods_section(sqlite_store, [made.id])


def test_nothing_is_sent_without_agreement(ask: Ask) -> None:
    with language_model_server(good) as server:
        with pytest.raises(ConfigError, match="needs your agreement"):
            ask(server, send=False)
        with pytest.raises(DataError, match="have changed since the texts were shown"):
            ask(server, texts="0" * 16)
        for other in ({"endpoint": "http://127.0.0.1:9/v1/chat/completions"}, {"model": "other"}):
            with pytest.raises(DataError, match="another language model"):
                ask(server, **other)
    assert server.requests == []


def test_a_wrong_number_of_codes_is_asked_again_one_by_one(sqlite_store: Store, ask: Ask) -> None:
    def shifted(request: Request) -> None:
        """Leave out the third sentence of a batch, so that later codes belong to the wrong sentences."""
        codes = [right(text) for text in sentences(request)]
        kept = codes if len(codes) == 1 else codes[:2] + codes[3:]
        request.say(json.dumps({str(i): code for i, code in enumerate(kept, 1)}))

    with language_model_server(shifted) as server:
        found = ask(server)
    assert found["coded"] == len(TEXTS) and found["requests"] == 3 + len(TEXTS) - 1 == len(server.requests)
    assert (partition_of(sqlite_store, found["labelling_id"]).numbers[1:] > 0).all()


@pytest.mark.parametrize(
    ("said", "state", "reason"),
    [
        ("I'm sorry, I cannot assist with that.", "unusable", "I'm sorry"),
        ('{"1": 9}', "invented", "“9” is not in the codebook"),
        ('{"1": "Weather"}', "invented", "“Weather” is not in the codebook"),
        ('{"1": 1, "2": 1}', "unusable", "2 codes for 2 different numbers"),
        ('{"1": ', "unusable", "no JSON object"),
    ],
)
def test_a_sentence_without_a_usable_code_is_listed_and_stays_unassigned(
    said: str, state: str, reason: str, sqlite_store: Store, ask: Ask
) -> None:
    def reply(request: Request) -> None:
        """Answer well, except about one sentence."""
        if any(text == TEXTS[9] for text in sentences(request)):
            request.say(said if len(sentences(request)) == 1 else "Content was filtered.")
        else:
            good(request)

    with language_model_server(reply) as server:
        found = ask(server)
    assert (found[state], found["coded"]) == (1, len(TEXTS) - 1)
    (problem,) = found["problems"]
    assert problem["sentence"] == TEXTS[9] and reason in problem["reason"]
    made = partition_of(sqlite_store, found["labelling_id"])
    ((id, note),) = made.notes.items()
    assert made.numbers[made.rows([id])].tolist() == [UNASSIGNED] and note == f"Not coded: {problem['reason']}"


def test_no_code_fits_is_an_answer(ask: Ask) -> None:
    def reply(request: Request) -> None:
        request.say(json.dumps({str(i): right(text) % 3 for i, text in enumerate(sentences(request), 1)}))

    with language_model_server(reply) as server:
        found = ask(server)
    assert (found["no_code"], found["coded"], found["problems"]) == (EACH + 1, 2 * EACH - 1, [])


@pytest.mark.parametrize(("status", "reason"), [(500, "status 500"), (401, "status 401"), (200, "I refuse")])
def test_a_model_that_codes_nothing_makes_no_labelling(status: int, reason: str, sqlite_store: Store, ask: Ask) -> None:
    def reply(request: Request) -> None:
        request.say("I refuse.") if status == 200 else request.send(b"{}", status)

    with language_model_server(reply) as server, pytest.raises((DataError, JobFailed), match=f"none of.*{reason}"):
        ask(server)
    with sqlite_store.reading() as r:
        assert [record.name for record in r.labellings.list()] == ["mine"]
    assert len(server.requests) <= 3 + len(TEXTS)


def test_only_what_is_missing_is_sent_again(sqlite_store: Store, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = True

    def progress(self: Any, done: float, total: float, message: str = "") -> None:
        if stop and done >= 2:
            raise Cancelled

    monkeypatch.setattr("themescope.jobs.common.job.JobContext.progress", progress)
    with language_model_server(good) as server:
        with pytest.raises(Cancelled):
            ask(server)
        before = [request.user for request in server.requests]
        stop = False
        found = ask(server)
        after = [request.user for request in server.requests[len(before) :]]
        assert found["coded"] == len(TEXTS) and found["known"] >= 2 and not {*after} & {*before[:2]}
        again = ask(server)
        assert (again["requests"], again["known"], again["coded"]) == (0, 3, len(TEXTS))
    kept = "".join(file.read_text() for file in (sqlite_store.settings.home / "answers").iterdir())
    assert "river" not in kept and "sk-never" not in kept


def test_a_job_run_again_makes_no_second_coding(sqlite_store: Store, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker dies after the labelling was stored, and before the job ended."""
    finish = Jobs.finish

    def dies(self: Jobs, *args: Any, **kwargs: Any) -> Any:
        monkeypatch.setattr(Jobs, "finish", finish)
        raise KeyboardInterrupt

    monkeypatch.setattr(Jobs, "finish", dies)
    with language_model_server(good) as server:
        with pytest.raises(KeyboardInterrupt):
            ask(server)
        with sqlite_store.reading() as r:
            (job,) = r.jobs.list()
        monkeypatch.setattr("themescope.jobs.queue.runner.STALE_S", 0.0)
        store = Store(replace(sqlite_store.settings, llm_url=server.url, llm_model="tiny"))
        again = resume_here(store, "code-with-model", job.args, quiet=True)
    assert again["requests"] == 0 and again["labelling"] == "mine · tiny" and len(server.requests) == 3
    with sqlite_store.reading() as r:
        assert sorted(record.name for record in r.labellings.list()) == ["mine", "mine · tiny"]


def test_prompts_are_compared_on_the_labels_of_people(ask: Ask) -> None:
    def reply(request: Request) -> None:
        careful = "carefully" in request.payload["messages"][0]["content"]
        codes = {str(i): right(t) if careful else 1 for i, t in enumerate(sentences(request), 1)}
        request.say(json.dumps(codes))

    with language_model_server(reply) as server:
        found = ask(server, instructions=("Be quick.", "Work carefully."))
    quick, careful = found["prompts"]
    assert found["best"] == 1 and careful["value"] == found["cross_validated"]["value"] == 1.0
    assert quick["value"] == pytest.approx((EACH - 1) / (len(TEXTS) - 1))
    assert careful["instructions"] == "Work carefully."
    assert found["coded"] == len(TEXTS) and len(server.requests) == 6  # the labelled ones are not asked about again


def test_a_sample_and_an_estimate(sqlite_store: Store, labelling: LabellingRecord, ask: Ask) -> None:
    starts.begin(sqlite_store, NewLabelling(labelling.corpus_id, "empty", ""), starts.from_nothing)
    with pytest.raises(DataError, match="at least two codes"):
        plan_of(sqlite_store, CodingRequest("empty"))
    plan = plan_of(sqlite_store, CodingRequest("mine", limit=7, batch=2, seed=1))
    assert len(plan.texts) + plan.examples <= 7
    endpoint = Endpoint("http://127.0.0.1:9", "tiny")
    found = estimate(plan, endpoint, {})
    assert found.requests == len(plan.requests) and found.most <= found.requests + len(plan.texts)
    assert found.seconds is None and found.cost(2.0, 10.0) == pytest.approx((found.read * 2 + found.written * 10) / 1e6)
    sent = sum(len(m["content"]) for p, b in plan.requests for m in p.messages([plan.texts[i] for i in b]))
    assert found.read == pytest.approx(sent / 4, rel=0.05)
    with language_model_server(good) as server:
        ask(server)
        newest = newest_result(sqlite_store)
        timed = estimate(plan, Endpoint(f"{server.url}/v1/chat/completions", "tiny"), newest)
    assert timed.seconds is not None and timed.seconds > 0


@pytest.mark.usefixtures("labelling")
def test_the_command_shows_and_sends(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with language_model_server(good) as server:
        for name, value in (("LLM_URL", server.url), ("LLM_MODEL", "tiny")):
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("THEMESCOPE_HOME", str(sqlite_store.settings.home))
        shown = CliRunner().invoke(main, ["labels", "code", "mine", "--prices", "1", "2"])
        assert shown.exit_code == 0, shown.output
        assert server.requests == [] and "Nothing was sent" in shown.output and "About rivers." in shown.output
        assert "cost, about" in shown.output
        sent = CliRunner().invoke(main, ["labels", "code", "mine", "--name", "by tiny", "--send", "--json"])
    assert sent.exit_code == 0, sent.output
    assert json.loads(sent.stdout)["labelling"] == "by tiny" and len(server.requests) == 3
