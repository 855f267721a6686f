"""Values in the messages of the browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import numpy as np

from themescope.core.types import Ids
from themescope.webapp.features.relabel.editing import RelabelState

Handler = Callable[[RelabelState, Mapping[str, Any]], None]
"""Function that handles one action of the browser."""


def is_int(value: Any) -> TypeGuard[int]:
    """Return whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def ids_of(values: Any) -> Ids:
    """Return the integers among the values that the browser sent."""
    listed = values if isinstance(values, list) else []
    return np.array([v for v in listed if is_int(v) and abs(v) < 2**62], dtype=np.int64)
