"""Texts page: read and edit the texts of the project; its menu opens the import report, edits and files."""

from functools import partial

import streamlit as st

from themescope.core.records.stored import CorpusRecord
from themescope.db.access import Right
from themescope.webapp.features import texts
from themescope.webapp.features.texts import articles
from themescope.webapp.shared import choose, header
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.people import may

_RENAME, _DELETE = "Rename project …", "Delete project …"
_VIEWS = {texts.REPORT: articles.report, texts.EDITS: articles.history, texts.FILES: articles.files}


def menu(corpus: CorpusRecord, key: str) -> None:
    """Draw the menu of the project."""
    offered = [texts.REPORT, *([texts.EDITS, texts.FILES, _RENAME, _DELETE] if may(Right.MANAGE) else [])]
    chosen = st.menu_button("⋯", offered, key=key, help="Report, edits and files of this project")
    if chosen == _RENAME:
        choose.rename_project(corpus)
    elif chosen == _DELETE:
        choose.delete_project(corpus)
    elif chosen is not None:
        switch_page("texts", {"corpus": corpus.name, "view": str(chosen)})


header.watch()
current = choose.project()
view = st.query_params.get(texts.VIEW, texts.READ)
if current is not None and view in _VIEWS:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(view, anchor=False, width="stretch")
        page_link(
            "texts", "Back to the texts", icon=":material/close:", view={"corpus": current.name, "view": texts.READ}
        )
        menu(current, "texts_menu")
    _VIEWS[view](current)
elif current is not None:
    articles.browse(current, partial(menu, current, "texts_menu"))
