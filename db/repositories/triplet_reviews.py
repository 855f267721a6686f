"""Reviews of triplets. Rows are added, never changed; a person's latest review counts."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from core.errors import DataError
from db import tables as t
from db.records import TripletReview, Verdict
from db.repositories.base import Repository
from db.repositories.people import People
from db.sql import now
from db.types import clean_text

NOTE_LIMIT = 2_000
_REVIEW = [t.triplet_review.c[f] for f in TripletReview.__dataclass_fields__]


class TripletReviews(Repository):
    """Verdicts on the triplets of sets. A set takes its reviews along when it is deleted."""

    def add(self, set_id: int, triplet_id: int, person: str, verdict: Verdict | None, note: str = "") -> TripletReview:
        """Keep a verdict; None takes the person's earlier one back.

        Raises
        ------
        DataError
            If the set has no such triplet, or the note is too long.
        StoreError
            If the person may only look.
        """
        People(self.connection).check_may_write(clean_text(person))
        note = clean_text(note).strip()
        if len(note) > NOTE_LIMIT:
            raise DataError(f"A note may have {NOTE_LIMIT:,} characters; this one has {len(note):,}. Shorten it.")
        of_set = sa.select(t.triplet.c.id).where(t.triplet.c.id == triplet_id, t.triplet.c.set_id == set_id)
        if self._row(of_set) is None:
            raise DataError("This triplet is no longer there, because its set was deleted. Choose another set.")
        values = {"person": clean_text(person), "verdict": verdict.value if verdict else "", "note": note}
        id = self._insert(t.triplet_review, set_id=set_id, triplet_id=triplet_id, **values, created=now())
        return _review(self._by_id(t.triplet_review, _REVIEW, id))

    def newest(self, set_id: int) -> int:
        """Id of the last review of a set, 0 without any: it changes whenever one is added."""
        c = t.triplet_review.c
        return self._number(sa.select(sa.func.max(c.id)).where(c.set_id == set_id))

    def list(self, set_id: int, people: Sequence[str] | None = None) -> builtins.list[TripletReview]:
        """Everybody's (or these people's) verdict on every triplet of a set as it stands now, oldest first."""
        c = t.triplet_review.c
        latest = sa.select(sa.func.max(c.id)).where(c.set_id == set_id).group_by(c.triplet_id, c.person)
        query = sa.select(*_REVIEW).where(c.id.in_(latest), c.verdict != "").order_by(c.id)
        if people is not None:
            query = query.where(c.person.in_([*people]))
        return [_review(row) for row in self.connection.execute(query)]

    def history(self, set_id: int, triplet_id: int) -> builtins.list[TripletReview]:
        """Everything that was ever said about a triplet, oldest first."""
        c = t.triplet_review.c
        query = sa.select(*_REVIEW).where(c.set_id == set_id, c.triplet_id == triplet_id).order_by(c.id)
        return [_review(row) for row in self.connection.execute(query)]


def _review(row: Any) -> TripletReview:
    id, set_id, triplet_id, person, verdict, note, created = row
    return TripletReview(id, set_id, triplet_id, person, Verdict(verdict) if verdict else None, note, created)
