"""What the page Agreement compares: codings of the same sentences, in pairs and all together."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from themescope.core.labelling.agreement import (
    CodingAgreement,
    PairAlpha,
    agreement_on_codes,
    common_codes,
    compare,
    pair_alpha,
)
from themescope.core.labelling.partition import CodeSet
from themescope.core.metrics.partition import match_clusters
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Ids, Labels, Sentence
from themescope.jobs.services.labelling import agreement
from themescope.jobs.services.labelling.agreement import (
    Adjudication,
    CodedText,
    Coder,
    coded_text,
    gold_on,
    left_out,
    version,
)
from themescope.webapp.shared import compare_queries, queries
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.text import distinct, shorten, with_interval

NAME = 40
"""Characters of the name of a coding in a table."""
ONE_ARTICLE = "one article: no interval"
BOTH, ONE, ALL = "Coded by both", "Coded by one", "All units"
COUNTS = {
    BOTH: "units that both people coded themselves",
    ONE: "units that at least one of the two people coded",
    ALL: "also units that are where the coding began, which nobody may have looked at",
}
"""Which units count for the agreement of two people."""


@dataclass(frozen=True, slots=True)
class Rater:
    """A coding, or the labels that are known to be right, as labels of the sentences of a group."""

    name: str
    labels: Labels
    """(n,) -1 is unassigned."""
    names: Mapping[int, str]
    """Label → name of the code or group."""
    labelling: LabellingRecord | None = None
    placed: npt.NDArray[np.bool_] | None = None
    """(n,) mask of the sentences that people placed, or a model coded; None for the right labels."""
    sets: Mapping[int, CodeSet] = field(default_factory=dict)
    """Codes of the clusters that are combinations of codes."""

    def called(self, label: int) -> str:
        """Return the name of a label."""
        return "–" if label < 0 else self.names.get(label, f"group {label + 1}")


@dataclass(frozen=True, slots=True)
class TextScope:
    """A project, an article or a task that has codings."""

    corpus_id: int
    article_id: int | None
    name: str
    labellings: tuple[LabellingRecord, ...]
    gold_id: int | None = None
    """Labelling of which the labels are known to be right."""
    hidden: bool = False
    """Whether the person may not see all of its codings yet, because of a blind task."""


def scopes(corpus_id: int) -> list[TextScope]:
    """Return the coded texts of a project: articles, the whole project, tasks; with the most codings first."""
    known = compare_queries.labellings(corpus_id)
    by_article: dict[int | None, list[LabellingRecord]] = {}
    for record in known:
        by_article.setdefault(record.article_id, []).append(record)
    with queries.store().reading() as r:
        titles = r.corpora.articles_by_id([article for article in by_article if article is not None])
        whole = r.corpora.get(corpus_id).name
        found = [
            TextScope(corpus_id, a, f"{titles[a].title} ({whole})" if a in titles else whole, tuple(records))
            for a, records in by_article.items()
        ]
        hidden = r.labellings.hidden_from(current_person())
        for task in r.tasks.list(corpus_id):
            ids = {member.labelling_id for member in r.tasks.members(task.id)} - {None}
            own = [one for one in known if one.id in ids]
            article = own[0].article_id if own else None
            own += [one for one in known if one.by_model and one.origin.get("task") == task.name]
            if own or not hidden.isdisjoint(ids):
                name, blind = f"{compare_queries.TASK}{task.name}", not hidden.isdisjoint(ids)
                found.append(TextScope(corpus_id, article, name, tuple(own), task.gold_id, blind))
    return sorted(found, key=lambda scope: -len(scope.labellings))


@dataclass(frozen=True, slots=True)
class ComparedLabellings:
    """The codings of a scope, and which of them do not count by default."""

    version: tuple[object, ...]
    text: CodedText
    left_out: Mapping[str, str]
    """Name → reason."""


def labellings(scope: TextScope) -> ComparedLabellings:
    """Return the codings of a scope."""
    return _labellings(queries.read(lambda r: version(r, scope.labellings)), scope)


@st.cache_resource(show_spinner="Reading the codings …", max_entries=8)
def _labellings(version: tuple[object, ...], _scope: TextScope) -> ComparedLabellings:
    with queries.store().reading() as r:
        text = coded_text(r, _scope.labellings)
        reasons = left_out(r, text.coders)
    names = {record.id: record.name for record in _scope.labellings}
    return ComparedLabellings(version, text, {names[id]: reason for id, reason in reasons.items()})


@dataclass(frozen=True, slots=True)
class LabellingGroup:
    """Codings of the same sentences; row i of every array is sentence ``ids[i]``."""

    version: tuple[object, ...]
    """Key of everything but ``gold``."""
    ids: Ids
    articles: Ids
    sentences: Sequence[Sentence]
    people: list[Rater]
    gold: Rater | None = None
    """Labels that are known to be right."""
    coders: Sequence[Coder] = ()
    """All codings of the scope, chosen or not."""


def group(scope: TextScope, found: ComparedLabellings, chosen: Collection[str]) -> LabellingGroup:
    """Return the chosen codings of a scope."""
    text = found.text
    people = [
        Rater(coder.record.name, coder.labels, coder.names, coder.record, coder.placed, coder.sets)
        for coder in text.coders
        if coder.record.name in chosen
    ]
    with queries.store().reading() as r:
        gold, called = gold_on(r, scope.gold_id, text.ids)
    right = Rater("gold labels", gold, called) if (gold >= 0).any() else None
    version = (found.version, *sorted(chosen))
    return LabellingGroup(version, text.ids, text.articles, text.sentences, people, right, text.coders)


def judged(people: Sequence[Rater], which: str) -> list[Labels]:
    """Return the (n,) labels of all people, -1 for sentences that they have not judged."""
    placed = [np.ones(len(rater.labels), np.bool_) if rater.placed is None else rater.placed for rater in people]
    if which == ALL:
        return [rater.labels for rater in people]
    masks = [np.logical_or.reduce(placed)] * len(people) if which == ONE else placed
    return [np.where(mask, rater.labels, -1) for mask, rater in zip(masks, people, strict=True)]


@st.cache_resource(show_spinner="Computing agreement …", max_entries=64)
def agreement_of(
    version: tuple[object, ...], which: str, _labels: Sequence[Labels], _found: LabellingGroup
) -> tuple[CodingAgreement | None, PairAlpha]:
    """Return the agreement of the people of a group on common codes, None without any, and on pairs of sentences."""
    names, sets = [person.names for person in _found.people], [person.sets for person in _found.people]
    return agreement_on_codes(_labels, names, _found.articles, sets=sets), pair_alpha(_labels, _found.articles)


def adjudicated(labels: Sequence[Labels], found: LabellingGroup) -> Adjudication:
    """Return what follows from the labels of the people of a group, and from those that are known to be right."""
    raters = [*found.people, *([found.gold] if found.gold else [])]
    labels = [*labels, *([found.gold.labels] if found.gold else [])]
    digest = hashlib.blake2b(found.articles.tobytes(), digest_size=16)
    for own, rater in zip(labels, raters, strict=True):
        digest.update(own.tobytes() + repr(sorted(rater.names.items())).encode())
    return _adjudicated(digest.hexdigest(), labels, raters, found)


@st.cache_resource(show_spinner="Computing reliabilities …", max_entries=16)
def _adjudicated(
    digest: str, _labels: Sequence[Labels], _raters: Sequence[Rater], _found: LabellingGroup
) -> Adjudication:
    gold = [len(_found.people)] if _found.gold else []
    return agreement.adjudicated(
        _labels, _found.articles, [rater.names for rater in _raters], gold, [rater.sets for rater in _raters]
    )


def pair_row(first: Rater, second: Rater, articles: Ids, which: str = ALL) -> tuple[str, str, int, str, str, str]:
    """Return names, shared sentences, ARI, AMI, and a remark where a value or an interval is undefined."""
    own, other = judged((first, second), which)
    result = compare(own, other, articles)
    remark = f"undefined because {result.undefined}" if result.undefined else ""
    if not remark and result.articles == 1:
        remark = ONE_ARTICLE
    return first.name, second.name, result.shared, with_interval(result.ari), with_interval(result.ami), remark


def contingency(first: Rater, second: Rater, which: str = ALL) -> tuple[pd.DataFrame, bool]:
    """Return the contingency table of two codings, and whether its diagonal has codes of the same name.

    If they have no common codes, matched clusters are on the diagonal.
    """
    own, other = judged((first, second), which)
    both = (own >= 0) & (other >= 0)
    a, b = own[both], other[both]
    coded = common_codes([a, b], [first.names, second.names], [first.sets, second.sets])
    if coded is not None:
        (a, b), codes = coded.labels, coded.names
        rows = columns = list(range(len(codes)))
        names = [[shorten(name, NAME) for name in codes]] * 2
    else:
        matching = match_clusters(a, b)
        rows = [*(pair.first for pair in matching.pairs), *matching.only_first]
        columns = [*(pair.second for pair in matching.pairs), *matching.only_second]
        names = [
            [shorten(rater.called(label), NAME) for label in found]
            for rater, found in ((first, rows), (second, columns))
        ]
    table = [[int(((a == row) & (b == column)).sum()) for column in columns] for row in rows]
    return pd.DataFrame(table, index=distinct(names[0]), columns=distinct(names[1])), coded is not None
