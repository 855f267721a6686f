"""Surface Code: one unit at a time, its queues, and keys that write what was on the screen."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.db.texts import add_list
from tests.webapp.columned import add_columns
from tests.webapp.hands import Open, words_of
from themescope.core.errors import StoreUnavailableError
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import operations as codebook
from themescope.core.labelling.codebook.entries import CodebookEntry
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.task_items import DistributionPlan
from themescope.core.records.stored import Sharing
from themescope.db.records import ItemState, NewLabelling, TaskRecord
from themescope.db.store import Store
from themescope.jobs.services import tasks
from themescope.jobs.services.labelling import agreement, starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.samples import SampleForm
from themescope.webapp.features.coding.actions import dispatch
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.features.coding.unit import UnitQueue, handle, unit_data


@dataclass
class Surface:
    """The surface as a browser has it: the state of its session and the queue that is drawn."""

    state: RelabelState
    queue: UnitQueue

    @property
    def data(self) -> dict[str, Any]:
        return unit_data(self.state, self.queue)

    @property
    def unit(self) -> dict[str, Any]:
        return next(unit for unit in self.data["units"] if unit["id"] == self.data["at"])

    def action(self, kind: str, **more: Any) -> dict[str, Any]:
        unit = self.unit
        return {"kind": kind, "unit": unit["id"], "seen": unit["seen"], **more}

    def send(self, *actions: dict[str, Any]) -> None:
        numbered = [{**one, "number": self.state.acknowledged + n} for n, one in enumerate(actions, 1)]
        message = {"session": self.state.browser_session, "actions": numbered}
        dispatch(self.state, message, partial(handle, self.queue))

    def key(self, kind: str, **more: Any) -> None:
        self.send(self.action(kind, **more))


@pytest.fixture
def codes(filled_store: Store) -> LabellingSession:
    """A coding of a list by ada with the codes One, Two and Three and no unit in them."""
    corpus = add_list(filled_store, "answers")
    add_columns(filled_store, corpus.id)
    record = starts.begin(filled_store, NewLabelling(corpus.id, "codes", "ada"), starts.from_nothing)
    session = LabellingSession(filled_store, record.id, "ada")
    for name in ("One", "Two", "Three"):
        session.do(op.create(session.partition, session.next_number, name, session.partition.ids[:0]))
    session.do(codebook.write(session.partition, 1, CodebookEntry(definition="The first.", exclude="The second.")))
    return session


Opened = Callable[..., Surface]


@pytest.fixture
def surface(filled_store: Store, open_page: Open) -> Opened:
    def opened(name: str, **view: str) -> Surface:
        at = open_page("code", person="ada", labelling=name, surface="Code", **view)
        with filled_store.reading() as r:
            id = r.labellings.by_name(name).id
        return Surface(at.session_state[f"code_state_{id}"], at.session_state[f"code_unit_{id}"])

    return opened


def task_of(store: Store, session: LabellingSession, people: tuple[str, ...] = ("ada",), n: int = 4) -> TaskRecord:
    """A blind sample of n units by the codebook, for everybody."""
    plan = DistributionPlan(people, 1.0 if len(people) > 1 else 0.0, max(len(people), 2))
    form = tasks.TaskForm(
        session.record.corpus_id, "pilot", "ada", (), plan, blind=True, start=tasks.START_CLUSTERS,
        start_id=session.record.id, sample=SampleForm(n),
    )  # fmt: skip
    return tasks.make(store, form)


def states_of(store: Store, task: TaskRecord, person: str = "ada") -> list[ItemState]:
    with store.reading() as r:
        return [item.state for item in r.tasks.items(task.id, person)]


def test_a_task_is_coded_unit_by_unit(filled_store: Store, codes: LabellingSession, surface: Opened) -> None:
    task = task_of(filled_store, codes)
    tasks.begin_labelling(filled_store, task.id, "ada")
    shown = surface("pilot · ada")
    assert shown.queue.name == "My task: pilot" and shown.data["total"] == 4 and shown.data["done"] == 0
    assert [(code["name"], code["key"]) for code in shown.data["codes"]] == [("One", "1"), ("Two", "2"), ("Three", "3")]
    assert shown.data["codes"][0]["about"] == "The first.\nNot: The second."
    assert states_of(filled_store, task) == [ItemState.STARTED] + [ItemState.OPEN] * 3
    first, second, third, fourth = shown.queue.ids.tolist()
    shown.key("code", code=2)
    assert shown.data["at"] == second and shown.data["done"] == 1
    shown.key("none_fits")
    shown.key("skip", text="")
    assert shown.data["at"] == fourth and shown.data["done"] == 2, "skipped without a reason, it comes again"
    shown.key("uncertain", on=True)
    shown.key("code", code=1, uncertain=True)
    assert shown.data["at"] == third
    assert states_of(filled_store, task) == [ItemState.DONE, ItemState.DONE, ItemState.STARTED, ItemState.DONE]
    shown.key("skip", text="two topics")
    assert shown.data["at"] is None and shown.data["done"] == 4 and shown.data["end"] == "All units here are done."
    assert states_of(filled_store, task) == [ItemState.DONE] * 4
    partition = shown.state.partition
    assert partition.numbers[partition.rows([first, second, third, fourth])].tolist() == [2, UNASSIGNED, UNASSIGNED, 1]
    assert partition.notes == {second: "None of the codes fits.", third: "two topics"}
    assert partition.ids[partition.uncertain].tolist() == [fourth]


def test_nothing_is_written_over_what_was_not_shown(codes: LabellingSession, surface: Opened) -> None:
    shown = surface("codes")
    action = shown.action("code", code=2)
    unit = np.array([action["unit"]])
    codes.do(op.assign(codes.partition, unit, 3))
    shown.send(action)
    assert codes.sync() == [] and "was changed by you, elsewhere, to Three" in shown.data["conflict"]["text"]
    shown.send({"kind": "show", "unit": action["unit"]})
    assert shown.data["at"] == action["unit"] and shown.unit["codes"] == [3] and shown.data["conflict"] is None
    shown.key("code", code=2)
    codes.sync()
    assert codes.partition.numbers[codes.partition.rows(unit)].tolist() == [2]


def test_quick_keys_on_one_unit_follow_each_other(codes: LabellingSession, surface: Opened) -> None:
    shown = surface("codes")
    first, number = shown.action("code", code=2), shown.state.acknowledged + 1
    again = {"kind": "code", "unit": first["unit"], "code": 3}
    shown.send(first, {**again, "after": number})
    unit = [first["unit"]]
    assert shown.state.partition.numbers[shown.state.partition.rows(unit)].tolist() == [3]
    codes.sync()
    codes.do(op.assign(codes.partition, np.array(unit), 1))
    shown.send({**again, "after": number + 1})
    assert shown.state.partition.numbers[shown.state.partition.rows(unit)].tolist() == [1], "somebody came between"


def test_undo_shows_the_unit_again(codes: LabellingSession, surface: Opened) -> None:
    shown = surface("codes")
    first = shown.data["at"]
    shown.key("code", code=2)
    shown.key("code", code=3)
    shown.send({"kind": "undo"}, {"kind": "undo"})
    assert shown.data["at"] == first and shown.unit["codes"] == [] and shown.data["done"] == 0
    assert shown.unit["about"] and shown.unit["text"] == codes.texts[first], "its columns stand beside it"
    shown.send({"kind": "redo"})
    assert shown.data["done"] == 1 and shown.unit["codes"] == [2]


def test_several_codes_are_given_and_taken_before_going_on(codes: LabellingSession, surface: Opened) -> None:
    codes.do(coding.allow_several(codes.partition, True))
    shown = surface("codes")
    first = shown.data["at"]
    for code in (1, 3, 1, 2):
        shown.key("code", code=code)
        assert shown.data["at"] == first
    assert shown.unit["codes"] == [2, 3]
    shown.key("go")
    assert shown.data["at"] != first


def test_a_task_that_began_with_codes_is_confirmed(filled_store: Store, surface: Opened) -> None:
    form = tasks.TaskForm(1, "check", "ada", (1,), DistributionPlan(("ada",), 0.0), start=tasks.START_SECTIONS)
    task = tasks.make(filled_store, form)
    tasks.begin_labelling(filled_store, task.id, "ada")
    shown = surface("check · ada")
    total = shown.data["total"]
    for left in range(total):
        assert shown.data["done"] == left and states_of(filled_store, task) == [ItemState.STARTED]
        shown.key("accept", cluster=shown.unit["cluster"])
    assert shown.data["at"] is None and states_of(filled_store, task) == [ItemState.DONE]
    again = surface("check · ada")
    assert again.data["done"] == total


def test_a_dispute_shows_both_codes_until_a_key(filled_store: Store, codes: LabellingSession, surface: Opened) -> None:
    task = task_of(filled_store, codes, ("ada", "ben"), n=3)
    made: list[int] = []
    for person, given in (("ada", (1, 1, 2)), ("ben", (1, 3, 2))):
        made.append(tasks.begin_labelling(filled_store, task.id, person))
        session = LabellingSession(filled_store, made[-1], person)
        for id, code in zip(session.partition.ids.tolist(), given, strict=True):
            session.do(op.assign(session.partition, np.array([id]), code))
    new = NewLabelling(codes.record.corpus_id, "gold", "ada", Sharing.GOLD)
    starts.begin(filled_store, new, agreement.from_adjudication(made))
    shown = surface("gold")
    assert shown.queue.name == "Open disputes" and shown.data["total"] == 1
    assert shown.unit["said"] == [["ada", ["One"]], ["ben", ["Three"]]]
    shown.key("code", code=3)
    assert not shown.state.partition.uncertain.any() and shown.data["end"] == "All disputes are settled."


def test_queues_hold_the_units_that_they_name(codes: LabellingSession, surface: Opened) -> None:
    every = codes.partition.ids.tolist()
    codes.do(op.assign(codes.partition, codes.partition.ids[:2], 1))
    for queue, wanted in (("Without a code", every[2:]), ("Code: One", every[:2]), ("All units", every)):
        assert surface("codes", queue=queue).queue.ids.tolist() == wanted, queue
    found = surface("codes", queue="Search", search="0.1").queue.ids.tolist()
    assert found == [id for id in every if "0.1" in codes.texts[id]] != []


def test_a_key_that_the_store_cannot_take_now_is_sent_again(
    codes: LabellingSession, surface: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = surface("codes")
    first = shown.data["at"]

    def refuse(*about: Any) -> None:
        raise StoreUnavailableError("The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(LabellingSession, "do", refuse)
        shown.key("code", code=2)
    assert shown.state.acknowledged == 0 and "Not saved yet" in shown.data["notice"]
    shown.key("code", code=2)
    assert shown.state.acknowledged == 1 and shown.data["at"] != first


def test_without_codes_the_way_to_the_codebook_is_shown(filled_store: Store, open_page: Open) -> None:
    corpus = add_list(filled_store, "answers")
    starts.begin(filled_store, NewLabelling(corpus.id, "empty", "ada"), starts.from_nothing)
    at = open_page("code", person="ada", labelling="empty", surface="Code")
    assert "No codes yet" in words_of(at)
