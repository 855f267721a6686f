"""Topics and summaries from files to scores: labels kept once, accuracies per document, baselines, refusals."""

import json
import random
from pathlib import Path

import pytest

from tests.jobs.test_kinds import do
from themescope.core.errors import ConfigError, DataError, ReadError, UnknownNameError
from themescope.db.store import Store

WORDS = {
    "sci.space": ["orbit", "shuttle", "launch", "moon", "rocket", "nasa", "mars", "satellite"],
    "sci.med": ["doctor", "patient", "disease", "drug", "cancer", "treatment", "blood", "diet"],
}


@pytest.fixture
def news(sqlite_store: Store, tmp_path: Path) -> Store:
    """A store with the corpus "N" of 40 messages about two topics and the model "M"."""
    rng, lines, path = random.Random(0), [], tmp_path / "n.jsonl"
    for number in range(40):
        group = list(WORDS)[number % 2]
        body = " ".join(f"The {' '.join(rng.sample(WORDS[group], 3))} number {i} is here." for i in range(6))
        text = f"From: a@x.org\nSubject: Note {number}\n\n{body}\n"
        split = "test" if number % 4 == 3 or number % 4 == 2 else "train"
        lines.append(json.dumps({"id": f"{group}/{number}", "group": group, "split": split, "text": text}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    do(sqlite_store, "import-corpus", files=[str(path)], corpus="N")
    do(sqlite_store, "train", method="tfidf", name="M")
    return sqlite_store


def test_topics_are_told_and_clustered_with_tuning_too(news: Store) -> None:
    made = do(news, "evaluate-topics", model="M", corpus="N")
    assert made["counts"] == {
        "documents": 40, "sentences": 240, "annotated": 80, "train": 32, "validation": 8, "test": 40,
    }  # fmt: skip
    assert set(made["scores"]) == {"accuracy", "macro F1", "weighted F1", "kappa", "V", "AMI", "AMI (arithmetic)"}
    assert made["scores"]["accuracy"]["value"] > 0.9 and made["scores"]["accuracy"]["n"] == 20
    assert made["converged"] and made["c"] == 1.0 and not made["cached"]
    again = do(news, "evaluate-topics", model="M", corpus="N")
    assert again["cached"] and again["scores"] == made["scores"]
    tuned = do(news, "evaluate-topics", model="M", corpus="N", part="validation", tune=True, unit=True)
    assert tuned["part"] == "validation" and tuned["scores"]["accuracy"]["n"] == 4
    assert tuned["scores"]["V"]["n"] == 8 and tuned["c"] in (0.01, 0.1, 1.0, 10.0, 100.0)


def test_labels_are_found_once_and_accuracies_kept_for_every_document(news: Store) -> None:
    first = do(news, "evaluate-topics", model="M", corpus="N")
    do(news, "train", method="word-counts", name="W")
    second = do(news, "evaluate-topics", model="W", corpus="N", labels="M")
    other_seed = do(news, "evaluate-topics", model="M", corpus="N", task={"seed": 3})
    assert other_seed["digest"] != first["digest"]
    with news.reading() as r:
        assert [run.kind for run in r.runs.list()] == ["topic-labels", "topics", "topics", "topics"]
        counted, same = (r.runs.scores([one["run_id"]], per_article=True) for one in (first, second))
        assert [s.article_id for s in counted] == [s.article_id for s in same] and len(counted) == 20
        assert sum(s.value * s.n for s in counted) / 40 == pytest.approx(first["scores"]["accuracy"]["value"])
        assert r.runs.get(first["run_id"]).config["topics"] == ["sci.med", "sci.space"]
    with news.writing() as w:
        w.corpora.delete(w.corpora.by_name("N").id)
        assert w.runs.list() == []


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


TOWN = ["Ada is an old town by the sea.", "The old town of Ada grew by trade.", "It rained on Monday.", "Ada trades."]


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
    do(sqlite_store, "train", method="tfidf", name="M")
    for args in (
        {"summarizer": "lead"},
        {"summarizer": "random"},
        {"summarizer": "lexrank-tfidf"},
        {"summarizer": "lexrank", "model": "M"},
    ):
        made = do(sqlite_store, "evaluate-summaries", documents=documents, words=8, **args)
        assert set(made["scores"]) == {"ROUGE-1 recall", "ROUGE-1 precision", "ROUGE-1 f1"}
        recall = made["scores"]["ROUGE-1 recall"]
        assert recall["n"] == 6 and 0 <= recall["low"] <= recall["value"] <= recall["high"] <= 1
        again = do(sqlite_store, "evaluate-summaries", documents=documents, words=8, **args)
        assert again["cached"] and again["scores"] == made["scores"] and made["model"] == args.get("model", "")
        with sqlite_store.reading() as r:
            single = r.runs.get(made["run_id"]).config["per_document"]
        assert single["ids"] == [f"d{i}" for i in range(6)]
        assert sum(single["recall"]) / 6 == pytest.approx(recall["value"], abs=1e-5)


def test_a_folder_of_documents(sqlite_store: Store, tmp_path: Path) -> None:
    for name, text in {"documents/d1.txt": " ".join(TOWN), "references/d1.A.txt": TOWN[0]}.items():
        (tmp_path / "duc" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "duc" / name).write_text(text, encoding="utf-8")
    args = {"documents": str(tmp_path / "duc"), "summarizer": "lead", "words": 8}
    made = do(sqlite_store, "evaluate-summaries", **args)
    assert made["scores"]["ROUGE-1 recall"]["value"] == 1.0 and made["documents"] == "duc"
    (tmp_path / "duc" / "references" / "d1.A.txt").write_text("Bees fly.", encoding="utf-8")
    assert do(sqlite_store, "evaluate-summaries", **args)["cached"] is False


def test_what_cannot_be_summarised_is_said(sqlite_store: Store, documents: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="uses vectors"):
        do(sqlite_store, "evaluate-summaries", documents=documents)
    with pytest.raises(UnknownNameError, match="Did you mean 'lead'"):
        do(sqlite_store, "evaluate-summaries", documents=documents, summarizer="leed")
    with pytest.raises(ReadError, match="does not exist"):
        do(sqlite_store, "evaluate-summaries", documents=str(tmp_path / "no"), summarizer="lead")
    with pytest.raises(ConfigError, match="stem"):
        do(sqlite_store, "evaluate-summaries", documents=documents, summarizer="lead", rouge={"stem": True})
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"id": "a", "text": "One is."}\n', encoding="utf-8")
    with pytest.raises(DataError, match="No document has a reference summary"):
        do(sqlite_store, "evaluate-summaries", documents=str(bare), summarizer="lead")
