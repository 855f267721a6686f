"""Selection of records and empty states. A selection is a readable query parameter, so a view can be linked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from db.records import CorpusRecord
from webapp.shared import queries
from webapp.shared.navigation import page_link
from webapp.shared.text import plain

R = TypeVar("R")
_ROWS, _LONG = 8, 12
"""Numbers of rows that are shown without scrolling, and without a search box."""


def by_name(label: str, records: Sequence[R], param: str, name: Callable[[R], str], help: str = "") -> R:
    """Choose one of ``records`` (at least one) in a select box with the URL key ``param``; equal names are numbered."""
    named: dict[str, R] = {}
    for record in records:
        wanted, number = name(record), 2
        while wanted in named:
            wanted, number = f"{name(record)} ({number})", number + 1
        named[wanted] = record
    if st.session_state.get(param) not in named:
        st.session_state.pop(param, None)
    chosen = st.selectbox(label, list(named), key=param, bind="query-params", help=help or None)
    return named[chosen if chosen in named else next(iter(named))]


def clickable(
    records: Sequence[R], param: str, name: Callable[[R], str], frame: pd.DataFrame, columns: Mapping[str, Any]
) -> R:
    """Choose one of ``records`` (at least one) by a click in a table, whose rows are those of ``frame``.

    The choice is the URL key ``param``; without it, the first record. A long table has a search box.
    """
    names = [name(record) for record in records]
    rows = _searched(frame, param) if len(records) > _LONG else list(range(len(records)))
    table = f"table-{param}-{hash(tuple(names[row] for row in rows))}"

    def choose() -> None:
        cells = st.session_state[table]["selection"]["cells"]
        if cells:
            st.query_params[param] = names[rows[cells[0][0]]]

    st.dataframe(
        frame.iloc[rows],
        hide_index=True,
        key=table,
        on_select=choose,
        selection_mode="single-cell",
        column_config=dict(columns),
        height="content" if len(rows) <= _ROWS else 310,
        placeholder="–",
    )
    wanted = st.query_params.get(param, "")
    return records[names.index(wanted)] if wanted in names else records[0]


def _searched(frame: pd.DataFrame, param: str) -> list[int]:
    """Return the rows that contain every word of the search box."""
    left, right = st.columns([2, 3], vertical_alignment="center")
    typed = left.text_input(
        "Find", key=f"find-{param}", placeholder="Words in any column", icon=":material/search:",
        label_visibility="collapsed",
    )  # fmt: skip
    cells = frame.astype(object).where(frame.notna(), "").astype(str).agg(" ".join, axis=1).str.casefold()
    asked = (typed or "").casefold().split()
    rows = [row for row, text in enumerate(cells) if all(word in text for word in asked)]
    right.caption(f"{len(rows):,} of {len(cells):,}")
    return rows


COUNTED = st.column_config.NumberColumn(format="localized")
"""Column of counts with thousands separators."""


def corpus(help: str = "", first: Collection[int] = (), newest: bool = False) -> CorpusRecord | None:
    """Choose a corpus; None, with a link to the import, if there is none.

    Corpora with ids in ``first`` are listed first; with ``newest`` the list is sorted by age, newest first.
    """
    listed = queries.corpora()
    found = sorted(listed[::-1] if newest else listed, key=lambda record: record.id not in first)
    if not found:
        nothing(
            "No corpus yet.",
            "Import a Wikipedia dump, Markdown, HTML, JSON lines or plain text.",
            "corpora",
            "Import a corpus",
        )
        return None
    return by_name("Corpus", found, "corpus", lambda record: record.name, help)


def nothing(what: str, advice: str, page: str = "", link: str = "") -> None:
    """Draw an empty state: what is missing and what to do."""
    with st.container(border=True, horizontal_alignment="center"):
        st.space("small")
        st.markdown(f"**{plain(what)}**", text_alignment="center")
        st.caption(plain(advice), text_alignment="center")
        if page:
            page_link(page, link)
        st.space("small")


def title(name: str, about: str) -> None:
    """Draw title and subtitle of a page."""
    with st.container(gap="xxsmall"):
        st.title(name, anchor=False)
        st.caption(about)
