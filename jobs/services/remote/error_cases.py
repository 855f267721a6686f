"""Cases of error notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from themescope.core.client.records import CaseSentence, ErrorCase, Page
from themescope.db import notebook_records as records
from themescope.db.notebook_records import Notebook
from themescope.db.store import Store
from themescope.jobs.services.remote.corpora import known_corpus


def error_cases(store: Store, corpus_id: int, offset: int = 0, limit: int = 100) -> Page[ErrorCase]:
    """Return the cases of the error notebook of a corpus, oldest first."""
    with store.reading() as r:
        known_corpus(r, corpus_id)
        found = r.error_notebook.read(corpus_id)
    return Page(_cases(found, found.cases[offset : offset + limit]), len(found.cases), offset)


def _cases(of: Notebook, page: Sequence[records.ErrorCase]) -> list[ErrorCase]:
    notes, given = of.notes_of(), of.names_given()
    samples = {sample.id: sample.name for sample in of.samples}
    return [
        _case(case, notes.get(case.id, ()), given.get(case.id, {}), samples.get(case.sample_id or 0, ""))
        for case in page
    ]


def _case(
    case: records.ErrorCase, notes: Sequence[records.ErrorNote], given: Mapping[str, list[str]], sample: str
) -> ErrorCase:
    facts = case.facts
    return ErrorCase(
        case.id,
        case.kind.value,
        facts.source,
        [CaseSentence(p.text, p.article, p.section, p.role, p.placed) for p in facts.passages],
        list(case.sentence_ids),
        list(facts.models),
        dict(facts.margins),
        facts.predicted,
        [note.text for note in notes],
        dict(given),
        sample,
        case.person,
        case.created,
    )
