"""Must-links and cannot-links between sentences with their transitive closure, and the reasons of what follows."""

from __future__ import annotations

from collections import deque


class Links:
    """Groups of sentences that must be together, and pairs of groups that must be apart.

    Adding a link changes the object in place. The caller checks with :meth:`why_apart` and :meth:`why_together` that a
    link contradicts no other one.
    """

    def __init__(self) -> None:
        self.together: list[tuple[int, int, str]] = []
        """Must-links (sentence, sentence, key) in the order in which they were added."""
        self.apart: list[tuple[int, int, str]] = []
        self._group: dict[int, int] = {}
        self._members: dict[int, list[int]] = {}
        self._apart: dict[int, dict[int, tuple[int, int, str]]] = {}
        self._neighbours: dict[int, list[tuple[int, str]]] = {}

    @property
    def linked(self) -> list[int]:
        """Sentences with a link, ascending."""
        return sorted(self._group)

    def group(self, sentence: int) -> int:
        """Return the name of the group of a sentence: one of its members, the sentence itself without a must-link."""
        return self._group.get(sentence, sentence)

    def members(self, sentence: int) -> list[int]:
        """Return the sentences that must be together with one, itself included."""
        return self._members.get(self.group(sentence), [sentence])

    def are_together(self, first: int, second: int) -> bool:
        """Return whether two sentences must be together."""
        return self.group(first) == self.group(second)

    def are_apart(self, first: int, second: int) -> bool:
        """Return whether two sentences must be apart."""
        return self.group(second) in self._apart.get(self.group(first), {})

    def put_together(self, first: int, second: int, key: str) -> None:
        """Add a must-link."""
        self.together.append((first, second, key))
        self._neighbours.setdefault(first, []).append((second, key))
        self._neighbours.setdefault(second, []).append((first, key))
        kept, joined = sorted((self._entered(first), self._entered(second)))
        if kept == joined:
            return
        for sentence in self._members.pop(joined):
            self._group[sentence] = kept
            self._members[kept].append(sentence)
        for other, link in self._apart.pop(joined, {}).items():
            self._apart[other].pop(joined, None)
            self._apart[other].setdefault(kept, link)
            self._apart.setdefault(kept, {}).setdefault(other, link)

    def keep_apart(self, first: int, second: int, key: str) -> None:
        """Add a cannot-link."""
        self.apart.append((first, second, key))
        one, other = self._entered(first), self._entered(second)
        self._apart.setdefault(one, {}).setdefault(other, (first, second, key))
        self._apart.setdefault(other, {}).setdefault(one, (first, second, key))

    def why_together(self, first: int, second: int) -> set[str]:
        """Return the keys of a shortest chain of must-links between two sentences; empty if there is none."""
        before: dict[int, tuple[int, str]] = {first: (first, "")}
        waiting = deque([first])
        while waiting and second not in before:
            sentence = waiting.popleft()
            for other, key in self._neighbours.get(sentence, []):
                if other not in before:
                    before[other] = (sentence, key)
                    waiting.append(other)
        keys: set[str] = set()
        while second in before and second != first:
            second, key = before[second]
            keys.add(key)
        return keys

    def why_apart(self, first: int, second: int) -> set[str]:
        """Return the keys of a cannot-link and of the must-links by which it holds for two sentences, or none."""
        link = self._apart.get(self.group(first), {}).get(self.group(second))
        if link is None:
            return set()
        one, other, key = link
        if self.group(one) != self.group(first):
            one, other = other, one
        return {key} | self.why_together(first, one) | self.why_together(second, other)

    def _entered(self, sentence: int) -> int:
        group = self._group.setdefault(sentence, sentence)
        self._members.setdefault(group, [sentence])
        return group
