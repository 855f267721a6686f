"""Declaration of the session and URL keys of a page.

Streamlit keeps the session state and the query parameters of all pages in one place each. Every page therefore
declares its keys once, in ``webapp/features/<page>/state.py``, and each key begins with the id of the page ::

    KEYS = PageKeys("themes")
    VIEW = KEYS.url("view", values={"Themes found": "Results"})   # "themes_view"
    DRAFT = KEYS.session("draft")                                 # "themes_draft"

The corpus is the only key that all pages share: it means the same everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.errors import DuplicateNameError, UnknownNameError

CORPUS = "corpus"
"""URL key of the corpus that a page shows."""


@dataclass(frozen=True, slots=True)
class UrlKey:
    """One URL key of a page, and how links of version 0.1 wrote it."""

    key: str
    old: str
    """Name in links of version 0.1."""
    values: Mapping[str, str] = field(default_factory=dict)
    """New value for each value of version 0.1 that has changed."""
    kind: type = str
    """Type of the value in the session: str, int, float, bool or list."""

    def read(self, values: Sequence[str]) -> Any:
        """Return the session value of the query values, or raise ``ValueError``."""
        if self.kind is list:
            return list(values)
        return values[-1].lower() == "true" if self.kind is bool else self.kind(values[-1])


class PageKeys:
    """Session and URL keys of one page.

    Parameters
    ----------
    page
        Id of the page, the prefix of its keys.
    """

    def __init__(self, page: str) -> None:
        self.page = page
        self.urls: dict[str, UrlKey] = {CORPUS: UrlKey(CORPUS, CORPUS)}
        self.sessions: set[str] = set()

    def url(self, name: str, *, old: str = "", values: Mapping[str, str] | None = None, kind: type = str) -> str:
        """Declare a URL key and return it; ``old`` is its name in links of version 0.1, by default ``name``."""
        key = self._new(name)
        self.urls[key] = UrlKey(key, old or name, values or {}, kind)
        return key

    def session(self, name: str) -> str:
        """Declare a key of the session and return it."""
        key = self._new(name)
        self.sessions.add(key)
        return key

    def address(self, query: Mapping[str, str | Sequence[str]]) -> dict[str, str | Sequence[str]]:
        """Return the query parameters of a link to this page; ``query`` names its URL keys without the prefix."""
        return {self._known(name): value for name, value in query.items()}

    def _new(self, name: str) -> str:
        key = f"{self.page}_{name}"
        if key in self.urls or key in self.sessions:
            raise DuplicateNameError("key of a page", key)
        return key

    def _known(self, name: str) -> str:
        key = name if name in self.urls else f"{self.page}_{name}"
        if key not in self.urls:
            raise UnknownNameError("URL key", key, self.urls)
        return key
