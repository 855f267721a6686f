"""Records of stored objects, beside those that the HTTP API sends as well (:mod:`themescope.core.records`).

``id`` is the store's stable id; a record that has not been stored yet has id 0. Times are UTC and aware.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.labelling.changes import ChangeSet, ClusterChange, Kind, Step, apply
from themescope.core.labelling.partition import Partition
from themescope.core.records.answers import BenchmarkRecord as BenchmarkRecord
from themescope.core.records.answers import ItemRecord as ItemRecord
from themescope.core.records.answers import ItemState as ItemState
from themescope.core.records.answers import MemberRecord as MemberRecord
from themescope.core.records.answers import PaperTableRecord as PaperTableRecord
from themescope.core.records.answers import PersonRecord as PersonRecord
from themescope.core.records.answers import Reason as Reason
from themescope.core.records.answers import TaskRecord as TaskRecord
from themescope.core.records.answers import TripletCard as TripletCard
from themescope.core.records.answers import TripletReview as TripletReview
from themescope.core.records.answers import TripletSetRecord as TripletSetRecord
from themescope.core.records.answers import Verdict as Verdict
from themescope.core.records.stored import Sharing
from themescope.core.types import Ids, Matrix, Points


@dataclass(frozen=True, slots=True)
class TripletSections:
    """Section titles of the triplets of a split; row i of every (n,) array is triplet i."""

    ids: Ids
    articles: Ids
    own: npt.NDArray[np.int32]
    """Index in ``titles`` of the pivot's section."""
    other: npt.NDArray[np.int32]
    """Index in ``titles`` of the negative's section."""
    titles: Sequence[str]
    """Distinct titles; empty for the lead."""


@dataclass(frozen=True, slots=True)
class MapPoints:
    """The points of a map: (n,) sentence ids and (n, 2) coordinates."""

    sentence_ids: Ids
    points: Points


@dataclass(frozen=True, slots=True)
class SentencePlaces:
    """Positions of sentences without their text; row i of every (n,) array is one sentence."""

    ids: Ids
    articles: Ids
    positions: Ids
    """Index of the sentence in its article."""
    sections: npt.NDArray[np.int32]
    """Index in ``titles`` of its section."""
    titles: Sequence[str]
    """Distinct titles; empty for the lead."""


@dataclass(frozen=True, slots=True)
class VectorBlock:
    """Vectors of one article and model, of shape (n, dim), rows in sentence order."""

    article_id: int
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A worker process that has sent a heartbeat recently."""

    owner: str
    queue: str
    started: datetime
    heartbeat: datetime


@dataclass(frozen=True, slots=True)
class SavedViewRecord:
    """View of a page that somebody saved."""

    id: int
    page: str
    """URL path of the page, such as "compare"."""
    name: str
    query: str
    """Query string of the URL."""
    person: str
    created: datetime


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


# Records of labellings and labelling tasks


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
