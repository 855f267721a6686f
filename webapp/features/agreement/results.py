"""Agreement page: coefficients of agreement, agreement of pairs of labellings, and the contingency table of a pair."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.labelling.agreement import (
    CodingAgreement,
    PairAlpha,
    PartitionComparison,
    agreement_on_codes,
    common_codes,
    compare,
    pair_alpha,
)
from themescope.core.metrics.coding_agreement import Agreement
from themescope.core.metrics.matching import match_clusters
from themescope.core.records.stored import LabellingRecord
from themescope.core.text.cleaning import folded_name
from themescope.core.types import Labels
from themescope.jobs.common.labelled import MODEL
from themescope.jobs.services import failures as service
from themescope.jobs.services.labelling.adjudication import gold_on
from themescope.jobs.services.labelling.agreement import CodedText, coded_text, left_out, version
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.agreement import COUNTED, posterior
from themescope.webapp.features.agreement.posterior import (
    ALL,
    BOTH,
    COUNTS,
    LabellingGroup,
    Rater,
    TextScope,
    judged,
)
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import download, draw_table
from themescope.webapp.shared.labelling import failures
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.text import count, distinct, plain, score, shorten, with_interval

# What the Agreement page compares: labellings and clusterings of the same sentences


def scopes(corpus_id: int) -> list[TextScope]:
    """Return the labelled texts of a project: articles, the whole corpus, tasks; with the most labellings first."""
    grouped: dict[tuple[int, int | None], list[LabellingRecord]] = {}
    for record in compare_queries.labellings(corpus_id):
        grouped.setdefault((record.corpus_id, record.article_id), []).append(record)
    corpora = {c.id: c.name for c in queries.corpora()}
    titles = queries.read(
        lambda r: r.corpora.articles_by_id([article for _, article in grouped if article is not None])
    )
    found = [
        TextScope(
            c, a, f"{titles[a].title} ({corpora.get(c, '')})" if a in titles else corpora.get(c, ""), tuple(records)
        )
        for (c, a), records in grouped.items()
    ]
    found += _task_scopes(corpus_id)
    return sorted(found, key=lambda scope: -len(scope.labellings))


def _task_scopes(corpus_id: int) -> list[TextScope]:
    """Return the tasks that somebody has begun, with the labellings of their people."""
    known = {record.id: record for record in compare_queries.labellings(corpus_id)}
    coded_by_models = [record for record in known.values() if record.origin.get("from") == MODEL]
    with queries.store().reading() as r:
        found, hidden = [], r.labellings.hidden_from(current_person())
        for task in r.tasks.list(corpus_id):
            ids = [member.labelling_id for member in r.tasks.members(task.id) if member.labelling_id is not None]
            records = [known[id] for id in ids if id in known]
            records += [record for record in coded_by_models if record.origin.get("task") == task.name]
            blind, article = not hidden.isdisjoint(ids), records[0].article_id if records else None
            if records or blind:
                name = f"{compare_queries.TASK}{task.name}"
                found.append(TextScope(corpus_id, article, name, tuple(records), task.gold_id, blind))
    return found


@dataclass(frozen=True, slots=True)
class ComparedLabellings:
    """The labellings of a scope, and which of them do not count by default."""

    version: tuple[object, ...]
    text: CodedText
    left_out: Mapping[str, str]
    """Name → reason."""


def labellings(scope: TextScope) -> ComparedLabellings:
    """Return the labellings of a scope."""
    return _labellings(queries.read(lambda r: version(r, scope.labellings)), scope)


@st.cache_resource(show_spinner="Reading the labellings …", max_entries=8)
def _labellings(version: tuple[object, ...], _scope: TextScope) -> ComparedLabellings:
    with queries.store().reading() as r:
        text = coded_text(r, _scope.labellings)
        reasons = left_out(r, text.coders)
    names = {record.id: record.name for record in _scope.labellings}
    return ComparedLabellings(version, text, {names[id]: reason for id, reason in reasons.items()})


def group(scope: TextScope, found: ComparedLabellings, chosen: Collection[str]) -> LabellingGroup:
    """Return the chosen labellings of a scope, with the sections and clusterings of its article."""
    text = found.text
    people = [
        Rater(coder.record.name, coder.labels, dict(coder.names), coder.record, coder.placed, coder.sets)
        for coder in text.coders
        if coder.record.name in chosen
    ]
    ids, others = text.ids, list[Rater]()
    with queries.store().reading() as r:
        articles = r.corpora.articles_by_id([scope.article_id] if scope.article_id else [])
        gold, called = gold_on(r, scope.gold_id, ids)
    if scope.article_id in articles:
        corpus = next(c for c in queries.corpora() if c.id == scope.corpus_id)
        for partition in compare_queries.partitions(articles[scope.article_id], corpus.created):
            if partition.kind == "labelling":
                continue
            division = partition.load()
            labels = np.full(len(ids), -1, dtype=np.int32)
            shared, at, place = np.intersect1d(ids, division.sentence_ids, return_indices=True)
            labels[at] = division.labels[place]
            if len(shared):
                others.append(Rater(partition.name, labels, dict(division.names)))
    right = Rater("gold labels", gold, dict(called)) if (gold >= 0).any() else None
    version = (found.version, *sorted(chosen))
    return LabellingGroup(version, ids, text.articles, text.sentences, people, others, right, text.coders)


_NAME = 40
_ONE_ARTICLE = "one article: no interval"
_PAIRWISE = "Pairwise agreement of partitions"


def show(scope: TextScope, found: LabellingGroup) -> None:
    """Draw all results for the labellings of a group."""
    # Choose which sentences count.
    chosen = st.segmented_control(
        "Sentences that count", list(COUNTS), default=BOTH, required=True, key=COUNTED, bind="query-params",
        help="  \n".join(f"**{name}**: {about}." for name, about in COUNTS.items()),
    )  # fmt: skip
    which = chosen or BOTH
    if len(found.people) < 2:
        nothing(
            "Agreement needs two labellings.",
            "Ask someone else to label the same text on the page Code, preferably blind.",
            "code",
            "Open Code",
        )
        _pairs(scope, found, which)
        posterior.show_replacement(found)
        return
    labels = judged(found.people, which)
    coding, whole = _of_all(found.version, which, labels, found)
    if coding is not None:
        _codes(coding, found.people, which)
        st.subheader(_PAIRWISE, anchor=False)
    _partitions(labels, whole, which, coding is not None)
    _pairs(scope, found, which)
    posterior.show_replacement(found)
    posterior.show(scope, found, which)


@st.cache_resource(show_spinner="Computing agreement …", max_entries=64)
def _of_all(
    version: tuple[object, ...], which: str, _labels: Sequence[Labels], _found: LabellingGroup
) -> tuple[CodingAgreement | None, PairAlpha]:
    names, sets = [person.names for person in _found.people], [person.sets for person in _found.people]
    return agreement_on_codes(_labels, names, _found.articles, sets=sets), pair_alpha(_labels, _found.articles)


# --- codes ------------------------------------------------------------------------------------------------------------


def _codes(found: CodingAgreement, people: Sequence[Rater], which: str) -> None:
    two = found.coders == 2
    with st.container(horizontal=True):
        data = "sets of codes, with the MASI distance" if found.several else "nominal data"
        help = f"For {data}: 1 is perfect agreement, 0 is chance. .800 is usually required; .667 allows tentative "
        _coefficient("Krippendorff's alpha", found.alpha, help + "conclusions.")
        help = "Two coders, corrected for chance by the codes of each." if two else "Mean over all pairs of labellings."
        _coefficient("Cohen's kappa", found.kappa, help)
        what = "sets of codes" if found.several else "codes"
        help = f"Share of equal {what}, without a correction for chance."
        st.metric("Equal", "–" if np.isnan(found.observed) else f"{found.observed:.0%}", border=True, help=help)
        help = f"Sentences that count in at least two labellings: {COUNTS[which]}."
        st.metric("Sentences", f"{found.sentences:,}", border=True, help=help)
    undefined = found.alpha.undefined or found.kappa.undefined
    if undefined:
        st.caption(f"Undefined because {undefined}.{_more(which)}")
        return
    own = f" Not everybody has: {plain(', '.join(found.own))}." if found.own else ""
    st.caption(
        f"{'Sentences may have several codes: alpha is that of sets (MASI). ' if found.several else ''}"
        f"Codes with the same name are the same code. In brackets are 95 % bootstrap intervals over {found.over}. "
        f"Counted are {COUNTS[which]}.{own}"
    )
    names = distinct(["Code", *(shorten(person.name, _NAME) for person in people), "All", "Alpha", "Kappa"])
    rows = [(c.name, *c.counts, c.both, _coded(c.alpha), _coded(c.kappa)) for c in found.codes]
    draw_table(pd.DataFrame(rows, columns=names))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption("One code against all others: how often each labelling has it, where all have it, and agreement.")
        st.space("stretch")
        download("CSV", lambda: csv_text(names, rows), "agreement_by_code.csv", key="agreement_codes_file")


def _coefficient(label: str, found: Agreement, help: str) -> None:
    text = "undefined" if found.estimate is None else score(found.estimate.value)
    st.metric(label, text, border=True, help=help, delta=_interval(found), delta_color="off", delta_arrow="off")


def _interval(found: Agreement) -> str | None:
    """Return the interval of a coefficient; there is none if nobody differs."""
    e = found.estimate
    return None if e is None or e.n < 2 or e.low == e.high else f"[{score(e.low)}, {score(e.high)}]"


def _coded(found: Agreement) -> str:
    return "–" if found.estimate is None else " ".join(filter(None, (score(found.estimate.value), _interval(found))))


# --- partitions -------------------------------------------------------------------------------------------------------


def _partitions(labels: Sequence[Labels], whole: PairAlpha, which: str, common: bool) -> None:
    """Draw Krippendorff's alpha over pairs of sentences, which is the headline if labellings have no common codes."""
    about = (
        "Are two sentences of the same article in the same cluster or not? Names of clusters do not count, so two "
        "people who swap two codes agree fully here."
    )
    value = "undefined" if whole.value is None else score(whole.value)
    why = f" Undefined because {whole.undefined}.{_more(which)}" if whole.undefined else ""
    if common:
        over = f" over {count(whole.pairs, 'pair')} of sentences" if whole.pairs else ""
        st.caption(f"{about} Krippendorff's alpha{over}: {value}.{why}")
        return
    several = int((np.sum([own >= 0 for own in labels], axis=0) >= 2).sum())
    with st.container(horizontal=True):
        help = "1 is perfect agreement, 0 is chance. .800 is usually required; .667 allows tentative conclusions."
        st.metric("Alpha over pairs", value, border=True, help=help)
        help = f"Sentences that count in at least two labellings: {COUNTS[which]}."
        st.metric("Sentences", f"{several:,}", border=True, help=help)
        st.metric("Sentence pairs", f"{whole.pairs:,}", border=True, help="Pairs that at least two labellings decide.")
    st.caption(f"The labellings have no codes with common names. {about} Counted are {COUNTS[which]}.{why}")
    st.subheader(_PAIRWISE, anchor=False)


