"""Who may sign in, when two things happen at once, a step fails, or a name is written in another way."""

from __future__ import annotations

import json
import threading
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from core.errors import AccessError, ConfigError, StoreError, ThemescopeError
from db import logins
from db.label_records import Role
from db.logins import Logins
from db.store import Store
from jobs.cli.main import main
from jobs.services import people
from tests.jobs.test_people import SECRET, call


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "_LOG_N", 2)


@pytest.mark.parametrize("change", ["password", "remove"])
def test_a_password_that_is_being_checked_while_it_is_taken_away_opens_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    people.add(store, "ada", Role.ADMIN, SECRET)
    people.add(store, "eve", Role.ADMIN, SECRET)

    def slow(password: str, hashed: str | None) -> bool:
        if change == "password":
            people.set_password(store, "eve", "another password")
        else:
            people.remove(store, "eve")
        return logins.verify(password, hashed)

    monkeypatch.setattr(people, "verify", slow)
    with pytest.raises(AccessError, match="Wrong name or password"):
        people.sign_in(store, "eve", SECRET, people.Attempts())
    with store.reading() as r:
        assert ("eve" in [p.name for p in r.people.list()]) is (change == "password")


def test_people_who_are_added_at_once_are_all_there(store: Store) -> None:
    names = [f"p{number}" for number in range(6)]
    threads = [threading.Thread(target=people.add, args=(store, n, Role.ADMIN, SECRET)) for n in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(Logins(store.settings.home).all()) == names


def test_two_admins_cannot_put_each_other_out(store: Store) -> None:
    for _ in range(5):
        for name in ("ada", "eve"):
            people.set_role(store, name, Role.ADMIN)
        gate, refused = threading.Barrier(2), []

        def turn(name: str, by: str, gate: threading.Barrier = gate, refused: list[str] = refused) -> None:
            gate.wait()
            try:
                people.set_role(store, name, Role.VIEWER, by)
            except StoreError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=turn, args=pair) for pair in (("ada", "eve"), ("eve", "ada"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with store.reading() as r:
            assert len(r.people.admins()) == 1 and len(refused) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda s: people.add(s, "new", Role.ADMIN, SECRET),
        lambda s: people.set_password(s, "eve", "another password"),
        lambda s: people.remove(s, "eve"),
    ],
)
def test_a_file_that_cannot_be_written_changes_nothing(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch, change: Callable[[Store], object]
) -> None:
    for name in ("ada", "eve"):
        people.add(sqlite_store, name, Role.ADMIN, SECRET)
    token = people.sign_in(sqlite_store, "eve", SECRET, people.Attempts())

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("db.logins.os.replace", full)
        with pytest.raises(ConfigError, match=r"cannot be written \(No space left on device\)"):
            change(sqlite_store)
    with sqlite_store.reading() as r:
        assert r.people.admins() == ["ada", "eve"] and r.sign_ins.person(token) is not None
    assert [p.name for p in sqlite_store.settings.home.glob("logins*")] == ["logins.json"]


def test_a_file_that_cannot_be_read_is_told(sqlite_store: Store) -> None:
    path = Logins(sqlite_store.settings.home).path
    path.mkdir()
    path.chmod(0o700)
    with pytest.raises(ConfigError, match="cannot be read"):
        Logins(sqlite_store.settings.home).all()


def test_who_is_in_the_file_alone_is_seen_and_can_be_removed(sqlite_store: Store) -> None:
    people.add(sqlite_store, "ada", Role.ADMIN, SECRET)
    Logins(sqlite_store.settings.home).put("ghost", logins.hash_password(SECRET))
    rows = json.loads(call("list", "--json").stdout)["people"]
    assert [(r["name"], r["role"], r["signs in by"]) for r in rows] == [
        ("ada", "admin", "password"),
        ("ghost", "labeller", "password"),
    ]
    assert call("remove", "ghost").exit_code == 0
    assert [*Logins(sqlite_store.settings.home).all()] == ["ada"]


def test_a_letter_with_an_accent_is_one_letter_however_it_is_written(sqlite_store: Store) -> None:
    composed, taken_apart = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))
    secret = "pässwörter, mehrere"
    assert people.add(sqlite_store, taken_apart, Role.ADMIN, unicodedata.normalize("NFD", secret)) == composed
    for name in (composed, taken_apart):
        for form in ("NFC", "NFD"):
            assert people.sign_in(sqlite_store, name, unicodedata.normalize(form, secret), people.Attempts())


def test_roles_and_passwords_go_to_the_name_as_it_is_stored(sqlite_store: Store) -> None:
    people.add(sqlite_store, "Ada Lovelace", Role.ADMIN, SECRET)
    people.add(sqlite_store, "eve", Role.VIEWER, SECRET)
    people.set_role(sqlite_store, "  eve ", Role.ADMIN)
    people.set_role(sqlite_store, " new  one ", Role.VIEWER)
    people.set_password(sqlite_store, " Ada  Lovelace ", "another password")
    people.remove(sqlite_store, " eve ")
    with sqlite_store.reading() as r:
        assert [(p.name, p.role) for p in r.people.list()] == [
            ("Ada Lovelace", Role.ADMIN),
            ("new one", Role.VIEWER),
        ]
    for name in (" \u202e ",):
        with pytest.raises(ThemescopeError, match="Enter a name"):
            people.set_role(sqlite_store, name, Role.ADMIN)


@pytest.mark.usefixtures("sqlite_store")
def test_a_password_in_no_encoding_is_refused_in_a_sentence() -> None:
    result = CliRunner().invoke(main, ["people", "add", "ada"], input=b"\xff\xfe password \xff\n")
    assert result.exit_code == 2 and "UTF-8" in result.stderr


def test_attempts_are_counted_for_a_name_however_it_is_written(sqlite_store: Store) -> None:
    people.add(sqlite_store, "Zoë", Role.ADMIN, SECRET)
    attempts = people.Attempts()
    for name in ("Zoë", unicodedata.normalize("NFD", "Zoë"), " Zoë\u200b "):
        with pytest.raises(AccessError, match="Wrong name"):
            people.sign_in(sqlite_store, name, "wrong password", attempts)
    with pytest.raises(AccessError, match="Too many"):
        people.sign_in(sqlite_store, "Zoë", SECRET, attempts)


def test_a_session_that_is_over_enters_nobody_anew(sqlite_store: Store, tmp_path: Path) -> None:
    people.add(sqlite_store, "ada", Role.ADMIN, SECRET)
    people.add(sqlite_store, "eve", Role.VIEWER, SECRET)
    token = people.sign_in(sqlite_store, "eve", SECRET, people.Attempts())
    people.remove(sqlite_store, "eve")
    with sqlite_store.writing() as w:
        assert w.sign_ins.touch(token) is False
