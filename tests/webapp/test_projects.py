"""The project that a page shows: that of the address, of what the address names, of the session, or the last used."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import BENCHMARK, CORPUS, MAP, SET
from tests.webapp.hands import press, words_of
from themescope.core.records.stored import JobStatus
from themescope.core.types import Article, Paragraph, Section
from themescope.db import tables as t
from themescope.db.engine import open_engine
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.queue import control as commands
from themescope.jobs.services.labelling import starts
from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.pages import MENU, MORE, PLACES, by_place, place_of

Open = Callable[..., AppTest]
OTHER = "Mountains"


@pytest.fixture
def two(filled_store: Store) -> Store:
    """A second project, imported later, in which nothing was made."""
    with filled_store.writing() as w:
        corpus = w.corpora.create(OTHER, "en")
        w.corpora.add_articles(corpus.id, [Article("Alps", (Section("Alps", 2, (Paragraph("", ("High.",)),), ()),))])
        w.corpora.finish(corpus.id, {})
    return filled_store


def at_hand(at: AppTest) -> tuple[str, str]:
    """The project of a page in its session and its address."""
    assert not at.exception and not at.error
    named = at.query_params["corpus"]
    return str(at.session_state["corpus"]), named if isinstance(named, str) else named[0]


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("page", "query"), [("map", {"map": MAP}), ("compare", {"benchmark": BENCHMARK}), ("triplets", {"set": SET})]
)
def test_an_address_opens_the_project_of_what_it_names(open_page: Open, page: str, query: dict[str, str]) -> None:
    assert at_hand(open_page(page, **query)) == (CORPUS, CORPUS)


def test_the_project_used_last_comes_first_and_not_the_newest_import(two: Store, open_page: Open) -> None:
    later = datetime.now(UTC) + timedelta(hours=1)
    with open_engine(two.settings).begin() as connection:
        connection.execute(sa.update(t.map_).where(t.map_.c.name == MAP).values(created=later))
    assert at_hand(open_page("map")) == (CORPUS, CORPUS)


@pytest.mark.usefixtures("two")
def test_a_browser_remembers_its_last_project(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("themescope.webapp.shared.projects._remembered", lambda: 1)
    assert at_hand(open_page("home")) == (CORPUS, CORPUS)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("page", ["home", "code"])
def test_a_link_to_an_unknown_project_shows_nothing_of_another_one(page: str, open_page: Open) -> None:
    at = open_page(page, corpus="**gone**")
    assert "There is no project called “\\*\\*gone\\*\\*”" in words_of(at) and not at.exception
    assert CORPUS not in words_of(at) and not at.selectbox and not at.metric and not at.dataframe
    assert CORPUS not in at.run().session_state["corpus"]
    at.session_state["frame_project_menu_0"] = True
    next(b for b in at.run().button if b.label == CORPUS).click().run()
    assert at_hand(at) == (CORPUS, CORPUS)


@pytest.mark.parametrize(
    ("page", "key", "what"),
    [
        ("map", "map", "map"),
        ("map", "selection", "selection"),
        ("code", "labelling", "coding"),
        ("train", "model", "model"),
        ("tasks", "task", "task"),
        ("texts", "article", "text"),
        ("estimates", "labellings", "coding"),
        ("themes", "result", "themes"),
    ],
)
def test_a_link_to_an_unknown_record_shows_no_other_one(
    filled_store: Store, open_page: Open, page: str, key: str, what: str
) -> None:
    starts.begin(filled_store, NewLabelling(1, "Mine", ""), starts.from_sections)
    view = {"texts": "Read", "code": "Edit"}.get(page)
    at = open_page(page, corpus=CORPUS, **({"view": view} if view else {}), **{key: "gone"})
    be = "are" if what.endswith("s") else "is"
    assert f"There {be} no {what} called “gone” in this project" in words_of(at).replace("\\", "") and not at.exception
    assert not at.selectbox and not at.dataframe and not at.metric
    assert [b for b in at.run().button if b.label == "Open the page without it"]
    next(b for b in at.button if b.label == "Open the page without it").click().run()
    assert "There is no" not in words_of(at) and not at.exception


@pytest.mark.usefixtures("two")
def test_a_project_is_deleted_by_its_name_only(filled_store: Store, open_page: Open) -> None:
    at = open_page("home", corpus=CORPUS)
    left = []
    for typed in ("", CORPUS, OTHER):
        at.menu_button(key="home-menu-2").click("Delete …").run()
        at.text_input(key="confirm_typed").set_value(typed)
        next(b for b in at.button if b.label == "Delete").click().run()
        with filled_store.reading() as r:
            left.append([corpus.name for corpus in r.corpora.list()])
    assert left == [[CORPUS, OTHER], [CORPUS, OTHER], [CORPUS]]


@pytest.mark.usefixtures("two")
def test_a_project_is_renamed_where_it_is_used(filled_store: Store, open_page: Open) -> None:
    def rename(at: AppTest, menu: str, option: str, name: str) -> AppTest:
        at.menu_button(key=menu).click(option).run()
        next(field for field in at.text_input if field.label == "Project name").set_value(name)
        return press(at, "Rename")

    with filled_store.reading() as r:
        ids = {corpus.name: corpus.id for corpus in r.corpora.list()}
    at = rename(open_page("texts", corpus=CORPUS), "texts_menu", "Rename project …", "Towns of old")
    assert not at.exception and at_hand(at.run()) == ("Towns of old", "Towns of old")
    home = rename(open_page("home"), f"home-menu-{ids[OTHER]}", "Rename …", "Towns of old")  # taken
    rename(home, f"home-menu-{ids[OTHER]}", "Rename …", "Letters")
    with filled_store.reading() as r:
        found = {corpus.name: corpus.id for corpus in r.corpora.list()}
    assert found == {"Towns of old": ids[CORPUS], "Letters": ids[OTHER]}


@pytest.mark.usefixtures("two")
def test_the_switcher_opens_another_project_and_forgets_the_view_of_the_first(open_page: Open) -> None:
    at = open_page("triplets", set=SET, corpus=CORPUS)
    at.session_state["frame_project_menu_1"] = True
    at.run()
    assert at.button(key="frame_project_1").disabled and [b.label for b in at.button if b.label == OTHER]
    next(b for b in at.button if b.label == OTHER).click().run()
    assert at_hand(at) == (OTHER, OTHER)
    assert "triplets_set" not in at.query_params and "has no sections" in words_of(at)


def test_a_new_project_is_a_click_away_also_without_any(sqlite_store: Store, open_page: Open) -> None:
    at = open_page("texts")
    at.session_state["frame_project_menu_0"] = True
    assert "New project" in links_of(at.run())


def test_every_page_has_a_place_or_is_in_the_menu() -> None:
    placed = by_place(REGISTRY)
    assert [place.title for place in placed] == ["Project", "Themes", "Code", "Results", "Lab"]
    assert {card.id for card in REGISTRY if place_of(card) is None} == {"home", "jobs", "people"}
    named = {card.group for card in REGISTRY} - {MENU}
    assert named == {place.title for place in PLACES if place is not MORE}


def links_of(at: AppTest) -> set[str]:
    """The labels of the links on a page."""
    assert not at.exception and not at.error
    return {link.proto.label for link in at.get("page_link")}


def test_a_cancelled_training_stays_on_its_page_and_goes_on(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        job = w.jobs.add("train", "Train a net", {"method": "mean-vectors", "name": "net"})
    commands.cancel(filled_store, job.id)
    at = open_page("train")
    assert "**Train a net**" in words_of(at)
    resume = at.button(key=f"retry-{job.id}")
    assert resume.label == "Resume"
    resume.click().run()
    with filled_store.reading() as r:
        assert r.jobs.get(job.id).status is JobStatus.QUEUED
    assert f"retry-{job.id}" not in [b.key for b in at.button]


def test_who_saves_a_label_was_seen(filled_store: Store) -> None:
    with filled_store.writing() as w:
        w.people.check_may_write("ada")
    with filled_store.reading() as r:
        assert [person.seen is not None for person in r.people.list() if person.name == "ada"] == [True]
