"""A small store with data for every kind of job, and arguments of one job of each kind, for ``faults.py``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from themescope.core.labelling import operations as op
from themescope.core.types import Split, split_of_title
from themescope.db.label_records import NewLabelling
from themescope.db.records import Verdict
from themescope.db.store import Store
from themescope.jobs.queue.foreground import run_here
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

NET = {"hidden": 16, "attention": 8, "epochs": 2, "batch_size": 16, "threads": 1, "device": "cpu", "precision": "fp32"}
LABELLINGS = ("first", "second", "third")
KINDS: dict[str, dict[str, Any]] = {
    "import-corpus": {"files": ["{folder}/new.txt"], "corpus": "N", "workers": 1},
    "import-list": {"file": "{folder}/list.csv", "corpus": "N", "column": "text"},
    "build-triplets": {"corpus": "C", "name": "N", "seed": 1},
    "clean-triplets": {"triplets": "T", "name": "N"},
    "learn-labels": {"labellings": LABELLINGS, "name": "N"},
    "build-benchmark": {"corpus": "C", "name": "N"},
    "train": {"method": "triplets-sen", "name": "N", "triplets": "T", "settings": NET},
    "add-model": {"folder": "{folder}/model", "name": "N"},
    "embed": {"corpus": "C", "model": "M"},
    "evaluate-triplets": {"model": "M", "triplets": "T"},
    "cluster": {"model": "M", "clusterer": "kmeans", "benchmark": "B"},
    "evaluate-relatedness": {"model": "M", "sick": "{folder}/sick", "regressor": False},
    "evaluate-topics": {"model": "M", "corpus": "P"},
    "evaluate-speed": {"model": "M", "benchmark": "B"},
    "evaluate-summaries": {"documents": "{folder}/documents.jsonl", "summarizer": "lexrank-tfidf", "words": 20},
    "reproduce": {"paper": "ed18", "tables": ["1"], "corpus": "C", "training": False},
    "project": {"corpus": "C", "model": "M"},
    "find-themes": {"corpus": "C", "model": "M"},
    "export-bundle": {"corpus": "C"},
    "export-dataset": {"corpus": "C"},
    "choose-method": {"labelling": "first", "models": ["V"]},
    "import-bundle": {"file": "{folder}/bundle.zip", "corpus": "N"},
    "back-up": {},
}
WORDS = ("river", "stone", "window", "garden", "music", "market", "harbour", "winter")


def arguments(kind: str, folder: Path) -> dict[str, Any]:
    """Return the arguments of the job of a kind."""
    found: dict[str, Any] = json.loads(json.dumps(KINDS[kind]).replace("{folder}", str(folder)))
    return found


def text(first: int, articles: int) -> str:
    """Return articles with sections, in the format of the demo."""
    lines = []
    for number in range(first, first + articles):
        lines += [f"= Article {number} =", "", "A lead of one sentence.", ""]
        for section, word in enumerate(WORDS[:5]):
            lines += [f"== Part {section} ==", ""]
            lines += [f"The {word} of {number} was seen near the {word} in year {year}.\n" for year in range(6)]
    return "\n".join(lines)


def write_files(folder: Path) -> None:
    """Write articles, a list, messages of two topics, pairs in the format of SICK, and documents with summaries."""
    (folder / "old.txt").write_text(text(0, 12), encoding="utf-8")
    (folder / "new.txt").write_text(text(100, 120), encoding="utf-8")
    rows = "\n".join(f'"Sentence {n} of a list about stones and rivers."' for n in range(300))
    (folder / "list.csv").write_text(f"text\n{rows}\n", encoding="utf-8")
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    pairs = "".join(f"{n}\tA river was seen.\tA stone of {n} was seen.\t{1 + n % 5}\tNEUTRAL\n" for n in range(50))
    (folder / "sick").mkdir()
    for part in ("train", "trial", "test_annotated"):
        (folder / "sick" / f"SICK_{part}.txt").write_text(header + pairs, encoding="utf-8")
    sentences = ["The town is old.", "It lies by the sea and trades.", "It rained on Monday.", "Ships bring stones."]
    documents = [
        {"id": f"d{n}", "title": "Town", "sections": [{"sentences": sentences * 5}], "summary": sentences[n % 4]}
        for n in range(20)
    ]
    write_lines(folder / "documents.jsonl", documents)
    write_lines(folder / "messages.jsonl", [message(n) for n in range(40)])


def message(number: int) -> dict[str, str]:
    """Return a message of one of two newsgroups, each with words of its own."""
    words = WORDS[:4] if number % 2 else WORDS[4:]
    body = " ".join(f"The {words[n % 4]} of {number} was near the {words[(n + 1) % 4]} in {n}." for n in range(6))
    group, split = ("sci.a", "sci.b")[number % 2], ("train", "test")[number % 4 // 2]
    text = f"From: a@x.org\nSubject: Note {number}\n\n{body}\n"
    return {"id": f"{group}/{number}", "group": group, "split": split, "text": text}


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def fill(store: Store, folder: Path) -> None:
    """Fill a store with two corpora, triplets, a model, a benchmark and labellings; write a model and a bundle."""

    def do(kind: str, **args: Any) -> None:
        run_here(store, kind, args, quiet=True)

    store.migrate()
    do("import-corpus", files=[str(folder / "old.txt")], corpus="C")
    do("import-corpus", files=[str(folder / "messages.jsonl")], corpus="P")
    do("build-triplets", corpus="C", name="T")
    do("build-benchmark", corpus="C", name="B", splits=[split.value for split in Split])
    do("train", method="tfidf", name="M", corpus="C")
    do("train", method="tfidf", name="O", corpus="C", seed=1)
    do("train", method="tfidf", name="V", corpus="C", seed=2)
    do("embed", corpus="C", model="V")
    (folder / "bundle.zip").unlink(missing_ok=True)
    do("export-bundle", corpus="C", file=str(folder / "bundle.zip"))
    with store.writing() as w:
        triplets = w.triplets.by_name("T")
        w.reviews.add(triplets.id, int(w.triplets.ids(triplets.id, Split.TRAIN)[0]), "Ada", Verdict.BAD)
        other = w.models.by_name("O")
        shutil.copytree(store.artifacts.path(other.artifact), folder / "model", dirs_exist_ok=True)
        w.models.delete(other.id)
    label(store)


def label(store: Store) -> None:
    """Add labellings of articles of the training split, in which a person moved sentences."""
    with store.reading() as r:
        corpus = r.corpora.by_name("C")
        articles = [a for a in r.corpora.articles(corpus.id) if split_of_title(a.title) is Split.TRAIN]
    for name, article in zip(LABELLINGS, articles, strict=False):
        new = NewLabelling(corpus.id, name, "Ada", article_id=article.id)
        session = LabellingSession(store, starts.begin(store, new, starts.from_sections).id, "Ada")
        for number in sorted(session.partition.clusters)[1:]:
            members = session.partition.members(number)[:3]
            session.do(op.assign(session.partition, members, 2))
            session.do(op.assign(session.partition, members, number))
