"""Checkpoints of the engine: one safetensors file a stage, its header carrying the counters. Replaced atomically."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from core.models.con_s2v.arrays import Table

logger = logging.getLogger(__name__)

_ENDING = ".sentvec.safetensors"


@dataclass(frozen=True)
class Progress:
    """Where a training stands. What is drawn follows from the seed and these counters alone."""

    epoch: int = 0
    block: int = 0
    """Blocks of this epoch that are done."""
    seconds: float = 0.0
    losses: tuple[float, ...] = (0.0, 0.0)
    """Mean content loss and mean neighbour loss of the last point of the curves."""

    def advanced(self, **changes: Any) -> Progress:
        """A copy with some counters changed."""
        return replace(self, **changes)


def write_checkpoint(folder: Path, stage: str, key: str, progress: Progress, tables: Mapping[str, Table]) -> None:
    """Write beside the old one, then take its place: a crash leaves one of the two whole."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    written = folder / (stage + _ENDING + ".new")
    save_file(dict(tables), written, metadata={"key": key, "progress": json.dumps(asdict(progress))})
    os.replace(written, folder / (stage + _ENDING))


def read_checkpoint(folder: Path, stage: str, key: str) -> tuple[Progress, dict[str, Table]] | None:
    """The checkpoint of a stage, or None: there is none, it is damaged, or it belongs to other settings or data."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / (stage + _ENDING), framework="np") as stored:
            header = stored.metadata() or {}
            if header.get("key") != key:
                return None
            tables = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        values = json.loads(header["progress"])
        progress = Progress(**values | {"losses": tuple(values["losses"])})
    except FileNotFoundError:
        return None
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        logger.warning("The checkpoint in %s cannot be read (%s); training starts again.", folder, error)
        return None
    return progress, tables


def drop_checkpoints(folder: Path | None) -> None:
    """Remove the checkpoints of all stages once the whole is done."""
    for path in folder.glob("*" + _ENDING) if folder else ():
        path.unlink(missing_ok=True)
