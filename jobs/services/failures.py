"""Failures of models and disagreements of people, collected to be coded by their causes.

They become sentences of a corpus of their own, see :mod:`themescope.db.repositories.failures`, and are coded like any
other: with several codes, definitions, notes, undo, agreement, estimates and a report. Shares of codes in a random
sample of the failures of a model estimate the shares among all of them; those of failures that people picked do not.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from themescope.core.errors import DataError
from themescope.core.metrics.partition import UNASSIGNED, match_clusters
from themescope.core.records.stored import CorpusRecord, LabellingRecord, RunRecord, Sharing
from themescope.core.types import Ids, Split
from themescope.db.records import NewLabelling, TripletSetRecord
from themescope.db.repositories.failures import CollectedFailure as CollectedFailure
from themescope.db.repositories.runs import Margins
from themescope.db.store import Store
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.labelling.starts import allowing_several, begin, from_nothing

TRIPLET, SENTENCE, DISAGREEMENT = "wrong triplet", "misplaced sentence", "disagreement"
"""Kinds of failures."""
MOST_DRAWN = 2_000
"""Maximum number of failures that are collected at once."""
LEAD = "(no heading)"


class Collected(NamedTuple):
    """Failures that are in the corpus of their project now."""

    corpus: CorpusRecord
    sentences: Ids
    """The sentence (n,) of each failure."""
    new: int
    """Number of failures that were not there before."""


def collect(
    store: Store, project_id: int, batch: str, found: Sequence[CollectedFailure], person: str, about: str = ""
) -> Collected:
    """Add failures of a project to its corpus of failures; those that are there under the same batch stay as they are.

    Raises ``DataError`` without failures or with too many, and ``AccessError`` if the person may only view.
    """
    if not 0 < len(found) <= MOST_DRAWN:
        raise DataError(f"Choose 1 to {MOST_DRAWN:,} failures; these are {len(found):,}.")
    with store.writing() as w:
        w.people.check_may_write(person)
        project = w.corpora.get(project_id)
        if project.failures_of:
            raise DataError(f"{project.name!r} has collected failures itself. Label them.")
        return Collected(*w.failures.add(project, batch, found, person, about=about))


def coding_of(store: Store, corpus: CorpusRecord, person: str) -> LabellingRecord:
    """Return the person's own labelling of all collected failures, which is made or extended where that is needed.

    What several people code is hidden from each other by a blind task, until its maker or an admin closes it.
    """

    def blind() -> dict[str, LabellingRecord]:
        with store.reading() as r, r.seeing_all():
            listed = [one for one in r.labellings.list(corpus.id) if one.blind and not one.article_id]
        return {one.owner: one for one in reversed(listed) if one.kind is Sharing.OWN}

    own = blind().get(person)
    if own is None:
        new = NewLabelling(corpus.id, f"{corpus.name} · {person or 'me'}", person, blind=True)
        own = begin(store, new, allowing_several(from_nothing))
    else:
        LabellingSession(store, own.id, person).extend()
    coding = {owner: one.id for owner, one in blind().items()}
    with store.writing() as w:
        w.failures.hide(w.corpora.get(corpus.id), coding)
    return own


def triplets(
    store: Store, of: TripletSetRecord, ids: Ids, margins: Mapping[str, Margins], link: Callable[[int], str]
) -> list[CollectedFailure]:
    """Return triplets (n,) of a set as failures of the models that have them wrong, by the margins (n,) of each."""
    with store.reading() as r:
        cards = r.triplets.cards(ids)
    found = []
    for row, card in enumerate(cards):
        known = {name: round(float(m[row]), 6) for name, m in margins.items() if math.isfinite(m[row])}
        wrong = tuple(name for name, margin in known.items() if margin < 0)
        text = f"Pivot: {card.pivot}\nPositive: {card.positive}\nNegative: {card.negative}"
        # Titles of sections are no sentences.
        ids_of = (card.pivot_id, card.positive_id, card.negative_id)[: 3 if of.kind == "sentences" else 1]
        where, placed = f"triplet set {of.name}, {card.split.value} split", card.negative_section if wrong else ""
        about = (wrong, known, placed, card.article, card.pivot_section, link(card.id))
        found.append(CollectedFailure(TRIPLET, text, where, ids_of, *about))
    return found


def sentences(
    store: Store,
    ids: Iterable[int],
    kind: str,
    source: str,
    placed: Mapping[int, str],
    link: str,
    models: tuple[str, ...] = (),
    of_people: bool = False,
) -> list[CollectedFailure]:
    """Return sentences as failures, in their order; ``placed`` says where models, or labellings of people, placed each.

    Raises ``DataError`` for labels of people while a blind task hides them from each other: everybody reads failures.
    """
    wanted = list(dict.fromkeys(ids))
    with store.reading() as r:
        known = r.corpora.sentences_by_id(wanted)
        articles = r.corpora.articles_by_id({sentence.article_id for sentence in known.values()})
        corpora = {article.corpus_id for article in articles.values()} if of_people else set()
        for task in (one for id in corpora for one in r.tasks.list(id) if one.blind and one.closed is None):
            if any(item.article_id in articles for item in r.tasks.items(task.id)):
                raise DataError(f"The blind task {task.name!r} is open, and errors show labels. Close the task first.")
        sections = {(id, s.position): s.title for id, of in r.corpora.sections_of(articles).items() for s in of}
    found = []
    for one in (known[id] for id in wanted if id in known):
        title, section = articles[one.article_id].title, sections.get((one.article_id, one.section), "")
        about = (placed.get(one.id, ""), title, section, link)
        found.append(CollectedFailure(kind, one.text, source, (one.id,), models, {}, *about))
    return found


@dataclass(frozen=True, slots=True)
class Failing:
    """All failures of a run: an evaluation on triplets, or a clustering of a benchmark."""

    run: RunRecord
    name: str
    """Where the model failed, such as "default on Rivers (test)"."""
    model: str
    ids: Ids
    """(n,) ids of triplets, or of sentences."""


def failing(store: Store, run: RunRecord, name: str) -> Failing:
    """Return the triplets that a model has wrong, or the sentences outside the cluster that matches their section.

    Clusters are matched to the sections of an article one-to-one by largest overlap.
    """
    with store.reading() as r:
        model = r.models.get(run.model_id).name if run.model_id is not None else run.clusterer
        if run.kind == "triplets":
            ids, margins = r.runs.margins(run.id, Split(run.config["split"]))
            return Failing(run, name, model, np.sort(ids[margins < 0]))
        labels, items = r.runs.labels(run.id), r.benchmarks.items(run.benchmark_id or 0)
    parts = [
        i.sentence_ids[match_clusters(i.truth, labels[i.article_id]).moved] for i in items if i.article_id in labels
    ]
    return Failing(run, name, model, np.concatenate([np.empty(0, np.int64), *parts]))


def collect_sample(
    store: Store, project_id: int, of: Failing, size: int, seed: int, person: str, link: Callable[[str], str]
) -> Collected:
    """Collect ``size`` failures drawn at random; ``link`` gives page and query of a triplet id, or an article's title.

    Raises ``DataError`` if there are no failures, or the size is not between 1 and :data:`MOST_DRAWN`.
    """
    if not len(of.ids):
        raise DataError(f"{of.name} has no failures.")
    size = min(size, len(of.ids))
    if not 1 <= size <= MOST_DRAWN:
        raise DataError(f"A sample has 1 to {MOST_DRAWN:,} failures.")
    drawn = np.random.default_rng(seed).choice(of.ids, size, replace=False)
    if of.run.kind == "triplets":
        with store.reading() as r:
            chosen = r.triplets.get(of.run.triplet_set_id or 0)
            margins = {of.model: r.runs.margins_of(drawn, [of.run.id])[of.run.id]}
        found = triplets(store, chosen, drawn, margins, lambda id: link(str(id)))
    else:
        found = _misplaced(store, of, drawn, link)
    batch = f"{size:,} of {len(of.ids):,} failures of {of.name}"
    about = f"Random sample of {len(of.ids):,} failures with seed {seed}"
    return collect(store, project_id, batch, found, person, about)


def _misplaced(store: Store, of: Failing, drawn: Ids, link: Callable[[str], str]) -> list[CollectedFailure]:
    with store.reading() as r:
        labels, items = r.runs.labels(of.run.id), r.benchmarks.items(of.run.benchmark_id or 0)
        articles = r.corpora.articles_by_id({s.article_id for s in r.corpora.sentences_by_id(drawn).values()})
        sections = r.corpora.sections_of(articles)
    found = dict[int, CollectedFailure]()
    for item in items:
        if item.article_id not in articles:
            continue
        own, names = labels[item.article_id], {s.position: s.title or LEAD for s in sections[item.article_id]}
        counts = Counter(zip(own.tolist(), item.truth.tolist(), strict=True))
        most = {label: section for (label, section), _ in reversed(counts.most_common()) if label != UNASSIGNED}
        placed = {
            id: f"in a cluster that is mostly “{names.get(most.get(label, UNASSIGNED), 'no cluster')}”"
            for id, label in zip(item.sentence_ids.tolist(), own.tolist(), strict=True)
        }
        here = [id for id in drawn.tolist() if id in placed]
        address = link(articles[item.article_id].title)
        listed = sentences(store, here, SENTENCE, f"clustering {of.name}", placed, address, (of.model,))
        found |= zip(here, listed, strict=True)
    return [found[id] for id in drawn.tolist()]
