"""Search in the sentences of a corpus: by text, by whole words, by meaning."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from themescope.core.client.records import Match, SearchResult
from themescope.core.errors import DataError
from themescope.core.types import Ids, Matrix
from themescope.db.records import ModelRecord
from themescope.db.store import Store
from themescope.db.types import clean_text
from themescope.jobs.common.languages import corpus_shares
from themescope.jobs.common.model_choice import best_first
from themescope.jobs.services import inference, search
from themescope.jobs.services.remote.corpora import known_corpus, known_sentence, placed_sentences, sentences_of_ids


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
    return SearchResult([Match(known[i], None) for i in page.tolist()], len(ids), offset, None, "")


def _ids(store: Store, corpus_id: int, text: str, method: SearchMethod) -> Ids:
    if method is SearchMethod.WORDS:
        return search.sentences_with_words(store, corpus_id, text)
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
    index = search.index_of(store, model.id, corpus_id) if limit < search.MOST_CANDIDATES else None
    wanted = limit + 1  # the sentence itself is its nearest neighbour
    if index is None:
        near = search.nearest(store, model, corpus_id, vector, wanted)
    else:
        near = search.near(store, model, index, vector, wanted)
    places = [*zip(near.articles.tolist(), near.positions.tolist(), strict=True)]
    cosine = dict(zip(places, near.cosines.tolist(), strict=True))
    with store.reading() as r:
        known = placed_sentences(r, r.corpora.sentences_at(places))
    found = [Match(s, cosine[s.article_id, s.position]) for s in known if s.id != query][:limit]
    return SearchResult(found, len(found), 0, model.id, search.recall_note(index) if index else "")


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
        return inference.query_vector(store, model, clean_text(query))
    with store.reading() as r:
        sentence = known_sentence(r, query)
    place = np.array([sentence.article_id]), np.array([sentence.position])
    return next(vectors for _, vectors in inference.stored_blocks(store, model, *place))
