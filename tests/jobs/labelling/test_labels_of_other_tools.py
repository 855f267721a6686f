"""Labels of other programs: the right column is taken, cells are divided, and what does not match is a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.jobs.test_cli import call, call_json
from themescope.core.readers.tables import read_sheet
from themescope.core.types import Article, Paragraph, Section
from themescope.db.store import Store
from themescope.jobs.services.labelling import files, tables

TEXTS = (
    "The bus is late.",
    "Trains are full.",
    "The ferry was cancelled.",
    "Tickets cost too much.",
    "It’s “his” café…",
)
LABELS = ("bus", "train", "ferry", "price", "bus")


def corpus_of(store: Store, *texts: str) -> int:
    section = Section("", 1, (Paragraph("", texts or TEXTS),))
    with store.writing() as w:
        corpus = w.corpora.create("study", "en")
        w.corpora.add_articles(corpus.id, [Article("A", (section,))])
        w.corpora.finish(corpus.id, {})
    return corpus.id


def planned(store: Store, corpus: int, path: Path, content: str | bytes) -> tuple[tables.Plan, dict[str, str]]:
    """Plan an import; return also text → name of its cluster."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    sheet = files.as_labels(read_sheet(path))
    plan = tables.plan(store, corpus, None, sheet, tables.likely_columns(sheet))
    with store.reading() as r:
        found = r.corpora.sentences_by_id([*plan.placed])
    return plan, {found[id].text: ", ".join(plan.names[n] for n in sorted(s)) for id, s in plan.placed.items()}


def cells(*rows: tuple[object, ...]) -> str:
    return "".join(",".join('"' + str(cell).replace('"', '""') + '"' for cell in row) + "\n" for row in rows)


def choices(label: str) -> dict[str, object]:
    return {"value": {"choices": [label]}, "from_name": "topic", "to_name": "text", "type": "choices"}


PAIRS = tuple(zip(TEXTS, LABELS, strict=True))
EXPORTS = {
    "label studio.json": json.dumps(
        [{"id": n, "data": {"text": t}, "annotations": [{"result": [choices(c)]}]} for n, (t, c) in enumerate(PAIRS)]
    ),
    "label studio min.json": json.dumps(
        [{"id": n, "text": t, "topic": c, "annotator": 1, "lead_time": 2.5} for n, (t, c) in enumerate(PAIRS)]
    ),
    "label studio.csv": cells(
        ("annotation_id", "annotator", "created_at", "id", "lead_time", "text", "view", "updated_at"),
        *((n, 1, f"2024-03-01T10:0{n}:00Z", n + 100, 3.2, t, c, "x") for n, (t, c) in enumerate(PAIRS)),
    ),
    "doccano.jsonl": "".join(json.dumps({"id": n, "text": t, "label": [c]}) + "\n" for n, (t, c) in enumerate(PAIRS)),
    "doccano.csv": cells(("id", "text", "label"), *((n, t, c) for n, (t, c) in enumerate(PAIRS))),
    "argilla 1.csv": cells(
        ("text", "prediction", "annotation", "annotation_agent", "status", "id"),
        *((t, "", c, "ana", "Validated", n) for n, (t, c) in enumerate(PAIRS)),
    ),
    "argilla 2.csv": cells(
        ("id", "status", "_server_id", "text", "topic.responses", "topic.responses.users", "topic.responses.status"),
        *((n, "completed", f"a{n}", t, f"['{c}']", "['u1']", "['submitted']") for n, (t, c) in enumerate(PAIRS)),
    ),
    "prodigy.jsonl": "".join(
        json.dumps({"text": t, "options": [{"id": c[0], "text": c}], "accept": [c[0]], "answer": "accept"}) + "\n"
        for t, c in PAIRS
    ),
    "prodigy textcat.jsonl": "".join(json.dumps({"text": t, "label": c, "answer": "accept"}) + "\n" for t, c in PAIRS),
    "maxqda.csv": cells(
        ("Color", "Document group", "Document name", "Code", "Beginning", "End", "Segment", "Modified by"),
        *(("#ff0000", "", "Interview", c, n, n, t, "ana") for n, (t, c) in enumerate(PAIRS)),
    ),
    "taguette.csv": cells(
        ("id", "document", "tag", "content"), *((n, "Interview", c, t) for n, (t, c) in enumerate(PAIRS))
    ),
    "qualcoder.csv": cells(
        ("File", "Coder", "Coded", "Id", "Codename", "Category"),
        *(("a.txt", "ana", t, n, c, "") for n, (t, c) in enumerate(PAIRS)),
    ),
    "catma.csv": cells(
        ("Document", "Keyword", "Annotation Id", "Tag Path", "Start Position", "End Position"),
        *(("Interview", t, f"x{n}", c, n, n) for n, (t, c) in enumerate(PAIRS)),
    ),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_of_other_programs_are_recognised(sqlite_store: Store, tmp_path: Path, name: str) -> None:
    plan, found = planned(sqlite_store, corpus_of(sqlite_store), tmp_path / name, EXPORTS[name])
    assert found == dict(PAIRS) and not plan.problems and not plan.several


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.jsonl", '{"text": "The bus is late.", "label": ["bus", "delay"]}\n'
         '{"text": "Trains are full.", "label": []}\n'),
        ("d.csv", "id,text,label\n1,The bus is late.,bus#delay\n2,Trains are full.,\n"),
        ("l.csv", cells(("id", "text", "topic"), (1, TEXTS[0], '{"choices": ["bus", "delay"]}'), (2, TEXTS[1], ""))),
        ("a.csv", cells(("text", "annotation", "status"), (TEXTS[0], "['bus', 'delay']", "x"), (TEXTS[1], "[]", "x"))),
        ("p.jsonl", '{"text": "The bus is late.", "accept": ["bus", "delay"], "answer": "accept"}\n'
         '{"text": "Trains are full.", "accept": ["bus"], "answer": "reject"}\n'),
    ],
)  # fmt: skip
def test_several_labels_are_several_codes(sqlite_store: Store, tmp_path: Path, name: str, content: str) -> None:
    plan, found = planned(sqlite_store, corpus_of(sqlite_store), tmp_path / name, content)
    assert found == {"The bus is late.": "bus, delay", "Trains are full.": ""} and plan.names == ("bus", "delay")
    assert plan.several == 1 and not plan.problems


