"""The job that predicts what nobody labelled: a layer beside the labels, which changes none of them."""

from pathlib import Path

import numpy as np
import pytest

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import write_articles
from tests.jobs.labelling.test_learning_from_labels import MODEL, labelling
from tests.jobs.test_kinds import do
from themescope.core.errors import DataError
from themescope.db.store import Store


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    articles = write_articles(tmp_path_factory.mktemp("files"), 12, paragraphs=8)

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[str(articles)], corpus="C")
        do(store, "embed", corpus="C", model=MODEL)

    return make_home(fill)


def test_the_rest_is_predicted_and_the_labels_stay(copy_home: CopyHome, home: Path) -> None:
    store = copy_home(home)
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


def test_too_few_labels_are_a_clear_error(copy_home: CopyHome, home: Path) -> None:
    store = copy_home(home)
    labelling(store, each=2)
    with pytest.raises(DataError, match=r"There are 8 labels of 4 codes\. Label at least 10"):
        do(store, "predict-labels", labelling="mine")