def _more(which: str) -> str:
    return "" if which == ALL else f" Choose “{ALL}” above to count what nobody has changed, too."


def pair_row(
    first: Rater, second: Rater, articles: np.ndarray, which: str = ALL
) -> tuple[str, str, int, str, str, str]:
    """Return names, shared sentences, ARI, AMI, and a remark where a value or an interval is undefined."""
    own, other = judged((first, second), which)
    result: PartitionComparison = compare(own, other, articles)
    numbers = with_interval(result.ari), with_interval(result.ami)
    remark = f"undefined because {result.undefined}" if result.undefined else ""
    if not remark and result.articles == 1:
        remark = _ONE_ARTICLE
    return first.name, second.name, result.shared, *numbers, remark


_HEADER = ("First", "Second", "Sentences", "ARI", "AMI", "Remark")
_WIDTHS = dict(zip(_HEADER, (190, 290, 105, 130, 130, 165), strict=True))
_WIDTHS_WITHOUT_INTERVALS = {"Second": 390, "ARI": 80, "AMI": 80}


def _pairs(scope: TextScope, found: LabellingGroup, which: str) -> None:
    pairs = [*combinations(found.people, 2), *((p, other) for p in found.people for other in found.others)]
    if not pairs:
        return
    if len(found.people) < 2:
        st.subheader(_PAIRWISE, anchor=False)
    rows = [pair_row(first, second, found.articles, which) for first, second in pairs]
    remarks = {row[-1] for row in rows}
    shown = _HEADER if len(remarks) > 1 else _HEADER[:-1]  # a remark on all rows is drawn once, below
    widths = _WIDTHS | (_WIDTHS_WITHOUT_INTERVALS if remarks == {_ONE_ARTICLE} else {})
    key = f"agreement_pairs_{len(rows)}"
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
    pair = pairs[chosen[0] if chosen and chosen[0] < len(pairs) else 0]
    _contingency(*pair, which)
    _collect(scope, found, *pair, which)


