"""The map page: what it says, what it lists, what its address keeps, filters, and selections in its drawer."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.db.texts import article
from tests.webapp.columned import SIDE, add_columns
from tests.webapp.filled import CORPUS, HOSTILE, add_themes
from tests.webapp.hands import Open, field, listed, listing, plain_words_of, press
from tests.webapp.test_map_view import canvas_of
from tests.webapp.test_themes import analysed
from themescope.core.labelling import operations as op
from themescope.core.labelling.operations import Origin, selected
from themescope.core.labelling.partition import Cluster, Partition
from themescope.core.records.stored import Role, Sharing
from themescope.db.records import NewLabelling, VectorBlock
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.selections import read_sentences
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features import map
from themescope.webapp.features.map import colourings, controls, figure
from themescope.webapp.features.map.colourings import ColouredView
from themescope.webapp.features.map.figure import FigureSettings
from themescope.webapp.map_view import component
from themescope.webapp.map_view import scene as map_scene
from themescope.webapp.map_view.scene import frame_of
from themescope.webapp.shared import compare_queries, queries, unit_list
from themescope.webapp.shared.figures import tones

Seen = list[component.Canvas]
__all__ = ["analysed"]
ALL = "0_0_65535_0_65535_65535_0_65535"  # a shape around everything


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """The canvases that are drawn from now on."""
    canvases: list[component.Canvas] = []
    monkeypatch.setattr(component, "interactive", lambda canvas, *_: canvases.append(canvas))
    return canvases


def asked(at: AppTest, what: str, value: str = "") -> str:
    """Ask for what an entry of the menu of the map shows; the words of the page then."""
    at.session_state[f"{map.SELECTION}_{queries.maps(1)[0].digest}"].asked = (what, value)
    at.run()
    assert not at.error
    return plain_words_of(at)


def test_the_nearest_of_a_sentence_are_listed_with_their_similarity(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        vectors = np.array([(1, i) for i in range(24)], np.float32)
        w.embeddings.add(1, [VectorBlock(article.id, vectors) for article in w.corpora.articles(1)])
    at = open_page("map", articles="Danube", similar="1", nearest="5")
    found = listed(at)
    assert "5 units found" in plain_words_of(at)
    assert "search units similar to “Danube lead paragraph 0 sentence 0" in plain_words_of(at)
    assert [row["note"] for row in found] == ["0.707", "0.447", "0.316", "0.243", "0.196"]
    assert found[0]["text"] == "Danube lead paragraph 0 sentence 1 has some words."
    at.button(key="map_drawer-clear").click().run()
    assert not listed(at) and map.SIMILAR not in at.query_params
    at = open_page("map", search="water", match="meaning")
    assert "0 units found" in plain_words_of(at)
    assert "is not the digest of an artifact" in plain_words_of(at), "a model that cannot answer says so"


def test_the_address_keeps_shape_sentence_and_search(filled_store: Store, open_page: Open) -> None:
    at = open_page("map", shape=ALL, sentence="30", search="nile")
    said = plain_words_of(at)
    assert "24 units found among 72 selected" in said
    assert 30 in [row["id"] for row in listed(at)] and listing(at)["focus"] == 30
    alone = open_page("map", sentence="30")
    assert "Nile Course paragraph 0 sentence 1 has some words." in plain_words_of(alone) and not listed(alone)
    assert at.query_params[map.SHAPE] in (ALL, [ALL])
    assert at.button(key="map_drawer-clear").label == "Clear selection (72)", "the older one of the two"
    at.button(key="map_drawer-clear").click().run()
    assert at.button(key="map_drawer-clear").label == "Clear search"
    assert "24 units found" in plain_words_of(at) and "selected" not in plain_words_of(at)
    assert map.SHAPE not in at.query_params
    at.button(key="map_drawer-clear").click().run()
    assert map.SEARCH not in at.query_params and not listed(at)
    nonsense = {"shape": "1_2_x", "sentence": "-4", "hidden": "99999", "camera": "nan_1_1", "colour": "?"}
    assert not listed(open_page("map", similar="9" * 30, **nonsense))


def test_the_map_of_a_text_is_fitted_to_it(filled_store: Store, open_page: Open, seen: Seen) -> None:
    at = open_page("map", corpus=CORPUS, camera="1_2_3")
    at.session_state[map.ARTICLES] = ["Danube"]
    at.run()
    canvas = seen[-1]
    assert at.query_params[map.ARTICLES] in ("Danube", ["Danube"])
    assert at.session_state[f"{map.SELECTION}_{queries.maps(1)[0].digest}"].camera is None
    assert len(canvas.scene.ids) == 24
    assert list(canvas.frame) == frame_of(canvas.scene.units) != frame_of(map_scene.opened(queries.maps(1)[0]).units)


def test_maps_open_by_themes_and_of_a_text_by_sections(filled_store: Store, open_page: Open, seen: Seen) -> None:
    with filled_store.writing() as w:
        add_themes(w, 1, "themes", ("one", "two"), [number % 2 for number in range(72)])
    views: list[dict[str, str]] = [{}, {"articles": "Danube"}]
    coloured = [open_page("map", corpus=CORPUS, **view) and seen[-1].page["colour"]["chosen"] for view in views]
    assert coloured[0].startswith("2 themes by") and coloured[1] == "Section"


@pytest.mark.usefixtures("filled_store")
def test_a_map_is_drawn_by_every_colouring_and_old_names_are_known(open_page: Open, seen: Seen) -> None:
    at = open_page("map", corpus=CORPUS, colour="Article")
    assert seen[-1].page is not None and seen[-1].page["colour"]["chosen"] == "Text"
    names = seen[-1].page["colour"]["options"]
    assert {"Section", "Text", "Split"} <= set(names)
    for name in names:
        at.session_state[map.COLOUR] = name
        at.run()
        assert not at.error and seen[-1].page["colour"]["chosen"] == name
        assert at.query_params[map.COLOUR] in (name, [name])


def test_what_a_menu_of_the_map_asks_for_is_drawn(filled_store: Store, open_page: Open) -> None:
    at = open_page("map", corpus=CORPUS)
    asked(at, "colour", "Split")
    assert at.query_params[map.COLOUR] in ("Split", ["Split"])
    asked(at, "all")
    assert len(listed(at)) == 40 and "72 units" in plain_words_of(at)
    assert "all units shown on map Rivers by vectors · coloured by Split" in plain_words_of(at)
    asked(at, "filter")
    at.text_input(key=f"{map.SEARCH}_field").set_value("nile").run()
    assert "24 units found among 72 selected" in plain_words_of(at)
    asked(at, "display")
    at.slider(key=f"{map.OPACITY}_field").set_value(0.5).run()
    assert at.query_params[map.OPACITY] in ("0.5", ["0.5"])
    at.button(key="map_panel_close").click().run()
    assert not at.slider
    assert "of the 15 nearest neighbours of a unit stay close on the map" in asked(at, "about")
    asked(at, "figure")
    assert any(n.label == "Width, mm" for n in at.number_input)


def test_people_colour_what_they_labelled(filled_store: Store) -> None:
    corpus = queries.corpora()[0]
    scene = map_scene.opened(queries.maps(1)[0])
    ids = np.sort(scene.ids[10:30])
    numbers = np.where(ids % 3 == 0, -1, ids % 3)
    clusters = {1: Cluster(1, "floods", 4), 2: Cluster(2, "bridges", 7), 3: Cluster(3, "empty", 0)}
    start = Partition(ids, numbers, np.zeros(len(ids), bool), {}, clusters)
    with filled_store.writing() as w:
        w.people.enter("Ada")
        for name, blind in (("hers", True), ("ours", False)):
            w.labellings.create(NewLabelling(1, name, "Ada", Sharing.SHARED, blind), start)
    found = colourings.options(ColouredView(corpus, scene, scene))
    assert "Coding: hers" not in found
    colouring = found["Coding: ours"].make()
    for row, sentence in enumerate(scene.ids.tolist()):
        wanted = {1: "floods", 2: "bridges"}.get(sentence % 3) if sentence in ids else None
        assert colouring.name(row) == (wanted or "other codes or none")
    assert colouring.paint(tones("light"), colouring.names.index("floods")) == (tones("light").colour(4), 0)


def test_a_map_is_coloured_by_the_level_that_the_page_themes_suggests(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = [SimpleNamespace(run=SimpleNamespace(id=k), colour_name=f"{k} themes") for k in (5, 9, 19)]
    monkeypatch.setattr(colourings.compare_queries, "analyses", lambda corpus_id: levels[1:2])
    monkeypatch.setattr(colourings.compare_queries, "levels", lambda analysis: levels)
    offered = colourings.of_themes(SimpleNamespace(corpus=SimpleNamespace(id=1), single=False))
    assert [one.name for one in offered] == ["9 themes", "5 themes", "19 themes", "Confidence in the 9 themes"]


def test_files_hold_the_rows_and_nothing_that_is_obeyed(filled_store: Store) -> None:
    corpus = queries.corpora()[0]
    scene = map_scene.opened(queries.maps(1)[0])
    colouring = colourings.options(ColouredView(corpus, scene, scene))["Text"].make()
    rows = np.array([50, 3, 60])
    table = controls.columns(scene, colouring, scene.ids[rows])
    assert table["group"][0] == HOSTILE and len(table["x"]) == 3
    assert csv_text(list(table), zip(*table.values(), strict=True)).count("\r\n") == 4
    drawn = canvas_of(scene, colouring.categories, len(colouring.names))
    canvas = replace(drawn, colouring=colouring, found=rows, tones=tones("dark"))
    picture, page = figure.svg(canvas, FigureSettings()), controls.page(canvas, HOSTILE)
    assert picture.count("h0") == 72 + 3 and "<img" not in picture
    assert "<img" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "").replace(
        "http://evil.example", ""
    )
    assert all(name in page for name in ("takePoints", "drawView", "Danube Course paragraph 0"))


def test_a_list_is_coloured_by_corrected_themes_and_uncertain_sentences_are_grey(analysed: Store) -> None:
    (analysis,) = compare_queries.analyses()
    scene = map_scene.opened(next(found for found in queries.maps() if found.corpus_id == analysis.corpus.id))
    view = ColouredView(analysis.corpus, scene, scene)
    first, option = next(iter(colourings.options(view).items()))
    assert first == analysis.colour_name
    colouring, listed = option.make(), compare_queries.theme_listing(analysis.run.id, analysis.run.created)
    names = {i: colouring.name(row) for row, i in enumerate(scene.ids.tolist())}
    assert {i for i, name in names.items() if name == "low confidence"} == set(listed.ids[listed.margins < 0].tolist())
    new = NewLabelling(analysis.corpus.id, "Corrected", "")
    record = starts.begin(analysed, new, starts.from_themes(analysis.run.id))
    assert next(iter(colourings.options(view))) == first  # nothing is corrected yet
    session = LabellingSession(analysed, record.id, "")
    session.do(op.rename(session.snapshot.partition, 1, "Better name"))
    assert next(iter(colourings.options(view))) == "Coding: Corrected"


def test_filters_restrict_the_map_and_stay_in_the_address(filled_store: Store, open_page: Open, seen: Seen) -> None:
    add_columns(filled_store)
    left = SIDE[0]
    at = open_page("map", corpus=CORPUS, facets=json.dumps({"side": [left]}))
    assert len(seen[-1].scene.ids) == 18
    assert seen[-1].status == "18 of 72 units, a random sample of 500"
    at = open_page("map", corpus=CORPUS, facets=json.dumps({"side": [None], "score": [30, 60]}))
    assert seen[-1].status.startswith("8 of 72 units") and seen[-1].page and seen[-1].page["filters"] == 2
    asked(at, "filter")
    assert len(seen[-1].scene.ids) == 8
    assert field(at, "score").value == (30, 60)
    assert field(at, "side").value == [None] and f"{left} (18)" in field(at, "side").options
    field(at, "side").set_value([left]).run()
    assert len(seen[-1].scene.ids) < 18
    field(at, "side").set_value([]).run()
    field(at, "score").set_value((1.0, 71.0)).run()
    assert len(seen[-1].scene.ids) == 72 and "map_facets" not in at.query_params
    at = open_page("map", corpus=CORPUS, facets="{")
    assert seen[-1].status == "72 units, a random sample of 500"


SEARCH = Origin("search", ("search “nile”", "all articles"))


@pytest.fixture
def kept(filled_store: Store) -> int:
    """The id of a named selection of the first six sentences of the Nile."""
    with filled_store.writing() as w:
        return w.selections.add(selected(1, range(25, 31), SEARCH), "The Nile", "ada").id


def test_a_link_opens_the_units_on_the_map_with_their_origin(kept: int, open_page: Open) -> None:
    at = open_page("map", corpus=CORPUS, selection=str(kept), colour="Text", camera="1_2_3")
    said = plain_words_of(at)
    assert "6 units" in said and "· 6 Nile" in said and "search “nile” · all articles" in said
    assert [row["id"] for row in listed(at)] == [*range(25, 31)]
    assert listed(at)[0]["text"].startswith("Nile lead paragraph 0") and listed(at)[0]["sub"] == "Nile › Introduction"
    assert at.query_params[map.STORED] in (str(kept), [str(kept)])
    at.selectbox(key="map_drawer-order").set_value("Most central").run()
    assert {row["id"] for row in listed(at)} == {*range(25, 31)}
    at.button(key="map_drawer-clear").click().run()
    assert not listing(at) and map.STORED not in at.query_params
    for nothing in ("x", "9" * 40):
        at = open_page("map", corpus=CORPUS, selection=nothing)
        assert not listing(at)


def test_units_that_are_not_on_the_map_are_selected_all_the_same(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.corpora.add_articles(1, [article("Volga")])
        ids = [s.id for a in w.corpora.articles(1) if a.title == "Volga" for s in w.corpora.sentences(a.id)]
        stored = w.selections.add(selected(1, [25, *ids], SEARCH), "Both", "ada").id
    at = open_page("map", corpus=CORPUS, selection=str(stored))
    assert f"{len(ids) + 1} units" in plain_words_of(at)
    assert {25, ids[0]} <= {row["id"] for row in listed(at)}


def test_units_become_a_theme_of_a_new_coding(kept: int, filled_store: Store, open_page: Open) -> None:
    at = press(open_page("map", person="ada", corpus=CORPUS, selection=str(kept)), "Make it a theme")
    assert "nile" in field(at, "Name").value.lower()
    field(at, "Name").set_value("River *facts*").run()
    press(at, "Create theme")
    assert not at.error
    assert "River *facts* with 6 units, in “Rivers themes”" in plain_words_of(at)
    with filled_store.reading() as r:
        record = r.labellings.by_name("Rivers themes")
        found = r.labellings.snapshot(record.id).partition
        (step,) = r.label_steps.list(record.id)
    (number,) = found.clusters
    assert record.owner == "ada" and found.members(number).tolist() == [*range(25, 31)]
    assert step.selection_method == "search “nile” · all articles"
    press(press(at, "Code it"), "Code 6 units")
    assert "No change needed in “Rivers themes”" in plain_words_of(at)


def test_a_selection_is_saved_and_deleted(kept: int, filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        other = w.selections.add(selected(1, range(29, 35), SEARCH), "More", "ada").id
    at = press(open_page("map", person="ada", corpus=CORPUS, selection=str(other)), "Save")
    field(at, "Name").set_value("Both").run()
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
    at = press(open_page("map", person="ada", corpus=CORPUS, shape=ALL), "Link")
    (link,) = [code.value for code in at.code]
    with filled_store.reading() as r:
        assert len(r.selections.ids(1)) == 72 and r.selections.list(1) == []
    assert link == f"?corpus={CORPUS}&map_map=Rivers+by+vectors&map_selection=1"


def test_viewers_read_and_export_only(kept: int, filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.people.set_role("val", Role.VIEWER, "")
    at = open_page("map", person="val", corpus=CORPUS, selection=str(kept))
    assert len(listed(at)) == 6
    assert not {"Make it a theme", "Code it", "Save", "Link", "Sort"} & {b.label for b in at.button}
    asked(at, "saved")
    assert next(b for b in at.button if b.label == "Delete").disabled


def test_long_lists_are_sent_in_groups_that_the_browser_asks_for(filled_store: Store) -> None:
    with filled_store.reading() as r:
        read = read_sentences(filled_store, r.corpora.sentence_ids(1))
    found = unit_list.of_sentences(read, np.arange(72), search="x OR y")
    first = unit_list.view_data(found)
    assert first["total"] == 72 and list(first["groups"]) == ["0"] and len(first["groups"]["0"]) == 40
    sent = unit_list.Sent(first["list"], (1, 7))
    assert {n: len(rows) for n, rows in unit_list.view_data(found, sent)["groups"].items()} == {"0": 40, "1": 32}
    assert list(unit_list.view_data(found, unit_list.Sent("another", (1,)))["groups"]) == ["0"]
