"""Map: see which sentences a model puts together, and whether they share a section."""

import streamlit as st

from webapp.features.map import atlas, drawing
from webapp.shared import queries
from webapp.shared.choose import corpus, nothing, title
from webapp.shared.job_status import watch
from webapp.shared.saved_views import saved_views

title("Map", "Every point is a sentence; near points are alike in theme to the model. Draw around points to read them.")
watch("map")
left, right = st.columns(2)
with left:
    chosen = corpus(first={found.corpus_id for found in queries.maps()})
if chosen is not None:
    maps = queries.maps(chosen.id)
    if maps:
        with right:
            record = atlas.choose_map(maps)
        atlas.show(chosen, record, maps)
        st.divider()
    else:
        nothing("No map of this corpus yet.", "Choose a model below and draw one; it takes a minute or two.")
    label = "Draw another map" if maps else "Draw a map"
    drawer = st.expander(label, icon=":material/add:", expanded=not maps, key=f"draw-{bool(maps)}", on_change="rerun")
    if drawer.open:
        with drawer:
            drawing.form(chosen)
saved_views("map")
