from functools import cache

import numpy as np
import pytest
import torch

from tests.core.models.composite.test_composite import SMALL, concatenated, net
from tests.core.models.triplet_network.themes import section_corpus, sections, theme_data, theme_triplets
from tests.core.reports import Watched
from themescope.core.errors import Cancelled, DataError
from themescope.core.models import REGISTRY
from themescope.core.models.networks import native_bf16
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.models.triplet_network.model import ContrastiveNet, ContrastiveNetConfig
from themescope.core.models.triplet_network.network import BiLstmAttention, NetworkEncoder
from themescope.core.models.triplet_network.training import train
from themescope.core.types import SILENT, Corpus, NullReport, Sentence, Split

SETTINGS = {
    "hidden": 12, "attention": 6, "threads": 1, "device": "cpu", "batch_size": 16, "run_length": 8, "epochs": 3,
    "learning_rate": 0.01, "patience_stop": 50, "precision": "fp32",
}  # fmt: skip


def config(**changes):
    return TripletNetConfig(**(SETTINGS | changes))


@cache
def few():
    """Triplets for six steps in each epoch."""
    return theme_data(8), theme_data(3, seed=1)


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@cache
def undisturbed(**settings):
    return train(config(**settings), 5, *few(), SILENT)


@pytest.mark.parametrize(
    ("loss", "batching"),
    [("paper", "by-article"), ("log", "shuffled"), ("section", "by-article"), ("facenet", "shuffled")],
)
def test_training_learns_the_themes(batching, loss):
    report = Watched()
    chosen = config(batching=batching, loss=loss, epochs=2, learning_rate=0.04, dropout_rate=0.1)
    trained = train(chosen, 1, theme_data(20), theme_data(10, seed=1), report)
    first = trained.history[0]["validation accuracy"]
    assert trained.metrics["validation accuracy"] > max(0.85, first + 0.2)
    names = {name for name, _, _ in report.points}
    assert names >= {"validation accuracy", "training loss", "loss", "spread", "gradient share", "weight norm",
                     "temperature", "triplets/s", "learning rate"}  # fmt: skip
    steps = [step for name, step, _ in report.points if name == "validation accuracy"]
    assert steps == sorted(steps) and steps[0] == 0 and 0.2 < steps[1] <= 0.3


@pytest.mark.skipif(not native_bf16(torch.device("cpu")), reason="this processor does not compute bfloat16")
def test_training_in_bfloat16_learns_the_themes():
    rounded, exact = (
        train(config(precision=precision, learning_rate=0.04), 1, theme_data(20), theme_data(10, seed=1), SILENT)
        for precision in ("bf16", "fp32")
    )
    assert rounded.metrics["validation accuracy"] > 0.85
    assert not same(rounded.weights, exact.weights)


@pytest.mark.parametrize(
    ("interrupted_at", "settings"),
    [
        *((at, {}) for at in (3, 8, 15, 26)),
        (15, {"learned_scale": True, "dropout_sites": ("input", "states", "output")}),
        (15, {"loss": "section", "schedule": "linear"}),
        (26, {"loss": "facenet", "norm_bound": 1.0}),
    ],
)
def test_a_resumed_training_ends_with_the_same_weights(tmp_path, interrupted_at, settings):
    chosen, whole = config(**settings), undisturbed(**settings)
    with pytest.raises(Cancelled):
        train(chosen, 5, *few(), Watched(tmp_path, interrupted_at))
    resumed = train(chosen, 5, *few(), NullReport(tmp_path))
    assert same(whole.weights, resumed.weights)
    timeless = [{n: v for n, v in row.items() if n != "triplets/s"} for row in whole.history]
    assert timeless == [{n: v for n, v in row.items() if n != "triplets/s"} for row in resumed.history]
    assert not list(tmp_path.iterdir())


def test_a_linear_schedule_ends_near_zero_and_the_automatic_temperature_is_the_first_spread():
    rates = [row["learning rate"] for row in train(config(schedule="linear"), 1, *few(), SILENT).history]
    assert rates[0] == 0.01 and rates[-1] < 0.001
    assert rates == sorted(rates, reverse=True)
    trained = train(config(epochs=1), 1, *few(), SILENT)
    assert trained.history[0]["spread"] == pytest.approx(1, rel=0.35)
    fixed = train(config(epochs=1, temperature=3.0), 1, *few(), SILENT)
    assert fixed.history[0]["temperature"] == 3


def test_a_crash_resumes_from_the_last_checkpoint_in_time(tmp_path):
    chosen = config(checkpoint_seconds=0)
    with pytest.raises(MemoryError):
        train(chosen, 5, *few(), Watched(tmp_path, 18, MemoryError))
    assert [p.name for p in tmp_path.iterdir()] == ["training.safetensors"]
    report = Watched(tmp_path)
    resumed = train(chosen, 5, *few(), report)
    assert report.calls[0][0] > 0
    assert same(undisturbed().weights, resumed.weights)


@pytest.mark.parametrize("damage", ["other seed", "truncated", "nonsense"])
def test_a_checkpoint_of_another_training_is_ignored(tmp_path, damage):
    with pytest.raises(Cancelled):
        train(config(), 5, *few(), Watched(tmp_path, 18))
    file = tmp_path / "training.safetensors"
    if damage == "truncated":
        file.write_bytes(file.read_bytes()[:1000])
    if damage == "nonsense":
        file.write_bytes(b"nonsense")
    if damage == "other seed":
        anew = train(config(), 6, *few(), SILENT)
        assert same(train(config(), 6, *few(), NullReport(tmp_path)).weights, anew.weights)
    else:
        assert same(train(config(), 5, *few(), NullReport(tmp_path)).weights, undisturbed().weights)


