"""The Error notebook page, and the cases that other pages add to it."""

from collections.abc import Callable

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.db.test_error_notebook import case
from tests.webapp.filled import CORPUS, HOSTILE
from tests.webapp.hands import plain_words_of
from themescope.core.records.stored import ErrorCase, Role
from themescope.db.label_records import Notebook
from themescope.db.store import Store
from themescope.jobs.services.accounts import people
from themescope.webapp.features.notebook import cases, report, state
from themescope.webapp.features.notebook.one_case import known_view

Open = Callable[..., AppTest]


def read(store: Store) -> Notebook:
    with store.reading() as r:
        return r.error_notebook.read(1)


def press(at: AppTest, label: str, number: int = 0) -> AppTest:
    return [b for b in at.button if b.label.endswith(label)][number].click().run()


@pytest.fixture
def collected(filled_store: Store) -> Store:
    """Three cases with hostile texts, two categories; Ben has given both to the first case."""
    with filled_store.writing() as w:
        added = [w.error_notebook.add(case(1, (n, n + 1, n + 8), f"{HOSTILE} {n}"), "Ben", HOSTILE) for n in (1, 2, 3)]
        for name in ("Same words", HOSTILE):
            category = w.error_categories.add(1, name, "", "Ben")
            w.error_categories.code(added[0].id, category.id, "Ben", True)
    return filled_store


def test_a_case_is_coded_undone_and_noted(collected: Store, open_page: Open) -> None:
    at = open_page("notebook", person="ada", corpus=CORPUS, case="1")
    said = plain_words_of(at)
    assert not at.exception and "**Case 1**" in said and "nearer to the negative by .12" in said
    assert "Coded by 1 other analyst" in said and "Ben: " not in said, "hidden until Ada has coded the case"
    assert next(b.label for b in at.button if "Same words" in b.label).startswith("2 ")
    press(at, "Same words")
    assert read(collected).coded()["ada"] == {1: {1}} and "Ben: " in plain_words_of(at)
    press(at, "Undo")
    assert "ada" not in read(collected).coded()
    press(at, "None applies")
    assert read(collected).coded()["ada"] == {1: frozenset()}
    at.text_area(key="notebook_note_new_1").set_value("Mine")
    press(at, "Add note")
    assert [n.text for n in read(collected).notes if n.person == "ada"] == ["Mine"]
    own = [b for b in at.button if b.label == "Delete"]
    assert len(own) == 2, "without an admin, a labeller may change every note"
    own[1].click().run()
    assert not [n for n in read(collected).notes if n.person == "ada"]
    press(at, "Undo deletion")
    assert [n.text for n in read(collected).notes if n.person == "ada"] == ["Mine"]


def test_what_others_gave_to_a_case_makes_no_difference_before_it_is_coded(collected: Store, open_page: Open) -> None:
    with collected.writing() as w:
        w.error_categories.code(2, 1, "Cleo", True)
        w.error_categories.code(1, 2, "Cleo", True)
    at = open_page("notebook", person="ada", corpus=CORPUS, category="Same words")
    assert "No matching cases." in plain_words_of(at)
    at = open_page("notebook", person="ada", corpus=CORPUS, category="no category yet")
    assert "1 of 3 cases" in plain_words_of(at)
    assert not [box for box in at.selectbox if box.label == "Coded by"]
    at = open_page("notebook", person="ada", corpus=CORPUS, view="Counts")
    assert not at.exception and "Nothing to count yet." in plain_words_of(at) and not at.dataframe
    at.toggle(key="notebook_include").set_value(True).run()
    assert at.dataframe[0].value["Cases"].tolist() == [2, 1]
    at = open_page("notebook", person="ada", corpus=CORPUS, view="Agreement")
    assert not at.exception and "needs two analysts" in plain_words_of(at)
    with collected.writing() as w:
        w.error_categories.code(1, 1, "ada", True)
    at = open_page("notebook", person="ada", corpus=CORPUS, view="Counts")
    assert at.dataframe[0].value["Cases"].tolist() == [1, 1], "case 2 is still hidden"
    people.set_role(collected, "root", Role.ADMIN)
    people.set_role(collected, "val", Role.VIEWER)
    at = open_page("notebook", person="val", corpus=CORPUS, view="Counts")
    assert at.dataframe[0].value["Cases"].tolist() == [2, 1] and not at.toggle


