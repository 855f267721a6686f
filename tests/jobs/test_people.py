"""Who may sign in: the command line, the file, wrong passwords, sessions."""

from __future__ import annotations

import json
import logging
import os
import stat
from datetime import timedelta

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from core.errors import AccessError, ConfigError, DataError, StoreError
from db import label_tables as t
from db import logins
from db.label_records import Role
from db.logins import Logins
from db.repositories.people import IDLE, LONGEST
from db.sql import now
from db.store import Store
from jobs.cli.main import main
from jobs.services import people

SECRET = "correct horse battery"


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "_LOG_N", 2)


def call(*args: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["people", *args], input=stdin)


def test_people_are_added_changed_listed_and_removed(sqlite_store: Store) -> None:
    assert "with the role admin" in call("add", " Ada  Lovelace ", "--role", "admin", stdin=SECRET + "\n").stdout
    assert call("add", "ben@example.org", "--oidc").exit_code == 0
    rows = json.loads(call("list", "--json").stdout)["people"]
    assert [(r["name"], r["role"], r["signs in by"]) for r in rows] == [
        ("Ada Lovelace", "admin", "password"),
        ("ben@example.org", "labeller", "organisation"),
    ]
    assert call("set-role", "ben@example.org", "viewer").exit_code == 0
    assert "was changed" in call("password", "Ada Lovelace", stdin="another password\n").stdout
    assert call("remove", "ben@example.org").exit_code == 0
    with sqlite_store.reading() as r:
        assert [(p.name, p.role) for p in r.people.list()] == [("Ada Lovelace", Role.ADMIN)]
    assert [*Logins(sqlite_store.settings.home).all()] == ["Ada Lovelace"]


@pytest.mark.usefixtures("sqlite_store")
@pytest.mark.parametrize(
    ("args", "stdin", "said"),
    [
        (("add", "ada"), "", "Standard input has no password"),
        (("add", "ada"), "short\n", "10 to 1,000 characters"),
        (("add", " \u202e "), SECRET, "Enter a name"),
        (("password", "ada"), SECRET, "no person who may sign in called 'ada'"),
        (("remove", "ada"), "", "no person called 'ada'"),
    ],
)
def test_what_makes_no_sense_is_refused(args: tuple[str, ...], stdin: str, said: str) -> None:
    result = call(*args, stdin=stdin)
    assert result.exit_code == 2
    assert said in result.stderr


def test_nobody_is_added_twice_and_one_admin_stays(sqlite_store: Store) -> None:
    people.add(sqlite_store, "ada", Role.ADMIN, SECRET)
    people.add(sqlite_store, "ben", Role.VIEWER, SECRET)
    with pytest.raises(DataError, match="can sign in already"):
        people.add(sqlite_store, "ada", Role.VIEWER, SECRET)
    for change in (people.remove, _make_viewer):
        with pytest.raises(StoreError, match="This is the only admin"):
            change(sqlite_store, "ada")


def _make_viewer(store: Store, name: str) -> None:
    people.set_role(store, name, Role.VIEWER)


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no modes")
def test_the_file_is_its_owners_alone(sqlite_store: Store) -> None:
    people.add(sqlite_store, "ada", Role.ADMIN, SECRET)
    path = Logins(sqlite_store.settings.home).path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert SECRET not in path.read_text(encoding="utf-8")
    assert [p.name for p in path.parent.glob("logins*")] == ["logins.json"]
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        Logins(sqlite_store.settings.home).all()


def test_a_damaged_file_lets_nobody_in(sqlite_store: Store) -> None:
    people.add(sqlite_store, "ada", Role.ADMIN, SECRET)
    logins = Logins(sqlite_store.settings.home)
    for text in ("{", "[]", '{"version": 2, "people": {}}', '{"version": 1, "people": {"ada": null}}'):
        logins.path.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match="is damaged"):
            people.sign_in(sqlite_store, "ada", SECRET, people.Attempts())


