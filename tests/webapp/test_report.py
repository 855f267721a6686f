"""The page Report and files: what a project has, each file with its content."""

import csv
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.db.texts import add_corpus
from tests.homes import CopyHome, MakeHome
from tests.jobs.estimates.survey import DRAWN, ROWS, survey
from tests.webapp.hands import words_of
from themescope.db.store import Store

Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(survey(tmp_path_factory.mktemp("answers"), predicted=True))


def test_every_file_of_a_study_is_offered(
    copy_home: CopyHome, home: Path, open_page: Open, files: dict[str, Callable[[], str | bytes]]
) -> None:
    copy_home(home)
    at = open_page("report")
    assert not at.exception and at.session_state["report_coding"] == "gold", "the coding with predictions is first"
    for title in ("Codes", "Predictions", "Codebook", "For other programs", "Estimates", "Methods section"):
        assert f"**{title}**" in words_of(at)
    made = {name: make() for name, make in files.items()}
    assert b"Question" in bytes(made["report-of-c.html"]) and bytes(made["report-of-c.docx"])[:2] == b"PK"
    rows = list(csv.DictReader(io.StringIO(bytes(made["gold-predictions.csv"]).decode("utf-8-sig"))))
    assert len(rows) == ROWS and sum(row["source"] == "human" for row in rows) == DRAWN
    assert {row["party"] for row in rows} == {"A", "B"} and {row["code"] for row in rows} <= {"Housing", "Transport"}
    assert all(float(row["p_Housing"]) <= 1 and row["predicted_code"] for row in rows)
    assert len(json.loads(bytes(made["gold-codebook.json"]))) and bytes(made["gold.qdpx"])[:2] == b"PK"
    with zipfile.ZipFile(io.BytesIO(bytes(made["gold-replication.zip"]))) as archive:
        assert {name.partition("/")[2] for name in archive.namelist()} == {"units.csv", "replicate.py"}
    assert "Krippendorff" in bytes(made["methods.md"]).decode()
    short = len(bytes(made["report-of-c.md"]))
    at.toggle(key="report_long").set_value(True).run()
    assert len(bytes(files["report-of-c.md"]())) > 1.3 * short


def test_a_project_without_codes_and_themes_shows_the_steps(sqlite_store: Store, open_page: Open) -> None:
    add_corpus(sqlite_store, "Towns", 2)
    at = open_page("report")
    assert not at.exception and [b.key for b in at.button if b.key == "next-step"]
