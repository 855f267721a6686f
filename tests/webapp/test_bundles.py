"""Bundles: export and download on the page Texts, import as any file on the page Import."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, danube
from tests.webapp.hands import plain_words_of, press
from themescope.core.records.stored import JobStatus
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.webapp.features.texts import edits
from themescope.webapp.shared.input_files import SERVER_PATH

Open = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def folder_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages may read the files of the test by their path."""
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_a_bundle_is_exported_and_downloaded(filled_store: Store, open_page: Open) -> None:
    at = press(open_page("texts", view="Bundle and dataset", corpus=CORPUS), "Create bundle")
    assert not at.exception
    with filled_store.reading() as r:
        (job,) = [j for j in r.jobs.list(status=JobStatus.QUEUED) if j.kind == "export-bundle"]
    assert job.args["corpus"] == CORPUS and job.args["file"] == ""
    run_here(filled_store, "export-bundle", job.args, quiet=True)
    at = open_page("texts", view="Bundle and dataset", corpus=CORPUS)
    assert not at.exception
    assert "deleted after a week" in plain_words_of(at)


def test_a_bundle_is_looked_into_and_imported(filled_store: Store, open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    run_here(filled_store, "export-bundle", {"corpus": CORPUS, "file": str(path)}, quiet=True)
    at = open_page("import")
    at.session_state["texts_import_source_0"] = SERVER_PATH
    at.session_state["texts_import_path_0"] = str(path)
    at.run()
    assert "Project of Themescope (bundle): 3 texts, 72 units, 0 codings" in plain_words_of(at)
    at = press(at, "Import")
    with filled_store.reading() as r:
        (job,) = [j for j in r.jobs.list(status=JobStatus.QUEUED) if j.kind == "import-bundle"]
    assert job.args == {"file": str(path), "corpus": f"{CORPUS} 2"}


def test_the_report_has_only_labellings_that_the_person_may_see(
    filled_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelling = danube(filled_store, blind=True)
    made: dict[str, Callable[[], bytes]] = {}
    monkeypatch.setattr(edits, "download", lambda label, data, file, **options: made.update({file: data}))

    def reports(person: str) -> list[bytes]:
        at = open_page("texts", view="Bundle and dataset", corpus=CORPUS, person=person)
        assert not at.exception
        return [data() for data in made.values()]

    html, word = reports("")
    assert labelling.name in html.decode() and word.startswith(b"PK") and [*made][1].endswith(".docx")
    assert labelling.name not in reports("ben")[0].decode()
