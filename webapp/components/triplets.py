"""Weak labels, one at a time: pivot, same theme, other theme, and which model tells them apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from core.records import RunRecord, TripletCard, TripletSetRecord
from core.sheets.writing import csv_text
from core.types import Split
from webapp import queries, triplet_queries
from webapp.components import narrowing, triplet_sets, word_reading
from webapp.components.narrowing import Narrowing
from webapp.components.text import plain, shorten, signed

_PAGE = 50
_EXPORTED = 10_000


@dataclass(frozen=True, slots=True)
class Listing:
    """The triplets in view: how many, pages of them, and a key that tells listings apart."""

    key: str
    total: int
    page: Callable[[int, int], list[TripletCard]]
    """Offset and limit → cards."""


def browse(sets: Sequence[TripletSetRecord]) -> None:
    """One triplet large, its neighbours in a table below; J and K move."""
    left, middle, right = st.columns([4, 4, 4], vertical_alignment="bottom")
    with left:
        chosen = triplet_sets.choose(sets)
    narrowed = narrowing.from_address(triplet_queries.evaluations(chosen))
    with middle:
        split = _split(narrowed)
    search = right.text_input(
        "Find", key="words", bind="query-params", placeholder="a word or an article", icon=":material/search:"
    ).strip()
    if narrowed is None:
        listing = everything(chosen, split, search)
    else:
        listing = narrowed_to(narrowed, chosen, search)
        _told(narrowed)
    if not listing.total:
        st.info("No triplet matches. Choose another split or search for something else.", icon=":material/info:")
        return
    _one_by_one(listing, chosen)


def _split(narrowed: Narrowing | None) -> Split | None:
    """The split that is asked for; None: all. An evaluation has one of its own."""
    about = "Decided by article title"
    if narrowed is not None:
        st.segmented_control("Split", [narrowed.evaluation.split.value], disabled=True, help=about)
        return narrowed.evaluation.split
    splits = ["all", *(s.value for s in Split)]
    split = st.segmented_control(
        "Split", splits, default="all", required=True, key="split", bind="query-params", help=about
    )
    return None if split == "all" else Split(split)


def _told(narrowed: Narrowing) -> None:
    """What is in view, and the way back to everything."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Only {narrowed.words()}")
        st.button("Show all", icon=":material/close:", on_click=narrowing.put_into_address, args=(None,))


def everything(chosen: TripletSetRecord, split: Split | None, search: str) -> Listing:
    """All triplets of a split (None: of all), in their order."""

    def page(offset: int, limit: int) -> list[TripletCard]:
        return queries.triplet_page(chosen.id, split, search, offset, limit, chosen.created)[0]

    total = queries.triplet_page(chosen.id, split, search, 0, _PAGE, chosen.created)[1]
    return Listing(f"{chosen.id}-{split}-{search}", total, page)


def narrowed_to(wanted: Narrowing, chosen: TripletSetRecord, search: str) -> Listing:
    """Triplets picked by their margin or sections, the most wrong first."""
    ids = wanted.ids(chosen, search)
    return Listing(
        f"{wanted.key}-{search}", len(ids), lambda offset, limit: triplet_queries.cards(ids[offset : offset + limit])
    )


def _one_by_one(listing: Listing, chosen: TripletSetRecord) -> None:
    state = f"triplet-{listing.key}"
    at: int = st.session_state.setdefault(state, 0)
    first = at // _PAGE * _PAGE
    cards = listing.page(first, _PAGE)
    runs = newest_by_model(queries.triplet_runs(chosen.id))
    _steps(state, at, listing.total, lambda: export(listing, runs))
    margins = queries.margins([card.id for card in cards], [run.id for run in runs.values()])
    current = cards[min(at % _PAGE, len(cards) - 1)]
    card(current, chosen.kind)
    verdicts(current, runs, margins)
    word_reading.show(current, roles(chosen.kind))
    _table(cards, runs, margins, state, first)


def export(listing: Listing, runs: Mapping[str, RunRecord]) -> str:
    """The triplets in view as the CSV that ``evaluate triplets`` reads, with each model's margin behind."""
    cards = listing.page(0, _EXPORTED)
    margins = queries.margins([card.id for card in cards], [run.id for run in runs.values()])
    header = ["Sentence1", "Sentence2", "Sentence3", "Article", "Section", "OtherSection", "Split"]
    return csv_text(
        [*header, *(f"margin of {name}" for name in runs)],
        (
            [c.pivot, c.positive, c.negative, c.article, c.pivot_section, c.negative_section, c.split.value]
            + [margins.get(run.id, {}).get(c.id) for run in runs.values()]
            for c in cards
        ),
    )


