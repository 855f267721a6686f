"""Curves of jobs in TensorBoard or MLflow, for those who have them.

Whoever sets ``TENSORBOARD_LOGDIR`` and has tensorboard gets a run for each job in that folder; with
``MLFLOW_TRACKING_URI`` and mlflow, a run on that server with the arguments of the job. Steps are whole numbers there,
so that they count thousandths of an epoch.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from themescope.core.records.stored import JobRecord

logger = logging.getLogger(__name__)
Track = Callable[[str, int, float], None]
_THOUSANDTHS = 1_000
_MOST = 500
"""Characters of a parameter in MLflow."""


class Tracking:
    """Writes the curves of a job to the programs that the environment names; their errors do not stop the job."""

    def __init__(self, job: JobRecord) -> None:
        self._job = job
        self._tracks: list[Track] | None = None
        self._ends: list[Callable[[], object]] = []

    def metric(self, name: str, step: float, value: float) -> None:
        """Write one point."""
        try:
            if self._tracks is None:
                self._tracks = []
                self._open()
            for track in self._tracks:
                track(name, round(step * _THOUSANDTHS), value)
        except Exception as error:
            self._tracks = []
            logger.warning("The curves of job %d are not tracked any more: %s", self._job.id, error)

    def close(self) -> None:
        """Tell the programs that the job has ended."""
        for end in self._ends:
            try:
                end()
            except Exception as error:
                logger.warning("The end of job %d was not tracked: %s", self._job.id, error)

    def _open(self) -> None:
        assert self._tracks is not None
        title = f"{self._job.id} {self._job.title}"
        if folder := os.environ.get("TENSORBOARD_LOGDIR"):
            writer = import_module("torch.utils.tensorboard").SummaryWriter(str(Path(folder) / f"job-{self._job.id}"))
            writer.add_text("job", title)
            self._tracks.append(lambda name, step, value: writer.add_scalar(name, value, step))
            self._ends.append(writer.close)
        if os.environ.get("MLFLOW_TRACKING_URI"):
            client = import_module("mlflow").MlflowClient()
            known = client.get_experiment_by_name("themescope")
            id = client.create_run(
                known.experiment_id if known else client.create_experiment("themescope"), run_name=title
            ).info.run_id
            for name, value in self._job.args.items():
                client.log_param(id, name, str(value)[:_MOST])
            self._tracks.append(lambda name, step, value: client.log_metric(id, name, value, step=step))
            self._ends.append(lambda: client.set_terminated(id))
