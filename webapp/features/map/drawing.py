"""The form for a new map."""

from __future__ import annotations

import streamlit as st

from core.projection.maps import UmapConfig
from db.records import CorpusRecord, ModelRecord
from webapp.shared import queries
from webapp.shared.choose import nothing
from webapp.shared.forms import checked, config_fields
from webapp.shared.guard import closed
from webapp.shared.job_status import submit
from webapp.shared.model_choice import one_model

_LISTED, _MOST = 10_000, 1_000_000
_LIMIT_HELP = (
    "Of more sentences a random sample is drawn. 100,000 take some five minutes on two cores; of more than 150,000, "
    "that many are laid out, and each of the others is put between the ones nearest to it."
)


def form(corpus: CorpusRecord) -> None:
    """Ask for a map: the vectors are computed first where they are missing, then laid out in two dimensions."""
    if closed("Drawing a map"):
        return
    models = queries.selectable_models()
    if not models:
        nothing("A map needs a model.", "There is none yet. Train one; mean vectors takes seconds.", "train", "Train")
        return
    model = one_model("Model", models, "draw-by", "Whose idea of likeness the map shows.")
    titles = [a.title for a in queries.articles(corpus.id, limit=_LISTED)]
    with st.form(f"draw-{corpus.id}"):
        chosen = st.multiselect(
            "Articles", titles, placeholder="the whole corpus", help="The articles to draw; none: the whole corpus."
        )
        left, middle, right = st.columns([2, 1, 1])
        name = left.text_input(
            "Name of the map", placeholder=f"{corpus.name} by {model.name}", help="What it is called in the list."
        )
        limit = middle.number_input(
            "Most sentences", 50, _MOST, min(20_000, max(50, corpus.sentences)), step=1_000, help=_LIMIT_HELP
        )
        seed = right.number_input(
            "Seed", min_value=0, value=0, step=1, help="Of the sample and the layout: the same seed gives the same map."
        )
        values = config_fields(UmapConfig, "umap", shown=3)
        if not st.form_submit_button("Draw the map", type="primary", icon=":material/scatter_plot:"):
            return
    config = checked(UmapConfig, values)
    if config is None:
        return
    args = {
        "corpus": corpus.name,
        "model": model.name,
        "titles": chosen,
        "limit": int(limit),
        "settings": config.to_dict(),
        "seed": int(seed),
        "name": name.strip() or _name(corpus, model, chosen),
    }
    if submit("project", args, f"Map {args['name']}"):
        st.rerun()


def _name(corpus: CorpusRecord, model: ModelRecord, chosen: list[str]) -> str:
    what = corpus.name if not chosen else chosen[0] if len(chosen) == 1 else f"{len(chosen)} articles of {corpus.name}"
    return f"{what} by {model.name}"
