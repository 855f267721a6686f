"""Steps of a job, each a job kind of its own that reuses stored results by digest."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.config import digest_of
from core.protocols import Report
from jobs.common.context import JobContext
from jobs.kinds import REGISTRY, check_job


class StepContext(JobContext):
    """Context of a step: row, owner and stop request of the whole job, with its own checkpoint folder."""

    def __init__(self, parent: JobContext, report: Report, folder: Path) -> None:
        with parent.store.reading() as r:
            job = r.jobs.get(parent.job_id)
        super().__init__(parent.store, job, parent.owner, watcher=lambda share, said: report.progress(share, 1, said))
        self._parent, self._folder = parent, folder

    def checkpoint_folder(self) -> Path:
        """Return a folder that the same step uses again after a crash."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def check(self) -> None:
        """Raise if the whole job was asked to stop."""
        self._parent.check()


class Steps:
    """Runner of steps that counts which had to be computed."""

    def __init__(self, context: JobContext) -> None:
        self.context = context
        self.computed, self.reused = 0, 0
        self._low, self._high = 0.0, 1.0

    def window(self, low: float, high: float) -> None:
        """Set the window of the whole job's progress for the next steps."""
        self._low, self._high = low, high

    def run(self, kind: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run one step and return its result; it takes half of the remaining window of progress."""
        config = check_job(kind, args)
        end = (self._low + self._high) / 2
        report = self.context.part(self._low, end, config.title())
        folder = self.context.checkpoint_folder() / digest_of([kind, config.to_dict()])
        result: dict[str, Any] = REGISTRY.get(kind).resolve()(config, StepContext(self.context, report, folder))
        shutil.rmtree(folder, ignore_errors=True)
        self._low, found = end, bool(result.get("cached", False))
        self.computed, self.reused = self.computed + (not found), self.reused + found
        return result
