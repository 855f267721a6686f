"""Agreement page: labellings and clusterings of the same sentences, coefficients, contingency table, adjudication."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from core.labelling.agreement import Comparison, adjudicate, alpha, compare
from core.labelling.partition import Partition
from core.metrics.matching import match_clusters
from core.types import Estimate, Ids, Labels, Sentence
from db.label_records import LabellingRecord, NewLabelling, Sharing
from jobs.common.placed import placed_sentences
from jobs.services.labelling import starts
from jobs.services.labelling.starts import labels_on
from jobs.services.table_files import csv_text
from webapp.features.agreement.state import COUNTED, PAIRS
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
    placed: npt.NDArray[np.bool_] | None = None
    """(n,) mask of the sentences that people placed; None for sections and clusterings."""

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


BOTH, ONE, ALL = "Placed by both", "Placed by one", "All sentences"
COUNTS = {
    BOTH: "sentences whose cluster both people set themselves",
    ONE: "sentences whose cluster at least one of the two people set",
    ALL: "also sentences that are where the labelling began, which nobody may have looked at",
}
"""Which sentences count for the agreement of two people; that of a person and sections or models counts by the person
alone."""


def counted(first: Rater, second: Rater, which: str) -> tuple[Labels, Labels]:
    """Return the (n,) labels of two raters, -1 for sentences that do not count."""
    masks = [rater.placed for rater in (first, second) if rater.placed is not None]
    if which == ALL or not masks:
        return first.labels, second.labels
    keep = (np.logical_or if which == ONE else np.logical_and).reduce(masks)
    return np.where(keep, first.labels, -1), np.where(keep, second.labels, -1)


def judged(people: Sequence[Rater], which: str) -> list[Labels]:
    """Return the (n,) labels of all people, -1 for sentences that they have not judged."""
    masks = [rater.placed for rater in people if rater.placed is not None]
    if which == ALL or not masks:
        return [rater.labels for rater in people]
    anyone = np.logical_or.reduce(masks)
    keep = [anyone if which == ONE or rater.placed is None else rater.placed for rater in people]
    return [np.where(mask, rater.labels, -1) for mask, rater in zip(keep, people, strict=True)]


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
        placed = [placed_sentences(r, record, state) for record, state in zip(chosen, states, strict=True)]
        ids = np.unique(np.concatenate([state.ids for state in states]))
        known = r.corpora.sentences_by_id(ids)
        articles = r.corpora.articles_by_id([scope.article_id] if scope.article_id else [])
    people = [
        Rater(
            record.name,
            labels_on(state, ids),
            {c.number: c.name for c in state.clusters.values()},
            record,
            np.isin(ids, own),
        )
        for record, state, own in zip(chosen, states, placed, strict=True)
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
_OWN_VOTES = ", where only those who placed a sentence have a vote on it"
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
        _disputed(found, which)
        _adjudicate(scope, found, which)


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


def _votes(found: Group, which: str) -> list[npt.NDArray[np.bool_]] | None:
    """Return which sentences each person placed; None where all votes count."""
    masks = [rater.placed for rater in found.people if rater.placed is not None]
    return None if which != BOTH or len(masks) < len(found.people) else masks


def _disputed(found: Group, which: str) -> None:
    """Draw the sentences that people placed differently; of placed sentences, only the votes of who placed them."""
    st.subheader("Disagreements", anchor=False)
    verdict = adjudicate([rater.labels for rater in found.people], _votes(found, which))
    order = np.argsort(-verdict.dispute, kind="stable")
    order = order[verdict.dispute[order] > 0]
    if not len(order):
        st.caption(f"None: every sentence that several people placed is in the same cluster.{_more(which)}")
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


def _adjudicate(scope: Scope, found: Group, which: str) -> None:
    """Draw the form that creates a gold labelling from the majority."""
    st.subheader("Create gold labelling", anchor=False)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    name = left.text_input("Name", value=f"{scope.name} gold"[:180])
    if right.button(
        "Create gold labelling", type="primary", icon=":material/gavel:", disabled=not (name or "").strip()
    ):
        records = [rater.labelling for rater in found.people if rater.labelling is not None]
        new = NewLabelling(scope.corpus_id, name or "", current_person(), Sharing.GOLD, False, scope.article_id)
        gold = starts.from_adjudication([record.id for record in records], placed_only=which == BOTH)
        made = attempt(lambda: starts.begin(queries.store(), new, gold))
        if made is not None:
            switch_page("relabel", partition_queries.edit_view(made.name))
    st.caption(
        f"Starts from the majority{_OWN_VOTES if which == BOTH else ''}; ties are unassigned and marked as uncertain. "
        "Everyone can resolve them on the "
        "Relabel page. The labellings above do not change."
    )
