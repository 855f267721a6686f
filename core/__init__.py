"""The library: text in; vectors, clusters and scores out.

Three lines are enough for vectors::

    import core

    vectors = core.load("default").embed(["One sentence.", "Another one."])
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.api import Model


def load(name: str | Path = "default", precision: str = "fp32") -> Model:
    """Load a trained model, see :func:`core.api.load`; nothing heavy is imported before it is called."""
    from core.api import load as load_model

    return load_model(name, precision)


__all__ = ["load"]
