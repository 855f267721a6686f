"""The tables of Saha et al. 2017, cut down to a few rows: from files in a data folder to the numbers."""

import dataclasses
import json
import lzma
from pathlib import Path

import pytest

from tests.jobs.papers.conftest import rows
from themescope.core.papers.sjh17 import BAGS, ENGINE, NEWSGROUPS, REUTERS, SJH17, TUNING
from themescope.core.papers.spec import Paper, ResultTable, RunProfile
from themescope.db.store import Store
from themescope.jobs.queue.runner import resume_here

THEMES = {
    "sci.space": ["rocket", "orbit", "moon", "launch", "satellite", "shuttle"],
    "rec.autos": ["engine", "wheel", "brake", "dealer", "clutch", "tyre"],
    "sci.med": ["doctor", "patient", "fever", "vitamin", "disease", "dose"],
}
SENTENCES, DOCUMENTS = 4, 12
_SMALL = {"dim": 8, "epochs": 4, "threads": 1}
PROFILE = RunProfile("quick", "Quick", "Tiny.", seeds=(0, 1), budgets={ENGINE: _SMALL, TUNING: _SMALL, BAGS: _SMALL})
KEPT = {
    "4-newsgroups": ("sen2vec", "tfidf", "con-s2v-dis", "neighbour-mean"),
    "5-billsum": ("sen2vec", "tfidf", "lead"),
}


def _cut(table: ResultTable) -> ResultTable:
    rows = tuple(row for row in table.rows if row.id in KEPT[table.id])
    ids = {row.id for row in rows}
    claims = tuple(claim for claim in table.claims if {claim.first, claim.second} <= ids)
    return dataclasses.replace(table, rows=rows, claims=claims)


def _only(table: ResultTable, *rows: str) -> ResultTable:
    return dataclasses.replace(table, rows=tuple(table.row(row) for row in rows), claims=())


_TABLES = {table.id: table for table in SJH17.tables}
CUT: Paper = dataclasses.replace(
    SJH17,
    tables=(
        _only(_TABLES["1"], "billsum"),
        _only(_TABLES["2"], NEWSGROUPS, REUTERS),
        _only(_TABLES["3"], f"{NEWSGROUPS}:reg-dis"),
        *(_cut(_TABLES[id]) for id in KEPT),
    ),
    profiles=(PROFILE,),
)


def _sentence(words: list[str], number: int) -> str:
    return " ".join(words[(number + i) % len(words)] for i in range(4)).capitalize() + " was seen."


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with newsgroups and bills, and without Reuters."""
    news, bills = tmp_path / "data" / "newsgroups20", tmp_path / "data" / "summaries"
    news.mkdir(parents=True)
    bills.mkdir()
    for part in ("train", "test"):
        lines = [
            {"id": f"{group}/{part}{d}", "group": group, "split": part,
             "text": f"From: a@b.c\nSubject: {d}\n\n" + " ".join(_sentence(words, d + s) for s in range(SENTENCES))}
            for group, words in THEMES.items() for d in range(DOCUMENTS)
        ]  # fmt: skip
        (news / f"8groups-{part}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
    documents = [
        {"id": f"b{d}", "title": "A bill", "text": " ".join(_sentence(words, d + s) for s in range(30)),
         "summary": _sentence(words, d)}
        for d, words in enumerate(THEMES.values())
    ]  # fmt: skip
    (bills / "billsum100.jsonl.xz").write_bytes(
        lzma.compress("".join(json.dumps(x) + "\n" for x in documents).encode())
    )
    return tmp_path / "data"


def test_the_tables_of_sjh17(sqlite_store: Store, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("themescope.jobs.papers.tables.paper", lambda _: CUT)
    args = {"paper": "sjh17", "data": str(data), "document": str(tmp_path / "results.md"), "replace": True}
    first = resume_here(sqlite_store, "reproduce", args, quiet=True)
    assert (first["rows"], first["rows_not_measured"]) == (11, 1)
    sizes = rows(sqlite_store, "2", "sjh17")
    assert "reuters21578" in sizes[REUTERS]["missing"] and "--data" in sizes[REUTERS]["missing"]
    found = {name: score["value"] for name, score in sizes[NEWSGROUPS]["ours"].items()}
    documents = 2 * DOCUMENTS * len(THEMES)
    assert (found["documents"], found["sentences"]) == (documents, documents * SENTENCES)
    assert found["annotated"] == documents == found["train"] + found["validation"] + found["test"]
    assert rows(sqlite_store, "3", "sjh17")[f"{NEWSGROUPS}:reg-dis"]["ours"]["value"]["value"] in (0.3, 0.5, 0.8, 1.0)
    topics = rows(sqlite_store, "4-newsgroups", "sjh17")
    assert set(topics) == set(KEPT["4-newsgroups"])
    accuracy = topics["neighbour-mean"]["ours"]["accuracy"]
    assert accuracy["low"] <= accuracy["value"] <= accuracy["high"] and len(accuracy["seeds"]) == 2
    assert topics["tfidf"]["ours"]["accuracy"]["value"] > 0.9
    assert topics["neighbour-mean"]["ours"]["seconds"]["value"] >= topics["sen2vec"]["ours"]["seconds"]["value"] >= 0
    assert "made of: " in topics["neighbour-mean"]["data"]
    assert topics["sen2vec"]["difference"]["V"] == pytest.approx(topics["sen2vec"]["ours"]["V"]["value"] - 0.353)
    bills = rows(sqlite_store, "5-billsum", "sjh17")
    assert bills["lead"]["ours"]["recall"]["n"] == len(THEMES) and len(bills["sen2vec"]["runs"]) == 1  # of two seeds
    assert rows(sqlite_store, "1", "sjh17")["billsum"]["ours"]["documents"]["value"] == len(THEMES)
    second = resume_here(sqlite_store, "reproduce", args, quiet=True)
    assert (second["computed"], second["cached"]) == (0, True)
    fewer = resume_here(sqlite_store, "reproduce", args | {"seeds": 1}, quiet=True)
    assert fewer["computed"] == 0 and len(rows(sqlite_store, "4-newsgroups", "sjh17")["sen2vec"]["runs"]) == 1
    assert "Profile quick; seed 0; test split; n = " in (tmp_path / "results.md").read_text(encoding="utf-8")
