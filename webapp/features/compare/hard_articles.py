"""Scores of two methods over slices of articles by properties of their sections."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.metrics.article_difficulty import TRAITS, ArticleSlice
from core.types import Estimate
from jobs.services.table_files import csv_text
from webapp.features.compare import downloads
from webapp.features.compare.figures import slices_figure
from webapp.features.compare.method_pair import PairOfMethods
from webapp.shared import compare_queries
from webapp.shared.palette import tones
from webapp.shared.text import interval, plain


def show(pair: PairOfMethods) -> None:
    """Draw the scores of both methods and their difference for the slices of each property."""
    of = pair.scope.comparison
    found = compare_queries.slices(of.benchmark, pair.first, pair.second, of.metric.id)
    unit = of.metric.title
    names = [pair.first.name, pair.second.name]
    for trait in TRAITS:
        parts = found[trait.id]
        labels = [_label(part, trait.id == "balance") for part in parts]
        st.markdown(f"**{trait.title}**: {plain(trait.summary)}")
        left, right = st.columns([2, 3], gap="medium", vertical_alignment="center")
        with left:
            figure = slices_figure(parts, labels, names, unit, tones(st.context.theme.type))
            downloads.chart(figure, f"slices-{trait.id}", f"themescope-by-{trait.id}")
        ends = {name: st.column_config.TextColumn(width=132) for name in ("First", "Second", "Difference")}
        right.dataframe(_frame(parts, labels, trait.title), hide_index=True, column_config=ends)
    rows = [(trait.id, part) for trait in TRAITS for part in found[trait.id]]
    header = ["trait", "from", "to", "articles"]
    header += [f"{name}{end}" for name in ("first", "second", "difference") for end in ("", "_low", "_high")]
    st.download_button(
        "Download slices (CSV)",
        data=lambda: csv_text(header, ([t, p.low, p.high, p.n, *_ends(p)] for t, p in rows)),
        file_name="themescope-slices.csv",
        mime="text/csv",
        icon=":material/download:",
        on_click="ignore",
    )
    st.caption(
        f"Slices of roughly equal size; means of {unit} with 95 % bootstrap intervals over the articles of "
        "the slice. Slices by one property also differ in others: a difference is no evidence of a cause."
    )


def _ends(part: ArticleSlice) -> list[float]:
    return [end for e in part.estimates for end in (e.value, e.low, e.high)]


def _label(part: ArticleSlice, fraction: bool) -> str:
    """Return the range of a slice, such as ``5``, ``6–8`` or ``.71–.83``."""
    low, high = (f"{x:.2f}".removeprefix("0") if fraction else f"{x:,.0f}" for x in (part.low, part.high))
    return low if low == high else f"{low}–{high}"


def _frame(parts: list[ArticleSlice], labels: list[str], trait: str) -> pd.DataFrame:
    def column(place: int) -> list[str]:
        return [_text(part.estimates[place]) for part in parts]

    return pd.DataFrame(
        {
            trait: labels,
            "Articles": [part.n for part in parts],
            "First": column(0),
            "Second": column(1),
            "Difference": column(2),
        }
    )


def _text(found: Estimate) -> str:
    return interval(found.value, *((found.low, found.high) if found.n > 1 else (None, None)))
