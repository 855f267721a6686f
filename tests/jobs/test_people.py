"""Accounts, their tokens and their end: commands, one transaction for each change, stored names, the audit log."""

import json
import threading
import unicodedata
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from tests.contracts.test_actions import content
from tests.db.texts import add_corpus
from themescope.core.errors import AccessError, ConfigError, DataError, DuplicateNameError, StoreError, UnknownNameError
from themescope.core.labelling import operations as op
from themescope.core.records.stored import JobStatus, Role, Sharing
from themescope.core.types import Split, TripletRows
from themescope.db import tables as t
from themescope.db.records import NewLabelling, SignInMethod, Verdict
from themescope.db.repositories.people import Replacement
from themescope.db.sql import now
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs.cli.main import main
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import people
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.people import TooManyAttempts, sign_in

SECRET = "correct horse battery"
pytestmark = pytest.mark.usefixtures("cheap_passwords")


def call(*args: str, stdin: str | bytes = "") -> Result:
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
        (("add", "ada"), b"\xff\xfe password \xff\n", "UTF-8"),
        (("add", " \u202e "), SECRET, "Enter a name"),
        (("change", "ada", "--password"), SECRET, "no person who may sign in called 'ada'"),
        (("remove", "ada"), "", "no person called 'ada'"),
        (("change", "ada"), "", "Give --role or --password"),
        (("token", "ada"), "", "Give either PERSON and NAME"),
    ],
)
def test_what_makes_no_sense_is_refused(args: tuple[str, ...], stdin: str | bytes, said: str) -> None:
    result = call(*args, stdin=stdin)
    assert result.exit_code == 2 and said in result.stderr


def test_nobody_is_added_twice_and_one_admin_stays(store: Store) -> None:
    people.add(store, "ada", Role.ADMIN, SECRET)
    people.add(store, "ben", Role.VIEWER, SECRET)
    before = content(store)
    with pytest.raises(DataError, match="can sign in already"):
        people.add(store, "ben", Role.ADMIN, SECRET)
    with pytest.raises(StoreError, match="This is the only admin"):
        people.remove(store, "ada")
    with pytest.raises(StoreError, match="This is the only admin"):
        people.set_role(store, "ada", Role.VIEWER)
    assert content(store) == before


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
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: people.add(store, name, Role.ADMIN, SECRET), names))
    assert sorted(listed(store)) == names


def test_two_admins_cannot_put_each_other_out(store: Store) -> None:
    gate = threading.Barrier(2)

    def turns(name: str, by: str) -> bool:
        gate.wait()
        try:
            people.set_role(store, name, Role.VIEWER, by)
        except StoreError:
            return False
        return True

    for _ in range(5):
        for name in ("ada", "eve"):
            people.set_role(store, name, Role.ADMIN)
        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(turns, ("ada", "eve"), ("eve", "ada"))) == [False, True]
        with store.reading() as r:
            assert len(r.people.admins()) == 1


def test_roles_and_passwords_go_to_the_name_as_it_is_stored(sqlite_store: Store) -> None:
    people.add(sqlite_store, "Ada Lovelace", Role.ADMIN, SECRET)
    people.add(sqlite_store, "eve", Role.VIEWER, SECRET)
    people.set_role(sqlite_store, "  eve ", Role.ADMIN)
    people.set_role(sqlite_store, " new  one ", Role.VIEWER)
    people.set_password(sqlite_store, " Ada  Lovelace ", "another password")
    people.remove(sqlite_store, " eve ")
    assert listed(sqlite_store) == {"Ada Lovelace": (Role.ADMIN, SignInMethod.PASSWORD), "new one": (Role.VIEWER, None)}
    with pytest.raises(DataError, match="Enter a name"):
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
    assert (session.person, session.method) == ("ada@example.org", SignInMethod.ORGANISATION)
    for name in ("mallory@example.org", "ben", ""):
        with pytest.raises(AccessError, match="has no account"):
            people.sign_in_by_organisation(sqlite_store, name)


@pytest.fixture
def accounts(sqlite_store: Store) -> Store:
    """A store with the accounts of an admin and a labeller."""
    for name, role in (("ada", Role.ADMIN), ("lea", Role.LABELLER)):
        people.add(sqlite_store, name, role, SECRET)
    return sqlite_store


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


def test_a_token_is_its_person_until_the_account_goes_and_only_its_hash_is_stored(accounts: Store) -> None:
    made = people.create(accounts, "lea", "notebook")
    for _ in range(2):
        assert people.actor_of(accounts, made.secret, "") == people_actor(accounts, "lea")
    with pytest.raises(AccessError):
        people.actor_of(accounts, made.secret + "x", "")
    accounts.close()
    secret = made.secret.removeprefix("themescope_").encode()
    assert len(secret) >= 43
    for path in accounts.settings.home.rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes(), path
    people.remove(accounts, "lea")
    with pytest.raises(AccessError):
        people.actor_of(accounts, made.secret, "")
    assert people.tokens_of(accounts) == []


