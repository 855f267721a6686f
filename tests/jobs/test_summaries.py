"""Summaries from a file to ROUGE-1: baselines, LexRank on words and on a model's vectors, refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from themescope.core.errors import ConfigError, DataError, ReadError, UnknownNameError
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here

TOWN = ["Ada is an old town by the sea.", "The old town of Ada grew by trade.", "It rained on Monday.", "Ada trades."]


def do(store: Store, **args: Any) -> dict[str, Any]:
    return run_here(store, "evaluate-summaries", args, quiet=True)


@pytest.fixture
def documents(tmp_path: Path) -> str:
    path = tmp_path / "documents.jsonl"
    records = [
        {"id": f"d{i}", "title": "Ada", "sections": [{"sentences": TOWN[i % 2 :] * 3}], "summary": TOWN[1 - i % 2]}
        for i in range(6)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def test_methods_side_by_side(sqlite_store: Store, documents: str) -> None:
    run_here(sqlite_store, "train", {"method": "tfidf", "name": "M"}, quiet=True)
    for args in (
        {"summarizer": "lead"},
        {"summarizer": "random"},
        {"summarizer": "lexrank-tfidf"},
        {"summarizer": "lexrank", "model": "M"},
    ):
        made = do(sqlite_store, documents=documents, words=8, **args)
        assert set(made["scores"]) == {"ROUGE-1 recall", "ROUGE-1 precision", "ROUGE-1 f1"}
        recall = made["scores"]["ROUGE-1 recall"]
        assert recall["n"] == 6 and 0 <= recall["low"] <= recall["value"] <= recall["high"] <= 1
        again = do(sqlite_store, documents=documents, words=8, **args)
        assert again["cached"] and again["scores"] == made["scores"] and made["model"] == args.get("model", "")
        with sqlite_store.reading() as r:
            single = r.runs.get(made["run_id"]).config["per_document"]
        assert single["ids"] == [f"d{i}" for i in range(6)]
        assert sum(single["recall"]) / 6 == pytest.approx(recall["value"], abs=1e-5)


def test_a_folder_of_documents(sqlite_store: Store, tmp_path: Path) -> None:
    for name, text in {"documents/d1.txt": " ".join(TOWN), "references/d1.A.txt": TOWN[0]}.items():
        (tmp_path / "duc" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "duc" / name).write_text(text, encoding="utf-8")
    made = do(sqlite_store, documents=str(tmp_path / "duc"), summarizer="lead", words=8)
    assert made["scores"]["ROUGE-1 recall"]["value"] == 1.0 and made["documents"] == "duc"
    (tmp_path / "duc" / "references" / "d1.A.txt").write_text("Bees fly.", encoding="utf-8")
    assert do(sqlite_store, documents=str(tmp_path / "duc"), summarizer="lead", words=8)["cached"] is False


def test_what_cannot_be_summarised_is_said(sqlite_store: Store, documents: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="uses vectors"):
        do(sqlite_store, documents=documents)
    with pytest.raises(UnknownNameError, match="Did you mean 'lead'"):
        do(sqlite_store, documents=documents, summarizer="leed")
    with pytest.raises(ReadError, match="does not exist"):
        do(sqlite_store, documents=str(tmp_path / "no"), summarizer="lead")
    with pytest.raises(ConfigError, match="stem"):
        do(sqlite_store, documents=documents, summarizer="lead", rouge={"stem": True})
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"id": "a", "text": "One is."}\n', encoding="utf-8")
    with pytest.raises(DataError, match="No document has a reference summary"):
        do(sqlite_store, documents=str(bare), summarizer="lead")
