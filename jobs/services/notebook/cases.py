"""Cases from triplets and from sentences, with the facts of the moment, and random samples of failures.

Shares of categories in a sample of the failures of a model (wrong triplets, or sentences in the wrong cluster) estimate
the shares among all of them, which those of cases that people picked do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from themescope.core.errors import DataError
from themescope.core.labelling.error_cases import (
    MOST_PASSAGES,
    MOST_SENTENCES,
    NEGATIVE,
    PIVOT,
    POSITIVE,
    CaseFacts,
    CaseKind,
    Passage,
    facts_of,
)
from themescope.core.metrics.matching import UNASSIGNED, match_clusters
from themescope.core.records.stored import RunRecord
from themescope.core.types import BenchmarkItem, Ids, Labels, Split
from themescope.db.label_records import ErrorSample, NewCase
from themescope.db.records import TripletCard, TripletSetRecord
from themescope.db.store import Store

_IN_TEXT = 2_000
"""Maximum length of a sentence in a case in characters."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about some sentences, and where."""

    source: str
    """Where it was found, such as "labelling Rivers"."""
    models: Sequence[str] = ()
    """Models that placed the sentences."""
    predicted: str = ""
    """Section or cluster that they were placed in, if it is one."""
    placed: Mapping[int, str] = field(default_factory=dict)
    """Sentence id → where it was placed."""


def triplet_case(triplet: TripletCard, of: TripletSetRecord, margins: Mapping[str, float], permalink: str) -> NewCase:
    """Return a triplet as a case of the models that are wrong on it; ``margins`` are those of all evaluated models."""
    texts = (
        (PIVOT, triplet.pivot, triplet.pivot_section),
        (POSITIVE, triplet.positive, triplet.pivot_section),
        (NEGATIVE, triplet.negative, triplet.negative_section),
    )
    passages = [Passage(text[:_IN_TEXT], triplet.article, section, role) for role, text, section in texts]
    wrong = [name for name, margin in margins.items() if margin < 0]
    source = f"triplet set {of.name}, {triplet.split.value} split"
    ids = (triplet.pivot_id, triplet.positive_id, triplet.negative_id)
    # Titles of sections are no sentences.
    kept = ids if of.kind == "sentences" else ids[:1]
    facts = facts_of(source, passages, wrong, margins, triplet.negative_section if wrong else "")
    return NewCase(of.corpus_id, CaseKind.TRIPLET, kept, facts, permalink)


def sentence_case(
    store: Store, corpus_id: int, ids: Iterable[int] | Ids, found: Finding, permalink: str, kind: CaseKind | None = None
) -> NewCase:
    """Return sentences as one case, in their order; by default a sentence or a group.

    Raises :class:`DataError` without sentences of the corpus.
    """
    wanted = tuple(dict.fromkeys(int(i) for i in ids))
    if len(wanted) > MOST_SENTENCES:
        raise DataError(f"A case has at most {MOST_SENTENCES:,} sentences; these are {len(wanted):,}. Select fewer.")
    passages = _passages(store, corpus_id, wanted[:MOST_PASSAGES], found.placed)
    if not passages:
        raise DataError("Select sentences of this project first.")
    kind = kind or (CaseKind.SENTENCE if len(wanted) == 1 else CaseKind.GROUP)
    facts = CaseFacts(found.source, tuple(passages), tuple(found.models), {}, found.predicted, len(wanted))
    return NewCase(corpus_id, kind, wanted, facts, permalink)


def _passages(store: Store, corpus_id: int, ids: Sequence[int], placed: Mapping[int, str]) -> list[Passage]:
    with store.reading() as r:
        known = r.corpora.sentences_by_id(ids)
        articles = sorted({s.article_id for s in known.values()})
        titles = {id: a.title for id, a in r.corpora.articles_by_id(articles).items() if a.corpus_id == corpus_id}
        sections = {(id, s.position): s.title for id, of in r.corpora.sections_of(articles).items() for s in of}
    found = [known[i] for i in ids if i in known and known[i].article_id in titles]
    return [
        Passage(
            s.text[:_IN_TEXT],
            titles[s.article_id],
            sections.get((s.article_id, s.section), ""),
            placed=placed.get(s.id, ""),
        )
        for s in found
    ]


MOST_DRAWN = 500
LEAD = "(no heading)"


@dataclass(frozen=True, slots=True)
class Failures:
    """All failures of a run."""

    run: RunRecord
    name: str
    """Where the model failed, such as "default on Rivers (test)"."""
    model: str
    ids: Ids
    """(n,) ids of triplets, or of sentences."""
    permalink: Callable[[str], str]
    """Returns page and query of a triplet by its id, or of an article by its title."""


