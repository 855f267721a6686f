"""What a training on several devices sends to its processes, without starting them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from themescope.core.models.contrastive.sampling import validation_batches
from themescope.core.models.task_file import read_task, write_task


class _Sent(Exception):
    pass


def assert_processes_get_the_training(fit: Callable[[], object], folder: Path) -> None:
    """Assert that the task of ``fit``, with several devices, gives the same similarities after it was written and read.

    They must depend on the network that the task trains.
    """

    def run_processes(task: Any, devices: int, device: torch.device, report: object) -> None:
        write_task(folder, task)
        raise _Sent(task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("themescope.core.models.contrastive.training.run_processes", run_processes)
        with pytest.raises(_Sent) as found:
            fit()
    here, there = found.value.args[0], read_task(folder)
    (first, *_) = validation_batches(here.args[4].articles, np.arange(1), 50, 0)
    values = []
    for task in (here, there):
        _, _, network, training, validation = task.args
        network.eval()
        with torch.inference_mode():
            values.append([source.similarities(first).numpy() for source in (training, validation)])
            for parameter in network.parameters():
                parameter.copy_(torch.rand_like(parameter))
            assert not np.allclose(validation.similarities(first).numpy(), values[-1][1], atol=1e-3)
    np.testing.assert_allclose(values[0], values[1], atol=1e-6)
