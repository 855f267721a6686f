from dataclasses import replace
from threading import Barrier, Thread

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.db.texts import add_corpus
from themescope.core.errors import ConflictError, DuplicateNameError, StoreError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import (
    ChangeSet,
    ClusterChange,
    EntryChange,
    Kind,
    StaleChangeError,
    Step,
    replay,
)
from themescope.core.labelling.partition import UNASSIGNED, Cluster, Entry, EntryKind, Partition, start
from themescope.core.records.stored import LabellingRecord, Role, Sharing
from themescope.db import tables as t
from themescope.db.records import Draft, NewLabelling
from themescope.db.sql import now
from themescope.db.store import Store
from themescope.jobs.services.labelling.session import LabellingSession


def make(store: Store, kind: Sharing = Sharing.SHARED, owner: str = "ada", size: int = 30) -> LabellingRecord:
    corpus = add_corpus(store)
    with store.writing() as w:
        ids = np.arange(1, size + 1)
        numbers = np.where(ids % 3 == 0, UNASSIGNED, ids % 3)
        first = start(ids, numbers, [Cluster(1, "One", 0), Cluster(2, "Two", 1)])
        return w.labellings.create(NewLabelling(corpus.id, "towns", owner, kind, origin={"from": "nothing"}), first)


def do(store: Store, id: int, operation: op.Operation, snapshot: object, person: str = "ada") -> int:
    draft = Draft(Kind.DO, operation.kind.value, operation.summary, person, None, "because", "lasso")
    with store.writing() as w:
        return w.label_steps.append(id, draft, operation.change_set, snapshot)[0].id  # type: ignore[arg-type]


def entered(partition: Partition, entry: Entry | None, key: str = "4") -> op.Operation:
    change = EntryChange(EntryKind.CODE, key, partition.entries.get((EntryKind.CODE, key)), entry)
    return op.entries(op.OperationKind.NOTE, "codebook", [change])


def under(partition: Partition, number: int, parent: int) -> op.Operation:
    cluster = partition.cluster(number)
    change = ClusterChange(cluster, replace(cluster, parent=parent))
    return op.Operation(op.OperationKind.RECOLOUR, "level", ChangeSet((change,)))


def snapshot(store: Store, id: int):
    with store.reading() as r:
        return r.labellings.snapshot(id)


def test_a_labelling_comes_back_as_it_went_in(store: Store) -> None:
    record = make(store)
    now = snapshot(store, record.id)
    assert now.partition.sizes() == {1: 10, 2: 10, UNASSIGNED: 10}
    assert (now.step, now.issued) == (0, 2)
    assert not now.versions.any()
    with store.reading() as r:
        assert r.labellings.list() == [record]
        assert r.labellings.by_name("towns").origin == {"from": "nothing"}
    with store.writing() as w, pytest.raises(DuplicateNameError):
        w.labellings.create(NewLabelling(record.corpus_id, "towns", "ben"), now.partition)
    with pytest.raises(ConflictError), store.writing() as w:  # the database refuses a second cluster of a name
        update = t.label_cluster.update().where(t.label_cluster.c.number == 2)
        w.labellings.connection.execute(update.values(name_key="one"))
    assert len(snapshot(store, record.id).partition.clusters) == 2


def test_entries_and_levels_of_two_people_are_checked(store: Store) -> None:
    record = make(store)
    seen = snapshot(store, record.id)
    do(store, record.id, entered(seen.partition, Entry({"definition": "hers"})), seen)
    with pytest.raises(StaleChangeError):
        do(store, record.id, entered(seen.partition, Entry({"definition": "his"})), seen, "ben")
    now = snapshot(store, record.id)
    assert now.partition.entries == {(EntryKind.CODE, "4"): Entry({"definition": "hers"})}
    do(store, record.id, under(now.partition, 1, 2), now)
    third = op.create(now.partition, 3, "Three", np.array([1]))
    do(store, record.id, third, snapshot(store, record.id))
    for wrong in (under(seen.partition, 2, 1), op.delete(seen.partition, 2)):
        with pytest.raises(StaleChangeError):
            do(store, record.id, wrong, now, "ben")
    with store.reading() as r:
        assert {n: c.parent for n, c in r.labellings.clusters(record.id).items()} == {1: 2, 2: None, 3: None}


def test_what_others_did_is_followed_step_by_step(store: Store) -> None:
    record = make(store)
    mine = snapshot(store, record.id)
    theirs = mine
    do(store, record.id, op.create(theirs.partition, 3, "New", np.array([3])), theirs, "ben")
    with store.reading() as r:
        for step, change_set in r.label_steps.since(record.id, mine.step):
            mine = mine.after(step, change_set)
    now = snapshot(store, record.id)
    assert mine.partition.to_bytes() == now.partition.to_bytes()
    assert np.array_equal(mine.versions, now.versions)
    assert (mine.step, mine.cluster_versions) == (now.step, now.cluster_versions)
    # A cluster that another person made at the same time gets a number of its own.
    do(store, record.id, op.create(theirs.partition, 3, "Ada's", np.array([6])), theirs)
    last = snapshot(store, record.id).partition
    assert {number: c.name for number, c in last.clusters.items() if number > 2} == {3: "New", 4: "Ada's"}
    assert last.members(4).tolist() == [6]


