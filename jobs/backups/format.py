"""Format of backup files, and what their manifest says.

A backup contains the database without sessions (``database.sqlite`` or ``database.dump``), and every artifact and every
vector file on this machine that the database names. It contains no ``secrets.toml``, no ``signing-key`` and no
environment variables, which belong to the deployment, and no checkpoints, uploads or messages of the queue.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from themescope.core.errors import ReadError
from themescope.db.engine import is_known, newest
from themescope.db.snapshots import POSTGRES, SQLITE
from themescope.jobs.common.archive import ArchiveFormat, ArchiveReader

DATABASES = {SQLITE: "database.sqlite", POSTGRES: "database.dump"}
BACKUP_JOB = "back-up"
"""Id of the job kind that writes backups."""
ARTIFACTS, VECTORS = "artifacts/", "vectors/"
_FILE = r"(?!\.{1,2}(?:/|$))[^/\\:\x00-\x1f\x7f]{1,200}"
BACKUP = ArchiveFormat(
    noun="backup",
    version=1,
    names=re.compile(
        rf"database\.(?:sqlite|dump)|artifacts/[0-9a-f]{{32}}(?:/{_FILE})+"
        r"|vectors/[0-9a-f]{32}\.(?:safetensors|usearch)",
        re.ASCII,
    ),
    required=r"database\.(?:sqlite|dump)",
    most_parts=5_000_000,
    # A backup is as large as the store; restoring compares this with the free space.
    most_bytes=1 << 60,
    most_ratio=2_000,
    mode=0o600,
    redo="Use another backup.",
)


@dataclass(frozen=True)
class About:
    """Description of a backup in its manifest."""

    made: str
    """Moment of the snapshot, ISO 8601 in UTC."""
    themescope: str
    """Version that made it."""
    schema: str
    """Revision of the tables."""
    engine: str
    """"sqlite" or "postgresql"."""
    rows: Mapping[str, int]
    """Table → number of rows."""
    artifacts: tuple[str, ...]
    """Digests of the artifacts that the database names."""
    vectors: Mapping[str, int]
    """Name → bytes of the vector files that the database names."""
    vectors_elsewhere: str = ""
    """URL of the folder of vector files that are not in the backup, because they are in object storage."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Artifact or vector file that was missing or damaged when the backup was made → message."""

    def to_json(self) -> dict[str, Any]:
        """Return the description as JSON values."""
        return asdict(self)

    @property
    def when(self) -> datetime:
        """Return the moment of the snapshot."""
        return datetime.fromisoformat(self.made)

    @property
    def is_older(self) -> bool:
        """Return whether the tables are of an older version, which the next start migrates."""
        return self.schema != newest()

    def intact_artifacts(self) -> list[str]:
        """Return the artifacts that the backup contains undamaged."""
        return [digest for digest in self.artifacts if digest not in self.problems]

    def intact_vectors(self) -> list[str]:
        """Return the vector files that the backup contains undamaged."""
        return [] if self.vectors_elsewhere else [name for name in self.vectors if name not in self.problems]


def about_of(archive: ArchiveReader, path: Path) -> About:
    """Return the description of an opened backup.

    Raises ``ReadError`` if it is damaged, or was made by a newer version of Themescope.
    """
    try:
        found = About(**{**archive.about, "artifacts": tuple(archive.about["artifacts"])})
        counts = {**found.rows, **found.vectors}
        texts = (found.made, found.themescope, found.schema, *found.artifacts, *found.problems.values(), *counts)
        if not all(isinstance(text, str) for text in texts) or not all(type(n) is int for n in counts.values()):
            raise TypeError(found)
        if found.engine not in DATABASES or found.when.tzinfo is None:
            raise ValueError(found)
    except (TypeError, ValueError, KeyError, AttributeError):
        raise ReadError(path, "its manifest is damaged.", "", BACKUP.redo) from None
    if not is_known(found.schema):
        raise ReadError(
            path,
            f"it was made by a newer version, Themescope {found.themescope} (schema {found.schema}; this version knows "
            f"up to {newest()}).",
            advice="Update Themescope, then restore it.",
        )
    return found
