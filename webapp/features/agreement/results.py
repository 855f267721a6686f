"""Results of the Agreement page: coefficients, contingency table, disputed sentences, adjudication."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import ThemescopeError
from core.labelling.agreement import Comparison, adjudicate, alpha, compare
from core.metrics.matching import match_clusters
from core.types import Estimate
from db.label_records import NewLabelling, Sharing
from jobs.services.labelling import starts
from jobs.services.table_files import csv_text
from webapp.features.agreement.queries import Group, Rater, Scope
from webapp.features.agreement.state import PAIRS
from webapp.shared import label_queries, queries
from webapp.shared.choose import nothing
from webapp.shared.navigation import page_link, switch_page
from webapp.shared.people import current_person
from webapp.shared.text import count, interval, plain, score, shorten

_DISPUTED = 500
_NAME = 40
_ONE_ARTICLE = "one article: no interval"


def show(scope: Scope, found: Group) -> None:
    """Draw all results for the labellings of a group."""
    if len(found.people) < 2:
        nothing(
            "Agreement needs two labellings.",
            "Ask someone else to label the same text on the Relabel page, preferably blind.",
            "relabel",
            "Open Relabel",
        )
    else:
        _alpha(found)
    _pairs(found)
    if len(found.people) >= 2:
        _disputed(found)
        _adjudicate(scope, found)


def _alpha(found: Group) -> None:
    whole = alpha([rater.labels for rater in found.people], found.articles)
    with st.container(horizontal=True):
        value = "undefined" if whole.value is None else score(whole.value)
        help = "1 is perfect agreement, 0 is chance. .800 is usually required; .667 allows tentative conclusions."
        st.metric("Krippendorff's alpha", value, border=True, help=help)
        st.metric("Sentence pairs", f"{whole.pairs:,}", border=True, help="Pairs that at least two labellings decide.")
    st.caption(
        f"Undefined because {whole.undefined}."
        if whole.undefined
        else "Computed over pairs of sentences of the same article: are they in the same cluster or not?"
    )


def pair_row(first: Rater, second: Rater, articles: np.ndarray) -> tuple[str, str, int, str, str, str]:
    """Return names, shared sentences, ARI, AMI, and a remark where a value or an interval is undefined."""
    result: Comparison = compare(first.labels, second.labels, articles)
    numbers = [_estimate(value) for value in (result.ari, result.ami)]
    remark = f"undefined because {result.undefined}" if result.undefined else ""
    if not remark and result.articles == 1:
        remark = _ONE_ARTICLE
    return first.name, second.name, result.shared, *numbers, remark  # type: ignore[return-value]


def _estimate(value: object) -> str:
    if not isinstance(value, Estimate):
        return "–"
    return score(value.value) if value.n < 2 else interval(value.value, value.low, value.high)


_HEADER = ("First", "Second", "Assigned in both", "ARI", "AMI", "Remark")
_WIDTHS = dict(zip(_HEADER, (190, 290, 105, 130, 130, 165), strict=True))
_WIDTHS_WITHOUT_INTERVALS = {"Second": 390, "ARI": 80, "AMI": 80}


def _pairs(found: Group) -> None:
    """Draw the agreement of every two people, and of each person with sections and clusterings."""
    pairs = [*combinations(found.people, 2), *((p, other) for p in found.people for other in found.others)]
    if not pairs:
        return
    st.subheader("Pairwise agreement", anchor=False)
    rows = [pair_row(first, second, found.articles) for first, second in pairs]
    remarks = {row[-1] for row in rows}
    shown = _HEADER if len(remarks) > 1 else _HEADER[:-1]  # a remark that holds for all stands below once
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
        st.caption(f"{_measured(remarks)} Click a row to compare its clusters.")
        st.space("stretch")
        st.download_button(
            "CSV",
            data=lambda: csv_text(_HEADER, rows),
            file_name="agreement.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
    chosen = event["selection"]["rows"]
    _contingency(*pairs[chosen[0] if chosen and chosen[0] < len(pairs) else 0])


def _measured(remarks: set[str]) -> str:
    """Return what the values of all pairs are based on."""
    if remarks == {_ONE_ARTICLE}:
        return "One article, so no intervals."
    same = next(iter(remarks)) if len(remarks) == 1 else ""
    return f"Means over articles with 95 % intervals{f'; {same}' if same else ''}."


def contingency(first: Rater, second: Rater) -> pd.DataFrame:
    """Return the contingency table of two labellings, with matched clusters on the diagonal."""
    both = (first.labels >= 0) & (second.labels >= 0)
    a, b = first.labels[both], second.labels[both]
    matching = match_clusters(a, b)
    rows = [*(pair.first for pair in matching.pairs), *matching.only_first]
    columns = [*(pair.second for pair in matching.pairs), *matching.only_second]
    table = [[int(((a == row) & (b == column)).sum()) for column in columns] for row in rows]
    return pd.DataFrame(
        table,
        index=_distinct([shorten(first.called(row), _NAME) for row in rows]),
        columns=_distinct([shorten(second.called(column), _NAME) for column in columns]),
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """Number repeated names, because a table cannot have two columns of the same name."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _contingency(first: Rater, second: Rater) -> None:
    table = contingency(first, second)
    st.markdown(f"**{plain(first.name)}** (rows) and **{plain(second.name)}** (columns)")
    if table.empty:
        st.caption("No sentence is assigned in both.")
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


def _disputed(found: Group) -> None:
    st.subheader("Disagreements", anchor=False)
    verdict = adjudicate([rater.labels for rater in found.people])
    order = np.argsort(-verdict.dispute, kind="stable")
    order = order[verdict.dispute[order] > 0]
    if not len(order):
        st.caption("None: every sentence that several people assigned is in the same cluster.")
        return
    listed = order[:_DISPUTED]
    columns = {"Sentence": [found.sentences[i].text for i in listed]}
    for name, rater in zip(_distinct([shorten(r.name, _NAME) for r in found.people]), found.people, strict=True):
        columns[name] = [rater.called(int(rater.labels[i])) for i in listed]
    widths = {"Sentence": st.column_config.TextColumn(width=430)}
    st.dataframe(pd.DataFrame(columns), hide_index=True, height=360, column_config=widths)
    st.caption(f"{count(len(order), 'sentence')}, most disputed first, after clusters were matched.")
    own = next((rater for rater in found.people if rater.labelling and rater.labelling.owner == current_person()), None)
    page_link(
        "relabel",
        "Review disagreements in Relabel",
        icon=":material/edit_note:",
        view=label_queries.disagreement_view((own or found.people[0]).name),
    )


def _adjudicate(scope: Scope, found: Group) -> None:
    """Draw the form that creates a gold labelling from the majority."""
    st.subheader("Create gold labelling", anchor=False)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    name = left.text_input("Name", value=f"{scope.name} gold"[:180])
    if right.button(
        "Create gold labelling", type="primary", icon=":material/gavel:", disabled=not (name or "").strip()
    ):
        records = [rater.labelling for rater in found.people if rater.labelling is not None]
        new = NewLabelling(scope.corpus_id, name or "", current_person(), Sharing.GOLD, False, scope.article_id)
        try:
            made = starts.begin(queries.store(), new, starts.from_adjudication([record.id for record in records]))
        except ThemescopeError as error:
            st.error(plain(error), icon=":material/error:")
            return
        switch_page("relabel", label_queries.edit_view(made.name))
    st.caption(
        "Starts from the majority; ties are unassigned and marked as uncertain. Everyone can resolve them on the "
        "Relabel page. The labellings above do not change."
    )
