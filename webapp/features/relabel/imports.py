"""Labels from a table that somebody made elsewhere: choose columns, see what fits, begin a labelling with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import streamlit as st

from core.errors import ThemescopeError
from core.readers.sentence_lists import MOST_BYTES, Sheet, read_sheet
from db.label_records import LabellingRecord, NewLabelling
from db.records import CorpusRecord
from db.roles import Right
from jobs.services.labelling import starts, tables
from webapp.shared import queries, uploads
from webapp.shared.guard import closed
from webapp.shared.people import current_person
from webapp.shared.text import count, plain

_KINDS = ("csv", "tsv", "xlsx", "jsonl")
_NONE = "(none)"
_WHOLE = "the whole corpus"
_LISTED = 300
_SHORT = 8


def take_in(opened: Callable[[LabellingRecord], None]) -> None:
    """The whole way; ``opened`` is called with the labelling that was made."""
    with st.expander("Take in labels from a table", icon=":material/table:"):
        corpora = {c.name: c for c in queries.corpora()}
        if not corpora or closed("Labelling", Right.LABEL):
            return
        st.caption("A sentence in each row, word for word or by its id, with the cluster that it belongs to.")
        file = st.file_uploader(
            "CSV, TSV, Excel or JSON lines",
            type=list(_KINDS),
            max_upload_size=MOST_BYTES // 1_000_000,
            key="table-file",
        )
        left, right = st.columns(2)
        corpus = corpora[left.selectbox("Corpus of its sentences", list(corpora), key="table-corpus")]
        article = _article(corpus, right)
        sheet = None if file is None else _sheet(file)
        if file is None or sheet is None:
            return
        columns = _columns(sheet)
        together = st.toggle(
            "Label identical sentences together",
            help="A text that several sentences say, word for word, stands for all of them.",
        )
        try:
            found = tables.plan(queries.store(), corpus.id, article, sheet, columns, together)
        except ThemescopeError as error:
            st.error(plain(error), icon=":material/error:")
            return
        _told(found)
        new = NewLabelling(corpus.id, Path(file.name).stem[:180] or corpus.name, current_person(), article_id=article)
        _begin(found, new, file.name, opened)


def _article(corpus: CorpusRecord, column: st.delta_generator.DeltaGenerator) -> int | None:
    articles = {a.title: a.id for a in queries.articles(corpus.id, limit=_LISTED)}
    options = [_WHOLE, *articles] if corpus.sentences <= starts.MOST_SENTENCES else [*articles]
    chosen = column.selectbox("They are of", options, key="table-article")
    return articles.get(chosen)


def _sheet(file: uploads.Upload) -> Sheet | None:
    """The table of an upload, kept while the session looks at the same file."""
    mark = getattr(file, "file_id", file.name)
    held = st.session_state.get("table-sheet")
    if held is None or held[0] != mark:
        path = uploads.keep([file], queries.store().settings.home)[0]
        try:
            held = (mark, read_sheet(path, starts.MOST_SENTENCES), "")
        except ThemescopeError as error:
            held = (mark, None, str(error))
        st.session_state["table-sheet"] = held
    if held[1] is None:
        st.error(plain(held[2]), icon=":material/error:")
    sheet: Sheet | None = held[1]
    return sheet


def _columns(sheet: Sheet) -> tables.Columns:
    likely, names = tables.likely_columns(sheet), [_NONE, *sheet.columns]

    def choose(place: int, label: str, found: str) -> str:
        index = names.index(found) if found in names else 0
        chosen = columns[place].selectbox(label, names, index=index, format_func=str, key=f"table-column-{place}")
        return "" if chosen == _NONE else chosen

    columns = st.columns(4)
    return tables.Columns(
        choose(0, "Column of the cluster", likely.cluster),
        choose(1, "Column of the id", likely.id),
        choose(2, "Column of the sentence", likely.text),
        choose(3, "Column of a note", likely.note),
    )


def _told(found: tables.Plan) -> None:
    """What fits and what does not, by row."""
    st.markdown(
        f"**{_place(found.rows)}** {count(len(found.placed), 'sentence')} of {found.sentences:,} in "
        f"{count(len(found.names), 'cluster')} · {len(found.missing):,} not found · "
        f"{len(found.ambiguous):,} ambiguous · {len(found.contradicting):,} contradicting"
    )
    troubles = found.troubles
    if not troubles:
        return
    st.warning(f"{_place(len(troubles))} no sentence. Rows are numbered as a spreadsheet does.")
    frame = pd.DataFrame(
        {
            "Row": [t.row for t in troubles],
            "Why": [t.why for t in troubles],
            "Sentence": [t.text for t in troubles],
        }
    )
    st.dataframe(frame, hide_index=True, height="content" if len(troubles) <= _SHORT else 300)


def _place(rows: int) -> str:
    return f"{count(rows, 'row')} {'places' if rows == 1 else 'place'}"


def _begin(found: tables.Plan, new: NewLabelling, origin: str, opened: Callable[[LabellingRecord], None]) -> None:
    troubles = len(found.troubles)
    skip = troubles == 0 or st.checkbox(f"Leave {'that row' if troubles == 1 else f'these {troubles:,} rows'} out")
    if st.button("Begin with these labels", icon=":material/edit:", disabled=not skip, type="primary"):
        try:
            record = starts.begin(queries.store(), new, tables.from_plan(found, origin))
        except ThemescopeError as error:
            st.error(plain(error), icon=":material/error:")
            return
        opened(record)
