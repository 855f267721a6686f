"""Fine-tuning of a triplet network: what it takes from the base model, and that accuracy never falls."""

import numpy as np
import pytest

from tests.core.models.composite.test_concatenated import SMALL, concatenated, net
from tests.core.models.triplet_network.test_training import Interrupting
from tests.core.models.triplet_network.themes import theme_triplets
from themescope.core.errors import Cancelled, DataError
from themescope.core.models import REGISTRY
from themescope.core.protocols import SILENT, NullReport
from themescope.core.types import Corpus, Sentence, Split

SENTENCES = [Sentence("theme1word1 theme1word2 common4"), Sentence("theme2word3 common1")]
FINE_TUNING_SETTINGS = {"learning_rate": 1e-6, "epochs": 1, "threads": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def base():
    return net(1, distance="cosine", epochs=3)


def further(*models, seed=5, **settings):
    built = REGISTRY.build("triplets-sen", FINE_TUNING_SETTINGS | settings, seed=seed)
    triplets = {Split.TRAIN: theme_triplets(4, seed), Split.VALIDATION: theme_triplets(2, seed=9)}
    built.fit(Corpus(triplets=triplets, models=models), SILENT)
    return built


def test_fine_tuning_starts_from_the_base_model(base):
    gone_on = further(base, hidden=8, vocabulary_limit=10, distance="l1")
    assert gone_on.words is base.words
    assert {n: getattr(gone_on.config, n) for n in ("hidden", "attention", "distance", "vocabulary_limit")} == {
        "hidden": SMALL["hidden"], "attention": SMALL["attention"], "distance": "cosine", "vocabulary_limit": 50,
    }  # fmt: skip
    assert gone_on.config.learning_rate == 1e-6
    assert np.allclose(gone_on.embed(SENTENCES), base.embed(SENTENCES), atol=1e-3)
    anew = net(5, distance="cosine")
    assert not np.allclose(anew.embed(SENTENCES), base.embed(SENTENCES), atol=1e-2)


def test_fine_tuning_never_lowers_validation_accuracy(base):
    wild = further(base, learning_rate=1.0, epochs=2)
    assert wild.metrics["validation accuracy"] >= wild.history[0]["validation accuracy"]
    assert wild.history[0]["validation accuracy"] == further(base).history[0]["validation accuracy"]


def test_a_concatenated_base_model_provides_its_sentence_network(base):
    both = concatenated((base, net(2)))
    assert np.array_equal(further(both).embed(SENTENCES), further(base).embed(SENTENCES))


def test_other_or_several_base_models_are_refused(base):
    words = REGISTRY.build("mean-vectors", {}, seed=0)
    for models in ((words,), (base, base)):
        with pytest.raises(DataError, match="one trained triplet network"):
            further(*models)


def test_a_checkpoint_of_another_base_model_is_ignored(base, tmp_path):
    settings = {**FINE_TUNING_SETTINGS, "learning_rate": 0.01, "checkpoint_seconds": 0.0, "epochs": 2, "batch_size": 8}

    def trained(model, report):
        built = REGISTRY.build("triplets-sen", settings, seed=5)
        triplets = {Split.TRAIN: theme_triplets(4, 5), Split.VALIDATION: theme_triplets(2, seed=9)}
        built.fit(Corpus(triplets=triplets, models=(model,)), report)
        return built.embed(SENTENCES)

    with pytest.raises(Cancelled):
        trained(base, Interrupting(tmp_path, 10))
    assert list(tmp_path.iterdir())
    other = net(3, distance="cosine")
    assert np.array_equal(trained(other, NullReport(tmp_path)), trained(other, SILENT))
