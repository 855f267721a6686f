"""Attention weights and deletion effects of words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.models.triplet_network.themes import theme_triplets
from themescope.core.errors import DataError
from themescope.core.models import REGISTRY
from themescope.core.models.triplet_network.word_attention import (
    MOST_WORDS,
    Attending,
    SentenceAttention,
    deletion_effects,
    triplet_attention,
)
from themescope.core.protocols import SILENT
from themescope.core.text.languages import tokenize
from themescope.core.types import Corpus, Sentence, Split

SMALL = {"vocabulary_limit": 50, "hidden": 6, "attention": 4, "threads": 1, "device": "cpu", "epochs": 1}
WORDS = st.sampled_from(["the", "city", "river", "north", "theme1word2", "theme2word3", "common4", "zyxw", "'s", "."])
SENTENCES = st.lists(WORDS, max_size=9)
TEXTS = ("The city's river, cold.", "theme1word2 common4 in the north", "theme2word3 zyxw!")


def net(seed, **changes):
    triplets = {Split.TRAIN: theme_triplets(4, seed), Split.VALIDATION: theme_triplets(2, seed=9)}
    built = REGISTRY.build("triplets-sen", SMALL | changes, seed=seed)
    built.fit(Corpus(triplets=triplets), SILENT)
    return built


@pytest.fixture(scope="module")
def models():
    components = net(1), net(2)
    concatenated = {}
    for unit in (False, True):
        concatenated[unit] = REGISTRY.build("triplets-sen-titles", {"unit_components": unit}, seed=0)
        concatenated[unit].fit(Corpus(models=components), SILENT)
    return {
        "net": components[0],
        "bounded": net(3, norm_bound=0.1),
        "concatenated": concatenated[False],
        "unit": concatenated[True],
    }


@pytest.mark.parametrize("name", ["net", "bounded", "concatenated", "unit"])
def test_embed_words_equals_embed(models, name):
    sentences = [tokenize(text) for text in TEXTS]
    model = models[name]
    assert isinstance(model, Attending)
    assert np.array_equal(model.embed_words(sentences), model.embed([Sentence(text) for text in TEXTS]))


@given(sentences=st.lists(SENTENCES, max_size=6))
def test_attention_is_a_distribution_over_the_words(models, sentences):
    weights = models["concatenated"].attention(sentences)
    assert list(weights) == ["sentences", "titles"]
    for listed in weights.values():
        assert [len(w) for w in listed] == [len(s) for s in sentences]
        for w in listed:
            assert (w >= 0).all()
            assert w.sum() == pytest.approx(1 if len(w) else 0, abs=1e-5)


def test_attention_does_not_depend_on_other_sentences(models):
    sentences = [tokenize(text) for text in (*TEXTS, "")]
    (together,) = models["net"].attention(sentences).values()
    for sentence, weights in zip(sentences, together, strict=True):
        ((alone,),) = models["net"].attention([sentence]).values()
        assert alone == pytest.approx(weights, abs=1e-6)


def test_the_vector_is_the_attention_weighted_mean_of_states(models):
    import torch

    from themescope.core.text.word_vectors import token_ids

    model = models["net"]
    tokens = token_ids(TEXTS[:1], model.words)
    ids, lengths = tokens.padded(np.arange(1))
    with torch.inference_mode():
        words = torch.from_numpy(tokens.table)[torch.from_numpy(ids)]
        states = model.network.states(words, torch.from_numpy(lengths))[0].numpy()
    ((weights,),) = model.attention([tokenize(TEXTS[0])]).values()
    assert weights @ states == pytest.approx(model.embed([Sentence(TEXTS[0])])[0], abs=1e-5)


@settings(max_examples=15)
@given(triplet=st.tuples(SENTENCES, SENTENCES, SENTENCES))
@pytest.mark.parametrize("name", ["net", "unit"])
def test_deletion_effects_equal_brute_force(models, name, triplet):
    model = models[name]

    def margins(triplets):
        vectors = model.embed_words([sentence for each in triplets for sentence in each])
        pivots, same, other = (vectors[part::3] for part in range(3))
        return model.distances(pivots, other) - model.distances(pivots, same)

    shorter = [
        [*triplet[:part], sentence[:i] + sentence[i + 1 :], *triplet[part + 1 :]]
        for part, sentence in enumerate(triplet)
        for i in range(len(sentence))
    ]
    plain = margins([triplet, *shorter])
    whole, changes = deletion_effects(model, triplet)
    assert whole == pytest.approx(plain[0], abs=1e-5)
    assert [len(c) for c in changes] == [len(s) for s in triplet]
    assert np.concatenate(changes) == pytest.approx(plain[1:] - plain[0], abs=1e-5)


def test_every_word_of_a_triplet_has_weights_and_effects(models):
    found = triplet_attention(models["concatenated"], TEXTS)
    assert found.sentences[0].words == ("The", "city", "'s", "river", ",", "cold", ".")
    assert found.networks == ["sentences", "titles"]
    each = [s.agreement("titles") for s in found.sentences]
    assert found.agreement("titles") == pytest.approx(np.mean(each))
    assert -1 <= found.agreement("titles") <= 1


def test_agreement_is_a_rank_correlation_and_undefined_for_constants():
    def sentence(weights, changes):
        words = tuple(str(i) for i in range(len(weights)))
        return SentenceAttention(words, {"network": np.array(weights, "f4")}, np.array(changes, "f4"))

    assert sentence([0.1, 0.2, 0.7], [0.01, -0.2, 9.0]).agreement("network") == pytest.approx(1)
    assert sentence([0.1, 0.2, 0.7], [9.0, -0.2, 0.01]).agreement("network") == pytest.approx(-1)
    assert sentence([0.4, 0.6], [1.0, 2.0]).agreement("network") is None
    assert sentence([0.2, 0.3, 0.5], [1.0, -1.0, 1.0]).agreement("network") is None
    assert sentence([], []).agreement("network") is None


def test_a_triplet_without_words_has_no_effects(models):
    found = triplet_attention(models["net"], ("", "", ""))
    assert found.margin == 0
    assert found.agreement("network") is None


def test_a_triplet_with_too_many_words_is_refused(models):
    with pytest.raises(DataError, match="601 words"):
        triplet_attention(models["net"], ("word " * (MOST_WORDS - 1), "a", "b"))
