"""Signing in: wrong passwords, waiting times that all processes share, sessions and their ends."""

import logging
import unicodedata
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.db.processes import at_once
from themescope.core.errors import AccessError
from themescope.core.records.stored import Role
from themescope.db import passwords, tables
from themescope.db.records import SignInMethod
from themescope.db.settings import Settings
from themescope.db.sql import now
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.jobs.services.people import TooManyAttempts, session_of

pytestmark = pytest.mark.usefixtures("cheap_passwords")
ADDRESS, SECRET = "192.0.2.7", "correct horse battery"


def attempt(store: Store, name: str, password: str = "wrong password", address: str = ADDRESS) -> str:
    """Return what an attempt leads to: "in", "wrong" or "wait"."""
    try:
        people.sign_in(store, name, password, address)
    except TooManyAttempts:
        return "wait"
    except AccessError:
        return "wrong"
    return "in"


def set_back(store: Store, age: timedelta) -> None:
    """Let the last failed attempts be older by ``age``."""
    table = tables.failed_sign_in
    with store.writing() as w:
        for digest, last in w.people.connection.execute(sa.select(table.c.key_hash, table.c.last)).all():
            own = table.update().where(table.c.key_hash == digest)
            w.people.connection.execute(own.values(last=last - age))


@pytest.fixture
def ada(store: Store) -> Store:
    people.add(store, "ada", Role.ADMIN, SECRET)
    return store


