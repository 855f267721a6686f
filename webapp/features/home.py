"""Home: one box for texts, and the projects."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from themescope.core.records.stored import CorpusRecord
from themescope.db.access import Right
from themescope.jobs.common.columns import is_list
from themescope.jobs.common.files import MOST_BYTES
from themescope.jobs.services import installation, pipeline
from themescope.webapp.shared import forms, header, projects, queries
from themescope.webapp.shared.choose import closed, delete_project, rename_project
from themescope.webapp.shared.job_status import follow, no_worker
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.people import may, polled
from themescope.webapp.shared.text import ago, count, plain

_MOST = 12
"""Projects that are listed at first."""
_ALL = "home_all"
"""Session key: whether all projects are listed."""
_GONE = {
    "summaries": "The page Summaries is gone. `themescope evaluate summaries` makes summaries and measures them.",
    "paper-tables": "The page Paper tables is gone. `themescope reproduce` computes the tables of a paper, and the "
    "documentation has them under Results.",
}
"""What is said to those who followed an address of a page that is gone, see ``webapp.routes.api``."""


def box(known: Sequence[CorpusRecord]) -> None:
    """Draw the box that takes pasted texts and files of any kind, and the demo."""
    if closed("Adding texts"):
        return
    store = queries.store()
    with st.container(border=True):
        left, right = st.columns(2, gap="medium")
        examples = "Survey answers, claims, comments, titles …"
        text = left.text_area("Paste texts, one per line", key="home_pasted", height=140, placeholder=examples)
        files = right.file_uploader(
            "Or drop files: texts, tables, projects and codes of any program, ZIP",
            accept_multiple_files=True,
            key="home_files",
            max_upload_size=MOST_BYTES // 10**6,
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            clicked = st.button("Find themes", type="primary", icon=":material/category:")
            if any(corpus.name == installation.CORPUS for corpus in known):
                page_link("map", "Open the demo", view={"corpus": installation.CORPUS}, key="home-demo")
            elif installation.CORPUS in pipeline.working(store):
                page_link("jobs", "The demo is being built", icon=":material/autorenew:")
            elif st.button("Build the demo", icon=":material/play_arrow:") and follow(
                lambda: installation.seed_demo(store) or installation.import_sample(store)
            ):
                st.rerun()
    if files:
        forms.hand_over(files)
        switch_page("import")
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    if clicked and not lines:
        st.info("Paste texts first, one per line, or drop a file.", icon=":material/info:")
    elif clicked:
        forms.hand_over([forms.pasted(lines)])
        switch_page("import")


def listed(found: Sequence[CorpusRecord]) -> None:
    """Draw the projects, the one used last first, each with a link to its texts and a menu."""
    st.header("Projects", anchor=False)
    times = projects.last_activity(found)
    ordered = projects.by_activity(found)
    every = st.session_state.get(_ALL, False)
    for corpus in ordered if every else ordered[:_MOST]:
        units = count(corpus.sentences, "unit")
        about = units if is_list(corpus) else f"{count(corpus.articles, 'text')}, {units}"
        with st.container(key=f"item-project-{corpus.id}", horizontal=True, vertical_alignment="center", wrap=False):
            page_link("texts", plain(corpus.name), view={"corpus": corpus.name}, key=f"home-project-{corpus.id}")
            st.caption(f"{about} · {ago(times[corpus.id])}")
            st.space("stretch")
            if may(Right.MANAGE):
                _menu(corpus)
    if len(ordered) > _MOST and not every:
        st.button(f"Show all {len(ordered):,}", type="tertiary", on_click=st.session_state.update, args=({_ALL: True},))
    if not found:
        st.caption("No project yet.")


def _menu(corpus: CorpusRecord) -> None:
    report, rename, delete = "Import report", "Rename …", "Delete …"
    key, about = f"home-menu-{corpus.id}", f"More about {plain(corpus.name)}"
    chosen = st.menu_button("⋯", [report, rename, delete], key=key, type="tertiary", help=about)
    if chosen == report:
        switch_page("texts", {"corpus": corpus.name, "view": report})
    elif chosen == rename:
        rename_project(corpus)
    elif chosen == delete:
        delete_project(corpus)


known = queries.fingerprint()


@polled(2.0)
def changes() -> None:
    """Rerun the page when projects, results or jobs have changed; say if no worker is running."""
    if queries.fingerprint() != known:
        st.rerun()
    if not queries.workers():
        no_worker(len(queries.active_jobs()))


if said := _GONE.get(st.query_params.get("gone", "")):
    st.info(said, icon=":material/info:")
changes()
corpora = queries.corpora()
box(corpora)
header.watch()
listed(corpora)
