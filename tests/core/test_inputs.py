"""Kinds of input × encode, cluster, find themes: a result, or an error that says what is wrong, where, what to do."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from datasets import Dataset
from scipy import sparse

import themescope
from themescope.core.errors import ConfigError, DataError, ThemescopeError
from themescope.core.sentence_model import SentenceModel
from themescope.core.text.sentence_lists import read_sentences
from themescope.core.types import Sentence

TEXTS = ["The river runs to the sea.", "The stream flows to the river.", "An opera is music.", "Violins make music."]
FRAME = pd.DataFrame({"id": [1, 2, 3, 4], "answer": TEXTS}, index=[7, 7, 8, 9])
NUMBERS = np.random.default_rng(0).normal(size=(4, 3))

ROWS, ONE, EMPTY = "rows", "one", "empty"
"""Results: a vector or label for each of the four sentences, for one, or for none."""
FEW, CLUSTERS = "1 sentence is too few", "1 sentence cannot be divided into 2"
TABLE = "A table needs the name of its column of sentences: text=… Columns: id, answer"


def row(number: int, what: str) -> str:
    return f"Row {number}, counting from 0, is {what}, not a sentence."


def no_list(what: str) -> str:
    return f"Sentences are a string, an iterable of strings or a column of a table, not {what}."


MATRIX = no_list("an array of 2 dimensions")
INPUTS: dict[str, tuple[Callable[[], Any], dict[str, Any], str | tuple[str, str, str]]] = {
    "list": (lambda: TEXTS, {}, ROWS),
    "tuple": (lambda: tuple(TEXTS), {}, ROWS),
    "generator": (lambda: (text for text in TEXTS), {}, ROWS),
    "values of a dictionary": (lambda: dict(enumerate(TEXTS)).values(), {}, ROWS),
    "array of strings": (lambda: np.array(TEXTS), {}, ROWS),
    "array of objects": (lambda: np.array(TEXTS, object), {}, ROWS),
    "Series": (lambda: FRAME["answer"], {}, ROWS),
    "categorical Series": (lambda: FRAME["answer"].astype("category"), {}, ROWS),
    "Index": (lambda: pd.Index(TEXTS), {}, ROWS),
    "PyArrow column": (lambda: pa.chunked_array([TEXTS[:1], TEXTS[1:]]), {}, ROWS),
    "column of a dataset": (lambda: Dataset.from_dict({"answer": TEXTS})["answer"], {}, ROWS),
    "sentences with positions": (lambda: [Sentence(text) for text in TEXTS], {}, ROWS),
    "DataFrame with text": (lambda: FRAME, {"text": "answer"}, ROWS),
    "PyArrow table with text": (lambda: pa.Table.from_pandas(FRAME), {"text": "answer"}, ROWS),
    "dataset with text": (lambda: Dataset.from_dict({"id": [1, 2, 3, 4], "answer": TEXTS}), {"text": "answer"}, ROWS),
    "dictionary of columns": (lambda: {"answer": TEXTS}, {"text": "answer"}, ROWS),
    "DataFrame": (lambda: FRAME, {}, TABLE),
    "dictionary": (lambda: {"id": [1], "answer": TEXTS}, {}, TABLE),
    "unknown column": (lambda: FRAME, {"text": "answers"}, "no column called 'answers'. Did you mean 'answer'?"),
    "column of a list": (lambda: TEXTS, {"text": "answer"}, "text='answer' names a column of a table, but a list is"),
    "column twice": (
        lambda: pd.concat([FRAME, FRAME], axis=1), {"text": "answer"}, "The table has several columns 'answer'. Rename",
    ),
    "one string": (lambda: TEXTS[0], {}, (ONE, CLUSTERS, FEW)),
    "empty list": (lambda: [], {}, (EMPTY, "0 sentences cannot be", "0 sentences are too few")),
    "empty text": (lambda: [*TEXTS[:3], " "], {}, (ROWS, row(3, "empty"), row(3, "empty"))),
    "None": (lambda: [TEXTS[0], None, *TEXTS[1:]], {}, row(1, "None")),
    "NaN": (lambda: pd.Series([TEXTS[0], float("nan"), *TEXTS[1:]], dtype=object), {}, row(1, "NaN")),
    "missing value": (lambda: pd.Series([*TEXTS, pd.NA], dtype="string"), {}, row(4, "a missing value")),
    "number": (lambda: [*TEXTS, 7.5], {}, row(4, "the number 7.5")),
    "Series of numbers": (
        lambda: FRAME["id"], {}, (row(0, "the number 1"), "Expected a 2-dimensional container", row(0, "the number 1")),
    ),
    "list of lists": (
        lambda: [[text] for text in TEXTS], {},
        (row(0, "a list"), "could not convert string to float", row(0, "a list")),
    ),
    "bytes": (lambda: [text.encode() for text in TEXTS], {}, row(0, "a bytes")),
    "one bytes": (lambda: TEXTS[0].encode(), {}, no_list("a bytes")),
    "set": (lambda: set(TEXTS), {}, "A set has no order, so that results would belong to no sentence."),
    "path": (lambda: Path("answers.csv"), {}, no_list("a PosixPath")),
    "integer": (lambda: 5, {}, no_list("an int")),
    "vectors": (lambda: NUMBERS, {}, (MATRIX, ROWS, MATRIX)),
    "sparse vectors": (lambda: sparse.csr_array(NUMBERS), {}, (MATRIX, ROWS, MATRIX)),
    "DataFrame of numbers": (lambda: pd.DataFrame(NUMBERS, columns=["id", "answer", "x"]), {}, (TABLE, ROWS, TABLE)),
}  # fmt: skip


def encoded(given: Any, model: SentenceModel, options: dict[str, Any]) -> Iterable[Any]:
    vectors = model.encode(given, **options)
    return [vectors] if vectors.ndim == 1 else vectors


def clustered(given: Any, model: SentenceModel, options: dict[str, Any]) -> Iterable[Any]:
    return themescope.SentenceClusterer(model, k=2, **options).fit_predict(given)


def themed(given: Any, model: SentenceModel, options: dict[str, Any]) -> Iterable[Any]:
    return themescope.find_themes(given, model, 2, **options).labels


@pytest.mark.parametrize(
    "number, use", list(enumerate([encoded, clustered, themed])), ids=["encode", "cluster", "find_themes"]
)
@pytest.mark.parametrize("kind", INPUTS)
def test_every_kind_of_input(kind: str, number: int, use: Callable[..., Any], means: SentenceModel) -> None:
    make, options, results = INPUTS[kind]
    wanted = results if isinstance(results, str) else results[number]
    sizes = {ROWS: 4, ONE: 1, EMPTY: 0}
    if wanted in sizes:
        assert len(use(make(), means, options)) == sizes[wanted]
        return
    with pytest.raises(ThemescopeError) as error:
        use(make(), means, options)
    assert wanted in str(error.value)


def test_what_is_no_sentence_is_left_out_and_counted_when_asked(means: SentenceModel) -> None:
    given = pd.Series([None, TEXTS[0], "", TEXTS[1], 3, *TEXTS[2:], float("nan"), pd.NaT], dtype=object)
    plain = themescope.find_themes(TEXTS, means, 2)
    found = themescope.find_themes(given, means, 2, invalid="drop")
    assert found.left_out == {"no text": 4, "number": 1}
    assert found.labels.tolist() == [-1, plain.labels[0], -1, plain.labels[1], -1, *plain.labels[2:], -1, -1]
    assert [given[row] for theme in found.themes for row in theme.central] == [
        TEXTS[row] for theme in plain.themes for row in theme.central
    ]
    clusterer = themescope.SentenceClusterer(means, k=2, invalid="drop").fit(given)
    assert clusterer.labels_.tolist() == [-1, 0, -1, 0, -1, 1, 1, -1, -1]
    assert clusterer.predict([None, TEXTS[3]]).tolist() == [-1, 1]
    with pytest.raises(ConfigError, match="invalid must be 'error' or 'drop', not 'ignore'"):
        themescope.find_themes(given, means, 2, invalid="ignore")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"a list, not a sentence\. Correct it\.$"):
        read_sentences([[]], invalid="drop")  # type: ignore[list-item]


def test_texts_are_those_that_an_import_would_store_and_one_string_is_one_sentence(means: SentenceModel) -> None:
    assert read_sentences(["cli\u00admate", Sentence("cafe\u0301\u200b")]).texts == ["climate", "café"]
    with pytest.raises(DataError, match="Row 1, counting from 0, is a text with half of a character"):
        read_sentences(["climate", "half \ud83d"])
    assert themescope.encode(TEXTS[0], means).shape == (50,)
    assert themescope.SentenceVectorizer(means).fit_transform(TEXTS[0]).shape == (1, 50)
    with pytest.raises(ValueError, match="Row 0"):
        means.encode([None])  # type: ignore[list-item]
