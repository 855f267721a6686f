"""Counter of attempts at a job without progress, kept beside its checkpoint.

A job may be interrupted any number of times as long as it advances between two interruptions. One that takes its
worker down again and again at the same place is given up.
"""

from __future__ import annotations

import json
from pathlib import Path

CAP = 5
"""Attempts without progress after which a job fails."""

_FILE = "attempts.json"


def note_attempt(folder: Path, attempt: int, progress: float) -> int:
    """Record the start of attempt ``attempt`` (from 1); return how many attempts made no progress."""
    path = folder / _FILE
    best, vain = 0.0, 0
    if attempt > 1:
        best, vain = _read(path, progress)
        best, vain = (progress, 0) if progress > best else (best, vain + 1)
    path.write_text(json.dumps({"best": best, "vain": vain}), encoding="utf-8")
    return vain


def forgive(folder: Path) -> None:
    """Reset the count after an interruption that the job did not cause."""
    (folder / _FILE).unlink(missing_ok=True)


def _read(path: Path, progress: float) -> tuple[float, int]:
    try:
        noted = json.loads(path.read_text(encoding="utf-8"))
        return float(noted["best"]), int(noted["vain"])
    except (OSError, ValueError, KeyError, TypeError):
        return progress, -1
