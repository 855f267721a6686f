"""Format of bundles and their parts: description, articles, selections and vectors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import accumulate, chain, groupby
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

import numpy as np
from pydantic import AfterValidator, AwareDatetime, Field, TypeAdapter

from themescope.core.columns import ColumnType, as_text
from themescope.core.errors import ReadError, ThemescopeError
from themescope.core.labelling.operations import Origin, Selection
from themescope.core.records.stored import ArticleRecord, CorpusRecord
from themescope.core.types import Article, Ids, Matrix, Paragraph, Section, SectionRecord, Sentence, Value
from themescope.db.repositories import failures
from themescope.db.store import Store, Unit
from themescope.jobs.common.files import ArchiveFormat, ArchiveReader

T = TypeVar("T")
Number = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""Integer that fits a column of the database."""


@cache
def _reader(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def parsed(kind: type[T], text: str) -> T:
    """Return JSON as a dataclass; raise ``ValueError`` if a field is missing, or has another type or a wrong value."""
    found: T = _reader(cast("Any", kind)).validate_json(text, strict=True)
    return found


def _with_counts(report: dict[str, Any]) -> dict[str, Any]:
    """Check the counts of skipped parts, which pages show."""
    _reader(dict[str, Number]).validate_python(report.get("skipped", {}), strict=True)
    return report


@dataclass(frozen=True, slots=True)
class BundledCorpus:
    """The corpus of a bundle."""

    name: str
    language: str
    articles: Number
    sentences: Number
    digest: str
    """Digest of the text, see ``themescope.jobs.common.articles.TextDigest``."""
    report: Annotated[dict[str, Any], AfterValidator(_with_counts)]
    """Report of the original import."""
    columns: tuple[tuple[str, str, ColumnType], ...] = ()
    """Level, name and type of each column; version 0.1 wrote none."""


@dataclass(frozen=True, slots=True)
class BundledLabelling:
    """A labelling of a bundle."""

    name: str
    owner: str


@dataclass(frozen=True, slots=True)
class BundledModel:
    """A model of a bundle, with its metadata."""

    name: str
    method: str
    config: dict[str, Any]
    seed: Number
    digest: str
    metrics: dict[str, Any]
    revision: Number = 1
    """Revision of the method that the vectors were computed with; version 0.1 wrote none."""
    multilingual: bool = False


@dataclass(frozen=True, slots=True)
class Contents:
    """Content of a bundle."""

    corpus: BundledCorpus
    labellings: tuple[BundledLabelling, ...]
    models: tuple[BundledModel, ...]


def contents(about: Mapping[str, Any], path: Path) -> Contents:
    """Return the content that a manifest describes; raise :class:`ReadError` if it is damaged."""
    try:
        return parsed(Contents, json.dumps(about))
    except ValueError:
        raise ReadError(path, "its manifest is damaged.", advice="Export it again.") from None


def check_parts(bundle: ArchiveReader, listed: Contents, path: Path) -> None:
    """Raise :class:`ReadError` if the labellings and models are not those listed in the manifest."""
    folders = {name.rpartition("/")[0] for name in bundle.named("models/") + bundle.named("vectors/")}
    known = {f"{kind}/{place:02d}" for kind in ("models", "vectors") for place in range(len(listed.models))}
    labellings = [f"labellings/{number:04d}.jsonl" for number in range(len(listed.labellings))]
    if not folders <= known or bundle.named("labellings/") != labellings:
        raise ReadError(path, "its parts do not match its manifest.", advice="Export it again.")


def article_of(
    about: ArticleRecord,
    sections: Sequence[SectionRecord],
    sentences: Sequence[Sentence],
    values: Mapping[str, Value],
    sentence_values: Mapping[str, Sequence[Value]],
) -> Article:
    """Return a stored article with its sentences by section and paragraph, in page order, and the columns of both."""
    paragraphs: dict[int, list[Paragraph]] = {}
    for (section, _), found in groupby(sentences, key=lambda s: (s.section, s.paragraph)):
        texts, starts = zip(*((s.text, s.start) for s in found), strict=True)
        paragraphs.setdefault(section, []).append(Paragraph("", texts, starts))
    whole = tuple(Section(s.title, s.level, tuple(paragraphs.get(s.position, ())), s.path) for s in sections)
    return Article(about.title, whole, about.url, about.source, about.topic, about.part, values, sentence_values)


def article_to_line(article: Article) -> bytes:
    """Return one line of JSON with non-ASCII characters escaped."""
    sections = [
        {"title": s.title, "level": s.level, "path": s.path}
        | {"paragraphs": [p.sentences for p in s.paragraphs], "starts": [p.starts for p in s.paragraphs]}
        for s in article.sections
    ]
    facts = {name: getattr(article, name) for name in ("title", "url", "source", "topic", "part")}
    columns = {"values": article.values, "sentence_values": article.sentence_values}
    filled = {name: values for name, values in columns.items() if values}
    return (json.dumps({**facts, "sections": sections, **filled}, default=as_text) + "\n").encode("ascii")


def articles_from_lines(lines: Iterable[str], path: Path) -> Iterator[Article]:
    """Yield the articles that :func:`article_to_line` wrote; raise :class:`ReadError` for other lines."""
    for number, line in enumerate(lines, 1):
        try:
            yield _article(parsed(_ArticleLine, line))
        except ValueError:
            problem = "this line is not an article of a bundle."
            raise ReadError(path, problem, f"articles, line {number:,}", "Export it again.") from None


_Plain = str | bool | int | float | None


@dataclass(frozen=True, slots=True)
class _SectionLine:
    title: str
    level: Annotated[int, Field(ge=0, le=1_000)]
    path: tuple[str, ...]
    paragraphs: tuple[tuple[str, ...], ...]
    starts: tuple[tuple[Annotated[int, Field(ge=-1, lt=2**31)], ...], ...] = ()
    """Offsets of the sentences of each paragraph; not in bundles of 0.2."""


@dataclass(frozen=True, slots=True)
class _ArticleLine:
    title: str
    url: str
    source: str
    topic: str
    part: Literal["train", "test", ""]
    sections: tuple[_SectionLine, ...]
    values: dict[str, _Plain] = field(default_factory=dict)
    sentence_values: dict[str, list[_Plain]] = field(default_factory=dict)


def _article(line: _ArticleLine) -> Article:
    sections: list[Section] = []
    for s in line.sections:
        pairs = zip(s.paragraphs, s.starts or [()] * len(s.paragraphs), strict=True)
        paragraphs = tuple(Paragraph("", sentences, starts) for sentences, starts in pairs)
        if any(one.starts and len(one.starts) != len(one.sentences) for one in paragraphs):
            raise ValueError("starts")
        sections.append(Section(s.title, s.level, paragraphs, s.path))
    about = line.url, line.source, line.topic, line.part
    article = Article(line.title, tuple(sections), *about, line.values, line.sentence_values)
    if any(len(values) != article.sentence_count() for values in line.sentence_values.values()):
        raise ValueError("sentence_values")
    return article


def vectors_to_bytes(blocks: Sequence[Matrix]) -> bytes:
    """Serialise blocks of shape (n₁, dim), (n₂, dim), … as safetensors; float16 where that is lossless."""
    from safetensors.numpy import save
    from scipy import sparse

    rows = np.array([block.shape[0] for block in blocks], dtype=np.int64)
    if sparse.issparse(blocks[0]):
        whole: Any = sparse.vstack(blocks, format="csr")
        arrays = {"rows": rows, "values": _short(whole.data), "columns": whole.indices.astype(np.int64)}
        arrays |= {"starts": whole.indptr.astype(np.int64), "dim": np.array([whole.shape[1]], dtype=np.int64)}
    else:
        arrays = {"rows": rows, "vectors": _short(np.concatenate([np.asarray(b) for b in blocks]))}
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def precision(blocks: Sequence[Matrix]) -> str:
    """Return the storage type: "float16" where that is lossless, else "float32"."""
    stored: list[Any] = [block.data if hasattr(block, "indptr") else block for block in blocks]
    return "float16" if all(_short(np.asarray(x)).dtype == np.float16 for x in stored) else "float32"


def _short(values: Any) -> Any:
    with np.errstate(over="ignore"):
        short = values.astype(np.float16)
    return short if np.array_equal(short.astype(np.float32), values) else values.astype(np.float32)


def vectors_from_bytes(data: bytes, path: Path) -> list[Matrix]:
    """Return the blocks that :func:`vectors_to_bytes` wrote; raise :class:`ReadError` for other data."""
    from safetensors import SafetensorError
    from safetensors.numpy import load
    from scipy import sparse

    try:
        arrays: dict[str, Any] = load(data)
        rows = [int(n) for n in arrays["rows"].astype(np.int64, casting="safe").tolist()]
        if "values" in arrays:
            shape = (len(arrays["starts"]) - 1, int(arrays["dim"][0]))
            values = arrays["values"].astype(np.float32)
            whole: Any = sparse.csr_array((values, arrays["columns"], arrays["starts"]), shape=shape)
            whole.check_format(full_check=True)
        else:
            whole = arrays["vectors"].astype(np.float32)
        if whole.ndim != 2 or not rows or min(rows) < 0 or sum(rows) != whole.shape[0]:
            raise ValueError("rows")
    except (SafetensorError, KeyError, ValueError, TypeError, IndexError, OverflowError):
        raise ReadError(path, "its vectors are damaged.", "", "Export it again.") from None
    return [whole[end - n : end] for n, end in zip(rows, accumulate(rows), strict=True)]


ARTICLES, SELECTIONS, ERROR_NOTEBOOK = "articles.jsonl", "selections.jsonl", "error-notebook.jsonl"
BUNDLE = ArchiveFormat(
    noun="bundle",
    version=1,
    names=re.compile(
        r"articles\.jsonl|selections\.jsonl|error-notebook\.jsonl|labellings/\d{4}\.jsonl|vectors/\d{2}/\d{5}\.safetensors"
        r"|models/\d{2}/[A-Za-z0-9][A-Za-z0-9_-]{0,60}\.(json|safetensors|txt|md)",
        re.ASCII,
    ),
    required=re.escape(ARTICLES),
    most_parts=20_000,
    most_bytes=20_000_000_000,
    mode=0o666,
    redo="Export or copy it again.",
)


# Named selections as JSON lines; sentences are numbered by their place in the corpus


@dataclass(frozen=True, slots=True, eq=False)
class BundledSelection:
    """A named selection; ``places`` are the places of its sentences among those of the corpus, ascending."""

    name: str
    person: str
    created: datetime
    origin: Origin
    places: Ids

    def to_line(self) -> str:
        """Return one line of JSON with non-ASCII characters escaped."""
        facts = {"name": self.name, "person": self.person, "created": self.created.isoformat()}
        return json.dumps({**facts, "origin": self.origin.to_json(), "sentences": self.places.tolist()}) + "\n"


def bundled_selections(store: Store, corpus_id: int, sentence_ids: Ids) -> Iterator[BundledSelection]:
    """Yield the named selections of a corpus, oldest first; ``sentence_ids`` are the sentences in their order."""
    order = np.argsort(sentence_ids, kind="stable")
    with store.reading() as r:
        for record in reversed(r.selections.list(corpus_id)):
            ids = r.selections.ids(record.id)
            places = np.sort(order[np.searchsorted(sentence_ids[order], ids)])
            yield BundledSelection(record.name, record.person, record.created, Origin.from_json(record.origin), places)


def selections_from_lines(lines: Iterable[str], sentences: int, path: Path | str) -> list[BundledSelection]:
    """Read what :meth:`BundledSelection.to_line` wrote; raise :class:`ReadError` for other lines.

    ``sentences`` is the number of sentences of the corpus.
    """
    found = []
    for number, line in enumerate(lines, 1):
        try:
            one = parsed(_SelectionLine, line)
            places = np.array(one.sentences, dtype=np.int64)
            if (np.diff(places) <= 0).any() or places[0] < 0 or places[-1] >= sentences:
                raise ValueError(line)
            found.append(BundledSelection(one.name, one.person, one.created, Origin.from_json(one.origin), places))
        except (ValueError, ThemescopeError):
            problem = "this line is not a selection of a bundle."
            raise ReadError(path, problem, f"line {number:,}", "Export it again.") from None
    if len({selection.name for selection in found}) < len(found):
        raise ReadError(path, "two selections have the same name.", "", "Export it again.")
    return found


@dataclass(frozen=True, slots=True)
class _SelectionLine:
    name: Annotated[str, Field(min_length=1)]
    person: str
    created: AwareDatetime
    origin: dict[str, Any]
    sentences: Annotated[list[Number], Field(min_length=1)]


def store_selection(unit: Unit, corpus_id: int, selection: BundledSelection, sentence_ids: Ids) -> None:
    """Store a selection with its person and time; ``sentence_ids`` are the sentences of the corpus in their order."""
    ids = np.sort(sentence_ids[selection.places])
    found = Selection(corpus_id, ids, selection.origin)
    unit.selections.add(found, selection.name, selection.person, selection.created)


def store_notebook(unit: Unit, project: CorpusRecord, lines: Iterable[str], ids: Ids, path: str) -> None:
    """Store the error notebook of a bundle of version 0.2 or 0.3 as failures; ``ids`` are the project's sentences.

    Raises :class:`ReadError` if it is damaged.
    """
    rows: dict[str, list[dict[str, Any]]] = {table: [] for table in failures.TABLES}
    try:
        for line in lines:
            ((table, row),) = json.loads(line).items()
            rows[table].append({"id": len(rows[table])} | row)
        for row in chain.from_iterable(rows.values()):
            row |= {
                name: None if row[name] is None else datetime.fromisoformat(row[name])
                for name in ("created", "deleted")
                if name in row
            }
        for case in rows["error_case"]:
            case["sentence_ids"] = ids[np.array(case["sentence_ids"], np.uint32)].tolist()
        failures.move_notebook(unit.failures.connection, project, rows)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError):
        raise ReadError(path, "this is not an error notebook.", "", "Export it again.") from None
