"""The Codebook page: what is written is stored, and nothing typed by a person is obeyed."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import HOSTILE, of_sections
from tests.webapp.hands import Open, field, press, words_of
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import CodebookEntry, entry_of, versions
from themescope.core.labelling.task_items import training_items
from themescope.core.records.stored import LabellingRecord, Role, Sharing
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.codebook import CODES, FILES, GOLD, VERSIONS


def words(at: AppTest) -> str:
    return "\n".join([words_of(at), *(element.proto.body for element in at.get("html"))])


@pytest.fixture
def labelling(filled_store: Store) -> LabellingRecord:
    """An article by its sections, shared, with one entry."""
    record = of_sections(filled_store, "Danube", "", Sharing.SHARED, 1)
    session = LabellingSession(filled_store, record.id, "")
    session.do(op.rename(session.partition, 2, HOSTILE))
    ids = session.partition.members(2)[:1].tolist()
    session.do(book.write(session.partition, 2, CodebookEntry(f"about {HOSTILE}", "rules", examples=tuple(ids))))
    return record


def entry(store: Store, record: LabellingRecord, code: int) -> CodebookEntry:
    return entry_of(LabellingSession(store, record.id, "").partition, code)


def test_an_entry_is_written_undone_and_found(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("codebook")
    next(b for b in at.button if b.key == "codebook_edit_1").click().run()
    field(at, "Definition").set_value("first line\nsecond")
    press(at, "Save code")
    assert entry(filled_store, labelling, 1).definition == "first line\nsecond"
    assert "first line" in words(at) and "Saved\\: codebook entry of" in words(at)
    press(at, "Undo")
    assert not entry(filled_store, labelling, 1)
    press(at, "Redo")
    assert entry(filled_store, labelling, 1)
    field(at, "Search").set_value("SECOND line").run()
    assert "second" in words(at) and "about" not in words(at)
    field(at, "Search").set_value("nowhere").run()
    assert "No matching codes" in words(at)


def test_what_two_people_wrote_is_not_lost(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("codebook")
    next(b for b in at.button if b.key == "codebook_edit_1").click().run()
    field(at, "Definition").set_value("mine")
    other = LabellingSession(filled_store, labelling.id, "ben")
    other.do(book.write(other.partition, 1, CodebookEntry("theirs")))
    press(at, "Save code")
    assert entry(filled_store, labelling, 1).definition == "theirs"
    assert "This code was not saved" in words(at) and "theirs" in words(at)
    assert field(at, "Definition").value == "mine"
    press(at, "Save code")
    assert entry(filled_store, labelling, 1).definition == "mine"
    press(at, "Undo")
    assert entry(filled_store, labelling, 1).definition == "theirs"


def test_versions_are_recorded_and_restored(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("codebook", view=VERSIONS)
    field(at, "Name of the version").set_value("For coders")
    press(at, "Record version")
    now = LabellingSession(filled_store, labelling.id, "").partition
    assert [version.name for version in versions(now)] == ["For coders"]
    assert "No differences" in words(at)
    session = LabellingSession(filled_store, labelling.id, "")
    session.do(book.write(session.partition, 2, CodebookEntry("quite another text")))
    at = open_page("codebook", view=VERSIONS)
    assert "1 code changed" in words(at) and "<ins>quite another text</ins>" in words(at)
    assert at.dataframe[0].value["Who"].tolist() == ["me"]
    press(at, "Restore texts of For coders")
    assert entry(filled_store, labelling, 2).include == "rules"
    assert "No differences" in words(at)


def test_gold_items_from_the_examples(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = press(open_page("codebook", view=GOLD), "Use 1 example of the codebook")
    (item,) = training_items(LabellingSession(filled_store, labelling.id, "").partition)
    assert item.cluster == 2
    field(at, "Explanation").set_value("by the *rules*").run()
    press(at, "Save explanation")
    assert training_items(LabellingSession(filled_store, labelling.id, "").partition)[0].explanation == "by the *rules*"
    press(at, "Remove unit")
    assert not training_items(LabellingSession(filled_store, labelling.id, "").partition)


def test_names_and_texts_are_no_markup_and_a_viewer_changes_nothing(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    views = (CODES, VERSIONS, FILES, GOLD)
    for view in views:
        at = open_page("codebook", view=view)
        assert not at.error and "<script" not in words(at) and "<img" not in words(at), view
    session = LabellingSession(filled_store, labelling.id, "")
    session.do(book.choose_training(session.partition, ["k"], session.partition.members(2)[:1].tolist()))
    session.do(book.record_version(session.partition, "v", "First"))
    people.set_role(filled_store, "ada", Role.ADMIN)
    people.set_role(filled_store, "", Role.VIEWER)
    changes = {"Edit", "New code", "Undo", "Record version", "Restore texts of First", "Remove unit", "Import codes"}
    for view in views:
        at = open_page("codebook", view=view)
        assert not at.error and not {b.label for b in at.button} & changes, view


def test_a_code_is_added_and_renamed_in_place(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = press(open_page("codebook"), "New code")
    field(at, "Name").set_value("Ferries")
    field(at, "Definition").set_value("What crosses the river.")
    press(at, "Save code")
    assert "What crosses the river." in words(at)
    session = LabellingSession(filled_store, labelling.id, "")
    number = max(session.partition.clusters)
    assert session.partition.clusters[number].name == "Ferries" and len(session.steps) == 3
    assert at.session_state["codebook_edit"] == (labelling.id, 0), "the form is open for the next code"
    next(b for b in at.button if b.key == f"codebook_edit_{number}").click().run()
    field(at, "Name").set_value("Dams")
    press(at, "Save code")
    partition = LabellingSession(filled_store, labelling.id, "").partition
    assert partition.clusters[number].name == "Dams"
    assert entry_of(partition, number).definition == "What crosses the river."


def test_the_first_code_begins_the_codebook_of_a_project(filled_store: Store, open_page: Open) -> None:
    at = open_page("codebook", person="ada")
    field(at, "Name").set_value("Ferries")
    press(at, "Save code")
    assert not at.error
    with filled_store.reading() as r:
        (made,) = r.labellings.list()
        (code,) = r.labellings.clusters(made.id).values()
    assert made.owner == "ada" and code.name == "Ferries"
    assert [b for b in at.button if b.label == "New code"]
