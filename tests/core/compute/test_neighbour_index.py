"""Approximate nearest neighbours: candidates, recall, files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from themescope.core.compute import CANDIDATES, NeighbourIndex
from themescope.core.errors import ArtifactError, DataError

KEYS = np.arange(3_000, dtype=np.int64) * 7 + (1 << 40)


def clouds(seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 24)).repeat(100, axis=0) + 0.3 * rng.normal(size=(3_000, 24))
    return (x * rng.uniform(0.1, 9, size=(3_000, 1))).astype(np.float32)


def in_blocks(x: Any, size: int = 700) -> Any:
    def blocks() -> Iterator[tuple[Any, Any]]:
        for start in range(0, len(x), size):
            yield KEYS[: len(x)][start : start + size], x[start : start + size]

    return blocks


@pytest.fixture(scope="module")
def built(usearch: None) -> NeighbourIndex:
    return NeighbourIndex.build(in_blocks(clouds()), 3_000, threads=1)


def test_the_nearest_are_among_the_candidates(built: NeighbourIndex) -> None:
    x = clouds()
    units = x / np.linalg.norm(x, axis=1, keepdims=True)
    hits = 0
    for row in range(0, 3_000, 50):
        true = KEYS[np.argsort(-(units @ units[row]))[:10]]
        found = built.candidates(5 * x[row : row + 1])
        assert len(found) == CANDIDATES and len(set(found.tolist())) == CANDIDATES
        hits += np.isin(true, found).sum()
    assert hits >= 0.95 * 600
    assert len(built) == 3_000 and len(built.candidates(x[:1], 250)) == 250


def test_the_recall_is_that_of_the_vectors_it_is_measured_on(built: NeighbourIndex) -> None:
    assert built.recall(in_blocks(clouds()), 3_000) >= 0.95
    # The exact neighbours among other vectors with the same keys are hardly ever candidates.
    assert built.recall(in_blocks(clouds(1)), 3_000) < 0.2


def test_a_saved_index_finds_the_same(built: NeighbourIndex, tmp_path: Path) -> None:
    built.save(tmp_path / "index")
    opened = NeighbourIndex.open(tmp_path / "index")
    for row in clouds()[::500]:
        assert set(opened.candidates(row[None]).tolist()) == set(built.candidates(row[None]).tolist())


def test_zero_vectors_are_left_out(usearch: None) -> None:
    x = clouds()[:200]
    x[50:100] = 0
    index = NeighbourIndex.build(in_blocks(x, 60), 200, threads=1)
    assert len(index) == 150
    assert not np.isin(KEYS[50:100], index.candidates(x[:1], 200)).any()
    assert index.recall(in_blocks(x, 60), 200) > 0.9


def test_errors(built: NeighbourIndex, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="24 dimensions, the query has 5"):
        built.candidates(np.ones((1, 5), np.float32))
    with pytest.raises(DataError, match="there are none"):
        NeighbourIndex.build(lambda: [], 0)
    (tmp_path / "index").write_bytes(b"no index")
    with pytest.raises(ArtifactError, match="cannot be read"):
        NeighbourIndex.open(tmp_path / "index")
