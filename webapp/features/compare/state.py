"""Session and URL keys of the Compare page, and widgets whose value is always in the URL, also when it is the default.

A widget that is bound to a query parameter leaves its default out of the URL. On Compare the default changes: the best
two methods are others as soon as a better one is measured, and a link to a pair must keep naming it. Here the URL is
the source of truth; clicks, tabs and saved views only write to it. The parameters are bound to no widget, because
Streamlit removes those of a bound widget when the page changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from themescope.webapp.shared.pages import PageKeys
from themescope.webapp.shared.text import plain

PAIR = "Pair"
"""The tab that compares two methods, or two partitions of an article."""

KEYS = PageKeys("compare")
TAB = KEYS.url("tab")
BENCHMARK = KEYS.url("benchmark", record="benchmark")
MODELS = KEYS.url("models", kind=list)
CLUSTERERS = KEYS.url("clusterers", kind=list)
OTHERS = KEYS.url("others", kind=list)
METRIC = KEYS.url("metric")
TEST = KEYS.url("test")
FIRST = KEYS.url("first")
SECOND = KEYS.url("second")
ORDER = KEYS.url("order")
ARTICLE = KEYS.url("article")
LEFT = KEYS.url("left")
RIGHT = KEYS.url("right")
SENTENCES = KEYS.url("sentences")
TRIPLETS = KEYS.url("triplets", record="triplet set")
SPLIT = KEYS.url("split")
TRIPLET_TEST = KEYS.url("triplet_test")

EVALUATE = KEYS.session("evaluate")
ABOUT = KEYS.session("about")
PARTITIONS = KEYS.session("partitions")
COMPARISONS = KEYS.session("comparisons")
SLICES = KEYS.session("slices")
METHODS_PARAGRAPH = KEYS.session("methods_paragraph")
ACCURACY_CHART = KEYS.session("accuracy_chart")


def set_in_url(choices: Mapping[str, str]) -> None:
    """Write values into the URL. For callbacks."""
    for param, value in choices.items():
        st.query_params[param] = value


ALL = "all"


def _key(param: str) -> str:
    return f"{param}_widget"


def _copied_to_url(param: str) -> Callable[[], None]:
    def copy() -> None:
        st.query_params[param] = st.session_state[_key(param)]

    return copy


def tabs_in_url(names: Sequence[str], param: str) -> dict[str, Any]:
    """Draw tabs and return the open one; a callback opens another by writing the URL."""
    _current(names, param, "")
    return dict(zip(names, st.tabs(names, key=_key(param), on_change=_copied_to_url(param)), strict=True))


def choice_in_url(label: str, options: Sequence[str], param: str, default: str = "", help: str = "") -> str:
    """Return one of the distinct ``options`` from a select box: that of the URL, else ``default``, else the first."""
    value = _current(options, param, default)
    st.selectbox(label, options, key=_key(param), on_change=_copied_to_url(param), help=help or None)
    return value


def segment_in_url(label: str, options: Mapping[str, str], param: str, default: str = "", help: str = "") -> str:
    """Return one of ``options`` (id → title) from a segmented control."""
    value = _current(list(options), param, default)
    st.segmented_control(
        label,
        list(options),
        key=_key(param),
        on_change=_copied_to_url(param),
        required=True,
        format_func=lambda id: plain(options[id]),
        help=help or None,
    )
    return value


def _current(options: Sequence[str], param: str, default: str) -> str:
    """Return the value in the URL, or the default, which is written to the URL; the widget shows it."""
    given = st.query_params.get(param, "")
    value = given if given in options else default if default in options else options[0]
    if given != value:
        st.query_params[param] = value
    st.session_state[_key(param)] = value
    return value


def several_in_url(label: str, options: Sequence[str], param: str, help: str = "", none: str = ALL) -> list[str]:
    """Return some of ``options`` in their order. An empty box means all of them, or none of them with ``none``."""
    given = [value for value in st.query_params.get_all(param) if value in options]
    key = _key(param)

    def copy() -> None:
        if st.session_state[key]:
            st.query_params[param] = st.session_state[key]
        else:
            st.query_params.pop(param, None)

    st.session_state[key] = given
    st.multiselect(label, options, key=key, on_change=copy, placeholder=none, help=help or None)
    return [value for value in options if value in given] or (list(options) if none == ALL else [])
