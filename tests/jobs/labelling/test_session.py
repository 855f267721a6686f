"""A person's place at a labelling, and labellings that come and go as files."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.db.texts import add_corpus
from themescope.core.errors import DataError, ReadError
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import Kind, StaleChangeError
from themescope.core.labelling.partition import UNASSIGNED, code_names, free_name
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.core.types import Split
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.bundles.labellings import from_lines
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.labelling import files, starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.table_files import csv_text, parquet_bytes

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


def test_two_people_at_one_sentence(sqlite_store: Store) -> None:
    record = begin(sqlite_store)
    ada, ben = (LabellingSession(sqlite_store, record.id, name) for name in ("ada", "ben"))
    first, second = ada.partition.members(1)[:2]
    ben.do(op.assign(ben.partition, np.array([first]), 2))
    wanted = op.assign(ada.partition, np.array([first, second]), 3)
    with pytest.raises(StaleChangeError) as error:
        ada.do(wanted)
    conflict = ada.conflict(wanted, error.value)
    (found,) = conflict.sentences
    assert (found.sentence, found.seen, found.mine, found.theirs, found.person) == (
        first,
        "Introduction",
        "Heading 2",
        "Heading 1",
        "ben",
    )
    ada.insist(conflict)
    assert ada.partition.numbers[ada.partition.rows([first, second])].tolist() == [3, 3]
    ben.sync()
    assert ben.partition.to_bytes() == ada.partition.to_bytes()
    with pytest.raises(StaleChangeError):
        ben.undo()  # ada has built on it
    assert ada.undo()
    assert ada.partition.numbers[ada.partition.rows([first])].tolist() == [2]


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


def test_what_was_wanted_of_a_cluster_that_others_filled(sqlite_store: Store) -> None:
    record = begin(sqlite_store)
    ada, ben = (LabellingSession(sqlite_store, record.id, name) for name in ("ada", "ben"))
    moved = ada.partition.members(1)[:1]
    ben.do(op.assign(ben.partition, moved, 2))
    wanted = op.delete(ada.partition, 2)
    with pytest.raises(StaleChangeError) as error:
        ada.do(wanted)
    ada.insist(ada.conflict(wanted, error.value))
    assert 2 not in ada.partition.clusters
    assert ada.partition.numbers[ada.partition.rows(moved)].tolist() == [UNASSIGNED]


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
    assert (again.name, again.owner, again.kind, again.article_id, again.origin) == (
        record.name,
        record.owner,
        record.kind,
        record.article_id,
        record.origin,
    )
    assert len(after.undo_state.undoable) == len(before.undo_state.undoable)
    with sqlite_store.writing() as w:
        w.labellings.purge(again.id, "ada")


def _told(session: LabellingSession) -> list[tuple[object, ...]]:
    place = {step.id: number for number, step in enumerate(session.steps)}
    return [
        (
            s.kind,
            s.operation,
            s.summary,
            s.person,
            s.when,
            place.get(s.target or -1),
            s.reason,
            s.selection_method,
            s.size,
        )
        for s in session.steps
    ]


def test_damaged_files_are_refused(sqlite_store: Store) -> None:
    record = begin(sqlite_store)
    session = LabellingSession(sqlite_store, record.id, "ada")
    session.do(op.unassign(session.partition, session.partition.ids[:2]))
    lines = files.export_lines(sqlite_store, record.id).splitlines(True)
    for damaged in ([], lines[1:], lines[:-1], [*lines[:3], "{}\n", *lines[3:]], [*lines[:-1], lines[-1][:40]]):
        with pytest.raises(ReadError):
            from_lines(damaged, "x.jsonl")
    with sqlite_store.writing() as w:
        other = w.corpora.create("other", "en")
    with pytest.raises(DataError, match="does not have"):
        files.import_lines(sqlite_store, other.id, lines, "x.jsonl")


def test_tables_are_safe_in_spreadsheets_and_raw_in_parquet(sqlite_store: Store) -> None:
    import pyarrow.parquet as pq

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
    record = begin(sqlite_store, article=False)
    ada = LabellingSession(sqlite_store, record.id, "ada")
    ids = ada.partition.ids
    ada.do(op.assign(ada.partition, ids[::4], 2))
    ada.do(op.assign(ada.partition, ids[1::4], 3))
    made = run_here(sqlite_store, "learn-labels", {"labellings": [record.name], "name": "taught"}, quiet=True)
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
    again = run_here(sqlite_store, "learn-labels", {"labellings": [record.name], "name": "other name"}, quiet=True)
    assert (again["cached"], again["triplets"]) == (True, "taught")
    ada.do(op.assign(ada.partition, ids[2::4], 2))
    with sqlite_store.writing() as w:  # as a killed attempt leaves it
        w.triplets.create(record.corpus_id, "more", "sentences", {}, 0, "half")
    more = run_here(sqlite_store, "learn-labels", {"labellings": [record.name], "name": "more"}, quiet=True)
    assert not more["cached"] and more["counts"]["placed"] > made["counts"]["placed"]
    untouched = begin(sqlite_store)
    with pytest.raises(DataError, match="give no training triplets"):
        run_here(sqlite_store, "learn-labels", {"labellings": [untouched.name], "name": "empty"}, quiet=True)
