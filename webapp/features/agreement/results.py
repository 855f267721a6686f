"""Agreement page: labellings and clusterings of the same sentences, coefficients, contingency table, adjudication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st

from core.labelling.agreement import Comparison, adjudicate, alpha, compare
from core.labelling.partition import Partition
from core.metrics.matching import match_clusters
from core.types import Estimate, Ids, Labels, Sentence
from db.label_records import LabellingRecord, NewLabelling, Sharing
from jobs.services.labelling import starts
from jobs.services.labelling.starts import labels_on
from jobs.services.table_files import csv_text
from webapp.features.agreement.state import PAIRS
from webapp.shared import partition_queries, queries
from webapp.shared.choose import nothing
from webapp.shared.components import attempt, download
from webapp.shared.navigation import page_link, switch_page
from webapp.shared.people import current_person
from webapp.shared.text import count, distinct, ends, interval, plain, score, shorten


@dataclass(frozen=True, slots=True)
class Rater:
    """A labelling, the sections or a clustering, as labels of the sentences of a group."""

    name: str
    labels: Labels
    """(n,) -1 is unassigned."""
    names: dict[int, str]
    """Label → cluster name."""
    labelling: LabellingRecord | None = None

    def called(self, label: int) -> str:
        """Return the name of a cluster."""
        return "–" if label < 0 else self.names.get(label, f"cluster {label + 1}")


@dataclass(frozen=True, slots=True)
class Group:
    """Labellings and clusterings of the same sentences; row i of every array is sentence ``ids[i]``."""

    ids: Ids
    articles: Ids
    sentences: Sequence[Sentence]
    people: list[Rater]
    others: list[Rater]
    """Sections and clusterings."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A corpus or an article that has labellings."""

    corpus_id: int
    article_id: int | None
    name: str
    labellings: tuple[LabellingRecord, ...]


def scopes(corpus_id: int) -> list[Scope]:
    """Return the labelled texts of a project, the whole corpus or articles, those with the most labellings first."""
    grouped: dict[tuple[int, int | None], list[LabellingRecord]] = {}
    for record in partition_queries.labellings(corpus_id):
        grouped.setdefault((record.corpus_id, record.article_id), []).append(record)
    corpora = {c.id: c.name for c in queries.corpora()}
    titles = queries.read(
        lambda r: r.corpora.articles_by_id([article for _, article in grouped if article is not None])
    )
    found = [
        Scope(c, a, f"{titles[a].title} ({corpora.get(c, '')})" if a in titles else corpora.get(c, ""), tuple(records))
        for (c, a), records in grouped.items()
    ]
    return sorted(found, key=lambda scope: -len(scope.labellings))


def group(scope: Scope, chosen: Sequence[LabellingRecord]) -> Group:
    """Return the chosen labellings of a scope, with the sections and clusterings of its article."""
    with queries.store().reading() as r:
        states: list[Partition] = [r.labellings.snapshot(record.id).partition for record in chosen]
        ids = np.unique(np.concatenate([state.ids for state in states]))
        known = r.corpora.sentences_by_id(ids)
        articles = r.corpora.articles_by_id([scope.article_id] if scope.article_id else [])
    people = [
        Rater(record.name, labels_on(state, ids), {c.number: c.name for c in state.clusters.values()}, record)
        for record, state in zip(chosen, states, strict=True)
    ]
    others: list[Rater] = []
    if scope.article_id in articles:
        corpus = next(c for c in queries.corpora() if c.id == scope.corpus_id)
        for partition in partition_queries.partitions(articles[scope.article_id], corpus.created):
            if partition.kind == "labelling":
                continue
            division = partition.load()
            labels = np.full(len(ids), -1, dtype=np.int32)
            shared, at, place = np.intersect1d(ids, division.sentence_ids, return_indices=True)
            labels[at] = division.labels[place]
            if len(shared):
                others.append(Rater(partition.name, labels, dict(division.names)))
    sentences = [known[int(i)] for i in ids]
    return Group(ids, np.array([s.article_id for s in sentences], dtype=np.int64), sentences, people, others)


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
    return interval(value.value, *ends(value))


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
        st.caption(f"{_measured(remarks)} Click a row to compare its clusters.")
        st.space("stretch")
        download("CSV", lambda: csv_text(_HEADER, rows), "agreement.csv")
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
        index=distinct([shorten(first.called(row), _NAME) for row in rows]),
        columns=distinct([shorten(second.called(column), _NAME) for column in columns]),
    )


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
    for name, rater in zip(distinct([shorten(r.name, _NAME) for r in found.people]), found.people, strict=True):
        columns[name] = [rater.called(int(rater.labels[i])) for i in listed]
    widths = {"Sentence": st.column_config.TextColumn(width=430)}
    st.dataframe(pd.DataFrame(columns), hide_index=True, height=360, column_config=widths)
    st.caption(f"{count(len(order), 'sentence')}, most disputed first, after clusters were matched.")
    own = next((rater for rater in found.people if rater.labelling and rater.labelling.owner == current_person()), None)
    page_link(
        "relabel",
        "Review disagreements in Relabel",
        icon=":material/edit_note:",
        view=partition_queries.disagreement_view((own or found.people[0]).name),
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
        gold = starts.from_adjudication([record.id for record in records])
        made = attempt(lambda: starts.begin(queries.store(), new, gold))
        if made is not None:
            switch_page("relabel", partition_queries.edit_view(made.name))
    st.caption(
        "Starts from the majority; ties are unassigned and marked as uncertain. Everyone can resolve them on the "
        "Relabel page. The labellings above do not change."
    )
