"""The parts of the home page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd
import streamlit as st

from core.records import BenchmarkRecord, CorpusRecord, JobRecord, ModelRecord
from webapp import queries
from webapp.components.comparing import HEADLINE, rows, with_interval
from webapp.components.jobs import badge
from webapp.components.text import ago, plain
from webapp.components.training import method_title


def doors(corpora: Sequence[CorpusRecord]) -> None:
    """The three ways in."""
    demo = corpora[0].name if corpora else ""
    where = {"corpus": demo} if demo else None
    with_map = bool(corpora and queries.maps(corpora[0].id))
    for column, door in zip(st.columns(3), _doors(bool(corpora), with_map), strict=True):
        with column, st.container(border=True, height="stretch"):
            st.subheader(f":primary[{door.icon}] {door.title}", anchor=False)
            st.markdown(door.about)
            with st.container(vertical_alignment="bottom", height="stretch", gap="xxsmall"):
                if st.button(door.label, type="primary" if door.first else "secondary", width="stretch"):
                    st.switch_page(f"views/{door.page}.py", query_params={**door.query, **(where or {})})
                st.page_link(f"views/{door.other}.py", label=door.other_label)


@dataclass(frozen=True, slots=True)
class _Door:
    title: str
    icon: str
    about: str
    label: str
    page: str
    other_label: str
    other: str
    first: bool = False
    query: dict[str, str] = field(default_factory=dict)


def _doors(ready: bool, with_map: bool) -> tuple[_Door, ...]:
    start = ("Open the map", "map") if with_map else ("Read the articles", "corpora")
    return (
        _Door(
            "Explore the demo" if ready else "The demo is being built",
            ":material/explore:",
            "A piece of Wikipedia, read, clustered and drawn by the same jobs as your own text. "
            "Lasso a group of sentences and read it.",
            *start,
            "See which method clusters best",
            "compare",
            first=True,
        ),
        _Door(
            "Import a corpus with sections",
            ":material/library_add:",
            "Wikipedia dumps, Markdown, HTML, JSON lines. Headings become the training signal and the truth.",
            "Import files",
            "corpora",
            "What is a triplet?",
            "triplets",
            query={"view": "Import"},
        ),
        _Door(
            "Cluster my own sentences",
            ":material/bubble_chart:",
            "A plain text without headings will do: import it, then draw a map of it by a ready model.",
            "Import plain text",
            "corpora",
            "Draw a map",
            "map",
            query={"view": "Import"},
        ),
    )


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
        found = [row for row in rows(benchmark) if HEADLINE in row.scores]
        if found:
            best = sorted(found, key=lambda row: row.scores[HEADLINE].value, reverse=True)[:5]
            st.markdown(f"**Best on {plain(benchmark.name)}**")
            st.dataframe(
                pd.DataFrame(
                    {
                        "Model": [row.model for row in best],
                        "Clusterer": [row.clusterer for row in best],
                        "AMI": [with_interval(row.scores[HEADLINE]) for row in best],
                    }
                ),
                hide_index=True,
            )
            st.page_link(
                "views/compare.py",
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
    st.page_link("views/train.py", label="All models", icon=":material/arrow_forward:", query_params={"view": "Models"})


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
