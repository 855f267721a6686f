"""Operations on the error notebook of a corpus."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from themescope.core.records.answers import CaseInNotebook, Page
from themescope.core.records.measured import ErrorCategory
from themescope.core.records.stored import ErrorCase
from themescope.db.repositories.base import NAME_LIMIT
from themescope.jobs.api.problems import WRITING, Body, BodyId, CallerNow, Flag, Id, Limit, Offset, Sentences, responses
from themescope.jobs.services.notebook.cases import Finding, sentence_case
from themescope.jobs.services.sentences import known_corpus

NOTE_LIMIT = 10_000
router = APIRouter(tags=["error cases"], responses=responses())
_FOUND, _CHANGED = responses(404), responses(404, *WRITING)


class NewErrorCase(Body):
    """Sentences to add to the error notebook as one case."""

    sentences: Sentences
    source: str = Field(
        "a program", min_length=1, max_length=200, description="Where it was found.", examples=["model default"]
    )
    note: str = Field("", max_length=NOTE_LIMIT)


class NewErrorNote(Body):
    """A note on a case."""

    text: str = Field(min_length=1, max_length=NOTE_LIMIT)


class NewErrorCategory(Body):
    """A category of errors."""

    name: str = Field(min_length=1, max_length=NAME_LIMIT, examples=["negation"])
    description: str = Field("", max_length=NOTE_LIMIT)


class NewErrorCode(Body):
    """A category to give to a case, or to take back."""

    category_id: BodyId | None = Field(description="Null: no category applies.", examples=[1])
    given: Flag = True


@router.get("/corpora/{corpus_id}/error-cases", responses=_FOUND)
def list_error_cases(caller: CallerNow, corpus_id: Id, offset: Offset = 0, limit: Limit = 100) -> Page[CaseInNotebook]:
    """List the cases of the error notebook of a corpus, oldest first."""
    with caller.store.reading() as r:
        known_corpus(r, corpus_id)
        notebook = r.error_notebook.read(corpus_id)
    notes, categories = notebook.notes_of(), notebook.names_given()
    samples = {sample.id: sample.name for sample in notebook.samples}
    cases = [
        CaseInNotebook(
            case=case,
            notes=[note.text for note in notes.get(case.id, ())],
            categories=categories.get(case.id, {}),
            sample=samples.get(case.sample_id or 0, ""),
        )
        for case in notebook.cases[offset : offset + limit]
    ]
    return Page(cases, len(notebook.cases), offset)


@router.post("/corpora/{corpus_id}/error-cases", status_code=201, responses=_CHANGED)
def add_error_case(caller: CallerNow, corpus_id: Id, new: NewErrorCase) -> ErrorCase:
    """Add sentences as a case. The same sentences of the same source are one case."""
    with caller.store.reading() as r:
        known_corpus(r, corpus_id)
    case = sentence_case(caller.store, corpus_id, new.sentences, Finding(new.source), "")
    with caller.acting.writing() as w:
        return w.error_notebook.add(case, caller.actor.name, new.note)


@router.delete("/error-cases/{case_id}", status_code=204, responses=_CHANGED)
def delete_error_case(caller: CallerNow, case_id: Id) -> None:
    """Delete a case that you added, or, as an admin, any. It can be restored on the page Error notebook."""
    with caller.acting.writing() as w:
        w.error_notebook.get(case_id)
        w.error_notebook.delete([case_id], caller.actor.name)


@router.post("/error-cases/{case_id}/notes", status_code=204, responses=_CHANGED)
def add_error_note(caller: CallerNow, case_id: Id, new: NewErrorNote) -> None:
    """Add a note to a case."""
    with caller.acting.writing() as w:
        w.error_notebook.get(case_id)
        w.error_notebook.add_note(case_id, new.text, caller.actor.name)


@router.get("/corpora/{corpus_id}/error-categories", responses=_FOUND)
def list_error_categories(caller: CallerNow, corpus_id: Id) -> list[ErrorCategory]:
    """List the categories of the error notebook of a corpus, also deleted and merged ones."""
    with caller.store.reading() as r:
        known_corpus(r, corpus_id)
        return r.error_categories.list(corpus_id)


@router.post("/corpora/{corpus_id}/error-categories", status_code=201, responses=_CHANGED)
def add_error_category(caller: CallerNow, corpus_id: Id, new: NewErrorCategory) -> ErrorCategory:
    """Add a category to the error notebook."""
    with caller.acting.writing() as w:
        known_corpus(w, corpus_id)
        return w.error_categories.add(corpus_id, new.name, new.description, caller.actor.name)


@router.post("/error-cases/{case_id}/categories", status_code=204, responses=_CHANGED)
def code_error_case(caller: CallerNow, case_id: Id, new: NewErrorCode) -> None:
    """Give a category to a case, or take it back."""
    with caller.acting.writing() as w:
        w.error_notebook.get(case_id)
        if new.category_id is not None:
            w.error_categories.get(new.category_id)
        w.error_categories.code(case_id, new.category_id, caller.actor.name, new.given)
