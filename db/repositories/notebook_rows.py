"""All rows of an error notebook with references by position, for copies in other stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from themescope.core.labelling.error_cases import CaseFacts, CaseKind
from themescope.core.types import Ids
from themescope.db import notebook_tables as t
from themescope.db.notebook_records import NewCase
from themescope.db.repositories.base import Repository

Row = dict[str, Any]
REFERENCES: Mapping[str, Mapping[str, str]] = {
    "error_sample": {},
    "error_category": {"merged_into": "error_category"},
    "error_case": {"sample_id": "error_sample"},
    "error_note": {"case_id": "error_case", "note": "error_note"},
    "error_coding": {"case_id": "error_case", "category_id": "error_category", "undoes": "error_coding"},
}
"""Table → column → the table that it refers to; tables come after those that they refer to."""
_NOT_COPIED = ("id", "corpus_id", "digest")


def columns_of(table: str) -> list[str]:
    """Return the columns of a table that are copied."""
    return [column.name for column in t.metadata.tables[table].c if column.name not in _NOT_COPIED]


class NotebookRows(Repository):
    """Repository of the rows of error notebooks, also deleted cases and earlier notes."""

    def read(self, corpus_id: int) -> dict[str, list[Row]]:
        """Return table → its rows, oldest first; references are positions in these lists."""
        found: dict[str, list[Row]] = {}
        places: dict[str, dict[int, int]] = {}
        for name, references in REFERENCES.items():
            table = t.metadata.tables[name]
            rows = self.connection.execute(
                sa.select(table).where(self._of(table, corpus_id)).order_by(table.c.id)
            ).all()
            places[name] = {row.id: place for place, row in enumerate(rows)}
            found[name] = [
                {
                    column: places[references[column]].get(value) if column in references else value
                    for column in columns_of(name)
                    for value in [row._mapping[column]]
                }
                for row in rows
            ]
        return found

    def _of(self, table: sa.Table, corpus_id: int) -> sa.ColumnElement[bool]:
        if "corpus_id" in table.c:
            return table.c.corpus_id == corpus_id
        c = t.error_case.c
        return table.c.case_id.in_(sa.select(c.id).where(c.corpus_id == corpus_id))

    def write(self, corpus_id: int, rows: Mapping[str, Sequence[Row]], sentence_ids: Ids) -> None:
        """Add the rows that :meth:`read` returned to an empty notebook.

        The sentences of a case are places in ``sentence_ids``, the sentences of the corpus in their order.
        """
        ids: dict[str, list[int]] = {}
        for name, references in REFERENCES.items():
            ids[name] = []
            for row in rows.get(name, ()):
                values = {column: value for column, value in row.items() if column not in references}
                if name == "error_case":
                    values["sentence_ids"] = [int(sentence_ids[place]) for place in row["sentence_ids"]]
                    values["digest"] = _digest(corpus_id, values)
                if "corpus_id" in t.metadata.tables[name].c:
                    values["corpus_id"] = corpus_id
                # A category may be merged into a later one.
                later = name == "error_category"
                values |= {c: None if later else _id(ids[of], row[c]) for c, of in references.items()}
                ids[name].append(self._insert(t.metadata.tables[name], **values))
        self._merge(rows.get("error_category", ()), ids["error_category"])

    def _merge(self, rows: Sequence[Row], ids: Sequence[int]) -> None:
        c = t.error_category.c
        for id, row in zip(ids, rows, strict=True):
            if row["merged_into"] is not None:
                update = t.error_category.update().where(c.id == id)
                self.connection.execute(update.values(merged_into=ids[row["merged_into"]]))


def _id(ids: Sequence[int], place: int | None) -> int | None:
    return None if place is None else ids[place]


def _digest(corpus_id: int, row: Row) -> str:
    facts = CaseFacts.from_json(row["facts"])
    return NewCase(corpus_id, CaseKind(row["kind"]), tuple(row["sentence_ids"]), facts, row["permalink"]).digest
