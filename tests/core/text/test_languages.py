import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from tests.core.clustering.test_names import named
from themescope.core.text import languages
from themescope.core.text.languages import content_words, tokenize
from themescope.core.text.splitting import SentenceSplitter

SENTENCES = {
    "en": "The river flows into the sea after a long way through the plain.",
    "de": "Der Fluss mündet nach einem langen Weg durch die Ebene ins Meer.",
    "fr": "Le fleuve se jette dans la mer après un long chemin à travers la plaine.",
    "es": "El río desemboca en el mar después de un largo camino por la llanura.",
    "it": "Il fiume sfocia nel mare dopo un lungo cammino attraverso la pianura.",
    "nl": "De rivier mondt na een lange weg door de vlakte uit in zee.",
    "pl": "Rzeka wpada do morza po długiej drodze przez równinę.",
    "ru": "Река впадает в море после долгого пути через равнину.",
    "ar": "يصب النهر في البحر بعد طريق طويل عبر السهل.",
    "he": "הנהר נשפך לים לאחר דרך ארוכה במישור.",
    "zh": "河流经过平原的漫长道路后流入大海。",
    "ja": "川は平野を通る長い道のりの後に海に注ぎます。",
    "ko": "강은 평야를 지나는 긴 길을 따라 바다로 흘러갑니다.",
    "th": "แม่น้ำไหลลงสู่ทะเลหลังจากเดินทางไกลผ่านที่ราบ",
    "hi": "नदी मैदान से होकर एक लंबे रास्ते के बाद समुद्र में गिरती है।",
}


@pytest.mark.parametrize("language", SENTENCES)
def test_languages_of_sentences(language: str) -> None:
    assert languages.detect_language(SENTENCES[language]) == language


def test_shares_add_up_and_rare_languages_are_summed() -> None:
    texts = [SENTENCES["de"]] * 82 + [SENTENCES["en"]] * 16 + [SENTENCES["fr"], SENTENCES["es"]]
    shares = languages.language_shares(texts)
    assert shares == {"de": 0.82, "en": 0.16, languages.OTHER: 0.02}
    assert languages.shares_text(shares) == "82 % German, 16 % English, 2 % other languages"
    assert (languages.main_language(shares), languages.frequent(shares)) == ("de", ("de", "en"))


def test_text_without_words_has_no_language() -> None:
    assert languages.language_shares(["1984", "", "…", "?!"]) == {}
    assert (languages.main_language({}), languages.frequent({}), languages.shares_text({})) == ("en", ("en",), "")
    assert languages.shares_text({"de": 1.0}) == "German" == languages.language_name("de")
    assert languages.language_name("tlh") == "tlh"


@given(st.lists(st.sampled_from([*SENTENCES.values(), "", "12"]), max_size=60))
def test_shares_are_at_most_one_and_fall(texts: list[str]) -> None:
    shares = [share for code, share in languages.language_shares(texts).items() if code != languages.OTHER]
    assert shares == sorted(shares, reverse=True)
    assert sum(languages.language_shares(texts).values()) <= 1.005


@given(st.integers(0, 500), st.integers(1, 40))
def test_a_sample_is_spaced_and_not_longer(n: int, most: int) -> None:
    found = languages.sampled([str(i) for i in range(n)], most)
    assert len(found) == min(n, most) == len(set(found))


def test_stop_words_of_a_language_and_of_several() -> None:
    assert {"die", "für", "aus"} <= languages.stop_words(frozenset({"de"}))
    assert {"the", "die"} <= languages.stop_words(frozenset({"de", "en"}))
    assert languages.stop_words(frozenset({"tlh"})) == frozenset()
    assert languages.stop_words(frozenset({"en"})) == ENGLISH_STOP_WORDS


def test_stop_words_cost_no_import_of_scikit_learn() -> None:
    asked = "from themescope.core.text.languages import stop_words; import sys; assert stop_words(frozenset({'en'}))"
    subprocess.run([sys.executable, "-c", f"{asked}; assert 'sklearn' not in sys.modules"], check=True)


