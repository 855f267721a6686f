import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.core.models.triplet_network.themes import SUBJECTS, section_corpus, sections
from tests.core.reports import Watched
from themescope.core.models import static_encoder as static
from themescope.core.models.base import cosine_distances
from themescope.core.text.word_vectors import WordVectors, numbered
from themescope.core.types import Sentence

CONFIG = static.StaticEncoderConfig(
    vocabulary_limit=3_000, dim=12, least_count=1, epochs=4, threads=1, device="cpu", learning_rate=0.02,
    articles_per_batch=2, storage="int8",
)  # fmt: skip
VOCABULARY = sorted({word for theme in SUBJECTS for word in theme.split()} | {"the", "of", "in", "it"})


@pytest.fixture(scope="module")
def fitted():
    return static.StaticEncoder(CONFIG, 0).fit(section_corpus())


def embedded(model, *texts):
    return model.embed([Sentence(text) for text in texts])


def test_training_raises_the_precision_on_validation_articles(fitted):
    values = [row["validation precision"] for row in fitted.history]
    assert fitted.metrics["validation precision"] == max(values) > values[0]
    assert fitted.metrics["words"] == len(VOCABULARY)
    x = embedded(fitted, "The king in it", "the queen and army of it", "The river of the lake")
    assert cosine_distances(x[[0]], x[[1]]) < cosine_distances(x[[0]], x[[2]])


@given(st.lists(st.lists(st.sampled_from([*VOCABULARY, "zyxwv"]), max_size=8), min_size=1, max_size=6))
def test_a_vector_is_the_sum_of_the_vectors_of_known_words_with_length_one_in_any_case(fitted, sentences):
    table = fitted._words
    texts = [" ".join(words) for words in sentences]
    for found in (embedded(fitted, *texts), embedded(fitted, *map(str.upper, texts))):
        for row, words in zip(found, sentences, strict=True):
            known = np.array([table.row(word) for word in words if table.row(word) >= 0], np.int64)
            total = table.vectors(known).sum(axis=0)
            expected = total / np.linalg.norm(total) if len(known) else total
            assert np.allclose(row, expected, atol=1e-5)


def test_vectors_in_eight_bits_are_nearly_those_of_32_and_a_teacher_changes_them(fitted):
    exact = static.StaticEncoder(dataclasses.replace(CONFIG, storage="fp32"), 0).fit(section_corpus())
    given_sentences = sections(50, 6)
    distances = cosine_distances(exact.embed(given_sentences), fitted.embed(given_sentences))
    assert distances.max() < 1e-3
    taught = static.StaticEncoder(CONFIG, 0).fit(section_corpus(fitted))
    assert not np.array_equal(taught.embed(sections(50, 1)), fitted.embed(sections(50, 1)))


def test_progress_never_falls():
    report = Watched()
    static.StaticEncoder(CONFIG, 0).fit(section_corpus(static.StaticEncoder(CONFIG, 1).fit(section_corpus())), report)
    shares = [done / total for done, total in report.calls]
    assert shares == sorted(shares) and shares


def test_the_vocabulary_contains_the_frequent_words_in_lower_case():
    distinct, words = numbered(text.split() for text in ("The cat saw the cat", "A dog the"))
    assert distinct == ["The", "cat", "saw", "the", "A", "dog"]
    assert words.ids.tolist() == [0, 1, 2, 3, 1, 4, 5, 3] and words.starts.tolist() == [0, 5, 8]
    found, shares = static.vocabulary_of(distinct, words, 2, 1)
    assert found == ["the", "cat"] and shares.tolist() == pytest.approx([3 / 8, 2 / 8])
    assert static.vocabulary_of(distinct, words, 10, 2)[0] == ["the", "cat"]
    table = WordVectors(["the", "cat"], np.eye(2, dtype=np.float32))
    known = words.only(static.rows_of(distinct, table))
    assert known.ids.tolist() == [0, 1, 0, 1, 0] and known.starts.tolist() == [0, 4, 5]


def test_the_initial_vectors_of_all_tables_have_the_same_length():
    random = np.random.default_rng(0)
    tables = [WordVectors(["a", "b", "c"], random.normal(0, s, (3, n)).astype(np.float32)) for s, n in ((1, 5), (9, 3))]
    found = static.initial_vectors(["c", "a", "new", "b"], tables)
    assert found.shape == (4, 8)
    for part in (found[:, :5], found[:, 5:]):
        assert np.linalg.norm(part[[0, 1, 3]], axis=1).mean() == pytest.approx(1, abs=1e-5)
        assert 0 < np.linalg.norm(part[2]) < 1


@pytest.mark.parametrize("dim", [2, 5, 9])
def test_the_first_map_keeps_what_differs_most(dim):
    random = np.random.default_rng(0)
    vectors = (random.normal(size=(40, 5)) * [1, 9, 2, 1, 5]).astype(np.float32)
    directions = static.principal_directions(vectors, np.ones(40, np.float32), dim)
    assert directions.shape == (5, min(dim, 5))
    assert np.allclose(directions.T @ directions, np.eye(min(dim, 5)), atol=1e-5)
    if dim == 2:
        kept = ((vectors @ directions) ** 2).sum() / (vectors**2).sum()
        assert kept > 0.9


@pytest.mark.parametrize("train_vectors", [True, False])
def test_the_vectors_of_words_are_trained_as_asked(train_vectors):
    table = static.WordTable(np.eye(3, dtype=np.float32), np.ones(3, np.float32), 2, 0.0, train_vectors=train_vectors)
    ids, starts = static.bags(numbered(["ab", "bc"])[1], np.arange(2))
    table(ids, starts)[:, 0].sum().backward()
    assert (table.vectors.grad is not None) == train_vectors
    assert table.log_weights.grad is not None and table.map.grad is not None


def test_the_network_leaves_out_words_in_training_only():
    _, words = numbered(["abcdefgh", "", "aa"])
    table = static.WordTable(np.eye(8, dtype=np.float32), np.full(8, 0.5, np.float32), 8, 0.5, train_vectors=True)
    ids, starts = static.bags(words, np.array([2, 1, 0]))
    assert ids.tolist() == [0, 0, 0, 1, 2, 3, 4, 5, 6, 7] and starts.tolist() == [0, 2, 2]
    table.eval()
    whole = table(ids, starts).detach()
    assert torch.allclose(whole[2], torch.full((8,), 8**-0.5)) and not whole[1].any()
    table.train()
    torch.manual_seed(0)
    assert 0 < int((table(ids, starts)[2] == 0).sum()) < 8
    assert np.allclose(table.weighted(), np.eye(8) / 2)
