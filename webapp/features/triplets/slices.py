"""Slices tab: triplet accuracy by sentence length, by paragraph distance and by article."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.metrics.triplet_analysis import ArticleAccuracy, Slice, accuracy_by_article, accuracy_slices
from themescope.core.types import Ids
from themescope.db.records import TripletSetRecord
from themescope.webapp.features.triplets import queries as page_queries
from themescope.webapp.features.triplets import sets, state
from themescope.webapp.features.triplets.figures import articles_figure
from themescope.webapp.shared import queries, triplet_queries
from themescope.webapp.shared.choose import COUNTED
from themescope.webapp.shared.components import clickable_table, clicked_point
from themescope.webapp.shared.figures import IntervalRow, interval_figure, tones
from themescope.webapp.shared.text import count, ends, interval, plain, score
from themescope.webapp.shared.triplet_queries import Evaluation, Margins

_LENGTH, _DISTANCE, _ARTICLE = "Sentence length", "Paragraph distance", "Article"
_LENGTHS = (0, 8, 10, 12, 15, 20, 25, 30)
_DISTANCES = (0, 1, 2, 3, 4)
_ABOUT = {
    _LENGTH: "Words of the shortest of the three sentences (of a set of titles, of the pivot).",
    _DISTANCE: "Paragraphs between the pivot and the sentence of its own section.",
}


def show(listed: Sequence[TripletSetRecord]) -> None:
    """Draw one or two models over the chosen slices."""
    chosen, shown = sets.choose_with_evaluations(listed)
    if not shown:
        return
    kinds = [_LENGTH, _DISTANCE, _ARTICLE] if chosen.kind == "sentences" else [_LENGTH, _ARTICLE]
    if st.session_state.get(state.SLICED_BY) not in kinds:
        st.session_state.pop(state.SLICED_BY, None)
    by = st.segmented_control(
        "Slice by", kinds, default=kinds[0], required=True, key=state.SLICED_BY, bind="query-params"
    )
    if by == _ARTICLE:
        _articles(chosen, shown[0])
    else:
        _sliced(chosen, shown, by or _LENGTH)


def _sliced(chosen: TripletSetRecord, shown: Sequence[Evaluation], by: str) -> None:
    """Draw accuracy and interval of every slice and model as a chart and as a table."""
    starts, unit = (_LENGTHS, "words") if by == _LENGTH else (_DISTANCES, "paragraphs")
    parts = {e.model_name: _slices(chosen, e, by, starts) for e in shown}
    lines = [
        _line(part, unit, name if len(parts) > 1 else "", place)
        for group in zip(*parts.values(), strict=True)  # all of the same triplets, so of the same slices
        for place, (name, part) in enumerate(zip(parts, group, strict=True))
    ]
    figure = interval_figure(lines, "Triplet accuracy", tones(st.context.theme.type), chance=0.5, sort=False)
    st.plotly_chart(figure, key=f"{state.CHART}_slices_{by}", config={"displayModeBar": False})
    first = next(iter(parts.values()))
    frame = pd.DataFrame(
        {
            unit.title(): [_label(part, unit).removesuffix(f" {unit}") for part in first],
            "Triplets": [part.triplets for part in first],
            "Articles": [part.accuracy.n for part in first],
            **{
                name: [interval(part.accuracy.value, *ends(part.accuracy)) for part in listed]
                for name, listed in parts.items()
            },
        }
    )
    st.dataframe(frame, hide_index=True, column_config={"Triplets": COUNTED, "Articles": COUNTED}, height="content")
    st.caption(f"{_ABOUT[by]} 95 % bootstrap intervals over articles, which do not test the difference between slices.")


def _line(part: Slice, unit: str, name: str, place: int) -> IntervalRow:
    label = f"{_label(part, unit)} · {name}" if name else _label(part, unit)
    return IntervalRow(label, part.accuracy.value, *ends(part.accuracy), place)


@st.cache_data(show_spinner="Computing slices …", max_entries=32)
def _cached(
    run_id: int, by: str, starts: tuple[int, ...], _values: Ids, _margins: Margins, _articles: Ids
) -> list[Slice]:
    return accuracy_slices(_values, _margins, _articles, starts)


def _slices(chosen: TripletSetRecord, evaluation: Evaluation, by: str, starts: tuple[int, ...]) -> list[Slice]:
    known = page_queries.measures(chosen, evaluation.split)
    ids, margins = triplet_queries.margins(evaluation)
    _, row, at = np.intersect1d(known.ids, ids, assume_unique=True, return_indices=True)
    values = known.words if by == _LENGTH else known.distance
    return _cached(evaluation.run.id, by, starts, values[row], margins[at], known.articles[row])


def _label(part: Slice, unit: str) -> str:
    if part.high is None:
        return f"{part.low} {unit} or more"
    if part.low == part.high:
        return f"{count(part.low, unit.removesuffix('s'))}"
    return f"{part.low} to {part.high} {unit}" if part.low else f"up to {part.high} {unit}"


def _articles(chosen: TripletSetRecord, evaluation: Evaluation) -> None:
    """Draw every article as a point and as a row; a click opens its triplets."""
    ids, margins = triplet_queries.margins(evaluation)
    known = triplet_queries.rows(chosen, evaluation.split)
    _, row, at = np.intersect1d(known.ids, ids, assume_unique=True, return_indices=True)
    found = accuracy_by_article(margins[at], known.articles[row])
    records = queries.articles_by_id(found.articles)
    titles = [records[i].title if i in records else "" for i in found.articles.tolist()]
    order = np.argsort(found.accuracy, kind="stable")
    theme = st.context.theme.type

    def open_article(place: int) -> None:
        state.open_triplets(sets.evaluation_filter(evaluation) | {state.ARTICLE: f'"{titles[place]}"'})

    left, right = st.columns([3, 2], gap="medium")
    with left:
        _dots(found, titles, f"{state.CHART}_articles_{evaluation.run.id}_{theme}", open_article)
        quarter, half, most = np.quantile(found.accuracy, [0.25, 0.5, 0.75])
        st.caption(
            f"{plain(evaluation.name)} on {count(len(titles), 'article')}: median {score(half)}, interquartile "
            f"range {score(quarter)} to {score(most)}. Articles with few triplets vary most, by chance alone. Click a "
            "point or a row to open its triplets, lowest margin first."
        )
    with right:
        _listed(found, titles, order, f"{state.TABLE}_articles_{evaluation.run.id}", open_article)


def _dots(found: ArticleAccuracy, titles: Sequence[str], key: str, open_article: Callable[[int], None]) -> None:
    def pick() -> None:
        point = clicked_point(key)
        if point is not None:
            open_article(point[0])

    figure = articles_figure(found, titles, tones(st.context.theme.type))
    st.plotly_chart(figure, key=key, on_select=pick, selection_mode="points", config={"displayModeBar": False})


def _listed(
    found: ArticleAccuracy, titles: Sequence[str], order: Ids, key: str, open_article: Callable[[int], None]
) -> None:
    frame = pd.DataFrame(
        {
            "Article": [titles[place] for place in order.tolist()],
            "Triplets": found.triplets[order],
            "Accuracy": [score(value) for value in found.accuracy[order].tolist()],
        }
    )
    clickable_table(
        frame,
        key,
        lambda row: open_article(int(order[row])),
        height=420,
        column_config={"Triplets": COUNTED, "Accuracy": st.column_config.TextColumn(alignment="right")},
    )