WRONG: dict[str, tuple[Callable[[Store], object], type[Exception]]] = {
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


NAME, OTHER = "Grace Ütz", "Grace Ütz-Berg"


def fill(store: Store) -> LabellingSession:
    """Grace has an account, sessions, a labelling, reviews and views, and others wrote her name."""
    for name, role in ((NAME, Role.LABELLER), (OTHER, Role.LABELLER), ("ada", Role.ADMIN)):
        people.add(store, name, role, SECRET)
    people.sign_in(store, NAME, SECRET, "")
    corpus = add_corpus(store)
    new = NewLabelling(corpus.id, f"Themes of {NAME}", NAME, Sharing.SHARED)
    session = LabellingSession(store, starts.begin(store, new, starts.from_sections).id, NAME)
    work(session, f"{NAME}'s theme", 0)
    session.do(op.note(session.partition, session.partition.ids[:2], f"Ask {NAME.upper()} or {OTHER}."), f"({NAME})")
    session.undo()
    session.redo()
    other = LabellingSession(store, session.record.id, OTHER)
    work(other, f"{OTHER}'s theme", 6)
    with store.writing() as w:
        triplets = w.triplets.create(corpus.id, "set", "sentences", {"people": [NAME, OTHER]}, 0, "t1")
        columns = [np.array([1]), np.array([1]), np.array([2]), np.array([9])]
        w.triplets.add(triplets.id, Split.TRAIN, TripletRows(np.zeros(1, int), *columns))
        w.triplets.finish(triplets.id, {})
        for person in (NAME, OTHER):
            w.reviews.add(triplets.id, 1, person, Verdict.BAD, f"Says {NAME}.")
        w.views.add("map", f"For {NAME}", "person=Grace+%C3%9Ctz&x=Grace%20%C3%9Ctz", OTHER)
        w.people.heartbeat(session.record.id, NAME, "s1")
        job = w.jobs.add("clean-triplets", f"Triplets of {NAME}", {"people": [NAME]})
        w.jobs.claim(job.id, "worker")
        w.jobs.finish(job.id, "worker", JobStatus.FAILED, error=f"{NAME} reviewed nothing.")
    return session


def work(session: LabellingSession, name: str, first: int) -> None:
    ids = session.partition.ids[first : first + 4]
    session.do(op.create(session.partition, session.next_number, name, ids), "because", "lasso")


def dumped(store: Store) -> str:
    """Every row of every table, in decoded form."""
    with store.reading() as r:
        connection = r.people.connection
        return "\n".join(str(row) for table in metadata.sorted_tables for row in connection.execute(sa.select(table)))


def test_nothing_is_left_of_a_name_and_labels_stay(store: Store) -> None:
    session = fill(store)
    opened = LabellingSession(store, session.record.id, OTHER)
    before = {step: opened.at(step) for step in (0, *(step.id for step in opened.steps))}
    spelled = (NAME, NAME.upper(), "Grace+%C3%9Ctz", "Grace%20%C3%9Ctz")
    assert all(form in dumped(store) for form in spelled)
    assert people.forget(store, NAME) == "former-user-1"
    assert not [form for form in spelled if form in dumped(store).replace(OTHER, "")]
    assert [member.person.name for member in people.members(store) if member.login] == [OTHER, "ada"]
    after = LabellingSession(store, session.record.id, OTHER)
    assert after.record.owner == "former-user-1" and after.record.name == "Themes of former-user-1"
    for step, old in before.items():
        new = after.at(step)
        assert np.array_equal(old.numbers, new.numbers) and np.array_equal(old.uncertain, new.uncertain)
    assert [step.person for step in after.steps] == ["former-user-1"] * 4 + [OTHER]
    assert after.undo() and "Ask former-user-1 or Grace Ütz-Berg." in after.partition.notes.values()
    with store.reading() as r:
        assert {review.person for review in r.reviews.list(1)} == {"former-user-1", OTHER}
        assert r.views.list()[0].query == "person=former-user-1&x=former-user-1"
    # The history is complete: a bundle checks it when it is imported.
    file = store.settings.home / "again.zip"
    run_here(store, "export-bundle", {"corpus": "demo", "file": str(file)}, quiet=True)
    run_here(store, "import-bundle", {"file": str(file), "corpus": "copy"}, quiet=True)
    with pytest.raises(UnknownNameError):
        people.forget(store, NAME)
    assert people.forget(store, OTHER) == "former-user-2"


def test_who_cannot_be_forgotten(sqlite_store: Store) -> None:
    people.add(sqlite_store, "ada", Role.ADMIN, None)
    people.add(sqlite_store, "ben", Role.LABELLER, None)
    for name in ("nobody", "", "  "):
        with pytest.raises(UnknownNameError):
            people.forget(sqlite_store, name)
    with pytest.raises(StoreError, match="only admin"):
        people.forget(sqlite_store, "ada")
    with sqlite_store.writing() as w:
        job = w.jobs.add("clean-triplets", "", {"people": ["ben"]})
        w.jobs.claim(job.id, "worker")
    with pytest.raises(DataError, match=r"Job 1 .* is running and names ben"):
        people.forget(sqlite_store, "ben")
    assert {person.person.name for person in people.members(sqlite_store)} == {"ada", "ben"}


def test_the_command_asks_first(sqlite_store: Store) -> None:
    people.add(sqlite_store, "ben", Role.LABELLER, None)
    assert call("remove", "ben", "--forget").exit_code == 130
    assert [member.person.name for member in people.members(sqlite_store)] == ["ben"]
    assert call("remove", "ben", "--forget", "--yes").stdout.startswith("ben is now former-user-1.")


WORDS = ["ana", "Ana", "anab", "ana-b", "x", "«ana»", "ana lopez", "Ana%20lopez", ", "]


@given(st.lists(st.sampled_from(WORDS), max_size=8))
def test_replacing_finds_every_whole_word_and_nothing_else(words: list[str]) -> None:
    text = " ".join(words)
    replaced = Replacement("ana", "P", ["ana lopez", "ben"]).replaced(text)
    expected = {"ana": "P", "Ana": "P", "ana-b": "P-b", "«ana»": "«P»", "Ana%20lopez": "P%20lopez"}
    assert replaced.replace(" lopez", "") == " ".join(expected.get(word, word) for word in words).replace(" lopez", "")
    assert Replacement("ana", "P").value({"ana": [text, "ana", 1, None]})["P"][1:] == ["P", 1, None]
