"""Digests that identify stored results, and runs as the results of jobs."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.config import digest_of
from themescope.core.records.stored import RunRecord, ScoreRecord
from themescope.core.registry import Card
from themescope.core.types import Article, Estimate, Ids
from themescope.db.store import Store
from themescope.jobs.common.importing.import_shards import article_digest


@cache
def code_version() -> str:
    """Return the version of the installed package, or "source"."""
    try:
        return metadata.version("themescope")
    except metadata.PackageNotFoundError:
        return "source"


def code_revision() -> str:
    """Return the commit of the checkout that this code is, or ""."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def work_digest(kind: Card, /, *parts: Card, **inputs: Any) -> str:
    """Return the digest of the result of a job.

    ``kind`` is the card of the job kind and ``parts`` are those of the implementations it uses (models, clusterers,
    metrics …): a new revision of any of them gives a new digest. ``inputs`` are JSON values.
    """
    cards = [[card.id, card.revision] for card in (kind, *parts)]
    return digest_of({"cards": cards, **inputs})


def file_digest(path: Path) -> str:
    """Return the digest of the bytes of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def folder_digest(path: Path) -> str:
    """Return the digest of the files in a folder, independent of its name; of a file, that of its bytes."""
    if not path.is_dir():
        return file_digest(path)
    return digest_of([[file.name, file_digest(file)] for file in sorted(path.iterdir()) if file.is_file()])


def tree_digest(path: Path) -> str:
    """Return the digest of all files below a folder with their relative paths; of a file, that of its bytes."""
    if not path.is_dir():
        return file_digest(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return digest_of([[file.relative_to(path).as_posix(), file_digest(file)] for file in files])


class TextDigest:
    """Digest of the text of a corpus, independent of the order of its articles."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._articles: list[bytes] = []

    def add(self, article: Article) -> None:
        """Add an article, of which 16 bytes are stored."""
        self.extend([article_digest(article)])

    def extend(self, digests: Iterable[bytes]) -> None:
        """Add articles by their digests."""
        self._articles.extend(digests)

    def __str__(self) -> str:
        total = hashlib.blake2b(self._language.encode("utf-8"), digest_size=8)
        for article in sorted(self._articles):
            total.update(article)
        return total.hexdigest()


def find_run(store: Store, digest: str) -> RunRecord | None:
    """Return the stored run with that digest, if any."""
    with store.reading() as r:
        return r.runs.by_digest(digest)


def run_result(store: Store, run: RunRecord, cached: bool, **about: Any) -> dict[str, Any]:
    """Return the result of a job that made or found a run: its id, ``about``, digest, duration and scores."""
    return {
        "run_id": run.id,
        **about,
        "digest": run.digest,
        "cached": cached,
        "seconds": round(run.seconds, 3),
        "scores": estimates(store, run.id),
    }


def estimates(store: Store, run_id: int) -> dict[str, dict[str, Any]]:
    """Return the means of a run by metric as JSON values."""
    with store.reading() as r:
        rows = r.runs.scores([run_id])
    return {row.metric: {"value": row.value, "low": row.low, "high": row.high, "n": row.n} for row in rows}


def total(metric: str, estimate: Estimate) -> ScoreRecord:
    """Return the score row of a mean with its interval."""
    return ScoreRecord(0, None, metric, estimate.value, estimate.low, estimate.high, estimate.n)


def article_means(metric: str, articles: Ids, values: npt.ArrayLike) -> Iterator[ScoreRecord]:
    """Yield the score row of each article: the mean of ``values`` (n,) over its items; ``articles`` is (n,)."""
    ids, places, counts = np.unique(articles, return_inverse=True, return_counts=True)
    means = np.bincount(places, weights=np.asarray(values, dtype=np.float64)) / counts
    for article, mean, n in zip(ids, means, counts, strict=True):
        yield ScoreRecord(0, int(article), metric, float(mean), n=int(n))
