"""Experiment specs of papers: data, models, measurements and published numbers, without computations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from themescope.core.errors import UnknownNameError
from themescope.core.registry import resolve

if TYPE_CHECKING:
    from themescope.core.papers.spec import Paper

PAPERS: dict[str, str] = {"ed18": "themescope.core.papers.ed18:ED18", "sjh17": "themescope.core.papers.sjh17:SJH17"}
"""Id of a paper → "module:NAME" of its spec."""


def paper(id: str) -> Paper:
    """Return the experiment specs of a paper; raise :class:`UnknownNameError` with the nearest names."""
    if id not in PAPERS:
        raise UnknownNameError("paper", id, PAPERS)
    declared: Paper = resolve(PAPERS[id])
    return declared
