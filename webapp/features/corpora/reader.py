"""Article reader: section tree, first sentences of paragraphs, and sentences eligible for triplets."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import streamlit as st

from core.types import SectionRecord, Sentence
from webapp.features.corpora import state

_ASSETS = Path(__file__).parent / "assets"


@cache
def _source(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def reader_data(
    sections: Sequence[SectionRecord], sentences: Sequence[Sentence], eligible: Collection[int], query: str
) -> dict[str, Any]:
    """Return the data of the component: sections in page order with paragraphs; ``eligible`` holds sentence ids."""
    by_section: dict[int, list[list[dict[str, Any]]]] = {}
    for (section, _), group in groupby(sentences, key=lambda s: (s.section, s.paragraph)):
        by_section.setdefault(section, []).append([_sentence(s, s.id in eligible) for s in group])
    parts = [{"title": s.title, "level": s.level, "paragraphs": by_section.get(s.position, [])} for s in sections]
    return {"sections": parts, "query": query.strip()}


def _sentence(sentence: Sentence, eligible: bool) -> dict[str, Any]:
    why = ""
    if sentence.opens_paragraph:
        why = (
            "Opens its paragraph; eligible for triplets"
            if eligible
            else "Opens its paragraph; not eligible for triplets"
        )
    return {"text": sentence.text, "opens": sentence.opens_paragraph, "eligible": eligible, "why": why}


def article(
    sections: Sequence[SectionRecord], sentences: Sequence[Sentence], eligible: Collection[int], query: str = ""
) -> None:
    """Draw an article; matches of ``query`` are highlighted, and the first one is scrolled into view."""
    show = st.components.v2.component(
        "themescope_reader", html='<div class="reader"></div>', css=_source("reader.css"), js=_source("reader.js")
    )
    show(data=reader_data(sections, sentences, eligible, query), key=state.READER)
