"""Files tab of the Codebook page: exports for reading, printing and other programs, and imports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import streamlit as st

from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.operations import Operation
from themescope.core.text.languages import language_name
from themescope.core.text.splitting import LANGUAGES
from themescope.db.access import Right
from themescope.db.records import NewLabelling
from themescope.jobs.services.labelling import codebook, qda_projects, starts
from themescope.jobs.services.pipeline import queue_pipeline
from themescope.webapp.features.codebook.editing import CodebookState
from themescope.webapp.features.codebook.entries import messages
from themescope.webapp.features.codebook.state import CODE_FILE, KEPT, OPEN_NEXT, PROJECT_FILE, TEXTS_FORM
from themescope.webapp.shared import input_files, projects, queries
from themescope.webapp.shared.choose import closed
from themescope.webapp.shared.components import attempt, download
from themescope.webapp.shared.job_status import follow, submit
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.text import count, file_name, plain

_MAX_MB = 200
_NAME = 180


def show(state: CodebookState) -> None:
    """Draw the tab."""
    messages(state)
    store, id, name = queries.store(), state.record.id, state.record.name
    formats: tuple[tuple[str, str, Callable[[], str | bytes]], ...] = (
        ("Markdown", "md", lambda: codebook.markdown(store, id)),
        ("Web page for printing", "html", lambda: codebook.web_page(store, id)),
        ("JSON", "json", lambda: codebook.json_text(store, id)),
        ("CSV", "csv", lambda: codebook.table(store, id)),
        ("REFI-QDA codebook", "qdc", lambda: codebook.qdc(store, id)),
        ("REFI-QDA project", "qdpx", lambda: qda_projects.qdpx(store, id)),
    )
    st.subheader("Export", anchor=False)
    without = not state.partition.clusters
    with st.container(horizontal=True):
        for label, suffix, data in formats:
            download(label, data, file_name(name, suffix), disabled=without and suffix == "qdc")
    st.caption(
        "The REFI-QDA codebook (.qdc) has the codes, and the project (.qdpx) also the texts and the coded sentences. "
        "NVivo, ATLAS.ti and MAXQDA read both. The web page opens in a browser; print it from there."
    )
    st.subheader("Import", anchor=False)
    if not state.read_only:
        _code_import(state)
    project_import()


def _kept(file: input_files.Upload, key: str) -> Path:
    mark = getattr(file, "file_id", file.name)
    return input_files.keep_once(key, mark, [file], queries.store().settings.home)[0]


def _code_import(state: CodebookState) -> None:
    """Draw the import of codes into this labelling, with what it would change."""
    with st.expander("Import codes", icon=":material/upload:"):
        st.caption(
            "Codes with the name of a cluster replace its codebook entry, others become new clusters. It is one step, "
            "which can be undone."
        )
        file = st.file_uploader(
            "REFI-QDA codebook, JSON or CSV file", type=list(codebook.CODE_FILES), max_upload_size=_MAX_MB,
            key=f"{CODE_FILE}_{state.record.id}",
        )  # fmt: skip
        if file is None:
            return
        path = _kept(file, f"{KEPT}_{CODE_FILE}")
        found = attempt(lambda: _adoption(state, path))
        if found is None:
            return
        lost = f" · {count(found.missing, 'example')} not found in this labelling" if found.missing else ""
        st.markdown(f"{count(found.created, 'new cluster')} · {count(found.changed, 'entry', 'entries')} changed{lost}")
        if st.button("Import codes", type="primary", icon=":material/upload:", disabled=not found.operation.change_set):
            operation: Operation = found.operation
            state.apply(lambda p: operation)
            st.rerun()


def _adoption(state: CodebookState, path: Path) -> book.Adoption:
    listed = codebook.read_codes(path)
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
        file = st.file_uploader("REFI-QDA project", type=["qdpx"], max_upload_size=_MAX_MB, key=PROJECT_FILE)
        if file is None:
            return
        path = _kept(file, f"{KEPT}_{PROJECT_FILE}")
        with st.spinner("Reading the project …"):
            plan = attempt(lambda: qda_projects.plan_project(queries.store(), corpus.id, path))
        if plan is None:
            return
        if not plan.matched:
            _texts_import(path, plan)
            return
        _preview(plan)
        if st.button("Import project", type="primary", icon=":material/upload:"):
            _create(plan, corpus.id, file.name)


def _texts_import(path: Path, plan: qda_projects.ProjectPlan) -> None:
    """Draw the import of the texts as a project of their own, for texts that are nowhere yet."""
    st.info(
        f"None of its {count(len(plan.unmatched), 'text')} is an article of this project. Open the project that has "
        "them, or import them as a new one; then import this file again there.",
        icon=":material/info:",
    )
    if not may(Right.MANAGE) or not plan.unmatched:
        return
    with st.form(TEXTS_FORM, border=False), st.container(horizontal=True, vertical_alignment="bottom"):
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


def _preview(plan: qda_projects.ProjectPlan) -> None:
    """Draw what the import would make, and what it leaves out."""
    placed = int((plan.partition.numbers >= 0).sum())
    st.markdown(
        f"{count(plan.matched, 'text')} found in this project · {count(len(plan.partition.clusters), 'code')} · "
        f"{count(placed, 'coded sentence')}"
    )
    left_out = [f"{count(len(plan.unmatched), 'text')} not found in this project"] if plan.unmatched else []
    left_out += [f"{count(number, kind)}" for kind, number in plan.skipped.items()]
    left_out += [f"{count(plan.missing, 'example')} not found"] if plan.missing else []
    if plan.several:
        left_out.append(f"other codes of {count(plan.several, 'sentence')} that have several")
    if left_out:
        st.caption(plain("Left out: " + " · ".join(left_out)))


def _create(plan: qda_projects.ProjectPlan, corpus_id: int, file: str) -> None:
    name = plan.name[:_NAME].strip() or Path(file).stem
    new = NewLabelling(corpus_id, name, current_person(), article_id=plan.article_id)
    made = attempt(lambda: starts.begin(queries.store(), new, qda_projects.from_project(plan, file)))
    if made is not None:
        st.session_state[OPEN_NEXT] = made.name
        st.rerun()
