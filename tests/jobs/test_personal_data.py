"""Forgetting a person leaves no trace of the name and changes no partition; exporting writes everything about them."""

import json
import os
import stat
import zipfile
from pathlib import Path

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
from themescope.db.personal_data import Replacement, person_columns
from themescope.db.records import NewLabelling, Verdict
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.accounts import people
from themescope.jobs.services.accounts.personal_data import Forgotten, export, find_traces, forget
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
    run_here(store, "export-bundle", {"corpus": "demo"}, quiet=True)
    (store.settings.home / "bundles" / "note.txt").write_text(f"{OTHER}, {json.dumps(OTHER)}", encoding="utf-8")
    return session


def work(session: LabellingSession, name: str, first: int) -> None:
    ids = session.partition.ids[first : first + 4]
    session.do(op.create(session.partition, session.next_number, name, ids), "because", "lasso")


def dumped(store: Store) -> str:
    """Every row of every table, in decoded form."""
    with store.reading() as r:
        connection = r.people.connection
        return "\n".join(str(row) for table in metadata.sorted_tables for row in connection.execute(sa.select(table)))


def contents(home: Path) -> bytes:
    """Every byte of every file, also of the parts of archives."""
    data = []
    for path in home.rglob("*"):
        if path.is_file():
            data += [str(path).encode(), path.read_bytes()]
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    data += [archive.read(name) for name in archive.namelist()]
    return b"\n".join(data)


def test_nothing_is_left_of_a_name_and_labels_stay(store: Store) -> None:
    session = fill(store)
    opened = LabellingSession(store, session.record.id, OTHER)
    before = {step: opened.at(step) for step in (0, *(step.id for step in opened.steps))}
    traces = find_traces(store, NAME)
    assert {"label_step.person", "labelling.name", "label.note", "label_event.new", "job.args", "saved_view.query"} <= {
        *traces.rows
    }
    assert len(traces.bundles) == 1 and not traces.corpora
    spelled = (NAME, NAME.upper(), json.dumps(NAME)[1:-1], "Grace+%C3%9Ctz", "Grace%20%C3%9Ctz")
    assert all(form in dumped(store) or form.encode() in contents(store.settings.home) for form in spelled)

    assert len([*(store.settings.home / "bundles").iterdir()]) == 2
    assert forget(store, NAME) == Forgotten("former-user-1", (), ())

    for form in (*spelled, NAME.encode("utf-16-le").decode("latin-1")):
        assert form not in dumped(store).replace(OTHER, "")
        left = contents(store.settings.home).replace(OTHER.encode(), b"").replace(json.dumps(OTHER)[1:-1].encode(), b"")
        assert form.encode() not in left
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
        forget(store, NAME)
    assert forget(store, OTHER).pseudonym == "former-user-2"


def test_texts_can_be_kept(sqlite_store: Store) -> None:
    session = fill(sqlite_store)
    assert "label.note" not in find_traces(sqlite_store, NAME, texts=False).rows
    forget(sqlite_store, NAME, texts=False)
    after = LabellingSession(sqlite_store, session.record.id, "ada")
    assert after.record.name == f"Themes of {NAME}" and after.record.owner == "former-user-1"
    with sqlite_store.reading() as r:
        assert r.triplets.by_name("set").config == {"people": ["former-user-1", OTHER]}


def test_texts_of_corpora_and_other_files_are_named(sqlite_store: Store) -> None:
    people.add(sqlite_store, "Article", Role.LABELLER, None)
    add_corpus(sqlite_store)
    upload = sqlite_store.settings.home / "uploads" / "x" / "a.txt"
    upload.parent.mkdir(parents=True)
    upload.write_text("An article.", encoding="utf-8")
    shown = call("people", "remove", "Article", "--forget", "--yes")
    assert shown.exit_code == 0 and str(upload) in shown.stdout
    assert "Texts of corpora with the name, not changed: 65." in shown.stdout
    with sqlite_store.reading() as r:
        assert r.corpora.articles(1)[0].title == "Article 0"


def test_who_cannot_be_forgotten(sqlite_store: Store) -> None:
    people.add(sqlite_store, "ada", Role.ADMIN, None)
    people.add(sqlite_store, "ben", Role.LABELLER, None)
    for name in ("nobody", "", "  "):
        with pytest.raises(UnknownNameError):
            forget(sqlite_store, name)
    with pytest.raises(StoreError, match="only admin"):
        forget(sqlite_store, "ada")
    with sqlite_store.writing() as w:
        job = w.jobs.add("clean-triplets", "", {"people": ["ben"]})
        w.jobs.claim(job.id, "worker")
    with pytest.raises(DataError, match=r"Job 1 .* is running and names ben"):
        forget(sqlite_store, "ben")
    assert {person.person.name for person in people.members(sqlite_store)} == {"ada", "ben"}


def test_the_commands(sqlite_store: Store, tmp_path: Path) -> None:
    people.add(sqlite_store, "ben", Role.LABELLER, None)
    shown = call("people", "remove", "ben", "--forget")
    assert shown.exit_code == 130 and "person.name" in shown.stderr
    assert find_traces(sqlite_store, "ben").rows
    assert call("people", "export", "ben", tmp_path / "ben.json").stdout.startswith("3 rows of ben")
    assert call("people", "remove", "ben", "--forget", "--yes").stdout.startswith("ben is now former-user-1.")


def test_an_export_has_everything_but_secrets(store: Store, tmp_path: Path) -> None:
    fill(store)
    file = tmp_path / "grace.json"
    counts = export(store, NAME, file)
    found = json.loads(file.read_text(encoding="utf-8"))
    tables = found["tables"]
    assert {table: len(rows) for table, rows in tables.items()} == counts
    assert counts["label_step"] == 4 and counts["label_event"] > 4 and counts["session"] == 1
    assert found["signs in by"] == "password" and found["rows with the name"]["label.note"] == 2
    assert [row["name"] for row in tables["labelling"]] == [f"Themes of {NAME}"]
    assert all(row.get("person", NAME) == NAME for rows in tables.values() for row in rows)
    assert "token_hash" not in tables["session"][0] and "argon2" not in file.read_text(encoding="utf-8")
    assert os.name != "posix" or stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(DataError, match="exists already"):
        export(store, NAME, file)


def test_every_column_that_names_a_person_is_known() -> None:
    """A new one is either called ``person`` or listed in ``themescope.db.personal_data``."""
    assert {f"{column.table.name}.{column.name}" for column in person_columns()} >= {
        "person.name", "labelling.owner", "label_step.person", "label_presence.person", "session.person",
        "login.person", "audit_event.person",
        "triplet_review.person", "saved_view.person",
    }  # fmt: skip


WORDS = ["ana", "Ana", "anab", "ana-b", "x", "«ana»", "ana lopez", "Ana%20lopez", ", "]


@given(st.lists(st.sampled_from(WORDS), max_size=8))
def test_replacing_finds_every_whole_word_and_nothing_else(words: list[str]) -> None:
    text = " ".join(words)
    replaced = Replacement("ana", "P", ["ana lopez", "ben"]).text(text)
    expected = {"ana": "P", "Ana": "P", "ana-b": "P-b", "«ana»": "«P»", "Ana%20lopez": "P%20lopez"}
    assert replaced.replace(" lopez", "") == " ".join(expected.get(word, word) for word in words).replace(" lopez", "")
    assert Replacement("ana", "P", texts=False).value({"ana": [text, "ana", 1, None]}) == {
        "P": ["P" if text == "ana" else text, "P", 1, None]
    }
