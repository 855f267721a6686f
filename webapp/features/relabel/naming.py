"""Suggestions of names for clusters by a language model, by default for those whose names may be out of date."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from themescope.core.clustering.generated_names import NameState
from themescope.core.labelling import operations as op
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.access import Right
from themescope.jobs.common.naming.theme_naming import materials_of_partition
from themescope.webapp.features.relabel import cluster_queries
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import NAMING, SUGGESTED_NAMES, TO_NAME
from themescope.webapp.shared import queries
from themescope.webapp.shared.labelling import name_requests
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import plain

METHOD = "language model"
"""Selection method of the step that takes over suggested names."""


def show(state: RelabelState) -> None:
    """Draw suggestions that wait, and the form for new ones."""
    folded = st.expander(
        name_requests.TITLE, icon=":material/auto_awesome:", key=f"{NAMING}_{state.record.id}", on_change="rerun"
    )
    if not folded.open:
        return
    with folded:
        _suggestions(state)
        if not may(Right.MANAGE):
            st.caption("Sending texts to a language model requires the admin role.")
            return
        model = name_requests.endpoint()
        if model is None or not state.partition.clusters:
            return
        clusters = state.partition.clusters
        step = state.session.snapshot.step
        chosen = st.multiselect(
            "Clusters to name",
            sorted(clusters),
            default=list(cluster_queries.stale_names(state)),
            format_func=lambda number: clusters[number].name,
            placeholder="all clusters",
            key=f"{TO_NAME}_{state.record.id}_{step}",
            help="Suggested: the clusters of which more than a quarter of the sentences has changed since they were "
            "named.",
        )
        materials = materials_of_partition(state.partition, state.session.texts, chosen or sorted(clusters))
        target = {"labelling": state.record.name, "numbers": chosen}
        name_requests.consent(target, materials, model, f"{NAMING}_{state.record.id}")


def _suggestions(state: RelabelState) -> None:
    """Draw the suggestions of the last job, of which a person takes over those that fit, in one step of the history."""
    job = _last(state)
    if job is None:
        return
    rows = [row for row in job.result.get("names", ()) if row["number"] in state.partition.clusters]
    clusters = state.partition.clusters
    fresh = [row for row in rows if row["name"] and row["name"] != clusters[row["number"]].name]
    if not fresh:
        return
    frame = pd.DataFrame(
        {
            "Use": [row["state"] == NameState.NAMED for row in fresh],
            "Cluster": [clusters[row["number"]].name for row in fresh],
            "Suggestion": [row["name"] for row in fresh],
            "Remark": [row["reason"] or row["description"] for row in fresh],
        }
    )
    st.markdown(f"Suggestions by {plain(job.result['model'])}:")
    edited = st.data_editor(
        frame, hide_index=True, disabled=["Cluster", "Suggestion", "Remark"], key=f"{SUGGESTED_NAMES}_{job.id}"
    )
    used = {row["number"]: row["name"] for row, use in zip(fresh, edited["Use"], strict=True) if use}
    st.button("Use names", icon=":material/done_all:", disabled=not used, on_click=_use, args=(state, used))


def _use(state: RelabelState, names: dict[int, str]) -> None:
    state.apply(lambda partition: op.rename_all(partition, names), keep_selection=True, method=METHOD)


def _last(state: RelabelState) -> JobRecord | None:
    """Return the last finished job with names for this labelling."""
    done = (job for job in queries.jobs(limit=200) if job.kind == "name-themes" and job.status is JobStatus.DONE)
    return next((job for job in done if job.result.get("labelling_id") == state.record.id), None)
