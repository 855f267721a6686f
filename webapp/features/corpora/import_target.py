"""Choice in the import form: a new project, or a wave of one that is there."""

from __future__ import annotations

from typing import Any

import streamlit as st

from themescope.jobs.common.importing.waves import KEEP, OMIT, waves_of
from themescope.webapp.shared import queries


def target(key: int) -> str | None:
    """Return the project to which the files are added; None for a new one."""
    chosen: str | None = st.session_state.get(f"corpora_import_target_{key}")
    return chosen


def name_key(key: int) -> str:
    """Return the key of the name of the new project, or of the wave."""
    return f"corpora_import_{'name' if target(key) is None else 'wave'}_{key}"


def choose(key: int) -> str | None:
    """Draw the choice of the project, and of the wave if it exists; return it, None for a new one.

    What is chosen is read from the session when the import is queued.
    """
    projects = [corpus.name for corpus in queries.corpora()]
    if projects:
        st.selectbox(
            "Project",
            [None, *projects],
            format_func=lambda name: "New project" if name is None else f"Add to “{name}”",
            key=f"corpora_import_target_{key}",
            help="Files that are added change nothing that is there: labels, vectors and maps stay.",
        )
    chosen = target(key)
    if chosen is not None:
        _about_wave(chosen, key)
    return chosen


def _about_wave(corpus: str, key: int) -> None:
    """Draw name and date of the wave, and what happens to duplicates."""
    left, right = st.columns([2, 1])
    record = queries.read(lambda r: r.corpora.by_name(corpus))
    number = max(len(waves_of(record)), 1) + 1
    left.text_input(
        "Wave", value=f"wave {number}", key=f"corpora_import_wave_{key}",
        help="Its articles have this name in the column “wave”; those that are there already have “wave 1”.",
    )  # fmt: skip
    right.date_input("Date (optional)", value=None, key=f"corpora_import_date_{key}")
    st.toggle(
        "Leave out duplicates", key=f"corpora_import_omit_{key}",
        help="Rows whose id (column “id”) or text the project has already. Off: they are added, and counted in the "
        "report.",
    )  # fmt: skip


def wave_arguments(key: int) -> dict[str, Any]:
    """Return the arguments of the job that adds the wave, besides those of an import."""
    date = st.session_state[f"corpora_import_date_{key}"]
    return {
        "corpus": target(key),
        "wave": st.session_state[name_key(key)].strip(),
        "date": date.isoformat() if date else "",
        "duplicates": OMIT if st.session_state[f"corpora_import_omit_{key}"] else KEEP,
    }
