"""Models whose vectors depend on the other sentences of an article: what pages say and queue."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, MODEL, SET
from themescope.db.records import MapPoints
from themescope.db.store import Store

Open = Callable[..., AppTest]
WITHIN = "tfidf here"


@pytest.fixture
def store(filled_store: Store) -> Store:
    """The filled store with a model of tag ``per-article`` and a map by it."""
    with filled_store.writing() as w:
        model = w.models.add(name=WITHIN, method="tfidf", config={}, seed=0, digest="m2", artifact="a2", metrics={})
        corpus = w.corpora.by_name(CORPUS)
        ids = np.array([s.id for s in w.corpora.sentences(w.corpora.articles(corpus.id)[0].id)])
        points = MapPoints(ids, np.zeros((len(ids), 2), np.float32))
        w.maps.add(
            corpus_id=corpus.id, model_id=model.id, name="Within", config={}, seed=0, digest="p2", faithfulness=0.5,
            sampled_from=len(ids), points=points,
        )  # fmt: skip
    return filled_store


def captions(at: AppTest) -> str:
    assert not at.exception
    return " ".join(caption.value for caption in at.caption).replace("\\", "")


def test_such_a_model_is_evaluated_with_and_without_the_article(store: Store, open_page: Open) -> None:
    at = open_page("compare", tab="Triplet accuracy", triplets=SET)
    (models,) = [box for box in at.multiselect if WITHIN in box.options]
    models.set_value([WITHIN])
    at.run()
    (button,) = [button for button in at.button if button.label == "Evaluate"]
    button.click()
    at.run()
    with store.reading() as r:
        jobs = [job for job in r.jobs.list(limit=9) if job.kind == "evaluate-triplets"]
    assert sorted((job.args["model"], bool(job.args.get("context"))) for job in jobs) == [
        (WITHIN, False),
        (WITHIN, True),
    ]
    assert MODEL != WITHIN and {"with the article" in job.title for job in jobs} == {True, False}
