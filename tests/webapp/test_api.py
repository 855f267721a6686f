"""The HTTP API: who is let in, errors, other sites, and the description."""

import json
import time
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from openapi_spec_validator import validate
from starlette.testclient import TestClient

from tests.contracts.test_actions import TASK
from tests.webapp.browsers import SECRET, browser
from tests.webapp.filled import of_sections
from themescope.core.labelling.operations import Origin, selected
from themescope.core.records.stored import Role
from themescope.db import tables as t
from themescope.db.records import NewItem, NewTask
from themescope.db.sql import now
from themescope.db.store import Store
from themescope.jobs.api import application
from themescope.jobs.services import people
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.routes.api import MISSING, MOST_BYTES
from themescope.webapp.shared.people import cookie, new_token

pytestmark = pytest.mark.usefixtures("cheap_passwords")
JSON = {"content-type": "application/json"}
PROBLEM = "application/problem+json"


def program(store: Store, person: str) -> TestClient:
    made = people.create(store, person, f"test {now().timestamp()}")
    return browser(headers={"authorization": f"Bearer {made.secret}"})


@pytest.fixture
def filled(filled_and_shared: Store) -> Store:
    return filled_and_shared


def test_a_token_acts_as_its_person_with_the_role_in_force(shared: Store) -> None:
    client = program(shared, "lea")
    assert client.get("/api/v1/me").json()["role"] == "labeller"
    people.set_role(shared, "lea", Role.VIEWER)
    assert client.get("/api/v1/me").json() | {"version": ""} == {
        "name": "lea", "role": "viewer", "rights": ["look"], "version": "",
    }  # fmt: skip
    with shared.reading() as r:
        assert r.api_tokens.list("lea")[0].used is not None


def test_an_ended_token_is_refused_at_once(shared: Store) -> None:
    revoked, expired, removed = (program(shared, name) for name in ("lea", "lea", "val"))
    for client in (revoked, expired, removed):
        assert client.get("/api/v1/corpora").status_code == 200
    people.revoke(shared, 1, "lea", "lea")
    people.remove(shared, "val")
    with shared.writing() as w:
        second = sa.update(t.api_token).where(t.api_token.c.id == 2)
        w.people.connection.execute(second.values(expires=now() - timedelta(seconds=1)))
    for client in (revoked, expired, removed):
        answer = client.get("/api/v1/corpora")
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["detail"] == people.WRONG_TOKEN


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer x", "Basic eDp5", "bearer \u00e4", "x" * 5_000])
def test_where_people_sign_in_a_token_is_required(shared: Store, header: str) -> None:
    headers = {"authorization": header.encode("latin-1")} if header else {}
    for path in ("/api/v1/corpora", "/api/v1/nothing", "/api/v1/job-kinds/openapi.json"):
        answer = browser().get(path, headers=headers)
        assert answer.status_code == 401 and answer.headers["content-type"] == PROBLEM
        assert answer.json()["detail"] in (MISSING, people.WRONG_TOKEN)
        assert answer.headers["cache-control"] == "no-store"


def test_no_path_of_the_api_reaches_the_pages_without_a_session(shared: Store) -> None:
    for path in ("/api/v1%0A/x", "/api/v1", "/api/v1x"):
        assert browser().get(path).status_code == 403
    for path in ("/api/v1/x%0Ay", "/api/v1/x%0A", "/api/v1/"):
        answer = browser().get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (401, PROBLEM)


def test_a_session_of_a_browser_is_no_token(shared: Store) -> None:
    client = browser()
    client.cookies.set(*cookie(people.sign_in(shared, "ada", SECRET, ""), secure=False))
    assert client.get("/account").status_code == 200
    assert client.get("/api/v1/corpora").status_code == 401
    assert client.post("/api/v1/jobs", json={"kind": "embed"}).status_code == 401


