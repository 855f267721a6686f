"""Actions dispatched by the browser: each is handled once and in order, however messages are repeated or merged."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.webapp.filled import MODEL, danube
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.code_sets import code_sets
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.db.label_records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.coding import PlottedMap, Queue, sentences
from themescope.webapp.features.coding.actions import ACTIONS, HANDLERS, NEXT_KEY_PAGE, UNSEEN, dispatch
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.features.coding.sentences import canvas_of
from themescope.webapp.features.coding.toolbar import toolbar_data
from themescope.webapp.shared.results.compare_queries import DIFFERS_FROM_PEOPLE


@pytest.fixture
def labelling(filled_store: Store) -> LabellingRecord:
    return danube(filled_store)


@pytest.fixture
def state(filled_store: Store, labelling: LabellingRecord) -> RelabelState:
    return RelabelState(LabellingSession(filled_store, labelling.id, ""))


def send(state: RelabelState, *actions: dict[str, Any], session: str = "") -> None:
    dispatch(state, {"session": session or state.browser_session, "actions": list(actions)})


def log(store: Store, labelling: LabellingRecord) -> list[str]:
    with store.reading() as r:
        return [step.summary for step in r.label_steps.list(labelling.id)]


def test_a_key_pressed_on_what_was_shown_before_writes_nothing(
    filled_store: Store, labelling: LabellingRecord, state: RelabelState
) -> None:
    """The queue chooses the next sentence; a second press was meant for the one before."""
    first, second = state.partition.ids[:2].tolist()
    state.queue = Queue("queue", state.partition.ids)
    send(state, {"kind": "next", "number": 1, "turn": state.turn})
    assert state.selected.tolist() == [first]
    shown = state.turn
    other = next(n for n in state.partition.clusters if n != state.partition.numbers[0])
    send(state, *({"kind": "assign", "cluster": other, "number": n, "turn": shown} for n in (2, 3)))
    assert state.selected.tolist() == [second] and state.notice == UNSEEN
    assert len(log(filled_store, labelling)) == 1 and state.partition.numbers[0] == other
    send(state, {"kind": "create", "number": 4, "turn": shown}, {"kind": "uncertain", "number": 5, "turn": state.turn})
    assert len(log(filled_store, labelling)) == 2 and state.partition.uncertain[1]


def test_the_second_tab_of_a_person_sees_a_conflict_or_what_changed(
    filled_store: Store, labelling: LabellingRecord, state: RelabelState
) -> None:
    other = RelabelState(LabellingSession(filled_store, labelling.id, ""))
    here = state.partition.ids[:1]
    for tab in (state, other):
        tab.select(here, "")
    send(state, {"kind": "assign", "cluster": 3, "number": 1, "turn": state.turn})
    send(other, {"kind": "assign", "cluster": 4, "number": 1, "turn": other.turn})
    assert other.conflict is not None and "in another tab" in other.conflict.message
    assert len(log(filled_store, labelling)) == 1
    other.resolve_conflict(False)
    other.select(here, "")
    shown = other.turn
    state.select(here, "")
    send(state, {"kind": "assign", "cluster": 5, "number": 2, "turn": state.turn})
    other.sync()  # as every drawing of the page does, whose key may be pressed before it stands
    assert "Changed meanwhile by you in another tab" in other.notice
    send(other, {"kind": "assign", "cluster": 4, "number": 2, "turn": shown})
    assert other.notice == UNSEEN and other.partition.numbers[0] == 5


def test_what_another_session_or_nobody_meant_is_not_done(
    filled_store: Store, labelling: LabellingRecord, state: RelabelState
) -> None:
    every = state.partition.ids.tolist()
    state.select(every, "")
    send(state, {"kind": "unassign", "number": 1}, session="another")
    strange: list[Any] = [
        None,
        [],
        "x",
        {},
        {"session": state.browser_session},
        {"session": state.browser_session, "actions": [1, None]},
    ]
    for told in strange:
        dispatch(state, told)
    send(state, {"kind": "unassign"}, {"kind": "unassign", "number": True}, {"kind": "unassign", "number": "2"})
    send(state, {"kind": "no such", "number": 1}, {"kind": "assign", "cluster": "1", "number": 2})
    send(state, {"kind": "move", "ids": ["a", True, 10**30], "cluster": None, "number": 3})
    send(state, {"kind": "rename", "cluster": 1, "name": 7, "number": 4}, {"kind": "recolour", "number": 5})
    assert log(filled_store, labelling) == []
    send(state, {"kind": "assign", "cluster": 99, "number": 6})
    assert state.notice and not log(filled_store, labelling)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=some.data())
def test_any_way_of_sending_does_the_same(
    filled_store: Store, labelling: LabellingRecord, data: some.DataObject
) -> None:
    """However messages are merged and repeated, the log is that of the actions handled one by one."""
    state = RelabelState(LabellingSession(filled_store, labelling.id, ""))
    before, n = len(log(filled_store, labelling)), 8
    state.select(state.partition.ids[:1], "")
    actions = [{"kind": ("certain", "uncertain")[i % 2], "number": i + 1} for i in range(n)]
    if not state.partition.uncertain[0]:
        actions = [
            {**action, "kind": "certain" if action["kind"] == "uncertain" else "uncertain"} for action in actions
        ]
    ends = sorted([*data.draw(some.lists(some.integers(1, n), max_size=6)), n])
    for end in ends:
        start = data.draw(some.integers(0, state.acknowledged))  # what was not confirmed yet is sent again
        send(state, *actions[start:end])
    assert len(log(filled_store, labelling)) - before == n
    assert state.acknowledged == n


def test_keys_are_letters_that_the_browser_leaves_free_and_each_means_one_thing() -> None:
    keys = [action.key for action in (*ACTIONS, NEXT_KEY_PAGE)]
    assert len(set(keys)) == len(keys)
    assert not {"C", "R"} & set(keys)
    assert all(len(key.removeprefix("Alt+")) == 1 for key in keys)
    assert all(action.name in HANDLERS or action.in_browser for action in (*ACTIONS, NEXT_KEY_PAGE))


def test_dialogs_and_names_are_requested(state: RelabelState) -> None:
    send(state, {"kind": "merge", "number": 1})
    assert state.dialog == "merge"
    send(state, {"kind": "rename", "cluster": 1, "name": "Beginning", "number": 2})
    send(state, {"kind": "recolour", "cluster": 1, "colour": 7, "number": 3})
    assert (state.partition.clusters[1].name, state.partition.clusters[1].colour) == ("Beginning", 7)
    send(state, {"kind": "note", "number": 4})
    assert "Select sentences first" in state.notice
    state.select(state.partition.members(2)[:1], "")
    assert toolbar_data(state)["current"] == {"number": 2, "name": "Course"}


def test_queues_and_searches_come_in_their_order(
    filled_store: Store, labelling: LabellingRecord, state: RelabelState
) -> None:
    assert not len(sentences.in_view(state, DIFFERS_FROM_PEOPLE))
    other = starts.begin(
        filled_store,
        NewLabelling(labelling.corpus_id, "Ben's", "Ben", Sharing.OWN, False, labelling.article_id),
        starts.from_sections,
    )
    session = LabellingSession(filled_store, other.id, "Ben")
    moved = session.partition.members(2)[:1]
    session.do(op.assign(session.partition, moved, 3))
    assert sentences.in_view(state, DIFFERS_FROM_PEOPLE).tolist() == moved.tolist()
    send(state, {"kind": "next", "number": 1})
    assert state.selected.tolist() == moved.tolist()
    assert state.selection_method == "queue “Differs from other people”"
    with filled_store.reading() as r:
        state.model_id = r.models.by_name(MODEL).id
    sentence = int(state.partition.ids[3])
    send(state, {"kind": "pick", "on": [sentence], "off": state.selected.tolist(), "number": 2})
    send(state, {"kind": "similar", "number": 3})
    assert sentences.in_view(state, sentences.ALL)[0] == sentence
    state.show_similar(None)
    words = state.session.texts[sentence][:12]
    assert sentence in sentences.in_view(state, sentences.ALL, words).tolist()


def test_a_shape_selects_what_was_seen_when_it_was_drawn(state: RelabelState) -> None:
    ids = state.partition.ids
    points = np.column_stack([np.arange(len(ids)), np.zeros(len(ids))]).astype(np.float32)
    canvas = canvas_of(state, ids, points)
    categories = canvas.colouring.categories
    state.plotted[canvas.digest] = PlottedMap(ids, canvas.units, categories, len(canvas.colouring.names))
    right = int(canvas.units[4, 0]) + 1
    corners = [[0, 0], [right, 0], [right, 65_535], [0, 65_535]]
    area = {"kind": "area", "digest": canvas.digest, "corners": corners, "hidden": []}
    send(state, {**area, "number": 1}, {"kind": "uncertain", "number": 2})
    assert state.selected.tolist() == ids[:5].tolist()
    assert state.partition.uncertain[:6].tolist() == [True] * 5 + [False]
    send(state, {**area, "hidden": [int(categories[0])], "number": 3})
    assert state.selected.tolist() == ids[:5][categories[:5] != categories[0]].tolist()
    send(state, {"kind": "clear", "number": 4}, {"kind": "point", "digest": canvas.digest, "place": 2, "number": 5})
    assert state.selected.tolist() == [int(ids[2])]
    send(state, {**area, "digest": "another", "number": 6}, {"kind": "point", "digest": "x", "place": 1, "number": 7})
    assert state.selected.tolist() == [int(ids[2])]


def test_keys_give_and_take_codes_where_several_are_allowed(state: RelabelState) -> None:
    """The selection stays, the buttons show its codes, and the combination is a column after those of the codes."""
    state.apply(lambda p: coding.allow_several(p, True))
    first = int(state.partition.members(1)[0])
    state.select([first], "")
    send(state, {"kind": "assign", "cluster": 2, "number": 1})
    assert state.selected.tolist() == [first]
    pressed = [one["number"] for one in toolbar_data(state)["clusters"] if one["on"]]
    assert pressed == [1, 2]
    columns = sentences.columns_data(state, state.partition.ids)["columns"]
    names = [column["name"] for column in columns]
    both = " + ".join(state.partition.clusters[number].name for number in (1, 2))
    assert names.index(both) > names.index(state.partition.clusters[2].name)
    send(state, {"kind": "assign", "cluster": 1, "number": 2})
    assert code_sets(state.partition)[int(state.partition.numbers[state.partition.rows([first])[0]])] == {2}
    assert both not in [column["name"] for column in sentences.columns_data(state, state.partition.ids)["columns"]]
    send(state, {"kind": "move", "ids": [first], "cluster": 3, "number": 3}, {"kind": "undo", "number": 4})
    send(state, {"kind": "undo", "number": 5})
    assert [one["number"] for one in toolbar_data(state)["clusters"] if one["on"]] in ([1, 2], [])
    assert code_sets(state.partition)[int(state.partition.numbers[state.partition.rows([first])[0]])] == {1, 2}
