"""Tables in the formats of Apache Arrow: Parquet files, and the streams of record batches that datasets are saved as.

Class labels of the package datasets are read as the names of their classes.

Datasets that Themescope exported are read as the same articles again. The subset ``sentences`` has a row for each
sentence, and the subset ``articles`` one for each article with all of its sections, also those without sentences. Both
are ordered by the number of the article within every split.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from themescope.core.columns import STRING, ColumnType
from themescope.core.errors import ReadError
from themescope.core.readers.dataset_folders import dataset_files
from themescope.core.readers.streams import BOMB_RATIO, is_bomb
from themescope.core.types import PARTS, SILENT, Article, Paragraph, Report, Section

METADATA = b"themescope"
"""Key of the metadata of a schema in which exports record the types of columns, as JSON."""
FEATURES = b"huggingface"
"""Key of the metadata of a schema in which the package datasets records features, as JSON."""
_ROWS = 4_096
_GROUP_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class ArrowTable:
    """Columns of a file, and its rows, which can be iterated once."""

    names: list[str]
    rows: Iterator[tuple[Any, ...]]
    types: Mapping[str, str]
    """Types that the file declares for columns, see :data:`themescope.core.columns.DECLARED`."""
    metadata: Mapping[bytes, bytes]


def read_parquet(path: Path, report: Report, most: int) -> ArrowTable:
    """Return the first ``most`` columns of a Parquet file. Raises :class:`ReadError`, also while rows are read."""
    import pyarrow.parquet as pq

    with _arrow_errors(path, "Parquet file"):
        file = pq.ParquetFile(path)
        about = file.metadata
        largest = max((about.row_group(i).total_byte_size for i in range(about.num_row_groups)), default=0)
        if largest > _GROUP_BYTES:
            advice = "Write it with smaller row groups."
            raise ReadError(path, f"a row group has more than {_GROUP_BYTES >> 30} GB.", advice=advice)
        names, types, classes, metadata = _known(file.schema_arrow, most)

    def rows() -> Iterator[tuple[Any, ...]]:
        characters, done, size = 0, 0, path.stat().st_size
        with _arrow_errors(path, "Parquet file"):
            for block in file.iter_batches(_ROWS, columns=names):
                columns = _python(block, classes)
                characters += sum(len(v) for column in columns for v in column if isinstance(v, str))
                if is_bomb(characters, size):
                    problem = f"its texts have more than {BOMB_RATIO} times its size, which is implausible."
                    raise ReadError(path, problem, f"row {done:,}")
                done += block.num_rows
                report.progress(done, file.metadata.num_rows, f"rows of {path.name}")
                yield from zip(*columns, strict=True)

    return ArrowTable(names, rows(), types, metadata)


def read_arrow(path: Path, report: Report, most: int) -> ArrowTable:
    """Return the first ``most`` columns of a stream of record batches. Raises the errors of :func:`read_parquet`."""
    import pyarrow as pa

    size = path.stat().st_size
    with _arrow_errors(path, "Arrow file"):
        source = pa.memory_map(str(path))
        stream = pa.ipc.open_stream(source)
        names, types, classes, metadata = _known(stream.schema, most)

    def rows() -> Iterator[tuple[Any, ...]]:
        with _arrow_errors(path, "Arrow file"), source:
            for batch in stream:
                batch.validate(full=True)  # offsets beyond the data would end the process
                report.progress(min(source.tell(), size), size, f"rows of {path.name}")
                for start in range(0, batch.num_rows, _ROWS):
                    yield from zip(*_python(batch.select(names).slice(start, _ROWS), classes), strict=True)

    return ArrowTable(names, rows(), types, metadata)


def _known(schema: Any, most: int) -> tuple[list[str], dict[str, str], dict[str, list[str]], Mapping[bytes, bytes]]:
    """Return what a schema says of the first columns: names, types and classes; and its metadata."""
    import pyarrow as pa

    names, metadata = schema.names[:most], schema.metadata or {}
    classes = class_names(metadata)
    try:
        types = json.loads(metadata.get(METADATA, b""))["types"]
        recorded = {name: ColumnType(type) for name, type in types.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        recorded = {}
    found: dict[str, str] = {}
    for name in names:
        kind = schema.field(schema.names.index(name)).type
        if pa.types.is_dictionary(kind) or pa.types.is_boolean(kind) or (name in classes and pa.types.is_integer(kind)):
            found[name] = ColumnType.CATEGORY
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            found[name] = STRING
    return names, found | {name: type for name, type in recorded.items() if name in names}, classes, metadata


@contextmanager
def _arrow_errors(path: Path, kind: str) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError, NotImplementedError) as error:
        raise ReadError(path, f"this is not a readable {kind} ({type(error).__name__}).") from None


def _python(block: Any, classes: Mapping[str, Sequence[str]]) -> list[list[Any]]:
    """Return the columns of a batch as Python values: times keep microseconds, class labels become names."""
    import pyarrow as pa

    columns = []
    for name, column in zip(block.schema.names, block.columns, strict=True):
        kind = column.type
        if pa.types.is_timestamp(kind):
            column = column.cast(pa.timestamp("us", kind.tz), safe=False)
        values: list[Any] = column.to_pylist()
        if name in classes:
            known = dict(enumerate(classes[name]))
            values = [[*map(known.get, value)] if isinstance(value, list) else known.get(value) for value in values]
        columns.append(values)
    return columns


def class_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """Return column → names of its classes, as the package datasets records them; empty if nothing is recorded."""
    try:
        features = json.loads(metadata.get(FEATURES, b"{}"))["info"]["features"]
        inner = {  # of a list of labels
            name: feature[0] if isinstance(feature, list) else feature.get("feature", feature)
            for name, feature in features.items()
        }
        return {
            name: [str(known) for known in feature["names"]]
            for name, feature in inner.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


# --- exported datasets ------------------------------------------------------------------------------------------------


SENTENCES, ARTICLES = "sentences", "articles"
"""Names of the subsets."""
OF_SENTENCES = ("text", "article", "section", "article_number", "section_number", "paragraph", "position", "start")
OF_ARTICLES = ("article_number", "title", "url", "source", "topic", "part", "sections")
LABEL = "label"
"""Column of the clusters or themes of sentences."""
MADE_BY = ("source", "coder", "probability")
"""Columns that say who or what gave each label."""
_FORMAT = "dataset"
_MOST_COLUMNS = 300
Row = dict[str, Any]


def schema_metadata(types: Mapping[str, str], names: Mapping[str, str]) -> bytes:
    """Return what an exported file says of its further columns: their types, and their names in the corpus."""
    return json.dumps({"format": _FORMAT, "types": dict(types), "names": dict(names)}).encode("ascii")


@dataclass(slots=True)
class ExportedDataset:
    """An exported dataset."""

    folder: Path
    types: dict[str, str] = field(default_factory=dict)
    """Types of the columns of the rows read so far, by their names in the corpus."""
    _own: set[str] = field(default_factory=lambda: {*OF_SENTENCES})
    """Fields of sentences that are not columns; in a dataset of 0.2, "start" is one."""
    _names: dict[str, str] = field(default_factory=dict)
    """Column of the files → its name in the corpus, where the files use that name for something else."""

    def read(self, report: Report) -> Iterator[Article]:
        """Yield the articles in the order of the corpus. Raises :class:`ReadError`."""
        sentences = groupby(self._rows(SENTENCES, report), key=itemgetter("article_number"))
        number, rows = next(sentences, (None, iter(())))
        for about in self._rows(ARTICLES, SILENT):
            own: Sequence[Row] = ()
            if number == about["article_number"]:
                own = [*rows]
                number, rows = next(sentences, (None, iter(())))
            try:
                yield self._article(about, own)
            except (KeyError, TypeError, ValueError, IndexError) as error:
                raise self._damaged(f"its rows are damaged ({error}).", about["article_number"]) from None
        if number is not None:
            raise self._damaged("it has sentences without an article.", number)

    def _damaged(self, problem: str, number: int) -> ReadError:
        return ReadError(self.folder, problem, f"article {number:,}", "Export it again.")

    def _rows(self, subset: str, report: Report) -> Iterator[Row]:
        splits = dataset_files(self.folder, subset).values()
        return heapq.merge(*(self._split(subset, files, report) for files in splits), key=itemgetter("article_number"))

    def _split(self, subset: str, files: Sequence[Path], report: Report) -> Iterator[Row]:
        last = -1
        for path in files:
            table = read_parquet(path, report, _MOST_COLUMNS)
            self._note(subset, table)
            for values in table.rows:
                row = dict(zip(table.names, values, strict=True))
                number = row.get("article_number")
                if type(number) is not int or number < last:
                    raise ReadError(path, "its rows are not in the order of articles.", advice="Export it again.")
                last = number
                yield row

    def _note(self, subset: str, table: ArrowTable) -> None:
        names = _about(table).get("names")
        self._names |= {str(k): str(v) for k, v in names.items()} if isinstance(names, dict) else {}
        further = _about(table).get("types", {})
        if subset == SENTENCES:
            self._own.difference_update(further)
        own = {*OF_SENTENCES, *OF_ARTICLES}.difference(further)
        for column, type in table.types.items():
            if column not in own and self.types.setdefault(self._name(column), type) != type:
                self.types[self._name(column)] = ""  # a column of articles and one of sentences, with different types

    def _name(self, column: str) -> str:
        return self._names.get(column, column)

    def _article(self, about: Row, rows: Sequence[Row]) -> Article:
        ordered = sorted(rows, key=itemgetter("position"))
        names = [name for name in (ordered[0] if ordered else {}) if name not in self._own]
        return Article(
            title=str(about["title"]),
            sections=_sections(about["sections"], ordered, "start" in self._own),
            url=str(about["url"] or ""),
            source=str(about["source"] or ""),
            topic=str(about["topic"] or ""),
            part=about["part"] if about["part"] in PARTS else "",
            values={self._name(name): value for name, value in about.items() if name not in OF_ARTICLES},
            sentence_values={self._name(name): [row[name] for row in ordered] for name in names},
        )


def _sections(listed: Sequence[Mapping[str, Any]], rows: Sequence[Row], with_starts: bool) -> tuple[Section, ...]:
    """Return the sections with the sentences of ``rows``, which are in reading order."""
    texts: dict[int, dict[int, list[tuple[str, int]]]] = {}
    for row in rows:
        found = texts.setdefault(row["section_number"], {}).setdefault(row["paragraph"], [])
        found.append((str(row["text"]), int(row.get("start", -1)) if with_starts else -1))
    if texts and not 0 <= min(texts) <= max(texts) < len(listed):
        raise ValueError("a sentence is in no section")
    return tuple(
        Section(
            str(section["title"]),
            int(section["level"]),
            tuple(Paragraph("", *zip(*found, strict=True)) for _, found in sorted(texts.get(number, {}).items())),
            tuple(map(str, section["path"])),
        )
        for number, section in enumerate(listed)
    )


def is_exported(files: Sequence[Path]) -> bool:
    """Return whether these files of a dataset were exported by Themescope, with the subset of articles beside them."""
    path = files[0]
    if path.suffix != ".parquet" or path.parent.name != SENTENCES or not (path.parent.parent / ARTICLES).is_dir():
        return False
    return _about(read_parquet(path, SILENT, _MOST_COLUMNS)).get("format") == _FORMAT


def _about(table: ArrowTable) -> dict[str, Any]:
    try:
        found = json.loads(table.metadata.get(METADATA, b"{}"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
