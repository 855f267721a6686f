"""Initial states of labellings: a clustering, themes, sections, another labelling, or unassigned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from themescope.core.errors import DataError
from themescope.core.labelling.changes import apply
from themescope.core.labelling.coding import allow_several
from themescope.core.labelling.partition import COLOURS, UNASSIGNED, Cluster, Partition, start
from themescope.core.labelling.provenance import Maker, Provenance, Source, uniform
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Ids, Labels, Sentence
from themescope.db.records import NewLabelling
from themescope.db.store import Store, Unit
from themescope.jobs.common.labelled import coded_by_machine, joint_provenance, run_origin

MOST_SENTENCES = 200_000
"""Maximum number of sentences of a labelling; a larger corpus is labelled article by article."""
MOST_CLUSTERS = 300
"""Maximum number of initial clusters; sentences of rarer sections begin unassigned."""
LEAD = "Introduction"


class Beginning(NamedTuple):
    """What a labelling begins with."""

    partition: Partition
    origin: Mapping[str, Any]
    labels: Provenance | None = None
    """Who or what made the labels; None where the origin tells."""


Begin = Callable[[Store, NewLabelling], Beginning]
"""Function that returns what a labelling begins with, and computes outside transactions."""


def begin(store: Store, new: NewLabelling, initial: Begin) -> LabellingRecord:
    """Create a labelling with an initial state; raise :class:`DataError` if it has no sentences, or too many."""
    partition, origin, labels = initial(store, new)
    if not len(partition.ids):
        raise DataError("There are no sentences to label. Choose another article or project.")
    if len(partition.ids) > MOST_SENTENCES:
        raise DataError(
            f"{len(partition.ids):,} sentences are too many for one coding; the maximum is {MOST_SENTENCES:,}. "
            "Choose an article, or import a part of the project."
        )
    with store.writing() as w:
        named = replace(new, name=w.labellings.usable_name(new.name), origin=origin)
        return w.labellings.create(named, partition, labels)


def begin_each(store: Store, new: NewLabelling, initial: Sequence[tuple[str, Begin]]) -> list[LabellingRecord]:
    """Create a labelling for each (coder, beginning), named after its coder if there are several."""
    names = [f"{new.name} ({coder})" if coder and len(initial) > 1 else new.name for coder, _ in initial]
    return [begin(store, replace(new, name=name), one) for name, (_, one) in zip(names, initial, strict=True)]


def allowing_several(initial: Begin) -> Begin:
    """Return an initial state with several codes per sentence allowed."""

    def begun(store: Store, new: NewLabelling) -> Beginning:
        found = initial(store, new)
        allowed = apply(found.partition, allow_several(found.partition, True).change_set)
        return found._replace(partition=allowed)

    return begun


def from_nothing(store: Store, new: NewLabelling) -> Beginning:
    """Return all sentences unassigned."""
    with store.reading() as r:
        sentences = sentences_of(r, new.corpus_id, new.article_id)
    return Beginning(start([s.id for s in sentences]), {"from": "nothing"})


def from_sections(store: Store, new: NewLabelling) -> Beginning:
    """Return one cluster per section title, in order of appearance; the lead is the "Introduction"."""
    with store.reading() as r:
        return Beginning(by_sections(r, sentences_of(r, new.corpus_id, new.article_id)), {"from": "sections"})


def by_sections(r: Unit, sentences: Sequence[Sentence]) -> Partition:
    """Return these sentences with one cluster per section title."""
    of = r.corpora.sections_of(sorted({s.article_id for s in sentences}))
    titles = {(article, s.position): s.title.strip() or LEAD for article, found in of.items() for s in found}
    keys = [titles[s.article_id, s.section] for s in sentences]
    kept = {title for title, _ in Counter(keys).most_common(MOST_CLUSTERS)}
    names = list(dict.fromkeys(key for key in keys if key in kept))
    place = {name: number for number, name in enumerate(names, 1)}
    numbers = [place.get(key, UNASSIGNED) for key in keys]
    return start([s.id for s in sentences], numbers, clusters(names))


def from_labels(ids: Ids, labels: Labels, names: Mapping[int, str], origin: Mapping[str, Any]) -> Begin:
    """Return the clusters of sentences (n,) with labels (n,), -1 for none; unnamed ones get their distinctive words."""

    def initial(store: Store, new: NewLabelling) -> Beginning:
        found = np.unique(labels[labels >= 0])
        place = np.searchsorted(found, labels)
        place[labels < 0] = UNASSIGNED
        called = [names.get(int(label), "") for label in found]
        if not all(called):
            with store.reading() as r:
                sentences = r.corpora.sentences_by_id(ids)
            words = cluster_names([sentences[int(i)].text for i in ids], place)
            called = [given or word for given, word in zip(called, words, strict=True)]
        return Beginning(start(ids, np.where(place < 0, UNASSIGNED, place + 1), clusters(called)), origin)

    return initial


def from_themes(run_id: int) -> Begin:
    """Return the themes found in a list of sentences, with their names."""

    def initial(store: Store, new: NewLabelling) -> Beginning:
        with store.reading() as r:
            partition = by_themes(r, run_id, sentences_of(r, new.corpus_id, new.article_id))
            return Beginning(partition, {"from": "run", **run_origin(r, run_id)})

    return initial


def by_themes(r: Unit, run_id: int, sentences: Sequence[Sentence]) -> Partition:
    """Return these sentences in the themes that an analysis found."""
    run, labels = r.runs.get(run_id), r.runs.labels(run_id)
    numbers = [int(labels[s.article_id][s.position]) + 1 if s.article_id in labels else 0 for s in sentences]
    placed = np.array(numbers, dtype=np.int64)
    placed[placed <= 0] = UNASSIGNED
    return start([s.id for s in sentences], placed, clusters([theme["name"] for theme in run.found["themes"]]))


def from_labelling(labelling_id: int) -> Begin:
    """Return the current state of another labelling with notes and marks, without its history."""

    def initial(store: Store, new: NewLabelling) -> Beginning:
        with store.reading() as r:
            known, state = r.labellings.get(labelling_id), r.labellings.snapshot(labelling_id).partition
            labels = joint_provenance(r, [known], state.ids)
        return Beginning(state, {"from": "labelling", "name": known.name}, labels)

    return initial


def from_predictions(labelling_id: int) -> Begin:
    """Return the predicted codes of a labelling as labels of a machine, also of what people labelled.

    The codes of the latter are those predicted without the labels of their documents, so the two can be compared.
    Raises :class:`DataError` without predictions.
    """

    def initial(store: Store, new: NewLabelling) -> Beginning:
        with store.reading() as r:
            known, state = r.labellings.get(labelling_id), r.labellings.snapshot(labelling_id).partition
            found = r.predictions.newest(labelling_id)
            if found is None:
                raise DataError(f"“{known.name}” has no predictions. Predict the rest first.")
            ids, probabilities = r.predictions.values(found.id)
        codes = np.array(found.codes)[probabilities.argmax(1)]
        kept = np.isin(ids, state.ids) & np.isin(codes, [*state.clusters])  # neither removed since
        numbers, sure = np.full(len(state.ids), UNASSIGNED, np.int64), np.full(len(state.ids), np.nan)
        rows = state.rows(ids[kept])
        numbers[rows], sure[rows] = codes[kept], probabilities[kept].max(1)
        partition, origin = coded_by_machine(known, state, numbers, found.model, predictions=found.labels)
        made = uniform(partition, Maker(Source.MACHINE, found.model))
        return Beginning(partition, origin, replace(made, probability=sure))

    return initial


def labels_on(partition: Partition, ids: Ids) -> Labels:
    """Return (n,) cluster numbers of these sentences; -1 if unassigned or not in the labelling."""
    labels = np.full(len(ids), -1, dtype=np.int32)
    known = np.isin(ids, partition.ids)
    labels[known] = partition.numbers[partition.rows(ids[known])]
    return labels


def clusters(names: Sequence[str]) -> list[Cluster]:
    """Return clusters 1, 2, … with these names; duplicate names are numbered."""
    seen: Counter[str] = Counter()
    found = []
    for number, name in enumerate(names, 1):
        seen[name] += 1
        shown = name if seen[name] == 1 else f"{name} ({seen[name]})"
        found.append(Cluster(number, shown, (number - 1) % COLOURS))
    return found


def cluster_names(texts: Sequence[str], labels: Ids | Any) -> list[str]:
    """Return a name for each cluster 0, 1, … from its most characteristic words; sentences with -1 are ignored."""
    from themescope.core.clustering.naming import theme_names, theme_words

    known = np.flatnonzero(labels >= 0)
    if not len(known):
        return []
    own = np.asarray(labels)[known].astype(np.int32)
    return theme_names(theme_words([texts[i] for i in known.tolist()], own, int(own.max()) + 1))


def sentences_of(r: Unit, corpus_id: int, article_id: int | None) -> list[Sentence]:
    """Return the sentences of an article or a corpus; raise :class:`DataError` if there are too many."""
    if article_id is not None:
        return r.corpora.sentences(article_id)
    corpus = r.corpora.get(corpus_id)
    if corpus.sentences > MOST_SENTENCES:
        raise DataError(
            f"{corpus.name!r} has {corpus.sentences:,} sentences; the maximum of a coding is {MOST_SENTENCES:,}. "
            "Choose one of its articles."
        )
    return [sentence for _, _, found in r.corpora.iterate(corpus.id) for sentence in found]
