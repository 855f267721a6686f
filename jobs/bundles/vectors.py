"""Serialisation of the vectors of consecutive articles as safetensors, dense or sparse (CSR)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from core.errors import ReadError
from core.types import Matrix


def to_bytes(blocks: Sequence[Matrix]) -> bytes:
    """Stack blocks (n₁, dim), (n₂, dim), … with their row counts; float16 where that is lossless."""
    from safetensors.numpy import save

    rows = np.array([block.shape[0] for block in blocks], dtype=np.int64)
    if sparse.issparse(blocks[0]):
        whole: Any = sparse.vstack(blocks, format="csr")
        arrays = {
            "rows": rows,
            "values": _short(whole.data),
            "columns": whole.indices.astype(np.int64),
            "starts": whole.indptr.astype(np.int64),
            "dim": np.array([whole.shape[1]], dtype=np.int64),
        }
    else:
        arrays = {"rows": rows, "vectors": _short(np.concatenate([np.asarray(b) for b in blocks]))}
    return bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))


def precision(blocks: Sequence[Matrix]) -> str:
    """Return the storage type: "float16" where that is lossless, else "float32"."""
    stored: list[Any] = [block.data if sparse.issparse(block) else block for block in blocks]
    return "float16" if all(_short(np.asarray(x)).dtype == np.float16 for x in stored) else "float32"


def _short(values: Any) -> Any:
    with np.errstate(over="ignore"):
        short = values.astype(np.float16)
    return short if np.array_equal(short.astype(np.float32), values) else values.astype(np.float32)


def from_bytes(data: bytes, path: Path) -> list[Matrix]:
    """Return the blocks that :func:`to_bytes` wrote; raise :class:`ReadError` for other data."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays: dict[str, Any] = load(data)
        rows = [int(n) for n in arrays["rows"].astype(np.int64, casting="safe").tolist()]
        whole: Any = _sparse(arrays) if "values" in arrays else arrays["vectors"].astype(np.float32)
        if whole.ndim != 2 or not rows or min(rows) < 0 or sum(rows) != whole.shape[0]:
            raise ValueError("rows")
    except (SafetensorError, KeyError, ValueError, TypeError, IndexError, OverflowError):
        raise ReadError(path, "its vectors are damaged.", "", "Export it again.") from None
    return [whole[end - n : end] for n, end in zip(rows, accumulate(rows), strict=True)]


def _sparse(arrays: dict[str, Any]) -> Any:
    shape = (len(arrays["starts"]) - 1, int(arrays["dim"][0]))
    whole = sparse.csr_array((arrays["values"].astype(np.float32), arrays["columns"], arrays["starts"]), shape=shape)
    whole.check_format(full_check=True)
    return whole
