"""The pages Estimates and Report: the estimates, what is below them, and the files of a study."""

import csv
import io
import json
import zipfile
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.db.texts import add_corpus
from tests.jobs.estimates.survey import DRAWN, ROWS
from tests.webapp.hands import Open, press, words_of
from themescope.core.labelling.task_items import DistributionPlan
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services import corpus_edits, tasks
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.tasks import TaskForm
from themescope.webapp.features import estimates as state
from themescope.webapp.features.estimates import chart

Files = dict[str, Callable[[], str | bytes]]


def table(at: AppTest, column: str) -> dict[str, list[object]]:
    return next({name: list(d.value[name]) for name in d.value} for d in at.dataframe if column in d.value.columns)


def test_shares_of_groups_from_a_sample_and_predictions(
    surveyed: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = open_page("estimates")
    assert at.multiselect[0].value == ["gold"], "the labelling with predictions is chosen"
    everything = table(at, "Corrected")
    assert everything["Code"] == ["Housing", "Transport"] and everything["Coded"] == [DRAWN, DRAWN]
    assert "Shares of the codes in all 240 units of the project" in words_of(at)
    at = open_page("estimates", by="party")
    both = table(at, f"All units ({ROWS})")
    assert both["Code"] == ["Housing", "Transport"] and [*both][1:] == ["All units (240)", "A (120)", "B (120)"]
    at = open_page("estimates", code="Housing", by="party")
    found = table(at, "Corrected")
    assert found["Group"] == ["All units", "A", "B"] and found["Units"] == [ROWS, ROWS // 2, ROWS // 2]
    share = [float(str(cell).partition("%")[0]) for cell in found["Corrected"]]
    assert share[1] > 50 > 30 > share[2]
    assert [both[name][0] for name in [*both][1:]] == found["Corrected"], "one number, whichever table has it"
    at = open_page("estimates", code="Housing", by="party", show="Difference")
    assert table(at, "Corrected")["Group"] == ["A – B"]
    at = open_page("estimates", code="Housing", by="party", show="Parts of the code")
    parts = [float(str(cell).partition("%")[0]) for cell in table(at, "Corrected")["Corrected"]]
    assert sum(parts) == pytest.approx(100, abs=0.2)
    at = open_page("estimates", labellings=["Pilot · Ada", "Pilot · Ben"])
    assert "There are no predictions of the whole project" in words_of(at)
    assert len(open_page("estimates", by="party").get("plotly_chart")) == 1
    monkeypatch.setattr(chart, "best", lambda one: None)  # of too few sampled units
    at = open_page("estimates", by="party")
    assert "–: fewer than" in words_of(at) and not at.get("plotly_chart"), "no chart without anything in it"


def test_planner_and_regression_of_a_code(surveyed: Store, open_page: Open) -> None:
    parts = (state.MORE,)
    at = open_page("estimates", parts=parts, code="Housing", by="party")
    assert "more units" in words_of(at) and "All units of A, B are too few for ± 3 points" in words_of(at)
    at.number_input(key="estimates_margin").set_value(12.0).run()
    assert "too few for" not in words_of(at)
    at.number_input(key="estimates_margin").set_value(7.0).run()
    planned = table(at, "Code more")
    numbers = {group: 0 for group in planned["Group"]}
    for group, more in zip(planned["Group"], planned["Code more"], strict=True):
        numbers[group] += more
    form = press(at, "Draw this sample")
    assert {name: form.number_input(key=f"tasks_form_of_party_{name}").value for name in numbers} == numbers
    assert form.checkbox(key="tasks_form_new_only").value and form.selectbox(key="tasks_form_strata").value == "party"
    at = open_page("estimates", parts=parts, code="Housing", by="party")
    at.multiselect(key="estimates_regression_columns").set_value(["party"]).run()
    assert [*table(at, "Coefficient")["Coefficient"]] == ["(intercept)", "party: B (against A)"]


def test_the_steps_of_a_study_follow_what_people_have_done(sqlite_store: Store, open_page: Open) -> None:
    corpus = add_corpus(sqlite_store, "Towns", 2)

    def step(page: str = "estimates") -> str:
        return next(button.label for button in open_page(page).button if button.key == "next-step")

    assert {step(page) for page in ("estimates", "agreement", "report")} == {"Write the codebook"}
    for page in ("estimates", "agreement"):
        shown = words_of(open_page(page))
        assert "Needs a codebook" in shown and "Needs the codings of two people" in shown
    codes = starts.begin(sqlite_store, NewLabelling(corpus.id, "Codes", "Ada"), starts.from_nothing)
    assert step() == "Draw a sample"
    plan = DistributionPlan(("Ada",), 0.0, 1)
    tasks.make(sqlite_store, TaskForm(corpus.id, "T", "Ada", (1, 2), plan, start_id=codes.id))
    assert step() == "Code" and words_of(open_page("estimates")).count(":material/check_circle:") == 2


def test_codings_from_a_table_are_codings_of_people(sqlite_store: Store, open_page: Open) -> None:
    corpus = add_corpus(sqlite_store, "Towns", 2)
    origin = {"from": "table", "name": "labels.csv"}
    for coder in ("Ada", "Ben"):
        new = NewLabelling(corpus.id, f"labels ({coder})", "Ada")
        starts.begin(sqlite_store, new, lambda *of: starts.from_nothing(*of)._replace(origin=origin))
    at = open_page("tasks")
    assert "Needs the codings of two people" not in words_of(at)
    assert "Needs coded units" not in words_of(at)
    # One button draws a sample.
    assert [b.label for b in at.button if b.proto.type == "primary"] == ["New task"]


def test_the_files_hold_what_is_shown(surveyed: Store, open_page: Open, files: Files) -> None:
    at = open_page("estimates", code="Housing", by="party")
    made = {name.rpartition(".")[2]: bytes(make()) for name, make in files.items()}  # type: ignore[arg-type]
    rows = [*csv.DictReader(io.StringIO(made["csv"].decode("utf-8-sig")))]
    assert [row["group"] for row in rows] == ["", "A", "B"] and {row["code"] for row in rows} == {"Housing"}
    shown = [f"{100 * float(row['corrected']):.1f}%" for row in rows]
    assert [str(cell).split()[0] for cell in table(at, "Corrected")["Corrected"]] == shown
    assert b"prediction-powered inference" in made["md"] and f"People coded {DRAWN} units".encode() in made["md"]
    with zipfile.ZipFile(io.BytesIO(made["zip"])) as archive:
        assert archive.namelist() == ["units.csv", "replicate.py"]
        assert archive.read("units.csv").decode().splitlines()[1].split(",")[2] == "A"


def test_units_outside_of_the_sample_can_be_drawn_from(surveyed: Store, open_page: Open) -> None:
    with surveyed.reading() as r:
        (corpus,) = r.corpora.list()
        some = r.corpora.sentence_ids(corpus.id)[:3].tolist()
    for id in some:
        corpus_edits.correct_text(surveyed, corpus.id, id, f"Another text of {id}", "Ada")
    at = open_page("estimates", code="Housing", by="party")
    assert "Share of “Housing” in the 237 units that the sample could draw" in words_of(at)
    assert "3 with a text changed since" in words_of(at) and table(at, "Corrected")["Units"][0] == ROWS - 3
    form = press(at, "Draw from the 3 units outside of the sample")
    assert form.checkbox(key="tasks_form_outside").value and form.number_input(key="tasks_form_units").value == 3


def test_every_file_of_a_study_is_offered(surveyed: Store, open_page: Open, files: Files) -> None:
    at = open_page("report")
    assert at.session_state["report_coding"] == "gold", "the coding with predictions is first"
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