def test_wrong_tokens_are_limited_by_address_and_valid_ones_not(shared: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "FREE_PER_ADDRESS", 3)
    valid = program(shared, "lea")
    wrong = browser(headers={"authorization": "Bearer themescope_guess"})
    answers = [wrong.get("/api/v1/me") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert valid.get("/api/v1/me").status_code == 200
    with shared.reading() as r:
        assert [e.action for e in r.audit_log.latest(9)].count("wrong token") == 3


def test_elsewhere_requests_act_as_the_person_of_the_browser(sqlite_store: Store) -> None:
    assert browser().get("/api/v1/me").json()["role"] == "admin"  # as long as there is no admin
    people.set_role(sqlite_store, "ada", Role.ADMIN)
    assert browser().get("/api/v1/me").json()["role"] == "labeller"
    named, token = browser(), new_token()
    people.remember_name(sqlite_store, token, "ada")
    named.cookies.set(*cookie(token, secure=False))
    assert named.get("/api/v1/me").json() | {"rights": []} | {"version": ""} == {
        "name": "ada", "role": "admin", "rights": [], "version": "",
    }  # fmt: skip


FORMS: dict[str, dict[str, Any]] = {
    "a form": {"data": {"kind": "embed"}},
    "text": {"content": '{"kind": "embed"}', "headers": {"content-type": "text/plain"}},
    "nothing": {},
    "a file": {"files": {"kind": b"embed"}},
}


@pytest.mark.usefixtures("filled_store")
def test_a_page_of_another_site_cannot_write() -> None:
    """Its forms have no JSON, and JSON of another origin is refused even before that."""
    for path, sent in product(("/api/v1/jobs", "/api/v1/jobs/2/retry", "/api/v1/labellings/1/undo"), FORMS):
        assert browser().post(path, **FORMS[sent]).status_code == 415, (path, sent)
    foreign = {"origin": "https://evil.example", **JSON}
    assert browser().post("/api/v1/jobs/2/retry", headers=foreign).status_code == 403
    rebound = {"host": "evil.example", **JSON}
    assert browser().post("/api/v1/jobs/2/retry", headers=rebound).status_code == 403
    assert browser().post("/api/v1/jobs/2/retry", headers=JSON).status_code == 200


PROBLEMS: list[tuple[str, str, Any, int, str]] = [
    ("GET", "/corpora/9", None, 404, "There is no corpus called '9'"),
    ("GET", "/corpora/0", None, 422, "path.corpus_id"),
    ("GET", "/corpora/x", None, 422, "path.corpus_id"),
    ("GET", f"/corpora/{2**53}", None, 422, "path.corpus_id"),
    ("GET", "/corpora/1/sentences?limit=1001", None, 422, "query.limit"),
    ("GET", "/corpora/1/search?text=%20", None, 422, "query.text"),
    ("GET", "/corpora/1/search?text=x&method=meaning", None, 409, "No model has vectors"),
    ("GET", "/nothing", None, 404, ""),
    ("PUT", "/corpora", None, 405, ""),
    ("GET", "/sentences/999/similar", None, 404, "There is no sentence called '999'. Check it."),
    ("GET", "/maps?corpus_id=9", None, 404, "There is no corpus called '9'"),
    ("GET", "/labellings?corpus_id=9", None, 404, "There is no corpus called '9'"),
    ("GET", "/themes?corpus_id=9", None, 404, "There is no corpus called '9'"),
    ("GET", "/runs?model_id=9", None, 404, "There is no model called '9'"),
    ("POST", "/labellings", {"corpus_id": 1, "name": "x", "shared": 0}, 422, "body.shared"),
    ("POST", "/jobs", {"kind": "nothing"}, 404, "There is no job kind"),
    ("POST", "/jobs", {"kind": "embed", "args": {"corpse": "x"}}, 422, "corpse"),
    ("POST", "/jobs", {"kind": "embed", "more": 1}, 422, "body.more"),
    ("POST", "/labellings/1/clusters", {"name": "x", "sentences": []}, 422, "body.sentences"),
    ("POST", "/jobs/1/retry", {}, 409, "only a failed or cancelled job"),
    ("POST", "/labellings/1/assign", {"sentences": [1], "cluster": 1}, 404, "labelling"),
    ("POST", "/labellings", {"corpus_id": 1, "name": "x", "start": "themes"}, 409, "source"),
]


def test_errors_are_problem_details(filled: Store) -> None:
    client = program(filled, "ada")
    for method, path, body, status, message in PROBLEMS:
        answer = client.request(method, f"/api/v1{path}", json=body)
        assert (answer.status_code, answer.headers["content-type"]) == (status, PROBLEM), (method, path)
        found = answer.json()
        assert found["status"] == status and message in found["detail"] and found["title"], (method, path)


def test_a_refused_method_names_all_that_the_path_has(shared: Store) -> None:
    client = program(shared, "ada")
    allowed = {
        "/jobs": "GET, POST", "/labellings": "GET, POST", "/labellings/1": "DELETE, GET, PATCH",
        "/labellings/1/clusters/1": "DELETE, PATCH", "/corpora/1/edits": "GET, POST",
    }  # fmt: skip
    for path, methods in allowed.items():
        assert client.options(f"/api/v1{path}").headers["allow"] == methods, path


def test_the_largest_offset_and_id_are_past_the_end(filled: Store) -> None:
    val = program(filled, "val")
    for path in ("corpora/1/articles", "corpora/1/sentences", "articles/1/sentences", "runs", "jobs"):
        answer = val.get(f"/api/v1/{path}", params={"offset": 2**53 - 1, "limit": 1_000})
        assert answer.status_code == 200 and answer.json()["items"] == [] and answer.json()["total"] > 0
        assert val.get(f"/api/v1/{path}", params={"offset": 2**53}).status_code == 422
    assert val.get(f"/api/v1/sentences/{2**53 - 1}/similar").status_code == 404


def test_a_large_body_is_refused(shared: Store) -> None:
    client = program(shared, "ada")
    assert client.post("/api/v1/jobs", content=b"x" * (MOST_BYTES + 1), headers=JSON).status_code == 413
    assert client.post("/api/v1/jobs", content=iter([b"{}"]), headers=JSON).status_code == 413


def test_numbers_that_json_lacks_are_null(filled: Store) -> None:
    with filled.writing() as w:
        w.jobs.note(1, loss=float("nan"), best=float("inf"))
    result = program(filled, "val").get("/api/v1/jobs/1").json()["result"]
    assert result == {"articles": 3, "loss": None, "best": None}


def body_of(method: str, path: str) -> dict[str, Any] | None:
    """A valid body of a request: of each required field the example, or the smallest value."""
    description = application.description()
    content = description["paths"][path][method].get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return None
    (content,) = (about["schema"] for about in content.values())
    reference = (content["anyOf"][0] if "anyOf" in content else content)["$ref"]  # one of several bodies
    schema = description["components"]["schemas"][reference.rpartition("/")[2]]
    smallest = {"integer": 1, "boolean": True, "array": [1], "object": {}, "string": "x"}
    return {
        name: (field.get("examples") or [smallest[field.get("type", "string")]])[0]
        for name, field in schema["properties"].items()
        if name in schema.get("required", ())
    }


def test_nobody_writes_what_they_may_only_read(filled: Store) -> None:
    private = of_sections(filled, "Ada's", "ada")
    with filled.writing() as w:
        job = w.jobs.add("embed", "Embed", {"corpus": "Rivers", "model": "mean vectors"})
        w.tasks.create(NewTask(1, "task", "ada", settings=TASK), {"ada": None}, [NewItem(1, 0, 1, "ada")])
        w.tasks.start(1)
        selection = w.selections.add(selected(1, [1], Origin("list", ("by hand",))), "Ada's", "ada")
    before = LabellingSession(filled, private.id, "ada").snapshot
    places = {"labelling_id": private.id, "cluster": 1, "job_id": job.id, "corpus_id": 1, "edit_id": 1, "model_id": 1}
    places |= {"selection_id": selection.id, "run_id": 1, "theme": 0, "task_id": 1, "item_id": 1, "set_id": 1}
    writing = [(method, path) for path, found in application.description()["paths"].items() for method in found]
    clients = {person: program(filled, person) for person in ("lea", "val")}
    for person, (method, path) in product(clients, writing):
        of_labellers = person == "lea" and path in ("/labellings", "/corpora/{corpus_id}/selections")
        if method == "get" or of_labellers or path.startswith("/themes/"):
            continue  # there are no themes
        url = "/api/v1" + path.format_map(places) + ("?name=a" if path == "/files" else "")
        answer = clients[person].request(method, url, json=body_of(method, path), headers=JSON)
        assert answer.status_code == 403, (person, method, path, answer.text)
        assert LabellingSession(filled, private.id, "ada").snapshot.step == before.step, (person, method, path)


def test_an_admin_corrects_a_text_and_undoes_it(filled: Store) -> None:
    ada = program(filled, "ada")
    made = ada.post("/api/v1/corpora/1/edits", json={"sentence": 1, "text": "A corrected text."})
    first = ada.get("/api/v1/corpora/1/sentences", params={"limit": 1}).json()["items"][0]
    assert made.status_code == 201 and made.json()["after"] == first["text"]
    assert ada.post("/api/v1/corpora/1/edits", json={"articles": [1], "wave": "spring"}).status_code == 422
    assert ada.post("/api/v1/corpora/1/edits", json={"articles": [1]}).json()["sentences"] == 24
    assert ada.post(f"/api/v1/corpora/1/edits/{made.json()['id']}/undo").json()["undone"]
    assert ada.post("/api/v1/corpora/1/edits/99/undo").status_code == 404
    assert [edit["kind"] for edit in ada.get("/api/v1/corpora/1/edits").json()] == ["text", "articles"]


def test_a_labeller_labels_and_an_admin_queues(filled: Store) -> None:
    lea, ada = program(filled, "lea"), program(filled, "ada")
    made = lea.post("/api/v1/labellings", json={"corpus_id": 1, "name": "mine", "start": "sections"})
    assert made.status_code == 201 and made.json()["owner"] == "lea"
    change = {"sentences": [1, 2], "cluster": 3, "reason": "because"}
    assert lea.post("/api/v1/labellings/1/assign", json=change).status_code == 200
    state = ada.get("/api/v1/labellings/1").json()
    assert (state["clusters"][2]["size"], state["can_undo"]) == (14, False)
    assert lea.post("/api/v1/labellings/1/assign", json={**change, "cluster": 2, "seen": 0}).status_code == 409
    assert lea.post("/api/v1/labellings/1/undo").json()["kind"] == "undo"
    args = {"corpus": "Rivers", "model": "mean *vectors*"}
    job = ada.post("/api/v1/jobs", json={"kind": "embed", "args": args})
    assert job.status_code == 201
    assert ada.post(f"/api/v1/jobs/{job.json()['id']}/cancel").json()["status"] == "cancelled"
    assert lea.delete("/api/v1/labellings/1").status_code == 204


def test_sentences_are_queued_and_kept_as_they_are(filled: Store) -> None:
    ada, texts = program(filled, "ada"), ['One, "quoted".', "Two\nlines.", ""]
    made = ada.post("/api/v1/themes", json={"sentences": texts, "groups": ["a", "b", "a"], "k": 2, "language": "en"})
    assert made.status_code == 201
    jobs = made.json()
    assert [job["kind"] for job in jobs] == ["import-list", "embed", "find-themes", "project"]
    assert [job["after"] for job in jobs] == [None, *(job["id"] for job in jobs[:-1])]
    rows = [json.loads(line) for line in Path(jobs[0]["args"]["file"]).read_text(encoding="utf-8").splitlines()]
    assert rows == [{"sentence": text, "group": group} for text, group in zip(texts, "aba", strict=True)]
    assert jobs[0]["args"]["corpus"] == "Sentences" and jobs[2]["args"]["settings"] == {"k": 2}
    wave = ada.post("/api/v1/corpora/1/sentences", json={"sentences": texts, "wave": "May", "only_new": True}).json()
    assert [job["kind"] for job in wave] == ["append-corpus", "place-wave"] and wave[1]["after"] == wave[0]["id"]
    assert (wave[0]["args"]["corpus"], wave[0]["args"]["duplicates"]) == ("Rivers", "omit")
    for path, body, status in (
        ("/themes", {"sentences": texts, "corpus": "Rivers"}, 409), ("/themes", {"sentences": []}, 422),
        ("/themes", {"sentences": texts, "groups": ["a"]}, 409), ("/themes", {"sentences": [1]}, 422),
        ("/corpora/9/sentences", {"sentences": texts, "wave": "May"}, 404),
    ):  # fmt: skip
        assert ada.post(f"/api/v1{path}", json=body).status_code == status, (path, body)


def test_files_are_uploaded_for_jobs(filled: Store) -> None:
    ada, data = program(filled, "ada"), b"text\n" + b"x" * (MOST_BYTES + 1)
    made = ada.post("/api/v1/files", params={"name": "../a b?.csv"}, content=data).json()
    assert (made["name"], made["bytes"], Path(made["path"]).read_bytes()) == ("a b_.csv", len(data), data)
    args = {"files": [made["path"]], "corpus": "uploaded", "language": "en"}
    assert ada.post("/api/v1/jobs", json={"kind": "import-corpus", "args": args}).status_code == 201
    assert ada.post("/api/v1/files", params={"name": " "}, content=b"x").status_code == 422
    assert program(filled, "lea").post("/api/v1/files", params={"name": "a"}, content=b"x").status_code == 403
    elsewhere = {"files": ["/etc/passwd"], "corpus": "x", "language": "en"}
    assert ada.post("/api/v1/jobs", json={"kind": "import-corpus", "args": elsewhere}).status_code == 403


def test_what_is_deleted_is_gone(filled: Store) -> None:
    ada = program(filled, "ada")
    with filled.writing() as w:
        selection = w.selections.add(selected(1, [3, 1], Origin("list", ("by hand",))), "mine", "lea")
    ended = ada.get("/api/v1/jobs", params={"status": "done"}).json()["items"][0]["id"]
    for path in (f"selections/{selection.id}", f"jobs/{ended}", "models/1", "corpora/1"):
        assert ada.delete(f"/api/v1/{path}").status_code == 204, path
        assert ada.delete(f"/api/v1/{path}").status_code == 404, path
        assert ada.get(f"/api/v1/{path}").status_code == (405 if "selections" in path else 404), path


def test_a_job_is_waited_for(filled: Store) -> None:
    ada = program(filled, "ada")
    job = ada.post("/api/v1/jobs", json={"kind": "embed", "args": {"corpus": "Rivers", "model": "m"}}).json()["id"]
    began = time.monotonic()
    assert ada.get(f"/api/v1/jobs/{job}", params={"wait": 0.2}).json()["status"] == "queued"
    assert time.monotonic() - began >= 0.2
    ada.post(f"/api/v1/jobs/{job}/cancel")
    assert ada.get(f"/api/v1/jobs/{job}", params={"wait": 30}).json()["status"] == "cancelled"


def test_exports_are_files(filled: Store) -> None:
    lea = program(filled, "lea")
    lea.post("/api/v1/labellings", json={"corpus_id": 1, "name": "mine ü", "start": "sections"})
    answer = lea.get("/api/v1/labellings/1/export", params={"format": "csv"})
    assert answer.status_code == 200 and len(answer.content) > 1_000
    assert answer.headers["content-disposition"] == "attachment; filename*=utf-8''mine%20%C3%BC.csv"
    assert lea.get("/api/v1/labellings/2/export").status_code == 404


def test_the_description_is_valid_and_public(shared: Store) -> None:
    found = browser().get("/api/v1/openapi.json")
    assert found.status_code == 200
    document = found.json()
    validate(document)
    operations = [one for path in document["paths"].values() for one in path.values()]
    assert len(operations) == len({one["operationId"] for one in operations}) > 40
    assert all(one["description"] and one["security"] and one["tags"] for one in operations)
    assert {tag for one in operations for tag in one["tags"]} == {*application.TAGS}
    assert document["servers"] == [{"url": "/api/v1"}]
    titles = [schema["title"] for schema in document["components"]["schemas"].values()]
    assert len(titles) == len({*titles})


def test_what_only_the_server_needs_is_not_sent(filled: Store) -> None:
    with filled.writing() as w:
        job = w.jobs.add("import-corpus", "Import", {"files": ["/home/ada/secret folder/a.csv"], "corpus": "A / B"})
    ada, val = program(filled, "ada"), program(filled, "val")
    assert ada.get(f"/api/v1/jobs/{job.id}").json()["args"]["files"] == ["/home/ada/secret folder/a.csv"]
    shown = val.get(f"/api/v1/jobs/{job.id}").json()
    assert shown["args"] == {"files": ["a.csv"], "corpus": "A / B"}
    assert not {"traceback", "owner", "heartbeat"} & shown.keys()
    assert not {"report", "ready"} & val.get("/api/v1/corpora").json()[0].keys()
