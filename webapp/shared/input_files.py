"""Files that a form reads: uploads, and paths of the server if the settings name folders that pages may read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from themescope.core.columns import OMIT, ColumnType, Profile, column_name
from themescope.core.readers.table import AUTO, DOCUMENTS, SENTENCES
from themescope.core.readers.tables import SAMPLE_ROWS, Sheet
from themescope.db.settings import Settings
from themescope.jobs.common.files import NO_FOLDERS, new_folder, readable, safe_name
from themescope.jobs.services.labelling.files import PLACE
from themescope.jobs.services.selections import HEADER
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.text import count, plain, shorten

UPLOAD, SERVER_PATH = "Upload", "Server path"


def server_paths_offered() -> bool:
    """Return whether there are folders that pages may read."""
    return bool(Settings.from_environment().import_folders)


def explain_server_paths() -> None:
    """Draw a caption whose help says how to enable server paths, which most people need not know."""
    st.caption("Files on the server can be read without an upload.", help=NO_FOLDERS)


def choose_server_path(question: str, key: str) -> bool:
    """Draw the choice between upload and server path, and return whether it is a server path."""
    if not server_paths_offered():
        return False
    how = st.segmented_control(question, [UPLOAD, SERVER_PATH], default=UPLOAD, required=True, key=key)
    return how == SERVER_PATH


def server_path(text: str) -> Path | None:
    """Return the resolved path of a typed path; None, with an error on the page, if pages may not read there."""
    return attempt(lambda: readable(Settings.from_environment(), Path(expanded_path(text))))


def expanded_path(text: str) -> str:
    """Return a path with ``~`` replaced by the home folder of the server's user."""
    return os.path.expanduser(text.strip())


class Upload(Protocol):
    """Interface of an uploaded file."""

    name: str

    def getbuffer(self) -> memoryview:
        """Return the content."""
        ...


def keep(files: Iterable[Upload], home: Path) -> tuple[Path, ...]:
    """Write uploads into a fresh folder under ``home`` and return their paths."""
    folder, paths = new_folder(home), []
    for number, file in enumerate(files):
        path = folder / safe_name(file.name)
        if path.exists():
            path = path.with_name(f"{number} {path.name}")
        with path.open("xb") as out:
            out.write(file.getbuffer())
        paths.append(path)
    return tuple(paths)


def keep_once(key: str, mark: object, files: Iterable[Upload]) -> tuple[Path, ...]:
    """Call :func:`keep` once, not in every run of the page; ``mark`` identifies the files of the session key."""
    if st.session_state.get(key, (None, ()))[0] != mark:
        st.session_state[key] = (mark, keep(files, queries.store().settings.home))
    paths: tuple[Path, ...] = st.session_state[key][1]
    return paths


class Pasted:
    """Pasted texts as a file with a text in each row."""

    name = "pasted texts.jsonl"

    def __init__(self, texts: Sequence[str]) -> None:
        self._content = "".join(json.dumps({"text": text}) + "\n" for text in texts).encode()

    def getbuffer(self) -> memoryview:
        """Return the content."""
        return memoryview(self._content)


HANDED_OVER = "input_files_handed_over"
"""Session key of the paths of files that were dropped on Home, for the form of imports."""


def hand_over(files: Iterable[Upload]) -> None:
    """Keep files for the form of imports, which shows them in place of its own upload."""
    st.session_state[HANDED_OVER] = keep(files, queries.store().settings.home)


def keep_one(key: str, file: Upload) -> Path:
    """Return the path of one uploaded file; see :func:`keep_once`."""
    return keep_once(key, getattr(file, "file_id", file.name), [file])[0]


# --- table columns ----------------------------------------------------------------------------------------------------


