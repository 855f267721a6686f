"""Selections: sets of sentences with their origin, and the operations on sets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from themescope.core.errors import DataError
from themescope.core.types import Ids

KINDS = (
    "lasso", "box", "search", "filter", "cluster", "theme", "section", "article", "list", "moved", "combined",
)  # fmt: skip
"""Ways to make a selection."""
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Origin:
    """How a selection was made: its kind, one of :data:`KINDS`, and facts in words, such as "lasso on map Claims"."""

    kind: str
    facts: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DataError(f"{self.kind!r} is no way to make a selection; these are: {', '.join(KINDS)}.")

    def __str__(self) -> str:
        return " · ".join(self.facts)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON value."""
        return {"kind": self.kind, "facts": list(self.facts)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Origin:
        """Return the origin that :meth:`to_json` described; raise :class:`DataError` for another value."""
        facts = value.get("facts")
        if not isinstance(facts, list) or not all(isinstance(fact, str) for fact in facts):
            raise DataError("The origin of a selection is a list of texts.")
        return cls(str(value.get("kind")), tuple(facts))


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """A set of sentences of one corpus. Make it with :func:`selected`."""

    corpus_id: int
    ids: Ids
    """(n,) sentence ids, ascending, each once."""
    origin: Origin

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def digest(self) -> str:
        """Hash of the ids."""
        return digest_of_ids(self.ids)

    def union(self, other: Selection) -> Selection:
        """Return the sentences of either selection."""
        return self._combined(np.union1d(self.ids, other.ids), other, "or")

    def intersection(self, other: Selection) -> Selection:
        """Return the sentences of both selections."""
        return self._combined(np.intersect1d(self.ids, other.ids, assume_unique=True), other, "and also")

    def difference(self, other: Selection) -> Selection:
        """Return the sentences that are not in the other selection."""
        return self._combined(np.setdiff1d(self.ids, other.ids, assume_unique=True), other, "without")

    def complement(self, everything: Ids) -> Selection:
        """Return the sentences among ``everything`` that are not selected."""
        rest = np.setdiff1d(everything, self.ids)
        return selected(self.corpus_id, rest, Origin("combined", (_short(f"all but ({self.origin})"),)))

    def sample(self, number: int, seed: int) -> Selection:
        """Return ``number`` of the sentences, drawn at random without replacement; all of them if there are fewer."""
        drawn = np.random.default_rng(seed).permutation(self.ids)[:number]
        fact = _short(f"{len(drawn):,} at random (seed {seed}) of ({self.origin})")
        return selected(self.corpus_id, drawn, Origin("combined", (fact,)))

    def _combined(self, ids: Ids, other: Selection, word: str) -> Selection:
        if other.corpus_id != self.corpus_id:
            raise DataError("These selections are of different projects, so they cannot be combined.")
        return selected(self.corpus_id, ids, Origin("combined", (_short(f"({self.origin}) {word} ({other.origin})"),)))


def selected(corpus_id: int, ids: Iterable[int] | Ids, origin: Origin) -> Selection:
    """Return a selection of sentence ids in any order."""
    given = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids), dtype=np.int64)
    ordered = np.sort(given)  # np.unique takes ten times as long for a million different ids
    return Selection(corpus_id, ordered[np.diff(ordered, prepend=ordered[:1] - 1) > 0], origin)


def digest_of_ids(ids: Ids) -> str:
    """Return a hash of ascending ids."""
    return hashlib.sha256(np.ascontiguousarray(ids, dtype="<i8").tobytes()).hexdigest()[:32]


def _short(text: str) -> str:
    """Return a text whose length does not double with every combination."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
