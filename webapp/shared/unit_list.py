"""The list of units of any length, as in selections, Sort and Table; the browser requests what comes into view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.labelling.operations import digest_of_ids
from themescope.core.types import Ids
from themescope.jobs.services import selections
from themescope.jobs.services.search import parsed, parts_of
from themescope.jobs.services.selections import SelectedSentences
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import ASSETS, draw_component, message
from themescope.webapp.shared.text import count, shorten

PER_GROUP = 40
_GROUPS, _LONGEST = 8, 4_000
"""Maximum number of groups that are sent at once, and of characters of a unit."""
SCRIPTS = ("unit_list.js",)
"""Scripts of components that contain a list of units."""


@dataclass(frozen=True, slots=True)
class Units:
    """Units in the order in which they are listed."""

    ids: Ids
    rows: Callable[[slice], list[dict[str, Any]]]
    """The rows of a part: "id" and "text", and what there is of "sub", "tag", "note" and "mark"."""
    state: str = ""
    """Identifies what the rows show besides the texts of the units."""
    name: str = ""
    """Identifies the list; that of another name begins at the top. Without a name, other units are another list."""
    search: str = ""
    """What was searched for: its words are highlighted, and rows of one line begin shortly before them."""


@dataclass(slots=True)
class Sent:
    """The groups that the browser requested last, and of which list."""

    list: str = ""
    groups: tuple[int, ...] = ()
    picked: bool = False

    def request(self, event: Mapping[str, Any]) -> None:
        """Note the groups that the browser requests."""
        wanted = event.get("wanted")
        numbers = [n for n in wanted if isinstance(n, int) and n >= 0] if isinstance(wanted, list) else []
        self.list, self.groups = str(event.get("list", "")), tuple(numbers[:_GROUPS])


def of_sentences(
    found: SelectedSentences, rows: npt.NDArray[np.intp], notes: Sequence[str] = (), search: str = ""
) -> Units:
    """Return the list of some rows of selected sentences; a note stands at the end of each, such as a similarity."""

    def part(of: slice) -> list[dict[str, Any]]:
        texts = selections.texts_of(queries.store(), found.ids[rows[of]])
        return [
            {
                "id": int(found.ids[row]),
                "text": shorten(" ".join(text.split()), _LONGEST),
                "sub": found.place(row),
                "tag": {"name": found.theme(row)} if found.theme(row) else None,
                "note": note,
            }
            for row, text, note in zip(rows[of].tolist(), texts, notes[of] or [""] * len(texts), strict=True)
        ]

    themes = digest_of_ids(found.themes[rows].astype(np.int64))
    return Units(found.ids[rows], part, themes[:8], search=search)


@st.fragment
def show(units: Units, key: str, height: int, focus: int = -1, on_pick: Callable[[int], None] | None = None) -> None:
    """Draw the list; a click on a unit calls ``on_pick`` with its id and redraws the page."""
    sent: Sent = st.session_state.setdefault(f"{key}-sent", Sent())
    if sent.picked:
        sent.picked = False
        st.rerun()
    widget = f"{key}-list"

    def pick() -> None:
        chosen = message(widget, "pick").get("id")
        if on_pick is not None and isinstance(chosen, int) and chosen in units.ids:
            on_pick(chosen)
            sent.picked = True

    draw_component(
        "units",
        ASSETS,
        *SCRIPTS,
        data=view_data(units, sent) | {"height": height, "focus": focus},
        key=widget,
        on_groups_change=lambda: sent.request(message(widget, "groups")),
        on_pick_change=pick,
    )


def view_data(units: Units, sent: Sent | None = None) -> dict[str, Any]:
    """Return what the browser needs: the first group, and those that it requested."""
    digest = f"{digest_of_ids(units.ids)}{units.state}"
    name = units.name or digest
    last = max(len(units.ids) - 1, 0) // PER_GROUP
    wanted = sent.groups if sent is not None and sent.list == name else ()
    numbers = sorted({0, *(number for number in wanted if number <= last)}) if len(units.ids) else []
    groups = {n: units.rows(slice(n * PER_GROUP, (n + 1) * PER_GROUP)) for n in numbers}
    return {
        "list": name,
        "digest": digest,
        "label": count(len(units.ids), "unit"),
        "total": len(units.ids),
        "per": PER_GROUP,
        "marks": parts_of(parsed(units.search)),
        "empty": "No units.",
        "groups": {str(n): [row["id"] for row in rows] for n, rows in groups.items()},
        "rows": {str(row["id"]): row for rows in groups.values() for row in rows},
    }
