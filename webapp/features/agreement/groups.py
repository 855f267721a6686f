"""What the Agreement page compares: labellings and clusterings of the same sentences."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.labelling.code_sets import CodeSet
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Ids, Labels, Sentence
from themescope.jobs.common.labelled.placed import MODEL
from themescope.jobs.services.labelling.adjudication import gold_on
from themescope.jobs.services.labelling.agreement import CodedText, Coder, coded_text, left_out, version
from themescope.webapp.shared import queries
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.results import partition_queries


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
    """(n,) mask of the sentences that people placed, or a model coded; None for sections and clusterings."""
    sets: Mapping[int, CodeSet] = field(default_factory=dict)
    """Codes of the clusters that are combinations of codes."""

    def called(self, label: int) -> str:
        """Return the name of a cluster."""
        return "–" if label < 0 else self.names.get(label, f"cluster {label + 1}")


@dataclass(frozen=True, slots=True)
class LabellingGroup:
    """Labellings and clusterings of the same sentences; row i of every array is sentence ``ids[i]``."""

    version: tuple[object, ...]
    """Key of everything but ``others`` and ``gold``."""
    ids: Ids
    articles: Ids
    sentences: Sequence[Sentence]
    people: list[Rater]
    others: list[Rater]
    """Sections and clusterings."""
    gold: Rater | None = None
    """Labels that are known to be right."""
    coders: Sequence[Coder] = ()
    """All labellings of the scope, chosen or not."""


BOTH, ONE, ALL = "Placed by both", "Placed by one", "All sentences"
COUNTS = {
    BOTH: "sentences whose cluster both people set themselves",
    ONE: "sentences whose cluster at least one of the two people set",
    ALL: "also sentences that are where the labelling began, which nobody may have looked at",
}
"""Which sentences count for the agreement of two people; that of a person and sections or models counts by the person
alone."""


def judged(people: Sequence[Rater], which: str) -> list[Labels]:
    """Return the (n,) labels of all people, -1 for sentences that they have not judged."""
    masks = [rater.placed for rater in people if rater.placed is not None]
    if which == ALL or not masks:
        return [rater.labels for rater in people]
    anyone = np.logical_or.reduce(masks)
    keep = [anyone if which == ONE or rater.placed is None else rater.placed for rater in people]
    return [np.where(mask, rater.labels, -1) for mask, rater in zip(keep, people, strict=True)]


@dataclass(frozen=True, slots=True)
class TextScope:
    """A corpus or an article that has labellings."""

    corpus_id: int
    article_id: int | None
    name: str
    labellings: tuple[LabellingRecord, ...]
    gold_id: int | None = None
    """Labelling of which the labels are known to be right."""
    hidden: bool = False
    """Whether the person may not see all of its labellings yet, because of a blind task."""


def scopes(corpus_id: int) -> list[TextScope]:
    """Return the labelled texts of a project: articles, the whole corpus, tasks; with the most labellings first."""
    grouped: dict[tuple[int, int | None], list[LabellingRecord]] = {}
    for record in partition_queries.labellings(corpus_id):
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
    known = {record.id: record for record in partition_queries.labellings(corpus_id)}
    coded_by_models = [record for record in known.values() if record.origin.get("from") == MODEL]
    with queries.store().reading() as r:
        found, hidden = [], r.labellings.hidden_from(current_person())
        for task in r.tasks.list(corpus_id):
            ids = [member.labelling_id for member in r.tasks.members(task.id) if member.labelling_id is not None]
            records = [known[id] for id in ids if id in known]
            records += [record for record in coded_by_models if record.origin.get("task") == task.name]
            blind, article = not hidden.isdisjoint(ids), records[0].article_id if records else None
            if records or blind:
                name = f"{partition_queries.TASK}{task.name}"
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
        for partition in partition_queries.partitions(articles[scope.article_id], corpus.created):
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
