"""Steps of a project, and the results of jobs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, MAP, SET, fill
from tests.webapp.hands import press, words_of
from themescope.core.records.stored import JobStatus
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.pipeline import queue_pipeline
from themescope.webapp.features.texts import import_form
from themescope.webapp.shared import header

Open = Callable[..., AppTest]
LINES = "\n".join(f"Sentence {i} about rivers and their towns." for i in range(8))


def kinds(store: Store, status: JobStatus = JobStatus.QUEUED) -> list[str]:
    with store.reading() as r:
        return [job.kind for job in reversed(r.jobs.list(status=status))]


@pytest.fixture
def folders(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(tmp_path))
    path = tmp_path / "towns.md"
    path.write_text("# Towns\n\n## History\n\nIt was founded in 1204.\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("only", [False, True])
def test_an_import_is_followed_by_the_rest_unless_switched_off(
    sqlite_store: Store, folders: Path, open_page: Open, only: bool
) -> None:
    at = open_page("import")
    at.session_state["texts_import_source_0"] = "Server path"
    at.session_state["texts_import_path_0"] = str(folders)
    at.run()
    if only:
        next(t for t in at.toggle if t.label == "Only import").set_value(True).run()
    press(at, "Import")
    assert not at.exception
    assert kinds(sqlite_store) == ["import-corpus", *([] if only else ["embed", "find-themes", "project"])]
    assert "towns" in words_of(at) and "waiting" in words_of(at)


def test_a_click_that_is_answered_twice_imports_once(
    sqlite_store: Store, folders: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the first run of the page had been interrupted after it queued the jobs."""
    monkeypatch.setattr(import_form, "_empty", lambda turn: None)
    at = open_page("import")
    at.session_state["texts_import_source_0"] = "Server path"
    at.session_state["texts_import_path_0"] = str(folders)
    press(press(at.run(), "Import"), "Import")
    assert not at.exception and kinds(sqlite_store) == ["import-corpus", "embed", "find-themes", "project"]


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


def test_pasted_text_is_taken_by_the_click_that_sends_it(sqlite_store: Store, open_page: Open) -> None:
    at = open_page("home")
    at.text_area(key="home_pasted").set_value(LINES)  # not sent yet, as before Ctrl+Enter
    press(press(at, "Find themes"), "Import")
    assert not at.exception
    assert kinds(sqlite_store) == ["import-corpus", "embed", "find-themes", "project"]


def project_of(at: AppTest) -> str:
    """The project in the address."""
    value = at.query_params["corpus"]
    return value if isinstance(value, str) else value[0]


def test_an_imported_project_is_opened_as_soon_as_it_is_there(
    sqlite_store: Store, folders: Path, open_page: Open
) -> None:
    fill(sqlite_store)
    at = open_page("import", corpus=CORPUS)
    at.session_state["texts_import_source_0"] = "Server path"
    at.session_state["texts_import_path_0"] = str(folders)
    at.run()
    press(at, "Import")
    assert project_of(at) == CORPUS
    with sqlite_store.reading() as r:
        (args,) = [job.args for job in r.jobs.list(status=JobStatus.QUEUED) if job.kind == "import-corpus"]
    run_here(sqlite_store, "import-corpus", dict(args), quiet=True)  # as the worker does
    at.run()
    assert not at.exception and project_of(at) == "towns"
    assert "waiting" in words_of(at) and not at.get("file_uploader")  # the page Themes, where they will be
    at.session_state["frame_project_menu_2"] = True
    next(b for b in at.run().button if b.label == CORPUS).click().run()  # the person may go back
    assert project_of(at) == CORPUS
    at.run()
    assert project_of(at) == CORPUS


def ended(store: Store, kind: str, args: dict[str, str], result: dict[str, str]) -> int:
    """The id of a job that has gone well."""
    with store.writing() as w:
        job = w.jobs.add(kind, f"Work of {kind}", args)
        w.jobs.claim(job.id, "vm:1:a")
        w.jobs.finish(job.id, "vm:1:a", JobStatus.DONE, result=result)
    return job.id


def test_a_set_and_a_map_that_were_made_are_a_click_away(filled_store: Store, open_page: Open) -> None:
    made = ended(filled_store, "build-triplets", {"corpus": CORPUS}, {"triplets": SET})
    at = open_page("triplets")
    at.session_state["followed_jobs"] = [made]
    at.run().button(key=f"open-{made}").click().run()
    assert not at.exception and at.session_state["triplets_set"] == SET
    drawn = ended(filled_store, "project", {"corpus": CORPUS}, {"map": MAP})
    at = open_page("map")
    at.session_state["followed_jobs"] = [drawn]
    at.run().button(key=f"open-{drawn}").click().run()
    assert not at.exception
    assert at.session_state["map_map"] == MAP


def test_the_tray_notices_a_job_that_ended_before_it_looked_again(
    filled_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    reruns: list[bool] = []
    monkeypatch.setattr(header.st, "session_state", {})
    monkeypatch.setattr(header.st, "rerun", lambda: reruns.append(True))
    header._live(("find-themes",))
    assert not reruns
    ended(filled_store, "find-themes", {"corpus": CORPUS}, {})
    header._live(("find-themes",))
    assert reruns
