"""Home: one box for texts, and the projects."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from themescope.core.readers.tables import MOST_BYTES
from themescope.core.records.stored import CorpusRecord
from themescope.jobs.common.importing.waves import is_list
from themescope.jobs.services import pipeline
from themescope.jobs.services.installation import demo
from themescope.jobs.services.installation.demo import Sample
from themescope.webapp.shared import input_files, projects, queries
from themescope.webapp.shared.choose import closed
from themescope.webapp.shared.frame import header
from themescope.webapp.shared.job_status import follow, no_worker
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.text import ago, count, plain

_POLL_S = 2.0
_MOST = 20
"""Projects that are listed; all are in the switcher of the header."""
_GONE = {
    "summaries": "The page Summaries is gone. `themescope evaluate summaries` makes summaries and measures them.",
    "paper-tables": "The page Paper tables is gone. `themescope reproduce` computes the tables of a paper, and the "
    "documentation has them under Results.",
}
"""What is said to those who followed an address of a page that is gone, see ``webapp.routes.addresses``."""


def box(known: Sequence[CorpusRecord]) -> None:
    """Draw the box that takes pasted sentences and files, and the samples."""
    if closed("Adding texts"):
        return
    with st.container(border=True):
        left, right = st.columns(2, gap="medium")
        with left:
            text = st.text_area(
                "Paste sentences, one per line", key="home_pasted", height=140,
                placeholder="Claims, survey answers, comments, titles …",
            )  # fmt: skip
            if st.button("Find themes", type="primary", icon=":material/category:"):
                st.session_state["themes_pasted"] = text or ""
                switch_page("themes", {"view": "New list"})
        with right:
            files = st.file_uploader(
                "Drop files", accept_multiple_files=True, key="home_files", max_upload_size=MOST_BYTES // 10**6,
                help="Tables, Word and PDF documents, interviews, subtitles, Wikipedia dumps, and projects of other "
                "programs. The next page shows how they are read.",
            )  # fmt: skip
            if files:
                input_files.hand_over(files)
                switch_page("import")
            _samples({corpus.name for corpus in known})


def _samples(built: set[str]) -> None:
    """Draw the demo, and the other samples in a menu."""
    working = pipeline.working(queries.store())
    with st.container(horizontal=True, vertical_alignment="center"):
        if demo.CORPUS in built:
            page_link("map", "Open the demo", view={"corpus": demo.CORPUS}, key="home-demo")
        elif demo.CORPUS in working:
            page_link("jobs", "The demo is being built", icon=":material/autorenew:")
        elif st.button("Build the demo", icon=":material/play_arrow:", help="Takes a few minutes.") and _built(
            demo.SAMPLES[0]
        ):
            st.rerun()
        with st.popover("Other samples", type="tertiary"):
            for sample in demo.SAMPLES[1:]:
                st.markdown(f"**{plain(sample.name)}**  \n{plain(sample.about)}  \n:gray[{plain(sample.licence)}]")
                if sample.name in built:
                    page_link("map", "Open the map", view={"corpus": sample.name}, key=f"sample-open-{sample.name}")
                elif sample.name in working:
                    st.caption(":material/autorenew: being built")
                elif st.button("Build", key=f"sample-{sample.name}", icon=":material/play_arrow:") and _built(sample):
                    st.rerun()


def _built(sample: Sample) -> bool:
    """Queue a sample; of the demo, in an empty store, also what compares models."""
    store = queries.store()
    seed = demo.seed_demo if sample.name == demo.CORPUS else lambda store: []
    return bool(follow(lambda: seed(store) or demo.build_sample(store, sample)))


def listed(found: Sequence[CorpusRecord]) -> None:
    """Draw the projects, the one used last first, each a link to its texts."""
    st.subheader("Projects", anchor=False)
    times = projects.last_activity(found)
    for corpus in projects.by_activity(found)[:_MOST]:
        units = count(corpus.sentences, corpus.unit.value)
        about = units if is_list(corpus) else f"{count(corpus.articles, 'text')}, {units}"
        with st.container(horizontal=True, vertical_alignment="center"):
            page_link("texts", plain(corpus.name), view={"corpus": corpus.name}, key=f"home-project-{corpus.id}")
            st.caption(f"{about} · {ago(times[corpus.id])}")
    if found:
        page_link("texts", "All projects", view={"view": "All projects"})
    else:
        st.caption("No project yet.")


known = queries.fingerprint()


@st.fragment(run_every=_POLL_S)
def changes() -> None:
    """Rerun the page when projects, results or jobs have changed; say if no worker is running."""
    if queries.fingerprint() != known:
        st.rerun()
    if not queries.worker_alive():
        no_worker(len(queries.active_jobs()))


if said := _GONE.get(st.query_params.get("gone", "")):
    st.info(said, icon=":material/info:")
changes()
corpora = queries.corpora()
box(corpora)
header.watch(projects.current())
listed(corpora)
