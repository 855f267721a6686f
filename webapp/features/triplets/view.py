"""The triplets in view on the browser tab, and navigation between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.types import Ids
from db.records import TripletReview, TripletSetRecord
from webapp.features.triplets.state import PLACE
from webapp.shared.triplet_queries import Judge


@dataclass(frozen=True, slots=True)
class View:
    """The triplets in view, in their order, and what is known about them."""

    chosen: TripletSetRecord
    judges: Sequence[Judge]
    reviews: Mapping[int, Sequence[TripletReview]]
    among: Ids
    """(m,) those that the filter leaves, whatever people said of them."""
    ids: Ids
    """(n,) those in view."""
    person: str | None
    """Whose reviews count; None: anybody's."""

    def place(self) -> int:
        """Where the triplet that the address names stands; the first where it is not in view."""
        asked = st.query_params.get(PLACE, "")
        wanted = int(asked) if asked.isdecimal() and len(asked) < 19 else 0
        found = np.flatnonzero(self.ids == wanted)
        return int(found[0]) if len(found) else 0

    def step(self, at: int, to: int) -> None:
        """Go from one place to another, if that is where one still is. For callbacks."""
        if self.place() == at:
            self.go(to)

    def go(self, to: int) -> None:
        """Look at the triplet in that place. For callbacks."""
        st.query_params[PLACE] = str(self.ids[min(max(to, 0), len(self.ids) - 1)])
