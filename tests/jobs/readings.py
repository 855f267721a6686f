"""Readings of files for test_reading, which other processes import."""

import os
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from themescope.core.errors import ReadError
from themescope.core.readers import REGISTRY
from themescope.core.types import Article, Report

FILE = Path("folder/bad.txt")


class Order:
    """What a file or model that has taken a process over lets it answer: an order to the process that asked."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def numbers(report: Report) -> Generator[Path | int, None, str]:
    """Yield three numbers, and the process that read them as the result."""
    yield FILE
    for number in range(3):
        report.progress(number, 3, f"number {number}")
        yield number
    return str(os.getpid())


def fails(report: Report) -> Generator[Path | int]:
    """Fail after the first number."""
    yield from (FILE, 1)
    raise ReadError(FILE, "the line is damaged.", "line 2")


def hangs(report: Report) -> Generator[Path | int]:
    """Never yield the second number."""
    yield from (FILE, 1)
    time.sleep(1_000)


def fills_memory(report: Report) -> Generator[Path | bytes]:
    """Use more memory than there may be."""
    yield FILE
    yield b"".join(bytes(1 << 30) for _ in range(8))


def dies(report: Report) -> Generator[Path]:
    """End the process."""
    yield FILE
    os._exit(9)


def refuses(path: Path) -> None:
    """Raise an error about a file."""
    raise ReadError(path, "it is bad.")


def articles(path: Path, report: Report) -> Generator[Path | Article]:
    """Yield the articles of a PDF."""
    yield path
    yield from REGISTRY.build("pdf", {}).read(path, report)
