"""The columns: one a cluster, its sentences below its name; click, drag, and change names and colours in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core.labelling.partition import UNASSIGNED
from core.types import Ids
from webapp.features.relabel.actions import window
from webapp.features.relabel.state import Bench
from webapp.features.relabel.toolbar import WORDS, looks, palette, source
from webapp.shared.palette import tones
from webapp.shared.text import shorten

_IN_COLUMN, _LEAST, _TOGETHER = 150, 6, 1_800
"""Sentences that a column shows at most and at least, and about how many all columns show together."""
_LETTERS = 700
_HEIGHT = 290
"""Pixels that a column has at least; on a high screen it is higher."""


def show(bench: Bench, ids: Ids) -> None:
    """Draw the sentences ``ids`` in their columns. What is done there comes through the bar's outbox."""
    draw = st.components.v2.component(
        "themescope_board",
        html='<div class="board"></div>',
        css=source("columns.css"),
        js=source("action_queue.js", "cluster_editor.js", "columns.js"),
    )
    draw(data=board_data(bench, ids), key=f"board-{bench.record.id}")


def board_data(bench: Bench, ids: Ids) -> dict[str, Any]:
    """What goes down: words, colours and at most a few hundred sentences a column."""
    shades = tones(st.context.theme.type)
    places = bench.partition.rows(ids)
    numbers = bench.partition.numbers[places]
    digits = {cluster.number: str(digit) for digit, cluster in enumerate(window(bench), 1)}
    sizes, most = bench.partition.sizes(), _most(len(bench.partition.clusters))
    columns = []
    for number in (*sorted(bench.partition.clusters), UNASSIGNED):
        inside = np.flatnonzero(numbers == number)
        cluster = bench.partition.clusters.get(number)
        if cluster is None and not len(inside):
            continue
        whole, more = sizes[number], len(inside) - most
        columns.append(
            {
                "number": number,
                "name": cluster.name if cluster else "Unassigned",
                **looks(shades, cluster.colour if cluster else -1),
                "digit": digits.get(number, ""),
                "count": f"{whole:,}" if len(inside) == whole else f"{len(inside):,} of {whole:,}",
                "empty": "Nothing in view." if whole else "Empty: drag sentences here.",
                "more": f"{more:,} more; search, or use the table" if more > 0 else "",
                "sentences": [_sentence(bench, int(ids[i]), int(places[i])) for i in inside[:most]],
            }
        )
    if len(ids) < len(bench.partition.ids):  # what a filter or a search leaves empty comes last
        columns.sort(key=lambda column: not column["sentences"])
    return {
        "columns": columns,
        "selected": bench.selected.tolist(),
        "session": bench.session,
        "heard": bench.heard,
        "height": _HEIGHT,
        "palette": palette(shades),
        "words": WORDS,
    }


def _most(columns: int) -> int:
    """How many sentences a column shows: fewer, where there are very many columns."""
    return max(_LEAST, min(_IN_COLUMN, _TOGETHER // max(columns, 1)))


def _sentence(bench: Bench, sentence: int, place: int) -> dict[str, Any]:
    texts = bench.texts
    row = texts.row[sentence]
    number = None if bench.record.blind else bench.suggested(place)
    return {
        "id": sentence,
        "text": shorten(texts.sentences[row].text, _LETTERS),
        "about": texts.articles[row] if texts.several else "",
        "mark": "?" if bench.partition.uncertain[place] else "",
        "note": shorten(bench.partition.notes.get(sentence, ""), 120),
        "hint": f"→ {shorten(bench.partition.clusters[number].name, 40)}" if number is not None else "",
    }
