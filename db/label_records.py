"""Records of labellings, people and their sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np

from themescope.core.labelling.changes import ChangeSet, ClusterChange, Kind, Step, apply
from themescope.core.labelling.partition import Partition
from themescope.core.records.stored import LabellingRecord, Role, Sharing
from themescope.core.types import Ids

__all__ = ["LabellingRecord", "Role", "Sharing"]


@dataclass(frozen=True, slots=True)
class PersonRecord:
    """Person known to the store; "" is the person without a name."""

    name: str
    role: Role
    created: datetime
    seen: datetime | None = None
    """Time of last use of a page, to the minute."""


class SignInMethod(StrEnum):
    """How the person of a session became known."""

    PASSWORD = "password"
    ORGANISATION = "organisation"
    """Through an identity provider (OIDC)."""
    NAME = "name"
    """A name that was entered where nobody signs in; it is not verified."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """Session of a browser."""

    person: str
    method: SignInMethod
    created: datetime
    seen: datetime
    """Time of last use, to the minute."""


@dataclass(frozen=True, slots=True)
class ApiTokenRecord:
    """Token with which programs act as a person, without its secret."""

    id: int
    person: str
    name: str
    """What it is for."""
    created: datetime
    used: datetime | None
    """Time of last use, to the minute."""
    expires: datetime
    revoked: datetime | None

    def state(self, now: datetime) -> str:
        """Return "valid", "expired" or "revoked"."""
        if self.revoked is not None:
            return "revoked"
        return "valid" if self.expires > now else "expired"


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """Change of an account, or a sign-in."""

    created: datetime
    author: str
    """Who did it; "" for the owner of the data folder, and for somebody who has not signed in."""
    action: str
    person: str
    """Whose account it concerns."""
    detail: str


HIDDEN = (
    "You label articles of this labelling in a blind task. Other people's labels are hidden until all your items of "
    "these articles are done."
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
        versions = self.versions
        touched = change_set.sentences()
        if len(touched):
            versions = versions.copy()
            versions[self.partition.rows(touched)] = step.id
        changed = {c.number: step.id for c in change_set if isinstance(c, ClusterChange)}
        return Snapshot(apply(self.partition, change_set), versions, {**self.cluster_versions, **changed}, step.id)

    def only(self, ids: Ids) -> Snapshot:
        """Return the snapshot restricted to these sentences."""
        versions = self.versions[np.sort(self.partition.rows(np.unique(ids)))]
        return replace(self, partition=self.partition.only(ids), versions=versions)


@dataclass(frozen=True, slots=True)
class PracticeRecord:
    """One attempt of a person at the training items of a labelling."""

    id: int
    labelling_id: int
    person: str
    created: datetime
    items: int
    correct: int
    """Number of right answers."""
    answers: tuple[tuple[int, int, int], ...]
    """(sentence, number of the chosen cluster, number of the right one) of each item, in their order."""


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