def _collect(scope: TextScope, found: LabellingGroup, first: Rater, second: Rater, which: str) -> None:
    """Draw the button that collects the sentences to which two people gave different codes."""
    if first.labelling is None or second.labelling is None:
        return

    def codes(rater: Rater, label: int) -> set[str]:
        return {folded_name(rater.called(code)) for code in rater.sets.get(label, {label})}

    placed = {
        sentence.id: f"{first.called(a)} ({first.name}), {second.called(b)} ({second.name})"
        for sentence, a, b in zip(found.sentences, *judged((first, second), which), strict=True)
        if a >= 0 and b >= 0 and codes(first, a) != codes(second, b)
    }
    if placed:
        source = f"{first.name} against {second.name}"
        about = (service.DISAGREEMENT, source, placed, failures.permalink())
        failures.button(
            "agreement", f"Collect {count(len(placed), 'disagreement')} as errors", scope.corpus_id, source,
            lambda: service.sentences(queries.store(), list(placed), *about, of_people=True),
        )  # fmt: skip


def _measured(remarks: set[str]) -> str:
    if remarks == {_ONE_ARTICLE}:
        return "One article, so no intervals."
    same = next(iter(remarks)) if len(remarks) == 1 else ""
    return f"Means over articles with 95 % intervals{f'; {same}' if same else ''}."