def test_german_names_have_no_german_stop_words() -> None:
    rivers = ["Die Donau ist für die Schifffahrt wichtig", "Der Rhein fließt aus den Alpen", "Die Donau und der Rhein"]
    schools = ["Die Schule ist für die Kinder da", "Kinder lernen in der Schule", "Die Schule beginnt für alle"]
    found = named(rivers, schools)
    assert {"Donau", "Rhein"} <= set(found[0]) and {"Schule", "Kinder"} <= set(found[1])


def test_names_of_other_scripts() -> None:
    french = named(["L'eau de la rivière est froide", "Il boit l'eau", "C'est l'eau d'ici"], ["Le pain du soir"] * 2)
    assert "eau" in french[0]
    chinese = named(["经济发展很快", "经济政策", "全国经济"], ["教育很重要", "学校教育", "教育部"])
    assert (chinese[0][0], chinese[1][0]) == ("经济", "教育")
    hindi = named(["नदी समुद्र में गिरती है", "नदी लंबी है", "यह नदी है"], ["विद्यालय बंद है", "विद्यालय बड़ा है"])
    assert (hindi[0][0], hindi[1][0]) == ("नदी", "विद्यालय")


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("zh", "河流很长。海很大！“他来了。”为什么？", ["河流很长。", "海很大！", "“他来了。”", "为什么？"]),
        ("ar", "ما هذا؟ هذا كتاب. وهذا قلم.", ["ما هذا؟", "هذا كتاب.", "وهذا قلم."]),
        ("hi", "यह नदी है। वह समुद्र है।", ["यह नदी है।", "वह समुद्र है।"]),
        ("ko", "강이 깁니다. 바다가 큽니다.", ["강이 깁니다.", "바다가 큽니다."]),
    ],
)
def test_sentences_end_at_the_marks_of_the_language(language: str, text: str, sentences: list[str]) -> None:
    assert SentenceSplitter(language).split(text) == sentences


def test_words_are_lower_case_stems_every_ascii_mark_separates_and_other_marks_stay():
    assert content_words("The Cats' tails -- running!") == ["the", "cat", "tail", "run"]
    assert content_words("The Cats' tails -- running!", stemmed=False) == ["the", "cats", "tails", "running"]
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


STRAIGHT = str.maketrans("‘’‛ʼ“”„‟", "''''\"\"\"\"")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I don't think so.", "I do n't think so ."),
        ("The dog’s bowl isn’t here", "The dog 's bowl is n't here"),
        ("They'll say we've won; he'd agree, I'm sure", "They 'll say we 've won ; he 'd agree , I 'm sure"),
        ("You cannot, can't", "You can not , ca n't"),
        ("the dogs' bowls", "the dogs ' bowls"),
        ("(U.S. troops, e.g. Marines)", "( U.S. troops , e.g. Marines )"),
        ("Mr. Smith met Dr. No.", "Mr. Smith met Dr. No."),
        ("It cost $1,234.50, i.e. 5%!", "It cost $ 1,234.50 , i.e. 5 % !"),
        ("a well-known AT&T — 1990–95", "a well-known AT&T — 1990 – 95"),
        ("“Quoted”, 'so'...", "\" Quoted \" , ' so ' ..."),
        ("see http://example.org/a?b=1 now", "see http://example.org/a?b=1 now"),
        ("word.Another and/or 3/4 12:30", "word . Another and / or 3/4 12:30"),
        ("", ""),
        (" \t\n ", ""),
        ("Zürich naïve 東京 Ελλάδα", "Zürich naïve 東京 Ελλάδα"),
    ],
)
def test_examples(text, tokens):
    assert tokenize(text) == tokens.split()


@given(st.text())
def test_nothing_is_lost_or_added(text):
    tokens = tokenize(text)
    assert "".join(tokens) == "".join(text.split()).translate(STRAIGHT)
    assert all(tokens)


@given(st.lists(st.sampled_from(["don't", "U.S.", "(a)", "dogs'", "1,000", "end.", "x-y", "“q”"]), max_size=8))
def test_chunks_are_independent(chunks):
    assert tokenize(" ".join(chunks)) == [token for chunk in chunks for token in tokenize(chunk)]
