"""Gallery of sample projects: what each is good for, its licence, and a button that builds it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from themescope.core.records.stored import CorpusRecord
from themescope.db.access import Right
from themescope.jobs.services import pipeline
from themescope.jobs.services.installation import demo
from themescope.jobs.services.installation.demo import Sample
from themescope.webapp.shared import queries
from themescope.webapp.shared.job_status import follow
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import plain


def show(known: Sequence[CorpusRecord]) -> None:
    """Draw the gallery, folded once there are projects."""
    with st.expander("Sample projects", icon=":material/collections_bookmark:", expanded=not known):
        working, names = pipeline.working(queries.store()), {corpus.name for corpus in known}
        for column, sample in zip(st.columns(len(demo.SAMPLES)), demo.SAMPLES, strict=True):
            with column, st.container(border=True, height="stretch", gap="xsmall"):
                _card(sample, built=sample.name in names, working=sample.name in working)


def _card(sample: Sample, built: bool, working: bool) -> None:
    st.markdown(f"**{plain(sample.name)}**")
    st.markdown(plain(sample.about))
    st.caption(plain(sample.licence))
    with st.container(vertical_alignment="bottom", height="stretch"):
        if built:
            page_link("map", "Open the map", view={"corpus": sample.name}, key=f"gallery-open-{sample.name}")
        elif working:
            st.caption(":material/autorenew: being built")
        elif may(Right.MANAGE):
            build = st.button("Build", key=f"gallery-{sample.name}", icon=":material/play_arrow:")
            if build and follow(lambda: demo.build_sample(queries.store(), sample)):
                st.rerun()
