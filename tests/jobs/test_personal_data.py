"""Forgetting a person leaves no trace of the name in the store and changes no partition."""

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from tests.db.texts import add_corpus
from tests.jobs.test_cli import call
from themescope.core.errors import DataError, StoreError, UnknownNameError
from themescope.core.labelling import operations as op
from themescope.core.records.stored import JobStatus, Role, Sharing
from themescope.core.types import Split, TripletRows
from themescope.db.records import NewLabelling, Verdict
from themescope.db.repositories.people import Replacement, person_columns
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import people
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

NAME, OTHER = "Grace Ütz", "Grace Ütz-Berg"
SECRET = "correct horse battery"
pytestmark = pytest.mark.usefixtures("cheap_passwords")


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
    assert call("people", "remove", "ben", "--forget").exit_code == 130
    assert [member.person.name for member in people.members(sqlite_store)] == ["ben"]
    assert call("people", "remove", "ben", "--forget", "--yes").stdout.startswith("ben is now former-user-1.")


def test_every_column_that_names_a_person_is_known() -> None:
    """A new one is either called ``person`` or listed in ``themescope.db.repositories.people``."""
    assert {f"{column.table.name}.{column.name}" for column in person_columns()} >= {
        "person.name", "labelling.owner", "label_step.person", "label_presence.person", "session.person",
        "login.person", "audit_event.person",
        "triplet_review.person", "saved_view.person",
    }  # fmt: skip


WORDS = ["ana", "Ana", "anab", "ana-b", "x", "«ana»", "ana lopez", "Ana%20lopez", ", "]


@given(st.lists(st.sampled_from(WORDS), max_size=8))
def test_replacing_finds_every_whole_word_and_nothing_else(words: list[str]) -> None:
    text = " ".join(words)
    replaced = Replacement("ana", "P", ["ana lopez", "ben"]).replaced(text)
    expected = {"ana": "P", "Ana": "P", "ana-b": "P-b", "«ana»": "«P»", "Ana%20lopez": "P%20lopez"}
    assert replaced.replace(" lopez", "") == " ".join(expected.get(word, word) for word in words).replace(" lopez", "")
    assert Replacement("ana", "P").value({"ana": [text, "ana", 1, None]})["P"][1:] == ["P", 1, None]
