"""Operations on corpora, articles and sentences, and search."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BeforeValidator, Field
from starlette.concurrency import run_in_threadpool

from themescope.core.errors import DataError, DuplicateNameError
from themescope.core.records.answers import LocatedSentence, Page, SearchResult, UploadedFile
from themescope.core.records.stored import (
    ArticleRecord,
    ColumnRecord,
    CorpusEditRecord,
    CorpusSummary,
    JobSummary,
    SelectionRecord,
)
from themescope.core.text.languages import language_shares, sampled
from themescope.db.access import Right
from themescope.db.store import Store
from themescope.db.types import NAME_LIMIT
from themescope.jobs.api.problems import (
    MOST_ID,
    WHOLE,
    WRITING,
    Body,
    BodyId,
    CallerNow,
    Flag,
    Id,
    Limit,
    Offset,
    responses,
)
from themescope.jobs.common.columns import KEEP
from themescope.jobs.common.columns import LEAVE_OUT as OMIT
from themescope.jobs.common.files import new_folder, safe_name
from themescope.jobs.common.models import splitting_language
from themescope.jobs.kinds.import_corpus import READER, list_settings
from themescope.jobs.queue import control
from themescope.jobs.services import corpus_edits, pipeline, search
from themescope.jobs.services.pipeline import queue_wave
from themescope.jobs.services.search import (
    SearchMethod,
    known_corpus,
    known_sentence,
    located_sentences,
    sentences_of_ids,
)

router = APIRouter(tags=["corpora"], responses=responses())
_FOUND, _CHANGED = responses(404), responses(404, *WRITING)
_Model = Annotated[
    int | None,
    Query(ge=1, le=MOST_ID, description="Model; by default the best validated one with vectors of the corpus."),
]


@router.get("/corpora")
def list_corpora(caller: CallerNow) -> list[CorpusSummary]:
    """List all corpora, oldest first."""
    with caller.store.reading() as r:
        return [*r.corpora.list()]


@router.get("/corpora/{corpus_id}", responses=_FOUND)
def get_corpus(caller: CallerNow, corpus_id: Id) -> CorpusSummary:
    """Return a corpus."""
    with caller.store.reading() as r:
        return known_corpus(r, corpus_id)


class CorpusName(Body):
    """A new name."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_LIMIT)]


@router.patch("/corpora/{corpus_id}", responses=_CHANGED)
def rename_corpus(caller: CallerNow, corpus_id: Id, new: CorpusName) -> CorpusSummary:
    """Rename a corpus. Not possible while one of its jobs waits or runs. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    with caller.store.writing() as w:
        return w.corpora.rename(known_corpus(w, corpus_id).id, new.name)


@router.delete("/corpora/{corpus_id}", status_code=204, responses=_CHANGED)
def delete_corpus(caller: CallerNow, corpus_id: Id) -> None:
    """Delete a corpus with everything made of it. This cannot be undone. Requires the admin role."""
    with caller.store.writing() as w:
        w.corpora.delete(known_corpus(w, corpus_id).id)


@router.get("/corpora/{corpus_id}/columns", responses=_FOUND)
def list_columns(caller: CallerNow, corpus_id: Id) -> list[ColumnRecord]:
    """List the columns of a corpus with their types, those of articles first."""
    with caller.store.reading() as r:
        known_corpus(r, corpus_id)
        return r.columns.list(corpus_id)


@router.get("/corpora/{corpus_id}/articles", responses=_FOUND)
def list_articles(
    caller: CallerNow,
    corpus_id: Id,
    title: Annotated[str, Query(max_length=1_000, description="Text that the title contains.")] = "",
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[ArticleRecord]:
    """List the articles of a corpus in their order."""
    with caller.store.reading() as r:
        known_corpus(r, corpus_id)
        found = r.corpora.articles(corpus_id, title, offset=offset, limit=limit)
        return Page(found, r.corpora.count_articles(corpus_id, title), offset)


@router.get("/corpora/{corpus_id}/sentences", responses=_FOUND)
def list_sentences(caller: CallerNow, corpus_id: Id, offset: Offset = 0, limit: Limit = 100) -> Page[LocatedSentence]:
    """List the sentences of a corpus in reading order."""
    with caller.store.reading() as r:
        total = known_corpus(r, corpus_id).sentences
        return Page(located_sentences(r, r.corpora.sentence_page(corpus_id, offset, limit)), total, offset)


@router.get("/corpora/{corpus_id}/search", responses=responses(404, 409), tags=["search"])
def search_sentences(
    caller: CallerNow,
    corpus_id: Id,
    text: Annotated[str, Query(pattern=r"\S", max_length=5_000, description="Text to search for.", examples=["river"])],
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


class WaveRemoval(Body):
    """A wave to remove."""

    wave: str = Field(min_length=1, max_length=1_000, description="Name of the wave.")


class ArticleRemoval(Body):
    """Articles to remove."""

    articles: list[BodyId] = Field(min_length=1, max_length=10_000)


class TextCorrection(Body):
    """A sentence and its corrected text."""

    sentence: BodyId
    text: str = Field(min_length=1, max_length=corpus_edits.TEXT_LIMIT)


@router.get("/corpora/{corpus_id}/edits", responses=_FOUND)
def list_edits(caller: CallerNow, corpus_id: Id) -> list[CorpusEditRecord]:
    """List what was removed and corrected, oldest first, also what was undone. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    with caller.store.reading() as r:
        known_corpus(r, corpus_id)
        return r.corpus_edits.list(corpus_id)


