"""Map: the sentences of a corpus as points, coloured by section, cluster, label or score."""

import streamlit as st

from webapp.features.map import new_map, state, view
from webapp.shared import queries
from webapp.shared.choose import by_name, corpus, nothing, title
from webapp.shared.job_status import watch
from webapp.shared.saved_views import saved_views

with st.container(horizontal=True, vertical_alignment="bottom"):
    title("Map", "Every point is a sentence; nearby points are similar. Lasso points to read them.")
    left, right = st.container(width=250), st.container(width=330)
watch("map")
with left:
    chosen = corpus(first={found.corpus_id for found in queries.maps()})
if chosen is not None:
    maps = queries.maps(chosen.id)
    if maps:
        models = {model.id: model.name for model in queries.models()}
        with right:
            record = by_name("Map", maps, state.MAP, lambda found: found.name or models.get(found.model_id, "Map"))
        view.show(chosen, record, maps)
        st.divider()
    else:
        nothing("No map of this corpus yet.", "Choose a model below and create one; it takes a minute or two.")
    key = f"{state.NEW_MAP}_{bool(maps)}"
    form = st.expander("Create a map", icon=":material/add:", expanded=not maps, key=key, on_change="rerun")
    if form.open:
        with form:
            new_map.form(chosen)
saved_views("map")
