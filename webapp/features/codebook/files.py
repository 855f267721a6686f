"""Files and Versions tabs of the Codebook page: exports, imports, named states and what differs between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pandas as pd
import streamlit as st

from themescope.core.labelling.changes import EntryChange, Step
from themescope.core.labelling.code_sets import code_clusters
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import (
    NAME_LIMIT,
    SENTENCES,
    Difference,
    Version,
    codes,
    differences,
    versions,
)
from themescope.core.labelling.operations import Operation, OperationKind
from themescope.core.labelling.partition import EntryKind
from themescope.core.readers.account import ReadAccount
from themescope.core.text.languages import language_name
from themescope.core.text.splitting import LANGUAGES
from themescope.db.access import Right
from themescope.db.label_records import NewLabelling
from themescope.jobs.services.labelling import codebook, qda_projects
from themescope.jobs.services.pipeline import queue_pipeline
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.codebook import FILES
from themescope.webapp.features.codebook.entries import CodebookState, messages
from themescope.webapp.shared import input_files, people, projects, queries
from themescope.webapp.shared.choose import closed, nothing
from themescope.webapp.shared.components import attempt, download, draw_table
from themescope.webapp.shared.job_status import follow, submit
from themescope.webapp.shared.labelling.codebook_view import difference_html
from themescope.webapp.shared.navigation import switch_page
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.text import ago, count, file_name, plain

_MAX_MB = 200
_NAME = 180


def show(state: CodebookState) -> None:
    """Draw the tab."""
    messages(state)
    store, id, name = queries.store(), state.record.id, state.record.name
    formats = {
        "Markdown": "md",
        "Web page for printing": "html",
        "JSON": "json",
        "CSV": "csv",
        "REFI-QDA codebook": "qdc",
    }
    st.subheader("Export", anchor=False)
    without = not state.partition.clusters
    with st.container(horizontal=True):
        for label, suffix in formats.items():
            data = partial(codebook.written, store, id, suffix)
            download(label, data, file_name(name, suffix), disabled=without and suffix == "qdc")
        download("REFI-QDA project", lambda: qda_projects.qdpx(store, id), file_name(name, "qdpx"))
    st.caption(
        "The REFI-QDA codebook (.qdc) has the codes, and the project (.qdpx) also the texts and the coded sentences. "
        "NVivo, ATLAS.ti and MAXQDA read both. The web page opens in a browser; print it from there."
    )
    st.subheader("Import", anchor=False)
    if not state.read_only:
        _code_import(state)
    project_import()


def _code_import(state: CodebookState) -> None:
    with st.expander("Import codes", icon=":material/upload:"):
        st.caption(
            "Codes with the name of a cluster replace its codebook entry, others become new clusters. It is one step, "
            "which can be undone."
        )
        file = st.file_uploader(
            "REFI-QDA codebook, JSON file, or table of codes", type=list(codebook.READ_FILES),
            max_upload_size=codebook.MOST_MB, key=f"codebook_code_file_{state.record.id}",
        )  # fmt: skip
        if file is None:
            return
        path = input_files.keep_one("codebook_kept_codebook_code_file", file)
        account = ReadAccount()
        found = attempt(lambda: _adoption(state, path, account))
        if found is None:
            return
        lost = f" · {count(found.missing, 'example')} not found in this labelling" if found.missing else ""
        st.markdown(f"{count(found.created, 'new cluster')} · {count(found.changed, 'entry', 'entries')} changed{lost}")
        if account.skipped:
            listed = (f"{one.reason} {one.text or one.place}" for one in account.entries)
            st.caption(plain("Left out: " + " · ".join(listed)))
        if st.button("Import codes", type="primary", icon=":material/upload:", disabled=not found.operation.change_set):
            operation: Operation = found.operation
            state.apply(lambda p: operation)
            st.rerun()


def _adoption(state: CodebookState, path: Path, account: ReadAccount) -> book.Adoption:
    listed = codebook.read_codes(path, account)
    find = codebook.finder(queries.store(), state.partition.ids, listed)
    return book.adopt(state.partition, listed, find, state.session.next_number)


def project_import() -> None:
    """Draw the import of a project, which becomes a new labelling."""
    with st.expander("Import project", icon=":material/folder_zip:"):
        corpus = projects.current()
        if corpus is None or closed("Labelling", Right.LABEL):
            return
        st.caption(
            "A REFI-QDA project (.qdpx) of Themescope, NVivo, ATLAS.ti or MAXQDA whose texts are articles of this "
            "project. Its codes become the clusters of a new labelling, with codebook, notes and coded sentences."
        )
        file = st.file_uploader("REFI-QDA project", type=["qdpx"], max_upload_size=_MAX_MB, key="codebook_project_file")
        if file is None:
            return
        path = input_files.keep_one("codebook_kept_codebook_project_file", file)
        with st.spinner("Reading the project …"):
            plan = attempt(lambda: qda_projects.plan_project(queries.store(), corpus.id, path))
        if plan is None:
            return
        if not plan.matched:
            _texts_import(path, plan)
            return
        _project_report(plan)
        if st.button("Import project", type="primary", icon=":material/upload:"):
            name = plan.name[:_NAME].strip() or Path(file.name).stem
            new = NewLabelling(corpus.id, name, current_person(), article_id=plan.article_id)
            made = attempt(lambda: qda_projects.begin(queries.store(), new, plan, file.name))
            if made:
                switch_page("codebook", {"labelling": made[0].name, "view": FILES})


def _project_report(plan: qda_projects.ProjectPlan) -> None:
    """Draw what an import of a project finds and what it leaves out, with a list and a file of it."""
    codes = len(code_clusters(plan.codings[0].partition))
    st.markdown(
        f"{count(plan.matched, 'text')} found in this project · {count(codes, 'code')} · "
        f"{count(plan.coded, 'coded sentence')}  \n"
        f"{count(plan.passages, 'passage')}: {plan.passages - plan.partly - plan.lost:,} found · "
        f"{plan.partly:,} found in part · {plan.lost:,} lost"
        + (f" · {count(plan.several, 'sentence')} with several codes" if plan.several else "")
    )
    if len(plan.codings) > 1:
        st.info(f"Each coder has a labelling: {plain(', '.join(one.coder or 'unnamed' for one in plan.codings))}.")
    left_out = [f"{count(len(plan.unmatched), 'text')} not found in this project"] if plan.unmatched else []
    left_out += [f"{number:,} × {reason}" for reason, number in plan.account.skipped.items()]
    left_out += [f"{count(plan.missing, 'example')} not found"] if plan.missing else []
    if left_out:
        st.caption(plain("Left out: " + " · ".join(left_out)))
    if plan.account.entries:
        rows = [(one.reason, one.place, one.text) for one in plan.account.entries]
        with st.expander(f"Left out or changed ({len(rows):,})", icon=":material/list:"):
            draw_table(pd.DataFrame(rows, columns=["What", "Where", "Text"]))
            header = ("what", "where", "text")
            download("List as CSV", lambda: csv_text(header, rows), file_name(f"{plan.name} left out", "csv"))


def _texts_import(path: Path, plan: qda_projects.ProjectPlan) -> None:
    """Draw the import of the texts as a project of their own, for texts that are nowhere yet."""
    st.info(
        f"None of its {count(len(plan.unmatched), 'text')} is an article of this project. Open the project that has "
        "them, or import them as a new one; then import this file again there.",
        icon=":material/info:",
    )
    if not may(Right.MANAGE) or not plan.unmatched:
        return
    with st.form("codebook_texts_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        name = st.text_input("Name of the new project", value=plan.name, max_chars=_NAME, width=320)
        language = st.selectbox("Language", LANGUAGES, format_func=language_name, width=200)
        pressed = st.form_submit_button("Import texts", icon=":material/library_books:")
    if not pressed:
        return
    out = path.with_name(f"{uuid4().hex}.jsonl")
    args: dict[str, Any] = {"files": [str(out)], "corpus": (name or plan.name).strip(), "language": language}
    if attempt(lambda: qda_projects.write_texts(path, out)) is not None:
        job = submit("import-corpus", args, f"Import {args['corpus']}")
        if job is not None:
            follow(lambda: queue_pipeline(queries.store(), args["corpus"], args["language"], after=job.id))


# --- version list -----------------------------------------------------------------------------------------------------


_NOW = "Now"


def show_versions(state: CodebookState) -> None:
    """Draw the tab."""
    messages(state)
    if not state.read_only:
        with st.form("codebook_version_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.text_input("Name of the version", key="codebook_version_name", max_chars=NAME_LIMIT, width=320)
            pressed = st.form_submit_button("Record version", icon=":material/bookmark_add:")
        if pressed:
            state.apply(lambda p: book.record_version(p, uuid4().hex, name or ""))
            st.rerun()
    known = versions(state.partition)
    if not known:
        nothing(
            "No versions yet.", "Record one when the codebook is ready for labellers; later ones show what changed."
        )
        return
    steps = _steps(state.record.id)
    shown = [steps.get(version.key) for version in known]
    frame = pd.DataFrame(
        {
            "Version": [version.name for version in known],
            "Codes": [len(version.codes) for version in known],
            "Recorded": [ago(step.when) if step else "" for step in shown],
            "Who": [(step.person or people.UNNAMED) if step else "" for step in shown],
        }
    )
    draw_table(frame[::-1])
    _compare(state, known)


def _steps(labelling_id: int) -> dict[str, Step]:
    def read(r: queries.Any) -> list[tuple[Step, Iterable[object]]]:
        listed = r.label_steps.list(labelling_id, operation=OperationKind.VERSION.value)
        return [(step, r.label_steps.change_set(step.id)) for step in listed]

    found: dict[str, Step] = {}
    for step, change_set in queries.read(read):
        for change in change_set:
            if isinstance(change, EntryChange) and change.kind is EntryKind.VERSION and change.new is not None:
                found[change.key] = step
    return found


def _compare(state: CodebookState, known: Sequence[Version]) -> None:
    by_name = {version.name: version for version in known}
    listed = list(by_name)[::-1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        old = st.selectbox("From", listed, key=f"codebook_old_{state.record.id}", width=260)
        new = st.selectbox(
            "To", ["", *listed], format_func=lambda name: name or _NOW, key=f"codebook_new_{state.record.id}", width=260
        )
    before = by_name[old if old in by_name else listed[0]]
    after = codes(state.partition) if new not in by_name else by_name[new].codes
    found = differences(before.codes, after)
    ids = {id for code in (*before.codes, *after) for name in SENTENCES for id in getattr(code.entry, name)}
    texts = state.texts(ids)
    st.markdown(_summary(found))
    for difference in found:
        with st.container(border=True):
            st.html(difference_html(difference, texts))
    if not state.read_only and st.button(
        f"Restore texts of {plain(before.name)}",
        icon=":material/settings_backup_restore:",
        help="Gives the clusters their texts and examples of this version, in one step that can be undone. Names and "
        "sentences stay as they are, and clusters that the version does not have keep their texts.",
    ):
        state.apply(lambda p: book.restore_version(p, before))
        st.rerun()


def _summary(found: Sequence[Difference]) -> str:
    if not found:
        return "No differences."
    kinds = [one.kind for one in found]
    counted = {kind: kinds.count(kind) for kind in ("added", "removed", "renamed", "changed")}
    return " · ".join(f"{count(number, 'code')} {kind}" for kind, number in counted.items() if number)
