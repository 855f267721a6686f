"""Operations on triplets, benchmarks and reproduced tables of papers."""

from __future__ import annotations

from fastapi import APIRouter

from themescope.core.records.measured import BenchmarkRecord, PaperTableRecord, TripletSetRecord
from themescope.jobs.api.problems import WRITING, CallerNow, Id, SomeId, responses
from themescope.jobs.services.sentences import check_corpus

router = APIRouter(tags=["runs"], responses=responses())
_FOUND = responses(404)


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
