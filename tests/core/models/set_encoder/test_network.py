"""The transformer of the set encoder and its batches."""

import numpy as np
import pytest
import torch
from scipy import sparse

from themescope.core.models.contrastive.sampling import Batch, SectionedArticles
from themescope.core.models.set_encoder.network import (
    SetData,
    SetTransformer,
    batch_similarities,
    centred,
    encode_set,
    sets_of,
)
from themescope.core.types import Sentence

CPU = torch.device("cpu")


def network(trained=True):
    torch.manual_seed(0)
    found = SetTransformer(6, width=8, layers=2, heads=2, dropout=0.5, words=0.7).eval()
    if trained:
        with torch.no_grad():
            found.outward.weight.normal_()
    return found


def unit_rows(n, seed=0):
    x = np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def words(n, seed=0):
    x = np.abs(np.random.default_rng(seed).normal(size=(n, 5))).astype(np.float32)
    return sparse.csr_array(x / np.linalg.norm(x, axis=1, keepdims=True))


def test_an_untrained_network_returns_the_centred_vectors():
    x = unit_rows(5)
    moved = x - x.mean(axis=0)
    expected = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    assert encode_set(network(trained=False), x, words(5), CPU) == pytest.approx(expected, abs=1e-6)


def test_vectors_have_unit_length_and_follow_the_order_of_sentences():
    x, w, order = unit_rows(7), words(7), [3, 0, 6, 2, 5, 1, 4]
    found = encode_set(network(), x, w, CPU)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-5)
    assert encode_set(network(), x[order], w[order], CPU) == pytest.approx(found[order], abs=1e-5)


def test_the_bias_of_shared_words_matters():
    x = unit_rows(4)
    alike, different = (
        encode_set(network(), x, w, CPU) for w in (words(4), sparse.csr_array((4, 5), dtype=np.float32))
    )
    assert np.abs(alike - different).max() > 1e-3


def test_without_the_bias_shared_words_change_no_vector():
    x, unbiased = unit_rows(4), network()
    unbiased.bias_scale = SetTransformer(6, width=8, heads=2, word_bias=False).bias_scale
    alike, different = (encode_set(unbiased, x, w, CPU) for w in (words(4), sparse.csr_array((4, 5), dtype=np.float32)))
    assert np.array_equal(alike, different)


def test_a_sentence_equal_to_the_mean_is_not_centred():
    x = torch.from_numpy(unit_rows(1)[None])
    assert torch.allclose(centred(x, torch.ones(1, 1, dtype=torch.bool)), x)
    double = x.expand(1, 2, 6)
    assert torch.allclose(centred(double, torch.ones(1, 2, dtype=torch.bool)), double)


def test_the_similarities_of_a_padded_batch_equal_those_of_each_article():
    x, w, net = unit_rows(8), words(8), network()
    articles = SectionedArticles(np.arange(8), np.zeros(8, np.int64), np.array([0, 5, 8]))
    data = SetData(articles, x.astype(np.float16), w)
    batch = Batch(np.arange(8), np.array([0] * 5 + [1] * 3), np.zeros(8, np.int64))
    with torch.inference_mode():
        found = batch_similarities(net, data, batch).numpy()
    for rows in (slice(0, 5), slice(5, 8)):
        own = data.vectors[rows].astype(np.float32)
        y, shared = encode_set(net, own, w[rows], CPU), (w[rows] @ w[rows].T).toarray()
        np.fill_diagonal(shared, 0)
        assert found[rows, rows] == pytest.approx(y @ y.T + 0.7 * shared, abs=1e-5)


def test_the_weight_of_words_is_never_negative():
    net = network()
    with torch.no_grad():
        net.mix.fill_(-1.0)
    assert float(net.words.detach()) == 0


def test_long_articles_are_divided_in_the_same_way_in_any_order():
    sentences = [Sentence(f"text {i}", id=i, article_id=int(i < 20)) for i in range(23)]
    order = np.random.default_rng(0).permutation(23)
    found = {frozenset(rows.tolist()) for rows in sets_of(sentences, 7)}
    moved = {frozenset(order[rows].tolist()) for rows in sets_of([sentences[i] for i in order], 7)}
    assert found == moved
    assert sorted(map(len, found)) == [3, 6, 7, 7]
    assert len({sentences[i].article_id for i in max(found, key=len)}) == 1


def test_the_scale_of_states_does_not_depend_on_the_dimensions():
    scales = []
    for dim in (16, 1_024):
        torch.manual_seed(0)
        net, seen = SetTransformer(dim, width=64, layers=1, heads=2).eval(), []
        net.blocks[0].register_forward_pre_hook(lambda block, given, seen=seen: seen.append(given[0].std()))
        x = torch.nn.functional.normalize(torch.randn(1, 50, dim), dim=2)
        net(x, torch.zeros(1, 50, 50), torch.ones(1, 50, dtype=torch.bool))
        scales.append(float(seen[0].detach()))
    assert min(scales) > 0.3 and max(scales) < 1
