"""Tokens of the HTTP API: the command line, what is stored, accounts, backups and personal data."""

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from themescope.core.errors import AccessError, DataError, DuplicateNameError, ThemescopeError, UnknownNameError
from themescope.core.records.stored import Role
from themescope.db import tables as t
from themescope.db.sql import now
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.services import people
from themescope.jobs.services.people import TooManyAttempts, sign_in

pytestmark = pytest.mark.usefixtures("cheap_passwords")
SECRET = "correct horse battery"


def with_accounts(store: Store) -> Store:
    for name, role in (("ada", Role.ADMIN), ("lea", Role.LABELLER)):
        people.add(store, name, role, SECRET)
    return store


@pytest.fixture
def accounts(sqlite_store: Store) -> Store:
    """A store with the accounts of an admin and a labeller."""
    return with_accounts(sqlite_store)


def call(*args: str) -> Result:
    return CliRunner().invoke(main, ["people", *args])


def test_tokens_are_created_listed_and_revoked_by_commands(accounts: Store) -> None:
    made = json.loads(call("token", "lea", "my  notebook", "--days", "7", "--json").stdout)
    assert people.actor_of(accounts, made["token"], "") == people_actor(accounts, "lea")
    assert call("token", "ada", "backup").stdout.startswith("themescope_")
    rows = json.loads(call("list", "--tokens", "--json").stdout)["tokens"]
    assert [(row["id"], row["name"], row["state"]) for row in rows] == [
        ("1", "my notebook", "valid"),
        ("2", "backup", "valid"),
    ]
    assert "was revoked" in call("token", "--revoke", "1").stdout
    assert call("token", "--revoke", "1").exit_code == 2  # nothing is left to revoke
    with pytest.raises(AccessError):
        people.actor_of(accounts, made["token"], "")
    with accounts.reading() as r:
        events = [(e.author, e.action, e.person, e.detail) for e in r.audit_log.latest(4)][::-1]
    assert events == [
        ("", "token created", "lea", "my notebook"),
        ("", "token created", "ada", "backup"),
        ("", "token revoked", "lea", "my notebook"),
        ("", "wrong token", "", ""),
    ]


def people_actor(store: Store, name: str) -> object:
    with store.reading() as r:
        return r.people.actor(name)


def test_a_program_with_an_expired_token_keeps_nobody_out(accounts: Store) -> None:
    made = people.create(accounts, "lea", "notebook")
    for _ in range(60):
        with pytest.raises(AccessError):
            people.actor_of(accounts, "themescope_expired", "192.0.2.1")
    with pytest.raises(TooManyAttempts):
        people.actor_of(accounts, "themescope_expired", "192.0.2.1")
    assert people.actor_of(accounts, made.secret, "192.0.2.1").name == "lea"
    assert sign_in(accounts, "ada", SECRET, "192.0.2.1")


def test_a_token_is_its_person_until_the_account_goes(store: Store) -> None:
    made = people.create(with_accounts(store), "lea", "notebook")
    for _ in range(2):
        assert people.actor_of(store, made.secret, "") == people_actor(store, "lea")
    with pytest.raises(AccessError):
        people.actor_of(store, made.secret + "x", "")
    people.remove(store, "lea")
    with pytest.raises(AccessError):
        people.actor_of(store, made.secret, "")
    assert people.tokens_of(store) == []


def test_only_a_hash_is_stored(accounts: Store) -> None:
    made = people.create(accounts, "lea", "notebook")
    accounts.close()
    secret = made.secret.removeprefix("themescope_").encode()
    assert len(secret) >= 43
    for path in accounts.settings.home.rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes(), path


WRONG: dict[str, tuple[Callable[[Store], object], type[ThemescopeError]]] = {
    "no account": (lambda s: people.create(s, "nobody", "x"), UnknownNameError),
    "no name": (lambda s: people.create(s, "lea", " \u202e "), DataError),
    "no days": (lambda s: people.create(s, "lea", "x", 0), DataError),
    "a century": (lambda s: people.create(s, "lea", "x", 36_500), DataError),
    "the same name": (lambda s: people.create(s, "lea", "first"), DuplicateNameError),
    "revoking that of another": (lambda s: people.revoke(s, 1, "ada"), UnknownNameError),
    "revoking none": (lambda s: people.revoke(s, 9), UnknownNameError),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_are_told_and_change_nothing(accounts: Store, mistake: str) -> None:
    people.create(accounts, "lea", "first")
    act, error = WRONG[mistake]
    with pytest.raises(error):
        act(accounts)
    assert [(one.name, one.revoked) for one in people.tokens_of(accounts)] == [("first", None)]


def test_the_number_of_tokens_is_limited(accounts: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(people, "_MOST_TOKENS", 2)
    for name in ("a", "b"):
        people.create(accounts, "lea", name)
    with pytest.raises(DataError, match="Revoke some first"):
        people.create(accounts, "lea", "c")
    people.revoke(accounts, 1)
    people.create(accounts, "lea", "a")


def test_use_is_recorded_once_a_minute(accounts: Store) -> None:
    made = people.create(accounts, "lea", "notebook")
    times = []
    for ago in (None, timedelta(0), timedelta(minutes=2)):
        if ago is not None:
            with accounts.writing() as w:
                w.people.connection.execute(sa.update(t.api_token).values(used=times[-1] - ago))
        people.actor_of(accounts, made.secret, "")
        times.append(people.tokens_of(accounts)[0].used)
    assert times[0] == times[1] < times[2] <= now()
