"""Schemes on the Relabel page: download of the clusters of a labelling, and a new labelling with those of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from themescope.db.access import Right
from themescope.db.label_records import LabellingRecord, NewLabelling
from themescope.jobs.services.labelling import codebook
from themescope.jobs.services.labelling.schemes import from_codes
from themescope.webapp.features.relabel.settings import choose_article, create
from themescope.webapp.features.relabel.state import SCHEME, SCHEME_ARTICLE
from themescope.webapp.shared import input_files, projects, queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.guard import closed
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.text import count

_MAX_MB, _MAX_NAME = 200, 180


def importer(on_created: Callable[[LabellingRecord], None]) -> None:
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
