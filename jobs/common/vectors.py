"""Vectors of stored sentences, computed once per article and model and stored as blocks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy import sparse

from themescope.core.records.stored import ArticleRecord, ModelRecord
from themescope.core.registry import Card
from themescope.core.types import Executor, Ids, Matrix, Model, Report, Sentence, Shard, Vectors
from themescope.db.records import VectorBlock
from themescope.db.sql import batches
from themescope.db.store import Store
from themescope.jobs.common.job import JobContext
from themescope.jobs.executors import LocalConfig, LocalExecutor

logger = logging.getLogger(__name__)
BATCH_SENTENCES = 4_096
"""Sentences per batch: enough for batches of similar length, few enough to cancel within seconds."""
FILE_SENTENCES = 16_384
"""Sentences per file of vectors: 12 MB at 384 dimensions, and at most so many are embedded again after a crash."""
MANY_SENTENCES = 200_000
"""Sentences from which a model that uses one core embeds in several processes; below, starting them takes longer."""


def load_model(store: Store, model: ModelRecord) -> tuple[Model, dict[str, Any]]:
    """Load a stored model; return it with its metadata."""
    from themescope.core.models import artifact

    return artifact.load_model(store.artifacts.path(model.artifact))


def method_of(model: ModelRecord) -> Card:
    """Return the card of a model's method."""
    from themescope.core.models import REGISTRY as METHODS

    return METHODS.get(model.method)


def seen_in_training(store: Store, model: ModelRecord, titles: Iterable[str]) -> list[str]:
    """Return those of ``titles`` that the model was trained on."""
    from themescope.core.models.artifact import read_info, saw_title

    info = read_info(store.artifacts.path(model.artifact))
    return [title for title in titles if saw_title(info, title)]


@dataclass(frozen=True, slots=True)
class Embedded:
    """What was embedded anew."""

    articles: int = 0
    cut_off: int = 0
    """Number of sentences of which the model read only the beginning."""


def embed_articles(
    context: JobContext, model: ModelRecord, articles: Sequence[ArticleRecord], report: Report
) -> Embedded:
    """Embed and store those of ``articles`` that have no block yet."""
    store, method = context.store, method_of(model)
    if model.revision != method.revision:
        # The vectors in every corpus were computed by an older revision of the method.
        with context.writing() as w:
            if w.models.get(model.id).revision != method.revision:  # else another step did it since `model` was read
                w.embeddings.delete(model.id)
                w.models.set_revision(model.id, method.revision)
    with store.reading() as r:
        have = set[int]().union(*(r.embeddings.have(model.id, id) for id in {a.corpus_id for a in articles}))
    missing = [a for a in articles if a.id not in have]
    if not missing:
        return Embedded()
    report.progress(0, 1, f"Loading {model.name}")
    dtype = "float32" if "sparse" in method.tags else "float16"
    # Groups of the missing ones alone would differ after an interruption.
    groups = [left for group in article_groups(articles) if (left := [a for a in group if a.id not in have])]
    shards, sent = _shards(store, groups), iter(groups)
    total = sum(a.sentences for a in missing)
    pending: list[VectorBlock] = []
    cut = 0
    size = FILE_SENTENCES if _in_files(store, missing) else 1
    executor, embed = model_workers(context, model, embed_whole_articles, total)
    vectors = executor.map(embed, shards, report=report, total=total, unit="sentences embedded")
    with closing(cast("Generator[tuple[list[Vectors], int]]", vectors)):
        for found, cut_here in vectors:
            cut += cut_here
            pending += [VectorBlock(article.id, part) for article, part in zip(next(sent), found, strict=True)]
            if sum(block.vectors.shape[0] for block in pending) >= size:
                save_blocks(context, model, pending, dtype, in_files=size > 1)
                pending = []
    if pending:
        save_blocks(context, model, pending, dtype, in_files=size > 1)
    if cut:
        logger.warning("%s read only the beginning of %d of %d sentences.", model.name, cut, total)
    return Embedded(len(missing), cut)