def newest_by_model(runs: Sequence[RunRecord]) -> dict[str, RunRecord]:
    """Model name → its newest evaluation."""
    names = {model.id: model.name for model in queries.models()}
    newest: dict[str, RunRecord] = {}
    for run in runs:
        if run.model_id in names:
            newest.setdefault(names[run.model_id], run)
    return newest


def _steps(state: str, at: int, total: int, data: Callable[[], str]) -> None:
    def move(to: int) -> None:
        st.session_state[state] = min(max(to, 0), total - 1)

    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Previous", shortcut="K", on_click=move, args=(at - 1,), disabled=at == 0)
        st.button("Next", shortcut="J", on_click=move, args=(at + 1,), disabled=at + 1 >= total)
        st.caption(f"Triplet {min(at, total - 1) + 1:,} of {total:,}")
        st.space("stretch")
        st.download_button(
            "CSV",
            data=data,
            file_name="themescope-triplets.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
            help=f"The first {_EXPORTED:,} of {total:,} triplets in view" if total > _EXPORTED else None,
        )


def card(triplet: TripletCard, kind: str) -> None:
    """The three texts with their sections, side by side."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{plain(triplet.article)}**")
        st.badge(triplet.split.value, color="gray")
    parts = (
        (triplet.pivot_section, triplet.pivot, "gray"),
        (triplet.pivot_section, triplet.positive, "green"),
        (triplet.negative_section, triplet.negative, "orange"),
    )
    for column, role, (section, text, colour) in zip(st.columns(3), roles(kind), parts, strict=True):
        with column, st.container(border=True, height="stretch"):
            st.badge(role, color=colour)  # type: ignore[arg-type]
            st.caption(plain(narrowing.heading(section)))
            st.text(text)


def roles(kind: str) -> tuple[str, str, str]:
    """What the three texts of a triplet are to each other."""
    if kind == "sentences":
        return "Pivot", "Same section", "Other section"
    return "Pivot", "Its section's title", "Another section's title"


def verdicts(triplet: TripletCard, runs: Mapping[str, RunRecord], margins: Mapping[int, Mapping[int, float]]) -> None:
    """Which model puts the same section nearer, and by how much of its own distance."""
    known = {name: margins.get(run.id, {}).get(triplet.id) for name, run in runs.items()}
    if not runs:
        st.caption("No model has been evaluated on this set yet. Ask for it on the page Compare, “Triplet accuracy”.")
    elif all(margin is None for margin in known.values()):
        st.caption("Models were evaluated on another split of this set; choose “test” above to see who was right.")
    with st.container(horizontal=True):
        for name, margin in known.items():
            if margin is not None:
                _verdict(name, margin)


def _verdict(name: str, margin: float) -> None:
    label, colour, icon = outcome(margin)
    st.badge(
        f"{plain(name)} {label} · {signed(margin)}",
        color=colour,  # type: ignore[arg-type]
        icon=icon,
        help="Margin: distance to the other section minus distance to the same section, in this model's own distance",
    )


def outcome(margin: float) -> tuple[str, str, str]:
    """Word, colour and symbol for a margin: distance to the other theme minus distance to the same theme."""
    if margin > 0:
        return "right", "green", ":material/check:"
    return ("wrong", "red", ":material/close:") if margin < 0 else ("undecided", "gray", ":material/drag_handle:")


def _table(
    cards: Sequence[TripletCard],
    runs: Mapping[str, RunRecord],
    margins: Mapping[int, Mapping[int, float]],
    state: str,
    first: int,
) -> None:
    frame = pd.DataFrame(
        {
            "Article": [c.article for c in cards],
            **{_column(name): [margins.get(run.id, {}).get(c.id) for c in cards] for name, run in runs.items()},
            "Section": [c.pivot_section for c in cards],
            "Other section": [c.negative_section for c in cards],
            "Pivot": [c.pivot for c in cards],
        }
    )
    key = f"rows-{state}-{first}"

    def jump() -> None:
        cells = st.session_state[key]["selection"]["cells"]
        if cells:
            st.session_state[state] = first + cells[0][0]

    signs = " A model's column holds its margin: positive is right, negative is wrong." if runs else ""
    st.caption(f"Click a row to see it above.{signs}")
    st.dataframe(
        frame,
        hide_index=True,
        height=300,
        on_select=jump,
        selection_mode="single-cell",
        key=key,
        column_config={
            **{_column(name): st.column_config.NumberColumn(format="%+.3f", width=110) for name in runs},
            "Article": st.column_config.TextColumn(width=170),
            "Section": st.column_config.TextColumn(width=150),
            "Other section": st.column_config.TextColumn(width=150),
            "Pivot": st.column_config.TextColumn(width="large"),
        },
    )


def _column(name: str) -> str:
    return shorten(name, 24)
