"""How a network reads a triplet: attention on every word, and what happens to the margin when the word is deleted."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.errors import DataError
from core.models.triplet_network.word_attention import SentenceReading, TripletReading
from db.records import TripletCard
from webapp.shared import triplet_queries
from webapp.shared.choose import by_name
from webapp.shared.model_choice import by_method
from webapp.shared.palette import Tones, tones
from webapp.shared.text import plain, signed, words

_ASSETS = Path(__file__).parent / "assets"
_DARKEST = 3.0
"""Times an even share that full shade stands for at least: weights that hardly differ look alike, and light."""
_SUPPORTS, _OPPOSES = 2, 1
"""Places in the palette: blue and orange."""


def show(triplet: TripletCard, roles: tuple[str, str, str]) -> None:
    """A switch; while it is on, the words of the triplet as a model reads them."""
    models = triplet_queries.attending_models()
    left, right = st.columns([5, 4], vertical_alignment="center")
    with left:
        on = st.toggle(
            "Show which words count", key="attention", bind="query-params", disabled=not models,
            help="Attention weights of a triplet network, and the margin without each word.",
        )  # fmt: skip
    if not models:
        left.caption("No model here has attention weights. Train a triplet network on the page Train.")
    if not on or not models:
        return
    with right:
        model = by_name("Read by", by_method(models), "reader", lambda m: m.name)
    try:
        found = triplet_queries.reading(model.artifact, (triplet.pivot, triplet.positive, triplet.negative))
    except DataError as error:
        st.info(plain(error), icon=":material/info:")
        return
    theme = tones(st.context.theme.type)
    draw = st.components.v2.component(
        "themescope_words", html='<div class="words"></div>', css=_source("attention.css"), js=_source("attention.js")
    )
    draw(data=words_data(found, roles, theme), key="words-read")
    _explained(found, roles)


@cache
def _source(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def words_data(found: TripletReading, roles: tuple[str, str, str], theme: Tones) -> dict[str, Any]:
    """What the browser draws, by network and sentence: shade 0…1 and change -1…1, the largest of the triplet."""
    largest = max((float(np.abs(s.changes).max(initial=0)) for s in found.sentences), default=0.0) or 1.0
    colours = {"attention": theme.accent, "supports": theme.colour(_SUPPORTS), "opposes": theme.colour(_OPPOSES)}
    darkest = {
        name: max(_DARKEST, *(float(s.weights[name].max(initial=0)) * len(s.words) for s in found.sentences))
        for name in found.networks
    }
    networks = [
        {
            "name": f"{_network_name(name, found)}, darkest: {darkest[name]:.1f} times an even share",
            "sentences": [
                {"role": role, "words": _words(sentence, name, darkest[name], largest)}
                for role, sentence in zip(roles, found.sentences, strict=True)
            ],
        }
        for name in found.networks
    ]
    return {"colours": colours, "networks": networks}


def _words(sentence: SentenceReading, network: str, darkest: float, largest: float) -> list[dict[str, Any]]:
    weights = sentence.weights[network]
    return [
        {
            "word": word,
            "shade": float(weight) * len(weights) / darkest,
            "change": float(change) / largest,
            "about": f"attention {weight:.3f}; margin {signed(change)} without it",
        }
        for word, weight, change in zip(sentence.words, weights, sentence.changes, strict=True)
    ]


def _network_name(name: str, found: TripletReading) -> str:
    return f"Attention of the network on {name}" if len(found.networks) > 1 else "Attention"


def _explained(found: TripletReading, roles: tuple[str, str, str]) -> None:
    """What the drawing means, how far attention and deletion agree, and all of it as a table."""
    st.caption(
        "Shading: attention, as a multiple of an even share among the words. Line below a word: what deleting "
        "it does to the margin; **blue**, the margin shrinks, so the word speaks for the right order; **orange**, it "
        f"grows. Margin with all words: {signed(found.margin)}, in this model's own distance.  \n"
        "Attention is no explanation by itself: it says where the network looked, not what decided. Trust the deletion "
        "check more, and a word only where both agree."
    )
    for name in found.networks:
        whose = (
            f"{_network_name(name, found)}: rank correlation of it"
            if len(found.networks) > 1
            else "Rank correlation of attention"
        )
        each = ", ".join(
            f"{role.lower()} {_correlation(s.agreement(name))}" for role, s in zip(roles, found.sentences, strict=True)
        )
        st.markdown(f"{whose} and size of the change **{_correlation(found.agreement(name))}** (mean of {plain(each)})")
    with st.expander("Every word as a table", icon=":material/table:"):
        st.dataframe(table(found, roles), hide_index=True, height=320)


def _correlation(value: float | None) -> str:
    return "undefined" if value is None else f"{value:+.2f}".replace("-", "−").replace("0.", ".", 1)


def table(found: TripletReading, roles: tuple[str, str, str]) -> pd.DataFrame:
    """One row a word, in reading order."""
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


def _column(name: str, found: TripletReading) -> str:
    return "Attention" if len(found.networks) == 1 else words(f"attention, {name}")
