"""Import form: choice of files, preview and settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from themescope.core.errors import ReadError
from themescope.core.readers import REGISTRY
from themescope.core.readers.dataset_folders import files_below, is_dataset
from themescope.core.readers.documents.archive import packed_dataset
from themescope.core.readers.formats import detect, preview, suffixes
from themescope.core.readers.table import file_of_columns
from themescope.core.text.languages import language_name
from themescope.core.text.splitting import LANGUAGES
from themescope.jobs.common.model_choice import language_of_file
from themescope.jobs.services.pipeline import ANALYSED, queue_pipeline
from themescope.webapp.shared import input_files, queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.forms import checked, config_fields, table_form
from themescope.webapp.shared.input_files import TableColumns
from themescope.webapp.shared.job_status import follow, submit
from themescope.webapp.shared.text import count, plain, shorten, words

_UPLOAD_MB = 500
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
    name, language, reader_id = _about(paths)
    card = REGISTRY.get(reader_id)
    chosen = (
        _columns(paths[0])
        if "table" in card.tags
        else TableColumns(config_fields(card.config_class(), f"corpora_import_reader_{card.id}"))
    )
    if chosen is None:
        return
    config = checked(card.config_class(), chosen.settings)
    if config is None or not _show_preview(paths[0], reader_id, config.to_dict()):
        return
    args = {
        "files": [str(path) for path in paths],
        "corpus": name.strip(),
        "language": language,
        "reader": reader_id,
        "settings": config.to_dict(),
        "types": dict(chosen.types),
    }
    with st.container(horizontal=True, vertical_alignment="center"):
        # Queued before the page is redrawn, because another click would interrupt the run.
        st.button(
            "Import",
            type="primary",
            icon=":material/download:",
            disabled=not name.strip(),
            on_click=_queue,
            args=(args, _key(paths), _round()),
        )
        st.toggle("Only import", key="corpora_only_import", help=_ONLY_IMPORT)


def _columns(path: Path) -> TableColumns | None:
    """Draw the columns of a table; None, with an error on the page, if it cannot be read or has no rows."""
    try:
        file = file_of_columns(path)
    except ReadError as error:
        st.error(plain(error), icon=":material/error:")
        return None
    if file is None:
        return TableColumns({})
    key = f"corpora_import_columns_{_key([path])}"
    read = table_form(file, key)
    if read is None:
        return None
    form, sheet = read
    if not sheet.rows:
        st.warning("This file has no rows.", icon=":material/warning:")
        return None
    chosen = input_files.choose_columns(sheet, key)
    return TableColumns({**form.to_dict(), **chosen.settings}, chosen.types)


def _queue(args: dict[str, Any], key: int, turn: int) -> None:
    """Queue the import and empty the form, once: the browser may send a click again.

    Name and language are read from the session, because ``args`` are those of the page as last drawn, which may be
    older than the latest input.
    """
    if turn != _round():
        return
    args |= {
        "corpus": st.session_state[f"corpora_import_name_{key}"].strip(),
        "language": st.session_state[f"corpora_import_language_{key}"],
    }
    job = submit("import-corpus", args, f"Import {args['corpus']}")
    if job is not None:
        if not st.session_state.get("corpora_only_import"):
            follow(lambda: queue_pipeline(queries.store(), args["corpus"], args["language"], after=job.id))
        st.session_state["corpora_import_round"] = turn + 1
        st.session_state.pop("corpora_uploaded", None)


def _round() -> int:
    """Return the number of imports queued in this session; each one empties the form."""
    turn: int = st.session_state.get("corpora_import_round", 0)
    return turn


def _files() -> tuple[Path, ...]:
    """Return the paths of the chosen files: uploads kept in the data folder, or files of the server."""
    turn = _round()
    if input_files.choose_server_path("Source", f"corpora_import_source_{turn}"):
        path = st.text_input(
            "Path of a file or folder", key=f"corpora_import_path_{turn}", placeholder="/data/wiki.xml.bz2"
        )
        return _on_server(path) if path and path.strip() else ()
    files = st.file_uploader(
        "Files",
        type=list(suffixes()),
        accept_multiple_files=True,
        max_upload_size=_UPLOAD_MB,
        key=f"corpora_import_files_{turn}",
        help="The files of a ZIP archive are read one by one, unless it is the folder of a Hugging Face dataset. "
        "Import larger files by their path on the server or with the command line.",
    )
    if not files:
        return ()
    mark = tuple(file.file_id for file in files)
    paths = input_files.keep_once("corpora_uploaded", mark, files)
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
    known = [path for path in sorted(folder.iterdir()) if path.suffix.lstrip(".").lower() in suffixes()]
    if not known:
        st.error(f"No file in {plain(folder)} has a known suffix. Known suffixes: {', '.join(suffixes())}.")
    # A symbolic link in the folder may lead outside of the folders that pages may read.
    found = [input_files.server_path(str(path)) for path in known]
    return () if None in found else tuple(path for path in found if path is not None)


def _about(paths: Sequence[Path]) -> tuple[str, str, str]:
    whole_folder = len(paths) > 1 and not input_files.is_upload(paths[0], queries.store().settings.home)
    source = paths[0].parent.name if whole_folder else paths[0].name.split(".")[0]
    stem = source.replace("_", " ").replace("-", " ").strip() or "corpus"
    key = _key(paths)
    left, middle, right = st.columns([2, 1, 2])
    name = left.text_input("Corpus name", value=queries.usable_corpus_name(stem), key=f"corpora_import_name_{key}")
    known = sorted(LANGUAGES, key=language_name)
    language = middle.selectbox(
        "Language",
        known,
        index=known.index(_language(str(paths[0]))),
        format_func=language_name,
        key=f"corpora_import_language_{key}",
        help="Determines how sentences are split. Detected from the first articles.",
    )
    ids = REGISTRY.ids()
    found = attempt(lambda: detect(paths[0])) or ids[-1]
    reader_id = right.selectbox(
        "Format (detected)",
        ids,
        index=ids.index(found),
        format_func=lambda id: REGISTRY.get(id).title,
        key=f"corpora_import_format_{key}",
    )
    return name, language, reader_id


@st.cache_data(show_spinner=False, max_entries=8)
def _language(path: str) -> str:
    return language_of_file(Path(path))


def _key(paths: Sequence[Path]) -> int:
    """Return a key that changes with the files, so that the fields are reset."""
    return hash(tuple(paths))


def _show_preview(path: Path, reader_id: str, settings: dict[str, Any]) -> bool:
    """Draw the first articles as they would be imported; return False if the file cannot be read."""
    seen = attempt(lambda: preview(path, reader_id, settings, n=5))
    if seen is None:
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
