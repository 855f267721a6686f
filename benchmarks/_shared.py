"""What several programs need: lists with known codes, scores of themes, calibration, and the times of a call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from themescope.core.compute import processor
from themescope.core.metrics.partition import AdjustedMutualInformation, AdjustedRandIndex, MetricConfig
from themescope.core.types import Floats, Labels, Mask
from themescope.jobs.common.articles import code_version

T = TypeVar("T")
AMI, ARI = AdjustedMutualInformation(MetricConfig()), AdjustedRandIndex(MetricConfig())
QUICK: dict[str, Any] = {"sample": 10, "subsamples": 1}
"""Settings of themes: the curves take no part in them, so they are measured on few sentences."""


def numbered(codes: list[str]) -> Labels:
    """Return the numbers of codes in alphabetical order."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int32)


def known_lists(file: Path) -> Iterator[tuple[str, list[str], Labels]]:
    """Yield name, sentences and numbers of the codes of each list in a JSON list of [name, sentences, codes]."""
    for name, texts, codes in json.loads(file.read_text("utf-8")):
        yield name, texts, numbered(codes)


def calibration_error(confidence: Floats, right: Mask) -> float:
    """Return the mean distance of confidence and accuracy, over ten groups of equal size."""
    parts = np.array_split(np.argsort(-confidence), 10)
    return float(sum(len(p) * abs(confidence[p].mean() - right[p].mean()) for p in parts) / len(right))


def timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """Return the result of a call, and its seconds of the wall and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - processor


def about(program: str) -> dict[str, Any]:
    """Return what the record of a program begins with."""
    today = datetime.now(UTC).date().isoformat()
    return {"program": program, "date": today, "version": code_version(), "processor": processor()}


def add_to_record(file: Path | None, of: str, name: str, rows: object) -> None:
    """Put ``rows`` under ``of`` and ``name`` into a JSON record, beside what it has."""
    if file:
        known = json.loads(file.read_text("utf-8")) if file.is_file() else {}
        known.setdefault(of, {})[name] = rows
        file.write_text(json.dumps(known, indent=1) + "\n", "utf-8")
