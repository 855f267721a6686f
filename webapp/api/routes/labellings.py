"""Operations on labellings. Each change is a step of the history, which its person can undo."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import StreamingResponse

from themescope.core.client.records import Label, Labelling, LabellingState, Page, Step
from themescope.core.labelling.operations import NAME_LIMIT, NOTE_LIMIT
from themescope.jobs.services.remote import exports, labellings
from themescope.jobs.services.remote.labellings import LabellingChanges, Start
from themescope.webapp.api.access import Caller, CallerNow
from themescope.webapp.api.downloads import FILE, download
from themescope.webapp.api.parameters import (
    MOST_ID,
    Body,
    ClusterNumber,
    Id,
    Limit,
    Offset,
    SentenceId,
    Sentences,
    SomeId,
    WithColumns,
)
from themescope.webapp.api.problems import WRITING, responses

router = APIRouter(tags=["labellings"], responses=responses())
_FOUND, _CHANGED = responses(404), responses(404, *WRITING)
_Name = Annotated[str, Field(min_length=1, max_length=NAME_LIMIT, examples=["Economy"])]


class NewLabelling(Body):
    """A labelling to create."""

    corpus_id: Annotated[int, Field(ge=1, le=MOST_ID)]
    name: _Name
    article_id: Annotated[int, Field(ge=1, le=MOST_ID)] | None = Field(
        None, description="The article to label; by default the whole corpus."
    )
    shared: bool = Field(False, description="Whether everybody may change it.")
    start: Start = Field(
        Start.NOTHING,
        description="Initial state: “nothing” assigned, the “sections” of the text, the “themes” of a run, or the "
        "current state of another “labelling”.",
    )
    source_id: Annotated[int, Field(ge=1, le=MOST_ID)] | None = Field(
        None, description="Id of the run or the labelling that “start” copies."
    )


class NewName(Body):
    """A new name."""

    name: _Name


class Change(Body):
    """What every change may say about itself."""

    reason: str = Field("", max_length=NOTE_LIMIT, description="Reason for the history.")
    seen: Annotated[int, Field(ge=0, le=MOST_ID)] | None = Field(
        None,
        description="Id of the last step that you know. If somebody changed the same sentences or clusters after it, "
        "nothing is written, and the status is 409.",
    )


class Assignment(Change):
    """Sentences to put into a cluster."""

    sentences: Sentences
    cluster: ClusterNumber


class Selection(Change):
    """Sentences to change."""

    sentences: Sentences


class NewCluster(Change):
    """A cluster to create."""

    name: _Name
    sentences: list[SentenceId] = Field(default_factory=list, max_length=200_000, description="Possibly none.")


class ClusterName(Change):
    """A new name for a cluster."""

    name: _Name


class Merge(Change):
    """Clusters to merge into one of them."""

    clusters: list[ClusterNumber] = Field(min_length=1, max_length=10_000, examples=[[2, 3]])
    into: ClusterNumber


class NewMark(Selection):
    """Sentences to mark."""

    uncertain: bool


class NewNote(Selection):
    """Sentences to add a note to."""

    text: str = Field(max_length=NOTE_LIMIT, description="The note; “” removes it.")


def _changes(caller: Caller, labelling_id: int, change: Change | None = None) -> LabellingChanges:
    about = ("", None) if change is None else (change.reason, change.seen)
    return LabellingChanges(caller.store, caller.actor, labelling_id, *about)


@router.get("/labellings")
def list_labellings(caller: CallerNow, corpus_id: SomeId = None) -> list[Labelling]:
    """List all labellings (of one corpus), oldest first."""
    return labellings.labellings(caller.store, corpus_id)


@router.post("/labellings", status_code=201, responses=_CHANGED)
def create_labelling(caller: CallerNow, new: NewLabelling) -> Labelling:
    """Create a labelling of your own; its name is numbered if taken."""
    wanted = labellings.new_labelling(caller.actor, new.corpus_id, new.name, new.article_id, new.shared)
    return labellings.create(caller.store, caller.actor, wanted, new.start, new.source_id)


@router.get("/labellings/{labelling_id}", responses=_FOUND)
def get_labelling(caller: CallerNow, labelling_id: Id) -> LabellingState:
    """Return a labelling with its clusters."""
    return labellings.labelling(caller.store, caller.actor, labelling_id)


@router.patch("/labellings/{labelling_id}", responses=_CHANGED)
def rename_labelling(caller: CallerNow, labelling_id: Id, new: NewName) -> Labelling:
    """Rename a labelling."""
    return labellings.rename(caller.store, caller.actor, labelling_id, new.name)


@router.delete("/labellings/{labelling_id}", status_code=204, responses=_CHANGED)
def delete_labelling(caller: CallerNow, labelling_id: Id) -> None:
    """Delete a labelling. Its owner or an admin can restore it on the page Relabel."""
    labellings.delete(caller.store, caller.actor, labelling_id)


@router.get("/labellings/{labelling_id}/labels", responses=_FOUND)
def list_labels(
    caller: CallerNow,
    labelling_id: Id,
    cluster: Annotated[
        int | None, Query(ge=-1, le=MOST_ID, description="Number of a cluster, or -1 for unassigned sentences.")
    ] = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[Label]:
    """List the sentences of a labelling with their clusters in reading order."""
    return labellings.labels(caller.store, caller.actor, labelling_id, cluster, offset, limit)


@router.get("/labellings/{labelling_id}/steps", responses=_FOUND)
def list_steps(caller: CallerNow, labelling_id: Id, offset: Offset = 0, limit: Limit = 100) -> Page[Step]:
    """List the history of a labelling, newest first."""
    return labellings.steps(caller.store, caller.actor, labelling_id, offset, limit)


@router.get("/labellings/{labelling_id}/export", responses=FILE, response_class=StreamingResponse, tags=["exports"])
def export_labels(
    caller: CallerNow, labelling_id: Id, format: exports.Format = exports.Format.CSV, columns: WithColumns = False
) -> StreamingResponse:
    """Export every sentence of a labelling with its cluster as a file."""
    return download(exports.labels(caller.store, caller.actor, labelling_id, columns), format)


@router.post("/labellings/{labelling_id}/assign", responses=_CHANGED)
def assign(caller: CallerNow, labelling_id: Id, change: Assignment) -> Step | None:
    """Put sentences into a cluster. The answer is null if they are there already."""
    return _changes(caller, labelling_id, change).assign(change.sentences, change.cluster)


@router.post("/labellings/{labelling_id}/unassign", responses=_CHANGED)
def unassign(caller: CallerNow, labelling_id: Id, change: Selection) -> Step | None:
    """Remove sentences from their clusters."""
    return _changes(caller, labelling_id, change).unassign(change.sentences)


@router.post("/labellings/{labelling_id}/mark", responses=_CHANGED)
def mark(caller: CallerNow, labelling_id: Id, change: NewMark) -> Step | None:
    """Mark sentences as uncertain or certain."""
    return _changes(caller, labelling_id, change).mark(change.sentences, change.uncertain)


@router.post("/labellings/{labelling_id}/note", responses=_CHANGED)
def note(caller: CallerNow, labelling_id: Id, change: NewNote) -> Step | None:
    """Set the note of sentences."""
    return _changes(caller, labelling_id, change).note(change.sentences, change.text)


@router.post("/labellings/{labelling_id}/clusters", responses=_CHANGED)
def create_cluster(caller: CallerNow, labelling_id: Id, change: NewCluster) -> Step | None:
    """Create a cluster with the given sentences, possibly none."""
    return _changes(caller, labelling_id, change).create_cluster(change.name, change.sentences)


@router.patch("/labellings/{labelling_id}/clusters/{cluster}", responses=_CHANGED)
def rename_cluster(caller: CallerNow, labelling_id: Id, cluster: Id, change: ClusterName) -> Step | None:
    """Rename a cluster."""
    return _changes(caller, labelling_id, change).rename_cluster(cluster, change.name)


@router.delete("/labellings/{labelling_id}/clusters/{cluster}", responses=_CHANGED)
def delete_cluster(caller: CallerNow, labelling_id: Id, cluster: Id) -> Step | None:
    """Delete a cluster; its sentences become unassigned."""
    return _changes(caller, labelling_id).delete_cluster(cluster)


@router.post("/labellings/{labelling_id}/merge", responses=_CHANGED)
def merge_clusters(caller: CallerNow, labelling_id: Id, change: Merge) -> Step | None:
    """Merge clusters into one of them."""
    return _changes(caller, labelling_id, change).merge_clusters(change.clusters, change.into)


@router.post("/labellings/{labelling_id}/undo", responses=_CHANGED)
def undo(caller: CallerNow, labelling_id: Id) -> Step | None:
    """Undo your last step. The answer is null if there is none."""
    return _changes(caller, labelling_id).undo()


@router.post("/labellings/{labelling_id}/redo", responses=_CHANGED)
def redo(caller: CallerNow, labelling_id: Id) -> Step | None:
    """Redo the step that you undid last. The answer is null if there is none."""
    return _changes(caller, labelling_id).redo()
