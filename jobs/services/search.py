"""Search by meaning through the index of a large corpus, with exact cosines for its candidates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from core.neighbour_index import CANDIDATES, NeighbourIndex
from core.neighbours import cosines
from core.types import Ids, Matrix
from db.records import ModelRecord, VectorIndexRecord
from db.store import Store
from db.vector_files import VectorFiles
from jobs.common.indexes import index_installed, place_of
from jobs.services.inference import stored_blocks

MOST_CANDIDATES = 2_000
"""Maximum number of candidates; reading the vectors of more takes longer than comparing all."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Sentences near a query, nearest first."""

    articles: Ids
    """(n,) ids of their articles."""
    positions: Ids
    """(n,) their positions in the articles."""
    cosines: npt.NDArray[np.float32]
    """(n,) exact cosines to the query."""


def index_of(store: Store, model_id: int, corpus_id: int) -> VectorIndexRecord | None:
    """Return the index of a model's vectors of a corpus; None if there is none, or if usearch is missing."""
    with store.reading() as r:
        found = r.embeddings.index(model_id, corpus_id)
    return found if index_installed() else None


def near(store: Store, model: ModelRecord, index: VectorIndexRecord, query: Matrix, count: int) -> Neighbours:
    """Return about ``count`` sentences, at least 100 and at most 2,000, near the (1, dim) ``query``.

    Raises ``ArtifactError`` if the index is missing or damaged.
    """
    count = min(max(count, CANDIDATES), MOST_CANDIDATES)
    articles, positions = place_of(_opened(store.vector_files, index.digest).candidates(query, count))
    similarity = np.zeros(len(articles), dtype=np.float32)
    for rows, vectors in stored_blocks(store, model, articles, positions):
        similarity[rows] = cosines(query, vectors)
    order = np.lexsort((positions, articles, -similarity))
    return Neighbours(articles[order], positions[order], similarity[order])


def recall_note(index: VectorIndexRecord) -> str:
    """Return the sentence that says how exact a search through an index is."""
    return (
        f"Approximate search among {index.vectors:,} vectors: it finds {100 * index.recall:.1f} % of the ten nearest "
        "sentences (recall@10 on a sample)."
    )


@lru_cache(maxsize=2)
def _opened(files: VectorFiles, digest: str) -> NeighbourIndex:
    return NeighbourIndex.open(files.index_path(digest))
