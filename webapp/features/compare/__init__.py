"""URL keys of the Compare page, and a choice of several values of one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from themescope.webapp.shared.pages import PageKeys

CLUSTERING, TRIPLET_ACCURACY, PAIR = "Clustering", "Triplet accuracy", "Pair"
"""The tabs; the last one compares two methods, or two partitions of an article."""

KEYS = PageKeys("compare")
TAB = KEYS.url("tab")
RUN = KEYS.url("run", record="model")
"""Model that a link brings along to be run."""
BENCHMARK = KEYS.url("benchmark", record="benchmark")
MODELS = KEYS.url("models", kind=list)
CLUSTERERS = KEYS.url("clusterers", kind=list)
METRIC = KEYS.url("metric")
FIRST = KEYS.url("first")
SECOND = KEYS.url("second")
ARTICLE = KEYS.url("article")
LEFT = KEYS.url("left")
RIGHT = KEYS.url("right")
SENTENCES = KEYS.url("sentences")
TRIPLETS = KEYS.url("triplets", record="triplet set")
SPLIT = KEYS.url("split")


def several(label: str, options: Sequence[str], param: str) -> list[str]:
    """Return some of ``options`` in their order; an empty box means all of them."""
    if param in st.session_state:
        st.session_state[param] = [value for value in st.session_state[param] if value in options]
    chosen = st.multiselect(label, options, key=param, bind="query-params", placeholder="all")
    return [value for value in options if value in chosen] or list(options)