def test_a_stale_write_is_refused_and_says_who_was_first(store: Store) -> None:
    record = make(store)
    seen = snapshot(store, record.id)
    do(store, record.id, op.assign(seen.partition, np.array([3, 6]), 2), seen, "ben")
    before = snapshot(store, record.id).partition.to_bytes()
    with pytest.raises(StaleChangeError, match="ben changed these items") as error:
        do(store, record.id, op.assign(seen.partition, np.array([6, 9]), 1), seen)
    assert error.value.sentences == [6]
    assert snapshot(store, record.id).partition.to_bytes() == before
    do(store, record.id, op.assign(seen.partition, np.array([9]), 1), seen)  # another sentence is nobody's business
    # An edit there and back is a change too.
    do(store, record.id, op.unassign(seen.partition, np.array([1])), seen, "ben")
    now = snapshot(store, record.id)
    do(store, record.id, op.assign(now.partition, np.array([1]), 1), now, "ben")
    with pytest.raises(StaleChangeError):
        do(store, record.id, op.assign(seen.partition, np.array([1]), 2), seen)


def test_clusters_conflict_as_well(store: Store) -> None:
    record = make(store)
    seen = snapshot(store, record.id)
    do(store, record.id, op.rename(seen.partition, 1, "Uno"), seen, "ben")
    with pytest.raises(StaleChangeError) as error:
        do(store, record.id, op.rename(seen.partition, 1, "Eins"), seen)
    assert error.value.clusters == [1]
    now = snapshot(store, record.id)
    do(store, record.id, op.assign(now.partition, np.array([3]), 2), now, "ben")
    with pytest.raises(StaleChangeError) as error:
        do(store, record.id, op.delete(now.partition, 2), now)
    assert error.value.sentences == [3]
    later = snapshot(store, record.id)
    do(store, record.id, op.delete(later.partition, 2), later, "ben")
    with pytest.raises(StaleChangeError) as error:
        do(store, record.id, op.assign(later.partition, np.array([9]), 2), later)
    assert error.value.clusters == [2]


