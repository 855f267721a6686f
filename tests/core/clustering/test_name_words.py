"""Words of names: no halves of contractions, short subjects, no remains of markup, Turkish and Japanese."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.clustering.naming import NameWord, WordReader, joined, level_names, theme_words

STOP = frozenset(["i", "it", "is", "we", "they", "the", "to", "and", "us", "in", "of"])
HALVES = {"n't", "don", "doesn", "couldn", "ca", "wo", "ll", "ve", "re", "'s", "'ve", "t", "s"}


def read(text: str, *others: str, languages: str = "en") -> list[NameWord]:
    return WordReader.of([text, *others], STOP, frozenset(languages.split())).words(text)


def keys(text: str, *others: str, languages: str = "en") -> list[str]:
    return [word.key for word in read(text, *others, languages=languages) if word.key]


@pytest.mark.parametrize(
    "text",
    ["I don't know", "I don’t know", "I do n't know", "i dont know", "I don ' t know", "They've KNOWN, we'll know"],
)
def test_a_contraction_is_no_word_and_no_half_of_one(text: str) -> None:
    assert {key.lower() for key in keys(text)} <= {"know", "known"}


def test_other_words_with_an_apostrophe_are_whole() -> None:
    assert keys("O'Brien left Europe's roads in five o'clock") == [
        "o'brien",
        "left",
        "europe",
        "road",
        "five",
        "o'clock",
    ]
    women = read("We want women's rights")
    assert joined([word for word in women if word.written not in ("we", "want")]) == "women's rights"


@given(st.lists(st.sampled_from(["don't", "food", "couldn’t", "ca n't", "it 's", "they'll", "We've", "won't", "TV"])))
def test_no_text_has_keys_that_are_halves(pieces: list[str]) -> None:
    assert HALVES.isdisjoint(keys(" ".join(pieces)))


def test_spoken_lists_have_names_without_halves() -> None:
    texts = [
        "The food wasn't good",
        "I couldn't eat the food",
        "Food isn't warm",
        "Don't know",
        "I don't know, can't say",
    ]
    labels = np.array([0, 0, 0, 1, 1], np.int32)
    words = {part for name in theme_words(texts, labels, 2) for phrase in name for part in phrase.split()}
    words |= {part for name in level_names(texts, [labels])[0] for part in name.replace(" · ", " ").split()}
    assert {"food", "know"} <= words
    assert not any("'" in word or word in HALVES for word in words)


def test_words_of_two_characters_count_where_they_are_written_in_capitals() -> None:
    assert keys("The US told us: AI, TVs, F1, 5G and 3D") == ["US", "told", "ai", "tv", "f1", "5g", "3d"]
    assert keys("we bought a tv", "My TV is old") == ["bought", "tv"]
    assert keys("We go up a hill, ok") == ["hill"]
    assert keys("the 2nd of the 1990s in 2001, 4TH, 12kg") == []
    assert keys("U.S. oil", "The US is big")[0] == keys("The US is big")[0] == "US"


def test_a_list_without_letter_case_has_short_words() -> None:
    assert keys("ai is on tv", "the eu and ai") == ["ai", "tv"]
    assert keys("OIL PRICES UP IN THE EU") == ["oil", "price", "eu"]


def test_remains_of_markup_and_addresses_are_no_words() -> None:
    text = 'R&amp;D &amp;nbsp; &quot;gas&quot; & amp ; oil<br /><a href="x">coal</a> quot 2 < 3'
    assert keys(text) == ["r&d", "gas", "oil", "coal"]
    assert keys("See https://a.org/b, www.a.b, mail a.b@c.de, @joe, bbc.co.uk #Climate") == ["see", "mail", "climate"]
    assert keys("He left.The end") == ["left", "end"]


def test_turkish_small_letters_and_suffixes_of_names() -> None:
    texts = ["İstanbul'da IŞIK", "Irmak ılık", "Isparta'nın suyu"]
    assert [keys(text, *texts, languages="en tr") for text in texts] == [["istanbul", "ışık"], ["ırmak", "ılık"],
                                                                         ["ısparta", "suyu"]]  # fmt: skip
    assert keys("Internet", "Isle of Man", "İzmir") == ["internet"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("言論の自由は大切です。", ["言論", "自由", "大切"]),
        ("大好きな食べ物と水がある", ["水"]),
        ("コンピューターとAI技術を使う", ["コンピューター", "ai", "技術"]),
        ("図書館で勉強する", ["図書館", "勉強"]),
    ],
)
def test_japanese_words_are_runs_of_a_script(text: str, found: list[str]) -> None:
    assert keys(text, languages="en ja") == found


def test_japanese_compounds_are_split_where_their_parts_occur() -> None:
    texts = ["経済政策を変える", "経済が悪い", "政策は難しい", "知事選挙"]
    assert keys(*texts, languages="en ja") == ["経済", "政策"]
    assert keys(texts[3], *texts[:3], languages="en ja") == ["知事選挙"]
    speech = ["言論の自由は大切です。", "言論の自由を守りたい。", "政府は言論の自由を制限した。"]
    trains = ["電車が遅れた。", "朝の電車は混んでいます。", "電車の料金が高い。"]
    words = theme_words(speech + trains, np.repeat(np.arange(2, dtype=np.int32), 3), 2)
    assert (words[0][0], words[1][0]) == ("言論の自由", "電車")


@given(st.text(max_size=60))
def test_any_text_has_words(text: str) -> None:
    for word in read(text):
        assert not any(map(str.isspace, word.key))
