import numpy as np

from themescope.core.models.con_s2v.text import encode_text
from themescope.core.types import Sentence

TEXTS = ["The cat sat here.", "Too short!", "", "Cats, cats: the cat!", "One more of the cats"]


def sentences():
    return [Sentence(text, id=10 + i, article_id=i // 3, position=i % 3) for i, text in enumerate(TEXTS)]


def words_of(text, i):
    return [text.vocabulary.words[w] for w in text.ids[text.starts[i] : text.starts[i + 1]]]


def test_sentences_of_at_most_two_words_are_left_out():
    text = encode_text(sentences())
    assert text.rows.tolist() == [0, 3, 4] and text.words == 13
    assert text.articles.tolist() == [0, 1, 1] and text.positions.tolist() == [0, 0, 1]
    assert words_of(text, 1) == ["cat", "cat", "the", "cat"]
    assert text.vocabulary.words[0] == "cat" and text.vocabulary.counts[0] == 5
    assert text.vocabulary.counts.sum() == text.words
    assert text.vocabulary.rows("cats and THE dog") == [0, text.vocabulary.row_of["the"]]


def test_rare_words_can_be_removed():
    text = encode_text(sentences(), min_count=2)
    assert set(text.vocabulary.words) == {"cat", "the"}
    assert text.rows.tolist() == [3]


def test_an_empty_corpus_gives_an_empty_text():
    text = encode_text([])
    assert len(text) == 0 and text.words == 0 and not len(text.vocabulary)
    assert np.array_equal(text.starts, [0])
