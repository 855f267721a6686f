"""Codebook page: the codes of a coding, in words and examples."""

import streamlit as st

from themescope.webapp.features.codebook import CODES, FILES, GOLD, LABELLING, VERSIONS, VIEW, entries
from themescope.webapp.features.codebook.entries import codebook_state
from themescope.webapp.shared import compare_queries, projects
from themescope.webapp.shared.choose import menu
from themescope.webapp.shared.labelling import STYLE
from themescope.webapp.shared.navigation import page_link, write_parameter
from themescope.webapp.shared.text import distinct


def open_view(name: str) -> None:
    """Open what the menu offers in place of the codes; "" for the codes."""
    st.session_state[VIEW] = name
    write_parameter(VIEW, [name] if name else [])


codings = sorted(compare_queries.labellings(projects.current_id()), key=compare_queries.precedence)
if not codings:
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
        open_view(chosen)
        st.rerun()
    if view in views:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(CODES, icon=":material/arrow_back:", type="tertiary", on_click=open_view, args=("",))
            st.subheader(view, anchor=False)
        views[view](state)
    else:
        with st.container(width=960):
            entries.show(state)
