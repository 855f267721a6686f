"""Operations on reproduced tables of papers."""

from __future__ import annotations

from core.errors import UnknownNameError
from db.records import JobRecord, PaperTableRecord
from db.store import Store
from jobs.queue.control import enqueue


def reproduce_again(store: Store, table: PaperTableRecord) -> JobRecord:
    """Queue the reproduction of a table with the data that it was made from.

    Raises
    ------
    UnknownNameError
        If the table is no longer in the store.
    """
    with store.reading() as r:
        kept = r.papers.get(table.paper, table.name, table.profile)
    if kept is None:
        raise UnknownNameError("table", table.name, [])
    return enqueue(store, "reproduce", {**kept.arguments, "tables": [kept.name]}, files_known=True)
