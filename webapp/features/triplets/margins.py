"""The margins of a model over all triplets of a split: how many are wrong, by how much, and beside another model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.metrics.margins import MarginHistogram, margin_histogram
from core.metrics.statistics.intervals import paired_difference
from core.metrics.triplet_correctness import Who
from core.metrics.triplets import correctness
from core.types import Estimate
from db.records import TripletSetRecord
from webapp.features.triplets import evaluation_choice, state
from webapp.features.triplets.figures import Panel, margins_figure
from webapp.features.triplets.filter_form import margin_range
from webapp.shared import triplet_queries, triplet_sets
from webapp.shared.choose import COUNTED
from webapp.shared.palette import tones
from webapp.shared.text import count, plain, score, shorten, signed
from webapp.shared.triplet_queries import Evaluation

_RESAMPLES = 2_000


def show(sets: Sequence[TripletSetRecord]) -> None:
    """Histogram, what it says in numbers, and ways to the triplets behind it."""
    left, middle, right = st.columns(3)
    with left:
        chosen = triplet_sets.choose(sets)
    found = triplet_queries.evaluations(chosen)
    if not found:
        evaluation_choice.no_evaluations()
        return
    with middle:
        first = evaluation_choice.choose(found)
    with right:
        beside = evaluation_choice.choose_second(first, found)
    shown = [first] if beside is None else [first, beside]
    panels = [Panel(e.name, e.unit, margin_histogram(triplet_queries.margins(e)[1])) for e in shown]
    _chart(panels, shown)
    for panel in panels:
        st.caption(_in_words(panel, first))
    _doors(shown, panels[0].histogram)
    if beside is not None:
        _beside(first, beside, chosen)
    with st.expander("The numbers behind the chart", icon=":material/table:"):
        for panel in panels:
            st.markdown(f"**{plain(panel.name)}**")
            st.dataframe(_bins(panel.histogram), hide_index=True, height=260, column_config={"Triplets": COUNTED})


def _chart(panels: Sequence[Panel], shown: Sequence[Evaluation]) -> None:
    """The chart; a click on a bar asks for its triplets."""
    theme = st.context.theme.type
    key = f"margins-{'-'.join(str(e.run.id) for e in shown)}-{theme}"

    def pick() -> None:
        points = (st.session_state[key].get("selection") or {}).get("points") or []
        if points:
            panel, place = points[0].get("curve_number", 0), points[0]["customdata"]
            edges = panels[panel].histogram.edges
            place = int(place[0] if isinstance(place, list) else place)
            _pick(shown[panel], float(edges[place]), float(edges[place + 1]))

    st.plotly_chart(
        margins_figure(panels, tones(theme)),
        key=key,
        on_select=pick,
        selection_mode="points",
        config={"displayModeBar": False},
    )


def _in_words(panel: Panel, first: Evaluation) -> str:
    h = panel.histogram
    tied = f", {h.tied:,} undecided" if h.tied else ""
    beyond = f" {h.below + h.above:,} lie beyond the ends of the chart." if h.below + h.above else ""
    return (
        f"**{plain(panel.name)}**: {count(h.n, 'triplet')} of the {first.split.value} split, {h.wrong:,} wrong{tied}. "
        f"A margin is the distance to the other section minus the distance to the same section, in "
        f"{plain(panel.unit)}; median {signed(h.median)}, standard deviation {h.spread:.3g}.{beyond}"
    )


_PICKED = ("bar_of", "bar_from", "bar_to")
"""Names in the address of the bar that was clicked last."""


def _pick(evaluation: Evaluation, low: float, high: float) -> None:
    st.query_params.update(dict(zip(_PICKED, (evaluation.name, f"{low:g}", f"{high:g}"), strict=True)))


def _picked(shown: Sequence[Evaluation]) -> tuple[Evaluation, float, float] | None:
    """The bar that was clicked last, where it belongs to one of the charts."""
    of, low, high = (st.query_params.get(name, "") for name in _PICKED)
    found = next((e for e in shown if e.name == of), None)
    try:
        return None if found is None else (found, float(low), float(high))
    except ValueError:
        return None


def _doors(shown: Sequence[Evaluation], found: MarginHistogram) -> None:
    """To the wrong triplets of the first model, and to those of the bar that was clicked."""
    with st.container(horizontal=True, vertical_alignment="center"):
        wrong = f"Read the {count(found.wrong, 'wrong one')}"
        state.door(wrong, found.wrong, key="wrong", to=0.0, **_asked(shown[0]))
        bar = _picked(shown)
        if bar is None:
            st.caption("Or click a bar to read the triplets in it.")
            return
        evaluation, low, high = bar
        _, margins = triplet_queries.margins(evaluation)
        n = int(((margins >= low) & (margins < high)).sum())
        whose = f" of {shorten(evaluation.name, 24)}" if len(shown) > 1 else ""
        label = f"Read the {n:,} {margin_range(low, high)}{plain(whose)}"
        state.door(label, n, key="bar", primary=True, **_asked(evaluation), **{"from": low, "to": high})


def _asked(evaluation: Evaluation) -> dict[str, Any]:
    return {"split": evaluation.split.value, "by": evaluation.judge, "sort": "wrong"}


def _beside(first: Evaluation, second: Evaluation, chosen: TripletSetRecord) -> None:
    """Who is right where the other is wrong, and the difference of the two over articles."""
    a, b, articles = triplet_queries.on_same_triplets(first, second, chosen)
    right_a, right_b = correctness(a), correctness(b)
    gap = _difference(first.run.id, second.run.id, right_a, right_b, articles)
    of, other = first.judge, second.judge
    frame = pd.DataFrame(
        {
            "": [f"{of} right", f"{of} wrong"],
            f"{other} right": [int(((x > 0.5) & (right_b > 0.5)).sum()) for x in (right_a, 1 - right_a)],
            f"{other} wrong": [int(((x > 0.5) & (right_b < 0.5)).sum()) for x in (right_a, 1 - right_a)],
        }
    )
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.dataframe(frame, hide_index=True, column_config={name: COUNTED for name in frame.columns[1:]})
    with left.container(horizontal=True):
        for ahead, behind, margins in ((first, second, (a, b)), (second, first, (b, a))):
            n = int(((margins[0] > 0) & (margins[1] < 0)).sum())
            label = f"Read the {n:,} that only {plain(shorten(ahead.judge, 24))} gets right"
            asked: dict[str, Any] = {"split": first.split.value, "ahead": ahead.judge, "behind": behind.judge}
            state.door(label, n, key=f"only-{ahead.run.id}", who=Who.AGAINST.value, **asked)
    right.markdown(
        f"On {count(len(a), 'common triplet')} **{plain(of)}** is right in {score(float(right_a.mean()))}, "
        f"**{plain(other)}** in {score(float(right_b.mean()))}: a difference of {_signed(gap.value)} "
        f"[{_signed(gap.low)}, {_signed(gap.high)}] (95 % bootstrap interval over {count(gap.n, 'article')})."
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−").replace("0.", ".", 1)


@st.cache_data(show_spinner=False, max_entries=32)
def _difference(first: int, second: int, _a: np.ndarray, _b: np.ndarray, _articles: np.ndarray) -> Estimate:
    return paired_difference(_a, _b, _articles, _RESAMPLES)


def _bins(found: MarginHistogram) -> pd.DataFrame:
    rows = [("below", found.edges[0], found.below)] if found.below else []
    rows += [(low, high, n) for low, high, n in zip(found.edges[:-1], found.edges[1:], found.counts, strict=True)]
    rows += [(found.edges[-1], "above", found.above)] if found.above else []
    return pd.DataFrame(
        {
            "From": [low if isinstance(low, str) else f"{low:g}" for low, _, _ in rows],
            "To": [high if isinstance(high, str) else f"{high:g}" for _, high, _ in rows],
            "Triplets": [int(n) for _, _, n in rows],
            "Share": [f"{n / found.n:.2%}" for _, _, n in rows],
        }
    )
