import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.clustering.naming import NameWord, WordReader, joined, level_names, theme_names, theme_words
from themescope.core.text.languages import split, unspaced_words, whole_words

TEXTS = [
    "Violent video games make children aggressive",
    "Violent video games teach children nothing",
    "Video games train surgeons",
    "Video games train pilots",
    "Boxing is a dangerous sport",
    "Boxing should stay a sport",
]


def test_a_group_is_named_by_its_own_words_or_keeps_a_given_name() -> None:
    fine, coarse = np.array([0, 0, 1, 1, 2, 2], np.int32), np.array([0, 0, 0, 0, 1, 1], np.int32)
    parts, groups = level_names(TEXTS, [fine, coarse])
    assert groups == ["video games · children", "boxing · sport"]
    assert "violent" in parts[0] and "train" in parts[1]
    assert not {"video", "games", "children"} & set(" ".join(parts[:2]).split())
    parts, groups = level_names(TEXTS, [fine, coarse], given={1: ["1. Training with games", "2. Ring"]})
    assert groups == ["1. Training with games", "2. Ring"]
    assert "train" not in parts[1] and "games" not in parts[0]


def test_names_have_the_capitals_of_the_texts() -> None:
    texts = [
        "Anger of Achilles fills a poem",
        "The poem of Achilles",
        "The BBC is paid by fees",
        "Nobody pays fees to the BBC",
    ]
    assert level_names(texts, [np.array([0, 0, 1, 1], np.int32)]) == [["Achilles · poem", "BBC · fees"]]


