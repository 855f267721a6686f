"""The Codebook page: what is written is stored, and nothing typed by a person is obeyed."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import HOSTILE
from tests.webapp.hands import press as click
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import CodebookEntry, entry_of, versions
from themescope.core.labelling.task_items import training_items
from themescope.core.records.stored import LabellingRecord, Role, Sharing
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.codebook import CODES, FILES, GOLD, VERSIONS

Open = Callable[..., AppTest]


def words(at: AppTest) -> str:
    kinds = (at.subheader, at.markdown, at.caption, at.text, at.info, at.warning, at.error, at.success)
    shown = "\n".join(str(element.value) for kind in kinds for element in kind)
    return shown + "\n" + "\n".join(element.proto.body for element in at.get("html"))


@pytest.fixture
def labelling(filled_store: Store) -> LabellingRecord:
    """An article by its sections, shared, with one entry."""
    with filled_store.reading() as r:
        corpus = r.corpora.list()[0]
        article = r.corpora.articles(corpus.id)[0]
    new = NewLabelling(corpus.id, "Danube", "", Sharing.SHARED, False, article.id)
    record = starts.begin(filled_store, new, starts.from_sections)
    session = LabellingSession(filled_store, record.id, "")
    session.do(op.rename(session.partition, 2, HOSTILE))
    ids = session.partition.members(2)[:1].tolist()
    session.do(book.write(session.partition, 2, CodebookEntry(f"about {HOSTILE}", "rules", examples=tuple(ids))))
    return record


def session_of(store: Store, record: LabellingRecord, person: str = "") -> LabellingSession:
    return LabellingSession(store, record.id, person)


def field(at: AppTest, label: str) -> object:
    return next(area for area in at.text_area if area.label == label)


@pytest.mark.parametrize("view", [CODES, VERSIONS, FILES, GOLD])
def test_hostile_names_and_texts_are_shown_as_text(labelling: LabellingRecord, open_page: Open, view: str) -> None:
    at = open_page("codebook", view=view)
    assert not at.exception and not at.error
    assert "<script" not in words(at) and "<img" not in words(at)


def test_an_entry_is_written_in_place_undone_and_found(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    at = open_page("codebook")
    next(b for b in at.button if b.key == "codebook_edit_1").click().run()
    field(at, "Definition").set_value("first line\nsecond")  # type: ignore[attr-defined]
    click(at, "Save code")
    assert not at.exception
    assert entry_of(session_of(filled_store, labelling).partition, 1).definition == "first line\nsecond"
    assert "first line" in words(at) and "Saved\\: codebook entry of" in words(at)
    click(at, "Undo")
    assert not entry_of(session_of(filled_store, labelling).partition, 1)
    click(at, "Redo")
    assert entry_of(session_of(filled_store, labelling).partition, 1)
    next(box for box in at.text_input if box.label == "Search").set_value("SECOND line").run()
    assert "second" in words(at) and "about" not in words(at)
    next(box for box in at.text_input if box.label == "Search").set_value("nowhere").run()
    assert "No matching codes" in words(at)


def test_what_two_people_wrote_is_not_lost(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("codebook")
    next(b for b in at.button if b.key == "codebook_edit_1").click().run()
    field(at, "Definition").set_value("mine")  # type: ignore[attr-defined]
    other = session_of(filled_store, labelling, "ben")
    other.do(book.write(other.partition, 1, CodebookEntry("theirs")))
    click(at, "Save code")
    assert entry_of(session_of(filled_store, labelling).partition, 1).definition == "theirs"
    assert "This code was not saved" in words(at) and "theirs" in words(at)
    assert field(at, "Definition").value == "mine"  # type: ignore[attr-defined]
    click(at, "Save code")
    assert entry_of(session_of(filled_store, labelling).partition, 1).definition == "mine"
    click(at, "Undo")
    assert entry_of(session_of(filled_store, labelling).partition, 1).definition == "theirs"


def test_versions_are_recorded_compared_and_restored(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    at = open_page("codebook", view=VERSIONS)
    next(box for box in at.text_input if box.label == "Name of the version").set_value("For coders")
    click(at, "Record version")
    assert [version.name for version in versions(session_of(filled_store, labelling).partition)] == ["For coders"]
    assert "No differences" in words(at)
    session = session_of(filled_store, labelling)
    session.do(book.write(session.partition, 2, CodebookEntry("quite another text")))
    at = open_page("codebook", view=VERSIONS)
    assert "1 code changed" in words(at) and "<ins>quite another text</ins>" in words(at)
    assert at.dataframe[0].value["Who"].tolist() == ["me"]
    click(at, "Restore texts of For coders")
    assert entry_of(session_of(filled_store, labelling).partition, 2).include == "rules"
    assert "No differences" in words(at)


def test_gold_items_from_the_examples(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("codebook", view=GOLD)
    click(at, "Use 1 example of the codebook")
    (item,) = training_items(session_of(filled_store, labelling).partition)
    assert item.cluster == 2
    field(at, "Explanation").set_value("by the *rules*").run()  # type: ignore[attr-defined]
    click(at, "Save explanation")
    assert training_items(session_of(filled_store, labelling).partition)[0].explanation == "by the *rules*"
    click(at, "Remove unit")
    assert not training_items(session_of(filled_store, labelling).partition)


def test_a_viewer_reads_but_changes_nothing(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    session = session_of(filled_store, labelling)
    session.do(book.choose_training(session.partition, ["k"], session.partition.members(2)[:1].tolist()))
    session.do(book.record_version(session.partition, "v", "First"))
    people.set_role(filled_store, "ada", Role.ADMIN)
    people.set_role(filled_store, "", Role.VIEWER)
    for view in (CODES, VERSIONS, FILES, GOLD):
        at = open_page("codebook", view=view)
        assert not at.exception and not at.error
        shown = {b.label for b in at.button}
        assert not shown & {
            "Edit",
            "New code",
            "Undo",
            "Record version",
            "Restore texts of First",
            "Remove unit",
            "Import codes",
        }


def test_a_code_is_added_and_renamed_in_place(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("codebook")
    click(at, "New code")
    next(box for box in at.text_input if box.label == "Name").set_value("Ferries")
    field(at, "Definition").set_value("What crosses the river.")  # type: ignore[attr-defined]
    click(at, "Save code")
    assert not at.exception and "What crosses the river." in words(at)
    session = session_of(filled_store, labelling)
    number = max(session.partition.clusters)
    assert session.partition.clusters[number].name == "Ferries" and len(session.steps) == 3
    assert at.session_state["codebook_edit"] == (labelling.id, 0), "the form is open for the next code"
    next(b for b in at.button if b.key == f"codebook_edit_{number}").click().run()
    next(box for box in at.text_input if box.label == "Name").set_value("Dams")
    click(at, "Save code")
    partition = session_of(filled_store, labelling).partition
    assert partition.clusters[number].name == "Dams"
    assert entry_of(partition, number).definition == "What crosses the river."


def test_the_first_code_begins_the_codebook_of_a_project(filled_store: Store, open_page: Open) -> None:
    at = open_page("codebook", person="ada")
    next(box for box in at.text_input if box.label == "Name").set_value("Ferries")
    click(at, "Save code")
    assert not at.exception and not at.error
    with filled_store.reading() as r:
        (made,) = r.labellings.list()
        (code,) = r.labellings.clusters(made.id).values()
    assert made.owner == "ada" and code.name == "Ferries"
    assert [b for b in at.button if b.label == "New code"]
