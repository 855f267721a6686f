"""Actions dispatched by the browser: each is handled once and in order, however messages are repeated or merged."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.webapp.filled import MODEL, of_sections
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.partition import code_sets
from themescope.core.records.stored import LabellingRecord
from themescope.db.store import Store
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.coding import CODE_KEYS, sentences
from themescope.webapp.features.coding.actions import ACTIONS, SELECT_FIRST, UNSEEN, dispatch
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.shared.compare_queries import CODE, DIFFERS_FROM_PEOPLE, SORT, TABLE


@pytest.fixture
def state(filled_store: Store, labelling: LabellingRecord) -> RelabelState:
    return RelabelState(LabellingSession(filled_store, labelling.id, ""))


def send(state: RelabelState, *actions: dict[str, Any], session: str = "") -> None:
    dispatch(state, {"session": session or state.browser_session, "actions": list(actions)})


def log(state: RelabelState) -> list[str]:
    with state.session._store.reading() as r:
        return [step.summary for step in r.label_steps.list(state.session.record.id)]


def on(state: RelabelState, ids: list[int], kind: str, number: int, **about: Any) -> dict[str, Any]:
    """An action on units as the browser shows them now."""
    was = state.partition.numbers[state.partition.rows(ids)].tolist()
    return {"kind": kind, "number": number, "ids": ids, "was": was, **about}


def test_an_action_on_units_that_are_elsewhere_now_writes_nothing(state: RelabelState) -> None:
    first, second = state.partition.ids[:2].tolist()
    press = on(state, [first], "assign", 1, cluster=3)
    send(state, press, {**press, "number": 2}, {**press, "number": 3, "cluster": 4})
    assert state.notice == UNSEEN and len(log(state)) == 1
    assert state.partition.numbers[state.partition.rows([first])[0]] == 3
    both = on(state, [first, second], "uncertain", 4)
    send(state, {**both, "was": [3]}, {**both, "was": 3, "number": 5}, {**both, "ids": [first, 10**9], "number": 6})
    assert len(log(state)) == 1
    send(state, {**both, "number": 7}, {"kind": "uncertain", "ids": [], "was": 0, "number": 8})
    assert len(log(state)) == 2 and state.notice == SELECT_FIRST


def test_the_second_tab_of_a_person_sees_a_conflict_or_what_changed(state: RelabelState) -> None:
    other = RelabelState(LabellingSession(state.session._store, state.session.record.id, ""))
    here = state.partition.ids[:1].tolist()
    send(state, on(state, here, "assign", 1, cluster=3))
    send(other, on(other, here, "assign", 1, cluster=4))
    assert other.conflict is not None and "in another tab" in other.conflict.message
    assert len(log(state)) == 1
    other.resolve_conflict(False)
    other.select(here, "")
    shown = on(other, here, "assign", 2, cluster=4)
    send(state, on(state, here, "assign", 2, cluster=5))
    other.sync()  # as every drawing of the page does, whose key may be pressed before it stands
    assert "Changed meanwhile by you in another tab" in other.notice
    send(other, shown)
    assert other.notice == UNSEEN and other.partition.numbers[0] == 5


def test_what_another_session_or_nobody_meant_is_not_done(state: RelabelState) -> None:
    every = state.partition.ids.tolist()
    state.select(every, "")
    send(state, {"kind": "unassign", "number": 1}, session="another")
    own = {"session": state.browser_session}
    for strange in (None, [], "x", {}, own, {**own, "actions": [1, None]}):
        dispatch(state, strange)
    send(state, {"kind": "unassign"}, {"kind": "unassign", "number": True}, {"kind": "unassign", "number": "2"})
    send(state, {"kind": "no such", "number": 1}, {"kind": "assign", "cluster": "1", "number": 2})
    send(state, {"kind": "assign", "ids": ["a", True, 10**30], "was": "x", "cluster": None, "number": 3})
    send(state, {"kind": "rename", "cluster": 1, "name": 7, "number": 4}, {"kind": "recolour", "number": 5})
    assert log(state) == []
    send(state, {"kind": "assign", "cluster": 99, "number": 6})
    assert state.notice and not log(state)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=some.data())
def test_any_way_of_sending_does_the_same(
    filled_store: Store, labelling: LabellingRecord, data: some.DataObject
) -> None:
    """However messages are merged and repeated, the log is that of the actions handled one by one."""
    state = RelabelState(LabellingSession(filled_store, labelling.id, ""))
    before, n = len(log(state)), 8
    state.select(state.partition.ids[:1], "")
    actions = [{"kind": "uncertain", "number": i + 1} for i in range(n)]
    ends = sorted([*data.draw(some.lists(some.integers(1, n), max_size=6)), n])
    for end in ends:
        start = data.draw(some.integers(0, state.acknowledged))  # what was not confirmed yet is sent again
        send(state, *actions[start:end])
    assert len(log(state)) - before == n
    assert state.acknowledged == n


def test_a_key_means_the_same_on_every_surface_and_takes_none_of_the_codes() -> None:
    kinds = {action.key: action.kind for action in ACTIONS if action.key}
    assert all(kinds[action.key] == action.kind for action in ACTIONS if action.key)
    assert not {"C", "R", *CODE_KEYS.upper()} & kinds.keys(), "the keys of codes are theirs"
    for surface in (CODE, SORT, TABLE):
        assert {"F", "0", "X", "T", "U", "Y", "?"} <= {one.key for one in ACTIONS if surface in one.on}


def test_clusters_are_renamed_merged_and_put_under_themes(state: RelabelState) -> None:
    first = state.partition
    send(state, {"kind": "rename", "cluster": 1, "name": "Beginning", "number": 1})
    send(state, {"kind": "recolour", "cluster": 1, "colour": 7, "number": 2})
    assert (state.partition.clusters[1].name, state.partition.clusters[1].colour) == ("Beginning", 7)
    send(state, {"kind": "put_under", "clusters": [2, 3], "theme": 1, "number": 3})
    send(state, {"kind": "put_under", "clusters": [4], "theme": 2, "number": 4})  # dropped on a sub-theme
    assert {n for n, c in state.partition.clusters.items() if c.parent == 1} == {2, 3, 4}
    send(state, {"kind": "move_out", "cluster": 2, "number": 5}, {"kind": "dissolve", "cluster": 1, "number": 6})
    assert {c.parent for c in state.partition.clusters.values()} == {None}
    send(state, {"kind": "merge_into", "clusters": [2], "into": 3, "number": 7})
    assert 2 not in state.partition.clusters and len(state.partition.members(3)) == first.sizes()[2] + first.sizes()[3]
    send(state, {"kind": "merge_into", "clusters": [2], "into": 3, "number": 8})
    assert "Cluster 2" in state.notice or state.notice
    send(state, *({"kind": "undo", "number": number} for number in range(9, 16)))
    assert state.partition.to_bytes() == first.to_bytes()


def test_filters_and_orders(filled_store: Store, labelling: LabellingRecord, state: RelabelState) -> None:
    assert not len(sentences.in_view(state, DIFFERS_FROM_PEOPLE))
    session = LabellingSession(filled_store, of_sections(filled_store, "Ben's", "Ben", article=1).id, "Ben")
    moved = session.partition.members(2)[:1]
    session.do(op.assign(session.partition, moved, 3))
    assert sentences.in_view(state, DIFFERS_FROM_PEOPLE).tolist() == moved.tolist()
    every = sentences.in_view(state, sentences.ALL)
    by_code = sentences.ordered(state, every[::-1], sentences.BY_CODE)
    assert (np.diff(state.partition.numbers[state.partition.rows(by_code)]) >= 0).all()
    assert sentences.orders(state) == [sentences.IN_ORDER, sentences.BY_CODE]
    with filled_store.reading() as r:
        state.model_id = r.models.by_name(MODEL).id
    sentence = int(state.partition.ids[3])
    send(state, on(state, [sentence], "uncertain", 1), on(state, [sentence], "similar", 2))
    assert state.similar_to == sentence
    assert sentences.ordered(state, every, sentences.LEAST_CERTAIN)[0] == sentence
    words = state.session.texts[sentence][:12]
    assert sentence in sentences.in_view(state, sentences.ALL, words).tolist()
    assert sentence in sentences.in_view(state, sentences.ALL, f"nonsense OR {words}").tolist()
    (suggested, *_) = [name for name in sentences.filters(state) if name.startswith(sentences.SUGGESTED)]
    wanted, rows = suggested.removeprefix(sentences.SUGGESTED), sentences.in_view(state, suggested)
    assert len(rows) and {
        state.partition.clusters[state.suggestion_for(row) or 0].name for row in state.partition.rows(rows).tolist()
    } == {wanted}


def test_keys_give_and_take_codes_where_several_are_allowed(state: RelabelState) -> None:
    state.apply(lambda p: coding.allow_several(p, True))
    first = int(state.partition.members(1)[0])

    def held() -> frozenset[int]:
        return code_sets(state.partition)[int(state.partition.numbers[state.partition.rows([first])[0]])]

    send(state, on(state, [first], "assign", 1, cluster=2))
    assert held() == {1, 2}
    state.cluster = 2
    shown = sentences.panes_data(state, state.partition.ids, "", {}, True)
    names = {row["id"]: row["tag"]["name"] for row in shown["list"]["rows"].values()}
    assert names[first] == " + ".join(state.partition.clusters[number].name for number in (1, 2))
    assert [one["number"] for one in shown["clusters"]] == [*range(1, len(shown["clusters"])), -1]
    send(state, on(state, [first], "assign", 2, cluster=1))
    assert held() == {2}
    send(state, {"kind": "undo", "number": 3})
    assert held() == {1, 2}
