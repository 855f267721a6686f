"""Escaping and formatting of text. Foreign text is never interpreted as Markdown, HTML or emoji codes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from themescope.core.records.stored import ScoreRecord
from themescope.core.types import Estimate

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Streamlit rewrites these even in escaped text: emoji and icon codes, bare links and e-mail addresses, arrows. An
# invisible word joiner prevents it.
_JOINER = "\u2060"
_LONGEST_STEM = 80
_REWRITTEN = re.compile(r"(?<=\w):(?=//)|:(?=[\w+/-]+:)|(?<=www)(?=\.)|(?=@)|(?<=[<\-~>])(?=[->=])", re.IGNORECASE)


def plain(text: object) -> str:
    """Return ``text`` escaped for Markdown: labels, captions, headings, messages."""
    flat = " ".join(str(text).split())
    apart = _REWRITTEN.sub(lambda match: match.group() + _JOINER, flat)
    return _PUNCTUATION.sub(r"\\\1", apart)


def figure_text(text: object, width: int | None = None) -> str:
    """Return ``text`` escaped for a chart, which interprets tags such as ``<b>``; cut to ``width`` characters."""
    flat = " ".join(str(text).split())
    return html.escape(shorten(flat, width) if width else flat, quote=False)


def shorten(text: str, width: int) -> str:
    """Return at most ``width`` characters, with an ellipsis for what is cut."""
    return text if len(text) <= width else text[: width - 1].rstrip() + "…"


def shorten_middle(text: str, width: int) -> str:
    """Return at most ``width`` characters, cut in the middle: names with equal beginnings differ at the end."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end].rstrip()}…{text[-end:].lstrip()}"


def distinct(names: Iterable[str]) -> list[str]:
    """Return names in their order, with numbers appended to repeated ones: ``a``, ``a (2)``."""
    found: dict[str, None] = {}
    for name in names:
        free, number = name, 2
        while free in found:
            free, number = f"{name} ({number})", number + 1
        found[free] = None
    return list(found)


SOME = 3
"""Names that a sentence lists."""


def some_of(names: Sequence[str]) -> str:
    """Return the first names and the number of the others: ``a, b, c and 1,204 more``."""
    more = len(names) - SOME
    return ", ".join(names[:SOME]) + (f" and {more:,} more" if more > 0 else "")


def count(n: float, noun: str, plural: str = "") -> str:
    """Return ``1 article``, ``6,580 articles``."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def ago(moment: datetime | None) -> str:
    """Return how long ago a moment was, such as ``5 minutes ago``."""
    if moment is None:
        return "never"
    seconds = (datetime.now(UTC) - moment).total_seconds()
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{count(int(seconds // size), name)} ago"
    return "just now"


def duration(seconds: float) -> str:
    """Return ``0.4 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def time_left(seconds: float) -> str:
    """Return ``about 2 min left``, ``less than a minute left``: as precise as an estimate is."""
    if seconds < 50:
        return "less than a minute left"
    minutes = max(1, round(seconds / 60))
    return f"about {minutes} min left" if minutes < 90 else f"about {round(minutes / 60)} h left"


def file_name(name: str, suffix: str) -> str:
    """Return a name for a download: letters and digits of ``name`` in lower case, joined by hyphens."""
    return f"{file_stem(name)}.{suffix}"


def file_stem(name: str) -> str:
    """Return :func:`file_name` without its suffix."""
    return "-".join(re.findall(r"\w+", name.casefold()))[:_LONGEST_STEM] or "themescope"


def score(value: float) -> str:
    """Return three decimals without the leading zero, as papers print scores: ``.312``, ``-.004``, ``1.000``."""
    text = f"{value:.3f}"
    return ".000" if text == "-0.000" else text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def signed_score(value: float) -> str:
    """Return ``+.312`` or ``−.004``: a difference of scores."""
    text = score(abs(value))
    return text if text == ".000" else ("+" if value > 0 else "−") + text


def signed_interval(found: Estimate) -> str:
    """Return ``+.312 [+.290, +.334]``."""
    return f"{signed_score(found.value)} [{signed_score(found.low)}, {signed_score(found.high)}]"


def signed(value: float) -> str:
    """Return ``+1.24`` or ``−0.0024``: with a minus sign, three significant digits."""
    return f"{value:+.3g}".replace("-", "−")


def interval(value: float, low: float | None, high: float | None) -> str:
    """Return ``.312 [.290, .334]``, or the value alone without an interval."""
    return score(value) if low is None or high is None else f"{score(value)} [{score(low)}, {score(high)}]"


def with_interval(found: ScoreRecord | Estimate | None) -> str:
    """Return ``.312 [.290, .334]``, or a dash for no score."""
    if found is None:
        return "–"
    alone = isinstance(found, Estimate) and found.n <= 1  # a single article has no interval
    return score(found.value) if alone else interval(found.value, found.low, found.high)


def with_half_width(found: ScoreRecord | None) -> str:
    """Return ``.312 ±.022``, or a dash for no score."""
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return score(found.value)
    return f"{score(found.value)} ±{score((found.high - found.low) / 2)}"


def p_text(p: float) -> str:
    """Return ``.012`` or ``< .001``."""
    return "< .001" if p < 0.001 else score(p)


def words(identifier: str) -> str:
    """Return the name of a setting as words: ``batch_size`` → "Batch size"."""
    spaced = identifier.replace("_", " ").replace("-", " ").strip()
    return spaced[:1].upper() + spaced[1:]
