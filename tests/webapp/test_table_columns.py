"""A table on the page Corpora: its columns are chosen, typed and imported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from db.store import Store
from webapp.shared.input_files import SERVER_PATH

Open = Callable[..., AppTest]
CLAIMS = "claim,motion,score\nGames are violent.,games,1\nGames are fun.,games,2\nSmoking kills.,smoking,3\n"


@pytest.fixture(autouse=True)
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(tmp_path))


def form_of(path: Path, open_page: Open) -> AppTest:
    at = open_page("corpora", view="Import")
    at.session_state["corpora_import_source_0"] = SERVER_PATH
    at.session_state["corpora_import_path_0"] = str(path)
    return at.run()


def test_a_csv_file_is_a_table_with_columns(sqlite_store: Store, open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    path.write_text(CLAIMS, encoding="utf-8")
    at = form_of(path, open_page)
    assert not at.exception
    boxes = {box.label: box for box in at.selectbox}
    assert boxes["Text column"].value == "claim" and boxes["Title column (optional)"].value == "None"
    assert boxes["score"].format_func(boxes["score"].value) == "Number (detected)"
    boxes["score"].set_value("category").run()
    next(box for box in at.selectbox if box.label == "Title column (optional)").set_value("motion").run()
    assert "motion" not in {box.label for box in at.selectbox}
    next(button for button in at.button if button.label == "Import").click().run()
    assert not at.exception
    with sqlite_store.reading() as r:
        job = r.jobs.newest("import-corpus")
    assert (job.args["reader"], job.args["types"]) == ("table", {"score": "category"})
    assert {name: job.args["settings"][name] for name in ("text", "title", "rows")} == {
        "text": "claim", "title": "motion", "rows": "auto",
    }  # fmt: skip


def test_a_table_without_rows_is_refused(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("claim,motion\n", encoding="utf-8")
    at = form_of(path, open_page)
    assert not at.exception and "no rows" in at.warning[0].value
    assert not any(button.label == "Import" for button in at.button)