def test_progress_is_reported_several_times_in_a_batch():
    data = theme_data(60)
    rows, reports = np.arange(len(data.tokens)), []
    assert data.tokens.lengths.sum() > 4_096
    net = BiLstmAttention(data.tokens.table.shape[1], 4, 2)
    NetworkEncoder(net, data.tokens, torch.float32).encode(rows, lambda: reports.append(1))
    assert len(reports) >= 4  # so a cancel waits for a part of a batch only


def test_plateaus_lower_the_learning_rate_and_the_best_weights_are_kept():
    trained = train(config(epochs=50, patience_stop=4, learning_rate=0.05), 1, *few(), SILENT)
    rates = [row["learning rate"] for row in trained.history]
    accuracies = [row["validation accuracy"] for row in trained.history]
    best = max(accuracies)
    assert rates[-1] < rates[0] and trained.history[-1]["epoch"] < 50
    assert accuracies.index(best) == len(accuracies) - 1 - 4  # the last gain, then four validations without one
    assert trained.metrics["validation accuracy"] == best
    again = train(config(epochs=1), 1, *few(), SILENT, start=trained.weights)
    assert again.history[0]["validation accuracy"] == best


def test_the_number_of_validation_triplets_is_limited():
    assert net(1, validation_limit=1).metrics["validation accuracy"] in (0, 0.5, 1)


def test_long_and_short_sentences_together_give_the_same_vectors():
    trained = net(1)
    sentences = [Sentence("theme1word1 " * n) for n in (1, 300, 0, 40, 2_000)]
    together = trained.embed(sentences)
    alone = np.concatenate([trained.embed([s]) for s in sentences])
    assert np.allclose(together, alone, atol=1e-5) and not together[2].any()


CONFIG = ContrastiveNetConfig(
    hidden=6, attention=4, vocabulary_limit=3_000, epochs=4, threads=1, device="cpu", learning_rate=0.02,
    articles_per_batch=2, precision="fp32",
)  # fmt: skip


def test_training_raises_the_precision_on_validation_articles():
    model = ContrastiveNet(CONFIG, 0).fit(section_corpus())
    values = [row["validation precision"] for row in model.history]
    assert model.metrics["validation precision"] == max(values) > values[0]
    x = model.embed(sections(50, 1))
    assert model.distance == "cosine"
    assert model.distances(x[[0]], x[[1]]) < model.distances(x[[0]], x[[5]])


SENTENCES = [Sentence("theme1word1 theme1word2 common4"), Sentence("theme2word3 common1")]
FINE_TUNING_SETTINGS = {"learning_rate": 1e-6, "epochs": 1, "threads": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def base():
    return net(1, distance="cosine", epochs=3)


def further(*models, seed=5, report=SILENT, **settings):
    built = REGISTRY.build("triplets-sen", FINE_TUNING_SETTINGS | settings, seed=seed)
    triplets = {Split.TRAIN: theme_triplets(4, seed), Split.VALIDATION: theme_triplets(2, seed=9)}
    return built.fit(Corpus(triplets=triplets, models=models), report)


def test_fine_tuning_starts_from_the_base_model_and_never_lowers_its_accuracy(base):
    gone_on = further(base, hidden=8, vocabulary_limit=10, distance="l1")
    assert gone_on.words is base.words
    assert {n: getattr(gone_on.config, n) for n in ("hidden", "attention", "distance", "vocabulary_limit")} == {
        "hidden": SMALL["hidden"], "attention": SMALL["attention"], "distance": "cosine", "vocabulary_limit": 50,
    }  # fmt: skip
    assert gone_on.config.learning_rate == 1e-6
    assert np.allclose(gone_on.embed(SENTENCES), base.embed(SENTENCES), atol=1e-3)
    anew = net(5, distance="cosine")
    assert not np.allclose(anew.embed(SENTENCES), base.embed(SENTENCES), atol=1e-2)
    wild = further(base, learning_rate=1.0, epochs=2)
    assert wild.metrics["validation accuracy"] >= wild.history[0]["validation accuracy"]
    assert wild.history[0]["validation accuracy"] == further(base).history[0]["validation accuracy"]


def test_fine_tuning_takes_one_triplet_network_or_the_sentence_network_of_two(base):
    both = concatenated((base, net(2)))
    assert np.array_equal(further(both).embed(SENTENCES), further(base).embed(SENTENCES))
    words = REGISTRY.build("mean-vectors", {}, seed=0)
    for models in ((words,), (base, base)):
        with pytest.raises(DataError, match="one trained triplet network"):
            further(*models)


def test_a_checkpoint_of_another_base_model_is_ignored(base, tmp_path):
    settings = {"learning_rate": 0.01, "checkpoint_seconds": 0.0, "epochs": 2, "batch_size": 8}
    with pytest.raises(Cancelled):
        further(base, report=Watched(tmp_path, 10), **settings)
    assert list(tmp_path.iterdir())
    other = net(3, distance="cosine")
    resumed, anew = (further(other, report=report, **settings) for report in (NullReport(tmp_path), SILENT))
    assert np.array_equal(resumed.embed(SENTENCES), anew.embed(SENTENCES))
