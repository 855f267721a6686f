"""The Paper tables page: empty, with results, and with a queued reproduction."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, HOSTILE
from themescope.core.papers import paper
from themescope.db.records import JobStatus
from themescope.db.store import Store
from themescope.webapp.features.paper_tables.views import common_deviation, export

Open = Callable[..., AppTest]
ARGUMENTS = {"paper": "ed18", "profile": "quick", "corpus": CORPUS, "sick": "pairs"}


def content(title: str) -> dict[str, Any]:
    ours = {"value": 0.7123, "low": 0.7, "high": 0.725, "n": 9, "seeds": [0.71, 0.715], "spread": 0.0035}
    row = {"published": {"accuracy": 0.74}, "data": "44 test triplets", "deviation": "Fewer articles.", "missing": ""}
    claim = {"first": "net", "second": HOSTILE, "metric": "accuracy", "relation": "better", "difference": 0.05}
    claim |= {"low": 0.01, "high": 0.09, "p": 0.001, "p_holm": 0.002, "verdict": "holds"}
    return {
        "title": title,
        "source": "Section *4.1*",
        "about": "Share of triplets.",
        "columns": [
            {"metric": "accuracy", "title": "Accuracy", "digits": 3, "lower_is_better": False},
            {"metric": "ami", "title": "AMI", "digits": 3, "lower_is_better": False},
        ],
        "profile": {"title": "Quick", "about": "Less of everything.", "seeds": [0, 1, 2]},
        "rows": [
            {"id": "net", "title": "net", **row, "ours": {"accuracy": ours}, "difference": {"accuracy": -0.0277}},
            {"id": "x", "title": HOSTILE, **row, "ours": {}, "difference": {}, "missing": "SICK is missing."},
        ],
        "claims": [claim, {**claim, "verdict": ""}],
        "complete": True,
    }


@pytest.fixture
def reproduced(filled_store: Store) -> Store:
    with filled_store.writing() as w:
        w.papers.put("ed18", "4", "quick", ARGUMENTS, content("Clusters"))
        w.papers.put("ed18", "2", "quick", ARGUMENTS, content("Accuracy"))
        w.papers.put("ed18", "2", "full", ARGUMENTS, content("Accuracy at length"))
    return filled_store


def test_a_deviation_of_every_row_is_said_once() -> None:
    rows = pd.DataFrame({"Row": ["a", "b"], "Deviation": ["Fewer articles.", "Fewer articles."]})
    frame, common = common_deviation(rows)
    assert (list(frame), common) == (["Row"], "Fewer articles.")
    for kept in (rows.iloc[:1], rows.assign(Deviation=["Fewer articles.", ""])):
        frame, common = common_deviation(kept)
        assert (list(frame), common) == (["Row", "Deviation"], "")


def jobs_of(store: Store) -> list[dict[str, Any]]:
    with store.reading() as r:
        return [dict(job.args) for job in r.jobs.list(status=JobStatus.QUEUED) if job.kind == "reproduce"]


def words_of(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.text, at.info, at.warning, at.error, at.title, at.header)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def test_nothing_yet_and_what_to_do(sqlite_store: Store, open_page: Open) -> None:
    at = open_page("paper_tables")
    assert not at.exception and not at.error
    assert "No table has been reproduced yet" in words_of(at).replace("\\", "")
    at = open_page("paper_tables", view="Reproduce")
    assert not at.exception and "No project yet" in words_of(at).replace("\\", "")


def test_published_and_ours_side_by_side(reproduced: Store, open_page: Open) -> None:
    at = open_page("paper_tables")
    assert not at.exception and not at.error
    table = at.dataframe[0].value
    assert list(table["Row"]) == ["net", HOSTILE]
    first = table.iloc[0]
    assert (first["Published"], first["Ours"], first["± seeds"]) == (".740", ".712 [.700, .725]", ".004")
    assert first["Difference"] == "-.028"
    assert "Every row: Fewer articles" in words_of(at) and "Deviation" not in table
    assert (table.iloc[1]["Ours"], table.iloc[1]["Data"]) == ("not measured", "SICK is missing.")
    verdicts = at.dataframe[1].value["Verdict"]
    assert list(verdicts) == ["✓ reproduced", "not tested"]
    assert "Section \\*4\\.1\\*" in words_of(at)


def test_the_page_opens_on_the_paper_that_has_tables(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.papers.put("sjh17", "1", "quick", ARGUMENTS, content("Topics"))
    assert open_page("paper_tables").selectbox[0].value == paper("sjh17").title


def test_another_table_metric_and_profile_by_their_address(reproduced: Store, open_page: Open) -> None:
    at = open_page("paper_tables", profile="full", table="2 · Accuracy at length")
    assert next(box for box in at.selectbox if box.label == "Table").value == "2 · Accuracy at length"
    at = open_page("paper_tables", table="4 · Clusters")
    assert next(box for box in at.selectbox if box.label == "Table").options == ["2 · Accuracy", "4 · Clusters"]


def test_a_comparison_without_published_numbers_has_no_columns_for_them(filled_store: Store, open_page: Open) -> None:
    table = content("Sections of articles")
    rows = [{**row, "published": {}, "difference": {}} for row in table["rows"]]
    with filled_store.writing() as w:
        arguments = {**ARGUMENTS, "paper": "modern", "profile": "full"}
        w.papers.put("modern", "clusters", "full", arguments, {**table, "rows": rows, "values_only": False})
    at = open_page("paper_tables")
    assert not at.exception and not at.error
    assert at.selectbox[0].value == paper("modern").title
    frame = at.dataframe[0].value
    assert list(frame) == ["Row", "Ours", "± seeds", "Data"] and frame.iloc[0]["Ours"] == ".712 [.700, .725]"


def test_the_comparison_asks_for_the_encoder(
    filled_store: Store, open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(tmp_path))
    at = open_page("paper_tables", view="Reproduce", paper=paper("modern").title)
    next(i for i in at.text_input if i.label == "Sentence encoder").set_value(f"{tmp_path}/minilm")
    at.multiselect[0].set_value(["clusters", "costs"])
    next(b for b in at.button if b.label == "Reproduce").click().run()
    (asked,) = jobs_of(filled_store)
    assert (asked["paper"], asked["tables"]) == ("modern", ["clusters", "costs"])
    assert asked["encoder"] == f"{tmp_path}/minilm"


def test_a_table_that_is_still_being_measured_says_so(reproduced: Store, open_page: Open) -> None:
    with reproduced.writing() as w:
        w.papers.put("ed18", "2", "quick", ARGUMENTS, {**content("Accuracy"), "complete": False})
    assert "not measured yet" in words_of(open_page("paper_tables"))


def test_run_again_asks_for_the_same_table_with_the_same_data(reproduced: Store, open_page: Open) -> None:
    at = open_page("paper_tables", table="4 · Clusters")
    next(b for b in at.button if b.label == "Run again").click().run()
    (asked,) = jobs_of(reproduced)
    assert (asked["tables"], asked["corpus"], asked["sick"], asked["profile"]) == (["4"], CORPUS, "pairs", "quick")


def test_the_form_queues_what_was_chosen(
    reproduced: Store, open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(tmp_path))
    at = open_page("paper_tables", view="Reproduce")
    at.multiselect[0].set_value(["2", "5"])
    next(i for i in at.text_input if i.label == "SICK").set_value(f" {tmp_path}/sick ")
    next(b for b in at.button if b.label == "Reproduce").click().run()
    (asked,) = jobs_of(reproduced)
    assert (asked["paper"], asked["tables"], asked["sick"]) == ("ed18", ["2", "5"], f"{tmp_path}/sick")


def test_a_paper_without_articles_asks_for_none(
    sqlite_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", "~/data")
    at = open_page("paper_tables", view="Reproduce", paper=paper("sjh17").title)
    assert [i.label for i in at.text_input if i.label != "Your name"] == ["Data folder", "Word vectors"]
    next(i for i in at.text_input if i.label == "Data folder").set_value("~/data")
    next(b for b in at.button if b.label == "Reproduce").click().run()
    (asked,) = jobs_of(sqlite_store)
    assert (asked["paper"], asked["corpus"], asked["data"]) == ("sjh17", "", str(Path.home() / "data"))
    with sqlite_store.reading() as r:
        assert r.jobs.list()[0].title == "Reproduce sjh17, all tables (quick)"


def test_a_table_leaves_as_csv_with_every_number() -> None:
    lines = export(content("Accuracy")).split("\r\n")
    assert lines[0].startswith("row,metric,published,ours,low,high")
    assert lines[1] == "net,accuracy,0.74,0.7123,0.7,0.725,0.0035,-0.0277,44 test triplets,Fewer articles."
    assert len(lines) == 1 + 4 + 1
