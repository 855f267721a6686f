"""What the fixtures hand out by which a filled store is made once and copied for each test."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from themescope.db import settings
from themescope.db.store import Store

MakeHome: TypeAlias = Callable[[Callable[[Store], object]], Path]
CopyHome: TypeAlias = Callable[[Path], Store]
SETTINGS = set(re.findall(r"^``([A-Z_]+)``", settings.__doc__ or "", re.MULTILINE))
"""Variables of the environment that the application reads."""
