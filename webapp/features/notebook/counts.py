"""Counts tab: how frequent each category is, by model and by section type."""

from __future__ import annotations

from base64 import b64encode
from html import escape

import pandas as pd
import streamlit as st

from themescope.core.records.stored import CorpusRecord
from themescope.db.records import Notebook
from themescope.jobs.services.notebook import report
from themescope.jobs.services.notebook.counts import Counts, CountScope, CountTable, analysts, count_categories
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.notebook import filters, state
from themescope.webapp.features.notebook.state import ANY
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import download
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.people import UNNAMED
from themescope.webapp.shared.text import plain

ALL_CASES, ANYONE = "All cases", "Any analyst"


def show(corpus: CorpusRecord, notebook: Notebook) -> None:
    """Draw the choice of cases and analyst, the counts and both tables."""
    notebook = filters.chosen(notebook)
    if not notebook.current_categories() or not notebook.coded():
        nothing("Nothing to count yet.", "Give categories to cases in the tab “Cases”; the digits are their keys.")
        return
    found = count_categories(notebook, choose_scope(notebook))
    if not found.coded:
        nothing("No coded cases in this choice.", "Choose other cases or another analyst above.")
        return
    st.markdown(plain(found.statement()))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _chart(found)
    right.dataframe(_frame(found), hide_index=True)
    right.caption("Shares with 95 % Wilson intervals. A case may have several categories.")
    _table("Categories by model", found.by_model, "A case counts for each of its models.")
    _table("Categories by section type", found.by_section, "Section types are titles of sections, spelled alike.")
    download("Counts (CSV)", lambda: _csv(found), "themescope-error-counts.csv")


def _chart(found: Counts) -> None:
    """Draw the chart of shares as an image, which executes nothing; its text is the same as that of the table."""
    svg = b64encode(report.shares(found, tones(st.context.theme.type).ink).encode()).decode()
    said = "; ".join(f"{row.category.name}: {row.share:.0%}" for row in found.categories)
    alt = escape(f"Share of coded cases by category. {said}", quote=True)
    st.html(f'<img alt="{alt}" style="width:100%" src="data:image/svg+xml;base64,{svg}">')


def choose_scope(notebook: Notebook) -> CountScope:
    """Draw the choice of cases and of the analyst whose categories count."""
    samples = {sample.name: sample.id for sample in notebook.samples}
    people = {name or UNNAMED: name for name in analysts(notebook)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample = _choice("Cases", ALL_CASES, [*samples], state.COUNTED_SAMPLE)
        person = _choice("Categories of", ANYONE, [*people], state.COUNTED_ANALYST)
    return CountScope(people.get(person), samples.get(sample))


def _choice(label: str, default: str, others: list[str], key: str) -> str:
    if st.session_state.get(key, default) not in (default, *others):
        st.session_state.pop(key, None)
    return st.selectbox(label, [default, *others], key=key, bind="query-params", width=320) or ANY


def _frame(found: Counts) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Category": [row.category.name for row in found.categories],
            "Cases": [row.cases for row in found.categories],
            "Share": [f"{row.share:.0%}" for row in found.categories],
            "Interval": [f"{row.low:.0%} to {row.high:.0%}" for row in found.categories],
        }
    )


def _table(title: str, of: CountTable, note: str) -> None:
    """Draw a contingency table with residuals."""
    st.subheader(title, anchor=False)
    cells = {
        f"{name} ({total:,})": [of.cell(row, column) for row in range(len(of.categories))]
        for column, (name, total) in enumerate(zip(of.columns, of.totals, strict=True))
    }
    st.dataframe(pd.DataFrame({"Category": list(of.categories)} | cells), hide_index=True)
    st.caption(f"{plain(note)} {plain(of.reading())}")


def _csv(found: Counts) -> str:
    header = ("table", "category", "column", "cases", "of", "share", "low", "high", "residual")
    rows: list[tuple[object, ...]] = [
        ("categories", r.category.name, "", r.cases, found.coded, r.share, r.low, r.high, None)
        for r in found.categories
    ]
    for name, of in (("model", found.by_model), ("section type", found.by_section)):
        for i, category in enumerate(of.categories):
            for j, column in enumerate(of.columns):
                n, residual = int(of.found.counts[i, j]), float(of.found.residuals[i, j])
                rows.append((name, category, column, n, of.totals[j], n / of.totals[j], None, None, residual))
    return csv_text(header, rows)
