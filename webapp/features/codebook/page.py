"""Codebook page: the codes of a coding, in words and examples."""

import streamlit as st

from themescope.webapp.features.codebook import CODES, FILES, GOLD, LABELLING, VERSIONS, VIEW, entries
from themescope.webapp.features.codebook.entries import codebook_state
from themescope.webapp.shared import compare_queries, projects
from themescope.webapp.shared.choose import menu, project
from themescope.webapp.shared.labelling import STYLE
from themescope.webapp.shared.navigation import page_link, set_parameter
from themescope.webapp.shared.text import distinct

codings = sorted(compare_queries.labellings(projects.current_id()), key=compare_queries.precedence)
if not codings:
    if project() is not None:
        entries.first_code()
        page_link("import", "Import a project of another program")
else:
    st.html(STYLE)
    views = {VERSIONS: entries.show_versions, FILES: entries.show_files, GOLD: entries.show_gold}
    with st.container(horizontal=True, vertical_alignment="center"):
        names = distinct([one.name for one in codings])
        state = codebook_state(codings[names.index(menu(names, LABELLING, "Coding"))])
        view = str(st.session_state.get(VIEW, ""))
        if view not in views:
            entries.head(state)
        chosen = st.menu_button("⋯", [*views], key=f"codebook_menu_{state.record.id}", help="More about this codebook")
    if chosen is not None:
        set_parameter(VIEW, chosen)
        st.rerun()
    if view in views:
        with st.container(horizontal=True, vertical_alignment="center"):
            back = VIEW, ""
            st.button(CODES, icon=":material/arrow_back:", type="tertiary", on_click=set_parameter, args=back)
            st.subheader(view, anchor=False)
        views[view](state)
    else:
        with st.container(width=960):
            entries.show(state)