@router.post("/corpora/{corpus_id}/edits", status_code=201, responses=_CHANGED)
def edit_corpus(
    caller: CallerNow, corpus_id: Id, edit: WaveRemoval | ArticleRemoval | TextCorrection
) -> CorpusEditRecord:
    """Remove a wave or articles, or correct a text. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    with caller.store.reading() as r:
        known_corpus(r, corpus_id)
    store, person = caller.store, caller.actor.name
    if isinstance(edit, WaveRemoval):
        return corpus_edits.remove_wave(store, corpus_id, edit.wave, person)
    if isinstance(edit, ArticleRemoval):
        return corpus_edits.remove_articles(store, corpus_id, edit.articles, person)
    return corpus_edits.correct_text(store, corpus_id, edit.sentence, edit.text, person)


@router.post("/corpora/{corpus_id}/edits/{edit_id}/undo", responses=_CHANGED)
def undo_edit(caller: CallerNow, corpus_id: Id, edit_id: Id) -> CorpusEditRecord:
    """Undo an edit: removed sentences come back with their labels. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    return corpus_edits.undo(caller.store, corpus_id, edit_id, caller.actor.name).edit


@router.get("/articles/{article_id}/sentences", responses=_FOUND)
def list_sentences_of_article(
    caller: CallerNow, article_id: Id, offset: Offset = 0, limit: Limit = 100
) -> Page[LocatedSentence]:
    """List the sentences of an article in reading order."""
    with caller.store.reading() as r:
        total = r.corpora.article(article_id).sentences
        found = r.corpora.sentences_at([(article_id, place) for place in range(offset, offset + limit)])
        return Page(located_sentences(r, found), total, offset)


@router.get("/sentences/{sentence_id}/similar", responses=responses(404, 409), tags=["search"])
def list_similar_sentences(
    caller: CallerNow, sentence_id: Id, model_id: _Model = None, limit: Limit = 20
) -> SearchResult:
    """List the sentences of the same corpus with the largest cosine similarity, best first."""
    with caller.store.reading() as r:
        corpus_id = r.corpora.article(known_sentence(r, sentence_id).article_id).corpus_id
    return search.find_similar(caller.store, corpus_id, sentence_id, model_id, limit)


@router.get("/corpora/{corpus_id}/selections", responses=_FOUND, tags=["selections"])
def list_selections(caller: CallerNow, corpus_id: Id) -> list[SelectionRecord]:
    """List the named selections of a corpus, newest first."""
    with caller.store.reading() as r:
        known_corpus(r, corpus_id)
        return r.selections.list(corpus_id)


@router.delete("/selections/{selection_id}", status_code=204, responses=_CHANGED, tags=["selections"])
def delete_selection(caller: CallerNow, selection_id: Id) -> None:
    """Delete a selection that you made, or, as an admin, any."""
    with caller.store.writing() as w:
        w.selections.delete(selection_id)


@router.get("/selections/{selection_id}/sentences", responses=_FOUND, tags=["selections"])
def list_selected_sentences(
    caller: CallerNow, selection_id: Id, offset: Offset = 0, limit: Limit = 100
) -> Page[LocatedSentence]:
    """List the sentences of a selection in reading order."""
    with caller.store.reading() as r:
        ids = r.selections.ids(selection_id)
        found = sentences_of_ids(r, ids[offset : offset + limit].tolist())
    return Page([found[id] for id in sorted(found)], len(ids), offset)


# Uploads of files for jobs, and of sentences: a new list whose themes are found, or a wave of a corpus

PATH = "/files"
"""Where files are uploaded, which may be larger than other requests."""
MOST_TEXTS = 1_000_000
uploads_router = APIRouter(responses=responses())
_BINARY = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
_DETECTED = 300
_TEXT, _GROUP = "sentence", "group"


class NewSentences(Body):
    """Sentences, each of which becomes one, whatever signs stand in it."""

    sentences: list[str] = Field(
        min_length=1,
        max_length=MOST_TEXTS,
        description="Empty ones are left out, and counted in the result of the job.",
        examples=[["Wind farms disturb birds.", "Solar power is cheap."]],
    )
    groups: list[str] | None = Field(
        None, description="Group of each sentence, such as its source: a section of the corpus."
    )


