"""Names of nested groups: telling words, without those of the group above."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.clustering.naming import level_names

TEXTS = [
    "Violent video games make children aggressive",
    "Violent video games teach children nothing",
    "Video games train surgeons",
    "Video games train pilots",
    "Boxing is a dangerous sport",
    "Boxing should stay a sport",
]


def test_a_group_is_named_by_its_own_words() -> None:
    fine, coarse = np.array([0, 0, 1, 1, 2, 2], np.int32), np.array([0, 0, 0, 0, 1, 1], np.int32)
    parts, groups = level_names(TEXTS, [fine, coarse])
    assert groups == ["video games · children", "boxing · sport"]
    assert "violent" in parts[0] and "train" in parts[1]
    assert not {"video", "games", "children"} & set(" ".join(parts[:2]).split())


def test_names_have_the_capitals_of_the_texts() -> None:
    texts = [
        "Anger of Achilles fills a poem",
        "The poem of Achilles",
        "The BBC is paid by fees",
        "Nobody pays fees to the BBC",
    ]
    assert level_names(texts, [np.array([0, 0, 1, 1], np.int32)]) == [["Achilles · poem", "BBC · fees"]]


def test_given_names_are_kept_and_their_words_not_repeated() -> None:
    fine, coarse = np.array([0, 0, 1, 1, 2, 2], np.int32), np.array([0, 0, 0, 0, 1, 1], np.int32)
    parts, groups = level_names(TEXTS, [fine, coarse], given={1: ["1. Training with games", "2. Ring"]})
    assert groups == ["1. Training with games", "2. Ring"]
    assert "train" not in parts[1] and "games" not in parts[0]


def test_words_of_most_sentences_name_nothing() -> None:
    texts = [f"der Hund {i % 7}x bellt laut" if i % 2 else f"der Kater{i % 5} schläft" for i in range(100)]
    names = level_names(texts, [np.arange(100, dtype=np.int32) % 2])[0]
    assert "der" not in " ".join(names).split()


@given(st.lists(st.tuples(st.text(max_size=30), st.integers(0, 5)), max_size=40))
def test_any_texts_have_names(rows: list[tuple[str, int]]) -> None:
    labels = np.array([label for _, label in rows], dtype=np.int32)
    names = level_names([text for text, _ in rows], [labels, labels // 2])
    assert [len(level) for level in names] == [labels.max(initial=-1) + 1, (labels // 2).max(initial=-1) + 1]
    assert all(isinstance(name, str) for level in names for name in level)
