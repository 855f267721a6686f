"""Indexes of the vectors of large corpora, built when a corpus has been embedded."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from themescope.core.compute.neighbours import INDEX_FROM, NeighbourIndex
from themescope.core.paths import working_folder
from themescope.core.protocols import Report, SubReport
from themescope.core.types import Ids, Matrix
from themescope.db.records import CorpusRecord, ModelRecord, VectorIndexRecord
from themescope.db.sql import batches
from themescope.db.store import Store
from themescope.jobs.common.job import JobContext
from themescope.jobs.common.vectors import method_of

POSITION_BITS = 24
"""Bits of a key that hold the position of the sentence in its article; the others hold the id of the article."""
_ARTICLES = 500


def keys_of(articles: Ids, positions: Ids) -> Ids:
    """Return the (n,) keys of sentences in an index."""
    return (articles.astype(np.int64) << POSITION_BITS) | positions.astype(np.int64)


def place_of(keys: Ids) -> tuple[Ids, Ids]:
    """Return the articles and the positions of (n,) keys."""
    return keys >> POSITION_BITS, keys & ((1 << POSITION_BITS) - 1)


def ensure_index(
    context: JobContext, model: ModelRecord, corpus: CorpusRecord, report: Report
) -> VectorIndexRecord | None:
    """Return the index of a model's vectors of a corpus; build it if there is none.

    None if fewer than ``INDEX_FROM`` sentences have vectors, if these are sparse, or if usearch is missing: search is
    exact then.
    """
    if corpus.sentences < INDEX_FROM or "sparse" in method_of(model).tags or not index_installed():
        return None
    with context.store.reading() as r:
        existing, have = r.embeddings.index(model.id, corpus.id), r.embeddings.have(model.id, corpus.id)
        articles = [a for a in r.corpora.articles(corpus.id, limit=corpus.articles) if a.id in have]
    total = sum(a.sentences for a in articles)
    if existing is not None or total < INDEX_FROM:
        return existing
    blocks = partial(stored_keys, context.store, model.id, [a.id for a in articles if a.sentences])
    report.progress(0.0, 1.0, "Building the index for search")
    index = NeighbourIndex.build(blocks, total, report=SubReport(report, 0.0, 0.9))
    report.progress(0.9, 1.0, "Measuring the recall of the index")
    recall = index.recall(blocks, total)
    with working_folder(context.store.settings.home) as folder:
        path = folder / "index"
        index.save(path)
        digest, size = context.store.vector_files.put_index(path)
    built = VectorIndexRecord(model.id, corpus.id, digest, size, len(index), recall)
    with context.writing() as w:
        if w.embeddings.have(model.id, corpus.id) == have:  # else vectors were added meanwhile
            w.embeddings.set_index(built)
    return built


def index_installed() -> bool:
    """Return whether the extra "search" is installed."""
    return importlib.util.find_spec("usearch") is not None


def stored_keys(store: Store, model_id: int, articles: Iterable[int]) -> Iterator[tuple[Ids, Matrix]]:
    """Yield the (n,) keys of all sentences of articles with vectors, and these (n, dim) dense vectors, in parts."""
    for ids in batches(articles, _ARTICLES):
        with store.reading() as r:
            found = r.embeddings.get(model_id, ids)
        lengths = [found[i].shape[0] for i in ids]
        positions = np.concatenate([np.arange(n) for n in lengths])
        yield keys_of(np.repeat(np.array(ids, np.int64), lengths), positions), np.concatenate([found[i] for i in ids])
