import numpy as np
import pytest

from tests.core.models.con_s2v.topics import accuracy, topic_sentences
from tests.core.reports import Watched
from themescope.core.config import config_from_dict
from themescope.core.errors import Cancelled, ConfigError, TrainingError
from themescope.core.models.con_s2v import training
from themescope.core.models.con_s2v.config import FastSentConfig, MemoryConfig, SentVecConfig
from themescope.core.models.con_s2v.text import discourse_graph, encode_text
from themescope.core.models.con_s2v.training import drop_checkpoints, learn_bags, learn_memory, learn_sentences
from themescope.core.types import SILENT, Sentence

SMALL = {"dim": 20, "epochs": 8, "learning_rate": 0.1, "subsampling": 0.01, "threads": 1, "checkpoint_seconds": 0}


@pytest.fixture(scope="module")
def corpus():
    sentences, topics = topic_sentences()
    text = encode_text(sentences)
    return text, discourse_graph(text.articles, text.positions), topics[text.rows]


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    monkeypatch.setattr(training, "BLOCK_WORDS", 700)


def learned(corpus, report=None, seed=1, **settings):
    config = config_from_dict(SentVecConfig, SMALL | settings)
    return learn_sentences(config, corpus[0], corpus[1], seed, report or SILENT)


def same(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("sentences", "words", "inputs"))


BATCHES = {"batch": 64, "device": "cpu", "epochs": 2, "proximity_step": "implicit", "strength": 50.0}


@pytest.mark.parametrize(("cancel_at", "settings"), [*((at, {"epochs": 3}) for at in (1, 4, 9)), (4, BATCHES)])
def test_a_resumed_training_ends_with_the_same_vectors(corpus, tmp_path, cancel_at, settings):
    whole = learned(corpus, **settings)
    with pytest.raises(Cancelled):
        learned(corpus, Watched(tmp_path, cancel_at), **settings)
    assert same(learned(corpus, Watched(tmp_path), **settings), whole)
    again = Watched(tmp_path)
    assert same(learned(corpus, again, **settings), whole) and not again.calls
    assert not same(learned(corpus, Watched(tmp_path), seed=9, **settings), whole)
    drop_checkpoints(tmp_path)
    assert not list(tmp_path.iterdir())


def test_loss_curves_fall_and_cover_the_training(corpus):
    report = Watched()
    metrics = learned(corpus, report).metrics
    for curve in ("content loss", "neighbour loss"):
        points = [(step, value) for name, step, value in report.points if name == curve]
        assert points[-1][1] < points[0][1] and points[-1][0] == pytest.approx(8)
        assert metrics[curve] == points[-1][1]
    assert metrics["training words"] == corpus[0].words and metrics["words/s"] > 0


def test_several_threads_learn_equally_well(corpus):
    one, two = learned(corpus), learned(corpus, threads=3)
    assert not same(one, two)
    assert abs(accuracy(one.sentences, corpus[2]) - accuracy(two.sentences, corpus[2])) < 0.08


def test_context_raises_accuracy_and_batches_learn_equally_well(corpus):
    def score(**settings):
        runs = [learned(corpus, seed=s, learning_rate=0.4, epochs=6, **settings) for s in range(2)]
        return np.array([accuracy(run.sentences, corpus[2]) for run in runs])

    content, context = score(neighbours=False, proximity=False), score()
    assert context.mean() > content.mean() + 0.08
    assert abs(score(batch=64, device="cpu").mean() - context.mean()) < 0.12  # a run scatters by about .07 over seeds


def test_distributed_memory_and_fastsent_learn_the_topics(corpus):
    text, graph, topics = corpus
    memory = config_from_dict(MemoryConfig, SMALL | {"epochs": 60, "window": 4})
    assert accuracy(learn_memory(memory, text, 1, SILENT).sentences, topics) > 0.5
    bags = config_from_dict(FastSentConfig, SMALL | {"epochs": 20, "own_words": True})
    words = learn_bags(bags, text, graph, 1, SILENT).inputs
    sums = np.add.reduceat(words[text.ids], text.starts[:-1])
    assert accuracy(sums, topics) > 0.5


def test_what_learns_nothing_is_refused():
    text = encode_text([Sentence("Too short."), Sentence("")])
    with pytest.raises(TrainingError, match="three known words"):
        learn_sentences(SentVecConfig(dim=4), text, discourse_graph(text.articles, text.positions), 0, SILENT)
    with pytest.raises(ConfigError, match="learn nothing"):
        SentVecConfig(content=False, neighbours=False)
    with pytest.raises(ConfigError, match="mode paper only"):
        SentVecConfig(batch=100, mode="reference")
