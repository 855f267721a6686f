"""Nested settings, counts and results as a readable table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from webapp.shared.text import duration, words

_BETWEEN = " · "


def table(facts: Mapping[str, Any], names: tuple[str, str] = ("Setting", "Value"), height: int = 320) -> None:
    """Draw one row per value; a long table scrolls within ``height`` pixels."""
    rows = list(flat(facts))
    if not rows:
        st.caption("None")
        return
    frame = pd.DataFrame(rows, columns=list(names))
    st.dataframe(frame, hide_index=True, height=height if len(rows) > height // 35 else "content")


def flat(facts: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the readable name and value of every fact; nested names begin with the names of their parents."""
    for key, value in facts.items():
        name = str(key)
        label = f"{above}{_BETWEEN}{words(name).lower()}" if above else words(name)
        if isinstance(value, Mapping):
            yield from flat(value, label)
        else:
            yield label, shown(name, value)


def shown(name: str, value: Any) -> str:
    """Return a value as text: numbers with separators, seconds as a duration, no value as a dash."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and name.split("_")[-1].split(" ")[-1] == "seconds":
        return duration(value)
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(shown(name, part) for part in value) or "–"
    return str(value)


def number(value: float) -> str:
    """Return ``6,580``, ``447``, ``5.51`` or ``0.0012``: separators above a thousand, else three significant digits."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
