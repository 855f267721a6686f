"""Checkpoints of a training: one safetensors file, its header carrying the counters as JSON. Replaced atomically."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

logger = logging.getLogger(__name__)

_FILE = "training.safetensors"
_MODEL, _BEST, _ADAM = "model/", "best/", "adam/"


@dataclass(frozen=True)
class Progress:
    """Where a training stands. Batches, masks and their order follow from the seed and these counters alone."""

    epoch: int = 0
    batch: int = 0
    """Batches of this epoch that are done."""
    step: int = 0
    evaluated: int = -1
    """The step after which validation was done last."""
    rate: float = 0.0
    best: float = -1.0
    best_step: int = 0
    without_gain: int = 0
    seconds: float = 0.0
    triplets: int = 0
    loss_sum: float = 0.0
    """Of the batches since the last validation."""
    loss_count: int = 0
    history: list[dict[str, float]] = field(default_factory=list)

    def advanced(self, **changes: Any) -> Progress:
        """A copy with some counters changed."""
        return replace(self, **changes)


@dataclass(frozen=True)
class Checkpoint:
    """Everything that training continues from."""

    progress: Progress
    model: Mapping[str, Tensor]
    best: Mapping[str, Tensor]
    adam: Mapping[str, Tensor]
    """Flattened optimizer state: "parameter index/name"."""


def write_checkpoint(folder: Path, key: str, checkpoint: Checkpoint) -> None:
    """Write beside the old one, then take its place: a crash leaves one of the two whole."""
    from safetensors.torch import save_file

    parts = ((_MODEL, checkpoint.model), (_BEST, checkpoint.best), (_ADAM, checkpoint.adam))
    tensors = {
        prefix + name: t.detach().cpu().contiguous().clone() for prefix, part in parts for name, t in part.items()
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / (_FILE + ".new")
    save_file(tensors, written, metadata={"key": key, "progress": json.dumps(asdict(checkpoint.progress))})
    os.replace(written, folder / _FILE)


def read_checkpoint(folder: Path, key: str) -> Checkpoint | None:
    """The checkpoint in ``folder``, or None: there is none, it is damaged, or it belongs to other settings or data."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / _FILE, framework="pt") as stored:
            header = stored.metadata() or {}
            if header.get("key") != key:
                return None
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        progress = Progress(**json.loads(header["progress"]))
    except FileNotFoundError:
        return None
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        logger.warning("The checkpoint in %s cannot be read (%s); training starts again.", folder, error)
        return None
    return Checkpoint(progress, *(_under(tensors, prefix) for prefix in (_MODEL, _BEST, _ADAM)))


def drop_checkpoint(folder: Path) -> None:
    """Remove the checkpoint of a finished training."""
    (folder / _FILE).unlink(missing_ok=True)


def adam_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of Adam as named tensors."""
    state = optimizer.state_dict()["state"]
    return {f"{index}/{name}": value for index, values in state.items() for name, value in values.items()}


def restore_adam(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Inverse of :func:`adam_tensors`."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, key = name.partition("/")
        state.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