def test_a_deleted_case_comes_back(collected: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    in_callback: list[bool] = []
    drawn = cases._delete

    def delete(case: ErrorCase, view: cases.CaseList) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(st, "toast", lambda *_, **__: in_callback.append(True))
            drawn(case, view)

    monkeypatch.setattr(cases, "_delete", delete)
    at = open_page("notebook", person="Ben", corpus=CORPUS, case="2")
    press(at, "Delete case")
    assert [c.id for c in read(collected).cases] == [1, 3]
    assert not in_callback, "Streamlit does not support elements in a callback of a fragment"
    assert [toast.value for toast in at.toast] == ["Case 2 deleted. “Deleted cases” above restores it."]
    press(at, "Restore")
    assert [c.id for c in read(collected).cases] == [1, 2, 3]


def test_suggestions_are_accepted(collected: Store, open_page: Open) -> None:
    with collected.writing() as w:
        for n in range(4, 12):
            text = "The sections share the same words." if n % 2 else "A date misleads the model."
            w.error_notebook.add(case(1, (n, n + 1, n + 8), f"s {n}"), "Ben", f"{text} {n}")
    at = open_page("notebook", person="ada", corpus=CORPUS, view="Categories")
    at.selectbox(key="notebook_suggestions_by").set_value("Words (tf-idf)").run()
    press(at, "Suggest categories")
    accept = [b for b in at.button if b.label == "Accept"]
    assert not at.exception and len(accept) >= 2
    next(t for t in at.text_input if t.label.startswith("Name ·")).set_value("Typed")  # right before the click
    accept[0].click().run()
    assert "Typed" in [c.name for c in read(collected).current_categories()]
    assert len([b for b in at.button if b.label == "Accept"]) == len(accept) - 1
    found = read(collected)
    assert len(found.current_categories()) == 3 and len(found.coded()["ada"]) >= 2


def test_a_case_to_discuss_is_opened_whatever_the_filters(
    collected: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def table(frame: object, key: str, on_click: Callable[[int], None], **options: object) -> None:
        st.button("Click the first row", on_click=on_click, args=(0,))

    with collected.writing() as w:
        w.error_categories.code(1, 1, "ada", True)
    monkeypatch.setattr(report, "clickable_table", table)
    at = open_page("notebook", person="ada", corpus=CORPUS)
    at.selectbox(key=state.CATEGORY).set_value("not coded by me").run()
    at.session_state[state.VIEW] = state.AGREEMENT
    at.run()
    press(at, "Click the first row")
    assert not at.exception and "**Case 1**" in plain_words_of(at)


def test_a_viewer_reads_only(collected: Store, open_page: Open) -> None:
    people.set_role(collected, "ada", Role.ADMIN)
    people.set_role(collected, "val", Role.VIEWER)
    at = open_page("notebook", person="val", corpus=CORPUS, case="1")
    assert not at.exception and "Ben: " in plain_words_of(at)
    assert not [b for b in at.button if b.label in ("Add note", "Sample failures") and not b.disabled]


# --- cases from other pages -------------------------------------------------------------------------------------------


def test_only_known_parameters_of_a_permalink_are_followed() -> None:
    from themescope.webapp.features import REGISTRY

    card = REGISTRY.get("triplets")
    assert known_view(card, "triplets_triplet=5&evil=1&triplets_pair=a&triplets_pair=b") == {
        "triplets_triplet": ["5"], "triplets_pair": ["a", "b"],
    }  # fmt: skip
