"""The map page: what it says, what it lists, what its address keeps."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, HOSTILE
from tests.webapp.hands import plain_words_of
from tests.webapp.listed import listed, listing
from tests.webapp.test_themes import analysed
from themescope.core.labelling import operations as op
from themescope.core.labelling.partition import Cluster, Partition
from themescope.core.records.stored import Sharing
from themescope.db.records import NewLabelling, VectorBlock
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features import map
from themescope.webapp.features.map import colourings, controls, figure
from themescope.webapp.features.map.colourings import ColouredView
from themescope.webapp.features.map.figure import FigureSettings
from themescope.webapp.map_view import component
from themescope.webapp.map_view import scene as map_scene
from themescope.webapp.map_view.scene import frame_of
from themescope.webapp.shared import compare_queries, queries
from themescope.webapp.shared.figures import tones

Open = Callable[..., AppTest]
__all__ = ["analysed"]
ALL = "0_0_65535_0_65535_65535_0_65535"
"""A shape around everything."""


@pytest.fixture
def vectors(filled_store: Store) -> None:
    """Sentence i of an article has the vector (1, i)."""
    with filled_store.writing() as w:
        blocks = [
            VectorBlock(a.id, np.stack([np.ones(a.sentences), np.arange(a.sentences)], axis=1).astype(np.float32))
            for a in w.corpora.articles(1)
        ]
        w.embeddings.add(1, blocks)


def test_the_nearest_of_a_sentence_are_listed_with_their_similarity(vectors: None, open_page: Open) -> None:
    at = open_page("map", articles="Danube", similar="1", nearest="5")
    found = listed(at)
    assert "5 units found" in plain_words_of(at)
    assert "search units similar to “Danube lead paragraph 0 sentence 0" in plain_words_of(at)
    assert [row["note"] for row in found] == ["0.707", "0.447", "0.316", "0.243", "0.196"]
    assert found[0]["text"] == "Danube lead paragraph 0 sentence 1 has some words."
    at.button(key="map_drawer-clear").click().run()
    assert not at.exception and not listed(at) and map.SIMILAR not in at.query_params


def test_a_search_that_the_model_cannot_answer_is_told(vectors: None, open_page: Open) -> None:
    at = open_page("map", search="water", match="meaning")
    assert not at.exception and "0 units found" in plain_words_of(at)
    assert "is not the digest of an artifact" in plain_words_of(at)


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


def test_an_address_of_nonsense_shows_the_map(filled_store: Store, open_page: Open) -> None:
    at = open_page("map", shape="1_2_x", sentence="-4", hidden="99999", camera="nan_1_1", similar="9" * 30, colour="?")
    assert not at.exception and not listed(at)


def test_the_map_of_an_article_is_fitted_to_it(
    filled_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    canvases = seen(monkeypatch)
    at = open_page("map", corpus=CORPUS, camera="1_2_3")
    at.session_state[map.ARTICLES] = ["Danube"]
    at.run()
    canvas = canvases[-1]
    assert at.query_params[map.ARTICLES] in ("Danube", ["Danube"])
    assert at.session_state[f"{map.SELECTION}_{queries.maps(1)[0].digest}"].camera is None
    assert len(canvas.scene.ids) == 24
    assert list(canvas.frame) == frame_of(canvas.scene.units) != frame_of(map_scene.opened(queries.maps(1)[0]).units)


def test_a_map_opens_by_themes_and_that_of_an_article_by_its_sections(
    analysed: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with analysed.writing() as w:
        (run,) = w.runs.list(kind="themes")
        of_rivers = w.runs.table.update().where(w.runs.table.c.id == run.id)
        w.runs.connection.execute(of_rivers.values(config={**run.config, "corpus_id": 1}))
    canvases = seen(monkeypatch)
    views: list[dict[str, str]] = [{}, {"articles": "Danube"}]
    coloured = [open_page("map", corpus=CORPUS, **view) and canvases[-1].page["colour"]["chosen"] for view in views]
    assert coloured[0].startswith("2 themes by") and coloured[1] == "Section"


def seen(monkeypatch: pytest.MonkeyPatch) -> list[component.Canvas]:
    """The canvases that are drawn from now on."""
    canvases: list[component.Canvas] = []
    monkeypatch.setattr(component, "interactive", lambda canvas, *_: canvases.append(canvas))
    return canvases


def test_a_map_is_drawn_by_every_colouring_and_old_names_of_them_are_known(
    filled_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    canvases = seen(monkeypatch)
    at = open_page("map", corpus=CORPUS, colour="Article")
    assert canvases[-1].page is not None and canvases[-1].page["colour"]["chosen"] == "Text"
    names = canvases[-1].page["colour"]["options"]
    assert {"Section", "Text", "Split"} <= set(names)
    for name in names:
        at.session_state[map.COLOUR] = name
        at.run()
        assert not at.exception and not at.error and canvases[-1].page["colour"]["chosen"] == name
        assert at.query_params[map.COLOUR] in (name, [name])


def test_what_a_menu_of_the_map_asks_for_is_drawn(filled_store: Store, open_page: Open) -> None:
    at = open_page("map", corpus=CORPUS)
    record = queries.maps(1)[0]

    def ask(what: str, value: str = "") -> str:
        at.session_state[f"{map.SELECTION}_{record.digest}"].asked = (what, value)
        at.run()
        assert not at.exception and not at.error
        return plain_words_of(at)

    ask("colour", "Split")
    assert at.query_params[map.COLOUR] in ("Split", ["Split"])
    ask("all")
    assert len(listed(at)) == 40 and "72 units" in plain_words_of(at)
    assert "all units shown on map Rivers by vectors · coloured by Split" in plain_words_of(at)
    ask("filter")
    at.text_input(key=f"{map.SEARCH}_field").set_value("nile").run()
    assert "24 units found among 72 selected" in plain_words_of(at)
    ask("display")
    at.slider(key=f"{map.OPACITY}_field").set_value(0.5).run()
    assert at.query_params[map.OPACITY] in ("0.5", ["0.5"])
    at.button(key="map_panel_close").click().run()
    assert not at.slider
    assert "of the 15 nearest neighbours of a unit stay close on the map" in ask("about")
    ask("figure")
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
    canvas = component.Canvas(
        scene=scene, colouring=colouring, units=scene.units, found=rows, tones=tones("dark"), size=3,
        opacity=0.5, height=400, frame=[0, 0, 9, 9], name="x",
    )  # fmt: skip
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
