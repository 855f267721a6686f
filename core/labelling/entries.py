"""Entries of a labelling: answers, codebook texts and other records that are part of its state and its history.

An entry never contains the number of a sentence or a cluster in its data, because these change when a labelling is
imported or when two people create clusters at the same time; it refers to them in fields of their own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias


class EntryKind(StrEnum):
    """Kinds of entries."""

    ANSWER = "answer"
    """Answer to a question about sentences."""
    CODE = "code"
    """Codebook entry of a cluster; the key is the number of the cluster."""
    VERSION = "version"
    """Named state of the codebook."""
    TRAINING = "training"
    """Sentence with its right cluster, on which new labellers practise."""
    DISMISSED = "dismissed"
    """Suggestion that a person dismissed, see :mod:`themescope.core.labelling.dismissals`."""
    METRIC = "metric"
    """Metric learned from the labels, by which suggestions are made."""


_KEYED_BY_CLUSTER = frozenset({EntryKind.CODE})


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Content of an entry, compared by its JSON. ``data`` holds only what JSON can represent."""

    data: Mapping[str, Any] = field(default_factory=dict)
    sentences: tuple[int, ...] = ()
    """Ids of sentences of the labelling, in an order that the kind defines."""
    clusters: tuple[int, ...] = ()
    """Numbers of clusters, in an order that the kind defines; they may have been deleted since."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self._json() == other._json()

    def __hash__(self) -> int:
        return hash(self._json())

    def _json(self) -> str:
        return json.dumps(self.packed(), sort_keys=True)

    def packed(self) -> list[Any]:
        """Return the entry as a JSON value."""
        return [dict(self.data), list(self.sentences), list(self.clusters)]

    def with_sentences(self, names: Mapping[int, int]) -> Entry:
        """Return the entry with its sentence ids replaced; the mapping must contain all of them."""
        return replace(self, sentences=tuple(names[id] for id in self.sentences))

    def with_clusters(self, names: Mapping[int, int]) -> Entry:
        """Return the entry with cluster numbers replaced; those not in the mapping stay."""
        return replace(self, clusters=tuple(names.get(number, number) for number in self.clusters))


EntryKey: TypeAlias = tuple[EntryKind, str]


def unpacked(value: Any) -> Entry:
    """Return the entry of a value of :meth:`Entry.packed`; raise ``ValueError`` or ``TypeError`` for other values."""
    data, sentences, clusters = value
    numbers = [*sentences, *clusters]
    if not isinstance(data, dict) or any(type(number) is not int or abs(number) >= 2**63 for number in numbers):
        raise TypeError(value)
    json.dumps(data, allow_nan=False)
    return Entry(data, tuple(sentences), tuple(clusters))


def renumbered_key(kind: EntryKind, key: str, names: Mapping[int, int]) -> str:
    """Return the key of an entry after clusters got other numbers."""
    if kind in _KEYED_BY_CLUSTER and key.isdecimal():
        return str(names.get(int(key), int(key)))
    return key