def test_numbers_and_blanks(sqlite_store: Store, tmp_path: Path) -> None:
    corpus = corpus_of(sqlite_store)
    rows = list(zip(TEXTS, ("1.0", "-1", "2.0", "", "NA"), strict=True))
    plan, found = planned(sqlite_store, corpus, tmp_path / "a.csv", cells(("text", "cluster"), *rows))
    assert [*found.values()] == ["1", "", "2", "", ""]
    assert plan.remarks == ("1 × “NA” is read as unassigned", "1 × “-1” is read as unassigned")
    _, named = planned(
        sqlite_store,
        corpus,
        tmp_path / "b.csv",
        cells(("text", "cluster"), (TEXTS[0], "C#"), (TEXTS[1], "-1"), (TEXTS[2], "none")),
    )
    assert [*named.values()] == ["C#", "-1", "none"]


@pytest.mark.parametrize("text", ['It\'s "his" cafe\u0301...', "IT’S «HIS» CAFÉ…", "it's  'his'\u00a0café..."])
def test_forms_of_signs_and_letters_do_not_prevent_a_match(sqlite_store: Store, tmp_path: Path, text: str) -> None:
    text = text.replace("'his'", '"his"')
    _, found = planned(
        sqlite_store, corpus_of(sqlite_store), tmp_path / "a.csv", cells(("text", "cluster"), (text, "a"))
    )
    assert found == {TEXTS[-1]: "a"}


def test_equal_sentences_are_assigned_one_by_one(sqlite_store: Store, tmp_path: Path) -> None:
    corpus = corpus_of(sqlite_store, "Same.", "Other.", "Same.")
    content = cells(("text", "cluster"), ("Same.", "a"), ("Other.", "b"), ("Same.", "c"))
    plan, _ = planned(sqlite_store, corpus, tmp_path / "a.csv", content)
    placed = [plan.names[place] for id in sorted(plan.placed) for place in plan.placed[id]]
    assert placed == ["a", "b", "c"] and not plan.problems
    fewer, _ = planned(
        sqlite_store, corpus, tmp_path / "b.csv", cells(("text", "cluster"), ("Same.", "a"), ("Other.", "b"))
    )
    assert [one.why.partition(":")[0] for one in fewer.problems] == ["2 sentences have this text"]
    assert "--together" in fewer.problems[0].why


def test_what_does_not_match_is_a_file_to_correct_and_bring_again(sqlite_store: Store, tmp_path: Path) -> None:
    corpus_of(sqlite_store)
    rows, path, wrong = [*PAIRS[:2], ("The bus was late.", "ferry")], tmp_path / "a.csv", tmp_path / "wrong.csv"
    path.write_text(cells(("text", "cluster"), *rows), encoding="utf-8")
    common = ("--corpus", "study", "--problems", str(wrong))
    refused = call("labels", "import", path, *common)
    assert refused.exit_code == 2 and "row 4: no sentence has this text" in refused.stderr
    assert "--problems" in refused.stderr
    with wrong.open(encoding="utf-8", newline="") as stream:
        header, *left = csv.reader(stream)
    assert header == ["row", "text", "cluster", "reason"]
    assert left == [["4", "The bus was late.", "ferry", "no sentence has this text"]]
    corrected = wrong.read_text(encoding="utf-8").replace("The bus was late.", TEXTS[2])
    wrong.write_text(corrected, encoding="utf-8")
    again = call_json("labels", "import", wrong, "--corpus", "study")
    assert (again["rows"], again["clusters"], again["left_out"]) == (1, 1, [])