@given(st.lists(st.tuples(st.text(max_size=60), st.integers(0, 5)), max_size=40))
def test_any_texts_have_words_and_names(rows: list[tuple[str, int]]) -> None:
    labels = np.array([label for _, label in rows], dtype=np.int32)
    names = level_names([text for text, _ in rows], [labels, labels // 2])
    assert [len(level) for level in names] == [labels.max(initial=-1) + 1, (labels // 2).max(initial=-1) + 1]
    assert all(isinstance(name, str) for level in names for name in level)
    assert not any(map(str.isspace, "".join(word.key for text, _ in rows for word in read(text))))


def named(*groups: list[str], words: int = 3) -> list[tuple[str, ...]]:
    labels = np.repeat(np.arange(len(groups), dtype=np.int32), [len(group) for group in groups])
    return theme_words([text for group in groups for text in group], labels, len(groups), words)


HUNDE = ["Der Hund bellt laut", "Ein Hund rennt weg", "Alle Hunde schlafen viel", "Den Hunden geht es gut"]
OTHER = ["Trade and aid", "Trade, not aid", "Aid is trade"]


def test_phrases_are_whole_without_plurals_and_as_they_are_written() -> None:
    words = named(["Video games are fun", "A video game is violent", "Old video games again"], OTHER)
    assert words[0][0] == "video games"
    assert theme_names([*words, (), words[0]])[2:] == ["theme 3", f"{theme_names(words)[0]} (4)"]
    speech = ["The freedom of speech in Gaza", "Freedom of speech is a right", "Some limit freedom of speech for all"]
    words = named([*speech, "Gaza is near", "They left Gaza"], OTHER)
    assert words[0][:2] == ("freedom of speech", "Gaza")
    pipeline, other = named(
        ["The Keystone XL Pipeline leaks", "We fight the Keystone XL Pipeline", "No Keystone XL Pipeline here",
         "Oil flows in the Keystone XL Pipeline", "A pipeline costs money"],
        ["The Milky Way is a galaxy", "We see the Milky Way", "Stars of the Milky Way shine", "Our Milky Way is old"],
    )  # fmt: skip
    assert pipeline[0] == "Keystone XL Pipeline" and other[0] == "Milky Way"


def test_nothing_is_said_twice() -> None:
    words = named(["Nuclear states monopolise weapons"] * 9 + ["States fight", "The state acts"], OTHER, words=4)
    assert all(" " not in word for word in words[0])
    monarchy = ["The monarchy is old", "A monarch is old", "Monarchs, not monarchies", "Monarchy ends", "They are old"]
    words = named(monarchy, OTHER)
    assert sum("monarch" in word for word in words[0]) == 1
    assert named(["", "of the"], ["Trade"]) == [(), ("trade",)]
    spoken = [["The food wasn't good", "I couldn't eat the food", "Food isn't warm"], ["Don't know", "I can't know"]]
    assert named(*spoken) == [("food", "warm"), ("know",)]
    assert level_names([*spoken[0], *spoken[1]], [np.array([0, 0, 0, 1, 1], np.int32)]) == [["food · warm", "know"]]


def test_a_name_is_no_verb_adjective_or_clause_but_the_noun_that_all_share() -> None:
    welfare, crime = named(
        ["Welfare creates dependence", "Welfare creates poverty", "Does welfare make people lazy?", "welfare is bad",
         "They say that welfare creates new dependence", "The state should reduce welfare"],
        ["Prison reduces crime", "More police would reduce crime", "Crime is caused by individual poverty",
         "Individual police officers reduced the crime here", "We need to use the police", "They accepted crime"],
    )  # fmt: skip
    assert welfare[0] == "welfare" and crime[0] == "crime"
    words = {word for name in (welfare, crime) for phrase in name for word in phrase.split()}
    assert words.isdisjoint(["creates", "reduce", "reduces", "reduced", "use", "accepted", "individual", "bad", "lazy"])
    lost, stolen = named(
        ["I lost my card", "My card got lost", "Lost the card yesterday", "The card is lost"],
        ["Block my card", "Can you block the card?", "Please block this card now", "I want to block a card"],
    )  # fmt: skip
    assert lost[:2] == ("card", "lost") and stolen[:2] == ("card", "block")


def test_a_word_of_most_or_of_a_single_sentence_names_nothing_and_one_of_few_is_not_left_alone() -> None:
    fares, seats = named(
        ["Fares rise every year", "The fares are too high", "My aunt pays low fares", "Fares for a zebra"],
        ["The seats are dirty", "More seats are wanted", "An old man found no seats", "Seats of cheap plastic"],
    )
    assert (fares, seats) == (("fares",), ("seats",))
    harbour = [f"the harbour {verb}" for verb in ("sleeps", "grows", "burns", "shines", "moves", "closes", "waits")]
    others = [f"the {noun}" for noun in ("lamp", "tree", "stone", "glass", "chair", "cloud", "spoon", "wheel", "brick")]
    ferries = [*harbour, "a ferry", "the ferry", *others, "the rope", "a shelf"]
    assert named(ferries, ["the dog eats", "a dog barks"] * 9)[0] == ("harbour", "ferry")
    texts = [f"der Hund {i % 7}x bellt laut" if i % 2 else f"der Kater{i % 5} schläft" for i in range(100)]
    names = level_names(texts, [np.arange(100, dtype=np.int32) % 2])[0]
    assert "der" not in " ".join(names).split()


def test_texts_without_a_common_word_are_named_by_a_short_central_one() -> None:
    texts = ["Oops, wrong door!", "Blood in Boston", "Bridgman is out", "An alternate act"]
    (words,) = named(texts)
    assert theme_names([words], [texts]) == ["Oops, wrong door!"]
    assert theme_names([("blood",)], [[*texts, "More blood"]]) == ["blood"]
    answers = [["Don't know", "I know nothing"], ["A bank", "Banks"]]
    assert theme_names([["know"], ["bank"]], answers) == ["Don't know", "bank"]
    assert theme_names([[], ["bank"]], [["I really do not know that at all " * 2], ["A bank"]]) == ["theme 1", "bank"]
    assert theme_names([["know"], ["bank"]]) == ["know", "bank"]


def test_a_short_text_that_says_what_many_say_is_the_name() -> None:
    late, fares = (
        ["My train hasn't come, why?", "Why is my train late?", "The train is late again", "Trains are late, always"],
        ["Fares", "Fares rise, which hurts passengers", "They raised fares", "Passengers pay fares"],
    )
    names = theme_names([("train", "late"), ("fares", "passengers")], [late, fares])
    assert names == ["Why is my train late?", "fares · passengers"]
    assert theme_names([("late train",)], [late]) == ["late train"]


def test_central_texts_count_more() -> None:
    texts = [
        "Bikes need lanes",
        "Safe lanes for bikes",
        "Rust eats cars",
        "Rust and rain",
        "Rain, then rust",
        "Rainy mud",
    ]
    others = ["Dogs bark", "The dog barks", "A dog sleeps", "Cats sleep"]
    labels, central = np.repeat(np.arange(2, dtype=np.int32), [6, 4]), np.array([0.9, 0.8, *[0.2] * 4, *[0.5] * 4])
    assert theme_words([*texts, *others], labels, 2)[0][0] == "rust"
    assert theme_words([*texts, *others], labels, 2, central=central)[0] == ("bikes", "lanes")


def test_names_of_titles_in_capitals_are_written_in_small_letters() -> None:
    grain, steel = named(
        ["GRAIN EXPORTS FALL - USDA", "USDA SEES GRAIN EXPORTS", "FEWER GRAIN EXPORTS, USDA SAYS", "EEC GRAIN EXPORTS"],
        ["U.S. STEEL STRIKE ENDS", "A STEEL STRIKE", "NO STEEL STRIKE IN JAPAN", "JAPAN: LONG STEEL STRIKE"],
    )
    assert grain == ("Grain Exports", "USDA") and steel == ("Steel Strike", "Japan")


def test_a_hyphenated_word_is_not_beside_its_first_half() -> None:
    burning = [
        "Flag burning is speech",
        "He saw flag burning",
        "A flag-burning law",
        "A flag-burning case",
        "Flag burning",
    ]
    assert named(burning, ["Dogs bark", "The dog barks", "A dog sleeps", "Cats sleep"])[0] == ("flag burning",)


def test_words_of_a_name_that_are_always_together_are_one_phrase() -> None:
    votes = ["Votes in Buenos Aires.", "They met in Buenos Aires.", "A vote was held in Buenos Aires.", "Votes count"]
    assert "Buenos Aires" in named(votes, ["Dogs bark", "The dog barks", "A dog sleeps", "Cats sleep"])[0]


def test_names_in_other_languages_are_nouns_and_german_ones_count_compounds_without_ends_of_case() -> None:
    boats = (
        "Il faut conduire un bateau sur le lac. Un bateau peut conduire au port. Le lac, le port. Conduire le bateau"
    )
    dogs = ["Le chien dort", "Un chien aboie", "Mon chien mange", "Ce chien court"]
    assert named(boats.split(". "), dogs)[0][0] == "bateau"
    games = "Die Olympischen Spiele. Bei Olympischen Spielen. Das Spiel der Olympischen. Spiele im Olympischen Dorf"
    assert "Olympischen" not in named(games.split(". "), HUNDE)[0]
    polls = "Die Präsidentschaftswahl beginnt. Viele Wahlplakate hängen. Zu den Wahlen gehen alle. Wahl ohne Sieger"
    assert named(polls.split(". "), HUNDE) == [("Wahl",), ("Hund",)]
    later = "Normalerweise scheint der Mond. Dann. Normalerweise steht der Mond hoch. Normalerweise sieht man den Mond"
    assert named(later.split(". "), HUNDE)[0] == ("Mond",)


def test_chinese_words_have_no_function_words_and_japanese_names_no_adjectives() -> None:
    words = dict.fromkeys(["比赛", "比赛中", "如果", "如果你", "活动", "项活动", "土耳其"], 3)
    assert [*whole_words(words, frozenset(["如果"]))] == ["比赛", "如果", "活动", "土耳其"]
    assert [word.written for word in WordReader.of([], STOP, STOP).words("土耳其的目的")] == ["土耳其", "的", "目的"]
    rules, infections = named(
        ["複雑な制度が続く", "制度は複雑な話だ", "複雑な制度を変える"],
        ["感染症が広がる", "感染を防ぐ", "集団感染の恐れ"],
    )
    assert rules[0] == "制度" and infections[0] == "感染" and "感染症" not in infections


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        ([f"{the} driver’s strike" for the in ("The", "A", "Another", "This")], "driver's strike"),
        ([f"The People 's Republic {text}" for text in ("grew", "fell", "wins", "may")], "People's Republic"),
        ([f"{une} avenue de l’Opéra est vide" for une in ("Une", "Cette", "Notre", "Votre")], "avenue de Opéra"),
        ([f"İlaç {text}" for text in ("çok pahalı", "bulunmuyor", "fiyatları arttı", "için para yok")], "ilaç"),
        ([f"Isı {text}" for text in ("yüksek bugün", "çok düşük", "kaybı fazla", "pompası pahalı")], "ısı"),
    ],
)
def test_a_word_that_texts_share_is_found_however_they_write_it(texts: list[str], name: str) -> None:
    words = named(texts, ["cats sleep all day", "a cat and dogs", "dogs bark loud", "the dog bites cats"])
    assert words[0][0] == name
    assert theme_names(words[:1], [texts]) == [" · ".join(words[0])]


def test_twins_are_told_apart() -> None:
    groups = [["The bus was late", "A bus is late", "The late bus", "My bus was full of dogs"],
              ["The bus is full", "A bus was full", "The full bus", "My bus was late for school"],
              ["Trains", "The train", "A train", "My train"]]  # fmt: skip
    names = named(*groups)
    assert names[0][0] == names[1][0] == "bus" and len(set(names)) == 3 and all(len(name) > 1 for name in names[:2])


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


def test_words_with_an_apostrophe_are_whole_and_remains_of_markup_are_none() -> None:
    assert " ".join(keys("O'Brien left Europe's roads in five o'clock")) == "o'brien left europe road five o'clock"
    women = read("We want women's rights")
    assert joined([word for word in women if word.written not in ("we", "want")]) == "women's rights"
    text = 'R&amp;D &amp;nbsp; &quot;gas&quot; & amp ; oil<br /><a href="x">coal</a> quot 2 < 3'
    assert keys(text) == ["r&d", "gas", "oil", "coal"]
    assert keys("See https://a.org/b, www.a.b, mail a.b@c.de, @joe, bbc.co.uk #Climate") == ["see", "mail", "climate"]
    assert keys("He left.The end") == ["left", "end"]


@given(st.lists(st.sampled_from(["don't", "food", "couldn’t", "ca n't", "it 's", "they'll", "We've", "won't", "TV"])))
def test_no_text_has_keys_that_are_halves(pieces: list[str]) -> None:
    assert HALVES.isdisjoint(keys(" ".join(pieces)))


def test_words_of_two_characters_count_where_they_are_written_in_capitals_or_nothing_is() -> None:
    assert keys("The US told us: AI, TVs, F1, 5G and 3D") == ["US", "told", "ai", "tv", "f1", "5g", "3d"]
    assert keys("we bought a tv", "My TV is old") == ["bought", "tv"]
    assert keys("We go up a hill, ok") == ["hill"]
    assert keys("the 2nd of the 1990s in 2001, 4TH, 12kg") == []
    assert keys("U.S. oil", "The US is big")[0] == keys("The US is big")[0] == "US"
    assert keys("ai is on tv", "the eu and ai") == ["ai", "tv"]
    assert keys("OIL PRICES UP IN THE EU") == ["oil", "price", "eu"]


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


PRESIDENTS = [
    f"{country}总统{deed}" for country in ("美国", "法国", "巴西", "印度") for deed in ("访华", "选举", "辞职", "讲话")
]
OTHERS = ["昨天下雨", "火车晚点", "面包涨价", "学生放假", "河水上涨", "医院关闭", "球队获胜", "歌手道歉"]


def test_texts_in_chinese_and_thai_are_split_into_whole_words_that_name_themes() -> None:
    words = unspaced_words([*PRESIDENTS, *OTHERS])
    assert "总统" in words and "国总" not in words
    assert split("西班牙总统", words) == [("西班牙", True), ("总统", True)]
    words = {"总统": 5, "美国": 4}
    assert split("美国总统林志玲", words) == [("美国", True), ("总统", True), ("林志玲", True)]
    assert split("甲总统乙丙丁戊己", words) == [("甲", False), ("总统", True), ("乙丙丁戊己", False)]
    thai = [f"{country}เลือกตั้ง{deed}" for country in ("ไทย", "ลาว", "จีน") for deed in ("วันนี้", "ใหม่", "แล้ว")]
    labels = np.repeat([0, 1], [len(PRESIDENTS), len(thai)]).astype(np.int32)
    chinese_name, thai_name = theme_words([*PRESIDENTS, *thai], labels, 2)
    assert any("总统" in word for word in chinese_name) and not any(word in ("国总", "统访") for word in chinese_name)
    assert any("เลือกตั้ง" in word for word in thai_name)


def test_thai_words_keep_their_marks_also_beside_japanese_ones() -> None:
    """Thai vowels and tones are characters of their own in Unicode."""
    found = split("เลือกตั้งที่นี่", {"เลือกตั้ง": 3})
    assert found[0] == ("เลือกตั้ง", True)
    assert all(not regex.match(r"\p{M}", piece) for piece, _ in found)
    spelt = ["วัดพระแก้ว", "รถไฟฟ้า", "ตลาดน้ำ", "โรงพยาบาล"]
    thai = [a + b for a in spelt for b in spelt if a != b]
    reader = WordReader.of([*thai, *["町の新鮮な水は高い"] * 30], frozenset(), frozenset(["ja"]))
    assert reader.japanese and set(spelt) & reader.unspaced.keys()


@given(st.lists(st.text("总统美国法选举甲乙ก้ที่", max_size=12), max_size=30), st.text("总统美国法ก้ที่", max_size=20))
def test_the_pieces_are_the_text(parts: list[str], text: str) -> None:
    words = unspaced_words(parts)
    pieces = split(text, words)
    assert "".join(piece for piece, _ in pieces) == text and all(piece for piece, _ in pieces)
    assert all(sum(part.count(word) for part in parts) >= 3 for word in words)
    assert words == unspaced_words(parts[::-1])
