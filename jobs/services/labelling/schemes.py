"""Schemes: the clusters of a labelling without its sentences, as the start of another labelling.

As a file, a scheme is the codebook of a labelling (:mod:`themescope.jobs.services.labelling.codebook`): names, themes,
sizes and codebook entries.
"""

from __future__ import annotations

from collections.abc import Sequence

from themescope.core.labelling.changes import apply
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.portable import PortableCode
from themescope.db.label_records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import codebook, starts


def from_codes(codes: Sequence[PortableCode], file: str) -> starts.Begin:
    """Return the clusters of a file with all sentences unassigned.

    Examples in codebook entries are kept where the labelling has their sentences.
    """

    def initial(store: Store, new: NewLabelling) -> starts.Beginning:
        bare = starts.from_nothing(store, new).partition
        adopted = book.adopt(bare, codes, codebook.finder(store, bare.ids, codes), 1)
        return starts.Beginning(apply(bare, adopted.operation.change_set), {"from": "scheme", "name": file})

    return initial
