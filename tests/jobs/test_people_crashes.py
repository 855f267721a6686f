"""The password file and the store, when the process is killed between the two."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import AccessError, ConfigError
from db import logins
from db.label_records import Role
from db.logins import Logins
from db.store import Store
from jobs.services import people
from tests.jobs.test_people import SECRET

ROOT = Path(__file__).parents[2]
NEW_SECRET = "another password"
KILLED = """
import os
from db.label_records import Role
from db.settings import Settings
from db.store import Store
from db import logins
from jobs.services import people

logins._LOG_N = 2
replace = os.replace

def killed(*paths):
    if {after}:
        replace(*paths)
    os._exit(9)

os.replace = killed
store = Store(Settings.from_environment())
people.{call}
"""


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "_LOG_N", 2)


@pytest.fixture
def token(sqlite_store: Store) -> str:
    """The session of eve, who works beside an admin."""
    people.add(sqlite_store, "ada", Role.ADMIN, SECRET)
    people.add(sqlite_store, "eve", Role.VIEWER, SECRET)
    return people.sign_in(sqlite_store, "eve", SECRET, people.Attempts())


def kill_in(call: str, *, after: bool) -> None:
    """Call a function of accounts in a process that is killed before or after it writes the password file."""
    code = KILLED.format(call=call, after=after)
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=dict(os.environ), check=False).returncode == 9


def opens(store: Store, name: str, password: str) -> bool:
    """Whether somebody can sign in."""
    try:
        return bool(people.sign_in(store, name, password, people.Attempts()))
    except AccessError:
        return False


def roles(store: Store) -> dict[str, Role]:
    with store.reading() as r:
        return {person.name: person.role for person in r.people.list()}


@pytest.mark.usefixtures("token")
def test_a_new_person_never_comes_in_with_another_role(sqlite_store: Store) -> None:
    call = f"add(store, 'new', Role.VIEWER, {SECRET!r})"
    kill_in(call, after=False)
    assert not opens(sqlite_store, "new", SECRET)
    people.add(sqlite_store, "new", Role.VIEWER, SECRET)
    assert opens(sqlite_store, "new", SECRET) and roles(sqlite_store)["new"] is Role.VIEWER
    people.remove(sqlite_store, "new")
    kill_in(call, after=True)
    assert opens(sqlite_store, "new", SECRET) and roles(sqlite_store)["new"] is Role.VIEWER


@pytest.mark.parametrize("after", [False, True])
def test_no_session_outlives_its_password(sqlite_store: Store, token: str, after: bool) -> None:
    kill_in(f"set_password(store, 'eve', {NEW_SECRET!r})", after=after)
    assert people.session_of(sqlite_store, token) is None
    assert opens(sqlite_store, "eve", SECRET) is not after and opens(sqlite_store, "eve", NEW_SECRET) is after
    people.set_password(sqlite_store, "eve", NEW_SECRET)
    assert opens(sqlite_store, "eve", NEW_SECRET)


@pytest.mark.parametrize("after", [False, True])
def test_somebody_who_is_removed_is_out_at_once_or_not_at_all(sqlite_store: Store, token: str, after: bool) -> None:
    kill_in("remove(store, 'eve')", after=after)
    assert (people.session_of(sqlite_store, token) is None) is after
    assert opens(sqlite_store, "eve", SECRET) is not after
    assert roles(sqlite_store)["eve"] is Role.VIEWER
    people.remove(sqlite_store, "eve")
    assert "eve" not in roles(sqlite_store) and "eve" not in Logins(sqlite_store.settings.home).all()


def test_a_store_that_cannot_be_written_changes_no_login(
    sqlite_store: Store, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Logins(sqlite_store.settings.home).all()

    def broken(*_: object) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr("db.repositories.people.People.remove", broken)
    with pytest.raises(RuntimeError, match="the disk is full"):
        people.remove(sqlite_store, "eve")
    assert Logins(sqlite_store.settings.home).all() == before
    assert people.session_of(sqlite_store, token) is not None


def test_a_lock_that_is_held_is_reported(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("db.logins._LOCK_WAIT_S", 0.0)
    with Logins(sqlite_store.settings.home).locked(), pytest.raises(ConfigError, match="Another process is changing"):
        people.set_role(sqlite_store, "ada", Role.ADMIN)
