"""Map page: units as points, coloured by theme, code, column or score; the form for a new map."""

from __future__ import annotations

from functools import partial

import streamlit as st

from themescope.core.projection import UmapConfig
from themescope.core.records.stored import CorpusRecord, ModelRecord
from themescope.db.access import Right
from themescope.jobs.common.models import corpus_shares
from themescope.webapp.features import map as state
from themescope.webapp.features.map import view
from themescope.webapp.shared import queries, selections
from themescope.webapp.shared.choose import Stage, closed, model_notes, nothing, one_model, project, steps
from themescope.webapp.shared.forms import checked, config_fields
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.people import may
from themescope.webapp.shared.selections import Panel

_LISTED, _MOST = 10_000, 20_000_000


def new_map_form(corpus: CorpusRecord) -> None:
    """Draw the form; it queues a job that embeds the sentences and projects them to two dimensions."""
    if closed("Creating a map"):
        return
    models = _models(corpus)
    if not models:
        nothing("A map needs a model.", "“Mean of word vectors” trains in seconds.", "train", "Train a model")
        return
    model = one_model("Model", models, "map_new_map_model", "Model that measures similarity.")
    model_notes(model, corpus_shares(corpus))
    titles = [a.title for a in queries.articles(corpus.id, limit=_LISTED)]
    with st.form(f"map_new_map_{corpus.id}"):
        chosen = st.multiselect("Texts", titles, placeholder="whole project", help="Empty for the whole project.")
        left, middle, right = st.columns([2, 1, 1])
        name = left.text_input("Map name", placeholder=f"{corpus.name} by {model.name}")
        fitted = "The layout is fitted on at most 50,000 units, which takes about a minute"
        help = f"Larger projects are sampled at random. {fitted}; the others are placed by the fitted model."
        limit = middle.number_input("Maximum units", 50, _MOST, _usual_limit(corpus), step=1_000, help=help)
        help = "Seed of sampling and layout; the same seed gives the same map."
        seed = right.number_input("Seed", min_value=0, value=0, step=1, help=help)
        values = config_fields(UmapConfig, "umap", shown=3)
        if not st.form_submit_button("Create map", type="primary", icon=":material/scatter_plot:"):
            return
    config = checked(UmapConfig, values)
    if config is not None and _create(corpus, model, chosen, int(limit), int(seed), config, name.strip()):
        st.rerun()


def _models(corpus: CorpusRecord) -> list[ModelRecord]:
    return queries.best_first(corpus_shares(corpus), corpus.id, across=corpus.articles > 1)


def _create(
    corpus: CorpusRecord, model: ModelRecord, titles: list[str], limit: int, seed: int, config: UmapConfig, name: str
) -> bool:
    """Queue the map; return whether that was possible."""
    what = corpus.name if not titles else titles[0] if len(titles) == 1 else f"{len(titles)} texts of {corpus.name}"
    args = {
        "corpus": corpus.name,
        "model": model.name,
        "titles": titles,
        "limit": limit,
        "settings": config.to_dict(),
        "seed": seed,
        "name": name or f"{what} by {model.name}",
    }
    return submit("project", args, f"Map {args['name']}") is not None


def _usual_limit(corpus: CorpusRecord) -> int:
    return min(20_000, max(50, corpus.sentences))


def draw(corpus: CorpusRecord) -> None:
    """Draw the map of a project; without one, the form that makes one, and a selection from another page."""
    if maps := queries.maps(corpus.id):  # those by the best model first, the newest first among those of one model
        best = queries.best_first(corpus_shares(corpus), corpus.id, queries.models(), across=corpus.articles > 1)
        places = {model.id: place for place, model in enumerate(best)}
        maps = sorted(maps, key=lambda found: places.get(found.model_id, len(places)))
        view.show(corpus, maps, partial(new_map_form, corpus))
        return
    models = _models(corpus)

    def create() -> None:
        _create(corpus, models[0], [], _usual_limit(corpus), 0, UmapConfig(), "")

    needs = "" if models and may(Right.MANAGE) else "Needs a model." if not models else "Requires the admin role."
    steps(
        [
            Stage("Train a model", "It measures which units are alike.", bool(models), "train"),
            Stage("Create map", "By the best model; a minute or two.", False, "map", None, needs, create),
            Stage("Look and select", "A lasso around points lists their units.", False, "map", needs="Needs a map."),
        ]
    )
    if models:
        options = st.expander("Options", key="map_options", on_change="rerun")
        if options.open:
            with options:
                new_map_form(corpus)
    elsewhere = selections.from_address(state.STORED) or selections.offered(corpus.id, keep=True)
    if elsewhere is not None and elsewhere.corpus_id == corpus.id:
        selections.show(Panel(elsewhere, "map_drawer", state.STORED))


chosen = project()
if chosen is not None:
    draw(chosen)
