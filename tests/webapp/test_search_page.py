"""Search of everything: what is found, where it leads, and the page with its address."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, HOSTILE, MODEL
from themescope.core.labelling import operations as op
from themescope.db.label_records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.everything import find_everything
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features import REGISTRY
from themescope.webapp.features.search import found as actions
from themescope.webapp.features.search import found as links
from themescope.webapp.features.search.found import link_of
from themescope.webapp.shared import queries

Open = Callable[..., AppTest]


def box_of(at: AppTest) -> dict[str, object]:
    """The data that the search box of the page draws."""
    (found,) = [e.proto for e in at.get("bidi_component") if e.proto.component_name == "themescope_search_box"]
    return dict(json.loads(found.json))


def kinds(store: Store, text: str) -> dict[str, list[str]]:
    return {group.kind: [result.title for result in group.results] for group in find_everything(store, text)}


def test_everything_that_contains_the_words_is_found(filled_store: Store) -> None:
    found = kinds(filled_store, "danube course")
    assert list(found) == ["Sentences"] and all("Danube Course" in text for text in found["Sentences"])
    first = kinds(filled_store, "paragraph 1 sentence 0")["Sentences"][0]
    assert "paragraph 1 sentence 0" in first and kinds(filled_store, "danube")["Articles"] == ["Danube"]
    assert kinds(filled_store, "RIVERS")["Projects"] == [CORPUS]
    assert kinds(filled_store, "vectors")["Models"] == [MODEL]


def test_every_result_leads_to_a_view_of_a_page(filled_store: Store) -> None:
    for text in ("danube", "rivers", "vectors"):
        for group in find_everything(filled_store, text):
            for result in group.results:
                link = link_of(group.kind, result)
                keys = REGISTRY.get(link.page).page_keys()
                # A key that the page does not have raises UnknownNameError.
                assert keys is None or len(keys.address(link.view)) == len(link.view)


def test_a_sentence_opens_its_article_at_the_sentence(filled_store: Store, open_page: Open) -> None:
    (group,) = [g for g in find_everything(filled_store, "nile fauna paragraph 1 sentence 1") if g.kind == "Sentences"]
    link = link_of("Sentences", group.results[0])
    at = open_page(link.page, **{key: str(value) for key, value in link.view.items()})
    (found,) = [e.proto for e in at.get("bidi_component") if e.proto.component_name == "themescope_reader"]
    shown = [s for part in json.loads(found.json)["sections"] for p in part["paragraphs"] for s in p if s.get("focus")]
    assert [s["text"] for s in shown] == [group.results[0].title] and "Nile" in group.results[0].title


def test_the_page_shows_the_results_of_its_address(filled_store: Store, open_page: Open) -> None:
    at = open_page("search", q="danube", corpus=CORPUS)
    assert not at.exception
    data = box_of(at)
    assert data["query"] == "danube"
    titles = {group["title"]: group["count"] for group in data["groups"]}  # type: ignore[attr-defined]
    assert titles["Articles"] == "1" and titles["Sentences"] == "24"


def test_pages_and_hostile_titles_are_text(filled_store: Store, open_page: Open) -> None:
    groups = {group["title"]: group["items"] for group in box_of(open_page("search", q="map"))["groups"]}  # type: ignore[attr-defined]
    assert groups["Pages"][0]["title"] == "Map"
    groups = {group["title"]: group["items"] for group in box_of(open_page("search", q="onerror"))["groups"]}  # type: ignore[attr-defined]
    assert groups["Articles"][0]["title"] == HOSTILE


def test_sections_of_the_documentation(
    filled_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    index = {
        "docnames": ["maps"],
        "titles": ["Maps"],
        "alltitles": {"Lasso and box": [[0, "lasso"]], "Maps": [[0, None]]},
    }
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({json.dumps(index)})", encoding="utf-8")
    monkeypatch.setattr(links, "SITE", tmp_path)
    groups = {g["title"]: g["items"] for g in box_of(open_page("search", q="lasso"))["groups"]}  # type: ignore[attr-defined]
    assert groups["Documentation"] == [{"title": "Lasso and box", "detail": "Maps", "address": "/docs/maps.html#lasso"}]


def chosen(at: AppTest, title: str) -> AppTest:
    """Choose a result of the box by its title."""
    options = [item["title"] for group in box_of(at)["groups"] for item in group["items"]]  # type: ignore[attr-defined]
    at.session_state["search_chosen"] = options.index(title)
    return at.run()


def test_actions_are_listed_at_first_and_lead_to_views(filled_store: Store, open_page: Open) -> None:
    at = open_page("search", corpus=CORPUS)
    (group,) = box_of(at)["groups"]  # type: ignore[misc]
    titles = [item["title"] for item in group["items"]]
    assert group["title"] == "Actions" and {"Import files", "New labelling", "New task"} <= {*titles}
    for listed in (actions.matching((), record) for record in queries.corpora()):
        for link in listed.links:
            keys = REGISTRY.get(link.page).page_keys() if link.page else None
            assert keys is None or keys.address(link.view) is not None
    assert not chosen(at, "New labelling").exception
    assert at.session_state["code_view"] == "New labelling"


def test_an_action_is_done_and_its_error_stays(filled_store: Store, open_page: Open) -> None:
    new = NewLabelling(1, "Mine", "")
    record = starts.begin(filled_store, new, starts.from_sections)
    session = LabellingSession(filled_store, record.id, "")
    session.do(op.rename(session.snapshot.partition, 1, "Better"))
    undo = "Undo my last change in “Mine”"
    at = chosen(open_page("search", corpus=CORPUS, q="undo"), undo)
    assert not at.exception and at.session_state["code_labelling"] == "Mine"
    with filled_store.reading() as r:
        assert r.labellings.clusters(record.id)[1].name != "Better"
    at = chosen(open_page("search", corpus=CORPUS, q="undo"), undo)
    (told,) = (toast.value.replace("\\", "") for toast in at.toast)
    assert told == "You changed nothing in “Mine” that could be undone."
