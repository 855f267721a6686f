from pathlib import Path

import numpy as np

from tests.homes import CopyHome
from tests.jobs.test_kinds import do
from themescope.core.labelling import operations as op
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Split, split_of_title
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

MODEL = "static-wikipedia"


def labelling(
    store: Store, split: Split = Split.TRAIN, each: int = 3, owner: str = "Ada"
) -> tuple[LabellingRecord, LabellingSession]:
    """A labelling of one article that began without clusters, in which somebody placed sentences of four sections."""
    with store.reading() as r:
        corpus = r.corpora.by_name("C")
        article = next(a for a in r.corpora.articles(corpus.id) if split_of_title(a.title) is split)
        sentences = r.corpora.sentences(article.id)
    record = starts.begin(store, NewLabelling(corpus.id, "mine", owner, article_id=article.id), starts.from_nothing)
    session = LabellingSession(store, record.id, owner)
    for section in range(2, 6):
        ids = np.array([s.id for s in sentences if s.section == section][:each], dtype=np.int64)
        session.do(op.create(session.partition, session.next_number, f"Part {section}", ids))
    return record, session


def test_the_rest_is_predicted_and_the_labels_stay(copy_home: CopyHome, embedded_home: Path) -> None:
    store = copy_home(embedded_home)
    record, session = labelling(store, each=6)
    before = session.partition.to_bytes()
    result = do(store, "predict-labels", labelling="mine")
    with store.reading() as r:
        stored = r.predictions.newest(record.id)
        assert stored is not None and r.labellings.snapshot(record.id).partition.to_bytes() == before
        ids, probabilities = r.predictions.values(stored.id)
    assert (stored.model, stored.labels, stored.step) == (MODEL, 24, session.snapshot.step)
    assert stored.codes == tuple(sorted(session.partition.clusters)) and result["predicted"] == len(ids) - 24
    assert len(ids) == record.sentences == stored.sentences and (np.diff(ids) > 0).all()
    assert probabilities.shape == (len(ids), 4) and np.allclose(probabilities.sum(1), 1, atol=0.01)
    assert stored.report["accuracy"]["value"] == result["accuracy"] and len(stored.report["codes"]) == 4
    do(store, "predict-labels", labelling="mine", seed=1)
    with store.reading() as r:
        again = r.predictions.newest(record.id)
    assert again is not None and again.id != stored.id
