import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from themescope.core.errors import ConfigError, DataError, MissingExtraError, ReadError
from themescope.core.text.word_vectors import WordVectors, load_word_vectors, random_vectors, token_ids

WORDS = ["the", "Paris", "U.S.", "0000", "##.#", "dog"]
TABLE = np.arange(24, dtype=np.float32).reshape(6, 4) / 7 - 1


@pytest.fixture
def vectors():
    return WordVectors(WORDS, TABLE)


@pytest.mark.parametrize(
    ("word", "row"),
    [("the", 0), ("The", 0), ("THE", 0), ("paris", 1), ("PARIS", 1), ("1987", 3), ("12.5", 4), ("cat", -1), ("12", -1)],
)
def test_look_up_falls_back_in_order(vectors, word, row):
    assert vectors.row(word) == row
    assert WordVectors(["us", "US"], TABLE[:2]).row("US") == 1


def test_unknown_words_have_vectors_of_their_own(vectors):
    found, known = vectors.of_words(["the", "zyx", "xyz", "zyx"])
    assert known.tolist() == [True, False, False, False]
    assert np.array_equal(found[0], TABLE[0])
    assert np.array_equal(found[1], found[3]) and not np.array_equal(found[1], found[2])
    assert vectors.spread == pytest.approx(np.sqrt(TABLE.var(axis=0).mean()))


def test_random_vectors_are_normal_and_decided_by_the_word():
    words = [f"word{i}" for i in range(2_000)]
    drawn = random_vectors(words, 51, 0.4)
    assert drawn.shape == (2_000, 51) and drawn.dtype == np.float32
    assert abs(drawn.mean()) < 0.005 and drawn.std() == pytest.approx(0.4, rel=0.01)
    assert np.abs(np.corrcoef(drawn[:, :51].T) - np.eye(51)).max() < 0.12
    assert np.array_equal(random_vectors(words[7:8], 51, 0.4)[0], drawn[7])
    assert drawn[0, :3] == pytest.approx(random_vectors(["word0"], 51, 0.4)[0, :3])


@pytest.mark.parametrize(("storage", "error"), [("fp32", 0), ("fp16", 1e-3), ("int8", 2e-2)])
def test_compact_storage_stays_close_and_is_stable(vectors, storage, error):
    compact = vectors.stored_as(storage)
    assert compact.storage == storage
    assert np.abs(compact.vectors(slice(None)) - TABLE).max() <= error
    assert compact.spread == vectors.spread
    again = compact.stored_as("fp32").stored_as(storage)
    assert np.allclose(again.vectors(slice(None)), compact.vectors(slice(None)), atol=1e-6)


def test_shared_rows_and_limits():
    shared = WordVectors(WORDS, TABLE[:3], None, np.array([0, 2, 2, 1, 0, 1]))
    assert shared.row("dog") == 1
    first = shared.first(3)
    assert first.words == WORDS[:3] and len(first.table) == 2
    assert np.array_equal(first.of_words(["Paris"])[0][0], TABLE[2])
    assert WordVectors(WORDS, TABLE).stored_as("int8").first(2).row("U.S.") == -1


@pytest.mark.parametrize(("words", "rows"), [(WORDS[:-1], None), (WORDS, np.arange(1, 7)), (WORDS, np.arange(5))])
def test_words_that_do_not_fit_the_table_are_refused(words, rows):
    with pytest.raises(DataError):
        WordVectors(words, TABLE, None, rows)


def test_token_ids_know_their_texts(vectors):
    tokens = token_ids(["The dog isn't", "", "dog"], vectors)
    assert len(tokens) == 3 and tokens.lengths.tolist() == [4, 0, 1]
    assert tokens.ids.tolist() == [0, 1, 2, 3, 1]
    assert np.array_equal(tokens.table[1], TABLE[5])


@given(st.lists(st.lists(st.sampled_from(["the", "dog", "unknown", "zyx"]), max_size=6), max_size=6))
def test_leaving_out_unknown_words_keeps_the_rest_in_order(texts):
    vectors = WordVectors(WORDS, TABLE)
    tokens = token_ids([" ".join(words) for words in texts], vectors, unknown=False)
    for i, words in enumerate(texts):
        found = tokens.table[tokens.ids[tokens.starts[i] : tokens.starts[i + 1]]]
        kept = [TABLE[vectors.row(w)] for w in words if vectors.row(w) >= 0]
        assert np.array_equal(found, np.array(kept, np.float32).reshape(-1, 4))