def test_wrong_passwords_and_unknown_names_are_told_alike(
    sqlite_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    people.add(sqlite_store, "ada", Role.ADMIN, SECRET)
    people.add(sqlite_store, "eve", Role.ADMIN, None)
    with caplog.at_level(logging.DEBUG):
        for name, password in (("ada", "wrong password"), ("nobody", SECRET), ("eve", ""), ("eve", SECRET)):
            with pytest.raises(AccessError, match="Wrong name or password"):
                people.sign_in(sqlite_store, name, password, ADDRESS)
        token = people.sign_in(sqlite_store, " ada ", SECRET, ADDRESS)
    with sqlite_store.reading() as r:
        connection, hashes = r.people.connection, [*filter(None, r.logins.all().values())]
        assert next(p for p in r.people.list() if p.name == "ada").seen is not None
        assert token not in connection.execute(sa.select(tables.session.c.token_hash)).scalar_one()
        events = [(event.action, event.person) for event in r.audit_log.latest(5)]
    assert events == [("signed in", "ada"), *[("sign-in failed", name) for name in ("eve", "eve", "", "ada")]]
    for secret in (SECRET, "wrong password", token, *hashes):
        assert secret not in caplog.text


def test_who_is_wrong_again_and_again_waits_longer_and_longer(ada: Store) -> None:
    waited = []
    for _ in range(13):
        with ada.reading() as r:
            waited.append(r.failed_sign_ins.wait_s({"name ada": 3}))
        set_back(ada, timedelta(seconds=waited[-1]))
        assert attempt(ada, "ada") == "wrong"
    assert [round(wait) for wait in waited[:6]] == [0, 0, 0, 2, 4, 8] and round(waited[-1]) == 300
    with pytest.raises(TooManyAttempts, match="Wait 300 s"):
        people.sign_in(ada, "ada", SECRET, ADDRESS)
    set_back(ada, timedelta(days=-2))  # the clock was set back by two days
    assert attempt(ada, "ada") == "wrong"
    with pytest.raises(TooManyAttempts, match="Wait 300 s"):
        people.sign_in(ada, "ada", SECRET, ADDRESS)
    set_back(ada, timedelta(seconds=301))
    assert attempt(ada, "ada", SECRET) == "in"
    assert [attempt(ada, "ada") for _ in range(4)] == ["wrong", "wrong", "wrong", "wait"]


def test_attempts_are_counted_for_a_name_however_it_is_written(ada: Store) -> None:
    people.add(ada, "Zoë", Role.LABELLER, SECRET)
    names = ("Zoë", unicodedata.normalize("NFD", "Zoë"), " Zoë\u200b ")
    assert [attempt(ada, name) for name in names] == ["wrong"] * 3
    assert attempt(ada, "Zoë", SECRET) == "wait" and attempt(ada, "ada", SECRET) == "in"


def test_an_address_that_tries_many_names_waits_and_others_do_not(ada: Store) -> None:
    assert {attempt(ada, f"name {number}") for number in range(49)} == {"wrong"}
    assert attempt(ada, "ada", SECRET) == "in"  # a success counts as no failure
    assert [attempt(ada, f"name {number}") for number in (50, 51)] == ["wrong", "wait"]
    assert attempt(ada, "ada", SECRET) == "wait"
    assert attempt(ada, "ada", SECRET, "192.0.2.8") == "in"


def guess(store: Store, folder: str, number: int) -> None:
    """Enter 20 wrong passwords for one name, and write down how many were checked."""
    passwords.HASHER = passwords.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    outcomes = [attempt(store, "ada") for _ in range(20)]
    Path(folder, f"{number}.txt").write_text(str(outcomes.count("wrong")), encoding="utf-8")


def test_two_processes_share_the_limit(ada: Store, tmp_path: Path) -> None:
    assert at_once(*((guess, ada, str(tmp_path), number) for number in range(2))) == []
    checked = sum(int(file.read_text(encoding="utf-8")) for file in tmp_path.glob("*.txt"))
    assert 3 <= checked <= 4  # the fourth may have waited its two seconds on a slow machine


@pytest.mark.parametrize("change", ["password", "remove"])
def test_a_password_that_is_being_checked_while_it_is_taken_away_opens_nothing(
    ada: Store, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    people.add(ada, "eve", Role.ADMIN, SECRET)

    def slow(password: str, hashed: str | None) -> bool:
        if change == "password":
            people.set_password(ada, "eve", "another password")
        else:
            people.remove(ada, "eve")
        return passwords.verify(password, hashed)

    monkeypatch.setattr(people, "verify", slow)
    assert attempt(ada, "eve", SECRET) == "wrong"


def aged(store: Store, age: timedelta, unused: timedelta) -> str:
    """Return a session that began ``age`` ago and was last used ``unused`` ago."""
    token = people.sign_in(store, "ada", SECRET, ADDRESS)
    with store.writing() as w:
        newest = sa.select(sa.func.max(tables.session.c.created)).scalar_subquery()
        own = tables.session.update().where(tables.session.c.created == newest)
        w.people.connection.execute(own.values(created=now() - age, seen=now() - unused))
    return token


def test_sessions_end_by_themselves(ada: Store) -> None:
    minute, settings = timedelta(minutes=1), ada.settings
    idle, limit = settings.session_idle, settings.session_limit
    assert session_of(ada, aged(ada, idle + minute, idle + minute)) is None
    assert session_of(ada, aged(ada, limit + minute, minute)) is None
    used = aged(ada, limit - minute, idle - minute)
    session = session_of(ada, used)
    people.keep_alive(ada, used, session)
    again = session_of(ada, used)
    assert (session.person, now() - again.seen < minute, now() - again.created > limit - 2 * minute) == (
        "ada",
        True,
        True,
    )
    with ada.reading() as r:
        count = sa.select(sa.func.count()).select_from(tables.session)
        assert r.people.connection.scalar(count) == 1  # each sign-in removed those that had ended


def test_the_limits_are_settings(ada: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    token = aged(ada, timedelta(hours=3), timedelta(hours=2))
    for variable, hours, lives in [("IDLE", "1", False), ("IDLE", "3", True), ("LIMIT", "2", False)]:
        monkeypatch.setenv(f"THEMESCOPE_SESSION_{variable}", hours)
        settings = Settings.from_environment()
        with ada.reading() as r:
            assert (r.sessions.find(token, settings) is not None) is lives


@pytest.mark.parametrize(
    ("change", "ends"),
    [
        (lambda s, token: people.sign_out(s, token), True),
        (lambda s, token: people.set_password(s, "eve", "another password"), True),
        (lambda s, token: people.set_role(s, "eve", Role.ADMIN), True),
        (lambda s, token: people.set_role(s, "eve", Role.VIEWER), False),
        (lambda s, token: people.remove(s, "eve"), True),
        (lambda s, token: people.set_password(s, "ada", "another password"), False),
    ],
)
def test_sessions_end_when_their_person_signs_out_or_changes(ada: Store, change: object, ends: bool) -> None:
    people.add(ada, "eve", Role.VIEWER, SECRET)
    token, other = (people.sign_in(ada, "eve", SECRET, ADDRESS) for _ in range(2))
    change(ada, token)  # type: ignore[operator]
    assert (session_of(ada, token) is None) is ends
    everywhere = ends and "sign_out" not in change.__code__.co_names  # type: ignore[attr-defined]
    assert (session_of(ada, other) is None) is everywhere


def test_a_name_that_was_entered_is_no_sign_in(ada: Store) -> None:
    people.remember_name(ada, "token", "  ada ")
    session = session_of(ada, "token")
    assert session is not None and (session.person, session.method) == ("ada", SignInMethod.NAME)
    assert people.sign_out(ada, "token") is None and session_of(ada, "token") is not None
    people.set_password(ada, "ada", "another password")
    assert session_of(ada, "token") is not None
    people.remember_name(ada, "token", "")
    assert session_of(ada, "token") is None and session_of(ada, "") is None
