"""What the fixtures hand out by which a filled store is made once and copied for each test."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from themescope.db.store import Store

MakeHome: TypeAlias = Callable[[Callable[[Store], object]], Path]
CopyHome: TypeAlias = Callable[[Path], Store]
