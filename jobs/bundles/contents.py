"""Validated description of a bundle's content, as stored in its manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import ReadError
from jobs.bundles.archive import BundleReader


@dataclass(frozen=True, slots=True)
class BundledCorpus:
    """The corpus of a bundle."""

    name: str
    language: str
    articles: int
    sentences: int
    digest: str
    """Digest of the text, see ``jobs.common.digests.TextDigest``."""
    report: Mapping[str, Any]
    """Report of its original import."""


@dataclass(frozen=True, slots=True)
class BundledModel:
    """A model of a bundle, with its metadata."""

    name: str
    method: str
    config: Mapping[str, Any]
    seed: int
    digest: str
    metrics: Mapping[str, Any]
    revision: int
    """Revision of the method that the vectors were computed with."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Content of a bundle."""

    corpus: BundledCorpus
    labellings: tuple[tuple[str, str], ...]
    """(name, owner) of each."""
    models: tuple[BundledModel, ...]


def contents(about: Mapping[str, Any], path: Path) -> Contents:
    """Parse a manifest; raise :class:`ReadError` if an entry is missing or has the wrong type."""
    try:
        corpus = about["corpus"]
        return Contents(
            BundledCorpus(
                _text(corpus["name"]),
                _text(corpus["language"]),
                _whole(corpus["articles"]),
                _whole(corpus["sentences"]),
                _text(corpus["digest"]),
                _report(corpus["report"]),
            ),
            tuple((_text(one["name"]), _text(one["owner"])) for one in about["labellings"]),
            tuple(
                BundledModel(
                    _text(m["name"]),
                    _text(m["method"]),
                    dict(m["config"]),
                    _whole(m["seed"]),
                    _text(m["digest"]),
                    dict(m["metrics"]),
                    _whole(m.get("revision", 1)),  # version 0.1 wrote none
                )
                for m in about["models"]
            ),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ReadError(path, "its manifest is damaged.", advice="Export it again.") from None


def check_parts(bundle: BundleReader, said: Contents, path: Path) -> None:
    """Raise :class:`ReadError` if the labellings and models are not those listed in the manifest."""
    folders = {name.rpartition("/")[0] for name in bundle.named("models/") + bundle.named("vectors/")}
    known = {f"{kind}/{place:02d}" for kind in ("models", "vectors") for place in range(len(said.models))}
    labellings = [f"labellings/{number:04d}.jsonl" for number in range(len(said.labellings))]
    if not folders <= known or bundle.named("labellings/") != labellings:
        raise ReadError(path, "its parts do not match its manifest.", advice="Export it again.")


def _report(value: Any) -> dict[str, Any]:
    """Return the import report, which pages show with the counts of skipped parts."""
    report = dict(value)
    for count in dict(report.get("skipped", {})).values():
        _whole(count)
    return report


def _text(value: Any) -> str:
    """Return text that can be stored unchanged and printed in a terminal."""
    if not isinstance(value, str):
        raise TypeError(value)
    value.encode("utf-8")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise TypeError(value)
    return value
