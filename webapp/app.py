"""The pages and how one gets to them. Run by ``python -m webapp``; each page is a script in ``views``.

The folder is not called ``pages``: beside the main script Streamlit takes that name for its older way of finding
pages, and then a link to a page, opened before anybody has opened the front page, runs without this file.
"""

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from core.errors import ThemescopeError
from db.roles import Actor, Right
from webapp.shared import login, people
from webapp.shared import store as house
from webapp.shared.guard import guarded
from webapp.shared.status import sidebar

# A file of our own: an icon given by its name would be fetched from a foreign host.
_ASSETS = Path(__file__).parent / "shared" / "assets"
_ICON = str(_ASSETS / "icon.svg")

st.set_page_config(page_title="Themescope", page_icon=_ICON, layout="wide", initial_sidebar_state=236)
st.logo(str(_ASSETS / "logo.svg"), size="large", icon_image=_ICON)
st.html(_ASSETS / "style.css")


def _here() -> Actor | ThemescopeError | None:
    """Who is here, with the role that counts; None for who must sign in first; or why that cannot be told."""
    try:
        return None if house.shared() and login.person() is None else people.current_actor()
    except ThemescopeError as error:
        return error


def _pages(manages: bool) -> dict[str, list[StreamlitPage]]:
    admins = [st.Page("features/people/page.py", title="People", icon=":material/group:", url_path="people")]
    return {
        "": [st.Page("features/home/page.py", title="Home", icon=":material/home:", default=True)],
        "Text": [
            st.Page("features/corpora/page.py", title="Corpora", icon=":material/library_books:", url_path="corpora"),
            st.Page(
                "features/triplets/page.py", title="Triplets", icon=":material/change_history:", url_path="triplets"
            ),
        ],
        "Methods": [
            st.Page("features/train/page.py", title="Train", icon=":material/model_training:", url_path="train"),
            st.Page("features/compare/page.py", title="Compare", icon=":material/leaderboard:", url_path="compare"),
            st.Page(
                "features/paper_tables/page.py",
                title="Paper tables",
                icon=":material/science:",
                url_path="paper_tables",
            ),
        ],
        "Explore": [
            st.Page("features/map/page.py", title="Map", icon=":material/scatter_plot:", url_path="map"),
            st.Page("features/themes/page.py", title="Themes", icon=":material/category:", url_path="themes"),
            st.Page(
                "features/summaries/page.py", title="Summaries", icon=":material/short_text:", url_path="summaries"
            ),
        ],
        "People": [
            st.Page("features/relabel/page.py", title="Relabel", icon=":material/edit_note:", url_path="relabel"),
            st.Page("features/agreement/page.py", title="Agreement", icon=":material/handshake:", url_path="agreement"),
            *(admins if manages else []),
        ],
        "Machine": [st.Page("features/jobs/page.py", title="Jobs", icon=":material/work_history:", url_path="jobs")],
    }


def _draw() -> None:
    if isinstance(_actor, ThemescopeError):
        raise _actor
    if _actor is None:
        login.page()
        return
    sidebar()
    people.entrance(_actor)
    _page.run()


_actor = _here()
# Before somebody has signed in, every address is kept for them.
_manages = _actor is None or (isinstance(_actor, Actor) and _actor.may(Right.MANAGE))
# Expanded: more than a dozen pages would be folded, and Jobs, the last, be out of sight.
_page = st.navigation(_pages(_manages), position="hidden" if _actor is None else "sidebar", expanded=True)
guarded(_draw)
