"""Checkpoints of a training: one safetensors file whose header contains the progress as JSON, replaced atomically."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

logger = logging.getLogger(__name__)

Arrays = Mapping[str, np.ndarray[Any, Any]]


def write_arrays(path: Path, key: str, progress: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a checkpoint to a new file that then replaces ``path``, so that a crash leaves one complete file.

    ``key`` is a digest of settings and data; :func:`read_arrays` ignores a checkpoint of another key.
    """
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    save_file(dict(arrays), new, metadata={"key": key, "progress": json.dumps(progress)})
    os.replace(new, path)


def read_arrays(path: Path, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]] | None:
    """Return progress and arrays, or None when the file is missing, damaged, or has another key."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as stored:
            header = stored.metadata() or {}
            if header.get("key") != key:
                return None
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        progress: dict[str, Any] = dict(json.loads(header["progress"]))
    except FileNotFoundError:
        return None
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        logger.warning("The checkpoint %s cannot be read (%s). Training starts from the beginning.", path, error)
        return None
    return progress, arrays


def digest_of_arrays(*arrays: np.ndarray[Any, Any]) -> str:
    """Return 16 hex digits of the content of arrays: the data that a checkpoint belongs to."""
    digest = hashlib.blake2b(digest_size=8)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
