"""Margins tab: the distribution of a model's margins, and the comparison with another model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.metrics.statistics.intervals import paired_difference
from themescope.core.metrics.triplet_analysis import CorrectnessFilter, MarginHistogram, margin_histogram
from themescope.core.metrics.triplets import correctness
from themescope.core.types import Estimate
from themescope.db.records import TripletSetRecord
from themescope.webapp.features.triplets import sets, state
from themescope.webapp.features.triplets.figures import Panel, margins_figure
from themescope.webapp.features.triplets.filter_form import margin_range
from themescope.webapp.shared import triplet_queries
from themescope.webapp.shared.choose import COUNTED
from themescope.webapp.shared.components import clicked_point
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.text import count, plain, score, shorten, signed
from themescope.webapp.shared.triplet_queries import Evaluation

_RESAMPLES = 2_000


def show(listed: Sequence[TripletSetRecord]) -> None:
    """Draw the histogram, its summary, and buttons that open the triplets behind it."""
    chosen, shown = sets.choose_with_evaluations(listed)
    if not shown:
        return
    panels = [Panel(e.name, e.unit, margin_histogram(triplet_queries.margins(e)[1])) for e in shown]
    _chart(panels, shown)
    for panel in panels:
        st.caption(_summary(panel, shown[0]))
    _links(shown, panels[0].histogram)
    if len(shown) > 1:
        _beside(shown[0], shown[1], chosen)
    with st.expander("Data table", icon=":material/table:"):
        for panel in panels:
            st.markdown(f"**{plain(panel.name)}**")
            st.dataframe(_bins(panel.histogram), hide_index=True, height=260, column_config={"Triplets": COUNTED})


def _chart(panels: Sequence[Panel], shown: Sequence[Evaluation]) -> None:
    """Draw the chart; a click on a bar selects it."""
    theme = st.context.theme.type
    key = f"{state.CHART}_margins_{'-'.join(str(e.run.id) for e in shown)}-{theme}"

    def pick() -> None:
        point = clicked_point(key)
        if point is not None:
            place, panel = point
            edges = panels[panel].histogram.edges
            _pick(shown[panel], float(edges[place]), float(edges[place + 1]))

    st.plotly_chart(
        margins_figure(panels, tones(theme)),
        key=key,
        on_select=pick,
        selection_mode="points",
        config={"displayModeBar": False},
    )


def _summary(panel: Panel, first: Evaluation) -> str:
    h = panel.histogram
    tied = f", {h.tied:,} tied" if h.tied else ""
    beyond = f" {h.below + h.above:,} are outside the chart." if h.below + h.above else ""
    return (
        f"**{plain(panel.name)}**: {count(h.n, 'triplet')} of the {first.split.value} split, {h.wrong:,} wrong{tied}. "
        f"A margin is the distance to the other section minus the distance to the same section, in "
        f"{plain(panel.unit)}; median {signed(h.median)}, standard deviation {h.spread:.3g}.{beyond}"
    )


def _pick(evaluation: Evaluation, low: float, high: float) -> None:
    st.query_params.update(dict(zip(state.BAR, (evaluation.name, f"{low:g}", f"{high:g}"), strict=True)))


def _picked(shown: Sequence[Evaluation]) -> tuple[Evaluation, float, float] | None:
    """Return the bar that was clicked last, if it belongs to one of the charts."""
    of, low, high = (st.query_params.get(name, "") for name in state.BAR)
    found = next((e for e in shown if e.name == of), None)
    try:
        return None if found is None else (found, float(low), float(high))
    except ValueError:
        return None


def _links(shown: Sequence[Evaluation], found: MarginHistogram) -> None:
    """Draw the buttons that open the wrong triplets of the first model and those of the clicked bar."""
    with st.container(horizontal=True, vertical_alignment="center"):
        label = f"Open {count(found.wrong, 'wrong triplet')}"
        state.triplets_button(
            label, found.wrong, sets.evaluation_filter(shown[0]) | {state.MARGIN_MAX: 0.0}, name="wrong"
        )
        bar = _picked(shown)
        if bar is None:
            st.caption("Or click a bar to open its triplets.")
            return
        evaluation, low, high = bar
        _, margins = triplet_queries.margins(evaluation)
        n = int(((margins >= low) & (margins < high)).sum())
        whose = f" of {shorten(evaluation.name, 24)}" if len(shown) > 1 else ""
        label = f"Open {n:,} {margin_range(low, high)}{plain(whose)}"
        settings = sets.evaluation_filter(evaluation) | {state.MARGIN_MIN: low, state.MARGIN_MAX: high}
        state.triplets_button(label, n, settings, name="bar", primary=True)


def _beside(first: Evaluation, second: Evaluation, chosen: TripletSetRecord) -> None:
    """Draw the contingency table of two models, and their difference in accuracy with its interval."""
    a, b, articles = triplet_queries.on_same_triplets(first, second, chosen)
    right_a, right_b = correctness(a), correctness(b)
    gap = _difference(first.run.id, second.run.id, right_a, right_b, articles)
    of, other = first.model_name, second.model_name
    frame = pd.DataFrame(
        {
            "": [f"{of} correct", f"{of} wrong"],
            f"{other} correct": [int(((x > 0.5) & (right_b > 0.5)).sum()) for x in (right_a, 1 - right_a)],
            f"{other} wrong": [int(((x > 0.5) & (right_b < 0.5)).sum()) for x in (right_a, 1 - right_a)],
        }
    )
    left, right = st.columns([3, 2], vertical_alignment="center")
    left.dataframe(frame, hide_index=True, column_config={name: COUNTED for name in frame.columns[1:]})
    with left.container(horizontal=True):
        for ahead, behind, margins in ((first, second, (a, b)), (second, first, (b, a))):
            n = int(((margins[0] > 0) & (margins[1] < 0)).sum())
            label = f"Open {n:,} that only {plain(shorten(ahead.model_name, 24))} gets right"
            settings = {
                state.SPLIT: first.split.value,
                state.CORRECT: CorrectnessFilter.AGAINST.value,
                state.CORRECT_MODEL: ahead.model_name,
                state.WRONG_MODEL: behind.model_name,
            }
            state.triplets_button(label, n, settings, name=f"only_{ahead.run.id}")
    right.markdown(
        f"On {count(len(a), 'common triplet')} **{plain(of)}** has accuracy {score(float(right_a.mean()))}, "
        f"**{plain(other)}** {score(float(right_b.mean()))}: difference {_signed(gap.value)} "
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
