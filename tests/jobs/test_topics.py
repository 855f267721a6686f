"""Topics of sentences from messages to scores: labels kept once, per-document accuracies, tuning, refusals."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from themescope.core.errors import ConfigError, DataError
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here

WORDS = {
    "sci.space": ["orbit", "shuttle", "launch", "moon", "rocket", "nasa", "mars", "satellite"],
    "sci.med": ["doctor", "patient", "disease", "drug", "cancer", "treatment", "blood", "diet"],
}


def do(store: Store, kind: str, /, **args: Any) -> dict[str, Any]:
    return run_here(store, kind, args, quiet=True)


def write_messages(path: Path, count: int = 40) -> Path:
    rng, lines = random.Random(0), []
    for number in range(count):
        group = list(WORDS)[number % 2]
        body = " ".join(f"The {' '.join(rng.sample(WORDS[group], 3))} number {i} is here." for i in range(6))
        text = f"From: a@x.org\nSubject: Note {number}\n\n{body}\n"
        split = "test" if number % 4 == 3 or number % 4 == 2 else "train"
        lines.append(json.dumps({"id": f"{group}/{number}", "group": group, "split": split, "text": text}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def news(sqlite_store: Store, tmp_path: Path) -> Store:
    """A store with the corpus "N" of two topics and the model "M"."""
    do(sqlite_store, "import-corpus", files=[str(write_messages(tmp_path / "n.jsonl"))], corpus="N")
    do(sqlite_store, "train", method="tfidf", name="M")
    return sqlite_store


def test_topics_are_told_and_clustered(news: Store) -> None:
    made = do(news, "evaluate-topics", model="M", corpus="N")
    assert made["counts"] == {
        "documents": 40, "sentences": 240, "annotated": 80, "train": 32, "validation": 8, "test": 40,
    }  # fmt: skip
    assert set(made["scores"]) == {
        "accuracy", "macro F1", "weighted F1", "kappa", "V", "AMI", "AMI (arithmetic)",
    }  # fmt: skip
    assert made["scores"]["accuracy"]["value"] > 0.9 and made["scores"]["accuracy"]["n"] == 20
    assert made["converged"] and made["c"] == 1.0 and not made["cached"]
    again = do(news, "evaluate-topics", model="M", corpus="N")
    assert again["cached"] and again["scores"] == made["scores"]


def test_labels_are_found_once_and_accuracies_kept_for_every_document(news: Store) -> None:
    first = do(news, "evaluate-topics", model="M", corpus="N")
    do(news, "train", method="word-counts", name="W")
    second = do(news, "evaluate-topics", model="W", corpus="N", labels="M")
    other_seed = do(news, "evaluate-topics", model="M", corpus="N", task={"seed": 3})
    assert other_seed["digest"] != first["digest"]
    with news.reading() as r:
        assert [run.kind for run in r.runs.list()] == ["topic-labels", "topics", "topics", "topics"]
        ((_, counted), (_, same)) = (
            (id, r.runs.scores([id], per_article=True)) for id in (first["run_id"], second["run_id"])
        )
        assert [s.article_id for s in counted] == [s.article_id for s in same] and len(counted) == 20
        assert sum(s.value * s.n for s in counted) / 40 == pytest.approx(first["scores"]["accuracy"]["value"])
        assert r.runs.get(first["run_id"]).config["topics"] == ["sci.med", "sci.space"]
    with news.writing() as w:
        w.corpora.delete(w.corpora.by_name("N").id)
        assert w.runs.list() == []


def test_validation_and_tuning(news: Store) -> None:
    made = do(news, "evaluate-topics", model="M", corpus="N", part="validation", tune=True, unit=True)
    assert made["part"] == "validation" and made["scores"]["accuracy"]["n"] == 4
    assert made["scores"]["V"]["n"] == 8 and made["c"] in (0.01, 0.1, 1.0, 10.0, 100.0)


def test_what_cannot_be_evaluated_is_said(news: Store, tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("One sentence is here.\n", encoding="utf-8")
    do(news, "import-corpus", files=[str(plain)], corpus="P")
    with pytest.raises(DataError, match="'P' have no topics"):
        do(news, "evaluate-topics", model="M", corpus="P")
    with pytest.raises(ConfigError, match="“Corpus” is missing"):
        do(news, "evaluate-topics", model="M")
    with pytest.raises(ConfigError, match="Did you mean 'share'"):
        do(news, "evaluate-topics", model="M", corpus="N", task={"shar": 0.2})
    with pytest.raises(ConfigError, match="Scaling must be one of raw, unit, standard"):
        do(news, "evaluate-topics", model="M", corpus="N", classifier={"scaling": "none"})
