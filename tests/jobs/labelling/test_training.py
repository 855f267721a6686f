"""Training items are read with the labelling, and attempts are kept for each person."""

import numpy as np
import pytest

from tests.db.texts import add_corpus
from themescope.core.errors import DataError
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import operations as book
from themescope.db.label_records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import codebook as training
from themescope.jobs.services.labelling import files, starts
from themescope.jobs.services.labelling.session import LabellingSession


def started(store: Store) -> LabellingSession:
    corpus = add_corpus(store)
    record = starts.begin(store, NewLabelling(corpus.id, "gold", "lea"), starts.from_sections)
    return LabellingSession(store, record.id, "lea")


def test_items_follow_the_labelling_and_its_export(store: Store) -> None:
    session = started(store)
    placed = session.partition.ids[session.partition.numbers > 0][:3].tolist()
    session.do(book.choose_training(session.partition, ["a", "b", "c"], placed, "see the rules"))
    with store.reading() as r:
        found = training.items(r, session.record.id)
    assert [item.sentence for item in found] == placed and {item.explanation for item in found} == {"see the rules"}
    lines = files.export_lines(store, session.record.id).splitlines(True)
    again = files.import_lines(store, session.record.corpus_id, lines, "x")
    with store.reading() as r:
        assert training.items(r, again.id) == found
    session.do(op.delete(session.partition, found[0].cluster))
    with store.reading() as r:
        assert len(training.items(r, session.record.id)) < 3
    session.undo()
    session.undo()
    with store.reading() as r:
        assert training.items(r, session.record.id) == []


def test_attempts_are_kept_by_person(store: Store) -> None:
    id = started(store).record.id
    training.record_attempt(store, id, "ben", [(1, 1, 1), (2, 2, 1)])
    training.record_attempt(store, id, "ben", [(1, 1, 1), (2, 1, 1)])
    training.record_attempt(store, id, "ana", [(1, 2, 1)])
    with store.reading() as r:
        ana, ben = training.progress(r, id)
        assert [p.person for p in training.progress(r, id, "ben")] == ["ben"]
    assert (ana.last.value, ben.best.value, len(ben.attempts)) == (0.0, 1.0, 2)
    assert ben.attempts[0].answers == ((1, 1, 1), (2, 2, 1)) and ben.attempts[0].correct == 1
    assert ben.last.low < 1.0 and np.isclose(ben.last.high, 1.0)
    with pytest.raises(DataError):
        training.record_attempt(store, id, "ben", [])
