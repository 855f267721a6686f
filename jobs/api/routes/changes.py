"""Bodies of requests that change a labelling."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from themescope.core.labelling.operations import NOTE_LIMIT
from themescope.core.labelling.partition import NAME_LIMIT
from themescope.jobs.api.problems import MOST_ID, WHOLE, Body, BodyId, Flag, Sentences

Name = Annotated[str, Field(min_length=1, max_length=NAME_LIMIT, examples=["Economy"])]


class NewChange(Body):
    """What every change may say about itself."""

    reason: str = Field("", max_length=NOTE_LIMIT, description="Reason for the history.")
    seen: Annotated[int, Field(ge=0, le=MOST_ID), WHOLE] | None = Field(
        None,
        description="Id of the last step that you know. If somebody changed the same sentences or clusters after it, "
        "nothing is written, and the status is 409.",
    )
    coder: str = Field(
        "",
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
