"""Agreement page: coefficients of agreement, agreement of pairs of labellings, and the contingency table of a pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.labelling.agreement import Comparison, alpha, compare
from themescope.core.metrics.matching import match_clusters
from themescope.core.types import Estimate
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.agreement import posterior
from themescope.webapp.features.agreement.groups import ALL, BOTH, COUNTS, Group, Rater, Scope, counted, judged
from themescope.webapp.features.agreement.state import COUNTED, PAIRS
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import download
from themescope.webapp.shared.text import distinct, ends, interval, plain, score, shorten

_NAME = 40
_ONE_ARTICLE = "one article: no interval"


def show(scope: Scope, found: Group) -> None:
    """Draw all results for the labellings of a group."""
    which = _choose_counted()
    if len(found.people) < 2:
        nothing(
            "Agreement needs two labellings.",
            "Ask someone else to label the same text on the Relabel page, preferably blind.",
            "relabel",
            "Open Relabel",
        )
    else:
        _alpha(found, which)
    _pairs(found, which)
    if len(found.people) >= 2:
        posterior.show(scope, found, which)


def _choose_counted() -> str:
    """Choose which sentences count."""
    chosen = st.segmented_control(
        "Sentences that count", list(COUNTS), default=BOTH, required=True, key=COUNTED, bind="query-params",
        help="  \n".join(f"**{name}**: {about}." for name, about in COUNTS.items()),
    )  # fmt: skip
    return chosen or BOTH


def _alpha(found: Group, which: str) -> None:
    labels = judged(found.people, which)
    whole = alpha(labels, found.articles)
    several = int((np.sum([own >= 0 for own in labels], axis=0) >= 2).sum())
    with st.container(horizontal=True):
        value = "undefined" if whole.value is None else score(whole.value)
        help = "1 is perfect agreement, 0 is chance. .800 is usually required; .667 allows tentative conclusions."
        st.metric("Krippendorff's alpha", value, border=True, help=help)
        help = f"Sentences that count in at least two labellings: {COUNTS[which]}."
        st.metric("Sentences", f"{several:,}", border=True, help=help)
        st.metric("Sentence pairs", f"{whole.pairs:,}", border=True, help="Pairs that at least two labellings decide.")
    st.caption(
        f"Undefined because {whole.undefined}.{_more(which)}"
        if whole.undefined
        else f"Computed over pairs of sentences of the same article: are they in the same cluster or not? Counted are "
        f"{COUNTS[which]}."
    )


def _more(which: str) -> str:
    """Return what to do where too few sentences count."""
    return "" if which == ALL else f" Choose “{ALL}” above to count what nobody has changed, too."


def pair_row(
    first: Rater, second: Rater, articles: np.ndarray, which: str = ALL
) -> tuple[str, str, int, str, str, str]:
    """Return names, shared sentences, ARI, AMI, and a remark where a value or an interval is undefined."""
    result: Comparison = compare(*counted(first, second, which), articles)
    numbers = [_estimate(value) for value in (result.ari, result.ami)]
    remark = f"undefined because {result.undefined}" if result.undefined else ""
    if not remark and result.articles == 1:
        remark = _ONE_ARTICLE
    return first.name, second.name, result.shared, *numbers, remark  # type: ignore[return-value]


def _estimate(value: object) -> str:
    if not isinstance(value, Estimate):
        return "–"
    return interval(value.value, *ends(value))


_HEADER = ("First", "Second", "Sentences", "ARI", "AMI", "Remark")
_WIDTHS = dict(zip(_HEADER, (190, 290, 105, 130, 130, 165), strict=True))
_WIDTHS_WITHOUT_INTERVALS = {"Second": 390, "ARI": 80, "AMI": 80}


def _pairs(found: Group, which: str) -> None:
    """Draw the agreement of every two people, and of each person with sections and clusterings."""
    pairs = [*combinations(found.people, 2), *((p, other) for p in found.people for other in found.others)]
    if not pairs:
        return
    st.subheader("Pairwise agreement", anchor=False)
    rows = [pair_row(first, second, found.articles, which) for first, second in pairs]
    remarks = {row[-1] for row in rows}
    shown = _HEADER if len(remarks) > 1 else _HEADER[:-1]  # a remark on all rows is drawn once, below
    widths = _WIDTHS | (_WIDTHS_WITHOUT_INTERVALS if remarks == {_ONE_ARTICLE} else {})
    key = f"{PAIRS}_{len(rows)}"
    event = st.dataframe(
        pd.DataFrame(rows, columns=list(_HEADER))[list(shown)],
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key=key,
        column_config={name: st.column_config.Column(width=widths[name]) for name in shown},
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Counted are {COUNTS[which]}. {_measured(remarks)} Click a row to compare its clusters.")
        st.space("stretch")
        download("CSV", lambda: csv_text(_HEADER, rows), "agreement.csv")
    chosen = event["selection"]["rows"]
    _contingency(*pairs[chosen[0] if chosen and chosen[0] < len(pairs) else 0], which)


def _measured(remarks: set[str]) -> str:
    """Return what the values of all pairs are based on."""
    if remarks == {_ONE_ARTICLE}:
        return "One article, so no intervals."
    same = next(iter(remarks)) if len(remarks) == 1 else ""
    return f"Means over articles with 95 % intervals{f'; {same}' if same else ''}."


def contingency(first: Rater, second: Rater, which: str = ALL) -> pd.DataFrame:
    """Return the contingency table of two labellings, with matched clusters on the diagonal."""
    own, other = counted(first, second, which)
    both = (own >= 0) & (other >= 0)
    a, b = own[both], other[both]
    matching = match_clusters(a, b)
    rows = [*(pair.first for pair in matching.pairs), *matching.only_first]
    columns = [*(pair.second for pair in matching.pairs), *matching.only_second]
    table = [[int(((a == row) & (b == column)).sum()) for column in columns] for row in rows]
    return pd.DataFrame(
        table,
        index=distinct([shorten(first.called(row), _NAME) for row in rows]),
        columns=distinct([shorten(second.called(column), _NAME) for column in columns]),
    )


def _contingency(first: Rater, second: Rater, which: str) -> None:
    table = contingency(first, second, which)
    st.markdown(f"**{plain(first.name)}** (rows) and **{plain(second.name)}** (columns)")
    if table.empty:
        st.caption(f"No sentence counts in both.{_more(which)}")
        return
    same = int(np.trace(table.to_numpy()))
    total = int(table.to_numpy().sum())
    st.dataframe(
        table.astype("Int64").mask(table == 0),  # empty cells instead of zeros
        height="content" if len(table) < 12 else 420,
        column_config={"_index": st.column_config.Column(width=190)},
        placeholder="",
    )
    st.caption(
        f"Clusters are matched one-to-one (Hungarian method): {same:,} of {total:,} sentences ({same / total:.0%}) are "
        "on the diagonal."
    )
