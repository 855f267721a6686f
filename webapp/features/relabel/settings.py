"""A labelling itself: its name, who works in it, deleting and restoring."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.errors import ThemescopeError
from db.label_records import LabellingRecord, Sharing
from db.store import Unit
from jobs.services.labelling import files
from jobs.services.table_files import csv_text, excel_bytes
from webapp.features.relabel.learning import learn
from webapp.features.relabel.start import SHARING
from webapp.features.relabel.state import Bench
from webapp.shared import label_queries, people, queries
from webapp.shared.people import current_person
from webapp.shared.text import ago, count, plain

_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_PARQUET = "application/vnd.apache.parquet"
_MOST_MB = 200
_KINDS = {**SHARING, Sharing.GOLD: "Everybody; gold"}


def show(bench: Bench) -> None:
    """Facts, settings, deletion."""
    record = bench.record
    began = record.origin.get("name") or record.origin.get("from", "")
    st.markdown(
        f"{count(record.sentences, 'sentence')} · begun by {people.shown(record.owner)} {ago(record.created)}, "
        f"from {plain(began)} · {count(len(bench.desk.steps), 'step')}"
    )
    _files(record)
    learn(record)
    with st.form(f"settings-{record.id}", border=True):
        name = st.text_input("Name", value=record.name, max_chars=200)
        sharing = st.selectbox(
            "Who works in it",
            list(_KINDS),
            index=list(_KINDS).index(record.kind),
            format_func=_KINDS.__getitem__,
        )
        blind = st.toggle("Blind", value=record.blind, help="Hides sections, suggestions and other people's labels.")
        if st.form_submit_button("Save", icon=":material/save:"):
            _try(lambda w: _save(w, record, name or "", Sharing(sharing), blind))
    if st.button("Delete this labelling …", icon=":material/delete:", type="tertiary"):
        _delete(record)


def _files(record: LabellingRecord) -> None:
    """Everything in one file that can be taken in again, and the current state as tables."""
    store, header = queries.store(), files.HEADER
    made: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Whole labelling", "jsonl", "application/jsonl", lambda: files.export_lines(store, record.id)),
        ("CSV", "csv", "text/csv", lambda: csv_text(header, files.rows(store, record.id))),
        ("XLSX", "xlsx", _EXCEL, lambda: excel_bytes(header, files.rows(store, record.id), "labels")),
        ("Parquet", "parquet", _PARQUET, lambda: files.parquet_bytes(header, files.rows(store, record.id))),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, ending, mime, data in made:
            st.download_button(
                label,
                data=data,
                file_name=f"labelling.{ending}",
                mime=mime,
                icon=":material/download:",
                on_click="ignore",
            )
    st.caption(
        "The whole labelling (JSON lines) holds every step with its people and can be taken in again in the tab "
        "“Begin”. The tables hold the current state; CSV and XLSX are made safe for spreadsheets, the others are raw."
    )


def take_in(opened: Callable[[LabellingRecord], None]) -> None:
    """A labelling that was exported comes back, history and all."""
    with st.expander("Take in an exported labelling", icon=":material/upload:"):
        corpora = {c.name: c for c in queries.corpora()}
        if not corpora:
            return
        file = st.file_uploader("The file with the whole labelling", type=["jsonl"], max_upload_size=_MOST_MB)
        name = st.selectbox("Corpus that its sentences are of", list(corpora), key="take-in-corpus")
        if file is None or not st.button("Take in", icon=":material/upload:"):
            return
        try:
            text = file.getvalue().decode("utf-8", errors="replace")
            record = files.import_lines(queries.store(), corpora[name].id, text.split("\n"), file.name)
        except ThemescopeError as error:
            st.error(plain(error), icon=":material/error:")
            return
        opened(record)


def _save(w: Unit, record: LabellingRecord, name: str, kind: Sharing, blind: bool) -> None:
    person = current_person()
    if (kind, blind) != (record.kind, record.blind):
        w.labellings.share(record.id, kind, blind, person)
    renamed = w.labellings.rename(record.id, name, person)
    st.session_state["labelling-next"] = renamed.name


def _try(change: Callable[[Unit], None]) -> None:
    try:
        with queries.store().writing() as w:
            change(w)
    except ThemescopeError as error:
        st.error(plain(error), icon=":material/error:")
        return
    st.rerun()


@st.dialog("Delete this labelling?")
def _delete(record: LabellingRecord) -> None:
    st.markdown(
        f"**{plain(record.name)}** with its history. It is only put away: it can be restored at any time in the tab "
        "“Begin”."
    )
    if st.button("Delete", type="primary", icon=":material/delete:"):
        _try(lambda w: w.labellings.delete(record.id, current_person()))


def deleted() -> None:
    """Labellings that were put away, each with a way back."""
    found = label_queries.labellings(deleted=True)
    if not found:
        return
    with st.expander(f"Deleted labellings ({len(found)})", icon=":material/delete:"):
        for record in found:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{plain(record.name)} :gray[· deleted {ago(record.deleted)}]")
                st.space("stretch")
                if st.button("Restore", key=f"restore-{record.id}", icon=":material/restore:"):
                    _restore(record)


def _restore(record: LabellingRecord) -> None:
    _try(lambda w: w.labellings.restore(record.id, current_person()))
