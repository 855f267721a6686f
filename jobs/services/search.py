"""Search in the sentences of a corpus: by text, by whole words, and by meaning.

A search by meaning is exact, or goes through the index of a large corpus with exact cosines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from themescope.core.compute.neighbours import CANDIDATES, NeighbourIndex, cosines, nearest_neighbours
from themescope.core.errors import DataError
from themescope.core.records.answers import Match, SearchResult
from themescope.core.text.tokens import tokenize
from themescope.core.types import Ids, Matrix
from themescope.db.records import ModelRecord, VectorIndexRecord
from themescope.db.sql import batches
from themescope.db.store import Store
from themescope.db.types import clean_text
from themescope.db.vector_files import VectorFiles
from themescope.jobs.common.indexes import index_installed, keys_of, place_of
from themescope.jobs.common.languages import corpus_shares
from themescope.jobs.common.model_choice import best_first
from themescope.jobs.services.inference import query_vector, stored_blocks
from themescope.jobs.services.sentences import known_corpus, known_sentence, located_sentences, sentences_of_ids

MOST_CANDIDATES = 2_000
"""Maximum number of candidates; reading the vectors of more takes longer than comparing all."""
_ARTICLES = 500


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Sentences near a query, nearest first."""

    articles: Ids
    """(n,) ids of their articles."""
    positions: Ids
    """(n,) their positions in the articles."""
    cosines: npt.NDArray[np.float32]
    """(n,) exact cosines to the query."""


def sentences_with_words(store: Store, corpus_id: int, text: str) -> Ids:
    """Return the ascending ids of the sentences of a corpus with all words of ``text``, ignoring case.

    The longest word selects the candidates whose texts are read.
    """
    words = set(_words(text))
    if not words:
        return np.empty(0, dtype=np.int64)
    with store.reading() as r:
        ids = r.corpora.sentences_with(corpus_id, max(words, key=lambda word: (len(word), word)))
        known = r.corpora.sentences_by_id(ids)
    return np.array([i for i in ids.tolist() if words.issubset(_words(known[i].text))], dtype=np.int64)


def _words(text: str) -> Sequence[str]:
    return [token.lower() for token in tokenize(text) if any(letter.isalnum() for letter in token)]


def nearest(store: Store, model: ModelRecord, corpus_id: int, query: Matrix, count: int) -> Neighbours:
    """Return the ``count`` sentences of a corpus nearest to the (1, dim) ``query`` by comparing all stored vectors."""
    with store.reading() as r:
        articles = sorted(r.embeddings.have(model.id, corpus_id))
    best = nearest_neighbours(query, _keyed_blocks(store, model.id, articles), count)
    owners, positions = place_of(np.array([key for key, _ in best], dtype=np.int64))
    return Neighbours(owners, positions, np.array([cosine for _, cosine in best], dtype=np.float32))


def _keyed_blocks(store: Store, model_id: int, articles: Sequence[int]) -> Iterator[tuple[Ids, Matrix]]:
    for ids in batches(articles, _ARTICLES):
        with store.reading() as r:
            blocks = r.embeddings.get(model_id, ids)
        for id, vectors in blocks.items():
            rows = np.arange(vectors.shape[0])
            yield keys_of(np.full(len(rows), id, np.int64), rows), vectors


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


class SearchMethod(StrEnum):
    """What a search compares."""

    TEXT = "text"
    """Sentences that contain the text; case is ignored."""
    WORDS = "words"
    """Sentences with all its words."""
    MEANING = "meaning"
    """Sentences whose vectors are the most similar to that of the text."""


def find(
    store: Store,
    corpus_id: int,
    text: str,
    method: SearchMethod = SearchMethod.TEXT,
    offset: int = 0,
    limit: int = 20,
) -> SearchResult:
    """Return the sentences of a corpus that contain a text or all its words, in reading order."""
    wanted = " ".join(clean_text(text).split())
    if not wanted:
        raise DataError("Enter a text to search for.")
    with store.reading() as r:
        known_corpus(r, corpus_id)
    ids = _ids(store, corpus_id, wanted, method)
    page = ids[offset : offset + limit]
    with store.reading() as r:
        known = sentences_of_ids(r, page.tolist())
    return SearchResult([Match(known[i], None) for i in page.tolist()], len(ids), offset, model_id=None, note="")


def _ids(store: Store, corpus_id: int, text: str, method: SearchMethod) -> Ids:
    if method is SearchMethod.WORDS:
        return sentences_with_words(store, corpus_id, text)
    with store.reading() as r:
        return r.corpora.sentences_with(corpus_id, text)


def find_similar(
    store: Store, corpus_id: int, query: str | int, model_id: int | None = None, limit: int = 20
) -> SearchResult:
    """Return the sentences with the largest cosine similarity to a text (str) or to a sentence (id), best first.

    Without ``model_id``, the best validated model with vectors of the corpus is used. Raises ``DataError`` if there is
    none, or if the model knows none of the words.
    """
    model = _model(store, corpus_id, model_id)
    vector = _vector(store, model, query)
    index = index_of(store, model.id, corpus_id) if limit < MOST_CANDIDATES else None
    wanted = limit + 1  # the sentence itself is its nearest neighbour
    if index is None:
        nearby = nearest(store, model, corpus_id, vector, wanted)
    else:
        nearby = near(store, model, index, vector, wanted)
    places = [*zip(nearby.articles.tolist(), nearby.positions.tolist(), strict=True)]
    cosine = dict(zip(places, nearby.cosines.tolist(), strict=True))
    with store.reading() as r:
        known = located_sentences(r, r.corpora.sentences_at(places))
    found = [Match(s, cosine[s.article_id, s.position]) for s in known if s.id != query][:limit]
    return SearchResult(found, len(found), 0, model.id, note=recall_note(index) if index else "")


def _model(store: Store, corpus_id: int, model_id: int | None) -> ModelRecord:
    with store.reading() as r:
        corpus = known_corpus(r, corpus_id)
        models = r.models.list() if model_id is None else [r.models.get(model_id)]
        embedded = [model for model in models if r.embeddings.have(model.id, corpus_id)]
    if not embedded:
        raise DataError(f"No model has vectors of the corpus {corpus.name!r}. Queue a job of the kind “embed” first.")
    return best_first(store, corpus_shares(corpus), corpus_id, models=embedded, across=corpus.articles > 1)[0]


def _vector(store: Store, model: ModelRecord, query: str | int) -> Matrix:
    """Return the (1, dim) vector of a text, or the stored one of a sentence."""
    if isinstance(query, str):
        return query_vector(store, model, clean_text(query))
    with store.reading() as r:
        sentence = known_sentence(r, query)
    place = np.array([sentence.article_id]), np.array([sentence.position])
    return next(vectors for _, vectors in stored_blocks(store, model, *place))
