"""Functions that the tests send to workers."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.errors import DataError, ReadError


def square(number: int) -> int:
    return number * number


def arrays(number: int) -> list[np.ndarray]:
    return [np.arange(number), np.full(2, number)]


def reject_five(number: int) -> int:
    if number == 5:
        raise DataError("Five is not allowed.")
    return number


def reject_file(number: int) -> int:
    raise ReadError("page.html", "this is a list.", "line 12", "Convert it.")


class Unsendable(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"two arguments: {one}, {two}")


def unsendable(number: int) -> int:
    raise Unsendable(1, 2)


def divide(number: int) -> float:
    return 1 / (number - 5)


def slow(number: int) -> int:
    time.sleep(0.3)
    return number


class Noting:
    """Notes every call as a file; kills its own process at ``fatal``, unless ``once`` and it did so before."""

    def __init__(self, folder: Path, fatal: int = -1, once: bool = True) -> None:
        self.folder, self.fatal, self.once = folder, fatal, once

    def __call__(self, number: int) -> list[np.ndarray]:
        if number == self.fatal and not (self.once and (self.folder / "killed").exists()):
            (self.folder / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        (self.folder / f"{number}-{os.getpid()}-{time.time_ns()}").touch()
        return arrays(number)

    def calls(self) -> list[int]:
        return sorted(int(file.name.split("-")[0]) for file in self.folder.iterdir() if "-" in file.name)


class Loading:
    """Counts how often it was sent to a worker: a copy keeps its count for the next shard."""

    def __init__(self) -> None:
        self.count = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Loading, ()

    def __call__(self, number: int) -> int:
        self.count += 1
        return self.count
