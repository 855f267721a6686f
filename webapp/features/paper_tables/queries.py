"""Queries of the page Paper tables: experiment specs and the latest reproductions."""

from __future__ import annotations

from core.papers import PAPERS, paper
from core.papers.spec import Paper
from db.records import PaperTableRecord
from webapp.shared import queries


def papers() -> list[Paper]:
    """Return the papers, those with reproduced tables first."""
    with queries.store().reading() as r:
        have = {record.paper for record in r.papers.list()}
    return [paper(id) for id in sorted(PAPERS, key=lambda id: id not in have)]


def tables(paper_id: str) -> dict[str, dict[str, PaperTableRecord]]:
    """Return profile → table id → latest reproduction, in the order of the experiment specs."""
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
