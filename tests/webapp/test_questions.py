"""Mode Questions of the page Code: answers are stored with what they change, once, and nothing else is answered."""

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import danube
from tests.webapp.hands import words_of
from themescope.core.labelling.answers import NO, answers
from themescope.core.labelling.partition import Partition
from themescope.core.records.stored import LabellingRecord
from themescope.db.store import Store
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.coding.actions import dispatch
from themescope.webapp.features.coding.dialogs import question_data
from themescope.webapp.features.coding.editing import RelabelState

Open = Callable[..., AppTest]


@pytest.fixture
def labelling(filled_store: Store) -> LabellingRecord:
    return danube(filled_store)


def state_of(at: AppTest, labelling: LabellingRecord) -> RelabelState:
    found: RelabelState = at.session_state[f"code_state_{labelling.id}"]
    return found


def question(at: AppTest, labelling: LabellingRecord) -> dict[str, Any]:
    """Return what the browser draws."""
    state = state_of(at, labelling)
    assert state.asking is not None
    return question_data(state, state.asking.question)


def press(at: AppTest, labelling: LabellingRecord, key: str, shown: dict[str, Any] | None = None) -> AppTest:
    """Press a key, by default for the question that is shown."""
    state, data = state_of(at, labelling), shown or question(at, labelling)
    (option,) = [o for o in (*data["options"], *data["actions"]) if o["key"] == key]
    action = {"kind": option["kind"], "number": state.acknowledged + 1}
    if option["kind"] == "answer":
        action |= {"value": option["value"], "question": data["question"]}
    dispatch(state, {"session": state.browser_session, "actions": [action]})
    return at.run()


def stored(store: Store, labelling: LabellingRecord) -> Partition:
    return LabellingSession(store, labelling.id, "").partition


def opened(open_page: Open) -> AppTest:
    at = open_page("code", view="Questions")
    assert not at.exception
    return at


def test_a_late_key_and_an_unknown_value_answer_nothing(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    at = opened(open_page)
    first = question(at, labelling)
    press(at, labelling, "0")
    press(at, labelling, "0", first)
    state = state_of(at, labelling)
    unknown = {"kind": "answer", "number": 99, "question": question(at, labelling)["question"], "value": "perhaps"}
    dispatch(state, {"session": state.browser_session, "actions": [unknown]})
    assert len(answers(stored(filled_store, labelling))) == 1


def test_contradictions_are_listed_and_taken_back(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    from themescope.core.labelling.answers import YES, Answer, Effect, Question, QuestionKind
    from themescope.jobs.services.labelling import assistance as service

    at = opened(open_page)
    state = state_of(at, labelling)
    first, second = state.partition.ids[:2].tolist()
    for value in (YES, NO):
        asked = Question(QuestionKind.PAIR, Effect.MOVE, (first, second))
        known = state.asking.state(state.partition)  # type: ignore[union-attr]
        service.commit_answer(state.session, known, Answer(asked, value))
    at.run()
    assert "1 contradiction" in words_of(at)
    at.button(key=f"code_questions_back_{labelling.id}_000002_000001").click().run()
    assert "contradiction" not in words_of(at)
    assert list(answers(stored(filled_store, labelling))) == ["000002"]


def test_a_blind_labelling_hides_where_sentences_are_from(filled_store: Store, open_page: Open) -> None:
    labelling = danube(filled_store, blind=True)
    at = opened(open_page)
    shown = question(at, labelling)
    assert shown["sentences"][0]["place"] == "" and all(o["place"] == "" for o in shown["options"])