def contingency(first: Rater, second: Rater, which: str = ALL) -> tuple[pd.DataFrame, bool]:
    """Return the contingency table of two labellings, and whether its diagonal has codes of the same name.

    If they have no common codes, matched clusters are on the diagonal.
    """
    own, other = judged((first, second), which)
    both = (own >= 0) & (other >= 0)
    a, b = own[both], other[both]
    coded = None
    if first.placed is not None and second.placed is not None:
        coded = common_codes([a, b], [first.names, second.names], [first.sets, second.sets])
    if coded is not None:
        (a, b), codes = coded.labels, coded.names
        rows = columns = list(range(len(codes)))
        names = [[shorten(name, _NAME) for name in codes]] * 2
    else:
        matching = match_clusters(a, b)
        rows = [*(pair.first for pair in matching.pairs), *matching.only_first]
        columns = [*(pair.second for pair in matching.pairs), *matching.only_second]
        names = [
            [shorten(rater.called(label), _NAME) for label in found]
            for rater, found in ((first, rows), (second, columns))
        ]
    table = [[int(((a == row) & (b == column)).sum()) for column in columns] for row in rows]
    return pd.DataFrame(table, index=distinct(names[0]), columns=distinct(names[1])), coded is not None


def _contingency(first: Rater, second: Rater, which: str) -> None:
    table, by_name = contingency(first, second, which)
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
    how = "Codes of the same name are" if by_name else "Clusters are matched one-to-one (Hungarian method) and"
    st.caption(f"{how} on the diagonal: {same:,} of {total:,} sentences ({same / total:.0%}).")
