"""A triplet network that is trained further: what it takes over, and that it never gets worse by its own measure."""

import numpy as np
import pytest

from core.errors import Cancelled, DataError
from core.models import REGISTRY
from core.protocols import SILENT, NullReport
from core.types import Corpus, Sentence, Split
from tests.core.models.networks.test_training import Interrupting
from tests.core.models.networks.themes import theme_triplets
from tests.core.models.test_concatenated import SMALL, joined, net

SENTENCES = [Sentence("theme1word1 theme1word2 common4"), Sentence("theme2word3 common1")]
GENTLE = {"learning_rate": 1e-6, "epochs": 1, "threads": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def base():
    return net(1, distance="cosine", epochs=3)


def further(*models, seed=5, **settings):
    built = REGISTRY.build("triplets-sen", GENTLE | settings, seed=seed)
    triplets = {Split.TRAIN: theme_triplets(4, seed), Split.VALIDATION: theme_triplets(2, seed=9)}
    built.fit(Corpus(triplets=triplets, models=models), SILENT)
    return built


def test_it_begins_where_the_other_ended(base):
    gone_on = further(base, hidden=8, vocabulary_limit=10, distance="l1")
    assert gone_on.words is base.words
    assert {n: getattr(gone_on.config, n) for n in ("hidden", "attention", "distance", "vocabulary_limit")} == {
        "hidden": SMALL["hidden"], "attention": SMALL["attention"], "distance": "cosine", "vocabulary_limit": 50,
    }  # fmt: skip
    assert gone_on.config.learning_rate == 1e-6
    assert np.allclose(gone_on.embed(SENTENCES), base.embed(SENTENCES), atol=1e-3)
    anew = net(5, distance="cosine")
    assert not np.allclose(anew.embed(SENTENCES), base.embed(SENTENCES), atol=1e-2)


def test_it_is_never_worse_on_its_validation_triplets(base):
    wild = further(base, learning_rate=1.0, epochs=2)
    assert wild.metrics["validation accuracy"] >= wild.history[0]["validation accuracy"]
    assert wild.history[0]["validation accuracy"] == further(base).history[0]["validation accuracy"]


def test_of_two_joined_networks_that_of_sentences_goes_on(base):
    both = joined((base, net(2)))
    assert np.array_equal(further(both).embed(SENTENCES), further(base).embed(SENTENCES))


def test_a_model_of_another_kind_or_several_are_refused(base):
    words = REGISTRY.build("mean-vectors", {}, seed=0)
    for models in ((words,), (base, base)):
        with pytest.raises(DataError, match="one trained triplet network"):
            further(*models)


def test_a_checkpoint_of_another_beginning_is_not_taken_up(base, tmp_path):
    settings = {**GENTLE, "learning_rate": 0.01, "checkpoint_seconds": 0.0, "epochs": 2, "batch_size": 8}

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
