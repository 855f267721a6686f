"""Accounts: the command line, one transaction for each change, names in stored form, the audit log."""

import json
import threading
import unicodedata
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from tests.contracts.test_actions import content
from themescope.core.errors import AccessError, ConfigError, DataError, StoreError, ThemescopeError
from themescope.core.records.stored import Role
from themescope.db.records import SignInMethod
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.services import people

SECRET = "correct horse battery"
pytestmark = pytest.mark.usefixtures("cheap_passwords")


def call(*args: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, ["people", *args], input=stdin)


def listed(store: Store) -> dict[str, tuple[Role, SignInMethod | None]]:
    return {member.person.name: (member.person.role, member.login) for member in people.members(store)}


def test_people_are_added_changed_listed_and_removed(sqlite_store: Store) -> None:
    assert "with the role admin" in call("add", " Ada  Lovelace ", "--role", "admin", stdin=SECRET + "\n").stdout
    assert call("add", "ben@example.org", "--oidc").exit_code == 0
    rows = json.loads(call("list", "--json").stdout)["people"]
    assert [(r["name"], r["role"], r["signs in by"]) for r in rows] == [
        ("Ada Lovelace", "admin", "password"),
        ("ben@example.org", "labeller", "organisation"),
    ]
    assert call("change", "ben@example.org", "--role", "viewer").exit_code == 0
    assert "was changed" in call("change", "Ada Lovelace", "--password", stdin="another password\n").stdout
    assert call("remove", "ben@example.org").exit_code == 0
    assert listed(sqlite_store) == {"Ada Lovelace": (Role.ADMIN, SignInMethod.PASSWORD)}
    events = json.loads(call("list", "--log", "9", "--json").stdout)["events"]
    assert [(e["action"], e["account"], e["detail"]) for e in events] == [
        ("account removed", "ben@example.org", ""),
        ("password changed", "Ada Lovelace", ""),
        ("role changed", "ben@example.org", "labeller → viewer"),
        ("account added", "ben@example.org", "labeller"),
        ("account added", "Ada Lovelace", "admin"),
    ]


@pytest.mark.usefixtures("sqlite_store")
@pytest.mark.parametrize(
    ("args", "stdin", "said"),
    [
        (("add", "ada"), "", "Standard input has no password"),
        (("add", "ada"), "short\n", "10 to 1,000 characters"),
        (("add", " \u202e "), SECRET, "Enter a name"),
        (("change", "ada", "--password"), SECRET, "no person who may sign in called 'ada'"),
        (("remove", "ada"), "", "no person called 'ada'"),
        (("change", "ada"), "", "Give --role or --password"),
        (("token", "ada"), "", "Give either PERSON and NAME"),
    ],
)
def test_what_makes_no_sense_is_refused(args: tuple[str, ...], stdin: str, said: str) -> None:
    result = call(*args, stdin=stdin)
    assert result.exit_code == 2
    assert said in result.stderr


@pytest.mark.usefixtures("sqlite_store")
def test_a_password_in_no_encoding_is_refused_in_a_sentence() -> None:
    result = CliRunner().invoke(main, ["people", "add", "ada"], input=b"\xff\xfe password \xff\n")
    assert result.exit_code == 2 and "UTF-8" in result.stderr


def test_nobody_is_added_twice_and_one_admin_stays(store: Store) -> None:
    people.add(store, "ada", Role.ADMIN, SECRET)
    people.add(store, "ben", Role.VIEWER, SECRET)
    before = content(store)
    with pytest.raises(DataError, match="can sign in already"):
        people.add(store, "ben", Role.ADMIN, SECRET)
    for change in (people.remove, _make_viewer):
        with pytest.raises(StoreError, match="This is the only admin"):
            change(store, "ada")
    assert content(store) == before


def _make_viewer(store: Store, name: str) -> None:
    people.set_role(store, name, Role.VIEWER)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: people.add(s, "new", Role.ADMIN, SECRET),
        lambda s: people.set_password(s, "eve", "another password"),
        lambda s: people.set_role(s, "eve", Role.VIEWER),
        lambda s: people.remove(s, "eve"),
        lambda s: people.sign_in_by_organisation(s, "eve@example.org"),
    ],
)
def test_a_change_is_made_with_its_audit_event_or_not_at_all(
    store: Store, monkeypatch: pytest.MonkeyPatch, change: Callable[[Store], object]
) -> None:
    for name in ("ada", "eve"):
        people.add(store, name, Role.ADMIN, SECRET)
    people.add(store, "eve@example.org", Role.LABELLER, None)
    token = people.sign_in(store, "eve", SECRET, "")
    before = content(store)

    def broken(*_: object) -> None:
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("themescope.db.repositories.people.AuditLog.add", broken)
        with pytest.raises(RuntimeError, match="the disk is full"):
            change(store)
    assert content(store) == before
    assert people.session_of(store, token) is not None
    change(store)
    assert content(store) != before


def test_people_who_are_added_at_once_are_all_there(store: Store) -> None:
    names = [f"p{number}" for number in range(6)]
    threads = [threading.Thread(target=people.add, args=(store, n, Role.ADMIN, SECRET)) for n in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(listed(store)) == names


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


def test_roles_and_passwords_go_to_the_name_as_it_is_stored(sqlite_store: Store) -> None:
    people.add(sqlite_store, "Ada Lovelace", Role.ADMIN, SECRET)
    people.add(sqlite_store, "eve", Role.VIEWER, SECRET)
    people.set_role(sqlite_store, "  eve ", Role.ADMIN)
    people.set_role(sqlite_store, " new  one ", Role.VIEWER)
    people.set_password(sqlite_store, " Ada  Lovelace ", "another password")
    people.remove(sqlite_store, " eve ")
    assert listed(sqlite_store) == {"Ada Lovelace": (Role.ADMIN, SignInMethod.PASSWORD), "new one": (Role.VIEWER, None)}
    with pytest.raises(ThemescopeError, match="Enter a name"):
        people.set_role(sqlite_store, " \u202e ", Role.ADMIN)


def test_a_letter_with_an_accent_is_one_letter_however_it_is_written(sqlite_store: Store) -> None:
    composed, taken_apart = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))
    secret = "pässwörter, mehrere"
    assert people.add(sqlite_store, taken_apart, Role.ADMIN, unicodedata.normalize("NFD", secret)) == composed
    for name in (composed, taken_apart):
        for form in ("NFC", "NFD"):
            assert people.sign_in(sqlite_store, name, unicodedata.normalize(form, secret), "")


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
    session = people.session_of(sqlite_store, people.sign_in_by_organisation(sqlite_store, "ada@example.org"))
    assert session is not None
    assert (session.person, session.method) == ("ada@example.org", SignInMethod.ORGANISATION)
    for name in ("mallory@example.org", "ben", ""):
        with pytest.raises(AccessError, match="has no account"):
            people.sign_in_by_organisation(sqlite_store, name)
