"""Attention weights of a network on the words of a triplet, beside the effect of deleting each word on the margin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.errors import DataError
from themescope.core.models.triplet_network.word_attention import SentenceAttention, TripletAttention
from themescope.db.records import TripletCard
from themescope.webapp.features.triplets import ATTENTION, ATTENTION_MODEL
from themescope.webapp.features.triplets import queries as page_queries
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import by_name, with_tag
from themescope.webapp.shared.components import draw_component, draw_table
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.text import plain, signed, words

_ASSETS = Path(__file__).parent / "assets"
_FULL_SHADE = 3.0
"""Minimum weight of the darkest shade, as a multiple of a uniform weight, so that small differences look small."""
_SUPPORTS, _OPPOSES = 2, 1
"""Positions in the palette: blue and orange."""


def show(triplet: TripletCard, roles: tuple[str, str, str]) -> None:
    """Draw a switch, and while it is on, the words of the triplet with their weights."""
    models = with_tag(queries.models(), "attention")
    left, right = st.columns([5, 4], vertical_alignment="center")
    with left:
        on = st.toggle(
            "Show word importance", key=ATTENTION, bind="query-params", disabled=not models,
            help="Attention weights of a triplet network, and the change of the margin without each word.",
        )  # fmt: skip
    if not models:
        left.caption("No model has attention weights. Train a triplet network on the Train page.")
    if not on or not models:
        return
    with right:
        model = by_name("Model", models, ATTENTION_MODEL, lambda m: m.name)
    try:
        texts = (triplet.pivot, triplet.positive, triplet.negative)
        found = page_queries.attention(model.artifact, texts, model)
    except DataError as error:
        st.info(plain(error), icon=":material/info:")
        return
    theme = tones(st.context.theme.type)
    draw_component("attention", _ASSETS, data=attention_data(found, roles, theme), key="triplets_attention_view")
    st.caption(
        "Shading: attention relative to a uniform weight. Underline: effect of deleting the word. **Blue**: the margin "
        "shrinks, so the word supports the correct order. **Orange**: the margin grows. "
        f"Margin with all words: {signed(found.margin)}, by this model's distance.  \n"
        "Attention alone is not an explanation: it shows where the network looked, not what decided. Prefer the "
        "deletion check, and rely on words where both agree."
    )
    for name in found.networks:
        whose = (
            f"{_network_name(name, found)}: rank correlation"
            if len(found.networks) > 1
            else "Rank correlation of attention"
        )
        each = ", ".join(
            f"{role.lower()} {_correlation(s.agreement(name))}" for role, s in zip(roles, found.sentences, strict=True)
        )
        st.markdown(
            f"{whose} with the size of the change: **{_correlation(found.agreement(name))}** (mean of {plain(each)})"
        )
    with st.expander("Data table", icon=":material/table:"):
        draw_table(word_rows(found, roles), height=320)


def attention_data(found: TripletAttention, roles: tuple[str, str, str], theme: Tones) -> dict[str, Any]:
    """Return what the browser draws, by network and sentence: shade in [0, 1], change in [-1, 1]."""
    largest = max((float(np.abs(s.changes).max(initial=0)) for s in found.sentences), default=0.0) or 1.0
    colours = {"attention": theme.accent, "supports": theme.colour(_SUPPORTS), "opposes": theme.colour(_OPPOSES)}
    darkest = {
        name: max(_FULL_SHADE, *(float(s.weights[name].max(initial=0)) * len(s.words) for s in found.sentences))
        for name in found.networks
    }
    networks = [
        {
            "name": f"{_network_name(name, found)}, darkest: {darkest[name]:.1f} × uniform",
            "sentences": [
                {"role": role, "words": _words(sentence, name, darkest[name], largest)}
                for role, sentence in zip(roles, found.sentences, strict=True)
            ],
        }
        for name in found.networks
    ]
    return {"colours": colours, "networks": networks}


def _words(sentence: SentenceAttention, network: str, darkest: float, largest: float) -> list[dict[str, Any]]:
    weights = sentence.weights[network]
    return [
        {
            "word": word,
            "shade": float(weight) * len(weights) / darkest,
            "change": float(change) / largest,
            "help": f"attention {weight:.3f}; margin {signed(change)} without it",
        }
        for word, weight, change in zip(sentence.words, weights, sentence.changes, strict=True)
    ]


def _network_name(name: str, found: TripletAttention) -> str:
    return f"Attention of the network on {name}" if len(found.networks) > 1 else "Attention"


def _correlation(value: float | None) -> str:
    return "undefined" if value is None else f"{value:+.2f}".replace("-", "−").replace("0.", ".", 1)


def word_rows(found: TripletAttention, roles: tuple[str, str, str]) -> pd.DataFrame:
    """Return one row per word in reading order."""
    rows = [
        {
            "Sentence": role,
            "Word": word,
            **{_column(name, found): round(float(s.weights[name][i]), 4) for name in found.networks},
            "Margin without it": round(found.margin + float(s.changes[i]), 4),
            "Change": round(float(s.changes[i]), 4),
        }
        for role, s in zip(roles, found.sentences, strict=True)
        for i, word in enumerate(s.words)
    ]
    return pd.DataFrame(rows)


def _column(name: str, found: TripletAttention) -> str:
    return "Attention" if len(found.networks) == 1 else words(f"attention, {name}")
