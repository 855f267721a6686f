"""Stores written by released versions. The current version must open them."""

from __future__ import annotations

import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

V0_1 = Path(__file__).with_name("v0.1.zip")
V0_1_REVISION = "0009"
"""Migration at which version 0.1 left the database."""


@cache
def expected() -> dict[str, Any]:
    """Row counts, distances between sentence vectors, and a labelling, as version 0.1 read them from its store."""
    with zipfile.ZipFile(V0_1) as packed:
        found: dict[str, Any] = json.loads(packed.read("expected.json"))
    return found


def unpack(folder: Path) -> Path:
    """Extract the store with the bundle and the labelling exported from it; return its data folder."""
    with zipfile.ZipFile(V0_1) as packed:
        packed.extractall(folder)
    home = folder / "home"
    # An archive does not carry permissions, and the file of password hashes is refused when others may read it.
    (home / "logins.json").chmod(0o600)
    return home
