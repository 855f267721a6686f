import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.models.contrastive.sampling import EpochBatches, SampleSize, sectioned_articles, validation_batches
from themescope.core.types import Sentence


def article(number, sizes):
    """Sentences of an article whose sections have these sizes; the section numbers leave gaps."""
    sections = [2 * i for i, size in enumerate(sizes) for _ in range(size)]
    return [Sentence(f"{number} {p}", article_id=number, section=s, position=p) for p, s in enumerate(sections)]


def data_of(*sizes):
    return sectioned_articles([s for number, each in enumerate(sizes) for s in article(5 + number, each)])


def test_only_articles_with_positive_and_negative_pairs_are_taken_by_section_in_any_order():
    sentences = [*article(1, [3]), *article(2, [1, 1, 1]), *article(3, [2, 1]), Sentence("typed"), Sentence("typed")]
    found = sectioned_articles(sentences)
    assert len(found) == 1
    assert [sentences[i].article_id for i in found.sentences] == [3, 3, 3]
    assert len(sectioned_articles([])) == 0
    assert len(EpochBatches(sectioned_articles([]), SampleSize(), 4, 0, 0)) == 0
    sentences = [s for pair in zip(article(1, [2, 2]), article(2, [2, 2]), strict=True) for s in pair]
    found = sectioned_articles(sentences)
    labels = [(sentences[i].article_id, sentences[i].section) for i in found.sentences]
    same = found.sections[:, None] == found.sections
    assert np.array_equal(same, [[a == b for b in labels] for a in labels])


@given(
    st.lists(st.lists(st.integers(1, 6), min_size=2, max_size=6), min_size=1, max_size=7),
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9), st.floats(0.1, 1)),
    st.integers(1, 4),
    st.integers(0, 5),
)
def test_batches_respect_the_limits_and_visit_every_article_once(sizes, limits, count, epoch):
    data, size = data_of(*sizes), SampleSize(*limits)
    batches = list(EpochBatches(data, size, count, 1, epoch))
    article_of_row = np.repeat(np.arange(len(data)), np.diff(data.starts))
    visited = []
    for batch in batches:
        assert np.array_equal(batch.sections, data.sections[batch.rows])
        assert batch.articles.max() < count
        for number in np.unique(batch.articles):
            rows = batch.rows[batch.articles == number]
            assert len(set(rows.tolist())) == len(rows) and len(set(article_of_row[rows].tolist())) == 1
            sections, counts = np.unique(data.sections[rows], return_counts=True)
            assert not size.sections or len(sections) <= size.sections
            assert not size.sentences_per_section or counts.max() <= size.sentences_per_section
            assert not size.sentences or len(rows) <= size.sentences
            visited.append(int(article_of_row[rows[0]]))
    assert sorted(visited) == list(range(len(data)))


def test_a_batch_depends_on_seed_and_epoch_only_and_validation_samples_on_nothing():
    data, size = data_of([9, 9, 9], [9, 9, 9], [9, 9, 9]), SampleSize(sentences=8)
    rows = [EpochBatches(data, size, 2, seed, epoch)[1].rows for seed, epoch in ((1, 0), (1, 0), (2, 0), (1, 1))]
    assert np.array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2]) and not np.array_equal(rows[0], rows[3])
    data = data_of([50, 50])
    shares = [len(EpochBatches(data, SampleSize(least_share=0.6), 1, 0, epoch)[0]) / 100 for epoch in range(60)]
    assert 0.6 <= min(shares) < 0.7 and 0.9 < max(shares) <= 1
    data = data_of([9, 9], [2, 2])
    first, again = (list(validation_batches(data, np.arange(len(data)), 7, 3)) for _ in range(2))
    assert [len(batch) for batch in first] == [7, 4]
    assert all(np.array_equal(a.rows, b.rows) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize(("limit", "expected"), [(0, 3), (2, 2), (9, 3)])
def test_a_limit_samples_whole_articles(limit, expected):
    data = data_of([2, 2], [3, 3], [4, 4])
    found = data.limited(limit, 0)
    assert len(found) == expected
    assert set(np.diff(found.starts).tolist()) <= {4, 6, 8}
    assert len(found.sentences) == len(found.sections) == found.starts[-1]


def test_thinning_limits_the_sentences_of_an_article_and_drops_what_cannot_be_learned_from():
    data = data_of([50, 50], [3, 3], [2, *[1] * 60])
    found = data.thinned(8, 0)
    assert np.diff(found.starts).tolist()[:2] == [8, 6] and set(found.sentences) <= set(data.sentences)
    assert len(found.sentences) == len(found.sections) == found.starts[-1]
    for article in range(len(found)):
        sizes = np.unique(found.sections[found.rows(article)], return_counts=True)[1]
        assert len(sizes) > 1 and sizes.max() > 1
    assert np.array_equal(found.sentences, data.thinned(8, 0).sentences)
    assert data.thinned(0, 0) is data
