"""What a bundle says of itself in its manifest, checked before anybody relies on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import ReadError


@dataclass(frozen=True, slots=True)
class BundledCorpus:
    """The corpus of a bundle."""

    name: str
    language: str
    articles: int
    sentences: int
    digest: str
    """Of its text, see ``jobs.digests.TextDigest``."""
    report: Mapping[str, Any]
    """How it was imported once."""


@dataclass(frozen=True, slots=True)
class BundledModel:
    """A model of a bundle, with what the store says of it."""

    name: str
    method: str
    config: Mapping[str, Any]
    seed: int
    digest: str
    metrics: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything that is in a bundle."""

    corpus: BundledCorpus
    labellings: tuple[tuple[str, str], ...]
    """(name, owner) of each."""
    models: tuple[BundledModel, ...]


def contents(about: Mapping[str, Any], path: Path) -> Contents:
    """The words of a manifest; :class:`ReadError` when something is missing or of another kind."""
    try:
        corpus = about["corpus"]
        return Contents(
            BundledCorpus(
                str(corpus["name"]),
                str(corpus["language"]),
                int(corpus["articles"]),
                int(corpus["sentences"]),
                str(corpus["digest"]),
                dict(corpus["report"]),
            ),
            tuple((str(one["name"]), str(one["owner"])) for one in about["labellings"]),
            tuple(
                BundledModel(
                    str(m["name"]),
                    str(m["method"]),
                    dict(m["config"]),
                    int(m["seed"]),
                    str(m["digest"]),
                    dict(m["metrics"]),
                )
                for m in about["models"]
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ReadError(path, "its manifest is damaged.", advice="Export it again.") from None
