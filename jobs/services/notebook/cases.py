"""Cases from triplets and from sentences, with the facts of the moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
from themescope.core.types import Ids
from themescope.db.notebook_records import NewCase
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
