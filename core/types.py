"""Data types and protocols shared by every package.

Readers yield text as :class:`Article` → :class:`Section` → :class:`Paragraph`; models take positioned
:class:`Sentence` rows. Arrays are numpy arrays; their shapes are given with their aliases.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy import sparse

Vectors: TypeAlias = "npt.NDArray[np.float32] | sparse.csr_array"  # (n, dim); row i belongs to sentence i
Matrix: TypeAlias = "npt.NDArray[np.floating] | sparse.csr_array"  # (n, dim) features
Labels: TypeAlias = npt.NDArray[np.int32]  # (n,) cluster of each item; -1 = unassigned
Floats: TypeAlias = npt.NDArray[np.float64]
Float32: TypeAlias = npt.NDArray[np.float32]
Mask: TypeAlias = npt.NDArray[np.bool_]
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
    """A fitted model, which embeds, compares and saves. :class:`themescope.core.types.Model` extends it."""

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


# The protocols of the library: what a model, a clusterer, a reader, a metric, an executor and a report implement


class Report(Protocol):
    """Progress report of a long computation: receives progress and metrics, provides checkpoints and cancellation.

    Every method may raise :class:`themescope.core.errors.Cancelled`. A long computation calls one of them about once a
    second.
    """

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Report that ``done`` of ``total`` units are done, in any unit. Raises ``Cancelled`` after a cancellation."""
        ...

    def metric(self, name: str, step: float, value: float) -> None:
        """Add one point to a live curve, such as ("validation accuracy", epoch 0.25, 0.61)."""
        ...

    def checkpoint_folder(self) -> Path | None:
        """Return a folder for checkpoints that survives a crash, or None if the computation is never resumed."""
        ...


class NullReport:
    """A report that discards everything; ``folder`` is its checkpoint folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Do nothing."""

    def metric(self, name: str, step: float, value: float) -> None:
        """Do nothing."""

    def checkpoint_folder(self) -> Path | None:
        """Return the folder given to the constructor."""
        return self._folder


SILENT = NullReport()
"""Default of every ``report`` parameter: reports nothing, keeps no checkpoints."""


