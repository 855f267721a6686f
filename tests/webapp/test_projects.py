"""The project that a page shows, whatever names it; its steps, and the results of jobs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from tests.db.texts import add_texts
from tests.webapp.filled import BENCHMARK, CORPUS, MAP, SET, end_job, fill, of_sections
from tests.webapp.hands import Open, import_from, jobs_of, press, words_of
from themescope.core.records.stored import JobStatus
from themescope.core.types import Article, Paragraph, Section
from themescope.db import tables as t
from themescope.db.engine import open_engine
from themescope.db.store import Store
from themescope.jobs.queue import control as commands
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.pipeline import queue_pipeline
from themescope.webapp.features import REGISTRY
from themescope.webapp.features.texts import import_form
from themescope.webapp.shared import header
from themescope.webapp.shared.pages import MENU, MORE, PLACES, by_place, place_of

OTHER = "Mountains"


@pytest.fixture
def two(filled_store: Store) -> Store:
    """A second project, imported later, in which nothing was made."""
    with filled_store.writing() as w:
        add_texts(w, OTHER, [Article("Alps", (Section("Alps", 2, (Paragraph("", ("High.",)),), ()),))])
    return filled_store


def at_hand(at: AppTest) -> tuple[str, str]:
    """The project of a page in its session and its address."""
    assert not at.error
    named = at.query_params["corpus"]
    return str(at.session_state["corpus"]), named if isinstance(named, str) else named[0]


@pytest.mark.usefixtures("two")
def test_an_address_opens_the_project_of_what_it_names(open_page: Open) -> None:
    for page, key, name in (("map", "map", MAP), ("compare", "benchmark", BENCHMARK), ("triplets", "set", SET)):
        assert at_hand(open_page(page, **{key: name})) == (CORPUS, CORPUS), page


def test_the_project_that_was_used_last_comes_first(
    two: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as browser:
        browser.setattr("themescope.webapp.shared.projects._remembered", lambda: 1)
        assert at_hand(open_page("home")) == (CORPUS, CORPUS)
    later = datetime.now(UTC) + timedelta(hours=1)
    with open_engine(two.settings).begin() as connection:
        connection.execute(sa.update(t.map_).where(t.map_.c.name == MAP).values(created=later))
    assert at_hand(open_page("map")) == (CORPUS, CORPUS)


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("page", ["home", "code"])
def test_a_link_to_an_unknown_project_shows_nothing_of_another_one(page: str, open_page: Open) -> None:
    at = open_page(page, corpus="**gone**")
    assert "There is no project called “\\*\\*gone\\*\\*”" in words_of(at)
    assert CORPUS not in words_of(at) and not at.selectbox and not at.metric and not at.dataframe
    assert CORPUS not in at.run().session_state["corpus"]
    at.session_state["frame_project_menu_0"] = True
    next(b for b in at.run().button if b.label == CORPUS).click().run()
    assert at_hand(at) == (CORPUS, CORPUS)


RECORDS = [
    ("map", "map", "map"),
    ("map", "selection", "selection"),
    ("code", "labelling", "coding"),
    ("train", "model", "model"),
    ("tasks", "task", "task"),
    ("texts", "article", "text"),
    ("estimates", "labellings", "coding"),
    ("themes", "result", "themes"),
]


def test_a_link_to_no_record_shows_no_other(filled_store: Store, open_page: Open) -> None:
    of_sections(filled_store)
    for page, key, what in RECORDS:
        view = {"texts": {"view": "Read"}, "code": {"view": "Edit"}}.get(page, {})
        at = open_page(page, corpus=CORPUS, **view, **{key: "gone"})
        be = "are" if what.endswith("s") else "is"
        assert f"There {be} no {what} called “gone” in this project" in words_of(at).replace("\\", "")
        assert not at.selectbox and not at.dataframe and not at.metric, page
        press(at.run(), "Open the page without it")
        assert "There is no" not in words_of(at), page


@pytest.mark.usefixtures("two")
def test_a_project_is_deleted_by_its_name_only(filled_store: Store, open_page: Open) -> None:
    at = open_page("home", corpus=CORPUS)
    left = []
    for typed in ("", CORPUS, OTHER):
        at.menu_button(key="home-menu-2").click("Delete …").run()
        at.text_input(key="confirm_typed").set_value(typed)
        press(at, "Delete")
        with filled_store.reading() as r:
            left.append([corpus.name for corpus in r.corpora.list()])
    assert left == [[CORPUS, OTHER], [CORPUS, OTHER], [CORPUS]]
    at = open_page("texts")
    at.menu_button(key="texts_menu").click("Delete project …").run()
    assert "cannot be undone" in words_of(at)
    at.text_input(key="confirm_typed").set_value(CORPUS)
    press(at, "Delete")
    with filled_store.reading() as r:
        assert r.corpora.list() == []


@pytest.mark.usefixtures("two")
def test_a_project_is_renamed_where_it_is_used(filled_store: Store, open_page: Open) -> None:
    def rename(at: AppTest, menu: str, option: str, name: str) -> AppTest:
        at.menu_button(key=menu).click(option).run()
        next(field for field in at.text_input if field.label == "Project name").set_value(name)
        return press(at, "Rename")

    with filled_store.reading() as r:
        ids = {corpus.name: corpus.id for corpus in r.corpora.list()}
    at = rename(open_page("texts", corpus=CORPUS), "texts_menu", "Rename project …", "Towns of old")
    assert at_hand(at.run()) == ("Towns of old", "Towns of old")
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
    press(at, OTHER)
    assert at_hand(at) == (OTHER, OTHER)
    assert "triplets_set" not in at.query_params and "has no sections" in words_of(at)


def test_a_new_project_is_a_click_away_also_without_any(sqlite_store: Store, open_page: Open) -> None:
    at = open_page("texts")
    at.session_state["frame_project_menu_0"] = True
    assert "New project" in [link.proto.label for link in at.run().get("page_link")]


def test_every_page_has_a_place_or_is_in_the_menu() -> None:
    placed = by_place(REGISTRY)
    assert [place.title for place in placed] == ["Project", "Themes", "Code", "Results", "Lab"]
    assert {card.id for card in REGISTRY if place_of(card) is None} == {"home", "jobs", "people"}
    named = {card.group for card in REGISTRY} - {MENU}
    assert named == {place.title for place in PLACES if place is not MORE}


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


def kinds(store: Store) -> list[str]:
    with store.reading() as r:
        return [job.kind for job in reversed(r.jobs.list(status=JobStatus.QUEUED))]


@pytest.fixture
def towns(sqlite_store: Store, import_folder: Path) -> Path:
    path = import_folder / "towns.md"
    path.write_text("# Towns\n\n## History\n\nIt was founded in 1204.\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("only", [False, True])
def test_an_import_is_followed_by_the_rest(sqlite_store: Store, towns: Path, open_page: Open, only: bool) -> None:
    at = import_from(open_page("import"), towns)
    if only:
        next(t for t in at.toggle if t.label == "Only import").set_value(True).run()
    press(at, "Import")
    assert kinds(sqlite_store) == ["import-corpus", *([] if only else ["embed", "find-themes", "project"])]
    assert "towns" in words_of(at) and "waiting" in words_of(at)


def test_a_click_that_is_answered_twice_imports_once(
    sqlite_store: Store, towns: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the first run of the page had been interrupted after it queued the jobs."""
    monkeypatch.setattr(import_form, "_empty", lambda turn: None)
    press(press(import_from(open_page("import"), towns), "Import"), "Import")
    assert kinds(sqlite_store) == ["import-corpus", "embed", "find-themes", "project"]


