"""The tables of papers as declarations: what is measured with what, and what was published. Nothing is computed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from core.errors import UnknownNameError

if TYPE_CHECKING:
    from core.papers.spec import Paper

PAPERS: dict[str, str] = {"ed18": "core.papers.ed18.paper:ED18", "sjh17": "core.papers.sjh17.paper:SJH17"}
"""Id of a paper → "module:NAME" of its declaration."""


def paper(id: str) -> Paper:
    """The declaration of a paper, or :class:`UnknownNameError` naming the nearest."""
    if id not in PAPERS:
        raise UnknownNameError("paper", id, PAPERS)
    module, _, name = PAPERS[id].partition(":")
    declared: Paper = getattr(importlib.import_module(module), name)
    return declared
