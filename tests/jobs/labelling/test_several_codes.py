"""Several codes per sentence survive every way out and in: tables, REFI-QDA, Label Studio, doccano, and bundles."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.jobs.helpers import only_plan
from tests.jobs.labelling.test_labels_of_other_tools import TEXTS, corpus_of
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.partition import allows_several, code_names
from themescope.core.readers.tables import read_sheet
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import files, qda_projects, starts, tables
from themescope.jobs.services.labelling.agreement import coded_text, from_adjudication
from themescope.jobs.services.labelling.codebook import methods_section
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.table_files import csv_text, excel_bytes

WANTED = ({"bus", "delay, late"}, {"bus"}, set(), {"bus", "delay, late", "“price” #1"}, {"“price” #1"})


@pytest.fixture
def labelling(sqlite_store: Store) -> LabellingRecord:
    """Five sentences with no, one, two and three codes, and a note."""
    corpus = corpus_of(sqlite_store)
    record = starts.begin(
        sqlite_store, NewLabelling(corpus, "codes", "ada"), starts.allowing_several(starts.from_nothing)
    )
    session = LabellingSession(sqlite_store, record.id, "ada")
    for name in ("bus", "delay, late", "“price” #1"):
        ids = session.partition.ids[[name in codes for codes in WANTED]]
        session.do(coding.create_code(session.partition, session.next_number, name, ids))
    session.do(op.note(session.partition, session.partition.ids[:1], "late by 5 min"))
    return record


def codes_of(store: Store, labelling_id: int) -> dict[str, set[str]]:
    """Return text → names of its codes."""
    with store.reading() as r:
        p = r.labellings.snapshot(labelling_id).partition
        known = r.corpora.sentences_by_id(p.ids)
    assert allows_several(p)
    names = code_names(p)
    return {known[id].text: {*names[number]} for id, number in zip(p.ids.tolist(), p.numbers.tolist(), strict=True)}


def as_table(store: Store, path: Path, corpus: int) -> starts.Begin:
    sheet = files.as_labels(read_sheet(path, keep_lines=True))
    found = only_plan(store, corpus, None, sheet, tables.likely_columns(sheet))
    assert found.several == 2 and not found.problems
    return tables.from_plan(found, path.name)


WAYS: dict[str, Callable[[Store, int], str | bytes]] = {
    "labels.csv": lambda store, id: csv_text(files.HEADER, files.rows(store, id)),
    "labels.xlsx": lambda store, id: excel_bytes(files.HEADER, files.rows(store, id), title="labels"),
    "label studio.json": files.label_studio,
    "doccano.jsonl": files.doccano,
    "project.qdpx": qda_projects.qdpx,
}


@pytest.mark.parametrize("name", WAYS)
def test_codes_come_back_from_files(sqlite_store: Store, labelling: LabellingRecord, tmp_path: Path, name: str) -> None:
    content, path = WAYS[name](sqlite_store, labelling.id), tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if name.endswith(".qdpx"):
        plan = qda_projects.plan_project(sqlite_store, labelling.corpus_id, path)
        assert (plan.several, plan.lost, plan.partly) == (2, 0, 0)
        (again,) = qda_projects.begin(sqlite_store, NewLabelling(labelling.corpus_id, "again", "ben"), plan, name)
    else:
        begin = as_table(sqlite_store, path, labelling.corpus_id)
        again = starts.begin(sqlite_store, NewLabelling(labelling.corpus_id, "again", "ben"), begin)
    assert codes_of(sqlite_store, again.id) == dict(zip(TEXTS, WANTED, strict=True))


def test_the_whole_history_comes_back(sqlite_store: Store, labelling: LabellingRecord) -> None:
    lines = files.export_lines(sqlite_store, labelling.id).splitlines(keepends=True)
    again = files.import_lines(sqlite_store, labelling.corpus_id, lines, "x.jsonl")
    assert codes_of(sqlite_store, again.id) == dict(zip(TEXTS, WANTED, strict=True))
    session = LabellingSession(sqlite_store, again.id, "ada")
    while session.undo():
        pass
    assert (session.partition.numbers == -1).all()


def test_gold_labels_have_the_codes_of_more_than_half(sqlite_store: Store, labelling: LabellingRecord) -> None:
    """Of three people, two give the first sentence “bus”; of two, one gives the second “late”, which is unsure."""
    people = [labelling]
    for name in ("ben", "eve"):
        new = NewLabelling(labelling.corpus_id, name, name)
        people.append(starts.begin(sqlite_store, new, starts.from_labelling(labelling.id)))
    ben, eve = (LabellingSession(sqlite_store, record.id, record.owner) for record in people[1:])
    first, second = (ben.partition.ids[at : at + 1] for at in (0, 1))
    bus, late = (
        next(n for n, c in ben.partition.clusters.items() if c.name == name) for name in ("bus", "delay, late")
    )
    ben.do(coding.remove_code(ben.partition, first, bus, ben.next_number))
    eve.do(op.unassign(eve.partition, second))
    ben.do(coding.add_code(ben.partition, second, late, ben.next_number))
    gold = starts.begin(
        sqlite_store, NewLabelling(labelling.corpus_id, "gold", "ada"), from_adjudication([p.id for p in people])
    )
    found = codes_of(sqlite_store, gold.id)
    assert found[TEXTS[0]] == WANTED[0] and found[TEXTS[1]] == {"bus"} and found[TEXTS[3]] == WANTED[3]
    with sqlite_store.reading() as r:
        state = r.labellings.snapshot(gold.id).partition
    assert state.ids[state.uncertain].tolist() == second.tolist()
    assert "each code that more than half" in methods_section(sqlite_store, [p.id for p in people])


def test_rows_of_one_sentence_are_codes_where_that_is_said(sqlite_store: Store, tmp_path: Path) -> None:
    """As MAXQDA and QualCoder export segments: one row for each code."""
    corpus, path = corpus_of(sqlite_store), tmp_path / "segments.csv"
    path.write_text(f"Segment,Code\n{TEXTS[0]},bus\n{TEXTS[0]},delay\n{TEXTS[1]},bus\n", encoding="utf-8")
    sheet = files.as_labels(read_sheet(path, keep_lines=True))
    columns = tables.likely_columns(sheet)
    once = only_plan(sqlite_store, corpus, None, sheet, columns)
    assert (once.several, len(once.contradicting)) == (0, 1)
    every = only_plan(sqlite_store, corpus, None, sheet, columns, several=True)
    assert (every.several, every.problems) == (1, [])


def test_a_copy_keeps_the_codes_and_agrees(sqlite_store: Store, labelling: LabellingRecord) -> None:
    copy = starts.begin(
        sqlite_store, NewLabelling(labelling.corpus_id, "copy", "ben"), starts.from_labelling(labelling.id)
    )
    assert codes_of(sqlite_store, copy.id) == codes_of(sqlite_store, labelling.id)
    with sqlite_store.reading() as r:
        text = coded_text(r, [labelling, copy])
    assert [len(coder.sets) for coder in text.coders] == [2, 2]
    assert np.array_equal(text.coders[0].labels, text.coders[1].labels)


@pytest.mark.parametrize("name", ["labels.csv", "label studio.json", "project.qdpx"])
def test_no_code_has_the_name_of_another_coder(
    sqlite_store: Store, labelling: LabellingRecord, tmp_path: Path, name: str
) -> None:
    """Bea gives a sentence of Ada's a further code, and takes one back by an undo."""
    with sqlite_store.writing() as w:
        w.labellings.share(labelling.id, Sharing.SHARED, False, "ada")
    bea = LabellingSession(sqlite_store, labelling.id, "bea")
    second = bea.partition.ids[1:2]
    late = next(number for number, cluster in bea.partition.clusters.items() if cluster.name == "delay, late")
    bea.do(coding.add_code(bea.partition, second, late, bea.next_number))
    bea.do(coding.remove_code(bea.partition, bea.partition.ids[:1], late, bea.next_number))
    assert bea.undo()
    content, path = WAYS[name](sqlite_store, labelling.id), tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    new = NewLabelling(labelling.corpus_id, "again", "ada")
    if name != "project.qdpx":
        sheet = files.as_labels(read_sheet(path, keep_lines=True))
        how = tables.LabelReading(together=False, several=False)
        (found,) = tables.plans(sqlite_store, labelling.corpus_id, None, sheet, tables.likely_columns(sheet), how)
        again = starts.begin(sqlite_store, new, tables.from_plan(found, name))
        coders = [row[files.HEADER.index("coder")] for row in files.rows(sqlite_store, again.id)]
        assert coders == ["ada", "ada, bea", "", "ada", "ada"]
        return
    plan = qda_projects.plan_project(sqlite_store, labelling.corpus_id, path)
    first, other = qda_projects.begin(sqlite_store, new, plan, name)
    assert (first.name, other.name) == ("again (ada)", "again (bea)")
    assert codes_of(sqlite_store, first.id) == dict(zip(TEXTS, WANTED, strict=True))
    rows = [(row[6], row[7], row[13]) for row in files.rows(sqlite_store, other.id) if row[7]]
    assert rows == [(TEXTS[1], "delay, late", "bea")]
