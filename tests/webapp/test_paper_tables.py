"""The Paper tables page: empty, with results, and with a queued reproduction."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, HOSTILE
from tests.webapp.hands import jobs_of, words_of
from themescope.db.store import Store

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
        "profile": {"title": "Quick", "about": "Five runs.", "seeds": [0, 1, 2]},
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
    assert "seeds 0, 1; n" in words_of(at).replace("\\", "") and "Five runs" not in words_of(at)


def test_run_again_asks_for_the_same_table_with_the_same_data(reproduced: Store, open_page: Open) -> None:
    at = open_page("paper_tables", table="4 · Clusters")
    next(b for b in at.button if b.label == "Run again").click().run()
    (asked,) = jobs_of(reproduced, "reproduce")
    assert (asked["tables"], asked["corpus"], asked["sick"], asked["profile"]) == (["4"], CORPUS, "pairs", "quick")


def test_the_form_queues_what_was_chosen(
    reproduced: Store, open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(tmp_path))
    at = open_page("paper_tables", view="Reproduce")
    at.multiselect[0].set_value(["2", "5"])
    next(i for i in at.text_input if i.label == "SICK").set_value(f" {tmp_path}/sick ")
    next(b for b in at.button if b.label == "Reproduce").click().run()
    (asked,) = jobs_of(reproduced, "reproduce")
    assert (asked["paper"], asked["tables"], asked["sick"]) == ("ed18", ["2", "5"], f"{tmp_path}/sick")
