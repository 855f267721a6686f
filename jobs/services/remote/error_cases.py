"""Cases of error notebooks."""

from __future__ import annotations

from core.client.records import CaseSentence, ErrorCase, Page
from db import notebook_records as records
from db.notebook_records import Notebook
from db.store import Store
from jobs.services.remote.corpora import known_corpus


def error_cases(store: Store, corpus_id: int, offset: int = 0, limit: int = 100) -> Page[ErrorCase]:
    """Return the cases of the error notebook of a corpus, oldest first."""
    with store.reading() as r:
        known_corpus(r, corpus_id)
        found = r.error_notebook.read(corpus_id)
    page = found.cases[offset : offset + limit]
    return Page([_case(case, found) for case in page], len(found.cases), offset)


def _case(case: records.ErrorCase, of: Notebook) -> ErrorCase:
    names = {category.id: category.name for category in of.current_categories()}
    coded = {person: given[case.id] for person, given in of.coded().items() if case.id in given}
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
        [note.text for note in of.notes_of().get(case.id, ())],
        {person: sorted(names[id] for id in given) for person, given in coded.items()},
        next((sample.name for sample in of.samples if sample.id == case.sample_id), ""),
        case.person,
        case.created,
    )
