import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from themescope.core.clustering.inputs import distinct_texts, with_duplicates
from themescope.core.text.cleaning import text_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Don't  know.", "don’t know"),
        ("(none)", " NONE!"),
        ("ﬁne", "Fine"),
        ("Ｎｏ", "no"),
        ("不知道。", "不知道"),
        ("“Why?”", "why"),
    ],
)
def test_case_spaces_and_punctuation_around_a_text_do_not_matter(one: str, other: str) -> None:
    assert text_key(one) == text_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("C", "C++"), (":-)", ":-("), ("5", "-5"), ("…", "!"), ("1.5", "15"), ("की", "का"), ("", "?")]
)
def test_what_differs_in_meaning_stays_different(one: str, other: str) -> None:
    assert text_key(one) != text_key(other)


def test_a_text_is_represented_by_its_most_frequent_spelling_and_finds_the_others() -> None:
    found = distinct_texts(["B", "NO", "no", "No.", "No.", "a"])
    assert found.rows.tolist() == [5, 0, 3]
    assert found.place.tolist() == [1, 2, 2, 2, 2, 0]
    assert found.counts.tolist() == [1, 1, 4]
    assert found.frequent(5) == ((3, 4),)
    assert distinct_texts(["NO", "no"]).rows.tolist() == [1]
    texts = {3: "A  dog.", 5: "a dog.", 8: "A dog", 13: "A dog barks", 17: "A cat."}
    assert with_duplicates(np.array([3]), texts).tolist() == [3, 5, 8]


def test_frequent_answers_that_are_unlike_the_others_are_left_out() -> None:
    x = np.concatenate(
        [np.repeat(np.eye(4), 50, axis=0) + np.tile(np.linspace(0, 0.2, 50), 4)[:, None], -np.eye(4)[:1]]
    )
    texts = [f"{i:03}" for i in range(200)]

    def left_out(*rows: str, least: int = 4) -> list[int]:
        found = distinct_texts([*texts, "none", *rows])
        usual = found.usual(x, least).tolist()
        assert usual == found.usual(sparse.csr_array(x), least).tolist()
        return sorted({*range(201)} - {*usual})

    assert left_out() == []
    assert left_out(*["none"] * 3) == [], "four rows are too few"
    assert left_out(*["none"] * 4) == [200]
    assert left_out(*["none"] * 4, *texts * 2) == [], "less than 2 % of the rows"
    assert left_out(*["none"] * 4, *["040"] * 12) == [200], "a frequent text is like others"
    assert left_out(*["none"] * 4, *["040"] * 30) == [200], "one that dominates, too"
    assert left_out(*["none"] * 4, least=201) == []
    assert left_out(*["none"] * 300, least=201) == [200], "most rows have it"
    assert left_out(*["none"] * 199, *texts * 2, least=201) == [200], "a text dominates"
    assert len(distinct_texts(["yes", "no"] * 20).usual(np.eye(2), 1)) == 1, "one text always remains"


def test_no_answer_is_left_out_by_its_text_where_it_is_frequent() -> None:
    texts = [f"Answer {i:03}" for i in range(60)]
    for answer, copies, out in (
        ("Keine  Angabe.", 5, 1),
        ("n/a", 5, 1),
        ("不知道", 5, 1),
        ("None", 4, 0),
        ("Bus", 5, 0),
    ):
        found = distinct_texts([*texts, *[answer] * copies])
        different = [[*texts, *[answer] * copies][row] for row in found.rows]
        assert 61 - len(found.usual(np.ones((61, 3)), 4, different)) == out, answer


@given(st.lists(st.sampled_from(["a", "A.", "b", "c", " C", "d d"]), min_size=1, max_size=30), st.randoms())
def test_the_order_of_rows_does_not_matter(texts: list[str], random: object) -> None:
    order = np.arange(len(texts))
    random.shuffle(order)  # type: ignore[attr-defined]
    x = np.random.default_rng(0).normal(size=(len(texts), 3)).astype(np.float32)
    one, other = distinct_texts(texts), distinct_texts([texts[i] for i in order])
    assert (one.place[order] == other.place).all() and (one.counts == other.counts).all()
    assert [texts[i] for i in one.rows] == [texts[order[i]] for i in other.rows]
    means = one.vectors(x)
    assert means.dtype == np.float32 and np.allclose(means, other.vectors(x[order]))
    for number, mean in enumerate(means):
        assert np.allclose(mean, x[one.place == number].mean(axis=0), atol=1e-6)
    assert np.allclose(one.vectors(sparse.csr_array(x)).toarray(), means)
