"""Gold items are read with the labelling."""

from tests.db.texts import add_corpus
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.task_items import TrainingItem, items_of
from themescope.db.records import NewLabelling
from themescope.db.store import Store, Unit
from themescope.jobs.services.labelling import files, starts
from themescope.jobs.services.labelling.session import LabellingSession


def started(store: Store) -> LabellingSession:
    corpus = add_corpus(store)
    record = starts.begin(store, NewLabelling(corpus.id, "gold", "lea"), starts.from_sections)
    return LabellingSession(store, record.id, "lea")


def items(r: Unit, labelling: int) -> list[TrainingItem]:
    return items_of(r.labellings.entries(labelling), r.labellings.clusters(labelling))


def test_items_follow_the_labelling_and_its_export(store: Store) -> None:
    session = started(store)
    placed = session.partition.ids[session.partition.numbers > 0][:3].tolist()
    session.do(book.choose_training(session.partition, ["a", "b", "c"], placed, "see the rules"))
    with store.reading() as r:
        found = items(r, session.record.id)
    assert [item.sentence for item in found] == placed and {item.explanation for item in found} == {"see the rules"}
    lines = files.export_lines(store, session.record.id).splitlines(True)
    again = files.import_lines(store, session.record.corpus_id, lines, "x")
    with store.reading() as r:
        assert items(r, again.id) == found
    session.do(op.delete(session.partition, found[0].cluster))
    with store.reading() as r:
        assert len(items(r, session.record.id)) < 3
    session.undo()
    session.undo()
    with store.reading() as r:
        assert items(r, session.record.id) == []
