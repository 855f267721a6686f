"""Comparing methods: means over articles with their intervals, best first, chance beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from core.clusterers import REGISTRY as CLUSTERERS
from core.evaluation import REGISTRY as METRICS
from core.records import BenchmarkRecord, RunRecord, ScoreRecord, TripletSetRecord
from core.registry import Card
from core.sheets.writing import csv_text
from webapp import queries
from webapp.components.jobs import submit
from webapp.components.text import count, duration, interval, plain, score
from webapp.figures import IntervalRow, interval_figure
from webapp.palette import tones

HEADLINE = "ami"
"""The score that stands for all where there is room for one: corrected for chance, and the paper's."""
_NO_MODEL = "no vectors"


@dataclass(frozen=True, slots=True)
class Row:
    """One method × clusterer with its mean scores."""

    model: str
    clusterer: str
    scores: dict[str, ScoreRecord]
    seconds: float
    floor: bool
    colour: int
    """Place in the palette: a clusterer has the same colour on every benchmark."""


def rows(benchmark: BenchmarkRecord) -> list[Row]:
    """The newest run of every combination."""
    names = {m.id: m.name for m in queries.models()}
    newest: dict[tuple[str, str], RunRecord] = {}
    for run in queries.clusterings(benchmark.id):
        newest.setdefault((names.get(run.model_id or -1, _NO_MODEL), run.clusterer), run)
    scores = queries.mean_scores(run.id for run in newest.values())
    places = {id: place for place, id in enumerate(CLUSTERERS.ids())}
    return [
        Row(
            model,
            clusterer_title(run.clusterer),
            scores.get(run.id, {}),
            run.seconds,
            run.model_id is None,
            places.get(run.clusterer, len(places)),
        )
        for (model, _), run in newest.items()
    ]


def clusterer_title(id: str) -> str:
    """The title on a clusterer's card; its id where this version has no such card."""
    return CLUSTERERS.get(id).title if id in CLUSTERERS else id


