"""Colours of categories for the light and the dark theme, suitable for colour-blind readers.

After Paul Tol's "muted" and "light" schemes (SRON/EPS/TN/09-002), reordered so that neighbours differ most. Beyond
nine categories the colours repeat with another symbol.
"""

from __future__ import annotations

from dataclasses import dataclass

LIGHT = ("#1b7f79", "#c2542d", "#4a5fb0", "#a8891b", "#8a2f6b", "#3f8f3f", "#2f89c5", "#c0587e", "#6b6b2a")
DARK = ("#4fc3b8", "#f28e5c", "#8fa5f0", "#e0c250", "#d98cc0", "#86d07d", "#78c3f2", "#f2a0b8", "#c9c97a")
SYMBOLS = ("circle", "square", "diamond", "triangle-up")


@dataclass(frozen=True, slots=True)
class Tones:
    """Colours of charts in one theme."""

    categories: tuple[str, ...]
    other: str
    """Colour of points without a category of their own."""
    ink: str
    faint: str
    accent: str

    def colour(self, index: int) -> str:
        """Return the colour of category ``index``; -1 is "other"."""
        return self.other if index < 0 else self.categories[index % len(self.categories)]

    def symbol(self, index: int) -> str:
        """Return the symbol of category ``index``; it changes where the colours repeat."""
        return SYMBOLS[0] if index < 0 else SYMBOLS[index // len(self.categories) % len(SYMBOLS)]


THEMES = {
    "light": Tones(LIGHT, "#b9bcc0", "#1f2a33", "#d9d5c9", "#0b6b6b"),
    "dark": Tones(DARK, "#5d6873", "#e6e8ea", "#35414c", "#4fc3b8"),
}


_GROUNDS = {"light": "#fdfcf9", "dark": "#12171c"}


def ground(theme: str | None) -> str:
    """Return the background colour of pages; light if the theme is unknown."""
    return _GROUNDS.get(theme or "light", _GROUNDS["light"])


def tones(theme: str | None) -> Tones:
    """Return the colours of a theme; light if the theme is unknown."""
    return THEMES.get(theme or "light", THEMES["light"])
