"""Files of vectors outside of the database: safetensors with the blocks of many articles.

Files are named by their content. A file is written before the transaction that refers to it, and never changed. Files
that no row refers to, because a transaction failed or its rows were deleted, are removed a day later.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.errors import ArtifactError, DataError
from themescope.core.types import Matrix
from themescope.db.files.artifacts import DAY, Folder
from themescope.db.records import VectorBlock

DTYPES = {"float16": "<f2", "float32": "<f4"}
"""Storage types of values, and their names in numpy."""
VECTORS_SUFFIX = ".safetensors"
_NAME = re.compile(r"([0-9a-f]{32})(\.safetensors|\.usearch)")
"""Files of vectors, and of the indexes of earlier versions, which are removed as unused."""
_HEADER = 4_096
"""Bytes that hold the header of our files."""
_ABOUT = "block"
_KINDS = {"F16": "<f2", "F32": "<f4", "I64": "<i8", "I32": "<i4"}
Span = tuple[int, int]
"""First row, and number of rows."""


@dataclass(frozen=True, slots=True)
class VectorFile:
    """A stored file, and the rows of each article in it."""

    digest: str
    format: str
    """"dense" or "csr"."""
    dtype: str
    dim: int
    size: int
    """Bytes."""
    spans: Mapping[int, Span]


@dataclass(frozen=True, slots=True)
class _Tensor:
    dtype: str
    shape: tuple[int, ...]
    start: int
    """First byte in the file."""

    @property
    def step(self) -> int:
        """Return the bytes of one row."""
        return int(np.dtype(self.dtype).itemsize * np.prod(self.shape[1:], dtype=np.int64))

    @property
    def stop(self) -> int:
        return self.start + self.shape[0] * self.step


class VectorFiles:
    """Files of vectors in a local folder or in object storage. A digest names exactly one content."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    def put(self, blocks: Sequence[VectorBlock], dtype: str = "float16") -> VectorFile:
        """Write blocks with the same dim, all dense or all CSR, to one file.

        Raises ``DataError`` if a value is not finite in ``dtype``, and ``StoreError`` if the folder cannot be written.
        """
        from safetensors.numpy import save

        check_dtype(dtype)
        arrays, dim = _arrays(blocks, dtype)
        format = "dense" if "vectors" in arrays else "csr"
        # One entry, because safetensors writes several in random order, and equal content must give equal bytes.
        data = save(arrays, {_ABOUT: json.dumps({"format": format, "dim": dim})})
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        self.folder.write(digest + VECTORS_SUFFIX, data)
        spans, first = {}, 0
        for block in blocks:
            rows = int(block.vectors.shape[0])
            spans[int(block.article_id)] = (first, rows)
            first += rows
        return VectorFile(digest, format, dtype, dim, len(data), spans)

    def get(self, digest: str, spans: Sequence[Span]) -> list[Matrix]:
        """Return float32 copies (rows, dim) of parts of a file, dense or CSR as stored.

        Raises ``ArtifactError``, which names the file, if it is missing or damaged.
        """
        name = digest + VECTORS_SUFFIX
        tensors, dim = _header(self.folder, name)
        rows = next(iter(tensors.values())).shape[0] - ("starts" in tensors)
        if any(first < 0 or first + count > rows for first, count in spans):
            raise self.folder.damaged(name, f"it has only {rows:,} vectors")
        if "vectors" in tensors:
            parts = self._read(name, tensors["vectors"], [(first, first + n) for first, n in spans])
            return [part.astype(np.float32) for part in parts]
        return self._sparse(name, tensors, dim, spans)

    def _sparse(self, name: str, tensors: Mapping[str, _Tensor], dim: int, spans: Sequence[Span]) -> list[Matrix]:
        from scipy import sparse

        starts = self._read(name, tensors["starts"], [(first, first + n + 1) for first, n in spans])
        bounds = [(int(part[0]), int(part[-1])) for part in starts]
        if any(not 0 <= low <= high <= tensors["values"].shape[0] for low, high in bounds):
            raise self.folder.damaged(name, "its rows do not match its values")
        columns = self._read(name, tensors["columns"], bounds)
        values = self._read(name, tensors["values"], bounds)
        return [
            sparse.csr_array(
                (value.astype(np.float32), column.astype(np.int32), (start - start[0]).astype(np.int32)),
                shape=(len(start) - 1, dim),
            )
            for start, column, value in zip(starts, columns, values, strict=True)
        ]

    def _read(self, name: str, tensor: _Tensor, rows: Sequence[tuple[int, int]]) -> list[npt.NDArray[Any]]:
        """Return rows first…last of a tensor. Neighbouring parts are read in one piece."""
        runs = list(_runs(rows))
        ranges = [(tensor.start + low * tensor.step, tensor.start + high * tensor.step) for low, high, _ in runs]
        found: dict[int, npt.NDArray[Any]] = {}
        for (low, _, members), data in zip(runs, self.folder.read(name, ranges), strict=True):
            whole = data.view(tensor.dtype).reshape(-1, *tensor.shape[1:])
            found.update((i, whole[rows[i][0] - low : rows[i][1] - low]) for i in members)
        return [found[i] for i in range(len(rows))]

    def check(self, digest: str, suffix: str = VECTORS_SUFFIX) -> None:
        """Compare a file with its digest; raise ``ArtifactError``, which names it, if it is missing or changed."""
        name = digest + suffix
        total, size = hashlib.blake2b(digest_size=16), self.folder.size(name)
        for start in range(0, size, 1 << 24):
            (part,) = self.folder.read(name, [(start, min(start + (1 << 24), size))])
            total.update(part.data)
        if total.hexdigest() != digest:
            raise self.folder.damaged(name, "its content does not match its name")

    def size(self, digest: str) -> int:
        """Return the size of a file in bytes; raise ``ArtifactError`` if it is missing."""
        return self.folder.size(digest + VECTORS_SUFFIX)

    def keep(self, names: Collection[str]) -> None:
        """Make files on this machine recent, so that :meth:`remove_unused` keeps them for a day."""
        here = self.folder.path_here
        if here is None:
            return
        for name in names:
            with suppress(FileNotFoundError):
                os.utime(here / name)

    def unused(self, in_use: Collection[str]) -> list[str]:
        """Return the digests of the files that are not in ``in_use``."""
        return [name[:32] for name, _ in self._unused(in_use)]

    def remove_unused(self, in_use: Collection[str], older_than_s: float = DAY) -> list[str]:
        """Remove unused files, except recent ones that a job may be about to record, and unfinished ones."""
        self.folder.remove_unfinished()
        limit = time.time() - older_than_s
        removed = [name for name, modified in self._unused(in_use) if modified < limit]
        for name in removed:
            self.folder.remove(name)
        return [name[:32] for name in removed]

    def _unused(self, in_use: Collection[str]) -> list[tuple[str, float]]:
        found = ((_NAME.fullmatch(name), name, modified) for name, modified in self.folder.modified().items())
        return sorted((name, modified) for match, name, modified in found if match and match[1] not in in_use)