def clustering(benchmark: BenchmarkRecord) -> None:
    """Table, chart and export of one benchmark."""
    found = rows(benchmark)
    present = [card for card in METRICS if any(card.id in row.scores for row in found)]
    present.sort(key=lambda card: "paper" not in card.tags)  # the paper's columns first
    if not present:
        st.info("Nothing has been clustered on this benchmark yet. Ask for it below.", icon=":material/info:")
        return
    ids = [card.id for card in present]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        metric = METRICS.get(_sorting(ids))
        ordered = sorted(found, key=lambda row: _value(row, metric.id), reverse=True)
        st.space("stretch")
        st.download_button(
            "CSV",
            data=lambda: export(ordered, ids),
            file_name="themescope-comparison.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
    st.dataframe(_table(ordered, ids), hide_index=True, column_config=_aligned(ids))
    scored = [row for row in ordered if metric.id in row.scores]
    st.caption(
        f"Means over {count(scored[0].scores[metric.id].n, 'article')}; ± is half the width of the 95 % bootstrap "
        "interval over articles, whose ends stand in the chart and in the CSV. The best of each column stands out; "
        "random labels are the floor.  \n" + " ".join(f"**{plain(c.title)}**: {plain(c.summary)}" for c in present)
    )
    _chart(scored, metric)


def _aligned(metrics: Sequence[str]) -> dict[str, Any]:
    cards = [METRICS.get(m) for m in metrics]
    numbers = {card.title: st.column_config.TextColumn(help=card.summary, alignment="right") for card in cards}
    return {**numbers, "Time": st.column_config.TextColumn(help="Clustering alone, without vectors", alignment="right")}


def _sorting(ids: Sequence[str]) -> str:
    return st.segmented_control(
        "Sort and draw by",
        ids,
        default=HEADLINE if HEADLINE in ids else ids[0],
        required=True,
        format_func=lambda id: METRICS.get(id).title,
        key="metric",
        bind="query-params",
    )


def _value(row: Row, metric: str) -> float:
    return row.scores[metric].value if metric in row.scores else float("-inf")


def _chart(scored: Sequence[Row], metric: Card) -> None:
    lines = [
        _line(
            row.clusterer if row.floor else f"{row.model} · {row.clusterer}",
            row.scores[metric.id],
            -1 if row.floor else row.colour,
        )
        for row in scored
    ]
    figure = interval_figure(lines, metric.title, tones(st.context.theme.type))
    st.plotly_chart(figure, key=f"intervals-{metric.id}", config={"displayModeBar": False})


def _line(label: str, score: ScoreRecord, colour: int = 0) -> IntervalRow:
    return IntervalRow(label, score.value, score.low, score.high, colour)


def with_interval(score: ScoreRecord | None) -> str:
    """Write ``.312 [.290, .334]``, or a dash."""
    return "–" if score is None else interval(score.value, score.low, score.high)


def with_half_width(record: ScoreRecord | None) -> str:
    """Write ``.312 ±.022``, or a dash: short enough for a table of every score."""
    if record is None:
        return "–"
    if record.low is None or record.high is None:
        return score(record.value)
    return f"{score(record.value)} ±{score((record.high - record.low) / 2)}"


def _table(found: Sequence[Row], metrics: Sequence[str]) -> Styler:
    frame = pd.DataFrame(
        {
            "Model": [row.model for row in found],
            "Clusterer": [row.clusterer for row in found],
            **{METRICS.get(m).title: [with_half_width(row.scores.get(m)) for row in found] for m in metrics},
            "Time": [duration(row.seconds) for row in found],
        }
    )
    styles = pd.DataFrame("", index=frame.index, columns=frame.columns)
    for metric in metrics:
        values = [_value(row, metric) for row in found]
        styles.loc[values.index(max(values)), METRICS.get(metric).title] = _BEST
    for place, row in enumerate(found):
        if row.floor:
            styles.loc[place] = _FLOOR
    return frame.style.apply(lambda _: styles, axis=None)


_BEST = "background-color: rgba(31, 143, 136, 0.25)"
_FLOOR = "color: #7b858e"


def export(found: Sequence[Row], metrics: Sequence[str]) -> str:
    """Every score as numbers: value, both ends of the interval, number of articles."""
    header = ["model", "clusterer", "seconds", *(f"{m}{part}" for m in metrics for part in ("", "_low", "_high", "_n"))]
    return csv_text(
        header,
        (
            [row.model, row.clusterer, row.seconds, *(cell for m in metrics for cell in _cells(row.scores.get(m)))]
            for row in found
        ),
    )


def _cells(score: ScoreRecord | None) -> list[float | int | None]:
    return [None] * 4 if score is None else [score.value, score.low, score.high, score.n]


def triplet_accuracy(chosen: TripletSetRecord) -> None:
    """Accuracy of every model that was evaluated on a set, and a way to evaluate the others."""
    names = {m.id: m.name for m in queries.models()}
    newest: dict[str, RunRecord] = {}
    for run in queries.triplet_runs(chosen.id):
        if run.model_id in names:
            newest.setdefault(names[run.model_id], run)
    scores = queries.mean_scores(run.id for run in newest.values())
    accuracy = {name: next(iter(scores[run.id].values())) for name, run in newest.items() if scores.get(run.id)}
    if accuracy:
        _accuracy_table(accuracy)
    else:
        st.info("No model has been evaluated on this set yet.", icon=":material/info:")
    rest = [name for name in names.values() if name not in accuracy]
    if rest:
        st.subheader("Evaluate more models", anchor=False)
        chosen_names = st.multiselect("Models", rest, default=rest[:4])
        if st.button("Evaluate", type="primary", icon=":material/play_arrow:", disabled=not chosen_names):
            asked = [
                submit("evaluate-triplets", {"model": n, "triplets": chosen.name}, f"Triplet accuracy of {n}")
                for n in chosen_names
            ]
            if all(asked):
                st.rerun()


def _accuracy_table(accuracy: dict[str, ScoreRecord]) -> None:
    ordered = sorted(accuracy.items(), key=lambda item: item[1].value, reverse=True)
    left, right = st.columns([2, 3], gap="medium")
    left.dataframe(
        pd.DataFrame(
            {
                "Model": [name for name, _ in ordered],
                "Triplet accuracy": [with_interval(score) for _, score in ordered],
                "Articles": [score.n for _, score in ordered],
            }
        ),
        hide_index=True,
    )
    left.caption(
        "Share of test triplets whose pivot is nearer to the sentence of its own section than to the other one; "
        "chance is .500. Mean with the 95 % bootstrap interval over articles."
    )
    lines = [_line(name, score) for name, score in ordered]
    right.plotly_chart(
        interval_figure(lines, "Triplet accuracy", tones(st.context.theme.type), chance=0.5),
        key="accuracy",
        config={"displayModeBar": False},
    )
