"""What the Agreement page reads from the store: labellings and clusterings of the same sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.labelling.partition import Partition
from core.types import Ids, Labels, Sentence
from db.label_records import LabellingRecord
from jobs.services.labelling.starts import labels_on
from webapp.shared import label_queries, partition_queries, queries


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


def scopes() -> list[Scope]:
    """Return the labelled corpora and articles, those with the most labellings first."""
    grouped: dict[tuple[int, int | None], list[LabellingRecord]] = {}
    for record in label_queries.labellings():
        grouped.setdefault((record.corpus_id, record.article_id), []).append(record)
    corpora = {c.id: c.name for c in queries.corpora()}
    with queries.store().reading() as r:
        titles = r.corpora.articles_by_id([article for _, article in grouped if article is not None])
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
