"""The map of themes in notebooks: events select rows, nothing else changes."""

from typing import Any

import numpy as np
import pytest

import themescope
from themescope.core.errors import MissingExtraError
from themescope.core.themes import Themes

TEXTS = [f"{a} {b}" for a in ("the river", "an opera", "one tax") for b in "abcdefghij"]


class Subjects:
    def encode(self, sentences: list[str]) -> np.ndarray:
        return np.array([[noun in s for noun in ("river", "opera", "tax")] + [ord(s[-1]) / 999] for s in sentences])


@pytest.fixture(scope="module")
def themes() -> Themes:
    return themescope.find_themes(["", *TEXTS, TEXTS[0]], Subjects(), 3, invalid="drop")


def tell(chart: Any, name: str, **value: object) -> None:
    value = {"digest": chart.canvas.digest, **value}
    if name != "hover":
        number = chart.view["handled"] + 1
        name, value = "events", {"list": [{"number": number, "kind": name, "value": value}]}
    chart._handle_custom_msg({"name": name, "value": value}, [])


def test_what_is_selected_on_the_map_is_rows_of_the_list(themes: Themes) -> None:
    chart = themescope.show(themes, theme="dark")
    assert not len(chart.rows) and chart.selection.columns.tolist() == ["sentence", "theme", "name", "margin"]
    before = chart.view
    tell(chart, "area", category=int(themes.labels[1]))
    assert chart.view["marked"] and chart.view != before
    assert chart.rows.tolist() == [*range(1, 11), 31]  # the last one is identical to the first
    assert chart.selection["sentence"].tolist() == [*TEXTS[:10], TEXTS[0]]
    tell(chart, "hover", place=0)
    assert chart.view["tip"]["text"] in TEXTS
    tell(chart, "clear")
    assert not len(chart.rows)


@pytest.mark.parametrize("message", ["text", {}, {"name": "unknown"}, {"name": "area", "value": {"digest": "other"}}])
def test_other_messages_change_nothing(themes: Themes, message: Any) -> None:
    chart = themescope.show(themes)
    chart._handle_custom_msg(message, [])
    assert not len(chart.rows)


def test_the_package_of_widgets_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib
    import sys

    from themescope.webapp.map_view import widget

    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'themescope\[app,notebook\]'"):
        importlib.reload(widget)
