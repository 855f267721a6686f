"""A selection in the drawer of the map: read, made a theme, coded, stored, and opened by a link."""

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.db.texts import article
from tests.webapp.filled import CORPUS
from tests.webapp.hands import plain_words_of, press
from tests.webapp.listed import listed, listing
from themescope.core.labelling.operations import Origin, selected
from themescope.core.records.stored import Role
from themescope.db.store import Store
from themescope.webapp.features import map
from themescope.webapp.routes import api
from themescope.webapp.shared import queries, unit_list

Open = Callable[..., AppTest]
SEARCH = Origin("search", ("search “nile”", "all articles"))


@pytest.fixture
def kept(filled_store: Store) -> int:
    """The id of a named selection of the first six sentences of the Nile."""
    with filled_store.writing() as w:
        return w.selections.add(selected(1, range(25, 31), SEARCH), "The Nile", "ada").id


def asked(at: AppTest, what: str) -> None:
    """Ask for what an entry of the menu of the map shows."""
    at.session_state[f"{map.SELECTION}_{queries.maps(1)[0].digest}"].asked = (what, "")
    at.run()
    assert not at.exception and not at.error


def test_a_link_opens_the_units_on_the_map_with_their_origin(kept: int, open_page: Open) -> None:
    at = open_page("map", corpus=CORPUS, selection=str(kept), colour="Text", camera="1_2_3")
    said = plain_words_of(at)
    assert not at.exception and "6 units" in said and "· 6 Nile" in said and "search “nile” · all articles" in said
    assert [row["id"] for row in listed(at)] == [*range(25, 31)]
    assert listed(at)[0]["text"].startswith("Nile lead paragraph 0") and listed(at)[0]["sub"] == "Nile › Introduction"
    assert at.query_params[map.STORED] in (str(kept), [str(kept)])
    at.button(key="map_drawer-clear").click().run()
    assert not listing(at) and map.STORED not in at.query_params


@pytest.mark.parametrize("asked", ["x", "9" * 40])
def test_a_link_to_nothing_shows_the_map(kept: int, open_page: Open, asked: str) -> None:
    at = open_page("map", corpus=CORPUS, selection=asked)
    assert not at.exception and not listing(at)


def test_old_addresses_of_selections_lead_to_the_map() -> None:
    assert api.today("selections", "corpus=Rivers&selections_open=7&selections_part=Compare") == (
        "map", "corpus=Rivers&map_selection=7&selections_part=Compare",
    )  # fmt: skip


def test_units_that_are_not_on_the_map_are_selected_all_the_same(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.corpora.add_articles(1, [article("Volga")])
        ids = [s.id for a in w.corpora.articles(1) if a.title == "Volga" for s in w.corpora.sentences(a.id)]
        stored = w.selections.add(selected(1, [25, *ids], SEARCH), "Both", "ada").id
    assert ids
    at = open_page("map", corpus=CORPUS, selection=str(stored))
    assert not at.exception and f"{len(ids) + 1} units" in plain_words_of(at)
    assert {25, ids[0]} <= {row["id"] for row in listed(at)}


def test_units_become_a_theme_of_a_new_coding(kept: int, filled_store: Store, open_page: Open) -> None:
    at = open_page("map", person="ada", corpus=CORPUS, selection=str(kept))
    press(at, "Make it a theme")
    box = next(t for t in at.text_input if t.label == "Name")
    assert "Nile" in box.value or "nile" in box.value
    box.set_value("River *facts*").run()
    press(at, "Create theme")
    assert not at.exception and not at.error
    assert "River *facts* with 6 units, in “Rivers themes”" in plain_words_of(at)
    with filled_store.reading() as r:
        record = r.labellings.by_name("Rivers themes")
        found = r.labellings.snapshot(record.id).partition
        (step,) = r.label_steps.list(record.id)
    (number,) = found.clusters
    assert record.owner == "ada" and found.members(number).tolist() == [*range(25, 31)]
    assert step.selection_method == "search “nile” · all articles"
    press(at, "Code it")
    press(at, "Code 6 units")
    assert "No change needed in “Rivers themes”" in plain_words_of(at)


def test_a_selection_is_saved_and_deleted(kept: int, filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        other = w.selections.add(selected(1, range(29, 35), SEARCH), "More", "ada").id
    at = open_page("map", person="ada", corpus=CORPUS, selection=str(other))
    press(at, "Save")
    next(t for t in at.text_input if t.label == "Name").set_value("Both").run()
    press(at, "Save selection")
    with filled_store.reading() as r:
        both = next(record for record in r.selections.list(1) if record.name == "Both")
        assert r.selections.ids(both.id).tolist() == [*range(29, 35)] and both.person == "ada"
    asked(at, "saved")
    at.button(key=f"open-selection-{kept}").click().run()
    assert len(listed(at)) == 6
    asked(at, "saved")
    at.button(key=f"delete-selection-{both.id}").click().run()
    with filled_store.reading() as r:
        assert [record.name for record in r.selections.list(1)] == ["More", "The Nile"]


def test_the_link_names_the_stored_selection(filled_store: Store, open_page: Open) -> None:
    shape = "0_0_65535_0_65535_65535_0_65535"
    at = open_page("map", person="ada", corpus=CORPUS, shape=shape)
    press(at, "Link")
    (link,) = [code.value for code in at.code]
    with filled_store.reading() as r:
        assert len(r.selections.ids(1)) == 72 and r.selections.list(1) == []
    assert link == f"?corpus={CORPUS}&map_map=Rivers+by+vectors&map_selection=1"


def test_the_order_of_a_selection_is_chosen(kept: int, open_page: Open) -> None:
    at = open_page("map", corpus=CORPUS, selection=str(kept))
    at.selectbox(key="map_drawer-order").set_value("Most central").run()
    assert not at.exception and {row["id"] for row in listed(at)} == {*range(25, 31)}


def test_viewers_read_and_export_only(kept: int, filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.people.set_role("val", Role.VIEWER, "")
    at = open_page("map", person="val", corpus=CORPUS, selection=str(kept))
    assert len(listed(at)) == 6
    assert not {"Make it a theme", "Code it", "Save", "Link", "Sort"} & {b.label for b in at.button}
    asked(at, "saved")
    assert next(b for b in at.button if b.label == "Delete").disabled


def test_long_lists_are_sent_in_groups_that_the_browser_asks_for(filled_store: Store) -> None:
    found = unit_list.of_sentences(_read(filled_store), np.arange(72), search="x OR y")
    first = unit_list.view_data(found)
    assert first["total"] == 72 and list(first["groups"]) == ["0"] and len(first["groups"]["0"]) == 40
    sent = unit_list.Sent(first["list"], (1, 7))
    assert {n: len(rows) for n, rows in unit_list.view_data(found, sent)["groups"].items()} == {"0": 40, "1": 32}
    assert list(unit_list.view_data(found, unit_list.Sent("another", (1,)))["groups"]) == ["0"]


def _read(store: Store) -> object:
    from themescope.jobs.services.selections import read_sentences

    with store.reading() as r:
        return read_sentences(store, r.corpora.sentence_ids(1))
