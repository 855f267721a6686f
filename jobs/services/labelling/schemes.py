"""Schemes: the clusters of a labelling without its sentences, as the start of another labelling.

As a file, a scheme is the codebook of a labelling (:mod:`jobs.services.labelling.codebook`): names, themes, sizes and
codebook entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.labelling.changes import apply
from core.labelling.codebook import operations as book
from core.labelling.codebook.portable import PortableCode
from core.labelling.partition import Partition
from db.label_records import NewLabelling
from db.store import Store
from jobs.services.labelling import codebook, starts


def from_codes(codes: Sequence[PortableCode], file: str) -> starts.Begin:
    """Return the clusters of a file with all sentences unassigned.

    Examples in codebook entries are kept where the labelling has their sentences.
    """

    def initial(store: Store, new: NewLabelling) -> tuple[Partition, Mapping[str, Any]]:
        bare, _ = starts.from_nothing(store, new)
        adopted = book.adopt(bare, codes, codebook.finder(store, bare.ids, codes), 1)
        return apply(bare, adopted.operation.change_set), {"from": "scheme", "name": file}

    return initial
