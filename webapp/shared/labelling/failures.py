"""Collecting failures of models and disagreements from any page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from themescope.jobs.services import failures
from themescope.jobs.services.failures import CollectedFailure
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import succeeds
from themescope.webapp.shared.navigation import current_page, shown_view
from themescope.webapp.shared.pages import CORPUS
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.text import count

ICON = ":material/bug_report:"


def permalink(view: Mapping[str, str] | None = None) -> str:
    """Return page and query of the view that is open, without the project; ``view`` replaces values of URL keys."""
    query = {name: values for name, values in shown_view().items() if name != CORPUS}
    query |= {name: [value] for name, value in (view or {}).items()}
    return f"{current_page()}?{urlencode(query, doseq=True)}"


def button(key: str, label: str, project_id: int, batch: str, found: Callable[[], Sequence[CollectedFailure]]) -> None:
    """Draw a button that collects failures."""
    st.button(
        label, icon=ICON, key=f"collect-{key}", help="Keeps it with its context, to be coded on the page Errors.",
        on_click=lambda: collect(project_id, batch, found),
    )  # fmt: skip


def collect(project_id: int, batch: str, found: Callable[[], Sequence[CollectedFailure]]) -> None:
    """Collect failures and say so; for callbacks."""

    def change() -> None:
        made = failures.collect(queries.store(), project_id, batch, found(), current_person())
        there = len(made.sentences) - made.new
        said = f"{count(made.new, 'failure')} collected" + (f", {there:,} there already" if there else "")
        st.toast(f"{said}. [Open Errors](/errors)", icon=ICON, duration="long")

    succeeds(change)
