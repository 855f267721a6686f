"""Files and settings tab of the Relabel page: export, training, name, access, deletion."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.errors import ThemescopeError
from db.label_records import LabellingRecord, Sharing
from db.store import Unit
from jobs.services.labelling import files
from jobs.services.table_files import csv_text, excel_bytes
from webapp.features.relabel import learning
from webapp.features.relabel.start import ACCESS
from webapp.features.relabel.state import NEW, OPEN_NEXT, RESTORE, SETTINGS_FORM, RelabelState
from webapp.shared import label_queries, people, queries
from webapp.shared.people import current_person
from webapp.shared.text import ago, count, plain

_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_PARQUET = "application/vnd.apache.parquet"
_ACCESS = {**ACCESS, Sharing.GOLD: "Everyone (gold labelling)"}


def show(state: RelabelState) -> None:
    """Draw the tab."""
    record = state.record
    origin = record.origin.get("name") or record.origin.get("from", "")
    st.markdown(
        f"{count(record.sentences, 'sentence')} · created by {people.shown(record.owner)} {ago(record.created)} · "
        f"started from {plain(origin)} · {count(len(state.session.steps), 'step')}"
    )
    _downloads(record)
    learning.show(record)
    _settings(record)
    if st.button("Delete labelling …", icon=":material/delete:", type="tertiary"):
        _confirm_deletion(record)


def _downloads(record: LabellingRecord) -> None:
    """Draw the downloads: the whole labelling, which can be imported again, and its present state as tables."""
    store, header = queries.store(), files.HEADER
    formats: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Whole labelling", "jsonl", "application/jsonl", lambda: files.export_lines(store, record.id)),
        ("CSV", "csv", "text/csv", lambda: csv_text(header, files.rows(store, record.id))),
        ("XLSX", "xlsx", _EXCEL, lambda: excel_bytes(header, files.rows(store, record.id), "labels")),
        ("Parquet", "parquet", _PARQUET, lambda: files.parquet_bytes(header, files.rows(store, record.id))),
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, suffix, mime, data in formats:
            st.download_button(
                label,
                data=data,
                file_name=f"labelling.{suffix}",
                mime=mime,
                icon=":material/download:",
                on_click="ignore",
            )
    st.caption(
        "The whole labelling (JSON lines) contains every step and its author, and can be imported in the tab "
        f"“{NEW}”. The tables contain the current state. In CSV and XLSX, cells that a spreadsheet would run as a "
        "formula are escaped."
    )


def _settings(record: LabellingRecord) -> None:
    with st.form(f"{SETTINGS_FORM}_{record.id}", border=True):
        name = st.text_input("Name", value=record.name, max_chars=200)
        sharing = st.selectbox(
            "Access",
            list(_ACCESS),
            index=list(_ACCESS).index(record.kind),
            format_func=_ACCESS.__getitem__,
        )
        blind = st.toggle("Blind", value=record.blind, help="Hides sections, suggestions and other people's labels.")
        if st.form_submit_button("Save settings", icon=":material/save:"):
            _write(lambda w: _save(w, record, name or "", Sharing(sharing), blind))


def _save(w: Unit, record: LabellingRecord, name: str, kind: Sharing, blind: bool) -> None:
    person = current_person()
    if (kind, blind) != (record.kind, record.blind):
        w.labellings.share(record.id, kind, blind, person)
    renamed = w.labellings.rename(record.id, name, person)
    st.session_state[OPEN_NEXT] = renamed.name


def _write(change: Callable[[Unit], None]) -> None:
    """Write to the store and rerun, or show why that failed."""
    try:
        with queries.store().writing() as w:
            change(w)
    except ThemescopeError as error:
        st.error(plain(error), icon=":material/error:")
        return
    st.rerun()


@st.dialog("Delete this labelling?")
def _confirm_deletion(record: LabellingRecord) -> None:
    st.markdown(f"**{plain(record.name)}** and its history will be deleted. You can restore them in the tab “{NEW}”.")
    if st.button("Delete labelling", type="primary", icon=":material/delete:"):
        _write(lambda w: w.labellings.delete(record.id, current_person()))


def deleted_labellings() -> None:
    """Draw the deleted labellings, each with a button that restores it."""
    found = label_queries.labellings(deleted=True)
    if not found:
        return
    with st.expander(f"Deleted labellings ({len(found)})", icon=":material/delete:"):
        for record in found:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{plain(record.name)} :gray[· deleted {ago(record.deleted)}]")
                st.space("stretch")
                if st.button("Restore", key=f"{RESTORE}_{record.id}", icon=":material/restore:"):
                    _restore(record)


def _restore(record: LabellingRecord) -> None:
    _write(lambda w: w.labellings.restore(record.id, current_person()))
