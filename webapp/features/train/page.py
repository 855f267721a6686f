"""The page Train: train models and inspect them."""

import streamlit as st

from webapp.features.train import form, model_cards, state
from webapp.shared import queries
from webapp.shared.choose import nothing, title
from webapp.shared.guard import closed
from webapp.shared.job_status import watch

title("Train", "Train a model. Progress is live; you can leave the page.")
watch("train")
learn, have = st.tabs(["New model", "Models"], key=state.VIEW, bind="query-params", on_change="rerun")
if learn.open:
    with learn:
        if not closed("Training"):
            form.form()
            form.add_from_folder()
if have.open:
    with have:
        models = queries.selectable_models()
        if models:
            model_cards.show(models)
        else:
            nothing("No model yet.", "Train one in the tab “New model”. “Mean of word vectors” takes seconds.")
