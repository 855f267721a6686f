"""What could not be done or saved, and what two people did at once; each with what to do about it."""

from __future__ import annotations

import streamlit as st

from webapp.features.relabel.state import Bench
from webapp.shared import people
from webapp.shared.text import ago, count, plain, shorten


def show(bench: Bench) -> None:
    """What could not be done or saved, with what to do about it."""
    if bench.conflict is not None:
        _conflict(bench)
    if bench.unsaved is not None:
        with st.container(border=True):
            st.error(f"**Not saved.** {plain(bench.unsaved.told)}", icon=":material/error:")
            with st.container(horizontal=True):
                st.button("Try again", icon=":material/refresh:", on_click=bench.again)
                st.button("Leave it", icon=":material/close:", on_click=bench.leave)


def _conflict(bench: Bench) -> None:
    """Both versions of what two people changed; the person decides."""
    found = bench.conflict
    assert found is not None
    with st.container(border=True, key="conflict"):
        st.warning(f"**Somebody was first.** {plain(found.told)}", icon=":material/merge:")
        for clash in found.clashes[:5]:
            st.text(shorten(bench.desk.texts.get(clash.sentence, ""), 220))
            who = people.shown(clash.person) if clash.when else "somebody"
            st.markdown(
                f"You saw **{plain(clash.seen)}** and wanted **{plain(clash.mine)}** · {who} made it "
                f"**{plain(clash.theirs)}** {ago(clash.when) if clash.when else ''}"
            )
        if len(found.clashes) > 5:
            st.caption(f"and {count(len(found.clashes) - 5, 'more sentence')}")
        with st.container(horizontal=True):
            st.button("Keep theirs", type="primary", icon=":material/check:", on_click=bench.settle, args=(False,))
            st.button("Use mine", icon=":material/edit:", on_click=bench.settle, args=(True,))
        st.caption("Either way nothing is lost: both changes stand in the history.")
