"""The triplet network as a model: training metrics, limits and batches of any length."""

import numpy as np
import pytest

from tests.core.models.triplet_network.themes import theme_triplets
from themescope.core.models import REGISTRY
from themescope.core.types import Corpus, Sentence, Split


def fitted(method, settings, corpus):
    return REGISTRY.build(method, settings, seed=1).fit(corpus)


@pytest.fixture(scope="module")
def net():
    settings = {"vocabulary_limit": 50, "hidden": 12, "attention": 6, "threads": 1, "device": "cpu", "epochs": 1}
    triplets = {Split.TRAIN: theme_triplets(), Split.VALIDATION: theme_triplets(10, seed=1)}
    return fitted("triplets-sen", settings, Corpus(triplets=triplets))


def test_training_metrics_and_history(net):
    assert 0 < net.metrics["validation accuracy"] <= 1
    assert net.metrics["training triplets"] == 360
    assert [row["epoch"] for row in net.history] == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=0.35)


def test_the_number_of_validation_triplets_is_limited():
    settings = {"vocabulary_limit": 50, "hidden": 4, "attention": 4, "threads": 1, "epochs": 1, "validation_limit": 1}
    triplets = {Split.TRAIN: theme_triplets(2), Split.VALIDATION: theme_triplets(10, seed=1)}
    model = fitted("triplets-sen", settings, Corpus(triplets=triplets))
    assert model.metrics["validation accuracy"] in (0, 0.5, 1)


def test_long_and_short_sentences_together_give_the_same_vectors(net):
    sentences = [Sentence("theme1word1 " * n) for n in (1, 300, 0, 40, 2_000)]
    together = net.embed(sentences)
    alone = np.concatenate([net.embed([s]) for s in sentences])
    assert np.allclose(together, alone, atol=1e-5) and not together[2].any()