def test_steps_of_a_project_with_cancel_retry_and_dismiss(filled_store: Store, open_page: Open) -> None:
    jobs = queue_pipeline(filled_store, CORPUS, "en")
    at = open_page("home")
    assert all(f"**{name}**" in words_of(at) for name in ("Import", "Embed", "Themes", "Map"))
    at.session_state["followed_jobs"] = [job.id for job in jobs]
    press(at.run(), "Cancel all")
    assert kinds(filled_store) == [] and "cancelled" in words_of(at)
    press(at, "Retry")
    assert kinds(filled_store) == ["embed", "find-themes", "project"]
    press(at, "Dismiss")
    assert at.session_state["followed_jobs"] == []


def test_an_imported_project_is_opened_once_it_is_there(sqlite_store: Store, towns: Path, open_page: Open) -> None:
    fill(sqlite_store)
    at = press(import_from(open_page("import", corpus=CORPUS), towns), "Import")
    assert at_hand(at)[1] == CORPUS
    (args,) = jobs_of(sqlite_store, "import-corpus")
    run_here(sqlite_store, "import-corpus", args, quiet=True)  # as the worker does
    at.run()
    assert at_hand(at)[1] == "towns"
    assert "waiting" in words_of(at) and not at.get("file_uploader")  # the page Themes, where they will be
    at.session_state["frame_project_menu_2"] = True
    next(b for b in at.run().button if b.label == CORPUS).click().run()  # the person may go back
    assert at_hand(at)[1] == CORPUS
    at.run()
    assert at_hand(at)[1] == CORPUS


def test_a_set_and_a_map_that_were_made_are_a_click_away(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        made = end_job(w, "build-triplets", args={"corpus": CORPUS}, result={"triplets": SET})
        drawn = end_job(w, "project", args={"corpus": CORPUS}, result={"map": MAP})
    for page, job, key, name in (("triplets", made, "triplets_set", SET), ("map", drawn, "map_map", MAP)):
        at = open_page(page)
        at.session_state["followed_jobs"] = [job]
        at.run().button(key=f"open-{job}").click().run()
        assert at.session_state[key] == name


def test_the_tray_notices_a_job_that_ended_meanwhile(filled_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    reruns: list[bool] = []
    monkeypatch.setattr(header.st, "session_state", {})
    monkeypatch.setattr(header.st, "rerun", lambda: reruns.append(True))
    header._live(("find-themes",))
    assert not reruns
    with filled_store.writing() as w:
        end_job(w, "find-themes", args={"corpus": CORPUS})
    header._live(("find-themes",))
    assert reruns
