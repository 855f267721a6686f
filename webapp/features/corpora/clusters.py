"""Clustering of the article that is read: one button, the progress of its job, and links to the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from themescope.core.records.stored import ArticleRecord, CorpusRecord, JobRecord, MapRecord
from themescope.core.tasks.themes import FEWEST
from themescope.core.types import Sentence
from themescope.db.access import Right
from themescope.jobs.services import pipeline
from themescope.webapp.features.corpora import state
from themescope.webapp.shared import queries
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.job_status import progress, queue_job, submit
from themescope.webapp.shared.labelling.task_queries import correct_button
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import may
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.results.partition_queries import Analysis
from themescope.webapp.shared.text import count, plain

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
        if not running and len(sentences) >= FEWEST and may(Right.MANAGE):
            _button(corpus, article)
        return NO_CLUSTERS
    return _result(corpus, article, found[0], bool(running))


def _button(corpus: CorpusRecord, article: ArticleRecord) -> None:
    clicked = st.button(
        "Cluster this article", icon=":material/bubble_chart:", type="primary", key=f"{state.CLUSTER}_{article.id}"
    )
    if clicked and queue_job(lambda: pipeline.cluster_article(queries.store(), corpus, article)):
        st.rerun()


def _running(article: ArticleRecord) -> list[JobRecord]:
    """Return the queued and running jobs about this article."""

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
        shown = st.toggle(label, value=True, key=f"{state.SHOW_CLUSTERS}_{analysis.run.id}")
        st.caption(f"by {plain(analysis.model.name)}", width="content")
        st.space("stretch")
        correct_button("Open in Relabel", analysis, article.id)
        _map_link(corpus, article, analysis, running)
    return _clusters(analysis) if shown else NO_CLUSTERS


def _clusters(analysis: Analysis) -> Clusters:
    listed = partition_queries.theme_listing(analysis.run.id, analysis.run.created)
    shades = tones(st.context.theme.type)
    legend = [
        {"name": str(theme["name"]), "size": int(theme["size"]), "colour": shades.colour(number)}
        for number, theme in enumerate(analysis.themes)
    ]
    return Clusters(dict(zip(listed.ids.tolist(), listed.labels.tolist(), strict=True)), legend)


def _map_link(corpus: CorpusRecord, article: ArticleRecord, analysis: Analysis, running: bool) -> None:
    """Draw the link to a map with the sentences of the article, or the button that makes one."""
    record = _map_with(corpus, article, analysis.model.id)
    if record is not None:
        view = {
            "corpus": corpus.name,
            "map": record.name,
            "articles": article.title,
            "colour": analysis.colour_name,
        }
        page_link("map", "Show on the map", view=view)
    elif not running and may(Right.MANAGE) and st.button("Draw a map", icon=":material/scatter_plot:", type="tertiary"):
        args = {"corpus": corpus.name, "model": analysis.model.name, "articles": [article.id]}
        if submit("project", args, f"Map of {article.title}"):
            st.rerun()


def _map_with(corpus: CorpusRecord, article: ArticleRecord, model_id: int) -> MapRecord | None:
    """Return a map with all sentences of the article; one by the same model, if there is any."""
    found = [
        record
        for record in queries.maps(corpus.id)
        if article.id in record.config.get("articles", ())
        or (not record.config.get("articles") and int(record.config.get("limit", 0)) >= corpus.sentences)
    ]
    return min(found, key=lambda record: record.model_id != model_id, default=None)
