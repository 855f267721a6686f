"""Parameters that several operations have, and who sends a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Query, Request, Security
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from themescope.db.access import Actor
from themescope.db.store import Store

MOST_ITEMS = 1_000
"""Maximum number of items of a page."""
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


@dataclass(frozen=True, slots=True)
class Caller:
    """The person who sent a request, and the store."""

    store: Store
    actor: Actor

    @property
    def acting(self) -> Store:
        """The store for the person, whose role is looked up again in each transaction that writes."""
        return self.store.by(lambda: self.actor.name)


_BEARER = HTTPBearer(
    auto_error=False,
    description="Token of a person, created on the page Account or with `themescope people token create`. Not needed "
    "where nobody signs in.",
)


def _caller(request: Request, documented: Annotated[object, Security(_BEARER)]) -> Caller:
    found: Caller = request.state.caller
    return found


CallerNow = Annotated[Caller, Depends(_caller)]
"""The caller, whom a middleware has put into the state of the request."""
