"""Sentence vectors of a corpus as a job: trained end to end, built upon by other methods."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.jobs.test_kinds import do
from tests.tiny_encoder import NEEDS_ENCODER, write_encoder
from themescope.db.store import Store
from themescope.jobs.common.articles import TrainingSentences
from themescope.jobs.common.vectors import load_model

SMALL = {"dim": 8, "epochs": 4, "threads": 1, "checkpoint_seconds": 0}


def train(store: Store, method: str, name: str, models: tuple[str, ...] = (), **settings: Any) -> dict[str, Any]:
    args = {"method": method, "name": name, "corpus": "C", "models": list(models)}
    return do(store, "train", settings=settings, **args)


def test_every_sentence_of_the_corpus_gets_its_own_vector(twelve: Store) -> None:
    done = train(twelve, "con-s2v-dis", "con", **SMALL)
    with twelve.reading() as r:
        record, model = r.corpora.by_name("C"), r.models.by_name("con")
        curve = r.jobs.metrics(r.jobs.list(limit=1)[0].id)
        sentences = list(TrainingSentences(twelve, record, everything=True))
    assert done["metrics"]["training sentences"] == record.sentences
    assert {"content loss", "neighbour loss", "words/s"} <= set(model.metrics)
    assert {point.name for point in curve} == {"content loss", "neighbour loss"}
    fitted, info = load_model(twelve, model)
    assert np.asarray(fitted.embed(sentences)).any(axis=1).all()
    assert len(info["record"]["train_titles"]) == record.articles
    assert train(twelve, "con-s2v-dis", "again", **SMALL)["cached"]
    assert do(twelve, "embed", corpus="C", model="con")["embedded"] == record.articles


@NEEDS_ENCODER
def test_sentences_that_an_encoder_reads_in_part_are_counted(twelve: Store, tmp_path: Path) -> None:
    (folder := tmp_path / "encoder").mkdir()
    write_encoder(folder, ["the"])
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8}', "utf-8")
    do(twelve, "train", method="minilm", name="short", settings={"folder": str(folder), "device": "cpu"})
    done = do(twelve, "embed", corpus="C", model="short")
    assert 0 < done["cut_off"] <= done["sentences"]
    assert do(twelve, "embed", corpus="C", model="short")["cut_off"] == 0  # nothing is embedded again


def test_other_methods_build_on_a_trained_model(twelve: Store) -> None:
    train(twelve, "sen2vec", "content", **SMALL)
    similar = train(twelve, "con-s2v-sim", "sim", ("content",), **SMALL)
    alone = train(twelve, "con-s2v-sim", "sim alone", **SMALL)
    assert similar["digest"] != alone["digest"]
    train(twelve, "ret-dis", "ret", ("content",), **SMALL)
    train(twelve, "tfidf", "words")
    train(twelve, "smoothed", "smooth words", ("words",), lsa=5)
    for name in ("ret", "sim", "smooth words"):
        assert do(twelve, "embed", corpus="C", model=name)["embedded"] == 12
