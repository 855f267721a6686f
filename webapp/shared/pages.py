"""Cards of the pages."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from core.registry import Card
from db.access import Right
from webapp.shared.state import PageKeys


@dataclass(frozen=True, slots=True)
class PageCard(Card):
    """Declaration of a page: its place in the navigation and the script that draws it.

    The id of a page is its URL path. ``factory`` is the module of the script, such as ``webapp.features.map.page``;
    Streamlit runs the file of that module.
    """

    source: str = "Themescope"
    factory: str = ""
    config: str = ""
    icon: str = ""
    """Material icon, such as ``:material/map:``."""
    group: str = ""
    """Heading of the navigation under which the page is listed."""
    right: Right = Right.LOOK
    """Right that a person needs to open the page."""
    keys: str = ""
    """``"module:NAME"`` of the page's :class:`~webapp.shared.state.PageKeys`; empty for a page without view state."""

    @property
    def script(self) -> Path:
        """File of the script. The module is not imported: importing a page would draw it."""
        found = find_spec(self.factory)
        if found is None or found.origin is None:
            raise ModuleNotFoundError(f"The page {self.id!r} has no module {self.factory!r}.")
        return Path(found.origin)

    def page_keys(self) -> PageKeys | None:
        """Import and return the page's keys; None for a page without view state."""
        if not self.keys:
            return None
        module, _, name = self.keys.partition(":")
        found: PageKeys = getattr(importlib.import_module(module), name)
        return found
