"""What the Paper tables page reads: declarations, and the tables as they were last reproduced."""

from __future__ import annotations

from core.papers import PAPERS, paper
from core.papers.spec import Paper
from db.records import PaperTableRecord
from webapp.shared import queries


def papers() -> list[Paper]:
    """Every paper that is declared, those with tables to see first."""
    with queries.store().reading() as r:
        have = {record.paper for record in r.papers.list()}
    return [paper(id) for id in sorted(PAPERS, key=lambda id: id not in have)]


def tables(paper_id: str) -> dict[str, dict[str, PaperTableRecord]]:
    """Profile → table → the table as it was last reproduced, both in the order of the declaration."""
    with queries.store().reading() as r:
        records = r.papers.list(paper_id)
    found = {(record.profile, record.name): record for record in records}
    declared = paper(paper_id)
    by_profile = {
        profile.id: {
            table.id: found[profile.id, table.id] for table in declared.tables if (profile.id, table.id) in found
        }
        for profile in declared.profiles
    }
    return {profile: made for profile, made in by_profile.items() if made}
