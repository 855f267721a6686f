"""Tables in the formats of Apache Arrow: Parquet files, and the streams of record batches that datasets are saved as.

Class labels of the package datasets are read as the names of their classes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from themescope.core.columns import STRING, ColumnType
from themescope.core.errors import ReadError
from themescope.core.protocols import Report
from themescope.core.readers.unpacking import BOMB_RATIO, is_bomb

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
        known = _known(file.schema_arrow, most)

    def rows() -> Iterator[tuple[Any, ...]]:
        characters, done, size = 0, 0, path.stat().st_size
        with _arrow_errors(path, "Parquet file"):
            for block in file.iter_batches(_ROWS, columns=known.names):
                columns = _python(block, known.classes)
                characters += sum(len(v) for column in columns for v in column if isinstance(v, str))
                if is_bomb(characters, size):
                    problem = f"its texts have more than {BOMB_RATIO} times its size, which is implausible."
                    raise ReadError(path, problem, f"row {done:,}")
                done += block.num_rows
                report.progress(done, file.metadata.num_rows, f"rows of {path.name}")
                yield from zip(*columns, strict=True)

    return ArrowTable(known.names, rows(), known.types, known.metadata)


def read_arrow(path: Path, report: Report, most: int) -> ArrowTable:
    """Return the first ``most`` columns of a stream of record batches. Raises the errors of :func:`read_parquet`."""
    import pyarrow as pa

    size = path.stat().st_size
    with _arrow_errors(path, "Arrow file"):
        source = pa.memory_map(str(path))
        stream = pa.ipc.open_stream(source)
        known = _known(stream.schema, most)

    def rows() -> Iterator[tuple[Any, ...]]:
        with _arrow_errors(path, "Arrow file"), source:
            for batch in stream:
                batch.validate(full=True)  # offsets beyond the data would end the process
                report.progress(min(source.tell(), size), size, f"rows of {path.name}")
                for start in range(0, batch.num_rows, _ROWS):
                    yield from zip(*_python(batch.select(known.names).slice(start, _ROWS), known.classes), strict=True)

    return ArrowTable(known.names, rows(), known.types, known.metadata)


@dataclass(frozen=True, slots=True)
class _Known:
    """What a schema says of the first columns."""

    names: list[str]
    types: Mapping[str, str]
    classes: Mapping[str, Sequence[str]]
    metadata: Mapping[bytes, bytes]


def _known(schema: Any, most: int) -> _Known:
    names, metadata = schema.names[:most], schema.metadata or {}
    classes = class_names(metadata)
    import pyarrow as pa

    recorded = _recorded((schema.metadata or {}).get(METADATA, b""))
    found: dict[str, str] = {}
    for name in names:
        kind = schema.field(schema.names.index(name)).type
        if pa.types.is_dictionary(kind) or pa.types.is_boolean(kind) or name in classes:
            found[name] = ColumnType.CATEGORY
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            found[name] = STRING
    return _Known(names, found | {name: type for name, type in recorded.items() if name in names}, classes, metadata)


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
        if name in classes and pa.types.is_integer(kind):
            known = dict(enumerate(classes[name]))
            values = [known.get(value) for value in values]
        columns.append(values)
    return columns


def class_names(metadata: Mapping[bytes, bytes]) -> dict[str, list[str]]:
    """Return column → names of its classes, as the package datasets records them; empty if nothing is recorded."""
    try:
        features = json.loads(metadata.get(FEATURES, b"{}"))["info"]["features"]
        return {
            name: [str(known) for known in feature["names"]]
            for name, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _recorded(content: bytes) -> dict[str, str]:
    try:
        types = json.loads(content)["types"]
        return {name: ColumnType(type) for name, type in types.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
