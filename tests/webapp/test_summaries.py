"""The Summaries page: empty states, methods side by side, ROUGE-1 against a pasted summary, collections."""

import json
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, MODEL
from tests.webapp.hands import words_of
from themescope.core.records.stored import JobStatus, ScoreRecord
from themescope.db.records import VectorBlock
from themescope.db.store import Store
from themescope.jobs.queue.foreground import run_here

Open = Callable[..., AppTest]


@pytest.fixture
def embedded(filled_store: Store) -> Store:
    """The filled store with vectors of the first article."""
    with filled_store.writing() as w:
        (first, *_) = w.corpora.articles(w.corpora.by_name(CORPUS).id)
        vectors = np.random.default_rng(0).normal(size=(first.sentences, 4)).astype(np.float32)
        w.embeddings.add(w.models.by_name(MODEL).id, [VectorBlock(first.id, vectors)])
    return filled_store


def test_methods_stand_side_by_side(embedded: Store, open_page: Open) -> None:
    at = open_page("summaries", corpus=CORPUS)
    assert not at.exception and not at.error
    assert len(at.text) == 3 and all(text.value.strip() for text in at.text)
    assert at.multiselect[0].value == ["LexRank on Tf-Idf", f"LexRank on {MODEL}", "Lead"]
    at.text_area(key="summaries_references").set_value(at.text[0].value).run()
    table = at.dataframe[0].value
    assert list(table.columns) == ["Method", "ROUGE-1 recall", "Precision", "F1"] and len(table) == 3
    assert table["ROUGE-1 recall"].iloc[0] == "1.000"


def test_collections_show_what_was_measured(filled_store: Store, open_page: Open) -> None:
    names = ("recall", "precision", "f1")
    for number, summarizer in enumerate(("lead", "random")):
        config = {"file": "d.jsonl", "words": 100, "summarizer": summarizer, "rouge": {"remove_stop_words": True}}
        scores = [ScoreRecord(0, None, f"ROUGE-1 {n}", 0.2 + number / 10, 0.1, 0.5, 85) for n in names]
        with filled_store.writing() as w:
            w.runs.add(kind="summaries", digest=f"s{number}", config=config, scores=scores)
    at = open_page("summaries", view="Collections")
    assert not at.exception
    table = at.dataframe[0].value
    assert table["Method"].tolist() == ["Random sentences", "Lead"] and "85 documents" in words_of(at)
    assert table["ROUGE-1 recall"].iloc[0] == ".300 [.100, .500]"


def test_a_collection_is_uploaded_and_evaluated_by_several_methods(filled_store: Store, open_page: Open) -> None:
    at = open_page("summaries", view="Collections")
    assert next(b for b in at.button if b.label == "Evaluate").disabled
    texts = ("The river is long. It flows to the sea. Boats sail on it.", "A town is old. It has a bridge.")
    lines = [json.dumps({"id": str(i), "text": text, "summary": text[:20]}) for i, text in enumerate(texts)]
    uploaded = ("rivers.jsonl", "\n".join(lines).encode(), "application/jsonl")
    at.file_uploader(key="summaries_collection").set_value(uploaded).run()
    at.multiselect(key="summaries_collection_methods").set_value(["Lead"]).run()
    at.multiselect(key="summaries_collection_models").set_value([MODEL]).run()
    next(b for b in at.button if b.label == "Evaluate").click().run()
    assert not at.exception and not at.error
    with filled_store.reading() as r:
        jobs = [job for job in r.jobs.list(status=JobStatus.QUEUED) if job.kind == "evaluate-summaries"]
    assert {(job.args["summarizer"], job.args.get("model", "")) for job in jobs} == {("lead", ""), ("lexrank", MODEL)}
    lead = next(job for job in jobs if job.args["summarizer"] == "lead")
    run_here(filled_store, "evaluate-summaries", dict(lead.args), quiet=True)
    at = open_page("summaries", view="Collections")
    assert at.dataframe[0].value["Method"].tolist() == ["Lead"] and "2 documents" in words_of(at)
