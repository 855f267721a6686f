"""The Triplets page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from themescope.core.metrics.triplets import CorrectnessFilter
from themescope.db.records import Verdict
from themescope.webapp.shared import navigation
from themescope.webapp.shared.pages import PageKeys

# URL keys of the Triplets page, and links to the triplets that a filter selects

BROWSE, ACCURACY, REVIEWS, SETS, NEW = "Browse", "Accuracy", "Reviews", "Sets", "New set"
"""The tabs."""
ANYONE = "anyone"
JUDGED, UNJUDGED = "reviewed", "unreviewed"
NO_MODEL = "none"
UNTITLED = "(no heading)"
"""Title of a section without a heading, such as the lead of an article."""

KEYS = PageKeys("triplets")
VIEW = KEYS.url("view")
SET = KEYS.url("set", record="triplet set")
SET_DETAILS = KEYS.url("set_details", record="triplet set")
TRIPLET = KEYS.url("triplet")
PAIR = KEYS.url("pair", kind=list)

SPLIT = KEYS.url("split")
WORDS = KEYS.url("words")
ARTICLE = KEYS.url("article")
SECTION = KEYS.url("section")
OTHER_SECTION = KEYS.url("other_section")
CORRECT = KEYS.url("correct")
CORRECT_MODEL = KEYS.url("correct_model")
WRONG_MODEL = KEYS.url("wrong_model")
MARGIN_MODEL = KEYS.url("margin_model")
MARGIN_MIN = KEYS.url("margin_min", kind=float)
MARGIN_MAX = KEYS.url("margin_max", kind=float)
ORDER = KEYS.url("order")
REVIEWED = KEYS.url("reviewed")
REVIEWER = KEYS.url("reviewer")

REVIEW_KEYS = "triplets_review_keys"
MODEL = KEYS.url("model")
SECOND_MODEL = KEYS.url("second_model")
BY = KEYS.url("by")
PART = KEYS.url("part", kind=list)
"""What the table of accuracies is by, and the names of the row that was clicked last."""
MIN_TRIPLETS = KEYS.url("min_triplets", kind=int)
MIN_ARTICLES = KEYS.url("min_articles", kind=int)
PAIR_ORDER = KEYS.url("pair_order")
ATTENTION = KEYS.url("attention", kind=bool)
ATTENTION_MODEL = KEYS.url("attention_model")

TABLE = "triplets_table"
READ = "triplets_read"

_DEFAULTS: dict[str, Any] = {
    SPLIT: "all", WORDS: "", ARTICLE: "", SECTION: "", OTHER_SECTION: "", CORRECT: "", CORRECT_MODEL: None,
    WRONG_MODEL: None, MARGIN_MODEL: None, MARGIN_MIN: None, MARGIN_MAX: None, ORDER: "", REVIEWED: "",
    REVIEWER: ANYONE,
}  # fmt: skip
"""Every filter setting and its value where it selects all triplets."""
TITLES: Mapping[str, Mapping[str, str]] = {
    CORRECT: {
        "": "any",
        CorrectnessFilter.ANY.value: "at least one",
        CorrectnessFilter.ALL.value: "all",
        CorrectnessFilter.NONE.value: "none",
        CorrectnessFilter.DIFFER.value: "some, not all",
        CorrectnessFilter.AGAINST.value: "one, not another",
    },
    ORDER: {
        "": "as sampled",
        "wrong": "lowest margin first",
        "right": "highest margin first",
        "close": "margin closest to 0 first",
    },
    REVIEWED: {
        "": "any",
        UNJUDGED: "not reviewed",
        JUDGED: "reviewed",
        Verdict.GOOD.value: "good",
        Verdict.BAD.value: "bad",
        Verdict.AMBIGUOUS.value: "ambiguous",
    },
}
"""Filter settings whose values are shown, also in the address, by titles."""


def heading(title: str) -> str:
    """Return a section title as it is shown."""
    return title or UNTITLED


def open_triplets(settings: Mapping[str, Any], pair: tuple[str, str] | None = None) -> None:
    """Browse the triplets that these filter settings select; for callbacks."""
    reset_filter()
    st.session_state.update(settings)
    for name, value in settings.items():
        # Streamlit leaves out of the address what a widget has in the session before it is drawn for the first time.
        navigation.write_parameter(
            name, [f"{value:g}" if isinstance(value, float) else TITLES.get(name, {}).get(value, str(value))]
        )
    if pair is not None:
        st.query_params[PAIR] = list(pair)
    st.session_state[VIEW] = BROWSE


def reset_filter() -> None:
    """Select all triplets again; for callbacks."""
    st.session_state.update(_DEFAULTS)
    for name in (PAIR, TRIPLET):
        if name in st.query_params:
            del st.query_params[name]


def triplets_button(
    label: str,
    count: int,
    settings: Mapping[str, Any],
    *,
    name: str,
    pair: tuple[str, str] | None = None,
    primary: bool = False,
) -> None:
    """Draw a button that opens the ``count`` triplets that the settings select; ``name`` is its key."""
    st.button(
        label,
        key=f"{READ}_{name}",
        on_click=open_triplets,
        args=(settings, pair),
        disabled=not count,
        icon=":material/chrome_reader_mode:",
        type="primary" if primary else "secondary",
    )
