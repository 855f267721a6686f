"""Reproduction of papers for ``themescope.reproduce`` (the entry point ``themescope.paper_runner``) and for pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from themescope.core.errors import UnknownNameError
from themescope.db.records import JobRecord, PaperTableRecord
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.queue.control import enqueue
from themescope.jobs.queue.foreground import resume_here


def reproduce(paper: str, profile: str, folder: Path | None, options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Run the job ``reproduce`` in this process and return its tables by id, as they are stored.

    The store is the one in ``folder``, or that of the environment. An interrupted reproduction is resumed.
    """
    store = Store(Settings.in_folder(folder) if folder else Settings.from_environment())
    try:
        store.migrate()
        result = resume_here(store, "reproduce", {"paper": paper, "profile": profile, **options}, quiet=True)
        with store.reading() as r:
            found = {table: r.papers.get(paper, table, profile) for table in result["tables"]}
        return {table: dict(record.content) for table, record in found.items() if record is not None}
    finally:
        store.close()


def reproduce_again(store: Store, table: PaperTableRecord) -> JobRecord:
    """Queue the reproduction of a table from the same data; raise ``UnknownNameError`` if it was deleted."""
    with store.reading() as r:
        kept = r.papers.get(table.paper, table.name, table.profile)
    if kept is None:
        raise UnknownNameError("table", table.name, [])
    return enqueue(store, "reproduce", {**kept.arguments, "tables": [kept.name]}, files_known=True)
