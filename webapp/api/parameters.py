"""Parameters that several operations have."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from themescope.jobs.services.remote import MOST_ITEMS

MOST_ID = 2**63 - 1
_MOST_OFFSET = 2**53 - 1
"""The largest integer that every JSON parser keeps; sums with it fit into a column."""
MOST_SENTENCES = 200_000
"""Maximum number of sentences of a change: that of a labelling."""

Id = Annotated[int, Path(ge=1, le=MOST_ID, examples=[1])]
SomeId = Annotated[int | None, Query(ge=1, le=MOST_ID)]
Offset = Annotated[int, Query(ge=0, le=_MOST_OFFSET, description="Number of items to skip.")]
Limit = Annotated[int, Query(ge=1, le=MOST_ITEMS, description="Maximum number of items.")]
WithColumns = Annotated[bool, Query(description="Whether the columns of the corpus follow those of the export.")]
SentenceId = Annotated[int, Field(ge=1, le=MOST_ID)]
ClusterNumber = Annotated[int, Field(ge=1, le=MOST_ID)]
Sentences = Annotated[
    list[SentenceId],
    Field(min_length=1, max_length=MOST_SENTENCES, description="Ids of sentences of the labelling.", examples=[[1, 2]]),
]


class Body(BaseModel):
    """Base class of bodies, which have no unknown fields."""

    model_config = ConfigDict(extra="forbid")
