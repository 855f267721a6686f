import dataclasses
from functools import cache

import numpy as np
import pytest

from tests.contracts.test_models import build, corpus, sentences
from themescope.core.clustering.inputs import cosine_matrix
from themescope.core.errors import DataError
from themescope.core.models import REGISTRY
from themescope.core.models.bag_of_words import Tfidf, TfidfConfig
from themescope.core.models.composite import Hybrid, HybridConfig, concatenate_with_tfidf
from themescope.core.types import SILENT, Corpus, Model, Sentence

WITH_WORDS = [0, 1, 3, 4, 6]
"""Rows of sentences with known words: every part has a vector of length 1."""


@cache
def net(seed: int) -> Model:
    return build(REGISTRY.get("triplets-sen"), seed)


def made(words: float, seeds: tuple[int, ...] = (3,)) -> Hybrid:
    models = tuple(net(seed) for seed in seeds)
    return Hybrid(HybridConfig(words=words), 0).fit(dataclasses.replace(corpus(), models=models), SILENT)


def words() -> Tfidf:
    return Tfidf(TfidfConfig(), 0)


@pytest.mark.parametrize("seeds", [(3,), (3, 4)])
@pytest.mark.parametrize("weight", [0.0, 0.5, 2.0])
def test_cosines_are_weighted_means(weight: float, seeds: tuple[int, ...]) -> None:
    given = sentences()
    models = np.mean([cosine_matrix(net(seed).embed(given)) for seed in seeds], axis=0)
    wanted = (models + weight * cosine_matrix(words().embed(given))) / (1 + weight)
    found = cosine_matrix(made(weight, seeds).embed(given))
    rows = np.ix_(WITH_WORDS, WITH_WORDS)
    assert np.allclose(found[rows], wanted[rows], atol=1e-5)


def test_a_sparse_model_is_refused() -> None:
    with pytest.raises(DataError, match="includes tf-idf already"):
        Hybrid(HybridConfig(), 0).fit(Corpus("none", models=(words(),)), SILENT)


def test_stop_words_can_be_left_out():
    texts = ["The mayor of the town", "Of all that which is the", "A mayor and a town"]
    given = [Sentence(text, article_id=1, position=n) for n, text in enumerate(texts)]
    with_all, without = (
        concatenate_with_tfidf([np.zeros((3, 2), np.float32)], given, 1.0, stop_words) for stop_words in (True, False)
    )
    assert np.diff(without.indptr).tolist() == [2, 0, 2] and np.diff(with_all.indptr).min() > 2
    cosines = (without @ without.T).toarray() * 2  # tf-idf has half of the weight
    assert cosines[0, 2] == pytest.approx(1) and cosines[0, 1] == 0
