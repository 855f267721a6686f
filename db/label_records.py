"""Records of labellings, labelling tasks and the error notebook, see also :mod:`themescope.db.records`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np

from themescope.core.labelling.changes import ChangeSet, ClusterChange, Kind, Step, apply
from themescope.core.labelling.error_cases import CaseFacts, CaseKind
from themescope.core.labelling.partition import Partition
from themescope.core.records.measured import ErrorCategory as ErrorCategory
from themescope.core.records.people import ItemRecord as ItemRecord
from themescope.core.records.people import ItemState as ItemState
from themescope.core.records.people import MemberRecord as MemberRecord
from themescope.core.records.people import Reason as Reason
from themescope.core.records.people import TaskRecord as TaskRecord
from themescope.core.records.stored import ErrorCase, Sharing
from themescope.core.types import Ids
from themescope.db.types import dump_json


@dataclass(frozen=True, slots=True)
class NewTask:
    """Properties of a new task."""

    corpus_id: int
    name: str
    person: str
    due: datetime | None = None
    instructions: str = ""
    blind: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    gold_id: int | None = None


@dataclass(frozen=True, slots=True)
class NewItem:
    """Item of a person, before it is stored."""

    article_id: int
    first: int
    last: int
    person: str
    reason: Reason = Reason.DISTRIBUTION


@dataclass(frozen=True, slots=True)
class NewCase:
    """A case to add."""

    corpus_id: int
    kind: CaseKind
    sentence_ids: tuple[int, ...]
    """Ids of its sentences; those of a triplet in the order pivot, positive, negative."""
    facts: CaseFacts
    permalink: str
    """Page and query of the view it was found in, such as "triplets?triplets_triplet=5", without the project."""

    @property
    def digest(self) -> str:
        """Hash of what the case refers to: a case of the same sentences and source is the same.

        Texts count where they are of no sentence, such as the titles of a triplet.
        """
        key = [self.kind.value, list(self.sentence_ids), self.facts.source]
        texts = [passage.text for passage in self.facts.passages]
        key += texts if len(texts) > len(self.sentence_ids) else []
        return hashlib.sha256(dump_json(key).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class ErrorNote:
    """The current text of a note."""

    id: int
    """Id of the version, which a change must name."""
    case_id: int
    note: int
    """Id of the first version."""
    text: str
    """Empty if the note was deleted."""
    person: str
    created: datetime


@dataclass(frozen=True, slots=True)
class ErrorCoding:
    """A category that a person gave to a case, or took back."""

    id: int
    case_id: int
    category_id: int | None
    """None: no category applies."""
    person: str
    given: bool
    undoes: int | None
    created: datetime


@dataclass(frozen=True, slots=True)
class ErrorSample:
    """A random sample of cases."""

    id: int
    corpus_id: int
    name: str
    """What was sampled, such as "50 of 1,284 failures of default on Rivers (test)"."""
    model: str
    population: int
    """Number of failures that the sample was drawn from."""
    seed: int
    person: str
    created: datetime


@dataclass(frozen=True, slots=True)
class Notebook:
    """The content of an error notebook."""

    cases: Sequence[ErrorCase]
    """Oldest first, without deleted ones."""
    notes: Sequence[ErrorNote]
    """Current texts, oldest first, without deleted ones."""
    categories: Sequence[ErrorCategory]
    """All categories, oldest first, also merged and deleted ones, to which codings refer."""
    codings: Sequence[ErrorCoding]
    """The ones in force, oldest first."""
    samples: Sequence[ErrorSample]

    def current_categories(self) -> list[ErrorCategory]:
        """Return the categories that are neither deleted nor merged, by name."""
        found = [one for one in self.categories if one.deleted is None and one.merged_into is None]
        return sorted(found, key=lambda one: (one.name.casefold(), one.id))

    def notes_of(self) -> dict[int, list[ErrorNote]]:
        """Return case id → its notes, oldest first."""
        found: dict[int, list[ErrorNote]] = {}
        for note in self.notes:
            found.setdefault(note.case_id, []).append(note)
        return found

    def coded(self) -> dict[str, dict[int, frozenset[int]]]:
        """Return person → case id → ids of current categories; an empty set where the person judged that none applies.

        Categories that were merged count as the one that they were merged into, deleted ones do not count.
        """
        final, live = self._final(), {case.id for case in self.cases}
        found: dict[str, dict[int, frozenset[int]]] = {}
        for one in self.codings:
            target = None if one.category_id is None else final.get(one.category_id)
            if one.case_id in live and (target is not None or one.category_id is None):
                cases = found.setdefault(one.person, {})
                cases[one.case_id] = cases.get(one.case_id, frozenset()) | ({target} if target is not None else set())
        return found

    def as_seen_by(self, person: str) -> Notebook:
        """Return the notebook without what others gave to cases that a person has not coded yet."""
        own = self.coded().get(person, {})
        return replace(self, codings=[one for one in self.codings if one.person == person or one.case_id in own])

    def names_given(self) -> dict[int, dict[str, list[str]]]:
        """Return case id → person → names of the categories as in :meth:`coded`, sorted."""
        names, found = {one.id: one.name for one in self.categories}, dict[int, dict[str, list[str]]]()
        for person, cases in self.coded().items():
            for case, given in cases.items():
                found.setdefault(case, {})[person] = sorted(names[id] for id in given)
        return found

    def _final(self) -> dict[int, int]:
        """Return category id → id of the current category that its cases count for."""
        by_id = {one.id: one for one in self.categories}
        found = {}
        for category in self.categories:
            one, seen = category, {category.id}
            while one.merged_into is not None and one.merged_into not in seen:
                one = by_id[one.merged_into]
                seen.add(one.id)
            if one.deleted is None and one.merged_into is None:
                found[category.id] = one.id
        return found


HIDDEN = (
    "You label articles of this labelling in a blind task. Other people's labels are hidden until its maker or an "
    "admin closes the task (page Tasks, tab All tasks)."
)
"""Why a person cannot open a labelling yet."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Step to be appended, see :class:`themescope.core.labelling.history.Step`."""

    kind: Kind
    operation: str
    summary: str
    person: str
    target: int | None = None
    reason: str = ""
    selection_method: str = ""
    coder: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """State of a labelling as shown to a user, with versions to detect conflicts.

    A version is the id of the step that changed a sentence or a cluster last; 0 is the start.
    """

    partition: Partition
    versions: Ids
    """Versions of the sentences, of shape (n,)."""
    cluster_versions: Mapping[int, int]
    """Versions of the clusters, including deleted ones."""
    step: int = 0
    """Last step included."""

    @property
    def issued(self) -> int:
        """Return the highest cluster number ever used; the next new cluster gets the number after it."""
        return max(self.cluster_versions, default=0)

    def after(self, step: Step, change_set: ChangeSet) -> Snapshot:
        """Return the snapshot after one more step."""
        partition = apply(self.partition, change_set)
        touched, versions = change_set.sentences(), self.versions
        if len(touched):
            stay = np.isin(self.partition.ids, partition.ids)
            versions = np.zeros(len(partition.ids), np.int64)
            versions[partition.rows(self.partition.ids[stay])] = self.versions[stay]
            versions[partition.rows(touched[np.isin(touched, partition.ids)])] = step.id
        changed = {c.number: step.id for c in change_set if isinstance(c, ClusterChange)}
        return Snapshot(partition, versions, {**self.cluster_versions, **changed}, step.id)

    def only(self, ids: Ids) -> Snapshot:
        """Return the snapshot restricted to these sentences."""
        versions = self.versions[np.sort(self.partition.rows(np.unique(ids)))]
        return replace(self, partition=self.partition.only(ids), versions=versions)


@dataclass(frozen=True, slots=True)
class Presence:
    """Person who has a labelling open."""

    person: str
    seen: datetime


@dataclass(frozen=True, slots=True)
class NewLabelling:
    """Properties of a new labelling."""

    corpus_id: int
    name: str
    owner: str
    kind: Sharing = Sharing.OWN
    blind: bool = False
    article_id: int | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)
