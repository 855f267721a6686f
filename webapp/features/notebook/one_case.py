"""One case: its sentences with their places, what models said about them, and the link to where it was found."""

from __future__ import annotations

from urllib.parse import parse_qsl

import streamlit as st

from themescope.core.labelling.error_cases import NEGATIVE, PIVOT, POSITIVE, Passage
from themescope.core.records.stored import ErrorCase
from themescope.webapp.features.notebook.filters import KINDS
from themescope.webapp.shared.navigation import offered_cards, page_link
from themescope.webapp.shared.pages import PageCard
from themescope.webapp.shared.people import shown
from themescope.webapp.shared.text import ago, count, plain

_SHOWN = 6
_ROLES = {
    PIVOT: ("Pivot", "gray"),
    POSITIVE: ("Positive: same section", "green"),
    NEGATIVE: ("Negative: other section", "orange"),
}


def show(case: ErrorCase) -> None:
    """Draw a case."""
    facts = case.facts
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.markdown(f"**Case {case.id}**", width="content")
        st.badge(KINDS[case.kind], color="gray")
        if case.sample_id is not None:
            st.badge("drawn at random", color="blue")
        st.caption(plain(facts.source), width="content")
    with st.container(border=True, gap="small"):
        for passage in facts.passages[:_SHOWN]:
            _passage(passage)
        rest = facts.passages[_SHOWN:]
        if rest:
            with st.expander(f"{count(facts.sentences - _SHOWN, 'more sentence')}"):
                for passage in rest:
                    _passage(passage)
                if facts.sentences > len(facts.passages):
                    st.caption(f"The first {len(facts.passages)} of {facts.sentences:,} are kept.")
    for statement in facts.statements():
        st.markdown(f":material/straighten: {plain(statement)}")
    with st.container(horizontal=True, vertical_alignment="center"):
        _origin(case)
        st.caption(f"Added by {shown(case.person)} {ago(case.created)}", width="content")


def _passage(passage: Passage) -> None:
    with st.container(gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
            if passage.role in _ROLES:
                label, colour = _ROLES[passage.role]
                st.badge(label, color=colour)  # type: ignore[arg-type]
            place = " › ".join(part for part in (passage.article, passage.section or "(no heading)") if part)
            st.caption(plain(place), width="content")
        st.markdown(plain(passage.text))
        if passage.placed:
            st.caption(f":material/category: {plain(passage.placed)}")


def _origin(case: ErrorCase) -> None:
    """Draw the link to the view in which the case was found; nothing if this version has no such page."""
    page, _, query = case.permalink.partition("?")
    card = next((card for card in offered_cards() if card.id == page), None)
    if card is not None:
        page_link(page, f"Open in {card.title}", view=known_view(card, query), key=f"notebook-open-{case.id}")


def known_view(card: PageCard, query: str) -> dict[str, list[str]]:
    """Return the values of those parameters of a query that the page knows."""
    keys, found = card.page_keys(), dict[str, list[str]]()
    for name, value in parse_qsl(query, keep_blank_values=True):
        if keys is not None and name in keys.urls:
            found.setdefault(name, []).append(value)
    return found
