"""Forms generated from a config, one widget per setting; tables of settings, counts and results; tables as files."""

from __future__ import annotations

import json
import os
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from themescope.core.columns import OMIT, ColumnType, Profile, column_name
from themescope.core.config import C, Config, OptionInfo, config_from_dict, default_of, label_of, options
from themescope.core.errors import ReadError
from themescope.core.readers.table import AUTO, DOCUMENTS, SENTENCES
from themescope.core.readers.tables import SAMPLE_ROWS, Sheet, TableForm, alternatives, read_sheet
from themescope.db.settings import Settings
from themescope.jobs.common.files import NO_FOLDERS, new_folder, readable, safe_name
from themescope.jobs.common.reading import call_apart
from themescope.jobs.services.labelling.files import PLACE
from themescope.jobs.services.selections import HEADER
from themescope.jobs.services.table_files import TABLE_WRITERS, excel_bytes, file_content
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt, download, draw_table
from themescope.webapp.shared.text import count, duration, plain, shorten, words

_ACROSS = 3


def config_fields(cls: type[Config], key: str, *, shown: int = 6) -> dict[str, Any]:
    """Draw the settings of ``cls``, those after the first ``shown`` in an expander, and return their values."""
    fields = [(name, *entry) for name, entry in options(cls).items()]
    values = _grid(fields[:shown], key)
    if fields[shown:]:
        with st.expander(f"More settings ({len(fields) - shown})", icon=":material/tune:"):
            values |= _grid(fields[shown:], key)
    if any(_is_closed(info) for *_, info in fields):
        explain_server_paths()
    return values


@st.cache_data(show_spinner="Reading the file …", max_entries=16)
def _read(path: str, size: int, form: TableForm) -> Sheet | str:
    """Return the first rows of a table, or why it cannot be read; ``size`` distinguishes versions of the file."""
    try:
        return call_apart(Path(path), read_sheet, Path(path), SAMPLE_ROWS, form)
    except ReadError as error:
        return str(error)


def is_unclear(path: Path) -> bool:
    """Return whether a table cannot be read before a person says how it is written."""
    return isinstance(_read(str(path), path.stat().st_size, TableForm()), str)


def table_form(path: Path, key: str) -> tuple[TableForm, Sheet] | None:
    """Draw how the table of a file is written; return it with its first rows, or None if a person has to choose first.

    What the file leaves open is shown as alternatives side by side, each with its first rows.
    """
    size = path.stat().st_size
    with st.popover("How the file is written", icon=":material/table:"):
        values = config_fields(TableForm, f"{key}_form", shown=99)
    form = checked(TableForm, values)
    if form is None:
        return None
    sheet = _read(str(path), size, form)
    if isinstance(sheet, Sheet):
        return form, sheet
    st.error(plain(sheet), icon=":material/error:")
    found = call_apart(path, alternatives, path)
    if found:
        st.markdown("**Which one is right?**")
    known = {name: info for name, (_, _, info) in options(TableForm).items()}
    columns = st.columns(_ACROSS)
    for place, (way, rows) in enumerate(found):
        given = {name: value for name, value in way.to_dict().items() if value}
        named = (labelled(name, known[name]) + f": {value}" * (value is not True) for name, value in given.items())
        with columns[place % _ACROSS]:
            st.dataframe(pd.DataFrame(rows.rows, columns=list(rows.columns)), hide_index=True)
            st.button(
                plain(", ".join(named)) or "As it is",
                key=f"{key}_way_{place}",
                on_click=st.session_state.update,
                args=({f"{key}_form-{name}": value for name, value in given.items()},),
            )
    return None


def checked(cls: type[C], values: Mapping[str, Any]) -> C | None:
    """Return the config with ``values``; if they are invalid, show the reason and return None."""
    return attempt(lambda: config_from_dict(cls, values))


