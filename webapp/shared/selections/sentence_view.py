"""A list of any number of sentences, wrapped and with their places; the browser requests what comes into view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.labelling.operations import digest_of_ids
from themescope.jobs.services import selections
from themescope.jobs.services.selections import SelectedSentences
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.text import count, shorten

PER_GROUP = 40
_GROUPS, _LONGEST = 8, 4_000
"""Maximum number of groups that are sent at once, and of characters of a sentence."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The rows of some sentences in the order in which they are listed."""

    found: SelectedSentences
    rows: npt.NDArray[np.intp]
    notes: Sequence[str] = ()
    """A short text at the end of each row, such as a similarity; empty for none."""
    mark: str = ""
    """Text that is highlighted in the sentences."""

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """Ids of the listed sentences, in order."""
        return self.found.ids[self.rows]


@dataclass(slots=True)
class Sent:
    """The groups that the browser requested last."""

    digest: str = ""
    groups: tuple[int, ...] = ()
    picked: bool = False


def show(
    listing: Listing, key: str, height: int, focus: int = -1, on_pick: Callable[[int], None] | None = None
) -> None:
    """Draw the list; a click on a sentence calls ``on_pick`` with its id and redraws the page."""
    st.fragment(_draw)(listing, key, height, focus, on_pick)


def _draw(listing: Listing, key: str, height: int, focus: int, on_pick: Callable[[int], None] | None) -> None:
    sent: Sent = st.session_state.setdefault(f"{key}-sent", Sent())
    if sent.picked:
        sent.picked = False
        st.rerun()
    widget = f"{key}-list"

    def on_groups() -> None:
        event = (st.session_state.get(widget) or {}).get("groups") or {}
        wanted = [n for n in event.get("wanted", []) if isinstance(n, int) and n >= 0]
        sent.digest, sent.groups = str(event.get("digest", "")), tuple(wanted[:_GROUPS])

    def pick() -> None:
        event = (st.session_state.get(widget) or {}).get("pick") or {}
        chosen = event.get("id")
        if on_pick is not None and isinstance(chosen, int) and chosen in listing.ids:
            on_pick(chosen)
            sent.picked = True

    data = view_data(listing, sent, height) | {"focus": focus}
    draw_component("sentence_view", data=data, key=widget, on_groups_change=on_groups, on_pick_change=pick)


def view_data(listing: Listing, sent: Sent | None = None, height: int = 300) -> dict[str, Any]:
    """Return what the browser needs: the first group, and those that it requested."""
    themes = digest_of_ids(listing.found.themes[listing.rows].astype(np.int64))
    digest = f"{digest_of_ids(listing.ids)}{themes[:8]}"
    last = max(len(listing.rows) - 1, 0) // PER_GROUP
    wanted = sent.groups if sent is not None and sent.digest == digest else ()
    numbers = sorted({0, *(number for number in wanted if number <= last)})
    return {
        "digest": digest,
        "label": count(len(listing.rows), "sentence"),
        "total": len(listing.rows),
        "per": PER_GROUP,
        "height": height,
        "mark": listing.mark,
        "groups": {str(number): group_rows(listing, number) for number in numbers},
    }


def group_rows(listing: Listing, number: int) -> list[dict[str, Any]]:
    """Return the sentences of a group as the browser draws them."""
    part = slice(number * PER_GROUP, (number + 1) * PER_GROUP)
    rows = listing.rows[part]
    if not len(rows):
        return []
    found, notes = listing.found, listing.notes[part]
    texts = selections.texts_of(queries.store(), found.ids[rows])
    return [
        {
            "id": int(found.ids[row]),
            "text": shorten(" ".join(text.split()), _LONGEST),
            "place": found.place(row),
            "theme": found.theme(row),
            "note": notes[place] if notes else "",
        }
        for place, (row, text) in enumerate(zip(rows.tolist(), texts, strict=True))
    ]
