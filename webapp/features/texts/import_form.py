"""Import form: choice of files, preview and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from pathlib import Path
from typing import Any

import streamlit as st

from themescope.core.config import config_from_dict
from themescope.core.errors import AmbiguousFileError, ReadError, ThemescopeError
from themescope.core.readers import REGISTRY
from themescope.core.readers.dataset_folders import files_below, is_dataset
from themescope.core.readers.documents.archive import packed_dataset
from themescope.core.readers.formats import Preview, detect, files_of, suffixes
from themescope.core.readers.table import file_of_columns
from themescope.core.text.languages import language_name
from themescope.core.text.splitting import LANGUAGES
from themescope.core.types import CodingUnit
from themescope.jobs.common.importing.reading import preview_of, previews_of
from themescope.jobs.common.importing.waves import KEEP, OMIT, in_project, waves_of
from themescope.jobs.common.models import language_of_file
from themescope.jobs.common.uploads import MOST_BYTES, is_upload
from themescope.jobs.kinds.append_corpus import AppendConfig, coming
from themescope.jobs.queue.control import enqueue
from themescope.jobs.services.pipeline import ANALYSED, queue_pipeline
from themescope.webapp.shared import input_files, queries
from themescope.webapp.shared.components import attempt, clickable_table
from themescope.webapp.shared.forms import checked, config_fields, table_form
from themescope.webapp.shared.input_files import TableColumns
from themescope.webapp.shared.job_status import follow, submit
from themescope.webapp.shared.text import count, plain, shorten, words

_LISTED = 12
"""Files that the list shows without scrolling."""
_LIST_PX = 420
_ARCHIVE = "zip"
_ONLY_IMPORT = (
    "Off: vectors, themes and a map follow by themselves. Of more than "
    f"{ANALYSED:,} sentences, they are those of articles drawn at random."
)


def form() -> None:
    """Draw the form from the choice of files to the queued import."""
    paths = _files()
    if not paths:
        return
    key = _key(paths)
    glances = _glances(paths) if len(paths) > 1 else []
    first = next((path for path, glance in zip(paths, glances, strict=False) if glance.begins), paths[0])
    target = choose(key)
    if target is None:
        _about_new(paths, first, key)
    known: dict[Path, dict[str, Any]] = st.session_state.setdefault(f"texts_import_plans_{key}", {})
    listing = st.container()
    path = _opened(paths, glances, key) if glances else paths[0]
    plan = _plan(path, target)
    known.pop(path, None)
    if plan is not None:
        known[path] = plan
    open_questions = [p.name for p, glance in zip(paths, glances, strict=False) if glance.ambiguous and p not in known]
    if glances:
        with listing:
            _list(paths, glances, known, key)
        own = {str(path): {name: plan[name] for name in ("reader", "settings")} for path, plan in known.items()}
        args: dict[str, Any] = {"by_file": own, "skip_unreadable": True}
    elif plan is None:
        return
    else:
        args = dict(plan)
    if open_questions:
        names = ", ".join(f"**{plain(name)}**" for name in open_questions)
        st.warning(f"Choose how to read {names}: look at it above, or remove it.", icon=":material/help:")
    types = {column: type for plan in known.values() for column, type in plan["types"].items()}
    args |= {"files": [str(path) for path in paths], "types": types}
    if target is not None and not open_questions:
        tell(args, target)
    with st.container(horizontal=True, vertical_alignment="center"):
        # Queued before the page is redrawn, because another click would interrupt the run.
        st.button(
            "Import" if target is None else "Add to the project",
            type="primary",
            icon=":material/download:",
            disabled=bool(open_questions) or not str(st.session_state[name_key(key)]).strip(),
            on_click=_queue,
            args=(args, key, _round()),
        )
        if target is None:
            st.toggle("Only import", key="texts_only_import", help=_ONLY_IMPORT)


def _plan(path: Path, target: str | None) -> dict[str, Any] | None:
    """Draw how one file is read, and its first articles; return its reader, its settings and the types of columns.

    What is not chosen is as in the project ``target`` to which the file is added. None, with the reason on the page, if
    it cannot be read, or a person has to choose first.
    """
    reader_id = _format(path)
    card = REGISTRY.get(reader_id)
    chosen = (
        _columns(path, target)
        if "table" in card.tags
        else TableColumns(config_fields(card.config_class(), f"texts_import_reader_{card.id}_{_key([path])}"))
    )
    config = None if chosen is None else checked(card.config_class(), chosen.settings)
    if chosen is None or config is None:
        return None
    settings = config.to_dict()
    if target is not None and "table" in card.tags:
        settings |= settings_in(target, path, reader_id, settings)
    if not _show_preview(path, reader_id, settings):
        return None
    return {"reader": reader_id, "settings": settings, "types": dict(chosen.types)}


@dataclass(frozen=True)
class _Glance:
    """What one of several files is, and how it begins."""

    format: str
    begins: str = ""
    problem: str = ""
    ambiguous: bool = False
    """A person has to choose how it is read."""


def _glances(paths: Sequence[Path]) -> list[_Glance]:
    """Return what the files are; each version of a file is looked at once in a session."""
    known: dict[tuple[Path, int], _Glance] = st.session_state.setdefault("texts_glances", {})
    sized = [(path, _size(path)) for path in paths]
    readers: dict[Path, str] = {}
    for path, size in sized:
        if (path, size) not in known:
            try:
                readers[path] = detect(path)
            except ReadError as error:
                known[path, size] = _Glance("Unknown", "", error.problem, isinstance(error, AmbiguousFileError))
    if readers:
        with st.spinner("Looking at the files …"):
            seen = previews_of([*readers.items()], n=1)
        for (path, id), found in zip(readers.items(), seen, strict=True):
            title = REGISTRY.get(id).title
            if isinstance(found, ReadError):
                glance = _Glance(title, "", found.problem, isinstance(found, AmbiguousFileError))
            else:
                parts = (p for article in found.articles for section in article.sections for p in section.paragraphs)
                texts = (text for p in parts for text in (p.text, *p.sentences))
                glance = _Glance(title, shorten(next(filter(None, texts), ""), 80))
            known[path, _size(path)] = glance
    return [known[one] for one in sized]


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in files_below(path))


def _list(paths: Sequence[Path], glances: Sequence[_Glance], known: Mapping[Path, Any], key: int) -> None:
    """Draw several files, each with its format, and whether it is ready; a click opens one."""

    def state(path: Path, glance: _Glance) -> str:
        if glance.ambiguous:
            return "Chosen" if path in known else "Choose"
        return "Left out" if glance.problem else "Ready"

    clickable_table(
        {
            "File": [path.name for path in paths],
            "Format": [glance.format for glance in glances],
            "kB": [max(round(_size(path) / 1000), 1) for path in paths],
            "State": list(map(state, paths, glances)),
            "Begins with": [glance.begins or glance.problem for glance in glances],
        },
        f"texts_import_list_{key}",
        lambda row: st.session_state.update({_look(key): row}),
        height="content" if len(paths) <= _LISTED else _LIST_PX,
    )
    left_out = sum(bool(glance.problem) and not glance.ambiguous for glance in glances)
    st.caption(
        f"{count(len(paths), 'file')}, each read in its own format."
        + (f" {left_out:,} of them cannot be read: left out, and listed in the report." if left_out else "")
    )


def _opened(paths: Sequence[Path], glances: Sequence[_Glance], key: int) -> Path:
    """Draw the choice of the file to look at; at first, one that needs a choice, else the first that can be read."""
    ambiguous = (i for i, glance in enumerate(glances) if glance.ambiguous)
    readable = (i for i, glance in enumerate(glances) if not glance.problem)
    st.session_state.setdefault(_look(key), next(chain(ambiguous, readable), 0))
    chosen: int = st.selectbox(
        "File to look at", range(len(paths)), format_func=lambda i: paths[i].name, key=_look(key)
    )
    return paths[chosen]


def _look(key: int) -> str:
    return f"texts_import_look_{key}"


def _columns(path: Path, target: str | None) -> TableColumns | None:
    """Draw the columns of a table; None, with an error on the page, if it cannot be read or has no rows."""
    try:
        file = file_of_columns(path)
    except ReadError as error:
        st.error(plain(error), icon=":material/error:")
        return None
    if file is None:
        return TableColumns({})
    key = f"texts_import_columns_{_key([path])}"
    read = table_form(file, key)
    if read is None:
        return None
    form, sheet = read
    if not sheet.rows:
        st.warning("This file has no rows.", icon=":material/warning:")
        return None
    like = {} if target is None else settings_in(target, path, "table", form.to_dict())
    chosen = input_files.choose_columns(sheet, f"{key}_{target or ''}", like)
    return TableColumns({**form.to_dict(), **chosen.settings}, chosen.types)


def _queue(args: dict[str, Any], key: int, turn: int) -> None:
    """Queue the import and empty the form, once: the browser may send a click again.

    Name and language are read from the session, because ``args`` are those of the page as last drawn, which may be
    older than the latest input.
    """
    if turn != _round():
        return
    name = st.session_state[name_key(key)].strip()
    target = chosen_target(key)
    if target is None:
        args |= {
            "corpus": name,
            "language": st.session_state[f"texts_import_language_{key}"],
            "unit": st.session_state[f"texts_import_unit_{key}"].value,
        }
        job = submit("import-corpus", args, f"Import {name}")
    else:
        job = submit("append-corpus", args | wave_arguments(key), f"Add {name}")
    if job is not None:
        if target is not None:
            placing = {"corpus": target, "wave": name}
            follow(lambda: [enqueue(queries.store(), "place-wave", placing, after=job.id)])
        elif not st.session_state.get("texts_only_import"):
            follow(lambda: queue_pipeline(queries.store(), args["corpus"], args["language"], after=job.id))
        st.session_state["texts_import_round"] = turn + 1
        for used in ("texts_uploaded", input_files.HANDED_OVER):
            st.session_state.pop(used, None)


def _round() -> int:
    """Return the number of imports queued in this session; each one empties the form."""
    turn: int = st.session_state.get("texts_import_round", 0)
    return turn


def _files() -> tuple[Path, ...]:
    """Return the paths of the chosen files: uploads kept in the data folder, or files of the server."""
    turn = _round()
    if input_files.HANDED_OVER in st.session_state:
        st.button(
            "Choose other files",
            icon=":material/close:",
            on_click=lambda: st.session_state.pop(input_files.HANDED_OVER, None),
        )
        return _unpacked(st.session_state[input_files.HANDED_OVER])
    if input_files.choose_server_path("Source", f"texts_import_source_{turn}"):
        path = st.text_input(
            "Path of a file or folder", key=f"texts_import_path_{turn}", placeholder="/data/wiki.xml.bz2"
        )
        return _on_server(path) if path and path.strip() else ()
    files = st.file_uploader(
        "Files",
        type=list(suffixes()),
        accept_multiple_files=True,
        max_upload_size=MOST_BYTES // 1_000_000,
        key=f"texts_import_files_{turn}",
        help="The files of a ZIP archive are read one by one, unless it is the folder of a Hugging Face dataset. "
        "Import larger files by their path on the server or with the command line.",
    )
    if not files:
        return ()
    return _unpacked(input_files.keep_once("texts_uploaded", tuple(file.file_id for file in files), files))


def _unpacked(paths: Sequence[Path]) -> tuple[Path, ...]:
    """Return the paths, archives of datasets as the folders that they are."""
    found = [_dataset_in(path) if path.suffix.lower() == f".{_ARCHIVE}" else None for path in paths]
    return tuple(path if dataset is None else dataset for path, dataset in zip(paths, found, strict=True))


@st.cache_data(show_spinner="Unpacking the archive …", max_entries=8)
def _dataset_in(archive: Path) -> Path | None:
    """Return the unpacked dataset of an archive, None if it is none: then its files are read one by one."""
    return attempt(lambda: packed_dataset(archive, archive.with_suffix("")))


def _on_server(text: str) -> tuple[Path, ...]:
    """Return the typed server file or dataset, or the files of the typed folder; () with an error on the page."""
    path = input_files.server_path(text)
    if path is None:
        return ()
    if path.is_dir():
        return _dataset(path) if is_dataset(path) else _in_folder(path)
    if not path.is_file():
        st.error(f"There is no file {plain(path)} on the server.")
        return ()
    return (path,)


def _dataset(folder: Path) -> tuple[Path, ...]:
    """Return the folder of a dataset, if pages may read all of its files: some may be symbolic links."""
    allowed = all(input_files.server_path(str(file)) is not None for file in files_below(folder))
    return (folder,) if allowed else ()


def _in_folder(folder: Path) -> tuple[Path, ...]:
    known = attempt(lambda: files_of(folder)) or []
    # A symbolic link in the folder may lead outside of the folders that pages may read.
    found = [input_files.server_path(str(path)) for path in known]
    return () if None in found else tuple(path for path in found if path is not None)


def _about_new(paths: Sequence[Path], first: Path, key: int) -> None:
    """Draw name and language of a new project."""
    whole_folder = len(paths) > 1 and not is_upload(paths[0], queries.store().settings.home)
    source = paths[0].parent.name if whole_folder else paths[0].name.split(".")[0]
    stem = source.replace("_", " ").replace("-", " ").strip() or "corpus"
    if len(paths) > 1 and not whole_folder:
        stem += f" and {count(len(paths) - 1, 'more file', 'more files')}"
    left, middle, right = st.columns([4, 2, 3])
    left.text_input("Project name", value=queries.usable_corpus_name(stem), key=f"texts_import_name_{key}")
    known = sorted(LANGUAGES, key=language_name)
    middle.selectbox(
        "Language",
        known,
        index=known.index(_language(str(first))),
        format_func=language_name,
        key=f"texts_import_language_{key}",
        help="Determines how sentences are split. Detected from the first articles.",
    )
    right.segmented_control(
        "Unit",
        list(CodingUnit),
        default=CodingUnit.SENTENCE,
        required=True,
        format_func=lambda unit: unit.value.capitalize(),
        key=f"texts_import_unit_{key}",
        help="What is clustered and labelled. A paragraph is a turn in a transcript. Rows of a table that contain "
        "sentences stay as they are.",
    )


def _format(path: Path) -> str:
    """Draw the choice of the reader."""
    ids = REGISTRY.ids()
    found = attempt(lambda: detect(path)) or ids[-1]
    return st.selectbox(
        "Format (detected)",
        ids,
        index=ids.index(found),
        format_func=lambda id: REGISTRY.get(id).title,
        key=f"texts_import_format_{_key([path])}",
    )


@st.cache_data(show_spinner=False, max_entries=8)
def _language(path: str) -> str:
    return language_of_file(Path(path))


def _key(paths: Sequence[Path]) -> int:
    """Return a key that changes with the files, so that the fields are reset."""
    return hash(tuple(paths))


@st.cache_data(show_spinner="Reading the file …", max_entries=64)
def _preview(path: str, size: int, reader: str, settings: dict[str, Any]) -> Preview | str:
    """Return the first articles of a file, or why it cannot be read; ``size`` distinguishes versions of it."""
    try:
        return preview_of(Path(path), reader, settings)
    except ThemescopeError as error:
        return str(error)


def _show_preview(path: Path, reader_id: str, settings: dict[str, Any]) -> bool:
    """Draw the first articles as they would be imported; return False if the file cannot be read."""
    seen = _preview(str(path), _size(path), reader_id, settings)
    if isinstance(seen, str):
        st.error(plain(seen), icon=":material/error:")
        return False
    if not seen.articles:
        st.warning("No article found at the beginning of this file. Choose another format.")
        return False
    st.markdown(f"**Preview:** {count(len(seen.articles), 'article')} of `{_code(path.name)}`")
    for article in seen.articles:
        filled = [s for s in article.sections if s.paragraphs]
        headings = [s.title for s in article.sections if s.title]
        with st.expander(plain(shorten(article.title or "(no title)", 90)), icon=":material/article:"):
            st.caption(f"{count(len(headings), 'heading')}, {count(len(filled), 'section')} with text")
            if headings:
                st.text(" · ".join(shorten(h, 40) for h in headings[:12]) + (" · …" if len(headings) > 12 else ""))
            first = next((p for s in filled for p in s.paragraphs), None)
            if first is not None:
                st.text(shorten(first.text or " ".join(first.sentences), 600))
    if seen.skipped:
        parts = [f"{number:,} × {plain(words(reason)).lower()}" for reason, number in seen.skipped.items()]
        st.caption("Skipped so far: " + ", ".join(parts))
    return True


def _code(text: str) -> str:
    return text.replace("`", "'")


# Choice in the import form: a new project, or a wave of one that is there


def chosen_target(key: int) -> str | None:
    """Return the project to which the files are added; None for a new one."""
    chosen: str | None = st.session_state.get(f"texts_import_target_{key}")
    return chosen


def name_key(key: int) -> str:
    """Return the key of the name of the new project, or of the wave."""
    return f"texts_import_{'name' if chosen_target(key) is None else 'wave'}_{key}"


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
            key=f"texts_import_target_{key}",
            help="Files that are added change nothing that is there: labels, vectors and maps stay.",
        )
    chosen = chosen_target(key)
    if chosen is not None:
        _about_wave(chosen, key)
    return chosen


def _about_wave(corpus: str, key: int) -> None:
    """Draw name and date of the wave, and what happens to duplicates."""
    left, right = st.columns([2, 1])
    record = queries.read(lambda r: r.corpora.by_name(corpus))
    number = max(len(waves_of(record)), 1) + 1
    left.text_input(
        "Wave", value=f"wave {number}", key=f"texts_import_wave_{key}",
        help="Its articles have this name in the column “wave”; those that are there already have “wave 1”.",
    )  # fmt: skip
    right.date_input("Date (optional)", value=None, key=f"texts_import_date_{key}")
    st.toggle(
        "Leave out duplicates", key=f"texts_import_omit_{key}",
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
    date = st.session_state[f"texts_import_date_{key}"]
    return {
        "corpus": chosen_target(key),
        "wave": st.session_state[name_key(key)].strip(),
        "date": date.isoformat() if date else "",
        "duplicates": OMIT if st.session_state[f"texts_import_omit_{key}"] else KEEP,
    }
