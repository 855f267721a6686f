"""Job kind ``back-up``: write a backup of the store into the folder of backups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from themescope.jobs.backups.regular import TITLE, write_regular
from themescope.jobs.common.job import JobConfig, JobContext


@dataclass(frozen=True)
class BackUpConfig(JobConfig):
    """Arguments of the job: none, as settings name the folder and the number of backups that are kept."""

    def title(self) -> str:
        """Return a one-line description of the job."""
        return TITLE


def run(args: BackUpConfig, context: JobContext) -> dict[str, Any]:
    """Write the backup, compare it with its digests, and remove the oldest ones."""
    made, removed = write_regular(context.store, lambda share: context.progress(share, 1.0))
    return {
        "file": str(made.path),
        "bytes": made.bytes,
        "made": made.about.made,
        "problems": list(made.about.problems.values()),
        "removed": [path.name for path in removed],
    }
