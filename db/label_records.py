"""Records of labellings and labelling tasks, see also :mod:`themescope.db.records`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np

from themescope.core.labelling.changes import ChangeSet, ClusterChange, Kind, Step, apply
from themescope.core.labelling.partition import Partition
from themescope.core.records.answers import ItemRecord as ItemRecord
from themescope.core.records.answers import ItemState as ItemState
from themescope.core.records.answers import MemberRecord as MemberRecord
from themescope.core.records.answers import Reason as Reason
from themescope.core.records.answers import TaskRecord as TaskRecord
from themescope.core.records.stored import Sharing
from themescope.core.types import Ids


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


HIDDEN = (
    "You code this text in a blind task, or have not coded these failures yourself. Other people's codes are hidden "
    "until the task is closed by its maker or an admin, on the page Tasks."
)
"""Why a person cannot open a labelling yet."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Step to be appended, see :class:`themescope.core.labelling.changes.Step`."""

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
