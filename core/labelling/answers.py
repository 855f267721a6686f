"""Answers to questions about sentences, which earlier versions asked, and the constraints that follow from them.

An answer is an entry of a labelling (:attr:`EntryKind.ANSWER`) whose key is its number. Answers are used in the order
of their numbers: must-links are transitive, and an answer that contradicts the constraints of earlier ones has no
effect until one of them is taken back.

:class:`Links` are must-links and cannot-links with their transitive closure, and the reasons of what follows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from themescope.core.labelling.partition import Entry, EntryKind, Partition


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


# --- answers ----------------------------------------------------------------------------------------------------------


YES, NO, SKIP = "yes", "no", "skip"
"""Values of answers; a question with candidates has their numbers, from "1", as values instead of :data:`YES`."""


class QuestionKind(StrEnum):
    """Kinds of questions; in all of them, the first sentence is the one in question."""

    PAIR = "pair"
    """Do these two sentences belong together?"""
    CLOSER = "closer"
    """Which of the second and the third sentence is closer to the first?"""
    CLUSTER = "cluster"
    """To which of these clusters, each with one of its sentences, does the first sentence belong?"""


class Effect(StrEnum):
    """What the answer to a question changes."""

    MERGE = "merge"
    """Yes merges the clusters of the two sentences."""
    SPLIT = "split"
    """No splits the cluster of the two sentences."""
    MOVE = "move"
    """The sentence in question moves to another cluster."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about sentences, given by their ids."""

    kind: QuestionKind
    effect: Effect
    sentences: tuple[int, ...]

    def values(self) -> tuple[str, ...]:
        """Return the possible values of an answer, :data:`SKIP` last."""
        if self.kind is QuestionKind.PAIR:
            return YES, NO, SKIP
        digits = tuple(str(place) for place in range(1, len(self.sentences)))
        return (*digits, NO, SKIP) if self.kind is QuestionKind.CLUSTER else (*digits, SKIP)


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with its answer, and the strategy that asked it."""

    question: Question
    value: str
    strategy: str = ""

    @property
    def chosen(self) -> int | None:
        """Sentence that the answer puts together with the first one, or says is closer to it."""
        if self.value == YES:
            return self.question.sentences[1]
        return self.question.sentences[int(self.value)] if self.value.isdecimal() else None

    def must_links(self) -> list[tuple[int, int]]:
        """Return the pairs of sentences that the answer puts together; which of two is closer does not."""
        chosen = self.chosen
        if chosen is None or self.question.kind is QuestionKind.CLOSER:
            return []
        return [(self.question.sentences[0], chosen)]

    def cannot_links(self) -> list[tuple[int, int]]:
        """Return the pairs of sentences that the answer keeps apart."""
        if self.value != NO:
            return []
        first, *others = self.question.sentences
        return [(first, other) for other in others]

    def entry(self) -> Entry:
        """Return the answer as the entry of a labelling."""
        data = {
            "question": self.question.kind.value, "effect": self.question.effect.value, "answer": self.value,
            "strategy": self.strategy,
        }  # fmt: skip
        return Entry(data, self.question.sentences)


def answer_of(entry: Entry) -> Answer:
    """Return the answer that an entry holds; raise ``ValueError`` or ``KeyError`` if it holds none."""
    kind, effect = QuestionKind(entry.data["question"]), Effect(entry.data["effect"])
    question = Question(kind, effect, entry.sentences)
    count = len(entry.sentences)
    known = len({*entry.sentences}) == count and (count == 2 if kind is QuestionKind.PAIR else count > 2)
    if not known or entry.data["answer"] not in question.values():
        raise ValueError(f"This is no answer to a question about {count} sentences.")
    return Answer(question, entry.data["answer"], str(entry.data.get("strategy", "")))


def answers(partition: Partition) -> dict[str, Answer]:
    """Return the answers of a labelling by their keys, in the order in which they were given.

    Entries of imported files that are no answers are left out.
    """
    found = {}
    for (kind, key), entry in sorted(partition.entries.items(), key=lambda item: item[0][1]):
        if kind is EntryKind.ANSWER and key.isdecimal():
            try:
                found[key] = answer_of(entry)
            except (KeyError, ValueError, TypeError):
                continue
    return found


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An answer that the constraints of earlier answers contradict, by their keys."""

    answer: str
    others: tuple[str, ...]
    """The answers that together say the opposite."""


@dataclass(frozen=True)
class Constraints:
    """Constraints on pairs and triplets of sentences, as ids."""

    links: Links
    """Must-links and cannot-links with the keys of the answers that they come from."""
    triplets: tuple[tuple[int, int, int], ...]
    """(sentence, closer one, farther one)."""
    contradictions: tuple[Contradiction, ...]

    @cached_property
    def must_links(self) -> list[tuple[int, int]]:
        """Pairs that belong together, as answered, without those that follow by transitivity."""
        return [(first, second) for first, second, _ in self.links.together]

    @cached_property
    def cannot_links(self) -> list[tuple[int, int]]:
        """Pairs that are apart, as answered."""
        return [(first, second) for first, second, _ in self.links.apart]


def constraints(partition: Partition) -> Constraints:
    """Return the constraints that the answers of a labelling give."""
    return constraints_of(answers(partition))


def constraints_of(given: Mapping[str, Answer]) -> Constraints:
    """Return the constraints of answers by their keys, which are used in their order."""
    links, found = Links(), []
    triplets: list[tuple[int, int, int]] = []
    for key, answer in given.items():
        # The answers that say the opposite.
        against = {other for pair in answer.must_links() for other in links.why_apart(*pair)}
        against |= {other for pair in answer.cannot_links() for other in links.why_together(*pair)}
        if against:
            found.append(Contradiction(key, tuple(sorted(against))))
            continue
        for pair in answer.must_links():
            links.put_together(*pair, key)
        for pair in answer.cannot_links():
            links.keep_apart(*pair, key)
        if answer.question.kind is QuestionKind.CLOSER and answer.chosen is not None:
            first, second, third = answer.question.sentences
            triplets.append((first, answer.chosen, third if answer.chosen == second else second))
    return Constraints(links, tuple(triplets), tuple(found))
