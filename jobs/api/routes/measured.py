"""Operations on triplets, benchmarks and reproduced tables of papers."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from themescope.core.records.answers import Page
from themescope.core.records.measured import (
    BenchmarkRecord,
    PaperTableRecord,
    TripletCard,
    TripletReview,
    TripletSetRecord,
    Verdict,
)
from themescope.core.types import Split
from themescope.jobs.api.problems import WRITING, Body, BodyId, CallerNow, Id, Limit, Offset, SomeId, responses
from themescope.jobs.services.sentences import check_corpus

router = APIRouter(tags=["runs"], responses=responses())
_FOUND = responses(404)
NOTE_LIMIT = 10_000


class NewReview(Body):
    """A verdict on a triplet."""

    triplet_id: BodyId
    verdict: Verdict | None = Field(description="Null withdraws your earlier verdict.", examples=["good"])
    note: str = Field("", max_length=NOTE_LIMIT)


@router.get("/triplet-sets", responses=_FOUND)
def list_triplet_sets(caller: CallerNow, corpus_id: SomeId = None) -> list[TripletSetRecord]:
    """List the sampled sets of triplets (of one corpus), oldest first."""
    with caller.store.reading() as r:
        check_corpus(r, corpus_id)
        return r.triplets.list(corpus_id)


@router.delete("/triplet-sets/{set_id}", status_code=204, responses=responses(404, *WRITING))
def delete_triplet_set(caller: CallerNow, set_id: Id) -> None:
    """Delete a set of triplets with its reviews and runs. This cannot be undone. Requires the admin role."""
    with caller.acting.writing() as w:
        w.triplets.delete(set_id)


@router.get("/triplet-sets/{set_id}/triplets", responses=_FOUND)
def list_triplets(
    caller: CallerNow, set_id: Id, split: Split | None = None, offset: Offset = 0, limit: Limit = 100
) -> Page[TripletCard]:
    """List the triplets of a set (of one split) with their texts."""
    with caller.store.reading() as r:
        r.triplets.get(set_id)
        ids = r.triplets.ids(set_id, split)
        return Page(r.triplets.cards(ids[offset : offset + limit]), len(ids), offset)


@router.get("/triplet-sets/{set_id}/reviews", responses=_FOUND)
def list_triplet_reviews(caller: CallerNow, set_id: Id) -> list[TripletReview]:
    """List the current verdicts of all people on the triplets of a set, oldest first."""
    with caller.store.reading() as r:
        r.triplets.get(set_id)
        return r.reviews.list(set_id)


@router.post("/triplet-sets/{set_id}/reviews", status_code=201, responses=responses(404, *WRITING))
def review_triplet(caller: CallerNow, set_id: Id, new: NewReview) -> TripletReview:
    """Say whether the label of a triplet is right."""
    with caller.acting.writing() as w:
        w.triplets.get(set_id)
        return w.reviews.add(set_id, new.triplet_id, caller.actor.name, new.verdict, new.note)


@router.get("/benchmarks", responses=_FOUND)
def list_benchmarks(caller: CallerNow, corpus_id: SomeId = None) -> list[BenchmarkRecord]:
    """List the benchmarks of clusterings (of one corpus), oldest first."""
    with caller.store.reading() as r:
        check_corpus(r, corpus_id)
        return r.benchmarks.list(corpus_id)


@router.get("/paper-tables")
def list_paper_tables(caller: CallerNow) -> list[PaperTableRecord]:
    """List the tables of papers as they were reproduced last."""
    with caller.store.reading() as r:
        return r.papers.list()
