"""The triplets in view on the browser tab, and navigation between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.types import Ids
from db.records import TripletReview, TripletSetRecord
from webapp.features.triplets.queries import EvaluatedModel
from webapp.features.triplets.state import TRIPLET


@dataclass(frozen=True, slots=True)
class View:
    """The triplets that pass the filter, in order, with models and reviews."""

    chosen: TripletSetRecord
    models: Sequence[EvaluatedModel]
    reviews: Mapping[int, Sequence[TripletReview]]
    candidates: Ids
    """(m,) ids that pass the filter on triplets, whatever their reviews."""
    ids: Ids
    """(n,) ids that pass the whole filter."""
    person: str | None
    """The person whose reviews count; None for anyone."""

    def position(self) -> int:
        """Return the position of the triplet that the URL names; 0 if it is not in view."""
        asked = st.query_params.get(TRIPLET, "")
        wanted = int(asked) if asked.isdecimal() and len(asked) < 19 else 0
        found = np.flatnonzero(self.ids == wanted)
        return int(found[0]) if len(found) else 0

    def step(self, at: int, to: int) -> None:
        """Move from position ``at`` to ``to``, unless the user has left ``at``; for callbacks."""
        if self.position() == at:
            self.go(to)

    def go(self, to: int) -> None:
        """Show the triplet at a position; for callbacks."""
        st.query_params[TRIPLET] = str(self.ids[min(max(to, 0), len(self.ids) - 1)])
