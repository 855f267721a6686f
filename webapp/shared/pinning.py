"""Choices that always stand in the address, also where they are what the page would choose by itself.

A bound widget leaves its default out of the address. That is right for a filter; but the best two methods are others
as soon as a better one is measured, and a link that names a pair must go on naming it. The address is the truth here:
a click, another tab and an opened view only have to write it. A name that is pinned is bound to no widget of any page,
because Streamlit takes what a bound widget leaves behind out of the address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from webapp.shared.text import plain


def pin(choices: Mapping[str, str]) -> None:
    """Write choices into the address. For callbacks."""
    for param, value in choices.items():
        st.query_params[param] = value


ALL = "all of them"


def _key(param: str) -> str:
    return f"pinned-{param}"


def _taken_over(param: str) -> Callable[[], None]:
    def take() -> None:
        st.query_params[param] = st.session_state[_key(param)]

    return take


def pinned_tabs(names: Sequence[str], param: str) -> dict[str, Any]:
    """Tabs by name, of which only the open one need be drawn; a callback opens another by :func:`pin`."""
    _current(names, param, "")
    return dict(zip(names, st.tabs(names, key=_key(param), on_change=_taken_over(param)), strict=True))


def pinned(label: str, options: Sequence[str], param: str, default: str = "", help: str = "") -> str:
    """One of ``options`` (at least one, each once) by a box; ``default``, or the first, where the address has none."""
    value = _current(options, param, default)
    st.selectbox(label, options, key=_key(param), on_change=_taken_over(param), help=help or None)
    return value


def pinned_segment(label: str, options: Mapping[str, str], param: str, default: str = "", help: str = "") -> str:
    """One of ``options`` (id → title) by buttons beside each other."""
    value = _current(list(options), param, default)
    st.segmented_control(
        label,
        list(options),
        key=_key(param),
        on_change=_taken_over(param),
        required=True,
        format_func=lambda id: plain(options[id]),
        help=help or None,
    )
    return value


def _current(options: Sequence[str], param: str, default: str) -> str:
    """What the address says, else the default, which is written there; the widget shows it."""
    asked = st.query_params.get(param, "")
    value = asked if asked in options else default if default in options else options[0]
    if asked != value:
        st.query_params[param] = value
    st.session_state[_key(param)] = value
    return value


def pinned_some(label: str, options: Sequence[str], param: str, help: str = "", none: str = ALL) -> list[str]:
    """Some of ``options``, in their order. What an empty box means is said by ``none``: all of them, or none."""
    asked = [value for value in st.query_params.get_all(param) if value in options]
    key = _key(param)

    def take() -> None:
        if st.session_state[key]:
            st.query_params[param] = st.session_state[key]
        else:
            st.query_params.pop(param, None)

    st.session_state[key] = asked
    st.multiselect(label, options, key=key, on_change=take, placeholder=none, help=help or None)
    return [value for value in options if value in asked] or (list(options) if none == ALL else [])
