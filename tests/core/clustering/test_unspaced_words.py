"""Words of scripts without spaces, found in the texts themselves."""

import numpy as np
import regex  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.clustering.naming import WordReader, theme_words
from themescope.core.clustering.unspaced_words import split, unspaced_words

PRESIDENTS = [
    f"{country}总统{deed}" for country in ("美国", "法国", "巴西", "印度") for deed in ("访华", "选举", "辞职", "讲话")
]
OTHERS = ["昨天下雨", "火车晚点", "面包涨价", "学生放假", "河水上涨", "医院关闭", "球队获胜", "歌手道歉"]


def test_a_half_of_two_words_is_no_word() -> None:
    words = unspaced_words([*PRESIDENTS, *OTHERS])
    assert "总统" in words and "国总" not in words
    assert split("西班牙总统", words) == [("西班牙", True), ("总统", True)]


def test_characters_that_belong_to_no_word_are_one_piece() -> None:
    words = {"总统": 5, "美国": 4}
    assert split("美国总统林志玲", words) == [("美国", True), ("总统", True), ("林志玲", True)]
    assert split("甲总统乙丙丁戊己", words) == [("甲", False), ("总统", True), ("乙丙丁戊己", False)]


def test_a_mark_stays_with_its_letter() -> None:
    """Thai vowels and tones are characters of their own in Unicode."""
    found = split("เลือกตั้งที่นี่", {"เลือกตั้ง": 3})
    assert found[0] == ("เลือกตั้ง", True)
    assert all(not regex.match(r"\p{M}", piece) for piece, _ in found)


@given(st.lists(st.text("总统美国法选举甲乙ก้ที่", max_size=12), max_size=30), st.text("总统美国法ก้ที่", max_size=20))
def test_the_pieces_are_the_text(parts: list[str], text: str) -> None:
    words = unspaced_words(parts)
    pieces = split(text, words)
    assert "".join(piece for piece, _ in pieces) == text and all(piece for piece, _ in pieces)
    assert all(sum(part.count(word) for part in parts) >= 3 for word in words)
    assert words == unspaced_words(parts[::-1])


def test_thai_words_are_found_beside_japanese_ones() -> None:
    words = ["วัดพระแก้ว", "รถไฟฟ้า", "ตลาดน้ำ", "โรงพยาบาล"]
    thai = [a + b for a in words for b in words if a != b]
    reader = WordReader.of([*thai, *["町の新鮮な水は高い"] * 30], frozenset(), frozenset(["ja"]))
    assert reader.japanese and set(words) & reader.unspaced.keys()


def test_themes_in_chinese_and_thai_have_names_of_whole_words() -> None:
    thai = [f"{country}เลือกตั้ง{deed}" for country in ("ไทย", "ลาว", "จีน") for deed in ("วันนี้", "ใหม่", "แล้ว")]
    labels = np.repeat([0, 1], [len(PRESIDENTS), len(thai)]).astype(np.int32)
    chinese_name, thai_name = theme_words([*PRESIDENTS, *thai], labels, 2)
    assert any("总统" in word for word in chinese_name) and not any(word in ("国总", "统访") for word in chinese_name)
    assert any("เลือกตั้ง" in word for word in thai_name)