def embed_whole_articles(model: Model, articles: Sequence[Sequence[Sentence]]) -> tuple[list[Vectors], int]:
    """Return (n, dim) vectors of each article, and of how many sentences the model reads only the beginning.

    All are embedded at once; a method may use whole articles.

    Dense vectors have the precision in which they are stored, so that a worker sends half of the bytes.
    """
    from themescope.core.models.base import cut_off  # imported late: listing vectors does not need it

    sentences = [sentence for article in articles for sentence in article]
    vectors = model.embed(sentences)
    if isinstance(vectors, np.ndarray):
        with np.errstate(over="ignore"):  # the store refuses infinite values and names the article
            vectors = vectors.astype(np.float16)
    ends = np.cumsum([len(article) for article in articles])
    blocks = [vectors[end - len(article) : end] for article, end in zip(articles, ends, strict=True)]
    return blocks, cut_off(model, sentences)


def model_workers(
    context: JobContext, model: ModelRecord, function: Callable[[Model, Any], Any], sentences: int
) -> tuple[Executor, ModelFunction]:
    """Return the executor for shards of that many sentences, and the function of a shard that it computes.

    On one machine, the threads of one copy of a model in this process use all cores; several processes embed only many
    sentences with a model that uses one core.
    """
    fn = ModelFunction(context.store.artifacts.path(model.artifact), function)
    here = not context.executor.remote and ("one-core" not in method_of(model).tags or sentences < MANY_SENTENCES)
    if not here:
        return context.executor, fn
    fn.model = load_model(context.store, model)[0]
    return LocalExecutor(LocalConfig(1)), fn


class ModelFunction:
    """Function of a model and the data of a shard; each worker loads the model once. Raises ``ArtifactError``."""

    uses_gpu = True

    def __init__(self, folder: Path, function: Callable[[Model, Any], Any]) -> None:
        self._folder, self._function = folder, function
        self.model: Model | None = None

    def __reduce__(self) -> tuple[type[ModelFunction], tuple[Path, Callable[[Model, Any], Any]]]:
        return ModelFunction, (self._folder, self._function)

    def __call__(self, data: Any) -> Any:
        """Return the result of a shard."""
        if self.model is None:
            from themescope.core.models import artifact

            self.model, _ = artifact.load_model(self._folder)
        return self._function(self.model, data)


def _shards(store: Store, groups: Sequence[Sequence[ArticleRecord]]) -> Iterator[Shard]:
    for group in groups:
        with store.reading() as r:
            sentences = r.corpora.sentences_of([a.id for a in group])
        texts = [sentences.get(a.id, []) for a in group]
        name = f"articles “{group[0].title}” to “{group[-1].title}”"
        yield Shard(name, texts, sum(map(len, texts)))


def save_blocks(
    context: JobContext, model: ModelRecord, blocks: Sequence[VectorBlock], dtype: str, *, in_files: bool
) -> None:
    """Store blocks in the database, or in one file, which is written before the transaction that refers to it."""
    file = context.store.vector_files.put(blocks, dtype) if in_files and blocks else None
    with context.writing() as w:
        if file is None:
            w.embeddings.add(model.id, blocks, dtype)
        else:
            w.embeddings.add_file(model.id, file)


def _in_files(store: Store, articles: Sequence[ArticleRecord]) -> bool:
    """Return whether the vectors of these articles go to files: those of a large corpus, except a few at a time."""
    if sum(a.sentences for a in articles) < min(BATCH_SENTENCES, store.settings.vector_files_from):
        return False
    with store.reading() as r:
        sizes = [r.corpora.get(corpus_id).sentences for corpus_id in {a.corpus_id for a in articles}]
    return max(sizes) >= store.settings.vector_files_from


def rows_of(store: Store, model: ModelRecord, wanted: Mapping[int, Ids]) -> Matrix:
    """Return (n, dim) vectors of sentences, given as article id → positions, in the order of ``wanted``."""
    parts: list[Any] = []
    for ids in batches(wanted, 100):
        with store.reading() as r:
            blocks = r.embeddings.get(model.id, ids)
        parts += [blocks[i][wanted[i]] for i in ids]
    return stacked(parts)


def stacked(parts: Sequence[Any]) -> Any:
    """Concatenate matrices with the same number of columns, dense or CSR."""
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


def article_groups(articles: Sequence[ArticleRecord]) -> Iterator[list[ArticleRecord]]:
    """Yield groups of whole articles with about ``BATCH_SENTENCES`` sentences."""
    group: list[ArticleRecord] = []
    for article in articles:
        group.append(article)
        if sum(a.sentences for a in group) >= BATCH_SENTENCES:
            yield group
            group = []
    if group:
        yield group
