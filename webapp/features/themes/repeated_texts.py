"""Repeated texts of a result of the Themes page, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.results.partition_queries import Analysis
from themescope.webapp.shared.text import shorten

HELP = "A frequent text that is unlike the others is a theme of its own; others are in the theme that fits."
_CHARS = 60


@dataclass(frozen=True, slots=True)
class RepeatedText:
    """A text that several sentences have, with their number and theme."""

    text: str
    count: int
    theme: int


def frequent(analysis: Analysis) -> list[RepeatedText]:
    """Return the texts that most sentences have; results of earlier versions have none."""
    found = analysis.run.config.get("frequent", [])
    texts = partition_queries.sentence_texts([repeated["id"] for repeated in found])
    return [
        RepeatedText(f"“{shorten(texts[repeated['id']], _CHARS)}”", repeated["count"], repeated["theme"])
        for repeated in found
    ]


def summary(frequent: Sequence[RepeatedText], sentences: int, distinct: int) -> str:
    """Return which texts have the largest shares, 1 % or more, and what that means; "" if no text is repeated."""
    if not frequent:
        return ""
    first, *others = frequent
    share = first.count / sentences
    next_ = [f"{other.text} ({other.count:,})" for other in others if 100 * other.count >= sentences]
    more = f" Next: {', '.join(next_)}." if next_ else ""
    return (
        f"{'<1%' if share < 0.01 else f'{share:.0%}'} of the sentences have the same text: {first.text} "
        f"({first.count:,} of {sentences:,}).{more} Identical texts share a theme, and copies do not change "
        f"the themes of the others. There are {distinct:,} different texts."
    )


def within(frequent: Sequence[RepeatedText], place: int, size: int) -> str:
    """Return the texts that make up a tenth or more of a theme, with their numbers; "" without any."""
    found = [f"{one.count:,} × {one.text}" for one in frequent if one.theme == place and 10 * one.count >= size]
    return f"{' and '.join(found)} among them" if found else ""
