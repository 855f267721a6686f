"""Bad input on a page: the sentence that the command and the job give, and no button that would queue a broken job."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.bad_files import write_bad
from themescope.db.store import Store
from themescope.webapp.shared.forms import SERVER_PATH

Open = Callable[..., AppTest]

SENTENCES = {
    "latin1.txt": "this line is not UTF-8 text, although 2 other lines are.",
    "nowhere.txt": "There is no file",
}


@pytest.fixture(autouse=True)
def folder_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages may read the files of the test by their path."""
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(tmp_path))


@pytest.mark.parametrize("name", SENTENCES)
def test_a_file_that_cannot_be_imported(
    name: str, sqlite_store: Store, open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name if name == "nowhere.txt" else write_bad(tmp_path, name)
    at = open_page("import")
    at.session_state["texts_import_source_0"] = SERVER_PATH
    at.session_state["texts_import_path_0"] = str(path)
    at.run()
    assert not at.exception
    assert SENTENCES[name] in "\n".join(error.value.replace("\\", "") for error in at.error)
    assert not any(button.label == "Import" for button in at.button)


def test_a_name_that_was_typed_just_before_the_click_counts(
    sqlite_store: Store, open_page: Open, tmp_path: Path
) -> None:
    path = tmp_path / "towns.md"
    path.write_text("# Towns\n\n## History\n\nIt was founded in 1204.\n", encoding="utf-8")
    at = open_page("import")
    at.session_state["texts_import_source_0"] = SERVER_PATH
    at.session_state["texts_import_path_0"] = str(path)
    at.run()
    # Both reach the server in one run: the button is still the one of the page as it was before the typing.
    next(field for field in at.text_input if field.label == "Project name").set_value(" My towns ")
    next(field for field in at.selectbox if field.label == "Language").set_value("de")
    next(button for button in at.button if button.label == "Import").click().run()
    assert not at.exception
    with sqlite_store.reading() as r:
        job = r.jobs.newest("import-corpus")
    assert (job.args["corpus"], job.args["language"]) == ("My towns", "de")
