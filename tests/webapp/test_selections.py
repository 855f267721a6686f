"""A selection on its page: read, made a theme, stored under a name, combined, compared, and opened by a link."""

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS
from tests.webapp.hands import plain_words_of, press
from tests.webapp.listed import listed, listing
from themescope.core.labelling.operations import Origin, selected
from themescope.core.records.stored import Role
from themescope.db.store import Store
from themescope.webapp.features import map, selections
from themescope.webapp.shared import unit_list

Open = Callable[..., AppTest]
SEARCH = Origin("search", ("search “nile”", "all articles"))


@pytest.fixture
def kept(filled_store: Store) -> int:
    """The id of a named selection of the first six sentences of the Nile."""
    with filled_store.writing() as w:
        return w.selections.add(selected(1, range(25, 31), SEARCH), "The Nile", "ada").id


def opened(at: AppTest, popover: str) -> AppTest:
    """Open a popover of the actions."""
    at.session_state[f"selections_panel-{popover}"] = True
    return at.run()


def test_a_link_opens_the_sentences_with_their_origin(kept: int, open_page: Open) -> None:
    at = open_page("selections", corpus=CORPUS, open=str(kept))
    said = plain_words_of(at)
    assert not at.exception and "6 sentences" in said and "search “nile” · all articles" in said
    assert [row["id"] for row in listed(at)] == [*range(25, 31)]
    assert listed(at)[0]["text"].startswith("Nile lead paragraph 0") and listed(at)[0]["sub"] == "Nile › Introduction"
    assert "The Nile" in [b.label for b in at.button]
    at.text_input(key="selections_panel-search").set_value("sentence 1").run()
    assert [row["id"] for row in listed(at)] == [26, 28, 30] and listing(at)["mark"] == "sentence 1"
    press(at, "Clear selection")
    assert not listing(at) and selections.OPEN not in at.query_params


@pytest.mark.parametrize("asked", ["x", "9" * 40])
def test_a_link_to_nothing_lists_the_saved_ones(kept: int, open_page: Open, asked: str) -> None:
    at = open_page("selections", corpus=CORPUS, open=asked)
    assert not at.exception and not listing(at) and "Saved selections" in [h.value for h in at.subheader]


def test_sentences_become_a_theme_of_a_new_labelling(kept: int, filled_store: Store, open_page: Open) -> None:
    at = opened(open_page("selections", person="ada", corpus=CORPUS, open=str(kept)), "Make it a theme")
    box = next(t for t in at.text_input if t.label == "Name of the theme")
    assert "Nile" in box.value or "nile" in box.value
    box.set_value("River *facts*").run()
    press(at, "Create theme")
    assert not at.exception and not at.error
    assert "River *facts* with 6 sentences, in “Rivers themes”" in plain_words_of(at)
    with filled_store.reading() as r:
        record = r.labellings.by_name("Rivers themes")
        found = r.labellings.snapshot(record.id).partition
        (step,) = r.label_steps.list(record.id)
    (number,) = found.clusters
    assert record.owner == "ada" and found.members(number).tolist() == [*range(25, 31)]
    assert step.selection_method == "search “nile” · all articles"


def test_a_selection_is_saved_combined_and_deleted(kept: int, filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        other = w.selections.add(selected(1, range(29, 35), SEARCH), "More", "ada").id
    at = opened(open_page("selections", person="ada", corpus=CORPUS, open=str(other)), "Save")
    next(s for s in at.selectbox if s.label == "Combine with").set_value("The Nile").run()
    press(at, "Keep common")
    assert not at.exception and [row["id"] for row in listed(at)] == [29, 30]
    next(t for t in at.text_input if t.label == "Name of the selection").set_value("Both").run()
    next(b for b in at.button if b.label == "Save").click().run()
    with filled_store.reading() as r:
        both = next(record for record in r.selections.list(1) if record.name == "Both")
        assert r.selections.ids(both.id).tolist() == [29, 30] and both.person == "ada"
    at.button(key=f"delete-selection-{both.id}").click().run()
    with filled_store.reading() as r:
        assert [record.name for record in r.selections.list(1)] == ["More", "The Nile"]


def test_some_sentences_of_a_selection_are_drawn_at_random(kept: int, open_page: Open) -> None:
    at = opened(open_page("selections", person="ada", corpus=CORPUS, open=str(kept)), "Save")
    before = {row["id"] for row in listed(at)}
    next(n for n in at.number_input if n.label == "Number").set_value(2).run()
    press(at, "Select at random")
    assert not at.exception and len(listed(at)) == 2 and {row["id"] for row in listed(at)} < before
    assert "2 at random (seed 0) of" in plain_words_of(at)


def test_a_shared_selection_opens_on_the_map_with_its_view(kept: int, open_page: Open) -> None:
    at = open_page("map", corpus=CORPUS, selection=str(kept), colour="Article", camera="1_2_3")
    said = plain_words_of(at)
    assert "6 sentences selected" in said and "search “nile” · all articles" in said
    assert at.query_params[map.STORED] in (str(kept), [str(kept)]) and at.selectbox(key=map.COLOUR).value == "Article"
    press(at, "Clear selection")
    assert "All 72 sentences shown" in plain_words_of(at) and map.STORED not in at.query_params


def test_the_link_names_the_stored_selection(filled_store: Store, open_page: Open) -> None:
    shape = "0_0_65535_0_65535_65535_0_65535"
    at = open_page("map", person="ada", corpus=CORPUS, shape=shape)
    at.session_state["map_panel-Share"] = True
    at.run()
    (link,) = [code.value for code in at.code]
    with filled_store.reading() as r:
        assert len(r.selections.ids(1)) == 72 and r.selections.list(1) == []
    assert link == f"?corpus={CORPUS}&map_map=Rivers+by+vectors&map_selection=1"


def test_viewers_read_and_export_only(kept: int, filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.people.set_role("val", Role.VIEWER, "")
    at = open_page("selections", person="val", corpus=CORPUS, open=str(kept))
    assert len(listed(at)) == 6
    at = opened(at, "Save")
    assert not any(t.label == "Name of the selection" for t in at.text_input)
    assert next(b for b in at.button if b.label == "Delete").disabled


def test_long_lists_are_sent_in_groups_that_the_browser_asks_for(filled_store: Store) -> None:
    found = unit_list.of_sentences(_read(filled_store), np.arange(72), mark="x")
    first = unit_list.view_data(found)
    assert first["total"] == 72 and list(first["groups"]) == ["0"] and len(first["groups"]["0"]) == 40
    sent = unit_list.Sent(first["list"], (1, 7))
    assert {n: len(rows) for n, rows in unit_list.view_data(found, sent)["groups"].items()} == {"0": 40, "1": 32}
    assert list(unit_list.view_data(found, unit_list.Sent("another", (1,)))["groups"]) == ["0"]


def _read(store: Store) -> object:
    from themescope.jobs.services.selections import read_sentences

    with store.reading() as r:
        return read_sentences(store, r.corpora.sentence_ids(1))
