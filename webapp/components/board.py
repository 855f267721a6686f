"""The parts of the home page."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.records import BenchmarkRecord, CorpusRecord, JobRecord, ModelRecord
from webapp import queries
from webapp.components.comparing import rows, with_interval
from webapp.components.jobs import badge
from webapp.components.text import ago, plain
from webapp.components.training import method_title


def doors(corpora: Sequence[CorpusRecord]) -> None:
    """The three ways in."""
    demo = corpora[0].name if corpora else ""
    where = {"corpus": demo} if demo else None
    with_map = bool(corpora and queries.maps(corpora[0].id))
    one, two, three = st.columns(3)
    with one, st.container(border=True, height="stretch"):
        st.markdown("#### :primary[:material/explore:] Explore the demo")
        st.write("A piece of Wikipedia, already read, clustered and drawn. Lasso a group of sentences and read it.")
        page = "map" if with_map else "corpora"
        st.page_link(f"pages/{page}.py", label="Open the map" if with_map else "Read it", query_params=where)
        st.page_link("pages/compare.py", label="See which method clusters best")
    with two, st.container(border=True, height="stretch"):
        st.markdown("#### :primary[:material/library_add:] Import a corpus with sections")
        st.write("Wikipedia dumps, Markdown, HTML, JSON lines. Sections become training signal and truth.")
        st.page_link("pages/corpora.py", label="Import files", query_params={"view": "Import"})
        st.page_link("pages/triplets.py", label="Look at triplets")
    with three, st.container(border=True, height="stretch"):
        st.markdown("#### :primary[:material/bubble_chart:] Cluster my own sentences")
        st.write("A plain text without headings will do: import it, then draw a map of it by a ready model.")
        st.page_link("pages/corpora.py", label="Import plain text", query_params={"view": "Import"})
        st.page_link("pages/map.py", label="Draw a map")


def totals(
    corpora: Sequence[CorpusRecord], models: Sequence[ModelRecord], benchmarks: Sequence[BenchmarkRecord]
) -> None:
    """What there is, in numbers."""
    with st.container(horizontal=True):
        st.metric("Corpora", len(corpora), border=True)
        st.metric("Articles", f"{sum(c.articles for c in corpora):,}", border=True)
        st.metric("Sentences", f"{sum(c.sentences for c in corpora):,}", border=True)
        st.metric("Models", len(models), border=True)
        st.metric("Benchmarks", len(benchmarks), border=True)


def results(benchmarks: Sequence[BenchmarkRecord]) -> None:
    """The best rows of the newest benchmark that has been run."""
    for benchmark in sorted(benchmarks, key=lambda b: b.created, reverse=True):
        found = [row for row in rows(benchmark) if "ami" in row.scores]
        if found:
            best = sorted(found, key=lambda row: row.scores["ami"].value, reverse=True)[:5]
            st.markdown(f"**Best on {plain(benchmark.name)}**")
            st.dataframe(
                pd.DataFrame(
                    {
                        "Model": [row.model for row in best],
                        "Clusterer": [row.clusterer for row in best],
                        "AMI": [with_interval(row.scores["ami"]) for row in best],
                    }
                ),
                hide_index=True,
            )
            st.page_link(
                "pages/compare.py",
                label="All methods",
                icon=":material/arrow_forward:",
                query_params={"benchmark": benchmark.name},
            )
            return
    st.markdown("**Results**")
    st.caption("No clustering yet. They appear here as soon as one has been scored.")


def models(found: Sequence[ModelRecord]) -> None:
    """The newest models."""
    st.markdown("**Models**")
    if not found:
        st.caption("No model yet. Train one on the page Train; mean vectors takes seconds.")
        return
    newest = sorted(found, key=lambda m: m.created, reverse=True)[:5]
    st.dataframe(
        pd.DataFrame(
            {
                "Model": [m.name for m in newest],
                "Method": [method_title(m.method) for m in newest],
                "Made": [ago(m.created) for m in newest],
            }
        ),
        hide_index=True,
    )
    st.page_link("pages/train.py", label="All models", icon=":material/arrow_forward:", query_params={"view": "Models"})


def running(active: Sequence[JobRecord]) -> None:
    """What is being computed, and what waits behind it."""
    for job in active[:4]:
        with st.container(horizontal=True, vertical_alignment="center"):
            badge(job.status)
            st.markdown(plain(job.title))
            st.caption(plain(job.message))
        if job.started is not None:
            st.progress(min(max(job.progress, 0.0), 1.0))
    if len(active) > 4:
        st.caption(f"and {len(active) - 4} more waiting")