def check_dtype(dtype: str) -> None:
    """Raise ``DataError`` if vectors cannot be stored as ``dtype``."""
    if dtype not in DTYPES:
        raise DataError(f"Vectors are stored as {' or '.join(DTYPES)}, not {dtype!r}.")


def stored_values(block: VectorBlock, dtype: str) -> npt.NDArray[Any]:
    """Return the values of a dense or CSR block as they are stored.

    Raises ``DataError`` if a value is not finite in ``dtype``.
    """
    x: Any = block.vectors
    with np.errstate(over="ignore"):
        values = np.asarray(x if isinstance(x, np.ndarray) else x.data).astype(DTYPES[dtype])
    if not np.isfinite(values).all():
        raise DataError(f"A vector of article {block.article_id} has a value that is not finite as {dtype}.")
    return values


def _arrays(blocks: Sequence[VectorBlock], dtype: str) -> tuple[dict[str, npt.NDArray[Any]], int]:
    """Return the tensors of a file, and the dimension of its vectors."""
    if not blocks or len({block.vectors.shape[1] for block in blocks}) > 1:
        raise DataError("A file of vectors needs blocks of one dimension.")
    first: Any = blocks[0].vectors
    if isinstance(first, np.ndarray):
        vectors = np.concatenate([stored_values(block, dtype) for block in blocks])
        return {"vectors": np.ascontiguousarray(vectors)}, int(first.shape[1])
    given: list[Any] = [block.vectors for block in blocks]
    parts = [x if x.has_sorted_indices else x.sorted_indices() for x in given]
    tidy = [VectorBlock(block.article_id, part) for block, part in zip(blocks, parts, strict=True)]
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    arrays = {
        "starts": np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype("<i8"),
        "columns": np.concatenate([part.indices for part in parts]).astype("<i4"),
        "values": np.concatenate([stored_values(block, dtype) for block in tidy]),
    }
    return arrays, int(first.shape[1])


def _runs(rows: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, list[int]]]:
    """Yield (first, last, members) of stretches of overlapping or adjacent row ranges."""
    low = high = -1
    members: list[int] = []
    for i in sorted(range(len(rows)), key=lambda i: rows[i]):
        start, stop = rows[i]
        if members and start > high:
            yield low, high, members
            members = []
        if not members:
            low, high = start, stop
        high = max(high, stop)
        members.append(i)
    if members:
        yield low, high, members


@lru_cache(maxsize=8_192)
def _header(folder: Folder, name: str) -> tuple[dict[str, _Tensor], int]:
    """Return the tensors of a file, ``vectors`` or ``starts`` first, and the dimension of its vectors."""
    size = folder.size(name)
    (data,) = folder.read(name, [(0, min(size, _HEADER))])
    try:
        length = int.from_bytes(data[:8].tobytes(), "little")
        if not 0 < length <= _HEADER - 8:
            raise ValueError(length)
        header = json.loads(data[8 : 8 + length].tobytes())
        about = json.loads(header["__metadata__"][_ABOUT])
        names = ("vectors",) if about["format"] == "dense" else ("starts", "columns", "values")
        tensors = {key: _tensor(header[key], 8 + length) for key in names}
        dim = int(about["dim"])
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise folder.damaged(name, "its header cannot be read") from None
    if max(tensor.stop for tensor in tensors.values()) != size:
        raise folder.damaged(name, f"it has {size:,} bytes, but its header describes another size")
    return tensors, dim


def _tensor(entry: Mapping[str, Any], offset: int) -> _Tensor:
    return _Tensor(_KINDS[entry["dtype"]], tuple(map(int, entry["shape"])), offset + int(entry["data_offsets"][0]))


def problems_of(files: VectorFiles, expected: Mapping[str, int], *, content: bool = False) -> list[str]:
    """Return a message for each file (digest → bytes) that is missing or has another size, or another content."""
    found = []
    for digest, size in expected.items():
        try:
            if files.size(digest) != size:
                raise files.folder.damaged(digest + VECTORS_SUFFIX, f"its size is not {size:,} bytes")
            if content:
                files.check(digest)
        except ArtifactError as error:
            found.append(str(error))
    return found
