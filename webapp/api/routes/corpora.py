"""Operations on corpora, articles and sentences, and search."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from themescope.core.client.records import (
    Article,
    Column,
    Corpus,
    ErrorCase,
    Page,
    SearchResult,
    Section,
    Selection,
    Sentence,
)
from themescope.jobs.services.remote import corpora, error_cases, search
from themescope.jobs.services.remote.search import SearchMethod
from themescope.webapp.api.access import CallerNow
from themescope.webapp.api.parameters import MOST_ID, Id, Limit, Offset
from themescope.webapp.api.problems import responses

router = APIRouter(tags=["corpora"], responses=responses())
_FOUND = responses(404)
_Model = Annotated[
    int | None,
    Query(ge=1, le=MOST_ID, description="Model; by default the best validated one with vectors of the corpus."),
]


@router.get("/corpora")
def list_corpora(caller: CallerNow) -> list[Corpus]:
    """List all corpora, oldest first."""
    return corpora.corpora(caller.store)


@router.get("/corpora/{corpus_id}", responses=_FOUND)
def get_corpus(caller: CallerNow, corpus_id: Id) -> Corpus:
    """Return a corpus."""
    return corpora.corpus(caller.store, corpus_id)


@router.get("/corpora/{corpus_id}/columns", responses=_FOUND)
def list_columns(caller: CallerNow, corpus_id: Id) -> list[Column]:
    """List the columns of a corpus with their types, those of articles first."""
    return corpora.columns(caller.store, corpus_id)


@router.get("/corpora/{corpus_id}/articles", responses=_FOUND)
def list_articles(
    caller: CallerNow,
    corpus_id: Id,
    title: Annotated[str, Query(max_length=1_000, description="Text that the title contains.")] = "",
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[Article]:
    """List the articles of a corpus in their order."""
    return corpora.articles(caller.store, corpus_id, title, offset, limit)


@router.get("/corpora/{corpus_id}/sentences", responses=_FOUND)
def list_sentences(caller: CallerNow, corpus_id: Id, offset: Offset = 0, limit: Limit = 100) -> Page[Sentence]:
    """List the sentences of a corpus in reading order."""
    return corpora.sentences(caller.store, corpus_id, offset, limit)


@router.get("/corpora/{corpus_id}/search", responses=responses(404, 409), tags=["search"])
def search_sentences(
    caller: CallerNow,
    corpus_id: Id,
    text: Annotated[str, Query(min_length=1, max_length=5_000, description="Text to search for.", examples=["river"])],
    method: Annotated[
        SearchMethod,
        Query(
            description="“text”: sentences that contain the text; “words”: that contain all its words; “meaning”: the "
            "sentences whose vectors are the most similar to that of the text."
        ),
    ] = SearchMethod.TEXT,
    model_id: _Model = None,
    offset: Offset = 0,
    limit: Limit = 20,
) -> SearchResult:
    """Search the sentences of a corpus. Only a search by meaning uses a model, and it has no offset."""
    if method is SearchMethod.MEANING:
        return search.find_similar(caller.store, corpus_id, text, model_id, limit)
    return search.find(caller.store, corpus_id, text, method, offset, limit)


@router.get("/corpora/{corpus_id}/error-cases", responses=_FOUND, tags=["error cases"])
def list_error_cases(caller: CallerNow, corpus_id: Id, offset: Offset = 0, limit: Limit = 100) -> Page[ErrorCase]:
    """List the cases of the error notebook of a corpus, oldest first."""
    return error_cases.error_cases(caller.store, corpus_id, offset, limit)


@router.get("/articles/{article_id}", responses=_FOUND)
def get_article(caller: CallerNow, article_id: Id) -> Article:
    """Return an article without its text."""
    return corpora.article(caller.store, article_id)


@router.get("/articles/{article_id}/sections", responses=_FOUND)
def list_sections(caller: CallerNow, article_id: Id) -> list[Section]:
    """List the sections of an article in their order."""
    return corpora.sections(caller.store, article_id)


@router.get("/articles/{article_id}/sentences", responses=_FOUND)
def list_sentences_of_article(
    caller: CallerNow, article_id: Id, offset: Offset = 0, limit: Limit = 100
) -> Page[Sentence]:
    """List the sentences of an article in reading order."""
    return corpora.article_sentences(caller.store, article_id, offset, limit)


@router.get("/sentences/{sentence_id}", responses=_FOUND)
def get_sentence(caller: CallerNow, sentence_id: Id) -> Sentence:
    """Return a sentence."""
    return corpora.sentence(caller.store, sentence_id)


@router.get("/sentences/{sentence_id}/similar", responses=responses(404, 409), tags=["search"])
def list_similar_sentences(
    caller: CallerNow,
    sentence_id: Id,
    model_id: _Model = None,
    limit: Limit = 20,
) -> SearchResult:
    """List the sentences of the same corpus with the largest cosine similarity, best first."""
    article = corpora.article(caller.store, corpora.sentence(caller.store, sentence_id).article_id)
    return search.find_similar(caller.store, article.corpus_id, sentence_id, model_id, limit)


@router.get("/corpora/{corpus_id}/selections", responses=_FOUND, tags=["selections"])
def list_selections(caller: CallerNow, corpus_id: Id) -> list[Selection]:
    """List the named selections of a corpus, newest first."""
    return corpora.selections(caller.store, corpus_id)


@router.get("/selections/{selection_id}", responses=_FOUND, tags=["selections"])
def get_selection(caller: CallerNow, selection_id: Id) -> Selection:
    """Return a selection, also one that was only shared as a link."""
    return corpora.selection(caller.store, selection_id)


@router.get("/selections/{selection_id}/sentences", responses=_FOUND, tags=["selections"])
def list_selected_sentences(
    caller: CallerNow, selection_id: Id, offset: Offset = 0, limit: Limit = 100
) -> Page[Sentence]:
    """List the sentences of a selection in reading order."""
    return corpora.selected_sentences(caller.store, selection_id, offset, limit)
