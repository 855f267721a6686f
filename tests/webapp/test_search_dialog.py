"""The search dialog: what is found, where it leads, and what it does."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.db.texts import add_corpus, add_texts
from tests.webapp.filled import CORPUS, HOSTILE, MODEL, of_sections
from tests.webapp.hands import Open, sent
from tests.webapp.test_texts import drawn
from themescope.core.labelling import operations as op
from themescope.core.types import Article, Paragraph, Section
from themescope.db.store import Store
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.search import find_everything, holds, parsed, sentences_for
from themescope.webapp.features import REGISTRY
from themescope.webapp.shared import search
from themescope.webapp.shared.search import Listed, link_of


def asked(at: AppTest, text: str) -> dict[str, list[dict[str, str]]]:
    """Type a text into the dialog; the titles of the groups and their items."""
    at.session_state["search_asked"] = {"number": 7, "text": text, "meaning": False}
    at.run()
    data = sent(at, "themescope_search")
    assert (data["number"], data["label"], data["way"]) == (7, "Search", "By meaning, in this project")
    return {group["title"]: group["items"] for group in data["groups"]}


def kinds(store: Store, text: str) -> dict[str, list[str]]:
    return {group.kind: [result.title for result in group.results] for group in find_everything(store, text)}


def test_everything_that_contains_the_words_is_found(filled_store: Store) -> None:
    found = kinds(filled_store, "danube course")
    assert list(found) == ["Units"] and all("Danube Course" in text for text in found["Units"])
    first = kinds(filled_store, "paragraph 1 sentence 0")["Units"][0]
    assert "paragraph 1 sentence 0" in first and kinds(filled_store, "danube")["Texts"] == ["Danube"]
    assert kinds(filled_store, "RIVERS")["Projects"] == [CORPUS]
    assert kinds(filled_store, "vectors")["Models"] == [MODEL]


HOUSES = ["The rent is high", "Parents pay", "New flats and parks", "flats, new ones", "Don’t RENT here"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("rent", [0, 1, 4]),
        ('"rent"', [0, 4]),
        ("“new flats”", [2]),
        ("new flats", [2, 3]),
        ('"rent" here OR parks', [2, 4]),
        ("don't", [4]),
        ('OR "', []),
    ],
)
def test_every_search_reads_quotes_and_alternatives_alike(sqlite_store: Store, text: str, places: list[int]) -> None:
    with sqlite_store.writing() as w:
        paragraphs = tuple(Paragraph("", (one,)) for one in HOUSES)
        corpus, _ = add_texts(w, "Houses", [Article("Answers", (Section("", 1, paragraphs, ()),))])
    found = [HOUSES[place] for place in places]
    query = parsed(text)
    assert [one for one in HOUSES if query and holds(one, query)] == found
    assert sorted(kinds(sqlite_store, text).get("Units", [])) == sorted(found)
    ids = sentences_for(sqlite_store, corpus, query)
    with sqlite_store.reading() as r:
        known = r.corpora.sentences_by_id(ids)
    assert sorted(one.text for one in known.values()) == sorted(found)


def test_results_of_other_projects_are_counted_apart(sqlite_store: Store) -> None:
    first, second = add_corpus(sqlite_store, "one", 2), add_corpus(sqlite_store, "two", 3)
    for corpus, own in ((first, 2), (second, 3)):
        (group,) = [g for g in find_everything(sqlite_store, "article", corpus.id) if g.kind == "Texts"]
        assert (group.count, group.here) == (5, own) and {r.project for r in group.results[:own]} == {corpus.name}
        counted = Listed(group, [link_of("Texts", result) for result in group.results]).data()["count"]
        assert counted == f"{own} in this project, {5 - own} in others"


def test_themes_of_this_project_come_first(sqlite_store: Store) -> None:
    corpora = [add_corpus(sqlite_store, name, 2) for name in ("one", "two")]
    with sqlite_store.writing() as w:
        for corpus in corpora:
            found = {"corpus_id": corpus.id, "settings": {}, "themes": [{"name": "gun laws", "size": 2}]}
            w.runs.add(kind="themes", digest=corpus.name, model_id=None, clusterer="iclust", seconds=1.0, config=found,
                       assignments={})  # fmt: skip
    for corpus in corpora:
        (group,) = [g for g in find_everything(sqlite_store, "gun", corpus.id) if g.kind == "Themes"]
        assert group.results[0].project == corpus.name


def test_every_result_leads_to_a_view_of_a_page(filled_store: Store) -> None:
    for text in ("danube", "rivers", "vectors"):
        for group in find_everything(filled_store, text):
            for result in group.results:
                link = link_of(group.kind, result)
                keys = REGISTRY.get(link.page).page_keys()
                # A key that the page does not have raises UnknownNameError.
                assert keys is None or len(keys.address(link.view)) == len(link.view)


def test_a_sentence_opens_its_article_at_the_sentence(filled_store: Store, open_page: Open) -> None:
    (group,) = [g for g in find_everything(filled_store, "nile fauna paragraph 1 sentence 1") if g.kind == "Units"]
    link = link_of("Units", group.results[0])
    at = open_page(link.page, **{key: str(value) for key, value in link.view.items()})
    shown = [sentence for sentence in drawn(at) if sentence.get("focus")]
    assert [s["text"] for s in shown] == [group.results[0].title] and "Nile" in group.results[0].title


def test_codes_pages_sections_and_hostile_titles_are_found_as_text(
    filled_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    record = of_sections(filled_store)
    session = LabellingSession(filled_store, record.id, "")
    session.do(op.rename(session.snapshot.partition, 1, "Dredging"))
    titles = {"Lasso and box": [[0, "lasso"]], "Maps": [[0, None]]}
    index = json.dumps({"docnames": ["maps"], "titles": ["Maps"], "alltitles": titles})
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({index})", encoding="utf-8")
    monkeypatch.setattr(search, "SITE", tmp_path)
    at = open_page("home", corpus=CORPUS)
    assert asked(at, "dredging")["Codes"] == [{"title": "Dredging", "detail": "Mine", "address": ""}]
    assert asked(at, "map")["Pages"][0]["title"] == "Map"
    assert asked(at, "onerror")["Texts"][0]["title"] == HOSTILE
    section = {"title": "Lasso and box", "detail": "Maps", "address": "/docs/maps.html#lasso"}
    assert asked(at, "lasso")["Documentation"] == [section]


def chosen(at: AppTest, text: str, title: str) -> AppTest:
    """Type a text and choose a result by its title."""
    options = [item["title"] for items in asked(at, text).values() for item in items]
    at.session_state["search_chosen"] = {"number": 7, "place": options.index(title)}
    return at.run()


def test_actions_are_listed_at_first_and_lead_to_views(filled_store: Store, open_page: Open) -> None:
    at = open_page("home", corpus=CORPUS)
    groups = asked(at, "")
    assert [*groups] == ["Actions"]
    assert {"Add texts", "New coding", "New task"} <= {item["title"] for item in groups["Actions"]}
    for _, links in [at.session_state["search_listed"]]:
        for link in links:
            keys = REGISTRY.get(link.page).page_keys() if link.page else None
            assert keys is None or keys.address(link.view) is not None
    at.session_state["search_chosen"] = {"number": 6, "place": 0}  # of an earlier answer
    assert at.run().session_state["navigation_current"] == "home"
    chosen(at, "", "New task")
    assert at.session_state["tasks_view"] == "New task"


def test_units_become_the_selection(filled_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    offered: list[list[int]] = []
    monkeypatch.setattr(search.selections, "offer", lambda corpus_id, ids, origin: offered.append([*ids]))
    at = chosen(open_page("home", corpus=CORPUS), "danube course", "Select the units with “danube course”")
    assert at.session_state["navigation_current"] == "map"
    (ids,) = offered
    assert len(ids) > 1


def test_an_action_is_done_and_its_error_stays(filled_store: Store, open_page: Open) -> None:
    record = of_sections(filled_store)
    session = LabellingSession(filled_store, record.id, "")
    session.do(op.rename(session.snapshot.partition, 1, "Better"))
    undo = "Undo my last change in “Mine”"
    at = chosen(open_page("home", corpus=CORPUS), "undo", undo)
    assert at.session_state["code_labelling"] == "Mine"
    with filled_store.reading() as r:
        assert r.labellings.clusters(record.id)[1].name != "Better"
    at = chosen(open_page("home", corpus=CORPUS), "undo", undo)
    (told,) = (toast.value.replace("\\", "") for toast in at.toast)
    assert told == "You changed nothing in “Mine” that could be undone."
