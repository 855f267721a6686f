"""Dialog that puts clusters under themes: chosen ones, or all of them in groups suggested by their similarity."""

from __future__ import annotations

import streamlit as st

from themescope.core.labelling import hierarchy
from themescope.core.labelling import operations as op
from themescope.core.labelling.hierarchy import Group
from themescope.core.labelling.operations import NAME_LIMIT
from themescope.webapp.features.relabel import cluster_queries
from themescope.webapp.features.relabel.cluster_actions import clusters_of_selection
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import GROUPING, GROUPS, NEEDS_MODEL, THEME
from themescope.webapp.shared.text import count, shorten

CHOSEN, SIMILAR = "Chosen clusters", "Suggested groups"
_NEW = 0
_MAX_NAME = 60
_IN_A_THEME, _FEWEST = 3, 3
"""Mean number of clusters of a theme at first, and number of clusters from which groups are suggested."""


def dialog(state: RelabelState) -> bool:
    """Draw the dialog; return whether it is done."""
    how = st.segmented_control("Group", [CHOSEN, SIMILAR], default=CHOSEN, key=GROUPING, required=True)
    return _suggested(state) if how == SIMILAR else _chosen(state)


def _chosen(state: RelabelState) -> bool:
    """Put chosen clusters under a theme that exists, or a new one."""
    p, totals = state.partition, hierarchy.total_sizes(state.partition)

    def label(number: int) -> str:
        return f"{p.clusters[number].name} ({totals[number]:,})"

    own = sorted(clusters_of_selection(state))
    ordered = [cluster.number for cluster in hierarchy.in_order(p)]
    chosen = st.multiselect("Clusters", ordered, default=own, format_func=label, key=f"{GROUPING}_clusters_{own}")
    themes = [number for number in ordered if p.clusters[number].parent is None and number not in chosen]
    theme = st.selectbox(
        "Theme", [_NEW, *themes], format_func=lambda n: "A new theme" if n == _NEW else label(n), key=THEME
    )
    name = ""
    if theme == _NEW:
        suggested = op.free_name(p, "Theme")
        name = st.text_input("Name of the theme", value=suggested, max_chars=NAME_LIMIT, key=f"{THEME}_name") or ""
    st.caption(
        "The clusters become sub-themes and keep their sentences. A theme among them takes its sub-themes along, "
        "because there are two levels."
    )
    if not st.button("Group clusters", type="primary", icon=":material/account_tree:", disabled=not chosen):
        return False
    if theme == _NEW:
        groups = [Group(name, tuple(chosen))]
        state.apply(lambda p: hierarchy.group(p, groups, state.session.next_number), keep_selection=True)
    else:
        state.apply(lambda p: hierarchy.put_under(p, chosen, theme), keep_selection=True)
    return True


def _suggested(state: RelabelState) -> bool:
    """Preview groups of similar clusters, let the user name them, and make each a theme."""
    found = cluster_queries.ungrouped(state)
    if found is None:
        st.info(NEEDS_MODEL, icon=":material/info:")
        return False
    k = len(found.numbers)
    if k < _FEWEST:
        st.caption(f"Groups are suggested where {_FEWEST} clusters or more are in no theme.")
        return False
    usual = max(round(k / _IN_A_THEME), 2)
    number = int(st.slider("Number of themes", 2, k - 1, usual, key=f"{GROUPS}_{k}")) if k > _FEWEST else 2
    groups = cluster_queries.suggested_groups(state, number)
    st.caption(
        "Ward’s criterion on the centres of the clusters that are in no theme. Single clusters stay as they are."
    )
    names = [_group(state, place, group, number) for place, group in enumerate(groups)]
    if not st.button(f"Create {count(len(groups), 'theme')}", type="primary", icon=":material/account_tree:"):
        return False
    named = [Group(name, group.numbers) for name, group in zip(names, groups, strict=True)]
    state.apply(lambda p: hierarchy.group(p, named, state.session.next_number), keep_selection=True)
    return True


def _group(state: RelabelState, place: int, group: Group, number: int) -> str:
    """Draw a group of clusters; return its name, which the user may edit."""
    sizes, known = state.partition.sizes(), state.partition.clusters
    with st.container(border=True):
        title = f"Theme {place + 1} · {count(len(group.numbers), 'cluster')}"
        key = f"{GROUPS}_{state.session.snapshot.step}_{number}_{place}"
        name = st.text_input(title, value=group.name, max_chars=NAME_LIMIT, key=key) or group.name
        with st.container(gap="xxsmall"):
            for n in group.numbers:
                st.text(f"· {shorten(known[n].name, _MAX_NAME)} ({count(sizes[n], 'sentence')})")
    return name
