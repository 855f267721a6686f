"""How far people agree, on what they do not, and one labelling out of several."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import ThemescopeError
from core.labelling.agreement import Comparison, adjudicate, alpha, compare
from core.metrics.matching import match_clusters
from db.label_records import NewLabelling, Sharing
from jobs.services.labelling import starts
from jobs.services.table_files import csv_text
from webapp.features.agreement.queries import Group, Rater, Scope
from webapp.features.relabel.filters import OTHER_PEOPLE
from webapp.shared import queries
from webapp.shared.choose import nothing
from webapp.shared.navigation import page_link, switch_page
from webapp.shared.people import current_person
from webapp.shared.text import count, interval, plain, score, shorten

_DISPUTED = 500
_NAME = 40
_ALONE = "one article: no interval"


def show(scope: Scope, found: Group) -> None:
    """Alpha, pairs, one pair in full, disputed sentences, adjudication."""
    if len(found.people) < 2:
        nothing(
            "One labelling cannot agree or disagree.",
            "Ask somebody else to label the same sentences; best of all blind, on the page Relabel.",
            "relabel",
            "Relabel",
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
        help = "1 is perfect, 0 is what chance gives; .8 is commonly asked for, .667 the least for careful conclusions."
        st.metric("Krippendorff's alpha, all people", value, border=True, help=help)
        st.metric("Pairs of sentences judged", f"{whole.pairs:,}", border=True)
    st.caption(
        f"Undefined because {whole.undefined}."
        if whole.undefined
        else "Alpha over pairs of sentences of one article: does each person put them together or apart?"
    )


def pair_row(first: Rater, second: Rater, articles: np.ndarray) -> tuple[str, str, int, str, str, str]:
    """Names, shared sentences, ARI, AMI, and why there is no number."""
    result: Comparison = compare(first.labels, second.labels, articles)
    numbers = [_estimate(value) for value in (result.ari, result.ami)]
    why = f"undefined because {result.undefined}" if result.undefined else ""
    if not why and result.articles == 1:
        why = _ALONE
    return first.name, second.name, result.shared, *numbers, why  # type: ignore[return-value]


def _estimate(value: object) -> str:
    from core.types import Estimate

    if not isinstance(value, Estimate):
        return "–"
    return score(value.value) if value.n < 2 else interval(value.value, value.low, value.high)


_HEADER = ("First", "Second", "Both assigned", "ARI", "AMI", "Remark")
_WIDTHS = dict(zip(_HEADER, (190, 290, 105, 130, 130, 165), strict=True))
_BARE = {"Second": 390, "ARI": 80, "AMI": 80}
"""Widths where numbers have no intervals."""


def _pairs(found: Group) -> None:
    """Every two people, and each person against sections and models."""
    pairs = [*combinations(found.people, 2), *((p, other) for p in found.people for other in found.others)]
    if not pairs:
        return
    st.subheader("Pair by pair", anchor=False)
    rows = [pair_row(first, second, found.articles) for first, second in pairs]
    remarks = {row[-1] for row in rows}
    shown = _HEADER if len(remarks) > 1 else _HEADER[:-1]  # what is true of all is said once, below
    widths = _WIDTHS | (_BARE if remarks == {_ALONE} else {})
    key = f"pairs-{len(rows)}"
    event = st.dataframe(
        pd.DataFrame(rows, columns=list(_HEADER))[list(shown)],
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key=key,
        column_config={name: st.column_config.Column(width=widths[name]) for name in shown},
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{_measured(remarks)} Click a row to see which clusters meet.")
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
    _confusion(*pairs[chosen[0] if chosen and chosen[0] < len(pairs) else 0])


def _measured(remarks: set[str]) -> str:
    """What the numbers of all pairs are."""
    if remarks == {_ALONE}:
        return "Of one article, so without an interval."
    same = next(iter(remarks)) if len(remarks) == 1 else ""
    return f"Means over articles with 95 % intervals{f'; {same}' if same else ''}."


def confusion(first: Rater, second: Rater) -> pd.DataFrame:
    """How many sentences each two clusters share; matched clusters stand on the diagonal."""
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
    """The same names, numbered where one comes again: tables cannot show two columns of one name."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _confusion(first: Rater, second: Rater) -> None:
    table = confusion(first, second)
    st.markdown(f"**{plain(first.name)}** (rows) and **{plain(second.name)}** (columns)")
    if table.empty:
        st.caption("They have no assigned sentence in common.")
        return
    same = int(np.trace(table.to_numpy()))
    total = int(table.to_numpy().sum())
    st.dataframe(
        table.astype("Int64").mask(table == 0),  # what meets stands out where zeros are left empty
        height="content" if len(table) < 12 else 420,
        column_config={"_index": st.column_config.Column(width=190)},
        placeholder="",
    )
    st.caption(
        f"Clusters are matched one-to-one so that most sentences stay: {same:,} of {total:,} ({same / total:.0%}) "
        "stand on the diagonal."
    )


def _disputed(found: Group) -> None:
    st.subheader("What they do not agree on", anchor=False)
    verdict = adjudicate([rater.labels for rater in found.people])
    order = np.argsort(-verdict.dispute, kind="stable")
    order = order[verdict.dispute[order] > 0]
    if not len(order):
        st.caption("Nothing: where several have assigned a sentence, they put it into the same cluster.")
        return
    listed = order[:_DISPUTED]
    columns = {"Sentence": [found.sentences[i].text for i in listed]}
    for name, rater in zip(_distinct([shorten(r.name, _NAME) for r in found.people]), found.people, strict=True):
        columns[name] = [rater.called(int(rater.labels[i])) for i in listed]
    widths = {"Sentence": st.column_config.TextColumn(width=430)}
    st.dataframe(pd.DataFrame(columns), hide_index=True, height=360, column_config=widths)
    st.caption(f"{count(len(order), 'sentence')}, the most disputed first, after clusters were matched.")
    own = next((rater for rater in found.people if rater.labelling and rater.labelling.owner == current_person()), None)
    page_link(
        "relabel",
        "Go through them on the page Relabel",
        icon=":material/edit_note:",
        view={"labelling": (own or found.people[0]).name, "show": OTHER_PEOPLE},
    )


def _adjudicate(scope: Scope, found: Group) -> None:
    """A labelling that begins with what most say."""
    st.subheader("One labelling out of several", anchor=False)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    name = left.text_input("Name of the gold labelling", value=f"{scope.name} gold"[:180])
    if right.button("Adjudicate", type="primary", icon=":material/gavel:", disabled=not (name or "").strip()):
        records = [rater.labelling for rater in found.people if rater.labelling is not None]
        new = NewLabelling(scope.corpus_id, name or "", current_person(), Sharing.GOLD, False, scope.article_id)
        try:
            made = starts.begin(queries.store(), new, starts.from_adjudication([record.id for record in records]))
        except ThemescopeError as error:
            st.error(plain(error), icon=":material/error:")
            return
        st.session_state["labelling-next"] = made.name
        switch_page("relabel")
    st.caption(
        "It begins with what most of them say; ties are unassigned and marked uncertain. Everybody may then settle "
        "them on the page Relabel; it has a history of its own, and the labellings stay as they are."
    )
