"""Trainings of several processes: the losses of one, resume with another number, death and cancellation.

Starting two processes takes seconds, so that each test checks several things.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

from tests.core.models.triplet_network.themes import theme_data
from themescope.core.errors import Cancelled, ConfigError, TrainingError
from themescope.core.models.launch import check_devices, run_processes
from themescope.core.models.processes import current
from themescope.core.models.triplet_network.config import TrainingConfig
from themescope.core.models.triplet_network.training import Trained, train
from themescope.core.protocols import SILENT, NullReport, Report

CPU = torch.device("cpu")
SETTINGS: dict[str, Any] = {
    "hidden": 12, "attention": 6, "threads": 1, "device": "cpu", "batch_size": 16, "run_length": 8, "epochs": 16,
    "learning_rate": 0.003, "patience_stop": 1000, "dropout_rate": 0.0, "checkpoint_seconds": 0,
    "precision": "fp32",
}  # fmt: skip


def trained(devices: int, report: Report = SILENT) -> Trained:
    return train(TrainingConfig(**SETTINGS, devices=devices), 5, theme_data(8), theme_data(3, 1), report)


class Acting(NullReport):
    """Acts once, at the first report of a step above ``step`` of a training that has written a checkpoint."""

    def __init__(self, folder: Path, act: Callable[[], None], step: int = 0) -> None:
        super().__init__(folder)
        self._act, self._step, self._path = act, step, folder
        self._acted = False
        self.first = 0.0
        """Steps done at the first report of a step."""

    def progress(self, done: float, total: float, message: str = "") -> None:
        self.first = self.first or done
        if done > self._step and not self._acted and any(self._path.glob("*.safetensors")):
            self._acted = True
            self._act()


def kill_a_process() -> None:
    started = [
        p for p in psutil.Process().children(recursive=True) if "themescope.core.models.rank" in " ".join(p.cmdline())
    ]
    os.kill(max(p.pid for p in started), signal.SIGKILL)


def cancel() -> None:
    raise Cancelled


def test_resumed_with_other_numbers_of_processes_the_losses_are_those_of_one(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match=r"Process [01] of the 2 .* signal 9 \(SIGKILL\).*Retry to continue"):
        trained(2, Acting(tmp_path, kill_a_process))
    with pytest.raises(Cancelled):
        trained(1, Acting(tmp_path, cancel, step=40))
    last = Acting(tmp_path, lambda: None)
    found, alone = trained(2, last), trained(1)
    assert last.first > 40 and not list(tmp_path.iterdir()), "it resumed, and its files are gone"
    for name in ("training loss", "validation accuracy"):
        ours, theirs = ([row[name] for row in of.history if name in row] for of in (found, alone))
        assert len(ours) == len(theirs) > 30
        np.testing.assert_allclose(ours[:10], theirs[:10], atol=1e-4)
        np.testing.assert_allclose(ours, theirs, atol=0.02)


def wait(folder: Path, report: Report) -> None:
    """Report progress until cancelled, and note which process was."""
    try:
        for step in count():
            report.progress(step, 0, "waiting")
            time.sleep(0.02)
    except Cancelled:
        (folder / f"cancelled {current().rank}").touch()
        raise


def test_all_processes_are_cancelled(tmp_path: Path) -> None:
    class Cancelling(NullReport):
        def progress(self, done: float, total: float, message: str = "") -> None:
            if message == "waiting":
                raise Cancelled

    with pytest.raises(Cancelled):
        run_processes(partial(wait, tmp_path), 2, CPU, Cancelling())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cancelled 0", "cancelled 1"]


def fail(error: Exception, report: Report) -> None:
    """Raise the error in the second process; the first waits for it."""
    if current().rank == 1:
        raise error
    current().total(torch.zeros(1))


def test_an_error_in_one_process_ends_the_training() -> None:
    with pytest.raises(TrainingError, match=r"A process of the training failed \(ValueError: a defect\)") as found:
        run_processes(partial(fail, ValueError("a defect")), 2, CPU, SILENT)
    assert any("in fail" in note for note in found.value.__notes__), "the traceback in that process"


def test_more_processes_than_the_machine_can_run_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"256 devices is not possible, because this machine has .*at most"):
        check_devices(256, CPU)