@pytest.mark.parametrize("change", ["create", "rename"])
def test_of_clusters_that_get_one_name_at_once_one_is_written(store: Store, change: str) -> None:
    record = make(store)
    sessions = [LabellingSession(store, record.id, "") for _ in range(4)]
    ready, told = Barrier(4), list[str]()

    def work(session: LabellingSession, number: int) -> None:
        p = session.partition
        made = (
            op.create(p, 3, "Same", p.ids[:0])
            if change == "create"
            else op.rename(p, number, ("Same", "sAME")[number - 1])
        )
        ready.wait(30)
        try:
            session.do(made)
        except (DuplicateNameError, StaleChangeError) as error:
            told.append(str(error))

    threads = [Thread(target=work, args=(session, 1 + place % 2)) for place, session in enumerate(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [c.name.casefold() for c in snapshot(store, record.id).partition.clusters.values()]
    assert names.count("same") == 1 and len(told) == 3
    assert any("exists already" in sentence for sentence in told)


def test_names_are_exchanged_in_one_step_and_freed_by_deletion(store: Store) -> None:
    session = LabellingSession(store, make(store).id, "ada")
    for number, name in ((1, "x"), (2, "One"), (1, "Two")):
        session.do(op.rename(session.partition, number, name))
    session.back_to(0)
    assert [c.name for c in session.partition.clusters.values()] == ["One", "Two"]
    session.do(op.delete(session.partition, 2))
    deleted = session.steps[-1].id
    session.do(op.create(session.partition, session.next_number, "two", session.partition.ids[:1]))
    with pytest.raises(DuplicateNameError, match="two"):
        session.undo(deleted)
    assert session.undo() is not None and session.undo() is not None
    assert [c.name for c in session.partition.clusters.values()] == ["One", "Two"]


def test_a_start_and_a_history_of_another_store_with_one_name_twice_are_numbered(store: Store) -> None:
    record = make(store)
    twice = start([1, 2], [1, 2], [Cluster(1, "Same", 0), Cluster(2, "same", 1)])
    created = ChangeSet((ClusterChange(None, Cluster(3, "Same", 2)),))
    step = Step(1, Kind.DO, "create", "Same", "ada", now(), None)
    with store.writing() as w:
        made = w.labellings.create(NewLabelling(record.corpus_id, "numbered", ""), twice)
        taken = w.labellings.add_imported(NewLabelling(record.corpus_id, "imported", ""), twice, None)
        w.label_steps.take_over(taken.id, [(step, created)], twice)
    assert [c.name for c in snapshot(store, made.id).partition.clusters.values()] == ["Same", "same 2"]
    session = LabellingSession(store, taken.id, "")
    assert [c.name for c in session.partition.clusters.values()] == ["Same", "same 2", "Same 3"]
    assert session.at(0).to_bytes() == twice.to_bytes()


def test_people_and_what_they_may_do(store: Store) -> None:
    record = make(store, Sharing.OWN)
    now = snapshot(store, record.id)
    change = op.rename(now.partition, 1, "Uno")
    with pytest.raises(StoreError, match="belongs to ada"):
        do(store, record.id, change, now, "ben")
    with store.writing() as w:
        w.people.set_role("eve", Role.ADMIN, by="anybody")
        w.people.set_role("ada", Role.VIEWER, by="eve")
        with pytest.raises(StoreError, match="requires an admin"):
            w.people.set_role("ben", Role.ADMIN, by="ben")
    with pytest.raises(StoreError, match="may view, but not change"):
        do(store, record.id, change, now, "ada")
    do(store, record.id, change, now, "eve")


def test_deleting_hides_and_restoring_shows(store: Store) -> None:
    record = make(store)
    now = snapshot(store, record.id)
    do(store, record.id, op.rename(now.partition, 1, "Uno"), now)
    with store.writing() as w:
        with pytest.raises(StoreError, match="Only ada"):
            w.labellings.delete(record.id, "ben")
        w.labellings.delete(record.id, "ada")
        assert w.labellings.list() == []
        assert [x.id for x in w.labellings.list(deleted=True)] == [record.id]
    later = snapshot(store, record.id)
    with pytest.raises(StoreError, match="Restore it first"):
        do(store, record.id, op.rename(later.partition, 1, "Eins"), later)
    with store.writing() as w:
        w.labellings.restore(record.id, "ada")
        assert w.labellings.rename(record.id, "cities", "ben").name == "cities"
        assert w.labellings.share(record.id, Sharing.OWN, True, "ada").blind
        w.labellings.purge(record.id, "ada")
        assert w.labellings.list() == []
        assert w.label_steps.list(record.id) == []


def test_who_is_here_until_the_corpus_goes_with_its_labellings(store: Store) -> None:
    record = make(store)
    with store.writing() as w:
        for session in ("a", "b", "a"):
            w.people.heartbeat(record.id, "ada", session)
        w.people.heartbeat(record.id, "ben", "c")
    with store.reading() as r:
        assert [p.person for p in r.people.here(record.id)] == ["ada", "ben"]
        assert r.people.here(record.id, within_s=-1) == []
    with store.writing() as w:
        w.corpora.delete(record.corpus_id)
        with pytest.raises(StoreError, match="was deleted"):
            w.people.heartbeat(record.id, "ada", "a")
        assert w.labellings.list() == []


def test_a_lasso_over_ten_thousand_and_back(sqlite_store: Store) -> None:
    record = make(sqlite_store, size=100_000)
    seen = snapshot(sqlite_store, record.id)
    before = seen.partition.to_bytes()
    chosen = np.random.default_rng(0).choice(seen.partition.ids, 10_000, replace=False)
    statements = []
    sa.event.listen(sa.Engine, "before_cursor_execute", listener := lambda *given: statements.append(given[2]))
    do(sqlite_store, record.id, op.create(seen.partition, 3, "New", chosen), seen)
    sa.event.remove(sa.Engine, "before_cursor_execute", listener)
    assert 0 < len(statements) < 100  # in blocks, not one by one
    now = snapshot(sqlite_store, record.id)
    assert len(now.partition.members(3)) == 10_000
    with sqlite_store.reading() as r:
        ((step, change_set),) = r.label_steps.since(record.id, 0)
    draft = Draft(Kind.UNDO, step.operation, step.summary, "ada", step.id)
    with sqlite_store.writing() as w:
        w.label_steps.append(record.id, draft, change_set.inverse(), now)
    assert snapshot(sqlite_store, record.id).partition.to_bytes() == before


@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.lists(st.integers(1, 30), max_size=6)), max_size=8))
def test_replaying_the_log_gives_the_state(sqlite_store: Store, edits: list[tuple[str, list[int]]]) -> None:
    with sqlite_store.writing() as w:
        corpus = w.corpora.create(w.corpora.usable_name("c"), "en")
        first = start(np.arange(1, 31))
        record = w.labellings.create(NewLabelling(corpus.id, w.labellings.usable_name("x"), ""), first)
    for name, ids in edits:
        now = snapshot(sqlite_store, record.id)
        known = [c.number for c in now.partition.clusters.values() if c.name == name]
        chosen = np.array(ids, dtype=np.int64)
        if known:
            operation = op.assign(now.partition, chosen, known[0])
        else:
            operation = op.create(now.partition, now.issued + 1, name, chosen)
        if operation.change_set:
            do(sqlite_store, record.id, operation, now, "")
    last = snapshot(sqlite_store, record.id)
    with sqlite_store.reading() as r:
        replayed = replay(first, [change_set for _, change_set in r.label_steps.since(record.id, 0)])
    assert replayed.to_bytes() == last.partition.to_bytes()
