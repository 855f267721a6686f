"""Sub-themes, re-clusterings and dismissals in the store and in files: what comes back is what was there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.labelling.test_cluster_operations import IDS, Choose, Labelling, intentions, made
from tests.db.texts import add_corpus
from tests.jobs.labelling.test_document import ABOUT
from themescope.core.labelling import cluster_changes, hierarchy
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import replay, rewind
from themescope.core.labelling.cluster_changes import ClusterChanges
from themescope.core.labelling.partition import Partition
from themescope.db.label_records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.bundles.labellings import Document, SentencePlace, from_lines, moved, to_lines
from themescope.jobs.services.labelling import files, starts
from themescope.jobs.services.labelling.session import LabellingSession

SHIFT = {int(id): 1_000 - int(id) for id in IDS}
BACK = {there: here for here, there in SHIFT.items()}


@settings(max_examples=60)
@given(st.lists(st.one_of(intentions, st.just("undo")), max_size=10))
def test_any_history_comes_back_from_a_file_and_from_another_store(actions: list[Choose | str]) -> None:
    labelling = Labelling()
    for action in actions:
        if isinstance(action, str):
            labelling.undo()
        else:
            labelling.do(action)
    places = {int(id): SentencePlace("article", int(id), f"text {id}") for id in IDS}
    log = tuple(zip(labelling.steps, labelling.change_sets, strict=True))
    document = Document(ABOUT, made(), log, places)
    lines = list(to_lines(document))
    again = from_lines(lines)
    assert list(to_lines(again)) == lines
    assert again.end().to_bytes() == labelling.state.to_bytes()
    elsewhere = moved(again, SHIFT)  # the same sentences in another store, in the opposite order
    assert moved(elsewhere, BACK).end().to_bytes() == labelling.state.to_bytes()
    found = ClusterChanges()
    found.add(elsewhere.log)
    assert found.stale_names(elsewhere.end()) == labelling.changes().stale_names(labelling.state)


def test_every_step_on_clusters_is_stored_undone_exported_and_imported(sqlite_store: Store) -> None:
    corpus = add_corpus(sqlite_store)
    record = starts.begin(sqlite_store, NewLabelling(corpus.id, "first", ""), starts.from_sections)
    session = LabellingSession(sqlite_store, record.id, "")
    first = session.partition

    def in_two(p: Partition) -> op.Operation:
        ids = p.members(1)
        return op.recluster(p, [("One", ids[::2]), ("Two", ids[1::2])], session.next_number, [1])

    choices: list[Callable[[Partition], op.Operation]] = [
        in_two,
        lambda p: hierarchy.put_under(p, [1, 2], 3),
        lambda p: hierarchy.group(p, [hierarchy.ClusterGroup("All", (3,))], session.next_number),
        lambda p: cluster_changes.dismiss_merge(p, 1, 2),
        lambda p: cluster_changes.accept_outliers(p, p.ids[:3]),
        lambda p: cluster_changes.update_names(p, {1: "New", 2: p.clusters[2].name}),
        lambda p: hierarchy.move_out(p, [2]),
        lambda p: op.merge(p, [2], 1),
        lambda p: hierarchy.dissolve(p, max(p.clusters)),
    ]
    for choose in choices:
        assert session.do(choose(session.partition)) is not None
    with sqlite_store.reading() as r:
        stored, log = r.labellings.snapshot(record.id).partition, r.label_steps.since(record.id, 0)
    change_sets = [change_set for _, change_set in log]
    assert stored.to_bytes() == session.partition.to_bytes() == replay(first, change_sets).to_bytes()
    assert rewind(stored, change_sets).to_bytes() == first.to_bytes()
    again = files.import_lines(sqlite_store, corpus.id, files.export_lines(sqlite_store, record.id).split("\n"), "x")
    with sqlite_store.reading() as r:
        assert r.labellings.snapshot(again.id).partition.to_bytes() == stored.to_bytes()
    for _ in choices:
        assert session.undo() is not None
    assert session.partition.to_bytes() == first.to_bytes()
    assert np.array_equal(session.partition.ids, first.ids)
