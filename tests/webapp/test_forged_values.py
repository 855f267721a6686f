"""Values of widgets that no page of ours sends: each is refused with a line in the log, and the page is drawn."""

import json
import logging
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.state.common import WidgetMetadata

from tests.webapp.filled import CORPUS
from tests.webapp.hands import Open, words_of
from themescope.db.store import Store
from themescope.webapp.features import REGISTRY
from themescope.webapp.features.tasks import NEW
from themescope.webapp.shared.choose import BROKEN

FIELDS: dict[str, list[Any]] = {
    "trigger_value": [True],
    "bool_value": [True],
    "double_value": [float("nan"), 1e308, -1.5],
    "int_value": [-(2**62), 7],
    "string_value": ["", "forged", "{", '{"selection": 3}', '{"selection": {"cells": [["a", 1]], "rows": [99999]}}'],
    "json_value": ["", "{", "null", "7", '"x"', "[1]"],
    "bytes_value": [b"\xff\x00"],
    "json_trigger_value": ["", "{", "null", "7", "[1]", '[{"event": 3}]'],
    "double_array_value": [[], [1e308, float("nan")], [1.0, 2.0, 3.0]],
    "int_array_value": [[], [-5, 2**40]],
    "string_array_value": [[], ["forged", "forged"]],
    "string_trigger_value": ["forged"],
}
VALUES: list[Any] = [None, 7, -1, "x", [1, "x"], {}, {"id": "x", "row": "x", "kind": 3, "number": -1}]
VALUES += [{"actions": 3}, {"session": {}, "actions": [None, {"number": "1"}]}, {"wanted": 3, "list": []}, {"ids": 5}]


def states(id: str, metadata: WidgetMetadata[Any]) -> Iterator[WidgetState]:
    """Yield forged values of a widget: of each field of the protocol, and of each event of a component."""
    for field, values in FIELDS.items():
        for value in values:
            state = WidgetState(id=id)
            if field.endswith("array_value") or field == "string_trigger_value":
                part = getattr(state, field)
                part.SetInParent()
                part.data.extend(value) if field.endswith("array_value") else setattr(part, "data", value)
            else:
                setattr(state, field, value)
            yield state
    for event in metadata.callbacks or ():
        for value in VALUES:
            if metadata.value_type == "json_value":
                yield WidgetState(id=id, json_value=json.dumps({event: value}))
            else:
                yield WidgetState(id=id, json_trigger_value=json.dumps([{"event": event, "value": value}]))


QUICK = ("jobs", "texts")


@pytest.mark.parametrize(
    ("page", "surface"),
    [
        *(pytest.param(page, "", marks=[] if page in QUICK else pytest.mark.slow) for page in REGISTRY.ids()),
        pytest.param("code", "Sort", marks=pytest.mark.slow),
        pytest.param("code", "Table", marks=pytest.mark.slow),
    ],
)
def test_a_forged_value_ends_no_page_and_no_session(
    page: str, surface: str, filled_store: Store, open_page: Open, caplog: pytest.LogCaptureFixture
) -> None:
    at = open_page(page, **({"surface": surface} if surface else {}))
    known: dict[str, WidgetMetadata[Any]] = dict(at.session_state._state._state._new_widget_state.widget_metadata)
    assert known and BROKEN not in words_of(at)
    forged = 0
    for together in zip_longest(*(states(id, metadata) for id, metadata in known.items())):
        sent = [state for state in together if state is not None]
        forged += len(sent)
        caplog.clear()
        at._run(WidgetStates(widgets=sent))
        failed = [one for one in caplog.records if one.exc_info or one.levelno >= logging.ERROR]
        assert not failed and not at.exception and BROKEN not in words_of(at), (sent, failed)
    assert forged > 100


def test_whole_numbers_are_read_as_browsers_send_them(filled_store: Store, open_page: Open) -> None:
    at = open_page("tasks", corpus=CORPUS, view=NEW)
    (field,) = [one for one in at.number_input if one.label == "How many units"]
    at._run(WidgetStates(widgets=[WidgetState(id=field.id, int_value=7)]))
    assert not at.exception and [one.value for one in at.number_input if one.label == field.label] == [7]
