"""What is learned from labels."""

from pathlib import Path

import numpy as np
import pytest

from tests.homes import CopyHome
from tests.jobs.test_kinds import do
from themescope.core.errors import AccessError, DataError
from themescope.core.labelling import operations as op
from themescope.core.records.stored import LabellingRecord, Role
from themescope.core.types import Sentence, Split, split_of_title
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.common.labelled import judged_pairs, judged_sentences
from themescope.jobs.common.vectors import load_model
from themescope.jobs.services.labelling import metrics, starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.search import query_vector, vectors_of

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


def test_a_metric_is_kept_as_a_model_with_vectors_and_embeds_new_text(embedded_home: Path, copy_home: CopyHome) -> None:
    store = copy_home(embedded_home)
    record, session = labelling(store, each=5)
    with store.reading() as r:
        base = r.models.by_name(MODEL)
    assert metrics.usable_bases([base]) == [base]
    learned = metrics.learn_from_labels(store, record, session.partition, base)
    assert learned.sentences == 20 and learned.on_sentences is not None and learned.on_articles is None
    with store.writing() as w:
        w.people.set_role("Ada", Role.ADMIN, "Ada")
    before = sorted(store.settings.home.rglob("artifacts/*"))
    with pytest.raises(AccessError):
        metrics.keep(store.by(lambda: "Ben"), record, learned)
    assert sorted(store.settings.home.rglob("artifacts/*")) == before, "nothing was written for a labeller"
    model = metrics.keep(store, record, learned)
    assert metrics.keep(store, record, learned) == model and metrics.usable_bases([model]) == []
    assert model.metrics["labelling"] == "mine" and model.metrics["judged sentences"] == 20
    ids = session.partition.ids
    x, stored = vectors_of(store, base.id, ids), vectors_of(store, model.id, ids)
    assert np.allclose(stored, metrics.moved(learned, x), atol=2e-3)
    with store.reading() as r:
        sentence = r.corpora.sentences_by_id(ids[:1])[int(ids[0])]
    found = query_vector(store, model, sentence.text)
    assert np.allclose(found[0], stored[0], atol=5e-3)
    fitted, info = load_model(store, model)
    assert info["record"]["models"] == [base.digest] and info["record"]["train_titles"]
    assert fitted.embed([Sentence("Zyxwv.")]).shape == (1, x.shape[1])
    after = metrics.preview(session.partition, x, learned, judged_pairs(store, record, session.partition).placed)
    before = session.partition.to_bytes()
    assert session.do(metrics.use(session.partition, model, learned, after)) is not None
    assert metrics.model_in_use(store, session.partition) == model
    with store.reading() as r:
        assert len(judged_sentences(r, record, session.partition)) == 20
    session.undo()
    assert session.partition.to_bytes() == before and metrics.model_in_use(store, session.partition) is None


def test_articles_of_the_test_split_are_not_learned_from(embedded_home: Path, copy_home: CopyHome) -> None:
    store = copy_home(embedded_home)
    record, session = labelling(store, Split.TEST, each=5)
    with store.reading() as r:
        base = r.models.by_name(MODEL)
    with pytest.raises(DataError, match="test split are not used"):
        metrics.learn_from_labels(store, record, session.partition, base)


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


def test_too_few_labels_are_a_clear_error(copy_home: CopyHome, embedded_home: Path) -> None:
    store = copy_home(embedded_home)
    labelling(store, each=2)
    with pytest.raises(DataError, match=r"There are 8 labels of 4 codes\. Label at least 10"):
        do(store, "predict-labels", labelling="mine")
