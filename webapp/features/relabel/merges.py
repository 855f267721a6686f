"""Suggested merges: one pair of similar clusters at a time, with the reason and the sentences between them."""

from __future__ import annotations

import streamlit as st

from themescope.core.labelling.partition import Partition
from themescope.core.types import Ids
from themescope.webapp.features.relabel import cluster_queries
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import NEEDS_MODEL
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.text import count, plain, shorten

_MAX_TEXT, _EXAMPLES, _LISTED = 220, 3, 8


def current(state: RelabelState) -> tuple[int, int] | None:
    """Return the pair that is suggested first; None if there is none."""
    pairs = cluster_queries.suggested_pairs(state)
    return (pairs[0].first, pairs[0].second) if pairs else None


def show(state: RelabelState, ids: Ids) -> None:
    """Draw the suggestion, and the list of those after it."""
    if cluster_queries.model_of(state) is None:
        st.info(NEEDS_MODEL, icon=":material/info:")
        return
    pairs = cluster_queries.suggested_pairs(state)
    if not pairs:
        nothing("No merges to suggest.", "All pairs of clusters were dismissed, or there is only one cluster.")
        return
    pair, clusters, sizes = pairs[0], state.partition.clusters, state.partition.sizes()
    nearest, crossing = cluster_queries.between(state, pair)
    names = [plain(clusters[number].name) for number in (pair.first, pair.second)]
    both = sizes[pair.first] + sizes[pair.second]
    with st.container(border=True):
        st.markdown(f"**Merge “{names[0]}” and “{names[1]}”?**")
        st.markdown(
            f"The mean cosine between their sentences is {pair.similarity:.2f}, the highest of the pairs that are "
            f"left, and {pair.within:.2f} within the two. {count(crossing, 'sentence')} of {both:,} "
            f"{'is' if crossing == 1 else 'are'} nearer to the other cluster. "
            "Press `I` to merge, `H` to keep them apart."
        )
        for column, number in zip(st.columns(2), (pair.first, pair.second), strict=True):
            with column:
                st.markdown(f"**{plain(clusters[number].name)}** · {count(sizes[number], 'sentence')}")
                _texts(state, cluster_queries.central(state, number)[:_EXAMPLES], state.partition)
        st.markdown("**Between them**")
        _texts(state, nearest, state.partition, named=True)
    _others(state, pairs[1 : _LISTED + 1])
    st.caption(
        "A pair that you keep apart is suggested again when more than a quarter of the sentences of one of the two has "
        f"changed. {cluster_queries.sample_note(state)}"
    )


def _texts(state: RelabelState, ids: Ids, p: Partition, named: bool = False) -> None:
    with st.container(gap="xxsmall"):
        for i, row in zip(ids.tolist(), p.rows(ids).tolist(), strict=True):
            text = shorten(state.session.texts[i], _MAX_TEXT)
            st.text(f"· {text}" + (f"  ({shorten(p.clusters[int(p.numbers[row])].name, 40)})" if named else ""))


def _others(state: RelabelState, pairs: list[cluster_queries.Pair]) -> None:
    """Draw the next suggestions."""
    if not pairs:
        return
    clusters = state.partition.clusters
    st.markdown("**Next suggestions**")
    with st.container(gap="xxsmall"):
        for pair in pairs:
            names = " + ".join(shorten(clusters[number].name, 60) for number in (pair.first, pair.second))
            st.text(f"{names} · {pair.similarity:.2f} between, {pair.within:.2f} within")