def test_a_wrong_password_and_an_unknown_name_are_told_alike(
    sqlite_store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    people.add(sqlite_store, "ada", Role.ADMIN, SECRET)
    people.add(sqlite_store, "eve", Role.ADMIN, None)
    with caplog.at_level(logging.DEBUG):
        for name, password in (("ada", "wrong password"), ("nobody", SECRET), ("eve", ""), ("eve", SECRET)):
            with pytest.raises(AccessError, match="Wrong name or password"):
                people.sign_in(sqlite_store, name, password, people.Attempts())
        token = people.sign_in(sqlite_store, " ada ", SECRET, people.Attempts())
    kept_hashes = filter(None, Logins(sqlite_store.settings.home).all().values())
    for secret in (SECRET, "wrong password", token, *kept_hashes):
        assert secret not in caplog.text
    with sqlite_store.reading() as r:
        assert r.sign_ins.person(token)[0] == "ada"  # type: ignore[index]
        assert next(p for p in r.people.list() if p.name == "ada").seen is not None
        kept = r.people.connection.execute(sa.select(t.sign_in.c.token)).scalar_one()
    assert token not in kept


def test_who_is_wrong_again_and_again_waits_longer_and_longer(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.add(sqlite_store, "ada", Role.ADMIN, SECRET)
    clock, attempts, waited = [1_000.0], people.Attempts(), []
    monkeypatch.setattr(people.time, "monotonic", lambda: clock[0])
    for _ in range(14):
        waited.append(attempts.wait_s("ada", clock[0]))
        clock[0] += waited[-1]
        with pytest.raises(AccessError, match="Wrong name"):
            people.sign_in(sqlite_store, "ada", "wrong password", attempts)
    assert waited[:6] == [0, 0, 0, 2, 4, 8] and waited[-1] == 300
    with pytest.raises(AccessError, match="Wait 300 s"):
        people.sign_in(sqlite_store, "ada", SECRET, attempts)
    clock[0] += 300
    people.sign_in(sqlite_store, "ada", SECRET, attempts)
    assert attempts.wait_s("ada", clock[0]) == 0


def test_sessions_end(store: Store) -> None:
    people.add(store, "ada", Role.ADMIN, SECRET)
    people.add(store, "eve", Role.ADMIN, SECRET)

    def opened(age: timedelta, unused: timedelta) -> str:
        with store.writing() as w:
            token = w.sign_ins.open("ada")
            own = (
                t.sign_in.c.token
                == w.people.connection.execute(
                    sa.select(t.sign_in.c.token).order_by(t.sign_in.c.created.desc()).limit(1)
                ).scalar_one()
            )
            values = {"created": now() - age, "seen": now() - unused}
            w.people.connection.execute(t.sign_in.update().where(own).values(**values))
        return token

    def alive(token: str) -> bool:
        with store.reading() as r:
            return r.sign_ins.person(token) is not None

    minute = timedelta(minutes=1)
    assert not alive(opened(IDLE + minute, IDLE + minute))
    assert not alive(opened(LONGEST + minute, minute))
    fresh = opened(IDLE - minute, IDLE - minute)
    assert alive(fresh)
    with store.writing() as w:
        w.sign_ins.touch(fresh)
        w.sign_ins.close(fresh)
    assert not alive(fresh) and not alive("made up")
    token = people.sign_in(store, "ada", SECRET, people.Attempts())
    people.set_password(store, "ada", "another password")
    assert not alive(token)
    token = people.sign_in(store, "ada", "another password", people.Attempts())
    people.remove(store, "ada")
    assert not alive(token)
    with pytest.raises(AccessError):
        people.sign_in(store, "ada", "another password", people.Attempts())


def test_sharing_needs_an_admin_who_can_sign_in(sqlite_store: Store) -> None:
    def check(oidc: bool = False) -> None:
        people.check_sharing(sqlite_store, oidc, "0.0.0.0")

    with pytest.raises(ConfigError, match="nobody can sign in yet"):
        check()
    people.add(sqlite_store, "lea", Role.LABELLER, SECRET)
    with pytest.raises(ConfigError, match="no admin can sign in yet"):
        check()
    people.add(sqlite_store, "ada@example.org", Role.ADMIN, None)
    with pytest.raises(ConfigError, match="no admin can sign in yet"):
        check()
    check(oidc=True)
    people.set_role(sqlite_store, "lea", Role.ADMIN)
    check()


def test_an_organisation_vouches_only_for_those_who_were_let_in(sqlite_store: Store) -> None:
    people.add(sqlite_store, "ada@example.org", Role.ADMIN, None)
    people.add(sqlite_store, "ben", Role.ADMIN, SECRET)
    assert people.admitted(sqlite_store, "ada@example.org") == "ada@example.org"
    for name in ("mallory@example.org", "ben", ""):
        with pytest.raises(AccessError, match="has no account"):
            people.admitted(sqlite_store, name)
