"""Choice in the import form: a new project, or a wave of one that is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import streamlit as st

from themescope.core.config import config_from_dict
from themescope.jobs.common.importing.waves import KEEP, OMIT, in_project, waves_of
from themescope.jobs.kinds.append_corpus import AppendConfig, coming
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.text import plain


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


def settings_in(corpus: str, path: Path, reader: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a file that is added to a project, see :func:`.waves.in_project`."""
    own = {"reader": reader, "settings": settings}
    found = queries.read(lambda r: in_project(r, r.corpora.by_name(corpus), str(path), own))
    return dict(found["settings"])


def tell(args: Mapping[str, Any], corpus: str) -> None:
    """Draw how many units the files add to a project, and which columns do not fit."""
    known = {field.name for field in fields(AppendConfig)}
    given = {name: value for name, value in args.items() if name in known} | {"corpus": corpus, "wave": "-"}
    sizes = [Path(path).stat().st_size for path in args["files"]]
    record = queries.read(lambda r: r.corpora.by_name(corpus))
    if told := attempt(lambda: _coming(given, sizes, record.sentences)):
        st.info(plain(told), icon=":material/library_add:")


@st.cache_data(show_spinner="Counting …", max_entries=16)
def _coming(args: dict[str, Any], sizes: list[int], sentences: int) -> str:
    """Return :func:`.coming`; sizes of the files and of the project distinguish their versions."""
    return coming(queries.store(), config_from_dict(AppendConfig, args))


def wave_arguments(key: int) -> dict[str, Any]:
    """Return the arguments of the job that adds the wave, besides those of an import."""
    date = st.session_state[f"corpora_import_date_{key}"]
    return {
        "corpus": target(key),
        "wave": st.session_state[name_key(key)].strip(),
        "date": date.isoformat() if date else "",
        "duplicates": OMIT if st.session_state[f"corpora_import_omit_{key}"] else KEEP,
    }
