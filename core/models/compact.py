"""Compact files of a saved model, for models that come with the package.

Matrices of weights are rounded to 8 bits and word vectors to 6 bits, with one scale per row, and the files are
compressed. Vectors of sentences keep a cosine of about .9995 to those of the exact model.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.models.storage import COMPRESSED, ROW_SCALES, WORD_LISTS, WORD_TABLES, read_tensors, write_tensors
from themescope.core.text.encoders import WEIGHTS

_WEIGHT_LEVELS, _WORD_LEVELS = 127, 31
"""Largest code of weights and of word vectors."""


def compact(folder: Path) -> None:
    """Replace the files of tensors and words in ``folder`` by compact ones, which ``core.models.storage`` reads.

    Files in the format of transformers stay as they are.
    """
    for path in sorted(folder.glob("*.safetensors")):
        if not path.name.endswith(WEIGHTS):
            write_tensors(path, _words(path) if path.name.endswith(WORD_TABLES) else _weights(path))
            _compress(path)
    for path in sorted(folder.glob(f"*{WORD_LISTS}")):
        _compress(path)


def _weights(path: Path) -> dict[str, Any]:
    compacted: dict[str, Any] = {}
    for name, array in read_tensors(path).items():
        if array.ndim == 2 and np.issubdtype(array.dtype, np.floating):
            compacted[name], compacted[name + ROW_SCALES] = _rounded(array, _WEIGHT_LEVELS)
        else:
            compacted[name] = array
    return compacted


def _words(path: Path) -> dict[str, Any]:
    tensors = read_tensors(path)
    exact = tensors["vectors"].astype(np.float32) * tensors.pop("scales", np.ones(1, np.float32))[:, None]
    codes, scales = _rounded(exact, _WORD_LEVELS)
    return tensors | {"vectors": codes, "scales": scales.astype(np.float16)}


def _rounded(rows: Any, levels: int) -> tuple[Any, Any]:
    """Return (n, dim) int8 codes of at most ``levels`` and (n,) float32 scales."""
    exact = rows.astype(np.float32)
    scales = np.maximum(np.abs(exact).max(axis=1, initial=0), 1e-6) / levels
    return np.rint(exact / scales[:, None]).astype(np.int8), scales


def _compress(path: Path) -> None:
    path.with_name(path.name + COMPRESSED).write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()
