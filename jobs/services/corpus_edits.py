"""Remove waves and articles from a corpus, correct texts, and undo both.

Removed sentences leave the labellings by a step of their own, with their labels in the history, so that undo brings
them back as they were. Triplets, benchmarks, evaluations and collected failures keep them: they say what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from themescope.core.errors import ConflictError, DataError, UnknownNameError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ChangeSet, Field, Kind, SentenceChanges
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.records.stored import CorpusEditRecord, CorpusRecord, EditKind, LabellingRecord
from themescope.db.records import Draft
from themescope.db.repositories.corpus_edits import IMPORTED_DIGEST as IMPORTED_DIGEST
from themescope.db.repositories.corpus_edits import REMOVED_WAVES as REMOVED_WAVES
from themescope.db.store import Store, Unit
from themescope.jobs.common.columns import places_of, waves_of

TEXT_LIMIT = 100_000
"""Maximum number of characters of a corrected text."""
_REMOVED = {EditKind.WAVE: "a removed wave", EditKind.ARTICLES: "removed documents"}


@dataclass(frozen=True, slots=True)
class Undone:
    """Result of an undo."""

    edit: CorpusEditRecord
    unassigned: int
    """Number of labels that are not back, because their clusters no longer exist."""


def remove_wave(store: Store, corpus_id: int, wave: str, person: str) -> CorpusEditRecord:
    """Remove a wave; raise ``UnknownNameError`` for an unknown one, and ``DataError`` if nothing would be left."""
    with store.writing() as w:
        corpus = w.corpora.get(corpus_id)
        if wave not in (known := [one["name"] for one in waves_of(corpus)]):
            raise UnknownNameError("wave", wave, known)
        places = places_of(corpus, wave)
        found = [a.id for a in w.corpora.articles(corpus_id, limit=corpus.articles, positions=places)]
        return _removed(w, corpus, EditKind.WAVE, wave, found, person)


def remove_articles(store: Store, corpus_id: int, articles: Sequence[int], person: str) -> CorpusEditRecord:
    """Remove articles by id; raise ``DataError`` for an unknown one, or if nothing would be left."""
    with store.writing() as w:
        corpus = w.corpora.get(corpus_id)
        there = w.corpora.article_ids(corpus_id)
        if not articles or not np.isin(articles, there).all():
            raise DataError(f"Some of these articles are not in {corpus.name!r}. Load the page again.")
        title = w.corpora.article(articles[0]).title
        return _removed(w, corpus, EditKind.ARTICLES, title, articles, person)


def correct_text(store: Store, corpus_id: int, sentence_id: int, text: str, person: str) -> CorpusEditRecord:
    """Correct the text of a sentence; its labels stay, and the vectors of its article are computed anew when needed.

    Raises ``DataError`` for a sentence of another corpus, or a text that is empty, too long, or as before.
    """
    text = " ".join(text.split())
    with store.writing() as w:
        sentence = w.corpora.sentences_by_id([sentence_id]).get(sentence_id)
        article = None if sentence is None else w.corpora.article(sentence.article_id)
        if sentence is None or article is None or not np.isin(article.id, w.corpora.article_ids(corpus_id)):
            raise DataError(f"The project has no sentence {sentence_id}. Load the page again.")
        if not text:
            raise DataError("The corrected text is empty. To leave a document out, remove it.")
        if len(text) > TEXT_LIMIT:
            raise DataError(f"A text may have {TEXT_LIMIT:,} characters; this one has {len(text):,}.")
        if text == sentence.text:
            raise DataError("The text is the same as before.")
        return w.corpus_edits.correct(corpus_id, article.title, sentence, text, person)


def undo(store: Store, corpus_id: int, edit_id: int, person: str) -> Undone:
    """Undo an edit: removed sentences come back with their labels, and a corrected text is as before.

    Raises ``UnknownNameError`` for an edit of another corpus, and ``ConflictError`` if it is undone already, the text
    was corrected again since, or a wave of the same name was added.
    """
    with store.writing() as w:
        if edit_id not in (known := [edit.id for edit in w.corpus_edits.list(corpus_id)]):
            raise UnknownNameError("edit", str(edit_id), list(map(str, known)))
        edit, lost = w.corpus_edits.get(edit_id), 0
        done = w.corpus_edits.undo(edit_id)
        names = [wave["name"] for wave in waves_of(w.corpora.get(corpus_id))]
        if len(set(names)) < len(names):
            raise ConflictError(f"A wave called {edit.what!r} was added since. Remove that one, then undo this.")
        there = {record.id for record in _labellings(w, edit.corpus_id)}
        for labelling, step in w.corpus_edits.steps(edit_id).items():
            if labelling in there:
                snapshot, left = w.labellings.snapshot(labelling), w.label_steps.change_set(step)
                back = op.returned(snapshot.partition, left)
                summary = f"{_REMOVED[edit.kind].capitalize()} came back"
                draft = Draft(Kind.UNDO, op.OperationKind.WITHDRAW, summary, person, step)
                w.label_steps.append(labelling, draft, back, snapshot, of_corpus=True)
                lost += _labels(left.inverse()) - _labels(back)
    return Undone(done, lost)


def _removed(
    w: Unit, corpus: CorpusRecord, kind: EditKind, what: str, articles: Sequence[int], person: str
) -> CorpusEditRecord:
    if len(set(articles)) == corpus.articles:
        raise DataError(f"Nothing would be left in {corpus.name!r}. Delete the project instead.")
    ids = np.array(sorted(s.id for found in w.corpora.sentences_of(articles).values() for s in found), np.int64)
    # Labellings of a removed article are left out as a whole.
    listed = [record for record in _labellings(w, corpus.id) if record.article_id not in articles]
    edit = w.corpus_edits.remove(corpus.id, kind, what, np.array(sorted(set(articles)), np.int64), person)
    steps, labels = dict[int, int](), 0
    for record in listed:
        snapshot = w.labellings.snapshot(record.id)
        operation = op.withdraw(snapshot.partition, ids, _REMOVED[kind])
        if operation.change_set:
            draft = Draft(Kind.DO, operation.kind, operation.summary, person)
            step, _ = w.label_steps.append(record.id, draft, operation.change_set, snapshot, of_corpus=True)
            steps[record.id], labels = step.id, labels + _labels(operation.change_set.inverse())
    w.corpus_edits.set_steps(edit.id, steps, labels)
    return w.corpus_edits.get(edit.id)


def _labellings(w: Unit, corpus_id: int) -> list[LabellingRecord]:
    return [*w.labellings.list(corpus_id), *w.labellings.list(corpus_id, deleted=True)]


def _labels(change_set: ChangeSet) -> int:
    """Return the number of labels that a change set gives."""
    clusters = (c for c in change_set if isinstance(c, SentenceChanges) and c.field is Field.CLUSTER)
    return sum(int((np.asarray(change.new) != UNASSIGNED).sum()) for change in clusters)
