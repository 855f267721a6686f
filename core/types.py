"""Data types shared by every package.

Readers yield text as :class:`Article` → :class:`Section` → :class:`Paragraph`; models take positioned
:class:`Sentence` rows. Arrays are numpy arrays; their shapes are given with their aliases.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy import sparse

Vectors: TypeAlias = "npt.NDArray[np.float32] | sparse.csr_array"  # (n, dim); row i belongs to sentence i
Matrix: TypeAlias = "npt.NDArray[np.floating] | sparse.csr_array"  # (n, dim) features
Labels: TypeAlias = npt.NDArray[np.int32]  # (n,) cluster of each item; -1 = unassigned
Floats: TypeAlias = npt.NDArray[np.float64]
Float32: TypeAlias = npt.NDArray[np.float32]
Index: TypeAlias = npt.NDArray[np.int64]  # rows of another array
Points: TypeAlias = npt.NDArray[np.float32]  # (n, 2) coordinates of a map
Ids: TypeAlias = npt.NDArray[np.int64]  # (n,) stable ids of the store
Value: TypeAlias = "str | float | int | bool | datetime | None"  # value of a column as a source gives it


class Split(StrEnum):
    """Split of an article, determined by its title, see :func:`split_of_title`."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


def fold_title(title: str) -> str:
    """Return the form in which article titles are compared: Unicode NFC, with ``_`` as a space.

    The split of an article, the training record of a model and every search by title use it, so that an article
    cannot be in the training set under one spelling and in the test set under another.
    """
    return unicodedata.normalize("NFC", title.replace("_", " "))


def title_bucket(title: str) -> int:
    """Return the bucket 0…999 of an article title: BLAKE2b-64 of its folded form."""
    digest = hashlib.blake2b(fold_title(title).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % 1000


def split_of_bucket(bucket: int) -> Split:
    """Return the split of a bucket: 80 % train, 10 % validation, 10 % test (Ein Dor et al. 2018, section 3)."""
    if bucket < 800:
        return Split.TRAIN
    return Split.VALIDATION if bucket < 900 else Split.TEST


def split_of_title(title: str) -> Split:
    """Return the split of an article, independent of the rest of the corpus."""
    return split_of_bucket(title_bucket(title))


class CodingUnit(StrEnum):
    """What a stored sentence is: the unit that is clustered and labelled."""

    SENTENCE = "sentence"
    PARAGRAPH = "paragraph"
    """A paragraph, or a turn of a transcript."""
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A maximal block of running text. ``sentences`` is empty until it is split, or given by the source."""

    text: str = ""
    sentences: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    """Offset of each sentence in ``text``, in characters, -1 for one that is not there; empty if unknown."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields alone: that of data classes with slots takes more than twice as long."""
        return Paragraph, (self.text, self.sentences, self.starts)


@dataclass(frozen=True, slots=True)
class Section:
    """Text under one heading; ``path`` is the headings above it and its own. The lead has level 1 and no title."""

    title: str
    level: int
    paragraphs: tuple[Paragraph, ...] = ()
    path: tuple[str, ...] = ()


PARTS = ("train", "test", "")
"""Values of :attr:`Article.part`."""


@dataclass(frozen=True, slots=True)
class Article:
    """One document with its sections, flat and in page order."""

    title: str
    sections: tuple[Section, ...]
    url: str = ""
    source: str = ""
    topic: str = ""
    """Label of the document in its source, or ""."""
    part: str = ""
    """"train" or "test" according to the source, or ""; independent of :func:`split_of_title`."""
    values: Mapping[str, Value] = field(default_factory=dict, hash=False)
    """Further fields of the document, by the name of their column."""
    sentence_values: Mapping[str, Sequence[Value]] = field(default_factory=dict, hash=False)
    """Further fields of its sentences: column → one value per sentence, in page order.

    A paragraph that is not split yet has one value, which all of its sentences get.
    """

    def sentence_count(self) -> int:
        """Return the number of sentences in all sections (0 before splitting)."""
        return sum(len(p.sentences) for s in self.sections for p in s.paragraphs)


class ReadEntry(NamedTuple):
    """A part of a file that was left out, or stored otherwise than it stands there."""

    change: bool
    """False: it was left out. True: it was stored, but changed."""
    reason: str
    place: str = ""
    """Where it stands, such as "row 5"."""
    text: str = ""
    """The text that was left out, or the one that was changed."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its position. A sentence outside an article (typed, or from a list) has ids of -1."""

    text: str
    id: int = -1
    article_id: int = -1
    section: int = 0
    """Index of the section in its article, in page order, counting from 0."""
    paragraph: int = 0
    """Index of the paragraph in its section."""
    position: int = 0
    """Index of the sentence in its article."""
    opens_paragraph: bool = False
    start: int = -1
    """Offset of its first character in its paragraph, in characters; -1 if unknown."""


@dataclass(frozen=True, slots=True)
class TripletTexts:
    """Triplets as texts of pivot, positive and negative, with the article of each.

    ``groups[i]`` is an article id, or -1 if unknown; intervals resample whole groups.
    """

    pivots: list[str]
    positives: list[str]
    negatives: list[str]
    groups: Ids

    def __len__(self) -> int:
        return len(self.pivots)


class FittedModel(Protocol):
    """A fitted model, which embeds, compares and saves. :class:`themescope.core.protocols.Model` extends it."""

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) float32 vectors of n ≥ 0 sentences; a CSR array for methods tagged ``sparse``."""
        ...

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """Return the (n,) distances of row i of ``a`` to row i of ``b`` that the method is evaluated with."""
        ...

    def save(self, folder: Path) -> None:
        """Write everything needed to embed elsewhere into ``folder``: safetensors and JSON, never pickle."""
        ...


@dataclass(frozen=True)
class Corpus:
    """Training data of a model. Every part is optional; the tags of a card state which parts the method needs."""

    name: str = ""
    language: str = "en"
    sentences: Sequence[Sentence] = ()
    """Positioned sentences in store order, for methods that learn from running text."""
    triplets: dict[Split, TripletTexts] = field(default_factory=dict)
    sections: dict[Split, Sequence[Sentence]] = field(default_factory=dict)
    """Sentences of the sections that triplets may come from, for methods that learn from whole articles."""
    models: Sequence[FittedModel] = ()
    """Fitted models, in the order in which a method that combines them expects them."""

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95 % interval and its number of groups."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class SectionRecord:
    """A section of a stored article; sentences refer to it by its ``position`` in the article."""

    id: int
    article_id: int
    position: int
    level: int
    title: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkItem:
    """One article of a benchmark; ``truth[i]`` is the section position of ``sentence_ids[i]``."""

    article_id: int
    sentence_ids: Ids
    truth: Labels


@dataclass(frozen=True, slots=True)
class TripletRows:
    """Triplets as columns of ids; every array has shape (n,)."""

    ids: Ids
    articles: Ids
    pivots: Ids
    positives: Ids
    negatives: Ids


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a computation that one worker computes at once. Its content never depends on the number of workers."""

    name: str
    """What it contains, such as "articles 17 to 32"; used in messages and as the key of its completion record."""
    data: Any
    size: int = 1
    """Number of units, such as sentences, that it adds to the progress."""
