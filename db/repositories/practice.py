"""Attempts of people at the training items of labellings."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from themescope.core.errors import DataError
from themescope.db import label_tables as t
from themescope.db.label_records import PracticeRecord
from themescope.db.repositories.base import RecordRepository
from themescope.db.repositories.people import People
from themescope.db.sql import now
from themescope.db.types import clean_text

_MOST_ITEMS = 500


class Practice(RecordRepository[PracticeRecord]):
    """Repository of attempts, which are only added; they are deleted with their labelling."""

    table, record = t.practice, PracticeRecord

    def add(self, labelling_id: int, person: str, answers: Sequence[tuple[int, int, int]]) -> PracticeRecord:
        """Store an attempt: (sentence, chosen cluster, right cluster) of each item.

        Raises ``StoreError`` if the person may only view or is another one, and ``DataError`` without answers.
        """
        self._require_self(person)
        People(self.connection).check_may_write(clean_text(person))
        if not 0 < len(answers) <= _MOST_ITEMS:
            raise DataError(f"An attempt has 1 to {_MOST_ITEMS} answers; this one has {len(answers)}.")
        rows = [[int(number) for number in answer] for answer in answers]
        counts = {"items": len(rows), "correct": sum(chosen == right for _, chosen, right in rows)}
        values = {"labelling_id": labelling_id, "person": clean_text(person), "created": now()}
        return self.get(self._insert(t.practice, **values, **counts, answers=rows))

    def list(self, labelling_id: int, person: str | None = None) -> builtins.list[PracticeRecord]:
        """Return the attempts at the items of a labelling, of one person if given, the oldest first."""
        c = t.practice.c
        query = self._select().where(c.labelling_id == labelling_id).order_by(c.id)
        return self._records(query if person is None else query.where(c.person == clean_text(person)))

    def _record(self, row: Any) -> PracticeRecord:
        values = dict(zip(PracticeRecord.__dataclass_fields__, row, strict=True))
        answers = tuple((int(s), int(chosen), int(right)) for s, chosen, right in values.pop("answers"))
        return PracticeRecord(**values, answers=answers)
