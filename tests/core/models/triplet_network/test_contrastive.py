"""The BiLSTM trained by the contrastive loss."""

import pytest

from themescope.core.errors import DataError
from themescope.core.models.triplet_network.contrastive import ContrastiveNet, ContrastiveNetConfig
from themescope.core.models.triplet_network.model import TripletNet, TripletNetConfig
from themescope.core.types import Corpus, Sentence, Split

CONFIG = ContrastiveNetConfig(
    hidden=6, attention=4, vocabulary_limit=3_000, epochs=4, threads=1, device="cpu", learning_rate=0.02,
    articles_per_batch=2, precision="fp32",
)  # fmt: skip
THEMES = ("river lake sea water", "king queen war army", "music song album band", "school university student teacher")


def sections(first, count):
    """Articles of three themes each, whose sentences are two words of a theme between common words."""
    found = []
    for article in range(first, first + count):
        for section in range(3):
            words = THEMES[(article + section) % 4].split()
            texts = [f"the {words[i]} of the {words[(i + article + 1) % 4]} in it" for i in range(4)]
            found += [Sentence(text, article_id=article, section=section) for text in texts]
    return found


def corpus():
    return Corpus("c", sections={Split.TRAIN: sections(0, 8), Split.VALIDATION: sections(20, 4)})


def test_training_raises_the_precision_on_validation_articles():
    model = ContrastiveNet(CONFIG, 0).fit(corpus())
    values = [row["validation precision"] for row in model.history]
    assert model.metrics["validation precision"] == max(values) > values[0]
    x = model.embed(sections(50, 1))
    assert model.distance == "cosine"
    assert model.distances(x[[0]], x[[1]]) < model.distances(x[[0]], x[[5]])


def test_the_network_is_no_base_model_of_the_triplet_network():
    model = ContrastiveNet(CONFIG, 0).fit(corpus())
    triplets = Corpus(models=(model,))
    with pytest.raises(DataError):
        TripletNet(TripletNetConfig(), 0).fit(triplets)
