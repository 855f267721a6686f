"""Uploads of files for jobs, and of sentences: a new list whose themes are found, or a wave of a corpus."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BeforeValidator, Field
from starlette.concurrency import run_in_threadpool

from themescope.core.errors import DataError, DuplicateNameError
from themescope.core.records.answers import UploadedFile
from themescope.core.records.stored import JobSummary
from themescope.core.text.languages import language_shares, sampled
from themescope.db.access import Right
from themescope.db.store import Store
from themescope.db.types import NAME_LIMIT
from themescope.jobs.api.problems import WHOLE, WRITING, Body, CallerNow, Flag, Id, responses
from themescope.jobs.common.files import new_folder, safe_name
from themescope.jobs.common.importing.columns import KEEP
from themescope.jobs.common.importing.columns import LEAVE_OUT as OMIT
from themescope.jobs.common.models import splitting_language
from themescope.jobs.kinds.import_corpus import READER, list_settings
from themescope.jobs.queue import control
from themescope.jobs.services import pipeline
from themescope.jobs.services.pipeline import queue_wave
from themescope.jobs.services.search import known_corpus

PATH = "/files"
"""Where files are uploaded, which may be larger than other requests."""
MOST_TEXTS = 1_000_000
router = APIRouter(responses=responses())
_CHANGED = responses(404, *WRITING)
_BINARY = {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
_DETECTED = 300
_TEXT, _GROUP = "sentence", "group"


class NewSentences(Body):
    """Sentences, each of which becomes one, whatever signs stand in it."""

    sentences: list[str] = Field(
        min_length=1, max_length=MOST_TEXTS,
        description="Empty ones are left out, and counted in the result of the job.",
        examples=[["Wind farms disturb birds.", "Solar power is cheap."]],
    )  # fmt: skip
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


@router.post(PATH, status_code=201, responses=_CHANGED, tags=["files"], openapi_extra={"requestBody": _BINARY})
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


@router.post("/themes", status_code=201, responses=_CHANGED, tags=["themes"])
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
    return [*pipeline.queue_list(caller.store, args, pipeline.Choices(new.model, settings))]


@router.post("/corpora/{corpus_id}/sentences", status_code=201, responses=_CHANGED, tags=["corpora"])
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
