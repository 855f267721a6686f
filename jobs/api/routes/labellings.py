"""Operations on labellings and their codebooks. Each change is a step of the history, which its person can undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response, StreamingResponse

from themescope.core.errors import DataError, UnknownNameError
from themescope.core.labelling import changes, coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ClusterChange, StaleChangeError, Step
from themescope.core.labelling.codebook.entries import PortableCode
from themescope.core.labelling.operations import NOTE_LIMIT
from themescope.core.labelling.partition import NAME_LIMIT, UNASSIGNED, Partition, combinations
from themescope.core.records.answers import (
    ItemRecord,
    LabelledCluster,
    LabellingState,
    Page,
    PersonRecord,
    SentenceLabel,
    TaskRecord,
)
from themescope.core.records.stored import LabellingRecord, PredictionRecord, Sharing
from themescope.core.types import Ids
from themescope.db.access import Right
from themescope.db.records import NewLabelling, Snapshot
from themescope.db.types import clean_text
from themescope.jobs.api.problems import (
    MOST_ID,
    WHOLE,
    WRITING,
    Body,
    BodyId,
    Caller,
    CallerNow,
    Flag,
    Id,
    Limit,
    Offset,
    Sentences,
    SomeId,
    WithColumns,
    responses,
)
from themescope.jobs.api.routes import runs
from themescope.jobs.api.routes.runs import FILE, ExportFormat, attachment, download
from themescope.jobs.common.labelled import provenance_of
from themescope.jobs.services import tasks
from themescope.jobs.services.labelling import codebook, starts
from themescope.jobs.services.labelling.agreement import known_labelling
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.search import check_corpus, known_corpus, sentences_of_ids
from themescope.jobs.services.selections import theme_record

SELECTED = "api"
"""Selection method of steps that come from outside of the pages."""
router = APIRouter(tags=["labellings"], responses=responses())
_FOUND, _CHANGED = responses(404), responses(404, *WRITING)


class LabellingStart(StrEnum):
    """Initial state of a new labelling."""

    NOTHING = "nothing"
    """All sentences are unassigned."""
    SECTIONS = "sections"
    """One cluster per heading."""
    THEMES = "themes"
    """The themes of a run."""
    LABELLING = "labelling"
    """The current state of another labelling."""
    PREDICTIONS = "predictions"
    """The newest predictions of another labelling, also of the sentences that people labelled."""


class LabellingToCreate(Body):
    """A labelling to create."""

    corpus_id: BodyId
    name: Name
    article_id: BodyId | None = Field(None, description="The article to label; by default the whole corpus.")
    shared: Flag = Field(False, description="Whether everybody may change it.")
    start: LabellingStart = Field(
        LabellingStart.NOTHING,
        description="Initial state: “nothing” assigned, the “sections” of the text, the “themes” of a run, the "
        "current state of another “labelling”, or its “predictions”.",
    )
    source_id: BodyId | None = Field(None, description="Id of the run or the labelling that “start” copies.")
    several_codes: Flag = Field(False, description="Whether a sentence may have several codes.")


class LabellingChange(Body):
    """A new name, or whether everybody may change it; null: as it is."""

    name: Name | None = None
    shared: Flag | None = None


@router.get("/labellings", responses=_FOUND)
def list_labellings(caller: CallerNow, corpus_id: SomeId = None) -> list[LabellingRecord]:
    """List all labellings (of one corpus), oldest first."""
    with caller.store.reading() as r:
        check_corpus(r, corpus_id)
        return r.labellings.list(corpus_id)


@router.post("/labellings", status_code=201, responses=_CHANGED)
def create_labelling(caller: CallerNow, new: LabellingToCreate) -> LabellingRecord:
    """Create a labelling of your own; its name is numbered if taken."""
    if new.start not in (LabellingStart.NOTHING, LabellingStart.SECTIONS) and new.source_id is None:
        raise DataError("Name the run or the labelling to copy as the source.")
    source_id, article_id = new.source_id or 0, new.article_id
    with caller.store.reading() as r:
        known_corpus(r, new.corpus_id)
        if article_id is not None and r.corpora.article(article_id).corpus_id != new.corpus_id:
            raise UnknownNameError("article of this corpus", str(article_id), None)
        of_source = new.corpus_id
        if new.start is LabellingStart.THEMES:
            of_source = int(theme_record(r, source_id).found["corpus_id"])
        elif new.start in (LabellingStart.LABELLING, LabellingStart.PREDICTIONS):
            source = known_labelling(r, source_id)
            of_source, article_id = source.corpus_id, source.article_id
        if of_source != new.corpus_id:
            raise DataError("The source is of another corpus. Choose a source of the same corpus.")
    initial = {
        LabellingStart.NOTHING: starts.from_nothing,
        LabellingStart.SECTIONS: starts.from_sections,
        LabellingStart.THEMES: starts.from_themes(source_id),
        LabellingStart.LABELLING: starts.from_labelling(source_id),
        LabellingStart.PREDICTIONS: starts.from_predictions(source_id),
    }
    sharing = Sharing.SHARED if new.shared else Sharing.OWN
    wanted = NewLabelling(new.corpus_id, clean_text(new.name), caller.actor.name, sharing, article_id=article_id)
    start = initial[new.start]
    return starts.begin(caller.store, wanted, starts.allowing_several(start) if new.several_codes else start)


@router.get("/labellings/{labelling_id}", responses=_FOUND)
def get_labelling(caller: CallerNow, labelling_id: Id) -> LabellingState:
    """Return a labelling with its clusters."""
    with caller.store.reading() as r:
        record, snapshot = known_labelling(r, labelling_id), r.labellings.snapshot(labelling_id)
        undo = changes.undo_state(r.label_steps.list(labelling_id), caller.actor.name)
    sizes = snapshot.partition.sizes()
    clusters, combined = snapshot.partition.clusters.values(), combinations(snapshot.partition)
    return LabellingState(
        labelling=record,
        clusters=[
            LabelledCluster(c.number, c.name, sizes[c.number], c.parent, sorted(combined.get(c.number, ())))
            for c in clusters
        ],
        unassigned=sizes[UNASSIGNED],
        step=snapshot.step,
        can_undo=bool(undo.undoable),
        can_redo=bool(undo.redoable),
    )


@router.patch("/labellings/{labelling_id}", responses=_CHANGED)
def change_labelling(caller: CallerNow, labelling_id: Id, new: LabellingChange) -> LabellingRecord:
    """Rename a labelling, or share it."""
    caller.actor.require(Right.LABEL)
    person = caller.actor.name
    with caller.store.writing() as w:
        record = known_labelling(w, labelling_id)
        w.labellings.check_editable(labelling_id, person, caller.actor.role)
        if new.name is not None:
            record = w.labellings.rename(labelling_id, clean_text(new.name), person)
        if new.shared is not None:
            kind = Sharing.SHARED if new.shared else Sharing.OWN
            record = w.labellings.share(labelling_id, kind, record.blind, person)
    return record


@router.delete("/labellings/{labelling_id}", status_code=204, responses=_CHANGED)
def delete_labelling(caller: CallerNow, labelling_id: Id) -> None:
    """Delete a labelling. Its owner or an admin can restore it."""
    with caller.store.writing() as w:
        known_labelling(w, labelling_id)
        w.labellings.delete(labelling_id, caller.actor.name)


@router.post("/labellings/{labelling_id}/restore", responses=_CHANGED)
def restore_labelling(caller: CallerNow, labelling_id: Id) -> LabellingRecord:
    """Restore a deleted labelling of yours; as an admin, any."""
    with caller.store.writing() as w:
        w.labellings.get(labelling_id)
        w.labellings.restore(labelling_id, caller.actor.name)
        return known_labelling(w, labelling_id)


@router.get("/labellings/{labelling_id}/labels", responses=_FOUND)
def list_labels(
    caller: CallerNow,
    labelling_id: Id,
    cluster: Annotated[
        int | None, Query(ge=-1, le=MOST_ID, description="Number of a cluster, or -1 for unassigned sentences.")
    ] = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[SentenceLabel]:
    """List the sentences of a labelling with their clusters in reading order."""
    with caller.store.reading() as r:
        record = known_labelling(r, labelling_id)
        shown, total = r.labellings.page(labelling_id, cluster, offset, limit)
        if cluster is not None and cluster != UNASSIGNED:
            _known_cluster(shown, cluster)
        known, made = sentences_of_ids(r, shown.ids.tolist()), provenance_of(r, record, shown)
    labels = []
    for row, (id, number) in enumerate(zip(shown.ids.tolist(), shown.numbers.tolist(), strict=True)):
        assigned = number != UNASSIGNED
        name = shown.clusters[number].name if assigned else ""
        about = name, bool(shown.uncertain[row]), shown.notes.get(id, "")
        labels.append(SentenceLabel(known[id], number if assigned else None, *about, *made.cells(row)))
    return Page(labels, total, offset)


@router.get("/labellings/{labelling_id}/steps", responses=_FOUND)
def list_steps(caller: CallerNow, labelling_id: Id, offset: Offset = 0, limit: Limit = 100) -> Page[Step]:
    """List the history of a labelling, newest first."""
    with caller.store.reading() as r:
        known_labelling(r, labelling_id)
        steps = r.label_steps
        return Page(steps.list(labelling_id, limit=limit, offset=offset)[::-1], steps.count(labelling_id), offset)


@router.get("/labellings/{labelling_id}/export", responses=FILE, response_class=StreamingResponse, tags=["exports"])
def export_labels(
    caller: CallerNow, labelling_id: Id, format: ExportFormat = ExportFormat.CSV, columns: WithColumns = False
) -> StreamingResponse:
    """Export every sentence of a labelling with its cluster as a file."""
    return download(runs.labels(caller.store, labelling_id, columns), format)


@router.post("/labellings/{labelling_id}/assign", responses=_CHANGED)
def assign(caller: CallerNow, labelling_id: Id, change: Assignment) -> Step | None:
    """Put sentences into a cluster. The answer is null if they are there already."""
    return _do(
        caller, labelling_id, change, lambda p: op.assign(p, _ids(change.sentences), _known_cluster(p, change.cluster))
    )


@router.post("/labellings/{labelling_id}/codes", responses=_CHANGED)
def give_code(caller: CallerNow, labelling_id: Id, change: CodeChange) -> Step | None:
    """Give sentences a code besides those that they have, or take it away, where the labelling allows several."""
    session, turn = labelling_session(caller, labelling_id), coding.remove_code if change.remove else coding.add_code
    code = _known_cluster(session.partition, change.code)
    made = turn(session.partition, _ids(change.sentences), code, session.next_number)
    return store_change(session, change, made)


@router.post("/labellings/{labelling_id}/unassign", responses=_CHANGED)
def unassign(caller: CallerNow, labelling_id: Id, change: SentenceChange) -> Step | None:
    """Remove sentences from their clusters."""
    return _do(caller, labelling_id, change, lambda p: op.unassign(p, _ids(change.sentences)))


@router.post("/labellings/{labelling_id}/mark", responses=_CHANGED)
def mark(caller: CallerNow, labelling_id: Id, change: NewMark) -> Step | None:
    """Mark sentences as uncertain or certain."""
    return _do(caller, labelling_id, change, lambda p: op.mark(p, _ids(change.sentences), change.uncertain))


@router.post("/labellings/{labelling_id}/note", responses=_CHANGED)
def note(caller: CallerNow, labelling_id: Id, change: NewNote) -> Step | None:
    """Set the note of sentences."""
    return _do(caller, labelling_id, change, lambda p: op.note(p, _ids(change.sentences), change.text))


@router.post("/labellings/{labelling_id}/clusters", responses=_CHANGED)
def create_cluster(caller: CallerNow, labelling_id: Id, change: NewCluster) -> Step | None:
    """Create a cluster of the given sentences."""
    session = labelling_session(caller, labelling_id)
    made = op.create(session.partition, session.next_number, change.name, _ids(change.sentences))
    return store_change(session, change, made)


@router.patch("/labellings/{labelling_id}/clusters/{cluster}", responses=_CHANGED)
def rename_cluster(caller: CallerNow, labelling_id: Id, cluster: Id, change: ClusterName) -> Step | None:
    """Rename a cluster."""
    return _do(caller, labelling_id, change, lambda p: op.rename(p, _known_cluster(p, cluster), change.name))


@router.delete("/labellings/{labelling_id}/clusters/{cluster}", responses=_CHANGED)
def delete_cluster(caller: CallerNow, labelling_id: Id, cluster: Id) -> Step | None:
    """Delete a cluster; its sentences become unassigned."""
    return _do(caller, labelling_id, NewChange(), lambda p: op.delete(p, _known_cluster(p, cluster)))


@router.post("/labellings/{labelling_id}/merge", responses=_CHANGED)
def merge_clusters(caller: CallerNow, labelling_id: Id, change: Merge) -> Step | None:
    """Merge clusters into one of them."""
    session = labelling_session(caller, labelling_id)
    numbers = [_known_cluster(session.partition, number) for number in (*change.clusters, change.into)]
    return store_change(session, change, op.merge(session.partition, numbers[:-1], change.into))


@router.post("/labellings/{labelling_id}/undo", responses=_CHANGED)
def undo(caller: CallerNow, labelling_id: Id) -> Step | None:
    """Undo your last step. The answer is null if there is none."""
    return labelling_session(caller, labelling_id).undo()


@router.post("/labellings/{labelling_id}/redo", responses=_CHANGED)
def redo(caller: CallerNow, labelling_id: Id) -> Step | None:
    """Redo the step that you undid last. The answer is null if there is none."""
    return labelling_session(caller, labelling_id).redo()


def _do(
    caller: Caller, labelling_id: int, change: NewChange, operation: Callable[[Partition], op.Operation]
) -> Step | None:
    session = labelling_session(caller, labelling_id)
    return store_change(session, change, operation(session.partition))


def labelling_session(caller: Caller, labelling_id: int) -> LabellingSession:
    """Return the session in which the caller changes a labelling; raise ``AccessError`` if it may not be changed."""
    with caller.store.reading() as r:
        known_labelling(r, labelling_id)
        # Asked here too, because a change that changes nothing is never written, and so not refused there.
        caller.actor.require(Right.LABEL)
        r.labellings.check_editable(labelling_id, caller.actor.name, caller.actor.role)
    return LabellingSession(caller.store, labelling_id, caller.actor.name)


def store_change(session: LabellingSession, change: NewChange, made: op.Operation) -> Step | None:
    """Store a change as a step; raise ``StaleChangeError`` if others changed it after the last step that was seen."""
    if change.seen is not None:
        snapshot: Snapshot = session.snapshot
        touched = made.change_set.sentences()
        later = touched[snapshot.versions[snapshot.partition.rows(touched)] > change.seen]
        numbers = [c.number for c in made.change_set if isinstance(c, ClusterChange)]
        changed = [n for n in numbers if snapshot.cluster_versions.get(n, 0) > change.seen]
        if len(later) or changed:
            raise StaleChangeError(later.tolist(), changed)
    return session.do(replace(made, coder=clean_text(change.coder)), clean_text(change.reason), SELECTED)


def _ids(sentences: Sequence[int]) -> Ids:
    return np.array(sentences, dtype=np.int64)


def _known_cluster(partition: Partition, number: int) -> int:
    """Return the number of a cluster; raise ``UnknownNameError`` if there is none."""
    if number not in partition.clusters:
        raise UnknownNameError("cluster of this labelling", str(number), [str(n) for n in partition.clusters])
    return number


# Bodies of requests that change a labelling

Name = Annotated[str, Field(min_length=1, max_length=NAME_LIMIT, examples=["Economy"])]


class NewChange(Body):
    """What every change may say about itself."""

    reason: str = Field(default="", max_length=NOTE_LIMIT, description="Reason for the history.")
    seen: Annotated[int, Field(ge=0, le=MOST_ID), WHOLE] | None = Field(
        default=None,
        description="Id of the last step that you know. If somebody changed the same sentences or clusters after it, "
        "nothing is written, and the status is 409.",
    )
    coder: str = Field(
        default="",
        max_length=NAME_LIMIT,
        description="Name of the program or model that decides: the labels are then a machine's, and nothing is "
        "learned from them. Empty: you decide, and the labels are yours.",
    )


class Assignment(NewChange):
    """Sentences to put into a cluster."""

    sentences: Sentences
    cluster: BodyId


class CodeChange(NewChange):
    """Sentences to give a code, or to take it from."""

    sentences: Sentences
    code: BodyId
    remove: Flag = Field(False, description="Take the code away; the other codes of the sentences stay.")


class SentenceChange(NewChange):
    """Sentences to change."""

    sentences: Sentences


class NewCluster(NewChange):
    """A cluster to create."""

    name: Name
    sentences: Sentences


class ClusterName(NewChange):
    """A new name for a cluster."""

    name: Name


class Merge(NewChange):
    """Clusters to merge into one of them."""

    clusters: list[BodyId] = Field(min_length=1, max_length=10_000, examples=[[2, 3]])
    into: BodyId


class NewMark(SentenceChange):
    """Sentences to mark."""

    uncertain: Flag


class NewNote(SentenceChange):
    """Sentences to add a note to."""

    text: str = Field(max_length=NOTE_LIMIT, description="The note; “” removes it.")


# Operations on the codebook of a labelling, and on what was predicted for its other sentences

_MEDIA = {
    "md": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "qdc": "application/xml",
}


class CodebookFormat(StrEnum):
    """Format of a codebook."""

    MARKDOWN = "md"
    HTML = "html"
    JSON = "json"
    CSV = "csv"
    REFI_QDA = "qdc"


_CONTENT: dict[str, Any] = {media.partition(";")[0]: {"schema": {"type": "string"}} for media in _MEDIA.values()}
_CONTENT["application/json"] = {"schema": {"type": "object"}}
_FILE = {200: {"description": "The file.", "content": _CONTENT}, **responses(404, 409)}


@router.get("/labellings/{labelling_id}/codebook", responses=_FOUND)
def get_codebook(caller: CallerNow, labelling_id: Id) -> list[PortableCode]:
    """Return the codes of a labelling with their definitions and examples."""
    with caller.store.reading() as r:
        known_labelling(r, labelling_id)
    return codebook.exported(caller.store, labelling_id).codes


@router.get("/labellings/{labelling_id}/codebook/export", responses=_FILE, response_class=Response, tags=["exports"])
def export_codebook(caller: CallerNow, labelling_id: Id, format: CodebookFormat = CodebookFormat.MARKDOWN) -> Response:
    """Export the codebook of a labelling as a file."""
    with caller.store.reading() as r:
        name = known_labelling(r, labelling_id).name
    data = codebook.written(caller.store, labelling_id, format.value)
    return Response(data, headers=attachment(f"{name}.{format.value}"), media_type=_MEDIA[format.value])


@router.get("/labellings/{labelling_id}/predictions", responses=_FOUND)
def list_predictions(caller: CallerNow, labelling_id: Id) -> list[PredictionRecord]:
    """List what was predicted for the sentences without a label, with its measured quality, oldest first."""
    with caller.store.reading() as r:
        known_labelling(r, labelling_id)
        return r.predictions.list(labelling_id)


# Operations on labelling tasks, and the people of the store

task_router = APIRouter(tags=["tasks"], responses=responses())


@task_router.get("/people", tags=["account"])
def list_people(caller: CallerNow) -> list[PersonRecord]:
    """List the people with their roles. Requires the admin role."""
    caller.actor.require(Right.MANAGE)
    with caller.store.reading() as r:
        return r.people.list()


@task_router.get("/tasks", responses=_FOUND)
def list_tasks(caller: CallerNow, corpus_id: SomeId = None) -> list[TaskRecord]:
    """List the labelling tasks (of one corpus)."""
    with caller.store.reading() as r:
        check_corpus(r, corpus_id)
        return [tasks.shown_task(task, caller.actor) for task in r.tasks.list(corpus_id)]


@task_router.get("/tasks/{task_id}/items", responses=_FOUND)
def list_task_items(caller: CallerNow, task_id: Id) -> list[ItemRecord]:
    """List your items of a task in their order; as its maker or an admin, those of all people."""
    with caller.store.reading() as r:
        person = None if caller.actor.owns(r.tasks.get(task_id).person) else caller.actor.name
        return [tasks.shown_item(r, item, caller.actor) for item in tasks.items_of(r, task_id, person)]
