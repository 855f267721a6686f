"""Jobs inside a job: each step is an ordinary kind, which finds by digest what has been done before."""

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
    """The context of a step: the row, the owner and the stop signs of the whole job, a checkpoint folder of its own."""

    def __init__(self, parent: JobContext, report: Report, folder: Path) -> None:
        with parent.store.reading() as r:
            job = r.jobs.get(parent.job_id)
        super().__init__(parent.store, job, parent.owner, watcher=lambda share, said: report.progress(share, 1, said))
        self._parent, self._folder = parent, folder

    def checkpoint_folder(self) -> Path:
        """A folder that the same step finds again after a crash."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def check(self) -> None:
        """Raise if the whole job was asked to stop."""
        self._parent.check()


class Steps:
    """Runs steps one after the other and counts what had to be computed."""

    def __init__(self, context: JobContext) -> None:
        self.context = context
        self.computed, self.reused = 0, 0
        self._low, self._high = 0.0, 1.0

    def window(self, low: float, high: float) -> None:
        """The share of the whole job that the next steps fill."""
        self._low, self._high = low, high

    def run(self, kind: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run one step; its result. Half of what is left of the window is its share of the progress."""
        config = check_job(kind, args)
        end = (self._low + self._high) / 2
        report = self.context.part(self._low, end, config.title())
        folder = self.context.checkpoint_folder() / digest_of([kind, config.to_dict()])
        result: dict[str, Any] = REGISTRY.get(kind).resolve()(config, StepContext(self.context, report, folder))
        shutil.rmtree(folder, ignore_errors=True)
        self._low, found = end, bool(result.get("cached", False))
        self.computed, self.reused = self.computed + (not found), self.reused + found
        return result
