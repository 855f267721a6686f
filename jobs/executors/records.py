"""Completion records of shards, as files in the checkpoint folder of a job."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = Sequence[npt.NDArray[Any]]


class ArrayRecords:
    """Results by shard name, each a list of arrays in one file, which appears only when it is complete.

    ``folder`` is created by the first record. Its name must identify everything that the results depend on: a record
    in it is used without a look at the data.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, name: str) -> Path:
        return self._folder / f"{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}.npz"

    def __getitem__(self, name: str) -> Arrays:
        with np.load(self._file(name), allow_pickle=False) as arrays:
            return [arrays[f"arr_{number}"] for number in range(len(arrays.files))]

    def __setitem__(self, name: str, arrays: Arrays) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._file(name).with_suffix(".partial")
        with partial.open("wb") as stream:
            np.savez(stream, *arrays)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(partial, self._file(name))

    def __contains__(self, name: str) -> bool:
        return self._file(name).is_file()
