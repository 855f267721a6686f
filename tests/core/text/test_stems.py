from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from themescope.core.text.languages import content_words


def test_words_are_lower_case_stems_without_punctuation():
    assert content_words("The Cats' tails -- running!") == ["the", "cat", "tail", "run"]
    assert content_words("The Cats' tails -- running!", stemmed=False) == ["the", "cats", "tails", "running"]


def test_every_ascii_mark_separates_and_other_marks_stay():
    assert content_words("well-known U.S. a_b 3.5%", stemmed=False) == ["well", "known", "u", "s", "a", "b", "3", "5"]
    assert content_words("naïve café…", stemmed=False) == ["naïve", "café…"]
    assert content_words(" \t\n!?") == []


@given(st.text())
def test_words_hold_no_space_and_stems_keep_their_number(text):
    words = content_words(text, stemmed=False)
    assert all(word and len(word.split()) == 1 for word in words)
    assert len(content_words(text)) == len(words)


def test_threads_do_not_disturb_each_other():
    texts = [f"{stem}ing {stem}ed {stem}s number{i}s" for i, stem in enumerate(["walk", "jump", "talk"] * 50)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(content_words, texts)) == [content_words(text) for text in texts]
