"""Labellings, for every page that lists them or links to them."""

from __future__ import annotations

from collections.abc import Mapping

from db.label_records import LabellingRecord
from webapp.shared import queries

EDIT = "Edit"
"""The tab of the Relabel page on which a labelling is edited."""
DIFFERS_FROM_PEOPLE = "Differs from other people"
"""The filter of the Relabel page for sentences that other labellings assign elsewhere."""


def labellings(corpus_id: int | None = None, deleted: bool = False) -> list[LabellingRecord]:
    """Return the labellings (of one corpus), newest first; with ``deleted`` those that were deleted instead."""
    with queries.store().reading() as r:
        return r.labellings.list(corpus_id, deleted)[::-1]


def edit_view(labelling: str) -> Mapping[str, str]:
    """Return the view of the Relabel page in which a labelling is edited."""
    return {"labelling": labelling, "view": EDIT}


def disagreement_view(labelling: str) -> Mapping[str, str]:
    """Return the view of the Relabel page for the sentences that other labellings assign elsewhere."""
    return {**edit_view(labelling), "filter": DIFFERS_FROM_PEOPLE}
