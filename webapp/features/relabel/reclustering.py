"""Dialog that re-clusters one cluster, the selection or the unassigned sentences, or around sentences that were placed.

Everything else stays as it is. The preview shows what would be done, in one step that can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.labelling import operations as op
from themescope.core.labelling.operations import NAME_LIMIT
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.types import Ids
from themescope.jobs.services.labelling import assistance, session
from themescope.jobs.services.search import MOST_WITH_VECTORS
from themescope.webapp.features.relabel import queries as cluster_queries
from themescope.webapp.features.relabel.actions import clusters_of_selection
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import CLUSTERER, DIALOG_CLUSTER, NUMBER, PART_NAME, PARTS, SCOPE
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.text import count, plain, shorten

if TYPE_CHECKING:
    from themescope.core.labelling.suggestions import ClusterPart

ONE_CLUSTER, SELECTION, UNASSIGNED_SENTENCES, AROUND = "One cluster", "Selection", "Unassigned", "All others"
AUTOMATIC, GIVEN = "Suggested", "Given"
_EXAMPLES, _MAX_TEXT, _MOST_PARTS = 4, 160, 60


def choose_cluster(state: RelabelState, dialog: str) -> int:
    """Draw the choice of one cluster, by default that of the selection; return its number."""
    numbers, known, sizes = sorted(state.partition.clusters), state.partition.clusters, state.partition.sizes()
    own = clusters_of_selection(state)
    return st.selectbox(
        "Cluster",
        numbers,
        index=numbers.index(own[0]) if own else 0,
        format_func=lambda n: f"{known[n].name} ({count(sizes[n], 'sentence')})",
        key=f"{DIALOG_CLUSTER}_{dialog}",
    )


def dialog(state: RelabelState) -> bool:
    """Draw the dialog; return whether it is done."""
    if cluster_queries.model_of(state) is None:
        st.info(
            "The preview needs vectors. Choose a model under “Suggestions from”, or select sentences and create a new "
            "cluster from them (N).",
            icon=":material/info:",
        )
        return False
    default = ONE_CLUSTER if state.partition.clusters else UNASSIGNED_SENTENCES
    if len(state.selected) > 1:
        default = SELECTION
    options = [ONE_CLUSTER, SELECTION, UNASSIGNED_SENTENCES, AROUND]
    name = st.segmented_control("Re-cluster", options, default=default, key=SCOPE, required=True)
    if name == AROUND:
        return _around(state)
    if name == UNASSIGNED_SENTENCES:
        return _parts(state, state.partition.members(UNASSIGNED))
    if name == ONE_CLUSTER:
        if not state.partition.clusters:
            st.caption("There are no clusters yet. Re-cluster the unassigned sentences instead.")
            return False
        number = choose_cluster(state, "recluster")
        return _parts(state, state.partition.members(number), (number,))
    if not len(state.selected):
        st.caption("Select sentences first. Clusters keep their sentences that are not selected.")
        return False
    return _parts(state, state.selected)


def _parts(state: RelabelState, ids: Ids, whole: tuple[int, ...] = ()) -> bool:
    """Draw the parts of the sentences ``ids``, which are all of the clusters ``whole``."""
    if len(ids) < 2:
        st.caption(f"{count(len(ids), 'sentence')} cannot be divided. Choose others.")
        return False
    k, clusterer = _settings(len(ids))
    found = attempt(lambda: cluster_queries.reclustered(state, ids, k, clusterer))
    if found is None:
        return False
    if found.reason:
        st.caption(plain(found.reason))
    names = _names(state, whole, found.parts)
    number = len(found.parts)
    if not st.button(f"Divide into {count(number, 'cluster')}", type="primary", icon=":material/call_split:"):
        return False
    named = [(name, part.ids) for name, part in zip(names, found.parts, strict=True)]
    state.apply(lambda p: op.recluster(p, named, state.session.next_number, whole, clusterer))
    return True


def _settings(sentences: int) -> tuple[int | None, str]:
    left, middle, right = st.columns([3, 3, 4], vertical_alignment="bottom")
    how = left.segmented_control("Number of clusters", [GIVEN, AUTOMATIC], default=GIVEN, key=NUMBER, required=True)
    most = min(_MOST_PARTS, sentences)
    k = None
    if how != AUTOMATIC:
        k = int(middle.number_input("Clusters", 2, most, 2, key=PARTS))
    titles = session.clusterers()
    ids = list(titles)
    place = ids.index(CLUSTERERS.tagged("compared")[0].id)
    return k, right.selectbox("Clusterer", ids, index=place, format_func=titles.__getitem__, key=CLUSTERER)


def _names(state: RelabelState, whole: tuple[int, ...], parts: Sequence[ClusterPart]) -> list[str]:
    known, names = state.partition, list[str]()
    if whole:  # the largest part continues the cluster
        own = known.clusters[whole[0]]
    for place, part in enumerate(parts):
        with st.container(border=True):
            default = own.name if whole and place == 0 else op.free_name(known, part.name)
            key = f"{PART_NAME}_{state.session.snapshot.step}_{whole}_{len(parts)}_{place}_{part.ids[:3].tolist()}"
            title = f"Cluster {place + 1} · {count(len(part.ids), 'sentence')} · {part.name}"
            names.append(st.text_input(title, value=default, max_chars=NAME_LIMIT, key=key) or default)
            with st.container(gap="xxsmall"):
                for i in part.ids[:_EXAMPLES].tolist():
                    st.text(f"· {shorten(state.session.texts[i], _MAX_TEXT)}")
    return names


def _around(state: RelabelState) -> bool:
    x = state.vectors
    if x is None:
        st.info(f"This works with at most {MOST_WITH_VECTORS:,} sentences.", icon=":material/info:")
        return False
    with st.spinner("Re-clustering …"):
        model = cluster_queries.model_of(state)
        name = model.name if model is not None else ""
        preview = assistance.preview_reclustering(queries.store(), state.record, state.partition, x, name)
    if not preview.placed:
        st.info("Nobody has placed a sentence yet. Assign a few sentences first; the others are clustered around them.")
        return False
    moved = preview.operation.change_set.sentences()
    st.markdown(
        f"{count(preview.placed, 'sentence')} placed by people, and those marked as uncertain, stay where they are. "
        f"**{count(len(moved), 'other')}** would move."
    )
    names = {number: cluster.name for number, cluster in state.partition.clusters.items()} | {UNASSIGNED: "unassigned"}
    for i in moved[:_EXAMPLES].tolist():
        row = int(preview.after.rows([i])[0])
        old, new = names[int(state.partition.numbers[row])], names[int(preview.after.numbers[row])]
        st.text(f"{old} → {new}:  {shorten(state.session.texts[i], _MAX_TEXT)}")
    if not st.button("Move sentences", type="primary", icon=":material/auto_fix_high:", disabled=not len(moved)):
        return False
    state.apply(lambda p: preview.operation)
    return True
