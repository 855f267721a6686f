"""Themes with their sub-themes: choosing and moving them, names that may be out of date, and a summary of one."""

from __future__ import annotations

from typing import Any

import streamlit as st

from themescope.core.labelling import dismissals, hierarchy
from themescope.core.labelling.partition import Cluster
from themescope.core.types import Ids
from themescope.webapp.features.relabel import cluster_queries
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import TREE
from themescope.webapp.features.relabel.toolbar import ASSETS, SCRIPTS, appearance
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.text import count, plain, shorten

WORDS = {
    "tree": "Themes and sub-themes",
    "expand": "Expand all",
    "collapse": "Collapse all",
    "out": "Drag clusters onto a theme to make them its sub-themes, or here to move them out. Without dragging: click "
    "clusters, then Group (S) or Move out (P).",
}
_MAX_TEXT, _CENTRAL, _MAX_NAME, _NEAREST = 220, 5, 60, 3


def show(state: RelabelState, ids: Ids) -> None:
    """Draw the tree, the names to update and the cluster that was chosen last."""
    if not state.partition.clusters:
        nothing("No clusters yet.", "Select sentences and press N, or press Alt+G to cluster them.")
        return
    stale = cluster_queries.stale_names(state)
    draw_component(
        "tree", ASSETS, *SCRIPTS, data=tree_data(state, stale), key=f"{TREE}_{state.record.id}"
    )  # fmt: skip
    _names(state, stale)
    chosen = [number for number in state.clusters.numbers if number in state.partition.clusters]
    if chosen:
        _summary(state, state.partition.clusters[chosen[-1]])
    else:
        st.caption(
            "Click a cluster to read its most central sentences. The filter “Chosen clusters” shows all of them."
        )


def tree_data(state: RelabelState, stale: dict[int, float]) -> dict[str, Any]:
    """Return what the browser needs to draw the tree."""
    p, shades = state.partition, tones(st.context.theme.type)
    sizes, totals = p.sizes(), hierarchy.total_sizes(p)
    rows = []
    for cluster in hierarchy.in_order(p):
        parts = len(p.children(cluster.number))
        own, total = sizes[cluster.number], totals[cluster.number]
        words = f"{count(parts, 'sub-theme')} · {own:,} of {count(total, 'sentence')} directly" if parts else ""
        rows.append(
            {
                "number": cluster.number,
                "parent": cluster.parent,
                "name": cluster.name,
                "parts": parts,
                "count": words or count(total, "sentence"),
                "stale": "name may be out of date" if cluster.number in stale else "",
                **appearance(shades, cluster.colour),
            }
        )
    return {
        "rows": rows,
        "chosen": list(state.clusters.numbers),
        "session": state.browser_session,
        "acknowledged": state.acknowledged,
        "words": WORDS,
    }


def _names(state: RelabelState, stale: dict[int, float]) -> None:
    """Draw the names that may be out of date, with those that would replace them."""
    if not stale:
        return
    clusters = state.partition.clusters
    with st.container(border=True):
        st.markdown(f"**{count(len(stale), 'name')} may be out of date**")
        st.caption("More than a quarter of the sentences of these clusters has changed since the clusters were named.")
        names = cluster_queries.keyword_names(state, tuple(stale))
        with st.container(gap="xxsmall"):
            for number, name in names.items():
                old = clusters[number].name
                found = "the same name" if name == old else shorten(name, _MAX_NAME)
                st.text(f"{shorten(old, _MAX_NAME)} → {found}   ({stale[number]:.0%} changed)")
        with st.container(horizontal=True):
            st.button("Update names", icon=":material/label:", on_click=_update, args=(state, names), type="primary")
            st.button("Keep names", icon=":material/check:", on_click=_keep, args=(state, list(stale)))
        st.caption("A language model can suggest names for the same clusters, in the tab “Files and settings”.")


def _update(state: RelabelState, names: dict[int, str]) -> None:
    state.apply(lambda p: dismissals.update_names(p, names), keep_selection=True)


def _keep(state: RelabelState, numbers: list[int]) -> None:
    state.apply(lambda p: dismissals.keep_names(p, numbers), keep_selection=True)


def _summary(state: RelabelState, cluster: Cluster) -> None:
    """Draw the central sentences of a cluster, its least central one and the most similar clusters."""
    p = state.partition
    ids = cluster_queries.central(state, cluster.number)
    with st.container(border=True):
        st.markdown(f"**{plain(cluster.name)}** · {count(len(p.members(cluster.number)), 'sentence')}")
        children = p.children(cluster.number)
        if children:
            st.caption(f"Sub-themes: {plain(', '.join(shorten(c.name, _MAX_NAME) for c in children))}")
            _dissolve(state, cluster)
        with st.container(gap="xxsmall"):
            for i in ids[:_CENTRAL].tolist():
                st.text(f"· {shorten(state.session.texts[i], _MAX_TEXT)}")
        if len(ids) > _CENTRAL and cluster_queries.model_of(state) is not None:
            st.text(f"Least central: {shorten(state.session.texts[int(ids[-1])], _MAX_TEXT)}")
        near = cluster_queries.nearest(state, cluster.number)[:_NEAREST]
        if near:
            names = [f"{shorten(p.clusters[number].name, _MAX_NAME)} ({value:.2f})" for number, value in near]
            st.caption(f"Most similar clusters by mean cosine: {plain(' · '.join(names))}")


def _dissolve(state: RelabelState, cluster: Cluster) -> None:
    st.button(
        "Dissolve theme",
        icon=":material/unfold_more:",
        help="Its sub-themes become themes. The theme is deleted unless it has sentences of its own.",
        on_click=_apply_dissolve,
        args=(state, cluster.number),
    )


def _apply_dissolve(state: RelabelState, number: int) -> None:
    state.apply(lambda p: hierarchy.dissolve(p, number), keep_selection=True)
