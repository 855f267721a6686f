"""A table on the page Import: one line says what it becomes; its columns are chosen, typed and imported."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.columned import add_columns
from tests.webapp.filled import CORPUS
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.webapp.shared.forms import SERVER_PATH

Open = Callable[..., AppTest]
CLAIMS = "claim,motion,score\nGames are violent.,games,1\nGames are fun.,games,2\nSmoking kills.,smoking,3\n"


@pytest.fixture(autouse=True)
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(tmp_path))


def form_of(path: Path, open_page: Open) -> AppTest:
    at = open_page("import")
    at.session_state["texts_import_source_0"] = SERVER_PATH
    at.session_state["texts_import_path_0"] = str(path)
    return at.run()


def line_of(at: AppTest) -> str:
    """The line that says what the files become."""
    return next(text.value.replace("\\", "") for text in at.markdown if "units" in text.value or "Adds" in text.value)


def test_a_csv_file_is_a_table_with_columns(sqlite_store: Store, open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    path.write_text(CLAIMS, encoding="utf-8")
    at = form_of(path, open_page)
    assert not at.exception
    assert line_of(at) == "**3 rows = 3 units** · text: *claim* · 2 columns · UTF-8"
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


def test_a_doubtful_column_of_the_texts_is_asked(sqlite_store: Store, open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    likes, hates = (
        ("the quiet park near my house", "too much noise at night here"),
        ("red tape at the office", "no bus"),
    )
    rows = "".join(f"Anna,{one} {n},{two} {n}\n" for n, (one, two) in enumerate(zip(likes, hates, strict=True)))
    path.write_text("name,good,bad\n" + rows, encoding="utf-8")
    at = form_of(path, open_page)
    question = next(box for box in at.selectbox if box.label == "Which column has the texts?")
    assert question.value == "good" and "text: *good*" in line_of(at)
    assert any("*bad* has many too" in caption.value for caption in at.caption)
    question.set_value("bad").run()
    assert not at.exception and "text: *bad*" in line_of(at)


def test_files_are_added_to_a_project(filled_store: Store, open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    path.write_text(CLAIMS, encoding="utf-8")
    at = form_of(path, open_page)
    next(box for box in at.selectbox if box.label == "Project").set_value(CORPUS).run()
    assert not at.exception and "Project name" not in {box.label for box in at.text_input}
    assert next(box for box in at.text_input if box.label == "Wave").value == "wave 2"
    next(box for box in at.text_input if box.label == "Wave").set_value("spring").run()
    assert line_of(at).startswith("**Adds 3 units to the ")
    next(button for button in at.button if button.label == "Add to the project").click().run()
    assert not at.exception and "“spring” is being added to" in at.info[0].value
    with filled_store.reading() as r:
        job = r.jobs.newest("append-corpus")
    wanted = {"corpus": CORPUS, "wave": "spring", "date": "", "duplicates": "keep", "files": [str(path)]}
    assert {name: job.args[name] for name in wanted} == wanted


def test_a_table_is_added_as_those_before(filled_store: Store, open_page: Open, tmp_path: Path) -> None:
    """Text, title and kind of rows are those of the project, though the texts are long and another column is longer."""
    first, path = tmp_path / "first.csv", tmp_path / "claims.csv"
    first.write_text(CLAIMS, encoding="utf-8")
    rows = "".join(
        f"{'The tax is unfair. It hurts. ' * 15},{'A very long motion ' * 40},{score}\n" for score in range(3)
    )
    path.write_text("claim,motion,score\n" + rows, encoding="utf-8")
    args = {"files": [str(first)], "corpus": "Claims", "settings": {"text": "claim", "title": "motion"}}
    run_here(filled_store, "import-corpus", args, quiet=True)
    at = form_of(path, open_page)
    next(box for box in at.selectbox if box.label == "Project").set_value("Claims").run()
    assert not at.exception
    assert line_of(at).startswith("**Adds 3 units to the 3 of “Claims”**")
    boxes = {box.label: box.value for box in at.selectbox}
    assert (boxes["Text column"], boxes["Title column (optional)"], boxes["Rows are"]) == (
        "claim",
        "motion",
        "Sentences",
    )


def test_corpora_and_articles_show_their_columns(filled_store: Store, open_page: Open) -> None:
    add_columns(filled_store)
    at = open_page("texts", view="Import report", corpus=CORPUS)
    assert not at.exception
    overview = next(table.value for table in at.dataframe if "Missing" in table.value)
    assert overview["Column"].tolist() == ["note", "side", "score", "day"]
    assert overview["Values"].tolist()[2:] == ["1 … 71", "1970-01-01 … 1970-03-13"]
    at = open_page("texts", corpus=CORPUS, article="Nile")
    assert not at.exception
    assert any("note: **note 1**" in element.value for element in at.markdown)
    sentences = next(table.value for table in at.dataframe if "score" in table.value)
    assert sentences["day"].tolist()[0] == "1970-01-25" and "<b>*centre*</b>" in sentences["side"].tolist()