class NewList(NewSentences):
    """A list of sentences whose themes are wanted."""

    corpus: str = Field("", max_length=NAME_LIMIT, description="Name of the new corpus; empty: “Sentences”, numbered.")
    language: str = Field("", max_length=2, description="Two-letter code; empty: detected.")
    model: str = Field("", max_length=NAME_LIMIT, description="Model; empty: the best one for the language.")
    k: Annotated[int, Field(ge=2, le=500), WHOLE] | None = Field(
        None, description="Number of themes; null: found in the data."
    )


def _iso(value: Any) -> datetime.date | None:
    """Return a date as JSON has it, and not a number of seconds, which pydantic would take for one, too."""
    if value is not None and not isinstance(value, str):
        raise ValueError("Input should be a date")
    return None if value is None else datetime.date.fromisoformat(value)


class NewWave(NewSentences):
    """Sentences to add to a corpus."""

    wave: str = Field(min_length=1, max_length=NAME_LIMIT, description="Name of the wave.", examples=["2026-11"])
    date: Annotated[datetime.date | None, BeforeValidator(_iso)] = Field(
        None, description="Its date, such as 2026-11-26."
    )
    only_new: Flag = Field(False, description="Leave out texts that the corpus has already; they are counted.")


@uploads_router.post(PATH, status_code=201, responses=_CHANGED, tags=["files"], openapi_extra={"requestBody": _BINARY})
async def upload_file(
    caller: CallerNow,
    request: Request,
    name: Annotated[str, Query(pattern=r"\S", max_length=200, description="Name of the file.", examples=["a.csv"])],
) -> UploadedFile:
    """Upload a file, the body of the request. Its path is for the arguments of a job. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    path = await run_in_threadpool(new_folder, caller.store.settings.home) / safe_name(name)
    size = 0
    try:
        with path.open("xb") as out:
            async for piece in request.stream():
                size += len(piece)
                await run_in_threadpool(out.write, piece)
    except BaseException:  # the connection was lost: what arrived is no file
        path.unlink(missing_ok=True)
        raise
    return UploadedFile(name=path.name, path=str(path), bytes=size)


@uploads_router.post("/themes", status_code=201, responses=_CHANGED, tags=["themes"])
def find_themes(caller: CallerNow, new: NewList) -> list[JobSummary]:
    """Import a list of sentences, and find its themes. Requires the admin role.

    The answer are the jobs; the one of the kind “find-themes” has the id of the run in its result.
    """
    caller.actor.require(Right.MANAGE)
    with caller.store.reading() as r:
        corpus = r.corpora.usable_name(new.corpus or "Sentences")
    if new.corpus and corpus != new.corpus.strip():
        raise DuplicateNameError("corpus", new.corpus)
    path, settings = _kept(caller.store, new, corpus), {} if new.k is None else {"k": new.k}
    language = new.language or splitting_language(language_shares(sampled(new.sentences, _DETECTED)))
    args = {"file": str(path), "corpus": corpus, "column": _TEXT, "language": language}
    args |= {"group": _GROUP} if new.groups else {}
    job = control.enqueue(caller.store, "import-list", args, title=f"Import {corpus}")
    choices = pipeline.Choices(new.model, settings)
    return [job, *pipeline.queue_pipeline(caller.store, corpus, language, choices, job.id)]


@uploads_router.post("/corpora/{corpus_id}/sentences", status_code=201, responses=_CHANGED, tags=["corpora"])
def append_sentences(caller: CallerNow, corpus_id: Id, new: NewWave) -> list[JobSummary]:
    """Add sentences to a corpus as a wave, and place them in its maps and labellings. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    with caller.store.reading() as r:
        corpus = known_corpus(r, corpus_id).name
    settings = list_settings(new.wave, _TEXT, _GROUP if new.groups else "")
    wave, duplicates = {"corpus": corpus, "wave": new.wave}, OMIT if new.only_new else KEEP
    args = {"files": [str(_kept(caller.store, new, new.wave))], "reader": READER, "settings": settings, **wave}
    job = control.enqueue(
        caller.store, "append-corpus", {**args, "date": str(new.date or ""), "duplicates": duplicates}
    )
    return [job, *queue_wave(caller.store, corpus, new.wave, job.id)]


def _kept(store: Store, new: NewSentences, name: str) -> Path:
    """Write sentences into a file of JSON lines, in which a text may contain any sign, and return its path."""
    if new.groups and len(new.groups) != len(new.sentences):
        raise DataError(f"There are {len(new.sentences):,} sentences and {len(new.groups):,} groups.")
    path = new_folder(store.settings.home) / f"{safe_name(name)}.jsonl"
    with path.open("x", encoding="utf-8") as out:
        for row, text in enumerate(new.sentences):
            group = {_GROUP: new.groups[row]} if new.groups else {}
            out.write(json.dumps({_TEXT: text, **group}) + "\n")
    return path