def failures(store: Store, run: RunRecord, name: str, permalink: Callable[[str], str]) -> Failures:
    """Return the triplets that a model has wrong, or the sentences outside the cluster that matches their section.

    ``run`` is an evaluation on triplets or a clustering of a benchmark. Clusters are matched to the sections of an
    article one-to-one by largest overlap.
    """
    with store.reading() as r:
        model = r.models.get(run.model_id).name if run.model_id is not None else run.clusterer
        if run.kind == "triplets":
            ids, margins = r.runs.margins(run.id, Split(run.config["split"]))
            return Failures(run, name, model, np.sort(ids[margins < 0]), permalink)
        labels, items = r.runs.labels(run.id), r.benchmarks.items(run.benchmark_id or 0)
    parts = [
        i.sentence_ids[match_clusters(i.truth, labels[i.article_id]).moved] for i in items if i.article_id in labels
    ]
    return Failures(run, name, model, np.concatenate([np.empty(0, np.int64), *parts]), permalink)


def draw(store: Store, corpus_id: int, of: Failures, size: int, seed: int, person: str) -> ErrorSample:
    """Add ``size`` failures, drawn at random without replacement, to the error notebook; return the sample.

    Raises :class:`DataError` if there are no failures, or the size is not between 1 and :data:`MOST_DRAWN`.
    """
    if not len(of.ids):
        raise DataError(f"{of.name} has no failures.")
    if not 1 <= size <= MOST_DRAWN:
        raise DataError(f"A sample has 1 to {MOST_DRAWN} failures.")
    size = min(size, len(of.ids))
    drawn = np.random.default_rng(seed).choice(of.ids, size, replace=False)
    found = _triplets(store, of, drawn) if of.run.kind == "triplets" else _sentences(store, corpus_id, of, drawn)
    name = f"{size:,} of {len(of.ids):,} failures of {of.name}"
    with store.writing() as w:
        sample = w.error_notebook.add_sample(corpus_id, name, of.model, len(of.ids), seed, person)
        for new in found:
            w.error_notebook.add(new, person, sample_id=sample.id)
    return sample


def _triplets(store: Store, of: Failures, drawn: Ids) -> list[NewCase]:
    with store.reading() as r:
        chosen = r.triplets.get(of.run.triplet_set_id or 0)
        cards = r.triplets.cards(drawn)
        names = {m.id: m.name for m in r.models.list()}
        compared = _plain_runs(r.runs.list(triplet_set_id=chosen.id, kind="triplets"), of.run)
        runs = {run.id: names[run.model_id] for run in compared if run.model_id in names}
        margins = r.runs.margins_of(drawn, list(runs))
    by_name = {name: margins[id] for id, name in runs.items() if id in margins}
    order = {int(id): row for row, id in enumerate(drawn)}
    return [
        triplet_case(
            card,
            chosen,
            {name: float(values[order[card.id]]) for name, values in by_name.items()},
            of.permalink(str(card.id)),
        )
        for card in cards
    ]


def _plain_runs(runs: Sequence[RunRecord], own: RunRecord) -> list[RunRecord]:
    """Return the newest evaluation by distance of each model on the split of ``own``, and ``own`` itself."""
    newest: dict[int, RunRecord] = {}
    for run in runs:
        plain = "relatedness" not in run.config and not run.config.get("context")
        if plain and run.config.get("split") == own.config.get("split") and run.model_id is not None:
            newest[run.model_id] = run
    if own.model_id is not None:
        newest[own.model_id] = own
    return [*newest.values()]


def _sentences(store: Store, corpus_id: int, of: Failures, drawn: Ids) -> list[NewCase]:
    with store.reading() as r:
        labels, items = r.runs.labels(of.run.id), r.benchmarks.items(of.run.benchmark_id or 0)
        known = r.corpora.sentences_by_id(drawn)
        sections = r.corpora.sections_of(sorted({s.article_id for s in known.values()}))
        titles = {id: a.title for id, a in r.corpora.articles_by_id(list(sections)).items()}
    placed: dict[int, tuple[str, str]] = {}
    for item in items:
        if item.article_id in sections:
            names = {s.position: s.title or LEAD for s in sections[item.article_id]}
            majority = _majority(item, labels[item.article_id])
            for id, label in zip(item.sentence_ids.tolist(), labels[item.article_id].tolist(), strict=True):
                placed[id] = (names.get(majority.get(label, UNASSIGNED), "no cluster"), titles[item.article_id])
    found = []
    for id in drawn.tolist():
        where, article = placed[id]
        about = Finding(f"clustering {of.name}", (of.model,), f"in a cluster that is mostly “{where}”", {})
        found.append(sentence_case(store, corpus_id, [id], about, of.permalink(article), CaseKind.SENTENCE))
    return found


def _majority(item: BenchmarkItem, labels: Labels) -> dict[int, int]:
    """Return cluster → position of the section that most of its sentences are from."""
    counts: dict[int, Counter[int]] = {}
    for label, section in zip(labels.tolist(), item.truth.tolist(), strict=True):
        counts.setdefault(label, Counter())[section] += 1
    return {label: found.most_common(1)[0][0] for label, found in counts.items() if label != UNASSIGNED}