class SubReport:
    """Progress report of one stage: its progress 0…1 becomes the range ``low``…``high`` of ``report``.

    ``message`` is the prefix of every message of the stage.
    """

    def __init__(self, report: Report, low: float, high: float, message: str = "") -> None:
        self._report, self._low, self._high, self._message = report, low, high, message

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Report the progress of the stage as part of the whole."""
        share = min(max(done / total, 0.0), 1.0) if total > 0 else 0.0
        text = ": ".join(filter(None, (self._message, message)))
        self._report.progress(self._low + (self._high - self._low) * share, 1.0, text)

    def metric(self, name: str, step: float, value: float) -> None:
        """Add the point to the curve of the whole."""
        self._report.metric(name, step, value)

    def checkpoint_folder(self) -> Path | None:
        """Return the checkpoint folder of the whole."""
        return self._report.checkpoint_folder()


@runtime_checkable
class Model(FittedModel, Protocol):
    """A model that turns positioned sentences into vectors. Built as ``Cls(config, seed)``."""

    def __init__(self, config: Any, seed: int) -> None: ...

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn from ``corpus`` and return self. Methods that learn nothing load their tables or models here."""
        ...

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that ``save`` wrote. Raises ``ArtifactError`` for a damaged folder."""
        ...


@runtime_checkable
class Clusterer(Protocol):
    """A clusterer, which partitions the rows of a matrix. Built as ``Cls(config)``."""

    def __init__(self, config: Any) -> None: ...

    def fit_predict(self, x: Matrix, k: int | None = None, seed: int = 0) -> Labels:
        """Return (n,) labels 0…k-1 in order of first appearance, or -1 for unassigned.

        If ``k`` is None, the method chooses the number of clusters or raises ``ConfigError``.
        """
        ...


@runtime_checkable
class Reader(Protocol):
    """A reader, which yields the articles of a file in constant memory. Built as ``Cls(config)``."""

    def __init__(self, config: Any) -> None: ...

    def read(self, path: Path, report: Report) -> Iterator[Article]:
        """Yield articles in file order. Raises ``ReadError`` with the position of the error."""
        ...

    @property
    def skipped(self) -> dict[str, int]:
        """Number of entries skipped so far, by reason: {"redirect": 100, …}."""
        ...


@runtime_checkable
class PiecewiseReader(Reader, Protocol):
    """A reader that cuts files into pieces quickly, so that several processes can parse them."""

    def pieces(self, path: Path, report: Report) -> Iterator[tuple[Any, int]]:
        """Yield one piece per article or skipped entry, in file order, and its size in characters.

        Pieces can be pickled. Raises :class:`themescope.core.errors.ReadError`.
        """
        ...

    def parse(self, path: Path, piece: Any) -> Article | str:
        """Return the article of a piece, or the reason to skip it; raises :class:`themescope.core.errors.ReadError`."""
        ...


@runtime_checkable
class TypedReader(Reader, Protocol):
    """A reader of files that declare the types of their columns."""

    @property
    def types(self) -> Mapping[str, str]:
        """Column → type that the files read so far declare, see :data:`themescope.core.columns.DECLARED`."""
        ...


@runtime_checkable
class Metric(Protocol):
    """A metric, which compares two partitions of the same items. Built as ``Cls(config)``."""

    def score(self, truth: Labels, labels: Labels) -> float:
        """Return one number for (n,) ``truth`` and (n,) ``labels``."""
        ...


class Records(Protocol):
    """Completion records: the results of finished shards by the name of the shard. A ``dict`` is one, in memory."""

    def __contains__(self, name: str, /) -> bool: ...

    def __getitem__(self, name: str, /) -> Any: ...

    def __setitem__(self, name: str, result: Any, /) -> None: ...


class Executor(Protocol):
    """Workers that compute the shards of a computation. Which workers there are does not change the results."""

    @property
    def remote(self) -> bool:
        """Whether the workers may be on other machines, so that each of them loads its own copy of a model."""
        ...

    def map(
        self,
        fn: Callable[[Any], Any],
        shards: Iterable[Shard],
        *,
        report: Report,
        total: int = 0,
        unit: str = "",
        records: Records | None = None,
    ) -> Iterator[Any]:
        """Yield ``fn(shard.data)`` of every shard, in the order of ``shards``, which are read a few ahead.

        ``fn`` must be picklable. Each worker has one copy of it, which may keep what it loads for the next shard.
        ``report`` receives about once a second how many of ``total`` units are done. A shard with an entry in
        ``records`` is not computed again; the result of every other one is entered as soon as it is finished. Raises
        what ``fn`` raises, with a note that names the shard, what ``report`` raises, and
        :class:`themescope.core.errors.ExecutorError` for workers that died repeatedly or cannot be reached.
        """
        ...


# Account of a file: what of its text was left out or changed, and where, so that nothing is lost unseen

UNREADABLE = "file that cannot be read"


@dataclass(slots=True)
class ReadAccount:
    """What was left out and what was changed, by reason, and how a file was understood."""

    skipped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    entries: list[ReadEntry] = field(default_factory=list)
    """Everything counted whose place is known."""
    notes: dict[str, str] = field(default_factory=dict)
    """How a file was understood, such as "encoding" → "cp1251"; only what is not the usual case."""

    def skip(self, reason: str, place: str = "", text: str = "", n: int = 1) -> None:
        """Count ``n`` things that are left out."""
        self.skipped[reason] += n
        if place or text:
            self.entries.append(ReadEntry(False, reason, place, text))

    def change(self, reason: str, place: str = "", text: str = "", n: int = 1) -> None:
        """Count ``n`` things that are changed."""
        self.changed[reason] += n
        if place or text:
            self.entries.append(ReadEntry(True, reason, place, text))

    def __bool__(self) -> bool:
        return bool(self.skipped or self.changed or self.entries or self.notes)

    def add(self, other: ReadAccount) -> None:
        """Add another account."""
        self.skipped.update(other.skipped)
        self.changed.update(other.changed)
        self.entries += other.entries
        self.notes |= other.notes

    def take(self) -> ReadAccount:
        """Return what was counted so far, and forget it."""
        taken = ReadAccount(self.skipped.copy(), self.changed.copy(), self.entries[:], dict(self.notes))
        self.clear()
        return taken

    def clear(self) -> None:
        """Forget everything."""
        for part in (self.skipped, self.changed, self.entries, self.notes):
            part.clear()

    def to_json(self) -> dict[str, Any]:
        """Return the account as JSON values."""
        return {"skipped": self.skipped, "changed": self.changed, "entries": self.entries, "notes": self.notes}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ReadAccount:
        """Return the account that :meth:`to_json` wrote."""
        entries = [ReadEntry(*entry) for entry in values.get("entries", ())]
        skipped, changed = Counter(values.get("skipped", {})), Counter(values.get("changed", {}))
        return cls(skipped, changed, entries, dict(values.get("notes", {})))