NONE = "None"
_ROWS = {"Detected": AUTO, "Sentences": SENTENCES, "Documents": DOCUMENTS}
_TYPES = {OMIT: "Leave out"} | {type.value: type.value.capitalize() for type in ColumnType}
_ACROSS = 4
_OF_FILES = frozenset({*PLACE, *HEADER, "group", "value", "x", "y"})
"""Names of columns that exported tables of selections and maps have themselves."""


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Chosen columns of a table."""

    settings: Mapping[str, Any]
    """Settings of the reader of tables."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Types of columns that differ from the detected ones."""


def choose_columns(sheet: Sheet, key: str, like: Mapping[str, Any], question: DeltaGenerator) -> TableColumns:
    """Draw the choices for a corpus, at first ``like`` those of its project.

    Where several columns may have the texts, that one is chosen in ``question``, which is in view.
    """
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    names, likely = list(sheet.columns), [like["text"]] if like.get("text") in sheet.columns else sheet.likely_columns()
    doubted = len(likely) > 1
    with question if doubted else first:
        text = st.selectbox(
            "Which column has the texts?" if doubted else "Text column", names, index=names.index(likely[0]),
            format_func=str, key=f"{key}_text",
        )  # fmt: skip
        if doubted:
            rivals = " and ".join(f"*{plain(name)}*" for name in likely[1:])
            st.caption(f"*{plain(likely[0])}* has the most words; {rivals} {'have' if likely[2:] else 'has'} many too.")
    with second:
        rows = st.selectbox(
            "Rows are", list(_ROWS), key=f"{key}_rows",
            index=list(_ROWS.values()).index(like.get("rows", AUTO)),
            help="Documents are split into sentences. Detected: documents if the texts are long.",
        )  # fmt: skip
    with third:
        title = _optional(
            "Title column (optional)", sheet, [text], f"{key}_title",
            "Sentences of the same title form one article; a document gets it as its title.", like.get("title", ""),
        )  # fmt: skip
    with fourth:
        section = _optional(
            "Section column (optional)",
            sheet,
            [text, title],
            f"{key}_section",
            "Sections of an article.",
            like.get("section", ""),
        )
    settings = {"text": text, "rows": _ROWS[rows], "title": title, "section": section}
    return TableColumns(settings, _column_types(sheet, [text, title, section], key))


def _optional(label: str, sheet: Sheet, used: Sequence[str], key: str, help: str, likely: str = "") -> str:
    """Draw the choice of a column that is not ``used``; returns "" for none."""
    names = [NONE, *(name for name in sheet.columns if name not in used)]
    chosen = st.selectbox(label, names, names.index(likely) if likely in names else 0, key=key, help=help)
    return "" if chosen == NONE else chosen


def _column_types(sheet: Sheet, used: Sequence[str], key: str) -> dict[str, str]:
    """Draw the type of each column that is not ``used``; return those that a person changed."""
    others = [name for name in sheet.columns if name not in used]
    if not others:
        return {}
    chosen: dict[str, str] = {}
    with st.popover("Columns kept", icon=":material/view_column:"):
        st.caption(
            f"{count(len(others), 'column')} to colour, filter, compare and export by. The type is detected from all "
            "values at the import."
        )
        for start in range(0, len(others), _ACROSS):
            for place, name in zip(st.columns(_ACROSS), others[start : start + _ACROSS], strict=False):
                with place:
                    chosen[column_name(name)] = _type(sheet, name, key)
        taken = [name for name in chosen if name in _OF_FILES]
        if taken:
            numbered = ", ".join(f"“{plain(name)} (2)”" for name in taken)
            st.caption(f"Called {numbered} in exported tables, whose own columns have the same name.")
    return {name: type for name, type in chosen.items() if type}


def _type(sheet: Sheet, name: str, key: str) -> str:
    profile = Profile()
    profile.add(sheet.column(name)[:SAMPLE_ROWS])
    detected = profile.type.value

    def label(type: str) -> str:
        return _TYPES[type] if type else f"{detected.capitalize()} (detected)"

    return st.selectbox(plain(shorten(name, 40)), ["", *_TYPES], format_func=label, key=f"{key}_type_{name}")
