"""Form for a new map."""

from __future__ import annotations

import streamlit as st

from core.projection.maps import UmapConfig
from db.records import CorpusRecord, ModelRecord
from webapp.features.map import state
from webapp.shared import queries
from webapp.shared.choose import nothing
from webapp.shared.forms import checked, config_fields
from webapp.shared.guard import closed
from webapp.shared.job_status import submit
from webapp.shared.model_choice import one_model

_LISTED, _MOST = 10_000, 1_000_000
_LIMIT_HELP = (
    "Larger corpora are sampled at random. 100,000 sentences take about five minutes on two cores. Beyond 150,000, the "
    "remaining sentences are placed by interpolation between their nearest neighbours."
)


def form(corpus: CorpusRecord) -> None:
    """Draw the form; it queues a job that embeds the sentences and projects them to two dimensions."""
    if closed("Creating a map"):
        return
    models = queries.selectable_models()
    if not models:
        nothing(
            "A map needs a model.",
            "“Mean of word vectors” trains in seconds.",
            "train",
            "Train a model",
        )
        return
    model = one_model("Model", models, state.NEW_MAP_MODEL, "Model that measures similarity.")
    titles = [a.title for a in queries.articles(corpus.id, limit=_LISTED)]
    with st.form(f"{state.NEW_MAP}_{corpus.id}"):
        chosen = st.multiselect("Articles", titles, placeholder="whole corpus", help="Empty for the whole corpus.")
        left, middle, right = st.columns([2, 1, 1])
        name = left.text_input("Map name", placeholder=f"{corpus.name} by {model.name}")
        limit = middle.number_input(
            "Maximum sentences", 50, _MOST, min(20_000, max(50, corpus.sentences)), step=1_000, help=_LIMIT_HELP
        )
        seed = right.number_input(
            "Seed", min_value=0, value=0, step=1, help="Seed of sampling and layout; the same seed gives the same map."
        )
        values = config_fields(UmapConfig, "umap", shown=3)
        if not st.form_submit_button("Create map", type="primary", icon=":material/scatter_plot:"):
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
