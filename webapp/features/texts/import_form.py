"""Import form: one line says what files become, and everything that can be changed about it is folded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from themescope.core.columns import OMIT as OMIT_COLUMN
from themescope.core.columns import ColumnLevel, column_name
from themescope.core.config import config_from_dict
from themescope.core.errors import AmbiguousFileError, ReadError
from themescope.core.readers import REGISTRY
from themescope.core.readers.arrow_tables import files_below, is_dataset
from themescope.core.readers.formats import detect, files_of, packed_dataset
from themescope.core.readers.table import file_of_columns, header_of
from themescope.core.readers.tables import Sheet, TableForm
from themescope.core.records.stored import CorpusRecord
from themescope.core.text.languages import language_name
from themescope.core.text.splitting import LANGUAGES
from themescope.core.types import CodingUnit
from themescope.db.access import Right
from themescope.db.records import NewLabelling
from themescope.jobs.common.columns import KEEP, in_project, is_list, waves_of
from themescope.jobs.common.columns import LEAVE_OUT as OMIT
from themescope.jobs.common.files import MOST_BYTES, NO_FOLDERS, is_upload
from themescope.jobs.common.import_shards import FIRST_UNITS, Amount, amounts_of
from themescope.jobs.common.models import language_of_file
from themescope.jobs.common.reading import call_apart
from themescope.jobs.kinds.append_corpus import AppendConfig, told_of
from themescope.jobs.services import importing
from themescope.jobs.services.importing import FileKind, Recognised
from themescope.jobs.services.labelling.tables import LabelReading, likely_columns
from themescope.jobs.services.pipeline import ANALYSED, queue_pipeline, queue_wave
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.shared import compare_queries, forms, projects, queries
from themescope.webapp.shared.choose import closed
from themescope.webapp.shared.components import attempt, clickable_table, download, draw_table
from themescope.webapp.shared.forms import TableColumns, checked, config_fields, is_unclear, table_form
from themescope.webapp.shared.job_status import follow, submit
from themescope.webapp.shared.navigation import switch_page
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.text import count, plain, shorten, words

_ONLY_IMPORT = (
    "Off: themes and a map follow by themselves. Of more than "
    f"{ANALYSED:,} units, they are those of texts drawn at random."
)
_TOLD = "texts_import_told"
"""Session key: what was said about the wave that was queued last."""
Readings = dict[Path, dict[str, Any]]
"""How files are read: “reader” and “settings”; {} as detected."""


def form() -> bool:
    """Draw the choice of files, and what they become; return whether there are files."""
    paths = _files()
    if not paths:
        if not closed("Importing texts") and (told := st.session_state.get(_TOLD)):
            st.info(plain(told), icon=":material/library_add:")
        return False
    found = importing.TEXTS
    if len(paths) == 1:
        recognised = attempt(lambda: _recognised(paths[0], _size(paths[0]), projects.current()))
        if recognised is None:
            return True
        found = recognised
        if found.kind is FileKind.TEXTS and st.session_state.get(_labels_key(paths)):
            found = Recognised(FileKind.LABELS, _stem(paths), "Table of codes")
    if found.kind is FileKind.TEXTS:
        if not closed("Importing texts"):
            _texts(paths)
    else:
        _whole(paths[0], found, projects.current())
    return True


@st.cache_data(show_spinner="Looking at the file …", max_entries=16, hash_funcs=queries.HASHES)
def _recognised(path: Path, size: int, corpus: CorpusRecord | None) -> Recognised:
    return importing.recognised(queries.store(), path, corpus)


# --- projects and codings of other programs ---------------------------------------------------------------------------


def _whole(path: Path, found: Recognised, project: CorpusRecord | None) -> None:
    """Draw what a bundle, a project of another program or a table of labels becomes."""
    key, new = _key([path]), "New project"
    labels = found.kind is FileKind.LABELS
    here = project if found.codings is not None or (labels and st.session_state.get(_labels_key([path]))) else None
    if here is not None:
        options = [f"Codings of “{here.name}”", *([] if found.kind is FileKind.CODING else [new])]
        if new == st.segmented_control(
            "Becomes", options, default=options[0], required=True, key=f"texts_becomes_{key}"
        ):
            here = None
    st.markdown(f"**{plain(found.about)}**" + (f" for *{plain(here.name)}*" if here else ""))
    if here is not None:
        _codings(path, found, here, key)
    elif found.kind is FileKind.CODING:
        st.info("Open the project that this coding is of, and import it there.", icon=":material/info:")
    elif not closed("Importing a project"):
        free = queries.read(lambda r: r.corpora.usable_name(found.name or path.stem))
        name = st.text_input("Project name", free, key=f"texts_name_{key}")
        if labels:
            st.caption("Each text becomes a unit, with the codes of each coder.")
        how = path, found, f"texts_name_{key}", _round()
        off = not name.strip()
        st.button("Import", type="primary", icon=":material/download:", disabled=off, on_click=_queue_whole, args=how)


def _codings(path: Path, found: Recognised, project: CorpusRecord, key: int) -> None:
    """Draw how the codings of a file fit the project, and the button that adds them."""
    if closed("Adding codings", Right.LABEL):
        return
    codings, listing, machine = found.codings, st.container(), None
    if found.kind is FileKind.LABELS:
        with st.expander("Change", icon=":material/tune:", expanded=codings is None, key=f"texts_codings_{key}"):
            article, how = _label_reading(path, project, key)
            if (article, how) != (None, LabelReading()) or codings is None:
                codings = attempt(lambda: importing.plan_codings(queries.store(), project, path, article, how))
            if codings is not None and not codings.says_who:
                machine = st.toggle(
                    "A program made these labels",
                    value=codings.machine,
                    key=f"texts_machine_{key}",
                    help="Nothing is learned from the labels of a program, nor measured on them. Tables with the "
                    "columns “source”, “coder” and “probability”, as exports have them, say this of each unit.",
                )
    if codings is None:
        return
    counts, left = codings.counts(), codings.left_out()
    with listing:
        if found.kind is FileKind.LABELS:
            st.caption(" · ".join(f"{n:,} {name}" for name, n in counts.items() if n))
        for remark in codings.remarks():
            st.caption(plain(remark))
        if left:
            with st.expander(f"Left out or changed ({len(left):,})", icon=":material/list:"):
                draw_table(pd.DataFrame(left, columns=importing.LEFT_OUT).rename(columns=str.capitalize))
                download("List as CSV", lambda: csv_text(importing.LEFT_OUT, left), f"{path.stem} left out.csv")
    if st.button("Add the codings", type="primary", icon=":material/download:"):
        new = NewLabelling(project.id, codings.name, current_person())
        made = attempt(lambda: codings.begin(queries.store(), new, machine))
        if made:
            _empty(_round())
            switch_page("code", compare_queries.edit_view(made[0].name))


def _label_reading(path: Path, project: CorpusRecord, key: int) -> tuple[int | None, LabelReading]:
    """Draw the article, the columns and the rules by which a table of labels is read."""
    sheet = attempt(lambda: _sheet(path, _size(path)))
    if sheet is None:
        return None, LabelReading()
    likely, names, columns = asdict(likely_columns(sheet)), ["", *sheet.columns], dict[str, str]()
    fields = {
        "cluster": "Code column",
        "id": "Id column",
        "text": "Unit column",
        "note": "Note column",
        "theme": "Theme column",
    }
    for (field, label), place in zip(fields.items(), st.columns(len(fields)), strict=True):
        chosen = place.selectbox(
            label,
            names,
            index=names.index(likely[field]),
            format_func=lambda name: name or "(none)",
            key=f"texts_label_{field}_{key}",
        )
        if chosen != likely[field]:
            columns[field] = chosen
    texts = {} if is_list(project) else {one.title: one.id for one in queries.articles(project.id, limit=1_000)}
    text = st.selectbox("Text", ["Whole project", *texts], key=f"texts_label_of_{key}") if texts else ""
    help = "A text that occurs several times applies to every unit with that text."
    together = st.toggle("Include duplicates", True, key=f"texts_label_together_{key}", help=help)
    help = "Of several rows for one unit, the codes of all are kept. Otherwise they contradict each other."
    several = st.toggle("Several codes per unit", True, key=f"texts_label_several_{key}", help=help)
    return texts.get(text), LabelReading(columns, together, several, "cluster" in columns)


@st.cache_data(show_spinner="Reading the file …", max_entries=4)
def _sheet(path: Path, size: int) -> Sheet:
    return importing.label_sheet(path)


def _labels_key(paths: Sequence[Path]) -> str:
    """Return the key of whether a table has codes of the units of the project."""
    return f"texts_labels_{_key(paths)}"


def _queue_whole(path: Path, found: Recognised, name: str, turn: int) -> None:
    """Queue the import of a recognised file under the name of a field, and empty the form, once."""
    named = str(st.session_state[name]).strip()
    if turn == _round() and follow(
        lambda: importing.queue_import(queries.store(), path, found, named, current_person())
    ):
        _empty(turn)


# --- texts ------------------------------------------------------------------------------------------------------------


def _texts(paths: Sequence[Path]) -> None:
    """Draw what texts become: a project, or a wave of one."""
    key = _key(paths)
    readings: Readings = st.session_state.setdefault(f"texts_import_readings_{key}", {})
    target = _target(paths, key)
    line, question, problems = st.container(), st.container(), st.container()
    unread = ((place, path) for place, path in enumerate(paths) if path not in readings)
    doubted = next((place for place, path in unread if _is_unclear(path, _size(path))), None)
    with st.expander("Change", icon=":material/tune:", expanded=doubted is not None, key=f"texts_import_change_{key}"):
        if target is None:
            language, unit = _about_new(paths[0], key)
            if (here := projects.current()) is not None and len(paths) == 1:
                st.button(
                    f"These are codes of “{here.name}”",
                    icon=":material/label:",
                    key=f"texts_are_codes_{key}",
                    on_click=st.session_state.__setitem__,
                    args=(_labels_key(paths), True),
                )
        else:
            language, unit = target.language, target.unit
            _about_wave(key)
        listing = st.container()
        path = paths[st.session_state.get(f"texts_import_look_{key}", doubted or 0)]
        plan = _plan(path, target, question if len(paths) == 1 else st.container())
        readings.pop(path, None)
        if plan is not None:
            readings[path] = plan
    types = {column: type for one in readings.values() for column, type in one["types"].items()}
    args: dict[str, Any] = {"files": [str(path) for path in paths], "types": types}
    chosen = {path: {name: one[name] for name in ("reader", "settings")} for path, one in readings.items()}
    own = {path: chosen.get(path, {}) for path in paths}
    if target is not None:
        own = {path: _in_project(target, path, one) for path, one in own.items()}
    seen = _amounts(own, language, unit)
    wrong = {path: one for path, one in zip(paths, seen, strict=True) if isinstance(one, ReadError)}
    amounts = [one for one in seen if isinstance(one, Amount)]
    asked = [path.name for path, one in wrong.items() if isinstance(one, AmbiguousFileError)]
    if len(paths) == 1:
        args |= chosen.get(path, {})
        for error in wrong.values() if doubted is None else ():
            problems.error(plain(error), icon=":material/error:")
    else:
        args |= {"by_file": {str(path): one for path, one in chosen.items()}, "skip_unreadable": True}
        with listing:
            _list(paths, seen, chosen, key)
            st.markdown(f"**{plain(path.name)}**")
        if asked:
            names = ", ".join(f"**{plain(name)}**" for name in asked)
            problems.warning(f"Choose below how to read {names}: click it in the list, or remove it.")
        if left := len(wrong) - len(asked):
            problems.caption(f"{count(left, 'file')} cannot be read: left out, and listed in the report.")
    if not amounts or not any(one.units for one in amounts):
        if amounts:
            problems.warning("No text found in this file. Choose another format.", icon=":material/warning:")
        return
    with line:
        _tell(amounts, target, args)
    _preview(amounts)
    # Queued before the page is redrawn, because another click would interrupt the run.
    st.button(
        "Import" if target is None else "Add to the project",
        type="primary",
        icon=":material/download:",
        disabled=bool(asked) or not str(st.session_state[_name_key(key)]).strip(),
        on_click=_queue,
        args=(args, key, _round()),
    )


def _target(paths: Sequence[Path], key: int) -> CorpusRecord | None:
    """Draw the choice of the project and the name; return the project to which the files are added, None for a new one.

    A table with the columns of the current project is taken for a wave of it at first.
    """
    left, right = st.columns(2)
    known = {corpus.name: corpus for corpus in queries.corpora()}
    name: str | None = None
    if known:
        project = projects.current()
        fits = project is not None and len(paths) == 1 and _fits(paths[0], _size(paths[0]), project)
        options = [None, *known]
        name = left.selectbox(
            "Project",
            options,
            index=options.index(project.name) if project is not None and fits else 0,
            format_func=lambda name: "New project" if name is None else f"Add to “{name}”",
            key=_target_key(key),
            help="Files that are added change nothing that is there: codes and maps stay.",
        )
    if name is None:
        free = queries.read(lambda r: r.corpora.usable_name(_stem(paths)))
        right.text_input("Project name", free, key=f"texts_import_name_{key}")
        return None
    number = max(len(waves_of(known[name])), 1) + 1
    help = "Its units have this name in the column “wave”; those that are there already have “wave 1”."
    right.text_input("Wave", f"wave {number}", key=f"texts_import_wave_{key}", help=help)
    return known[name]


def _target_key(key: int) -> str:
    return f"texts_import_target_{key}"


def _name_key(key: int) -> str:
    """Return the key of the name of the new project, or of the wave."""
    return f"texts_import_{'name' if st.session_state.get(_target_key(key)) is None else 'wave'}_{key}"


def _stem(paths: Sequence[Path]) -> str:
    whole_folder = len(paths) > 1 and not is_upload(paths[0], queries.store().settings.home)
    source = paths[0].parent.name if whole_folder else paths[0].name.split(".")[0]
    stem = source.replace("_", " ").replace("-", " ").strip() or "Project"
    return stem if len(paths) == 1 or whole_folder else stem + f" and {count(len(paths) - 1, 'more file')}"


@st.cache_data(show_spinner=False, max_entries=32, hash_funcs=queries.HASHES)
def _fits(path: Path, size: int, corpus: CorpusRecord) -> bool:
    """Return whether a file is a table with the columns of a project."""
    names = {column.name for column in queries.columns(corpus)} - {*corpus.wave_columns, "row"}
    try:
        if "table" not in REGISTRY.get(detect(path)).tags:
            return False
        found = {column_name(name) for name in call_apart(path, header_of, path, TableForm())}
    except ReadError:
        return False
    return bool(names) and names <= found and len(found - names) <= 2  # text and title, which are no columns here


@st.cache_data(show_spinner=False, max_entries=1_000)
def _is_unclear(path: Path, size: int) -> bool:
    """Return whether a person has to say how a table is written; ``size`` distinguishes versions of the file."""
    try:
        file = file_of_columns(path) if "table" in REGISTRY.get(detect(path)).tags else None
    except ReadError:
        return False
    return file is not None and is_unclear(file)


def _about_new(first: Path, key: int) -> tuple[str, CodingUnit]:
    """Draw language, unit and what follows of a new project; return language and unit."""
    left, middle, right = st.columns([2, 3, 2], vertical_alignment="bottom")
    known = sorted(LANGUAGES, key=language_name)
    language = left.selectbox(
        "Language",
        known,
        index=known.index(_language(str(first))),
        format_func=language_name,
        key=f"texts_import_language_{key}",
        help="Determines how sentences are split. Detected from the first texts.",
    )
    unit = middle.segmented_control(
        "Unit",
        list(CodingUnit),
        default=CodingUnit.SENTENCE,
        required=True,
        key=f"texts_import_unit_{key}",
        format_func=lambda unit: unit.value.capitalize(),
        help="What gets themes and codes. A paragraph is a turn in a transcript. Rows of a table that contain "
        "sentences stay as they are.",
    )
    right.toggle("Only import", key="texts_only_import", help=_ONLY_IMPORT)
    return language, unit


def _about_wave(key: int) -> None:
    left, right = st.columns(2, vertical_alignment="bottom")
    left.date_input("Date (optional)", value=None, key=f"texts_import_date_{key}")
    right.toggle(
        "Leave out duplicates",
        key=f"texts_import_omit_{key}",
        help="Rows whose id (column “id”) or text the project has already. Off: they are added, and counted in the "
        "report.",
    )


@st.cache_data(show_spinner=False, max_entries=8)
def _language(path: str) -> str:
    return language_of_file(Path(path))


def _plan(path: Path, target: CorpusRecord | None, question: DeltaGenerator) -> dict[str, Any] | None:
    """Draw how one file is read; return its reader, its settings and the types of columns.

    Of several columns that may have the texts, one is chosen in ``question``. What is not chosen is as in the project
    to which the file is added. None, with the reason on the page, if it cannot be read, or one has to choose first.
    """
    ids, key = REGISTRY.ids(), _key([path])
    found = attempt(lambda: detect(path)) or ids[-1]
    reader = st.selectbox(
        "Format (detected)",
        ids,
        index=ids.index(found),
        format_func=lambda id: REGISTRY.get(id).title,
        key=f"texts_import_format_{key}",
    )
    card = REGISTRY.get(reader)
    if "table" in card.tags:
        chosen = _columns(path, target, f"texts_import_columns_{key}", question)
    else:
        chosen = TableColumns(config_fields(card.config_class(), f"texts_import_reader_{card.id}_{key}"))
    config = None if chosen is None else checked(card.config_class(), chosen.settings)
    if chosen is None or config is None:
        return None
    return {"reader": reader, "settings": config.to_dict(), "types": dict(chosen.types)}


def _columns(path: Path, target: CorpusRecord | None, key: str, question: DeltaGenerator) -> TableColumns | None:
    """Draw the columns of a table; None, with an error on the page, if it cannot be read or has no rows."""
    file = attempt(lambda: file_of_columns(path) or path)
    if file is None:
        return None
    if file == path and path.is_dir():  # an exported dataset, whose columns are known
        return TableColumns({})
    read = table_form(file, key)
    if read is None:
        return None
    form, sheet = read
    if not sheet.rows:
        st.warning("This file has no rows.", icon=":material/warning:")
        return None
    like: Mapping[str, Any] = {}
    if target is not None:
        like = _in_project(target, path, {"reader": "table", "settings": form.to_dict()})["settings"]
    chosen = forms.choose_columns(sheet, f"{key}_{target.name if target else ''}", like, question)
    return TableColumns({**form.to_dict(), **chosen.settings}, chosen.types)


def _in_project(corpus: CorpusRecord, path: Path, own: dict[str, Any]) -> dict[str, Any]:
    """Return how a file is read that is added to a project, see :func:`.waves.in_project`."""
    try:
        return queries.read(lambda r: in_project(r, corpus, str(path), own))
    except ReadError:  # told with the others
        return own


def _amounts(own: Readings, language: str, unit: CodingUnit) -> list[Amount | ReadError]:
    """Return what files add, or what is wrong with them; each version of a file and a reading is read once."""
    known: dict[str, Amount | ReadError] = st.session_state.setdefault("texts_import_amounts", {})
    names = {
        path: json.dumps([str(path), _size(path), one, language, unit.value], sort_keys=True, default=str)
        for path, one in own.items()
    }
    new = {path: own[path] for path, name in names.items() if name not in known}
    if new:
        with st.spinner("Reading the files …"):
            known |= zip((names[path] for path in new), amounts_of(new, language, unit), strict=True)
    return [known[name] for name in names.values()]


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in files_below(path))


# --- what is told -----------------------------------------------------------------------------------------------------


def _tell(amounts: Sequence[Amount], target: CorpusRecord | None, args: Mapping[str, Any]) -> None:
    """Draw the line that says what the files become, and what is left out and why."""
    parts = _parts(amounts, args)
    if target is not None:
        known = {field.name for field in fields(AppendConfig)}
        given = {name: value for name, value in args.items() if name in known} | {"corpus": target.name, "wave": "-"}
        told = attempt(lambda: told_of(queries.store(), target, config_from_dict(AppendConfig, given), amounts))
        parts = [f"**{plain(told.rstrip('.'))}**", *parts[1:]] if told else []
    if parts:
        st.markdown(" · ".join(parts))
    for what, counted in (
        ("Left out", [one.account.skipped for one in amounts]),
        ("Changed", [one.account.changed for one in amounts]),
    ):
        total: Counter[str] = sum(counted, Counter())
        if total:
            told = "; ".join(f"{number:,} × {reason}" for reason, number in total.items())
            st.caption(plain(f"{what}: {told}"))


def _parts(amounts: Sequence[Amount], args: Mapping[str, Any]) -> list[str]:
    """Return the parts of the line: the numbers, and how the files are read."""
    units, texts = sum(one.units for one in amounts), sum(one.articles for one in amounts)
    tables = all("table" in REGISTRY.get(one.reader).tags for one in amounts)
    listed = (
        tables and any(level is ColumnLevel.SENTENCE for one in amounts for level, _ in one.columns)
    ) or units == texts
    settings, notes = args.get("settings", {}), dict[str, str]()
    for one in amounts:
        notes |= one.account.notes
    most = "" if all(one.whole for one in amounts) else "at least "
    of = count(units if listed else texts, "row" if tables else "text")
    parts = [f"**{most}{of} = {count(units, 'unit')}**"]
    if tables:
        columns = {name for one in amounts for _, name in one.columns if args["types"].get(name) != OMIT_COLUMN}
        parts += [f"text: *{plain(settings['text'])}*"] if settings.get("text") else []
        parts += [count(len(columns - {"row"}), "column")] if columns - {"row"} else []
        parts.append(plain(notes.pop("encoding", "UTF-8").upper()))
        if sign := notes.pop("delimiter", ""):
            parts[-1] += f", `{sign}`"
    else:
        parts.append(plain(", ".join(dict.fromkeys(REGISTRY.get(one.reader).title for one in amounts))))
    code = {name: note.replace("`", "'") for name, note in notes.items()}
    return [*parts, *(f"{plain(words(name).lower())}: `{note}`" for name, note in code.items())]


def _preview(amounts: Sequence[Amount]) -> None:
    """Draw the first units as they would be stored, with their columns."""
    units = [unit for one in amounts for unit in one.first][:FIRST_UNITS]
    texts = len({unit.article for unit in units}) > 1
    rows: list[dict[str, Any]] = [
        {"Unit": shorten(unit.text, 400)}
        | ({"Text": shorten(unit.article, 60)} if texts else {})
        | {name: value for name, value in unit.values.items() if name != "row"}
        for unit in units
    ]
    draw_table(
        pd.DataFrame(rows).astype(str).replace({"nan": "", "None": ""}),
        column_config={"Unit": st.column_config.TextColumn("First units", width="large")},
    )


def _list(paths: Sequence[Path], seen: Sequence[Amount | ReadError], chosen: Readings, key: int) -> None:
    """Draw several files with what becomes of each; a click opens one."""

    def state(path: Path, one: Amount | ReadError) -> str:
        if isinstance(one, AmbiguousFileError):
            return "Choose"
        if isinstance(one, ReadError):
            return "Left out"
        return "Chosen" if path in chosen and _is_unclear(path, _size(path)) else "Ready"

    clickable_table(
        {
            "File": [path.name for path in paths],
            "Format": [REGISTRY.get(one.reader).title if isinstance(one, Amount) else "" for one in seen],
            "Units": [one.units if isinstance(one, Amount) else 0 for one in seen],
            "State": list(map(state, paths, seen)),
            "Problem": [one.problem if isinstance(one, ReadError) else "" for one in seen],
        },
        f"texts_import_list_{key}",
        lambda row: st.session_state.update({f"texts_import_look_{key}": row}),
        height="content" if len(paths) <= 8 else 320,
    )


def _queue(args: dict[str, Any], key: int, turn: int) -> None:
    """Queue the import and empty the form, once: the browser may send a click again.

    Name and language are read from the session, because ``args`` are those of the page as last drawn, which may be
    older than the latest input.
    """
    if turn != _round():
        return
    st.session_state.pop(_TOLD, None)
    name, store = st.session_state[_name_key(key)].strip(), queries.store()
    target = st.session_state.get(_target_key(key))
    if target is None:
        args |= {
            "corpus": name,
            "language": st.session_state[f"texts_import_language_{key}"],
            "unit": st.session_state[f"texts_import_unit_{key}"].value,
        }
        job = submit(
            "import-corpus",
            args,
            f"Import {name}",
            None
            if st.session_state.get("texts_only_import")
            else lambda id: queue_pipeline(store, args["corpus"], args["language"], after=id),
        )
    else:
        date = st.session_state[f"texts_import_date_{key}"]
        args |= {
            "corpus": target,
            "wave": name,
            "date": date.isoformat() if date else "",
            "duplicates": OMIT if st.session_state[f"texts_import_omit_{key}"] else KEEP,
        }
        job = submit("append-corpus", args, f"Add {name}", partial(queue_wave, store, target, name))
        if job is not None:
            told = f"“{name}” is being added to “{target}”. Its texts, codes and places on the map are there when the "
            st.session_state[_TOLD] = told + "jobs end."
    if job is not None:
        _empty(turn)


def _empty(turn: int) -> None:
    st.session_state["texts_import_round"] = turn + 1
    for used in ("texts_uploaded", "texts_import_amounts", forms.HANDED_OVER):
        st.session_state.pop(used, None)


def _key(paths: Sequence[Path]) -> int:
    """Return a key that changes with the files, so that the fields are reset."""
    return hash(tuple(paths))


# --- files ------------------------------------------------------------------------------------------------------------


def _round() -> int:
    """Return the number of imports queued in this session; each one empties the form."""
    return int(st.session_state.get("texts_import_round", 0))


def _files() -> tuple[Path, ...]:
    """Return the paths of the chosen files: uploads kept in the data folder, or files of the server."""
    turn = _round()
    if forms.HANDED_OVER in st.session_state:
        st.button(
            "Choose other files",
            icon=":material/close:",
            on_click=lambda: st.session_state.pop(forms.HANDED_OVER, None),
        )
        return _unpacked(st.session_state[forms.HANDED_OVER])
    if forms.choose_server_path("Source", f"texts_import_source_{turn}"):
        path = st.text_input(
            "Path of a file or folder", key=f"texts_import_path_{turn}", placeholder="/data/wiki.xml.bz2"
        )
        return _on_server(path) if path and path.strip() else ()
    files = st.file_uploader(
        "Files",
        accept_multiple_files=True,
        max_upload_size=MOST_BYTES // 1_000_000,
        key=f"texts_import_files_{turn}",
        help="Of any kind: texts, tables, projects of Themescope (bundles), NVivo, ATLAS.ti or MAXQDA (QDPX), tables "
        "of labels, ZIP archives. Larger files: with the command line. "
        + ("" if forms.server_paths_offered() else NO_FOLDERS),
    )
    if not files:
        return ()
    return _unpacked(forms.keep_once("texts_uploaded", tuple(file.file_id for file in files), files))


def _unpacked(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the paths, archives of datasets as the folders that they are."""
    return tuple(_dataset_in(path) or path if path.suffix.lower() == ".zip" else path for path in paths)


@st.cache_data(show_spinner="Unpacking the archive …", max_entries=8)
def _dataset_in(archive: Path) -> Path | None:
    """Return the unpacked dataset of an archive, None if it is none: then its files are read one by one."""
    return attempt(lambda: packed_dataset(archive, archive.with_suffix("")))


def _on_server(text: str) -> tuple[Path, ...]:
    """Return the typed server file or dataset, or the files of the typed folder; () with an error on the page."""
    path = forms.server_path(text)
    if path is None:
        return ()
    if path.is_dir():
        dataset = is_dataset(path)
        files = files_below(path) if dataset else attempt(lambda: files_of(path)) or []
        # A symbolic link in the folder may lead outside of the folders that pages may read; the first one is told.
        found = []
        for file in files:
            if (allowed := forms.server_path(str(file))) is None:
                return ()
            found.append(allowed)
        return (path,) if dataset else tuple(found)
    if not path.is_file():
        st.error(f"There is no file {plain(path)} on the server.")
        return ()
    return (path,)
