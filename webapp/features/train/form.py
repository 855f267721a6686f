"""Training form: a method, what it learns from, and the rest under Advanced; and the form that adds a saved model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from themescope.core.models import REGISTRY
from themescope.core.registry import Card
from themescope.core.triplets.rules import TripletRules
from themescope.core.types import Split
from themescope.db.records import TripletSetRecord
from themescope.jobs.common.models import corpus_shares, method_note
from themescope.webapp.features import train as state
from themescope.webapp.shared import forms, projects, queries
from themescope.webapp.shared.choose import (
    by_name,
    fine_tunable,
    grouped_by_method,
    no_sections,
    nothing,
    project,
    with_tag,
)
from themescope.webapp.shared.forms import checked, config_fields
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.text import count, duration, plain
from themescope.webapp.shared.triplet_queries import split_count

_TEXT = {"needs-sentences", "needs-sections"}
_NUMBERED = "If the name is taken, a number is appended."
_MORE = "train_more"


def form() -> None:
    """Draw the choice of method and training data, with the rest under Advanced, and queue the training."""
    left, right = st.columns(2, gap="medium")
    button = st.container(horizontal=True)
    start = button.container(width="content")
    advanced = button.popover("Advanced", icon=":material/tune:")
    usual = sorted(REGISTRY.tagged("usual"), key=lambda card: "needs-sections" not in card.tags)
    if st.session_state.get(state.METHOD) in {card.title for card in REGISTRY if card not in usual}:
        st.session_state.setdefault(_MORE, True)
    more = advanced.toggle("More methods", key=_MORE, help="Baselines and systems of the papers, and combinations.")
    with left:
        offered = [*usual, *(card for card in REGISTRY if more and card not in usual)]
        card = by_name("Method", offered, state.METHOD, lambda card: card.title)
        st.caption(plain(card.summary))
    with right:
        data = _data(card, advanced)
    if data is None:
        return
    with advanced:
        source = next(iter(data.values()), "")
        given = f"{card.id} on {source}" if isinstance(source, str) and source else card.id
        first, second = st.columns([3, 1])
        free = queries.usable_model_name(given)
        name = first.text_input("Model name", free, key=f"train_name_{given}", help=_NUMBERED)
        seed = second.number_input("Seed", min_value=0, value=0, step=1)
        values = config_fields(card.config_class(), f"train_settings_{card.id}", shown=99)
        st.caption(f"Source of the method: {plain(card.source)}")
    if not start.button("Train", type="primary", icon=":material/model_training:"):
        return
    config = checked(card.config_class(), values)
    if config is None:
        return
    name = queries.usable_model_name(name)
    args = {"method": card.id, "name": name, "settings": config.to_dict(), "seed": int(seed), **data}
    if submit("train", args, f"Train {name}"):
        st.rerun()


def _data(card: Card, advanced: DeltaGenerator) -> dict[str, Any] | None:
    """Draw the training data fields that the tags of the method require; None if data are missing."""
    if "needs-models" in card.tags:
        return _bases(card, advanced) if "any-models" in card.tags else _networks()
    if "needs-triplets" in card.tags:
        sets = _triplet_sets(card)
        if not sets:
            return None
        chosen = by_name("Training triplets", sets, state.TRIPLETS, lambda s: s.name)
        estimate(card, chosen)
        with advanced:
            validation = _validation(chosen, sets)
            return None if validation is None else {"triplets": chosen.name, **validation, **_base_model()}
    if card.tags & _TEXT:
        return _running_text(card, advanced)
    st.caption("This method needs no training data, only word vectors.")
    return {}


def _triplet_sets(card: Card) -> list[TripletSetRecord]:
    """Return the triplet sets that the method can learn from; without any, say what is missing."""
    sets = [s for s in queries.triplet_sets(projects.current_id()) if fits(card, s)]
    if not sets:
        kind, negative = wanted(card)
        more = f" with negatives from “{negative.replace('_', ' ')}”" if negative else ""
        nothing(f"This method requires triplets of {kind}{more}.", *_BUILD)
    return sets


def _validation(chosen: TripletSetRecord, sets: Sequence[TripletSetRecord]) -> dict[str, Any] | None:
    """Choose a set for early stopping if the chosen one has no validation triplets."""
    if split_count(chosen, Split.VALIDATION):
        return {}
    able = sorted((s for s in sets if split_count(s, Split.VALIDATION)), key=lambda s: s.corpus_id != chosen.corpus_id)
    if not able:
        nothing("Early stopping needs validation triplets; no set has them.", *_BUILD)
        return None
    return {"validation": st.selectbox("Validation triplets from", [s.name for s in able])}


def _base_model() -> dict[str, Any]:
    able = [m.name for m in fine_tunable(queries.models())]
    kept = "Fine-tuning keeps the vocabulary, architecture and distance of the base model."
    help = f"{kept} A lower learning rate changes it less."
    chosen = st.selectbox("Start from", [None, *able], format_func=lambda name: name or "Scratch", help=help)
    return {"models": [chosen]} if chosen else {}


_BUILD = ("Build a triplet set first.", "triplets", "Triplets")
_NEGATIVE = "negative:"


def wanted(card: Card) -> tuple[str, str]:
    """Return the kind of triplets that a method requires, and the source of negatives ("" for any)."""
    negative = next((tag.removeprefix(_NEGATIVE) for tag in card.tags if tag.startswith(_NEGATIVE)), "")
    return "titles" if "title-triplets" in card.tags else "sentences", negative


def fits(card: Card, record: TripletSetRecord) -> bool:
    """Return whether a set has training triplets of the kind that the method requires."""
    kind, negative = wanted(card)
    rules = TripletRules.current_names(record.config)
    right = record.kind == kind and (not negative or rules.get("negative") == negative)
    return right and split_count(record, Split.TRAIN) > 0


def _running_text(card: Card, advanced: DeltaGenerator) -> dict[str, Any] | None:
    """Draw what the method learns from and, for methods that accept one, content vectors or a teacher."""
    corpus = project()
    if corpus is None:
        return None
    if "needs-sections" in card.tags and not corpus.has_sections:
        no_sections(corpus, "This method learns from sections.")
        return None
    what = "The sections" if "needs-sections" in card.tags else "The sentences"
    st.markdown(f"Learns from  \n**{what} of {plain(corpus.name)}**: {count(corpus.articles, 'article')}")
    if "transductive" in card.tags:
        st.caption("Learns a vector for every sentence, including those of test articles.")
    if note := method_note(card, corpus_shares(corpus)):
        st.warning(plain(note), icon=":material/translate:")
    data: dict[str, Any] = {"corpus": corpus.name}
    if "accepts-base-model" in card.tags:
        own = [None, *(m.name for m in with_tag(queries.models(), "content-vectors"))]
        chosen = advanced.selectbox("Content vectors", own, format_func=lambda name: name or "Train with this model")
        data |= {"models": [chosen]} if chosen else {}
    if "accepts-teacher" in card.tags:
        known = grouped_by_method(queries.selectable_models())
        dense = [m.name for m in known if m.method in REGISTRY and "sparse" not in REGISTRY.get(m.method).tags]
        chosen = advanced.selectbox(
            "Teacher",
            [None, *dense],
            format_func=lambda name: name or "None",
            help="Distillation: the method also learns from the similarities that this model finds within an article. "
            "The teacher embeds all training articles first, which takes long with a slow model.",
        )
        data |= {"models": [chosen]} if chosen else {}
    return data


def _bases(card: Card, advanced: DeltaGenerator) -> dict[str, Any] | None:
    """Draw the choice of base models, and of triplets or a corpus if the method needs them."""
    data: dict[str, Any] = {}
    if "needs-triplets" in card.tags:
        sets = _triplet_sets(card)
        if not sets:
            return None
        data = {"triplets": by_name("Training triplets", sets, state.TRIPLETS, lambda s: s.name).name}
    models, one = grouped_by_method(queries.selectable_models()), "one-encoder" in card.tags
    if one:
        models = [m for m in with_tag(models, "needs-sections") if "encoder" in REGISTRY.get(m.method).tags]
    found = [model.name for model in models]
    if not found:
        nothing("This method requires trained models.", "Train a model first.")
        return None
    if one:
        chosen = [st.selectbox("Base model", found)]
    else:
        chosen = st.multiselect("Base models", found, found[:1], help="Several models are concatenated.")
    text = _running_text(card, advanced) if card.tags & _TEXT else {}
    return None if text is None or not chosen else {**data, "models": chosen, **text}


def _networks() -> dict[str, Any] | None:
    trained = [m for m in with_tag(queries.models(), "needs-triplets") if m in fine_tunable([m])]
    titles = [m.name for m in trained if "title-triplets" in REGISTRY.get(m.method).tags]
    others = [m.name for m in trained if m.name not in titles]
    if not titles or not others:
        missing = "one on section titles" if others else "one on sentences"
        nothing("This method concatenates two trained networks.", f"Train {missing} first.")
        return None
    return {"models": [st.selectbox("Network on sentences", others), st.selectbox("Network on titles", titles)]}


def estimate(card: Card, chosen: TripletSetRecord) -> None:
    """Draw the number of triplets and, if known from an earlier run, the time of an epoch."""
    train = split_count(chosen, Split.TRAIN)
    rates = [
        float(rate)
        for job in queries.jobs(limit=200)
        if job.kind == "train" and job.args.get("method") == card.id
        for rate in [job.result.get("metrics", {}).get("triplets/s")]
        if rate
    ]
    text = f"{count(train, 'training triplet')}, {split_count(chosen, Split.VALIDATION):,} for validation."
    if rates:
        text += f" One epoch takes about {duration(train / rates[0])}, based on your last run."
    st.caption(text)


def add_from_folder() -> None:
    """Draw the form that adds a saved model from a folder on the server."""
    if not forms.server_paths_offered():
        forms.explain_server_paths()
        return
    with st.form("train_add_model", border=False):
        folder = st.text_input("Model folder on the server")
        name = st.text_input("Model name", help=_NUMBERED)
        if st.form_submit_button("Add"):
            name = queries.usable_model_name(name)
            if submit("add-model", {"folder": forms.expanded_path(folder), "name": name}, f"Add {name}"):
                st.rerun()
