"""Names of themes: the form that renames one, and names by a language model. Names are part of the result."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from themescope.core.clustering.generated_names import NameState
from themescope.db.access import Right
from themescope.jobs.common.naming.theme_naming import materials_of_run
from themescope.jobs.kinds.themes import restored
from themescope.webapp.features.themes import state
from themescope.webapp.shared import queries
from themescope.webapp.shared.labelling import name_requests
from themescope.webapp.shared.people import may
from themescope.webapp.shared.results.partition_queries import Analysis
from themescope.webapp.shared.text import count, plain

_LONGEST = 200
_OUTCOMES = {
    NameState.NAMED: ("theme named", "themes named"),
    NameState.UNSUPPORTED: ("suggestion not used", "suggestions not used"),
    NameState.KEPT: ("name kept", "names kept"),
}


def show(analysis: Analysis) -> None:
    """Draw what earlier requests gave, and the form for new ones."""
    folded = st.expander(
        name_requests.TITLE,
        icon=":material/auto_awesome:",
        key=f"{state.NAMING}_{analysis.run.digest}",
        on_change="rerun",
    )
    if not folded.open:
        return
    with folded:
        _outcome(analysis)
        if not may(Right.MANAGE):
            st.caption("Sending texts to a language model requires the admin role.")
            return
        model = name_requests.endpoint()
        if model is None:
            return
        names = [f"{place}. {theme['name']}" for place, theme in enumerate(analysis.themes, 1)]
        chosen = st.multiselect("Themes to name", names, placeholder="all themes", key=state.TO_NAME)
        numbers = [names.index(name) for name in chosen]
        materials = materials_of_run(queries.store(), analysis.run, numbers)
        target = {"run": analysis.run.id, "numbers": numbers}
        name_requests.consent(target, materials, model, f"{state.NAMING}_{analysis.run.digest}")


def _outcome(analysis: Analysis) -> None:
    """Draw who named the themes, and the themes whose answers were not used."""
    report = analysis.run.config.get("naming")
    if not report:
        return
    found = [(int(report.get(outcome.value, 0)), words) for outcome, words in _OUTCOMES.items()]
    counts = ", ".join(count(number, *words) for number, words in found if number)
    st.markdown(f"Last time: {plain(report['model'])} at {plain(report['endpoint'])}: {counts}.")
    rows = [
        (f"{place}. {theme['name']}", theme["naming"]["reason"], theme["naming"].get("suggestion", ""))
        for place, theme in enumerate(analysis.themes, 1)
        if theme.get("naming", {}).get("reason")
    ]
    if rows:
        st.dataframe(pd.DataFrame(rows, columns=["Theme", "Reason", "Suggestion"]), hide_index=True)
    renamed = any("default_name" in theme for theme in analysis.themes)
    if renamed and may(Right.MANAGE) and st.button("Restore computed names", icon=":material/undo:"):
        queries.write(lambda r: r.runs.set_config(analysis.run.id, restored(analysis.run.config)))
        st.rerun()


def heading(analysis: Analysis, place: int) -> None:
    """Draw name and size of a theme; people who may change results can rename it."""
    theme = analysis.themes[place]
    with st.container(horizontal=True, vertical_alignment="top", gap="small", wrap=False):
        # Two elements, because the name may be written from right to left.
        st.markdown(f"**{place + 1}. {plain(theme['name'])}**", width="stretch")
        st.caption(count(theme["size"], "sentence"), width="content")
        if not may(Right.MANAGE):
            return
        key = f"{state.NEW_THEME_NAME}_{analysis.run.digest}_{place}"
        with st.popover(":material/edit:", type="tertiary", help="Rename this theme"):
            st.text_input(
                "Name of the theme", value=theme["name"], key=key, max_chars=_LONGEST,
                on_change=_rename, args=(analysis.run.id, place, key),
            )  # fmt: skip
            st.caption("Enter saves the name with the result, for everyone.")


def _rename(run_id: int, place: int, key: str) -> None:
    name = str(st.session_state[key] or "").strip()
    refused = queries.write(lambda w: w.runs.rename_theme(run_id, place, name)) if name else ""
    if refused:
        st.toast(plain(refused), icon=":material/error:")
