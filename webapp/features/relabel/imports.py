"""Import of labellings: a labelling that was exported whole, or labels in a table made elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import streamlit as st

from themescope.core.readers.tables import MOST_BYTES, Sheet, read_sheet
from themescope.core.records.stored import LabellingRecord
from themescope.db.access import Right
from themescope.db.records import NewLabelling
from themescope.jobs.services.labelling import codebook, files, starts, tables
from themescope.jobs.services.labelling.codebook import from_codes
from themescope.webapp.features.relabel.settings import choose_article, create
from themescope.webapp.features.relabel.state import (
    IMPORT_ARTICLE,
    IMPORT_COLUMN,
    IMPORT_FILE,
    IMPORT_SHEET,
    SCHEME,
    SCHEME_ARTICLE,
)
from themescope.webapp.shared import input_files, projects, queries
from themescope.webapp.shared.choose import closed
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.text import count

_FILE_TYPES = ("csv", "tsv", "xlsx", "jsonl")
_MAX_MB = 200
_NO_COLUMN = "(none)"
_SHORT_TABLE = 8
_MAX_NAME = 180


def whole_labelling(on_created: Callable[[LabellingRecord], None]) -> None:
    """Draw the import of an exported labelling with its history."""
    with st.expander("Import labelling", icon=":material/upload:"):
        corpus = projects.current()
        if corpus is None:
            return
        st.caption("A labelling exported as JSON lines, with its history.")
        file = st.file_uploader("JSON lines file", type=["jsonl"], max_upload_size=_MAX_MB)
        if file is None or not st.button("Import", icon=":material/upload:"):
            return
        lines, source = file.getvalue().decode("utf-8", errors="replace").split("\n"), file.name
        record = attempt(lambda: files.import_lines(queries.store(), corpus.id, lines, source))
        if record is not None:
            on_created(record)


def labels(on_created: Callable[[LabellingRecord], None]) -> None:
    """Draw the import of labels from a table, with a preview of the rows that match."""
    with st.expander("Import labels", icon=":material/table:"):
        corpus = projects.current()
        if corpus is None or closed("Labelling", Right.LABEL):
            return
        st.caption("A table with one sentence per row, given by its exact text or its id, and its cluster.")
        file = st.file_uploader(
            "CSV, TSV, Excel or JSON lines file",
            type=list(_FILE_TYPES),
            max_upload_size=MOST_BYTES // 1_000_000,
            key=IMPORT_FILE,
        )
        article = choose_article(corpus, IMPORT_ARTICLE)
        sheet = None if file is None else _sheet(file)
        if file is None or sheet is None:
            return
        columns = _columns(sheet)
        together = st.toggle(
            "Include duplicates", help="A text that occurs several times applies to every sentence with that text."
        )
        found = attempt(lambda: tables.plan(queries.store(), corpus.id, article, sheet, columns, together))
        if found is None:
            return
        _preview(found)
        machine = not found.makers and st.toggle(
            "A program made these labels",
            value=tables.hides_makers(sheet),
            help="Nothing is learned from the labels of a program, nor measured on them. Tables with the columns "
            "“source”, “coder” and “probability”, as exports have them, say this of each sentence. Exports of version "
            "0.2 do not tell the labels of a program from those of people.",
        )
        name = Path(file.name).stem[:_MAX_NAME] or corpus.name
        new = NewLabelling(corpus.id, name, current_person(), article_id=article)
        problems = len(found.problems)
        rows = "this row" if problems == 1 else f"these {problems:,} rows"
        skip = problems == 0 or st.checkbox(f"Skip {rows}")
        if st.button("Import labels", icon=":material/edit:", disabled=not skip, type="primary"):
            create(new, tables.from_plan(found, file.name, machine), on_created)


def _sheet(file: input_files.Upload) -> Sheet | None:
    """Return the table of an upload; None, with an error on the page, if it cannot be read."""
    mark = getattr(file, "file_id", file.name)
    path = input_files.keep_once(IMPORT_SHEET, mark, [file], queries.store().settings.home)[0]
    return attempt(lambda: _read(str(path)))


@st.cache_data(show_spinner="Reading the file …", max_entries=4)
def _read(path: str) -> Sheet:
    return files.as_labels(read_sheet(Path(path), starts.MOST_SENTENCES))


def _columns(sheet: Sheet) -> tables.LabelColumns:
    likely, names = tables.likely_columns(sheet), [_NO_COLUMN, *sheet.columns]

    def choose(place: int, label: str, default: str) -> str:
        index = names.index(default) if default in names else 0
        chosen = columns[place].selectbox(label, names, index=index, format_func=str, key=f"{IMPORT_COLUMN}_{place}")
        return "" if chosen == _NO_COLUMN else chosen

    columns = st.columns(5)
    return replace(
        likely,
        cluster=choose(0, "Cluster column", likely.cluster),
        id=choose(1, "Id column", likely.id),
        text=choose(2, "Sentence column", likely.text),
        note=choose(3, "Note column", likely.note),
        theme=choose(4, "Theme column", likely.theme),
    )


def _preview(found: tables.Plan) -> None:
    """Draw how many rows match a sentence, and the rows that do not."""
    st.markdown(
        f"**{_matching(found.rows)}** {count(len(found.placed), 'sentence')} of {found.sentences:,} in "
        f"{count(len(found.names), 'cluster')} · {len(found.missing):,} not found · "
        f"{len(found.ambiguous):,} ambiguous · {len(found.contradicting):,} contradictory"
    )
    problems = found.problems
    if not problems:
        return
    st.warning(f"{_matching(len(problems))} no sentence. Row numbers are those of a spreadsheet.")
    frame = pd.DataFrame(
        {"Row": [t.row for t in problems], "Problem": [t.why for t in problems], "Sentence": [t.text for t in problems]}
    )
    st.dataframe(frame, hide_index=True, height="content" if len(problems) <= _SHORT_TABLE else 300)


def _matching(rows: int) -> str:
    return f"{count(rows, 'row')} {'matches' if rows == 1 else 'match'}"


def scheme(on_created: Callable[[LabellingRecord], None]) -> None:
    """Draw the import of a scheme, whose clusters are those of a new labelling."""
    with st.expander("Import scheme", icon=":material/account_tree:"):
        corpus = projects.current()
        if corpus is None or closed("Labelling", Right.LABEL):
            return
        st.caption("Clusters with their themes and codebook entries, as exported. All sentences begin unassigned.")
        file = st.file_uploader("Scheme", type=list(codebook.CODE_FILES), max_upload_size=_MAX_MB, key=SCHEME)
        article = choose_article(corpus, SCHEME_ARTICLE)
        if file is None:
            return
        mark = getattr(file, "file_id", file.name)
        path = input_files.keep_once(f"{SCHEME}_kept", mark, [file], queries.store().settings.home)[0]
        found = attempt(lambda: codebook.read_codes(path))
        if found is None:
            return
        if not found:
            st.info("This file has no clusters. Choose another one.", icon=":material/info:")
            return
        themes = sum(not code.theme for code in found)
        st.markdown(f"{count(themes, 'theme')} and {count(len(found) - themes, 'sub-theme')}")
        if st.button("Create labelling with these clusters", type="primary", icon=":material/edit:"):
            name = Path(file.name).stem[:_MAX_NAME] or corpus.name
            new = NewLabelling(corpus.id, name, current_person(), article_id=article)
            create(new, from_codes(found, file.name), on_created)
