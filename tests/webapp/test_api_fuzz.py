"""Random requests to every operation of the HTTP API, made from its description, for each role.

No request may end in a server error or in an answer that the description lacks, and none of a viewer, or without a
token, may change anything. Half of the ids are replaced by those of the store, so that requests reach what exists.
"""

import hashlib
import logging
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from argon2 import PasswordHasher
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.homes import MakeHome
from tests.places import ROOT
from tests.served import served as listening
from tests.webapp.browsers import APP, browser
from tests.webapp.columned import add_columns
from tests.webapp.filled import add_themes, fill
from themescope.core.labelling.operations import Origin, selected
from themescope.core.records.stored import Role
from themescope.db import tables as t
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs.api import API
from themescope.jobs.api.application import description
from themescope.jobs.api.problems import Caller
from themescope.jobs.api.routes import labellings
from themescope.jobs.api.routes.labellings import LabellingStart, LabellingToCreate
from themescope.jobs.kinds import REGISTRY
from themescope.jobs.services import people

logger = logging.getLogger(__name__)
ROLES = {"ada": Role.ADMIN, "lea": Role.LABELLER, "val": Role.VIEWER}
NOBODY = ""
CHECKS = ["not_a_server_error", "status_code_conformance", "response_schema_conformance"]
KEPT = ("/corpora/{corpus_id}", "/models/{model_id}")
"""What is not deleted, so that the other operations have something to work on."""
OF_REQUESTS = {t.api_token.name, t.audit_event.name, t.failed_sign_in.name}
"""Tables that say that a token was used, or that one was wrong."""
CASES, MANY_CASES = 2, 20
"""Requests to an operation for each role and each of valid and invalid requests."""


@cache
def described() -> tuple[dict[str, list[st.SearchStrategy[Any]]], list[Any]]:
    """The valid and the invalid requests to each operation of the description, and the checks of an answer."""
    import schemathesis.checks  # takes a second, in every process that collects the tests

    schemathesis.checks.load_all_checks()
    operations = [found.ok() for found in schemathesis.openapi.from_dict(description()).get_all_operations()]
    requests = {
        one.label: [one.as_strategy(generation_mode=mode) for mode in schemathesis.GenerationMode] for one in operations
    }
    return requests, schemathesis.checks.CHECKS.get_by_names(CHECKS)


@pytest.fixture(scope="module")
def store(make_home: MakeHome) -> Iterator[Store]:
    """A store with something of everything, in which people of each role sign in."""
    store = Store(Settings.in_folder(make_home(fill)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("themescope.db.passwords.HASHER", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        for name, role in ROLES.items():
            people.add(store, name, role, "correct horse battery")
    add_columns(store)
    with store.writing() as w:
        add_themes(w, 1, "th", "a", [0] * 72)
        w.selections.add(selected(1, [1, 2], Origin("lasso", ("by hand",))), "some", "ada")
    for name in ("ada", "lea"):
        with store.reading() as r:
            actor = r.people.actor(name)
        new = LabellingToCreate(corpus_id=1, name=name, shared=name == "ada", start=LabellingStart.SECTIONS)
        labellings.create_labelling(Caller(store, actor), new)
    yield store
    store.close()


@pytest.fixture
def served(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("THEMESCOPE_HOME", str(store.settings.home))
    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    return store


def digest(store: Store) -> str:
    """The content of all tables but those of requests; of people their names and roles."""
    found = hashlib.sha256()
    with store.reading() as r:
        for table in metadata.sorted_tables:
            columns = [c for c in table.c if (table.name, c.name) != (t.person.name, "seen")]
            if table.name not in OF_REQUESTS:
                for row in r.people.connection.execute(sa.select(*columns).order_by(*table.primary_key)):
                    found.update(repr((table.name, tuple(row))).encode())
    return found.hexdigest()


def _small(value: Any, name: str = "") -> Any:
    """Replace numbers by ids that exist, and the names of kinds and the arguments of jobs by ones that are known."""
    if isinstance(value, dict):
        return {key: _small(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_small(part) for part in value]
    if name == "kind" and isinstance(value, str):
        return REGISTRY.ids()[len(value) % len(REGISTRY)]
    return value % 4 + 1 if isinstance(value, int | float) and not isinstance(value, bool) else value


def send(client: TestClient, case: Any, known: bool) -> Any:
    """Send a request as a program does, without the headers that were made up."""
    if case.operation.path in KEPT and case.method == "DELETE":
        case.path_parameters = dict.fromkeys(case.path_parameters, 2)
    elif known:
        case.path_parameters = _small(case.path_parameters)
        case.body = _small(case.body)
    if "wait" in (case.query or {}):
        case.query = {**case.query, "wait": 0} if isinstance(case.query["wait"], int | float) else case.query
    sent = case.as_transport_kwargs(base_url=f"http://localhost:8501{API}")
    content = {name: sent[name] for name in ("json", "data") if name in sent}
    if "data" in content:
        content = {"content": content["data"]}
    kind = {"content-type": sent["headers"]["Content-Type"]} if "Content-Type" in sent["headers"] else {}
    return client.request(sent["method"], sent["url"], params=sent.get("params"), headers=kind, **content)


def fuzz(store: Store, person: str, cases: int) -> Counter[int]:
    """Send random requests to every operation; fail for an answer that must not be. Returns the statuses."""
    headers = {}
    if person != NOBODY:
        made = people.create(store, person, f"fuzz {len(people.tokens_of(store))}")
        headers = {"authorization": f"Bearer {made.secret}"}
    client, statuses = browser(headers=headers), Counter[int]()
    for requests in (one for kinds in described()[0].values() for one in kinds):
        _fuzz_operation(client, requests, statuses, cases)
    return statuses


def _fuzz_operation(client: TestClient, requests: st.SearchStrategy[Any], statuses: Counter[int], cases: int) -> None:
    @seed(0)
    @settings(max_examples=cases)
    @given(requests, st.booleans())
    def check(case: Any, known: bool) -> None:
        answer = send(client, case, known)
        statuses[answer.status_code] += 1
        case.validate_response(answer, checks=described()[1])

    check()


MANY = [pytest.param(person, MANY_CASES, marks=pytest.mark.slow) for person in (*ROLES, NOBODY)]


@pytest.mark.parametrize(("person", "cases"), [("ada", CASES), ("val", CASES), (NOBODY, 1), *MANY])
def test_no_request_ends_in_a_server_error_or_writes_without_the_right(served: Store, person: str, cases: int) -> None:
    before, operations = digest(served), len(described()[0])
    statuses = fuzz(served, person, cases)
    logger.info("%s: %d operations, %s", person or "nobody", operations, dict(statuses))
    assert sum(statuses.values()) >= cases * operations
    if person == NOBODY:
        assert set(statuses) <= {401, 403}
    else:
        assert statuses[200] > operations / 2 and not statuses[401]
    assert (digest(served) == before) is (person in ("val", NOBODY))


@pytest.mark.slow
def test_schemathesis_finds_no_failure(served: Store, tmp_path: Path) -> None:
    """All its checks, also that valid requests are accepted and invalid ones refused, as from the command line."""
    token = people.create(served, "ada", "schemathesis").secret
    with listening(APP) as address:
        program, config = Path(sys.executable).with_name("schemathesis"), ROOT / "tests" / "schemathesis.toml"
        command = [
            str(program), "--config-file", str(config), "run", f"{address}{API}/openapi.json", "--seed", "1",
            "--max-examples", "30", "--continue-on-failure", "--phases", "examples,coverage,fuzzing",
            "-H", f"Authorization: Bearer {token}",
        ]  # fmt: skip
        found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr
