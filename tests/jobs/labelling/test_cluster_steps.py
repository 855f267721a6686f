"""Sub-themes, re-clusterings and dismissals in the store and in files: what comes back is what was there."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.labelling.test_cluster_operations import IDS, Choose, LabellingSession, intentions, made
from tests.jobs.labelling.test_document import ABOUT
from themescope.core.labelling.cluster_changes import ClusterChanges
from themescope.jobs.bundles.labellings import LabellingDocument, SentencePlace, from_lines, moved, to_lines

SHIFT = {int(id): 1_000 - int(id) for id in IDS}
BACK = {there: here for here, there in SHIFT.items()}


@settings(max_examples=60)
@given(st.lists(st.one_of(intentions, st.just("undo")), max_size=10))
def test_any_history_comes_back_from_a_file_and_from_another_store(actions: list[Choose | str]) -> None:
    labelling = LabellingSession(made())
    labelling.act(actions)
    places = {int(id): SentencePlace("article", int(id), f"text {id}") for id in IDS}
    log = tuple(zip(labelling.steps, labelling.change_sets, strict=True))
    document = LabellingDocument(ABOUT, made(), log, places)
    lines = list(to_lines(document))
    again = from_lines(lines)
    assert list(to_lines(again)) == lines
    assert again.end().to_bytes() == labelling.state.to_bytes()
    elsewhere = moved(again, SHIFT)  # the same sentences in another store, in the opposite order
    assert moved(elsewhere, BACK).end().to_bytes() == labelling.state.to_bytes()
    found = ClusterChanges()
    found.add(elsewhere.log)
    assert found.stale_names(elsewhere.end()) == labelling.changes().stale_names(labelling.state)
