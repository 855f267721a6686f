"""Colours of categories: told apart by colour-blind readers, and light enough (or dark enough) for each theme.

After Paul Tol's "muted" and "light" schemes (SRON/EPS/TN/09-002), reordered so that neighbours differ most; beyond
nine categories the same colours come again with another symbol.
"""

from __future__ import annotations

from dataclasses import dataclass

LIGHT = ("#1b7f79", "#c2542d", "#4a5fb0", "#a8891b", "#8a2f6b", "#3f8f3f", "#2f89c5", "#c0587e", "#6b6b2a")
DARK = ("#4fc3b8", "#f28e5c", "#8fa5f0", "#e0c250", "#d98cc0", "#86d07d", "#78c3f2", "#f2a0b8", "#c9c97a")
SYMBOLS = ("circle", "square", "diamond", "triangle-up")


@dataclass(frozen=True, slots=True)
class Tones:
    """What a chart needs to know about the theme."""

    categories: tuple[str, ...]
    other: str
    """Everything that has no category of its own."""
    ink: str
    faint: str
    accent: str

    def colour(self, index: int) -> str:
        """Colour of category ``index``; -1 is "other"."""
        return self.other if index < 0 else self.categories[index % len(self.categories)]

    def symbol(self, index: int) -> str:
        """Symbol of category ``index``: it changes when the colours start again."""
        return SYMBOLS[0] if index < 0 else SYMBOLS[index // len(self.categories) % len(SYMBOLS)]


THEMES = {
    "light": Tones(LIGHT, "#b9bcc0", "#1f2a33", "#d9d5c9", "#0b6b6b"),
    "dark": Tones(DARK, "#5d6873", "#e6e8ea", "#35414c", "#4fc3b8"),
}


_GROUNDS = {"light": "#fdfcf9", "dark": "#12171c"}


def ground(theme: str | None) -> str:
    """The colour of the page behind a map; light when the browser has not said."""
    return _GROUNDS.get(theme or "light", _GROUNDS["light"])


def tones(theme: str | None) -> Tones:
    """The tones of a theme; light when the browser has not said."""
    return THEMES.get(theme or "light", THEMES["light"])
