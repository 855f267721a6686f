"""Tables in the formats of Apache Arrow: Parquet files, and the streams of record batches that datasets are saved as.

Class labels of the package datasets are read as the names of their classes.

Datasets that Themescope exported are read as the same articles again. The subset ``sentences`` has a row for each
sentence, and the subset ``articles`` one for each article with all of its sections, also those without sentences. Both
are ordered by the number of the article within every split.
"""

from __future__ import annotations

import errno
import heapq
import json
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

from themescope.core.columns import STRING, ColumnType
from themescope.core.errors import ReadError, optional_module
from themescope.core.readers.documents.packages import DAMAGE
from themescope.core.readers.streams import BOMB_RATIO, excessive_size, is_bomb
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
        found = {}
        for name, feature in features.items():  # also of a list of labels
            inner = feature[0] if isinstance(feature, list) else feature.get("feature", feature)
            if isinstance(inner, dict) and inner.get("_type") == "ClassLabel":
                found[name] = [str(known) for known in inner["names"]]
        return found
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


# Folders of Hugging Face datasets on this machine: which files they have, by split. Nothing is downloaded

SUFFIXES = ("parquet", "csv", "tsv", "jsonl", "arrow")
"""Suffixes of data files."""
CARD = "README.md"
_SAVED, _SAVED_SPLITS = "state.json", "dataset_dict.json"
_MOST_HEADER = 4_000_000  # bytes of a card; names of classes may be many
_MOST_VALUES = 100_000
_SPLITS = {"train": "train|training", "validation": "validation|valid|dev|val", "test": "test|testing|eval|evaluation"}
_DEPTH = 3  # folders in which data files are looked for
_MOST_DEEP = 3  # signs ** in a pattern


def is_dataset(path: Path) -> bool:
    """Return whether a path is the folder of a dataset."""
    if not path.is_dir():
        return False
    if any((path / name).is_file() for name in (_SAVED, _SAVED_SPLITS)):
        return True
    if any(file.suffix in (".parquet", ".arrow") for file in _data_files(path)):
        return True
    try:
        return "configs" in card_header(path)
    except ReadError:
        return False


def files_below(path: Path) -> list[Path]:
    """Return the files that are read of a path: a file itself, or the visible files below a folder, sorted."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and not _hidden(file, path))


def dataset_files(folder: Path, subset: str = "") -> dict[str, tuple[Path, ...]]:
    """Return split → data files, in the order of their names, of a subset (a configuration), "" for the default one.

    Raises :class:`ReadError` if there is no such subset, if it has no files, or if the folder names files elsewhere.
    """
    if (folder / _SAVED_SPLITS).is_file():
        names = _json(folder / _SAVED_SPLITS).get("splits")
        listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        found = {name: _saved(folder, folder / _plain(folder, name)) for name in listed}
    elif (folder / _SAVED).is_file():
        found = {"train": _saved(folder, folder)}
    else:
        found = _of_repository(folder, subset)
    splits = {split: files for split, files in found.items() if files}
    if not splits:
        raise ReadError(folder, f"this dataset has no data files ({', '.join(SUFFIXES)}).")
    return splits


def card_header(folder: Path) -> dict[str, Any]:
    """Return the YAML header of the dataset card; empty without one. Raises ``ReadError`` if it is damaged."""
    yaml = optional_module("yaml", "Reading dataset cards", "pyyaml", "app")
    path = folder / CARD
    if not path.is_file():
        return {}
    with path.open("rb") as stream:
        text = stream.read(_MOST_HEADER).decode("utf-8", "replace")
    found = re.match(r"---\r?\n(.*?)\r?\n---", text, re.DOTALL)
    if found is None:
        return {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is ten times as fast, but may be missing
    try:
        for number, event in enumerate(yaml.parse(found.group(1), loader)):
            if isinstance(event, yaml.AliasEvent) or number >= _MOST_VALUES:
                problem = "YAML aliases" if number < _MOST_VALUES else f"more than {_MOST_VALUES:,} names and values"
                raise ReadError(path, f"its header has {problem}, which is not read.", "line 1")
        header = yaml.load(found.group(1), loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ReadError(path, f"its header is not valid YAML ({type(error).__name__}).", "line 1") from None
    return header if isinstance(header, dict) else {}


def _saved(root: Path, folder: Path) -> tuple[Path, ...]:
    files = _json(folder / _SAVED).get("_data_files")
    names = [entry.get("filename") for entry in files if isinstance(entry, dict)] if isinstance(files, list) else []
    return tuple(folder / _plain(root, str(name)) for name in names)


def _plain(folder: Path, name: str) -> str:
    """Return the name of a file in the same folder; raise ``ReadError`` for a path elsewhere."""
    if not name or name in (".", "..") or re.search(r"[/\\\0]", name):
        raise ReadError(folder, f"it names a file elsewhere ({name[:60]!r}).", advice="Only files in it are read.")
    return name


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise ReadError(path, "this file is missing, or is not JSON.", advice="Save the dataset again.") from None
    return found if isinstance(found, dict) else {}


# --- repositories -----------------------------------------------------------------------------------------------------


def _of_repository(folder: Path, subset: str) -> dict[str, tuple[Path, ...]]:
    configs = card_header(folder).get("configs")
    listed = [entry for entry in configs if isinstance(entry, dict)] if isinstance(configs, list) else []
    config = _chosen(folder, listed, subset)
    where = folder / _inside(folder, str(config.get("data_dir") or "."))
    if config.get("data_files"):
        return {split: _matching(folder, patterns) for split, patterns in _patterns(config["data_files"])}
    found: dict[str, list[Path]] = {}
    for path in _data_files(where):
        words = {*re.split(r"[^a-z]+", "/".join(path.relative_to(where).parts).lower())}  # of folders and the file
        split = next((split for split, known in _SPLITS.items() if words & {*known.split("|")}), "train")
        found.setdefault(split, []).append(path)
    return {split: tuple(found[split]) for split in ("train", "validation", "test") if split in found}


def _chosen(folder: Path, configs: Sequence[Mapping[str, Any]], subset: str) -> Mapping[str, Any]:
    """Return the configuration of a subset; an empty one if the card lists none."""
    names = {str(config.get("config_name", "default")): config for config in configs}
    if subset and subset not in names:
        known = f"Subsets: {', '.join(names)}." if names else "It has no subsets."
        raise ReadError(folder, f"it has no subset {subset!r}.", advice=known)
    if subset or len(names) < 2:
        return names[subset] if subset else next(iter(configs), {})
    default = [name for name, config in names.items() if config.get("default") is True or name == "default"]
    if not default:
        raise ReadError(folder, "it has several subsets.", advice=f"Choose one: {', '.join(names)}.")
    return names[default[0]]


def _patterns(data_files: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield split → patterns of files in the forms that dataset cards have."""
    entries = data_files if isinstance(data_files, list) else [data_files]
    plain = [entry for entry in entries if isinstance(entry, str)]
    if plain:
        yield "train", plain
    for entry in entries:
        if isinstance(entry, dict):
            pairs = [(entry["split"], entry.get("path"))] if "split" in entry else [*entry.items()]
            for split, path in pairs:
                yield str(split), [str(one) for one in (path if isinstance(path, list) else [path])]


