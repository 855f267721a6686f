"""Sentence vectors of a corpus as a job: trained end to end, cut off and resumed, built upon by other methods."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.jobs.helpers import write_articles
from tests.tiny_encoder import NEEDS_ENCODER, write_encoder
from themescope.core.errors import Cancelled
from themescope.core.models import REGISTRY
from themescope.core.models.con_s2v import training
from themescope.core.types import Corpus, NullReport
from themescope.db.store import Store
from themescope.jobs.common.articles import TrainingSentences
from themescope.jobs.common.job import JobContext, Stop
from themescope.jobs.common.vectors import load_model
from themescope.jobs.queue.runner import resume_here, run_here

SMALL = {"dim": 8, "epochs": 4, "threads": 1, "checkpoint_seconds": 0}


def do(store: Store, kind: str, /, **args: Any) -> dict[str, Any]:
    return run_here(store, kind, args, quiet=True)


@pytest.fixture
def corpus(sqlite_store: Store, tmp_path: Path) -> Store:
    do(sqlite_store, "import-corpus", files=[str(write_articles(tmp_path, 12))], corpus="C")
    return sqlite_store


def train(store: Store, method: str, name: str, models: tuple[str, ...] = (), **settings: Any) -> dict[str, Any]:
    args = {"method": method, "name": name, "corpus": "C", "models": list(models)}
    return do(store, "train", settings=settings, **args)


def test_every_sentence_of_the_corpus_gets_its_own_vector(corpus: Store) -> None:
    done = train(corpus, "con-s2v-dis", "con", **SMALL)
    with corpus.reading() as r:
        record, model = r.corpora.by_name("C"), r.models.by_name("con")
        sentences = list(TrainingSentences(corpus, record, everything=True))
    assert done["metrics"]["training sentences"] == record.sentences
    assert {"content loss", "neighbour loss", "words/s"} <= set(model.metrics)
    fitted, info = load_model(corpus, model)
    assert np.asarray(fitted.embed(sentences)).any(axis=1).all()
    assert len(info["record"]["train_titles"]) == record.articles
    assert train(corpus, "con-s2v-dis", "again", **SMALL)["cached"]
    assert do(corpus, "embed", corpus="C", model="con")["embedded"] == record.articles


@NEEDS_ENCODER
def test_sentences_that_an_encoder_reads_in_part_are_counted(corpus: Store, tmp_path: Path) -> None:
    (folder := tmp_path / "encoder").mkdir()
    write_encoder(folder, ["the"])
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8}', "utf-8")
    do(corpus, "train", method="minilm", name="short", settings={"folder": str(folder), "device": "cpu"})
    done = do(corpus, "embed", corpus="C", model="short")
    assert 0 < done["cut_off"] <= done["sentences"]
    assert do(corpus, "embed", corpus="C", model="short")["cut_off"] == 0  # nothing is embedded again


def test_other_methods_build_on_a_trained_model(corpus: Store) -> None:
    train(corpus, "sen2vec", "content", **SMALL)
    similar = train(corpus, "con-s2v-sim", "sim", ("content",), **SMALL)
    alone = train(corpus, "con-s2v-sim", "sim alone", **SMALL)
    assert similar["digest"] != alone["digest"]
    train(corpus, "ret-dis", "ret", ("content",), **SMALL)
    train(corpus, "tfidf", "words")
    train(corpus, "smoothed", "smooth words", ("words",), lsa=5)
    for name in ("ret", "sim", "smooth words"):
        assert do(corpus, "embed", corpus="C", model=name)["embedded"] == 12


def test_cancelled_and_taken_up_again_it_ends_as_if_nothing_had_happened(
    corpus: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "BLOCK_WORDS", 1_000)
    args = {"method": "con-s2v-dis", "name": "cut", "corpus": "C", "settings": SMALL}
    messages: list[str] = []
    progress = JobContext.progress

    def cancelling(context: JobContext, done: float, total: float, message: str = "") -> None:
        messages.append(message)
        if sum("epoch" in said for said in messages) == 12:
            context.stop(Stop.CANCEL)
        progress(context, done, total, message)

    with monkeypatch.context() as patched:
        patched.setattr(JobContext, "progress", cancelling)
        with pytest.raises(Cancelled):
            do(corpus, "train", **args)
    before = sum("epoch" in said for said in messages)
    messages.clear()
    with monkeypatch.context() as patched:
        patched.setattr(JobContext, "progress", lambda *given: (messages.append(given[-1]), progress(*given))[1])
        resume_here(corpus, "train", args, quiet=True)
    with corpus.reading() as r:
        sentences = TrainingSentences(corpus, r.corpora.by_name("C"), everything=True)
        curve = r.jobs.metrics(r.jobs.list(limit=1)[0].id)
        found, _ = load_model(corpus, r.models.by_name("cut"))
    whole = REGISTRY.build("con-s2v-dis", SMALL, seed=0)
    undisturbed = Blocks()
    whole.fit(Corpus(sentences=sentences), undisturbed)
    assert before - 1 + sum("epoch" in said for said in messages) == undisturbed.blocks
    assert np.array_equal(found.embed(sentences), whole.embed(sentences))
    assert {point.name for point in curve} == {"content loss", "neighbour loss"}


class Blocks(NullReport):
    """Counts the blocks of a training."""

    blocks = 0

    def progress(self, done: float, total: float, message: str = "") -> None:
        self.blocks += "epoch" in message
