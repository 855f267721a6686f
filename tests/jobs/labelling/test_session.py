"""A person's place at a labelling, and labellings that come and go as files."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.db.texts import add_corpus
from tests.jobs.helpers import only_plan, partition_of
from tests.jobs.labelling.test_labels_of_other_tools import TEXTS, corpus_of
from themescope.core.errors import DataError
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import Kind, StaleChangeError, Step
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.partition import UNASSIGNED, allows_several, code_names, free_name
from themescope.core.labelling.task_items import TrainingItem, items_of
from themescope.core.readers.tables import read_sheet
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.core.types import Split
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.labelling import files, qda_projects, starts, tables
from themescope.jobs.services.labelling.agreement import coded_text, from_adjudication
from themescope.jobs.services.labelling.codebook import methods_section
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.table_files import csv_text, excel_bytes, parquet_bytes

HOSTILE = "=1+1 <script>alert(1)</script> \u202e 😀\u2028,\"'"


def begin(store: Store, how: starts.Begin = starts.from_sections, article: bool = True) -> LabellingRecord:
    with store.reading() as r:
        known = r.corpora.list()
    corpus = known[0] if known else add_corpus(store)
    with store.reading() as r:
        first = r.corpora.articles(corpus.id)[0].id
    new = NewLabelling(corpus.id, "towns", "ada", Sharing.SHARED, False, first if article else None)
    return starts.begin(store, new, how)


def test_undo_and_redo_survive_a_reload(sqlite_store: Store) -> None:
    record = begin(sqlite_store)
    session = LabellingSession(sqlite_store, record.id, "ada")
    states = [session.partition.to_bytes()]
    for make in (
        lambda p: op.unassign(p, p.ids[:3]),
        lambda p: op.create(p, session.next_number, "New", p.ids[2:6]),
        lambda p: op.merge(p, [1, 2], 2),
        lambda p: op.rename(p, 2, HOSTILE),
        lambda p: op.note(p, p.ids[:2], HOSTILE),
    ):
        session.do(make(session.partition), "why", "table")
        states.append(session.partition.to_bytes())
    for expected in states[-2::-1]:
        session = LabellingSession(sqlite_store, record.id, "ada")
        assert session.undo()
        assert session.partition.to_bytes() == expected
    assert session.undo() is None
    for expected in states[1:]:
        session = LabellingSession(sqlite_store, record.id, "ada")
        assert session.redo()
        assert session.partition.to_bytes() == expected
    assert session.redo() is None
    third = [step for step in session.steps if step.kind is Kind.DO][2]
    assert session.at(third.id).to_bytes() == states[3]
    session.back_to(third.id)
    assert session.partition.to_bytes() == states[3]
    session.undo()
    assert session.partition.to_bytes() == states[-1]
    session.back_to(0)
    assert LabellingSession(sqlite_store, record.id, "").partition.to_bytes() == states[0]


def test_two_people_at_one_sentence_and_one_cluster(sqlite_store: Store) -> None:
    record = begin(sqlite_store)
    ada, ben = (LabellingSession(sqlite_store, record.id, name) for name in ("ada", "ben"))
    first, second = ada.partition.members(1)[:2]
    ben.do(op.assign(ben.partition, np.array([first]), 2))
    wanted = op.assign(ada.partition, np.array([first, second]), 3)
    with pytest.raises(StaleChangeError) as error:
        ada.do(wanted)
    conflict = ada.conflict(wanted, error.value)
    (found,) = conflict.sentences
    assert (found.sentence, found.person) == (first, "ben")
    assert (found.seen, found.mine, found.theirs) == ("Introduction", "Heading 2", "Heading 1")
    ada.insist(conflict)
    assert ada.partition.numbers[ada.partition.rows([first, second])].tolist() == [3, 3]
    ben.sync()
    assert ben.partition.to_bytes() == ada.partition.to_bytes()
    with pytest.raises(StaleChangeError):
        ben.undo()  # ada has built on it
    assert ada.undo()
    assert ada.partition.numbers[ada.partition.rows([first])].tolist() == [2]
    # A cluster that the other one filled meanwhile is deleted all the same.
    ben.sync()
    moved = ada.partition.members(1)[:1]
    ben.do(op.assign(ben.partition, moved, 2))
    wanted = op.delete(ada.partition, 2)
    with pytest.raises(StaleChangeError) as error:
        ada.do(wanted)
    ada.insist(ada.conflict(wanted, error.value))
    assert 2 not in ada.partition.clusters
    assert ada.partition.numbers[ada.partition.rows(moved)].tolist() == [UNASSIGNED]


def test_two_people_give_one_sentence_different_codes(sqlite_store: Store) -> None:
    """Both codes stay, each person can take back their own, and the same code of both is a conflict."""
    record = begin(sqlite_store)
    ada, ben = (LabellingSession(sqlite_store, record.id, name) for name in ("ada", "ben"))
    ada.do(coding.allow_several(ada.partition, True))
    ben.sync()
    first = ada.partition.members(1)[:1]
    for session, code in ((ben, 2), (ada, 3)):
        session.do(coding.add_code(session.partition, first, code, session.next_number))

    def codes(session: LabellingSession) -> set[str]:
        session.sync()
        p = session.partition
        return {*code_names(p)[int(p.numbers[p.rows(first)[0]])]}

    assert codes(ada) == codes(ben) == {"Introduction", "Heading 1", "Heading 2"}
    assert ben.undo()
    assert codes(ada) == codes(ben) == {"Introduction", "Heading 2"}
    assert ada.undo() and ben.redo()
    assert codes(LabellingSession(sqlite_store, record.id, "")) == {"Introduction", "Heading 1"}
    ada.sync()
    ben.do(coding.remove_code(ben.partition, first, 2, ben.next_number))
    with pytest.raises(StaleChangeError):
        ada.do(coding.remove_code(ada.partition, first, 2, ada.next_number))


def test_the_ways_to_begin(sqlite_store: Store) -> None:
    record = begin(sqlite_store)
    session = LabellingSession(sqlite_store, record.id, "ada")
    assert [c.name for c in session.partition.clusters.values()] == ["Introduction", "Heading 1", "Heading 2"]
    session.do(op.note(session.partition, session.partition.ids[:1], "note"))
    copy = begin(sqlite_store, starts.from_labelling(record.id))
    assert copy.name == "towns 2"
    assert LabellingSession(sqlite_store, copy.id, "ben").partition.to_bytes() == session.partition.to_bytes()
    whole = begin(sqlite_store, starts.from_nothing, article=False)
    assert LabellingSession(sqlite_store, whole.id, "").partition.sizes() == {UNASSIGNED: 60}
    ids = session.partition.ids[:4]
    named = starts.from_labels(ids, np.array([2, 2, -1, 5], np.int32), {2: "two"}, {"from": "clustering"})
    found = LabellingSession(sqlite_store, begin(sqlite_store, named).id, "").partition
    assert found.sizes() == {1: 2, 2: 1, UNASSIGNED: 1}
    assert found.clusters[1].name == "two"
    with pytest.raises(DataError, match="no sentences"):
        begin(sqlite_store, starts.from_labels(ids[:0], np.empty(0, np.int32), {}, {}))


@settings(max_examples=12)
@given(st.data())
def test_a_file_brings_everything_back(sqlite_store: Store, data: st.DataObject) -> None:
    record = begin(sqlite_store)
    people = st.sampled_from(["ada", "", HOSTILE])
    for _ in range(data.draw(st.integers(0, 5))):
        session = LabellingSession(sqlite_store, record.id, data.draw(people))
        ids = np.array(data.draw(st.lists(st.sampled_from(session.partition.ids.tolist()), max_size=4)), dtype=np.int64)
        text = data.draw(st.text(min_size=1, max_size=8))
        p, numbers = session.partition, sorted(session.partition.clusters)
        match data.draw(st.integers(0, 5)):
            case 0:
                session.do(op.create(p, session.next_number, free_name(p, text), ids), text, text)
            case 1:
                session.do(op.note(p, ids, text))
            case 2:
                session.do(op.mark(p, ids, True))
            case 3:
                session.do(op.merge(p, numbers[:2], numbers[0]))
            case 4:
                session.undo()
            case _:
                session.redo()
    exported = files.export_lines(sqlite_store, record.id)
    before = LabellingSession(sqlite_store, record.id, "ada")
    with sqlite_store.writing() as w:
        w.labellings.purge(record.id, "ada")
    again = files.import_lines(sqlite_store, record.corpus_id, exported.splitlines(True), "x.jsonl")
    after = LabellingSession(sqlite_store, again.id, "ada")
    assert after.partition.to_bytes() == before.partition.to_bytes()
    assert _told(after) == _told(before)
    assert replace(again, id=record.id, created=record.created) == record
    assert len(after.undo_state.undoable) == len(before.undo_state.undoable)
    with sqlite_store.writing() as w:
        w.labellings.purge(again.id, "ada")


def _told(session: LabellingSession) -> list[Step]:
    place = {step.id: number for number, step in enumerate(session.steps)}
    return [replace(step, id=0, target=place.get(step.target or -1)) for step in session.steps]


def test_gold_items_follow_the_labelling_and_its_export(sqlite_store: Store) -> None:
    def items(labelling: int) -> list[TrainingItem]:
        with sqlite_store.reading() as r:
            return items_of(r.labellings.entries(labelling), r.labellings.clusters(labelling))

    record = begin(sqlite_store)
    session = LabellingSession(sqlite_store, record.id, "lea")
    placed = session.partition.ids[session.partition.numbers > 0][:3].tolist()
    session.do(book.choose_training(session.partition, ["a", "b", "c"], placed, "see the rules"))
    found = items(record.id)
    assert [item.sentence for item in found] == placed and {item.explanation for item in found} == {"see the rules"}
    lines = files.export_lines(sqlite_store, record.id).splitlines(True)
    assert items(files.import_lines(sqlite_store, record.corpus_id, lines, "x").id) == found
    session.do(op.delete(session.partition, found[0].cluster))
    assert len(items(record.id)) < 3
    session.undo()
    session.undo()
    assert items(record.id) == []
    with sqlite_store.writing() as w:
        other = w.corpora.create("other", "en")
    with pytest.raises(DataError, match="does not have"):
        files.import_lines(sqlite_store, other.id, lines, "x.jsonl")


def test_tables_are_safe_in_spreadsheets_and_raw_in_parquet(sqlite_store: Store) -> None:
    record = begin(sqlite_store)
    session = LabellingSession(sqlite_store, record.id, HOSTILE)
    session.do(op.rename(session.partition, 1, HOSTILE))
    first, second = session.partition.members(1)[:2].tolist()
    session.do(op.note(session.partition, np.array([first]), HOSTILE))
    session.do(op.create(session.partition, session.next_number, "New", np.array([second])))
    lines = files.rows(sqlite_store, record.id)
    read = list(csv.DictReader(io.StringIO(csv_text(files.HEADER, lines))))
    assert len(read) == record.sentences
    assert read[0]["note"] == read[1]["coder"] == f"'{HOSTILE}"
    assert read[0]["cluster"].startswith("'=1+1")
    table = pq.read_table(io.BytesIO(parquet_bytes(files.HEADER, lines))).to_pylist()
    assert table[0]["note"] == HOSTILE
    assert [row["sentence_id"] for row in table] == [line[0] for line in lines]


def test_labels_become_triplets_and_test_articles_never_do(sqlite_store: Store) -> None:
    def learn(labelling: str, name: str) -> dict[str, Any]:
        return run_here(sqlite_store, "learn-labels", {"labellings": [labelling], "name": name}, quiet=True)

    record = begin(sqlite_store, article=False)
    ada = LabellingSession(sqlite_store, record.id, "ada")
    ids = ada.partition.ids
    ada.do(op.assign(ada.partition, ids[::4], 2))
    ada.do(op.assign(ada.partition, ids[1::4], 3))
    made = learn(record.name, "taught")
    with sqlite_store.reading() as r:
        splits = {a.id: a.split for a in r.corpora.articles(record.corpus_id)}
        for split in Split:
            rows = r.triplets.rows(made["triplet_set_id"], split)
            assert {splits[int(a)] for a in rows.articles} <= {split}
            assert len(rows.pivots) == made["counts"]["triplets"][split.value]
        assert Split.TEST not in {splits[int(a)] for a in r.triplets.rows(made["triplet_set_id"], Split.TRAIN).articles}
        assert r.triplets.get(made["triplet_set_id"]).config["labellings"] == {record.name: ada.snapshot.step}
    assert made["counts"]["triplets"]["train"] > 0
    assert made["counts"]["triplets"]["test"] == 0
    again = learn(record.name, "other name")
    assert (again["cached"], again["triplets"]) == (True, "taught")
    ada.do(op.assign(ada.partition, ids[2::4], 2))
    with sqlite_store.writing() as w:  # as a killed attempt leaves it
        w.triplets.create(record.corpus_id, "more", "sentences", {}, 0, "half")
    more = learn(record.name, "more")
    assert not more["cached"] and more["counts"]["placed"] > made["counts"]["placed"]
    untouched = begin(sqlite_store)
    with pytest.raises(DataError, match="give no training triplets"):
        learn(untouched.name, "empty")


# --- several codes survive every way out and in: tables, REFI-QDA, Label Studio, doccano ------------------------------

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
    with store.reading() as r:
        p = r.labellings.snapshot(labelling_id).partition
        known = r.corpora.sentences_by_id(p.ids)
    assert allows_several(p)
    names = code_names(p)
    return {known[id].text: {*names[number]} for id, number in zip(p.ids.tolist(), p.numbers.tolist(), strict=True)}


WAYS: dict[str, Callable[[Store, int], str | bytes]] = {
    "labels.csv": lambda store, id: csv_text(files.HEADER, files.rows(store, id)),
    "labels.xlsx": lambda store, id: excel_bytes(files.HEADER, files.rows(store, id), title="labels"),
    "label studio.json": files.label_studio,
    "doccano.jsonl": files.doccano,
    "whole.jsonl": files.export_lines,
    "project.qdpx": qda_projects.qdpx,
}


def written(store: Store, labelling: LabellingRecord, path: Path) -> Path:
    content = WAYS[path.name](store, labelling.id)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("name", WAYS)
def test_codes_come_back_from_files(sqlite_store: Store, labelling: LabellingRecord, tmp_path: Path, name: str) -> None:
    path, new = written(sqlite_store, labelling, tmp_path / name), NewLabelling(labelling.corpus_id, "again", "ben")
    if name == "whole.jsonl":
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        again = files.import_lines(sqlite_store, labelling.corpus_id, lines, name)
        session = LabellingSession(sqlite_store, again.id, "ada")
        assert session.at(0).sizes() == {UNASSIGNED: 5} and session.undo()
        assert session.redo()
    elif name.endswith(".qdpx"):
        plan = qda_projects.plan_project(sqlite_store, labelling.corpus_id, path)
        assert (plan.several, plan.lost, plan.partly) == (2, 0, 0)
        (again,) = qda_projects.begin(sqlite_store, new, plan, name)
    else:
        sheet = files.as_labels(read_sheet(path, keep_lines=True))
        found = only_plan(sqlite_store, labelling.corpus_id, None, sheet, tables.likely_columns(sheet))
        assert found.several == 2 and not found.problems
        again = starts.begin(sqlite_store, new, tables.from_plan(found, name))
    assert codes_of(sqlite_store, again.id) == dict(zip(TEXTS, WANTED, strict=True))


def test_copies_agree_and_gold_has_the_codes_of_more_than_half(sqlite_store: Store, labelling: LabellingRecord) -> None:
    """Of three people, two give the first sentence “bus”; of two, one gives the second “late”, which is unsure."""
    people = [labelling]
    for name in ("ben", "eve"):
        new = NewLabelling(labelling.corpus_id, name, name)
        people.append(starts.begin(sqlite_store, new, starts.from_labelling(labelling.id)))
    assert codes_of(sqlite_store, people[1].id) == codes_of(sqlite_store, labelling.id)
    with sqlite_store.reading() as r:
        text = coded_text(r, people[:2])
    assert [len(coder.sets) for coder in text.coders] == [2, 2]
    assert np.array_equal(text.coders[0].labels, text.coders[1].labels)
    ben, eve = (LabellingSession(sqlite_store, record.id, record.owner) for record in people[1:])
    first, second = (ben.partition.ids[at : at + 1] for at in (0, 1))
    number_of = {cluster.name: number for number, cluster in ben.partition.clusters.items()}
    ben.do(coding.remove_code(ben.partition, first, number_of["bus"], ben.next_number))
    eve.do(op.unassign(eve.partition, second))
    ben.do(coding.add_code(ben.partition, second, number_of["delay, late"], ben.next_number))
    gold = starts.begin(
        sqlite_store, NewLabelling(labelling.corpus_id, "gold", "ada"), from_adjudication([p.id for p in people])
    )
    found = codes_of(sqlite_store, gold.id)
    assert found[TEXTS[0]] == WANTED[0] and found[TEXTS[1]] == {"bus"} and found[TEXTS[3]] == WANTED[3]
    state = partition_of(sqlite_store, gold.id)
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
    path = written(sqlite_store, labelling, tmp_path / name)
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
