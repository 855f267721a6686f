"""Languages of models: which ones are for English text only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from themescope.core.registry import Card
from themescope.core.text.word_tables import DISTILLED
from themescope.core.text.word_tables import REGISTRY as TABLES

_RESOURCES = ("word_vectors", "folder", "weights")


def english_only(card: Card, config: Mapping[str, Any]) -> bool:
    """Return whether a model of a method, with these settings, is for English text only.

    That holds for methods with the tag ``english`` unless a setting names a file or folder of the user, whose language
    is not known. The words of a distilled table are English whatever its encoder.
    """
    named: list[str] = []
    for resource in _RESOURCES:
        value = config.get(resource) or ()
        named += [value] if isinstance(value, str) else value
    return "english" in card.tags and all(map(_is_english, named))


def _is_english(source: str) -> bool:
    if source in TABLES:
        return "english" in TABLES.get(source).tags
    return source.startswith(DISTILLED)