def _grid(fields: list[tuple[str, Field[Any], Any, OptionInfo]], key: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    wide = min(_ACROSS, len(fields))
    for start in range(0, len(fields), wide or 1):  # row by row, so that a switch does not shift its column
        row = fields[start : start + wide]
        for column, (name, entry, hint, info) in zip(st.columns(wide, vertical_alignment="bottom"), row, strict=False):
            with column:
                values[name] = widget(f"{key}-{name}", name, kinds(hint), info, default_of(entry))
    return values


def kinds(hint: Any) -> set[Any]:
    """Return the plain classes in a type hint: ``int | None`` → {int, NoneType}; ``tuple[str, ...]`` → {tuple}."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return set().union(*(kinds(arg) for arg in typing.get_args(hint)))
    if typing.get_origin(hint) is typing.Literal:
        return {type(arg) for arg in typing.get_args(hint)}
    return {typing.get_origin(hint) or hint}


def widget(key: str, name: str, of: set[Any], info: OptionInfo, default: Any) -> Any:
    """Draw the widget for a setting of the plain classes ``of``."""
    label = plain(labelled(name, info))
    more: dict[str, Any] = {"key": key, "help": plain(info.help) if info.help else None}
    if bool in of:
        return st.toggle(label, value=bool(default), **more)
    if tuple in of:
        return _several(label, info, default, more)
    if info.choices is not None:
        listed = [None, *info.choices] if type(None) in of and None not in info.choices else list(info.choices)
        index = listed.index(default) if default in listed else 0
        return st.selectbox(label, listed, index=index, format_func=_choice, **more)
    if of & {int, float}:
        kind: type[Any] = float if float in of else int
        low, high, value = (None if one is None else kind(one) for one in (info.low, info.high, default))
        more |= {"format": "%g", "step": _step(default)} if kind is float else {"step": 1}
        return st.number_input(label, min_value=low, max_value=high, value=value, placeholder="no limit", **more)
    text = st.text_input(label, value="" if default is None else str(default), disabled=_is_closed(info), **more)
    return None if type(None) in of and not text else text


def _is_closed(info: OptionInfo) -> bool:
    """Return whether a setting names a file of the server, and pages may read none."""
    return info.file and not server_paths_offered()


def labelled(name: str, info: OptionInfo) -> str:
    """Return the label of a setting with its unit."""
    label = label_of(name, info)
    return label if not info.unit or info.unit.lower() in label.lower() else f"{label} ({info.unit})"


def _choice(value: Any) -> str:
    return "none" if value is None else str(value).replace("_", " ").replace("+", " + ")


def _several(label: str, info: OptionInfo, default: Any, more: dict[str, Any]) -> list[str]:
    if info.choices is not None:
        return list(st.multiselect(label, list(info.choices), list(default or ()), format_func=_choice, **more))
    text = st.text_input(
        label,
        value=", ".join(map(str, default or ())),
        placeholder="separated by commas",
        disabled=_is_closed(info),
        **more,
    )
    return [part.strip() for part in text.split(",") if part.strip()]


def _step(default: float | None) -> float:
    """Return a tenth of the size of the default, so that a rate of 0.001 does not change in steps of 0.01."""
    size = abs(default or 1.0)
    return float(10.0 ** (len(str(int(size))) - 2)) if size >= 1 else float(f"{size / 10:.0e}")


Table = tuple[Sequence[str], Sequence[Sequence[Any]]]
"""Header and rows."""


def table_formats(
    corpus_id: int, stem: str, table: Callable[[], Table], excel: Callable[..., bytes] = excel_bytes
) -> dict[str, tuple[str, Callable[[], str | bytes]]]:
    """Return the name and the content of a file in each format of a table of sentences.

    The files have the columns of the corpus at the end, and are made when their content is read.
    """

    def written(write: Callable[..., Any]) -> str | bytes:
        return file_content(queries.store(), corpus_id, write, *table())

    writers = {**TABLE_WRITERS, "XLSX": excel}
    return {label: (f"{stem}.{label.lower()}", partial(written, write)) for label, write in writers.items()}


def table_files(
    corpus_id: int, stem: str, table: Callable[[], Table], excel: Callable[..., bytes] = excel_bytes
) -> None:
    """Draw a button for each of :func:`table_formats`."""
    for label, (file, make) in table_formats(corpus_id, stem, table, excel).items():
        download(label, make, file, key=f"file-{stem}-{label}")


def facts_table(facts: Mapping[str, Any], names: tuple[str, str] = ("Setting", "Value")) -> None:
    """Draw one row per value."""
    rows = list(flat_facts(facts))
    if rows:
        draw_table(pd.DataFrame(rows, columns=list(names)))
    else:
        st.caption("None")


def flat_facts(facts: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the readable name and value of every fact; nested names begin with the names of their parents."""
    for key, value in facts.items():
        name = str(key)
        label = f"{above} · {words(name).lower()}" if above else words(name)
        if isinstance(value, Mapping):
            yield from flat_facts(value, label)
        else:
            yield label, fact_text(name, value)


def fact_text(name: str, value: Any) -> str:
    """Return a value as text: numbers with separators, seconds as a duration, no value as a dash."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float) and name.split("_")[-1].split(" ")[-1] == "seconds":
        return duration(value)
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(fact_text(name, part) for part in value) or "–"
    return str(value)


def number(value: float) -> str:
    """Return ``6,580``, ``447``, ``5.51`` or ``0.0012``: separators above a thousand, else three significant digits."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


# Files that a form reads: uploads, and paths of the server if the settings name folders that pages may read

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


def keep(files: Iterable[BytesIO], home: Path) -> tuple[Path, ...]:
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


def keep_once(key: str, mark: object, files: Iterable[BytesIO]) -> tuple[Path, ...]:
    """Call :func:`keep` once, not in every run of the page; ``mark`` identifies the files of the session key."""
    if st.session_state.get(key, (None, ()))[0] != mark:
        st.session_state[key] = (mark, keep(files, queries.store().settings.home))
    return st.session_state[key][1]


def pasted(texts: Sequence[str]) -> BytesIO:
    """Return pasted texts as a file with a text in each row."""
    file = BytesIO("".join(json.dumps({"text": text}) + "\n" for text in texts).encode())
    file.name = "pasted texts.jsonl"
    return file


HANDED_OVER = "input_files_handed_over"
"""Session key of the paths of files that were dropped on Home, for the form of imports."""


def hand_over(files: Iterable[BytesIO]) -> None:
    """Keep files for the form of imports, which shows them in place of its own upload."""
    st.session_state[HANDED_OVER] = keep(files, queries.store().settings.home)


def keep_one(key: str, file: BytesIO) -> Path:
    """Return the path of one uploaded file; see :func:`keep_once`."""
    return keep_once(key, getattr(file, "file_id", file.name), [file])[0]


NONE = "None"
_ROWS = {"Detected": AUTO, "Sentences": SENTENCES, "Documents": DOCUMENTS}
_TYPES = {OMIT: "Leave out"} | {type.value: type.value.capitalize() for type in ColumnType}
_HANDED_OVER = 4
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
            "Which column has the texts?" if doubted else "Text column",
            names,
            index=names.index(likely[0]),
            format_func=str,
            key=f"{key}_text",
        )
        if doubted:
            rivals = " and ".join(f"*{plain(name)}*" for name in likely[1:])
            st.caption(f"*{plain(likely[0])}* has the most words; {rivals} {'have' if likely[2:] else 'has'} many too.")
    rows = second.selectbox(
        "Rows are",
        list(_ROWS),
        index=list(_ROWS.values()).index(like.get("rows", AUTO)),
        help="Documents are split into sentences. Detected: documents if the texts are long.",
        key=f"{key}_rows",
    )
    used, settings = [text], {"text": text, "rows": _ROWS[rows]}
    for place, name, help in (
        (third, "title", "Sentences of the same title form one article; a document gets it as its title."),
        (fourth, "section", "Sections of an article."),
    ):
        left, held = [NONE, *(column for column in names if column not in used)], like.get(name, "")
        label, index = f"{name.capitalize()} column (optional)", left.index(held) if held in left else 0
        chosen = place.selectbox(label, left, index, key=f"{key}_{name}", help=help)
        settings[name] = "" if chosen == NONE else chosen
        used.append(settings[name])
    return TableColumns(settings, _column_types(sheet, used, key))


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
        for start in range(0, len(others), _HANDED_OVER):
            for place, name in zip(st.columns(_HANDED_OVER), others[start : start + _HANDED_OVER], strict=False):
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