GLOVE = "".join(f"{w} {' '.join(map(str, row.tolist()))}\n" for w, row in zip(WORDS, TABLE, strict=True)).encode()
BINARY = b"6 4\n" + b"".join(w.encode() + b" " + row.tobytes() + b"\n" for w, row in zip(WORDS, TABLE, strict=True))
TENSORS = save({"vectors": TABLE.astype(np.float16)})
VOCABULARY = ("table.vocab.txt", "".join(f"{word}\n" for word in WORDS).encode())


def written(folder, name, data, beside=()):
    """A file of vectors, and perhaps one of its words; its path as text."""
    for file, content in ((name, data), beside) if beside else ((name, data),):
        (folder / file).write_bytes(content)
    return str(folder / name)


@pytest.mark.parametrize(
    ("name", "data", "beside"),
    [
        ("glove.txt", GLOVE, ()),
        ("glove.txt", b"6 4\n" + GLOVE, ()),
        ("w2v.bin", BINARY, ()),
        ("table.fp16.safetensors", TENSORS, VOCABULARY),
    ],
)
def test_tables_of_every_format_are_read(tmp_path, name, data, beside):
    path = written(tmp_path, name, data, beside)
    loaded = load_word_vectors(path)
    assert loaded.words == WORDS and np.allclose(loaded.table, TABLE, atol=1e-3 if beside else 1e-8)
    assert len(load_word_vectors(path, limit=2)) == 2


def test_glove_words_may_hold_spaces(tmp_path):
    assert load_word_vectors(written(tmp_path, "a.txt", b"a 1 2 3\n. . . 4 5 6\n")).words == ["a", ". . ."]


def test_safetensors_with_shared_rows(tmp_path):
    words = ("table.words.tsv.gz", gzip.compress(b"dog\t5\nhound\t5\nthe\t0\n"))
    loaded = load_word_vectors(written(tmp_path, "table.safetensors", TENSORS, words))
    assert loaded.row("hound") == loaded.row("dog") == 5 and loaded.row("the") == 0


@pytest.mark.parametrize(
    ("name", "data", "beside", "said"),
    [
        ("table.txt", b"a 1 2 3\nb 4 5\n", (), "table.txt, line 2: "),
        ("table.txt", b"a 1 2 3\nb 4 5 6 x\n", (), "table.txt, line 2: expected a word and 3 finite numbers"),
        ("table.txt", b"a 1 2 3\nb 4 inf 6\n", (), "line 2"),
        ("table.txt", b"a 1 2 3\nb 4 1e999 6\n", (), "line 2"),
        ("table.txt", b"", (), "contains no word vectors"),
        ("w2v.bin", BINARY[:-9], (), "byte 126: ends in the middle of a vector"),
        ("w2v.bin", b"\x00" * 300, (), "does not begin with"),
        ("w2v.bin", b"999999999 300\n" + bytes(40), (), "999,999,999 words of"),
        ("table.npy", b"", (), "suffix"),
        ("table.safetensors", TENSORS, (), "Put table.vocab.txt"),
        ("table.safetensors", b"nonsense", VOCABULARY, "not a readable safetensors file"),
        ("table.safetensors", TENSORS, ("table.vocab.txt", b"one\ntwo\n"), "table.vocab.txt: has 2 words for the 6"),
        ("table.safetensors", TENSORS, ("table.words.tsv", b"dog\t5\ncat\t6\n"), "line 2: expected a word, a tab and"),
    ],
)
def test_every_damage_is_named_with_its_place(tmp_path, name, data, beside, said):
    with pytest.raises(ReadError, match=said):
        load_word_vectors(written(tmp_path, name, data, beside))


def test_a_source_that_is_nothing_says_what_could_be(tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="glove-6b-50d"):
        load_word_vectors(str(tmp_path / "missing.txt"))
    with pytest.raises(ConfigError, match="no sentence encoder"):
        load_word_vectors(f"distilled:{tmp_path / 'missing'}")
    monkeypatch.setattr("themescope.core.text.encoders.installed_encoder", lambda feature: tmp_path / "installed")
    with pytest.raises(ConfigError, match=r"no sentence encoder at .*installed"):
        load_word_vectors("distilled:")


def test_distilling_without_transformers_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"themescope\[encoder\]"):
        load_word_vectors(f"distilled:{tmp_path}", limit=10)


def test_the_installed_glove_table():
    loaded = load_word_vectors("glove-6b-50d", limit=1_000)
    assert len(loaded) == 1_000 and loaded.dim == 50
    assert loaded.words[0] == "the" and loaded.row("'s") >= 0
    unit = loaded.table / np.linalg.norm(loaded.table, axis=1, keepdims=True)
    king, queen, percent = (unit[loaded.row(w)] for w in ("men", "women", "percent"))
    assert king @ queen > 0.8 > king @ percent