def _matching(folder: Path, patterns: Sequence[str]) -> tuple[Path, ...]:
    found: dict[Path, None] = {}
    for pattern in patterns:
        relative = re.sub(r"(\*\*/)+", "**/", _inside(folder, pattern))
        if relative.count("**") > _MOST_DEEP:  # each of them visits all folders below each folder
            raise ReadError(folder, f"its card has a pattern with more than {_MOST_DEEP} times ** ({pattern[:60]!r}).")
        found.update(dict.fromkeys(sorted(path for path in folder.glob(relative) if path.is_file())))
    return tuple(found)


def _inside(folder: Path, pattern: str) -> str:
    """Return a relative path or pattern; raise ``ReadError`` for one that leads out of the folder."""
    if "://" in pattern or "\0" in pattern or pattern.startswith("/") or ".." in Path(pattern).parts:
        advice = "Only files in the folder are read; nothing is downloaded."
        raise ReadError(folder, f"its card names files elsewhere ({pattern[:60]!r}).", advice=advice)
    return pattern


def _data_files(folder: Path) -> list[Path]:
    found = (path for depth in range(_DEPTH) for path in folder.glob("*/" * depth + "*") if path.is_file())
    return sorted(path for path in found if path.suffix.lstrip(".") in SUFFIXES and not _hidden(path, folder))


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(root).parts)


# --- dataset archives -------------------------------------------------------------------------------------------------


_MOST_FILES = 10_000
_MOST_UNPACKED = 4_000_000_000
"""Bytes up to which the ratio of compression does not matter."""
_PIECE = 1 << 20
_ADVICE = "Pack the folder of a dataset: its data files, and its card README.md."


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack the data files and the card of a dataset into ``folder``, and return the folder of the dataset.

    It is ``folder`` itself or, where the archive holds a folder, that one. Other files of the archive stay packed.
    Raises :class:`ReadError` if the archive is damaged or encrypted, names files elsewhere, is too large when unpacked,
    or has no dataset.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            for member in _wanted(archive, packed.infolist()):
                target = folder.joinpath(*PurePosixPath(member.filename).parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(member) as source, target.open("wb") as out:
                    # Copy a member, at most as many bytes as it declares.
                    left = member.file_size
                    while piece := source.read(_PIECE):
                        left -= len(piece)
                        if left < 0:
                            raise ReadError(archive, "this ZIP file is damaged: a file in it is longer than declared.")
                        out.write(piece)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise ReadError(archive, "this ZIP file is damaged: a place or a name in it is invalid.") from None
    except DAMAGE:
        raise ReadError(archive, "this ZIP file is damaged or encrypted.") from None
    parts = list(folder.iterdir()) if folder.is_dir() else []
    found = parts[0] if len(parts) == 1 and parts[0].is_dir() and is_dataset(parts[0]) else folder
    if not is_dataset(found):
        raise ReadError(archive, "this ZIP file is not a Hugging Face dataset.", advice=_ADVICE)
    return found


def _wanted(archive: Path, members: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """Return the members that are files of a dataset, after the checks of names and sizes."""
    if len(members) > _MOST_FILES:
        raise ReadError(archive, f"this ZIP file has more than {_MOST_FILES:,} files.")
    wanted = []
    for member in members:
        path = PurePosixPath(member.filename)
        if path.is_absolute() or ".." in path.parts or "\\" in member.filename or ":" in member.filename:
            raise ReadError(archive, "this ZIP file names a file outside of its folder.")
        other = member.is_dir() or stat.S_ISLNK(member.external_attr >> 16)
        hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
        known = path.name == CARD or path.suffix.lower().lstrip(".") in (*SUFFIXES, "json")
        if known and not (other or hidden):
            wanted.append(member)
    if size := excessive_size(wanted, _MOST_UNPACKED):
        raise ReadError(archive, f"this ZIP file has {size} when unpacked, which is too much.")
    return wanted
