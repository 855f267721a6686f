"""Account of a file: what of its text was left out or changed, and where, so that nothing is lost unseen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from themescope.core.types import ReadEntry

UNREADABLE = "file that cannot be read"


@dataclass(slots=True)
class ReadAccount:
    """What was left out and what was changed, by reason, and how a file was understood."""

    skipped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    entries: list[ReadEntry] = field(default_factory=list)
    """Everything counted whose place is known."""
    notes: dict[str, str] = field(default_factory=dict)
    """How a file was understood, such as "encoding" → "cp1251"; only what is not the usual case."""

    def skip(self, reason: str, place: str = "", text: str = "", n: int = 1) -> None:
        """Count ``n`` things that are left out."""
        self.skipped[reason] += n
        if place or text:
            self.entries.append(ReadEntry(False, reason, place, text))

    def change(self, reason: str, place: str = "", text: str = "", n: int = 1) -> None:
        """Count ``n`` things that are changed."""
        self.changed[reason] += n
        if place or text:
            self.entries.append(ReadEntry(True, reason, place, text))

    def __bool__(self) -> bool:
        return bool(self.skipped or self.changed or self.entries or self.notes)

    def add(self, other: ReadAccount) -> None:
        """Add another account."""
        self.skipped.update(other.skipped)
        self.changed.update(other.changed)
        self.entries += other.entries
        self.notes |= other.notes

    def take(self) -> ReadAccount:
        """Return what was counted so far, and forget it."""
        taken = ReadAccount(self.skipped.copy(), self.changed.copy(), self.entries[:], dict(self.notes))
        self.clear()
        return taken

    def clear(self) -> None:
        """Forget everything."""
        for part in (self.skipped, self.changed, self.entries, self.notes):
            part.clear()

    def to_json(self) -> dict[str, Any]:
        """Return the account as JSON values."""
        return {"skipped": self.skipped, "changed": self.changed, "entries": self.entries, "notes": self.notes}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ReadAccount:
        """Return the account that :meth:`to_json` wrote."""
        entries = [ReadEntry(*entry) for entry in values.get("entries", ())]
        skipped, changed = Counter(values.get("skipped", {})), Counter(values.get("changed", {}))
        return cls(skipped, changed, entries, dict(values.get("notes", {})))
