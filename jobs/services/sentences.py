"""Sentences with the titles of their articles and sections, and checks that objects exist.

Errors are those of :mod:`themescope.core.errors`; an unknown id is an ``UnknownNameError``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from themescope.core import types
from themescope.core.errors import UnknownNameError
from themescope.core.records.answers import LocatedSentence
from themescope.core.records.stored import CorpusRecord
from themescope.db.store import Unit


def known_corpus(r: Unit, corpus_id: int) -> CorpusRecord:
    """Return a corpus whose import is finished; raise ``UnknownNameError`` if there is none."""
    record = r.corpora.get(corpus_id)
    if not record.ready:
        raise UnknownNameError("corpus", str(corpus_id), [str(known.id) for known in r.corpora.list()])
    return record


def check_corpus(r: Unit, corpus_id: int | None) -> None:
    """Raise ``UnknownNameError`` for a corpus by which a list is filtered, and which does not exist."""
    if corpus_id is not None:
        known_corpus(r, corpus_id)


def known_sentence(r: Unit, sentence_id: int) -> types.Sentence:
    """Return a sentence; raise ``UnknownNameError`` if there is none, or it was removed."""
    found = r.corpora.sentences_by_id([sentence_id]).get(sentence_id)
    if found is None or not len(r.maps.places(np.array([sentence_id])).ids):
        raise UnknownNameError("sentence", str(sentence_id), None if r.corpora.list() else ())
    return found


def sentences_of_ids(r: Unit, ids: Iterable[int]) -> dict[int, LocatedSentence]:
    """Return sentences with their titles by id; missing ids are skipped."""
    return {s.id: s for s in located_sentences(r, [*r.corpora.sentences_by_id(ids).values()])}


def located_sentences(r: Unit, found: Sequence[types.Sentence]) -> list[LocatedSentence]:
    """Return sentences with the titles of their articles and sections."""
    ids = sorted({s.article_id for s in found})
    known = r.corpora.articles_by_id(ids)
    titles = {(id, s.position): s.title for id, of in r.corpora.sections_of(ids).items() for s in of}
    return [
        LocatedSentence(
            id=s.id,
            text=s.text,
            article_id=s.article_id,
            article=known[s.article_id].title,
            section=titles.get((s.article_id, s.section), ""),
            position=s.position,
            paragraph=s.paragraph,
            start=s.start,
        )
        for s in found
    ]
