"""The function behind ``core.reproduce``, found by the entry point ``themescope.paper_runner``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from db.settings import Settings
from db.store import Store
from jobs.queue.foreground import resume_here


def reproduce(paper: str, profile: str, folder: Path | None, options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Run the job ``reproduce`` in this process and return its tables by id, as they are kept in the store.

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
