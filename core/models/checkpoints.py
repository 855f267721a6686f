"""Checkpoints of a training: one safetensors file whose header contains the progress as JSON, replaced atomically."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch
    from torch import Tensor

logger = logging.getLogger(__name__)

Arrays = Mapping[str, np.ndarray[Any, Any]]
_FILE = "training.safetensors"
_MODEL, _BEST, _ADAM = "model/", "best/", "adam/"


def write_arrays(path: Path, key: str, progress: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a checkpoint to a new file that then replaces ``path``, so that a crash leaves one complete file.

    ``key`` is a digest of settings and data; :func:`read_arrays` ignores a checkpoint of another key.
    """
    from safetensors.numpy import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    save_file(dict(arrays), new, metadata={"key": key, "progress": json.dumps(progress)})
    os.replace(new, path)


def read_arrays(path: Path, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]] | None:
    """Return progress and arrays, or None when the file is missing, damaged, or has another key."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as stored:
            header = stored.metadata() or {}
            if header.get("key") != key:
                return None
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        progress: dict[str, Any] = dict(json.loads(header["progress"]))
    except FileNotFoundError:
        return None
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        logger.warning("The checkpoint %s cannot be read (%s). Training starts from the beginning.", path, error)
        return None
    return progress, arrays


@dataclass(frozen=True)
class Progress:
    """State of a training of a network. The order of batches and all masks follow from the seed and these counters."""

    epoch: int = 0
    batch: int = 0
    """Number of batches of this epoch that are done."""
    step: int = 0
    evaluated: int = -1
    """Step after which the last validation took place."""
    rate: float = 0.0
    best: float = -1.0
    best_step: int = 0
    without_gain: int = 0
    seconds: float = 0.0
    triplets: int = 0
    """Number of training items seen so far."""
    loss_sum: float = 0.0
    """Sum over the batches since the last validation."""
    loss_count: int = 0
    history: list[dict[str, float]] = field(default_factory=list)

    def advanced(self, **changes: Any) -> Progress:
        """Return a copy with some counters changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Checkpoint:
    """Everything that training continues from."""

    progress: Progress
    model: Mapping[str, Tensor]
    best: Mapping[str, Tensor]
    adam: Mapping[str, Tensor]
    """Optimizer state as ``"parameter index/name"`` → tensor."""


def write_checkpoint(folder: Path, key: str, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of a network into ``folder``, see :func:`write_arrays`."""
    parts = ((_MODEL, checkpoint.model), (_BEST, checkpoint.best), (_ADAM, checkpoint.adam))
    arrays = {
        prefix + name: t.detach().cpu().contiguous().numpy() for prefix, part in parts for name, t in part.items()
    }
    write_arrays(folder / _FILE, key, asdict(checkpoint.progress), arrays)


def read_checkpoint(folder: Path, key: str) -> Checkpoint | None:
    """Return the checkpoint of a network in ``folder``, or None, see :func:`read_arrays`."""
    import torch

    found = read_arrays(folder / _FILE, key)
    if found is None:
        return None
    tensors = {name: torch.from_numpy(array) for name, array in found[1].items()}
    return Checkpoint(Progress(**found[0]), *(_under(tensors, prefix) for prefix in (_MODEL, _BEST, _ADAM)))


def drop_checkpoint(folder: Path) -> None:
    """Remove the checkpoint of a finished training."""
    (folder / _FILE).unlink(missing_ok=True)


def adam_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the state of Adam as named tensors."""
    state = optimizer.state_dict()["state"]
    return {f"{index}/{name}": value for index, values in state.items() for name, value in values.items()}


def restore_adam(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Set the state of Adam to what :func:`adam_tensors` returned."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, key = name.partition("/")
        state.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
