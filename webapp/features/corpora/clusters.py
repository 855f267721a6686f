"""Clustering of the article that is read with the links to the result, and the columns of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.columns import ColumnLevel, ColumnType, as_text
from themescope.core.records.stored import ArticleRecord, ColumnRecord, CorpusRecord, JobRecord
from themescope.core.tasks.themes import FEWEST
from themescope.core.types import Sentence, Value
from themescope.db.access import Right
from themescope.jobs.common.importing.waves import is_table
from themescope.jobs.services import pipeline
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.job_status import progress, queue_job, submit
from themescope.webapp.shared.labelling.task_queries import correct_button
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import may
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.results.partition_queries import Analysis
from themescope.webapp.shared.text import count, plain, shorten

_POLL_S = 1.0
_KINDS = ("find-themes", "project")


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters as the reader shows them."""

    of: dict[int, int]
    """Sentence id → number of its cluster, from 0."""
    legend: list[dict[str, Any]]
    """Name, colour and number of sentences of each cluster."""


NO_CLUSTERS = Clusters({}, [])


def actions(corpus: CorpusRecord, article: ArticleRecord, sentences: Sequence[Sentence]) -> Clusters:
    """Draw the button, its job, and what can be done with the clusters; return the clusters to show."""
    running = _running(article)  # before the clusters: what has ended meanwhile is stored
    found = partition_queries.article_clusters(article.id)
    if running:
        st.fragment(_live, run_every=_POLL_S)(article, tuple(job.id for job in running))
    if not found:
        # A table has its themes on the page Themes.
        if not running and len(sentences) >= FEWEST and may(Right.MANAGE) and not is_table(corpus):
            with st.container(horizontal=True, vertical_alignment="center"):
                clicked = st.button(
                    "Cluster this article",
                    icon=":material/bubble_chart:",
                    type="primary",
                    key=f"corpora_cluster_{article.id}",
                )
                ordered = st.toggle(
                    "Use the order of the sentences", value=True, key=f"corpora_cluster_ordered_{article.id}",
                    help="In a running text, neighbouring sentences often share a theme. Rows of a list have no order.",
                )  # fmt: skip
            if clicked and queue_job(lambda: pipeline.cluster_article(queries.store(), corpus, article, ordered)):
                st.rerun()
        return NO_CLUSTERS
    return _result(corpus, article, found[0], bool(running))


def _running(article: ArticleRecord) -> list[JobRecord]:
    def about(job: JobRecord) -> bool:
        return article.id in (job.args.get("article"), *job.args.get("articles", ()))

    return [job for job in queries.active_jobs(_KINDS) if about(job)]


def _live(article: ArticleRecord, known: tuple[int, ...]) -> None:
    running = _running(article)
    if tuple(job.id for job in running) != known:
        st.rerun()
    for job in running:
        progress(job)


def _result(corpus: CorpusRecord, article: ArticleRecord, analysis: Analysis, running: bool) -> Clusters:
    with st.container(horizontal=True, vertical_alignment="center"):
        label = f"Show {count(len(analysis.themes), 'cluster')}"
        shown = st.toggle(label, value=True, key=f"corpora_show_clusters_{analysis.run.id}")
        order = " · uses the order of the sentences" if analysis.run.config["settings"].get("order") else ""
        st.caption(f"by {plain(analysis.model.name)}{order}", width="content")
        st.space("stretch")
        correct_button("Open in Relabel", analysis, article.id)
        found = [
            record
            for record in queries.maps(corpus.id)
            if article.id in record.config.get("articles", ())
            or (not record.config.get("articles") and int(record.config.get("limit", 0)) >= corpus.sentences)
        ]
        record = min(found, key=lambda record: record.model_id != analysis.model.id, default=None)
        if record is not None:
            view = {
                "corpus": corpus.name,
                "map": record.name,
                "articles": article.title,
                "colour": analysis.colour_name,
            }
            page_link("map", "Show on the map", view=view)
        elif (
            not running
            and may(Right.MANAGE)
            and st.button("Draw a map", icon=":material/scatter_plot:", type="tertiary")
        ):
            args = {"corpus": corpus.name, "model": analysis.model.name, "articles": [article.id]}
            if submit("project", args, f"Draw the map of “{article.title}”"):
                st.rerun()
    return _clusters(analysis) if shown else NO_CLUSTERS


def _clusters(analysis: Analysis) -> Clusters:
    listed = partition_queries.theme_listing(analysis.run.id, analysis.run.created)
    shades = tones(st.context.theme.type)
    legend = [
        {"name": str(theme["name"]), "size": int(theme["size"]), "colour": shades.colour(number)}
        for number, theme in enumerate(analysis.themes)
    ]
    return Clusters(dict(zip(listed.ids.tolist(), listed.labels.tolist(), strict=True)), legend)


# --- columns ----------------------------------------------------------------------------------------------------------


_SENTENCES, _CHARS, _VALUES = 500, 120, 3


def overview(corpus: CorpusRecord) -> None:
    """Draw the columns of a corpus with their types, missing values and ranges; nothing if it has none."""
    found = queries.columns(corpus)
    if not found:
        return
    st.markdown("**Columns**")
    draw_table(
        {
            "Column": [column.name for column in found],
            "Of": [str(column.level) for column in found],
            "Type": [column.type for column in found],
            "Missing": [int(column.about.get("missing", 0)) for column in found],
            "Values": [_range(column) for column in found],
        },
        column_config={"Values": st.column_config.TextColumn(width="large")},
    )


def _range(column: ColumnRecord) -> str:
    about = column.about
    if column.type == ColumnType.CATEGORY:
        named = zip(column.categories[:_VALUES], about["counts"], strict=False)
        more = len(column.categories) - _VALUES
        listed = [f"{shorten(name, 40)} ({number:,})" for name, number in named]
        return ", ".join([*listed, f"{more:,} more"] if more > 0 else listed)
    if "low" not in about:
        return ""
    if column.type == ColumnType.NUMBER:
        return f"{about['low']:,.6g} … {about['high']:,.6g}"
    return f"{about['low'][:10]} … {about['high'][:10]}"


def of_article(corpus: CorpusRecord, article: ArticleRecord, sentences: Sequence[Sentence]) -> None:
    """Draw the values of an article, and in an expander those of its sentences."""
    values = queries.article_values(corpus, article.id)
    if values:
        shown = [f"{plain(name)}: **{plain(shorten(shown_value(value), _CHARS))}**" for name, value in values.items()]
        st.markdown(" · ".join(shown))
    columns = [c for c in queries.columns(corpus) if c.level is ColumnLevel.SENTENCE]
    if not columns:
        return
    with st.expander("Columns of the sentences", icon=":material/view_column:"):
        listed = sentences[:_SENTENCES]
        ids = np.array([sentence.id for sentence in listed], dtype=np.int64)
        cells = {c.name: [shown_value(value) for value in queries.plain_column(c, ids, ids)] for c in columns}
        draw_table({"Sentence": [s.text for s in listed]} | cells, height=280)
        if len(sentences) > len(listed):
            st.caption(f"The first {len(listed):,} of {len(sentences):,} sentences.")


def shown_value(value: Value) -> str:
    """Return a value as text; a time at the beginning of a day as its date."""
    text = as_text(value)
    return text.removesuffix("T00:00:00+00:00") if isinstance(value, datetime) else text
