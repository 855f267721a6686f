"""The columns: one a cluster, its sentences below its name; click, drag, and change names and colours in place."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.labelling.partition import UNASSIGNED
from core.types import Ids
from webapp.components.relabel_bar import WORDS, looks, palette, source
from webapp.components.relabel_deeds import window
from webapp.components.text import shorten
from webapp.palette import tones
from webapp.relabelling import Bench

_IN_COLUMN = 150
_LETTERS = 700
_HEIGHT = 290
"""Pixels that a column has at least; on a high screen it is higher."""


def show(bench: Bench, ids: Ids) -> None:
    """Draw the sentences ``ids`` in their columns. What is done there comes through the bar's outbox."""
    draw = st.components.v2.component(
        "themescope_board",
        html='<div class="board"></div>',
        css=source("board.css"),
        js=source("outbox.js", "naming.js", "board.js"),
    )
    draw(data=board_data(bench, ids), key=f"board-{bench.record.id}")


def board_data(bench: Bench, ids: Ids) -> dict[str, Any]:
    """What goes down: words, colours and at most a few hundred sentences a column."""
    shades = tones(st.context.theme.type)
    numbers = bench.partition.numbers[bench.partition.rows(ids)]
    digits = {cluster.number: str(digit) for digit, cluster in enumerate(window(bench), 1)}
    columns = []
    for number in (*sorted(bench.partition.clusters), UNASSIGNED):
        inside = ids[numbers == number]
        cluster = bench.partition.clusters.get(number)
        if cluster is None and not len(inside):
            continue
        whole, more = bench.partition.sizes()[number], len(inside) - _IN_COLUMN
        columns.append(
            {
                "number": number,
                "name": cluster.name if cluster else "Unassigned",
                **looks(shades, cluster.colour if cluster else -1),
                "digit": digits.get(number, ""),
                "count": f"{whole:,}" if len(inside) == whole else f"{len(inside):,} of {whole:,}",
                "empty": "Nothing in view." if whole else "Empty: drag sentences here.",
                "more": f"{more:,} more; search, or use the table" if more > 0 else "",
                "sentences": [_sentence(bench, int(i)) for i in inside[:_IN_COLUMN]],
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


def _sentence(bench: Bench, sentence: int) -> dict[str, Any]:
    texts = bench.texts
    row = texts.row[sentence]
    place = int(bench.partition.rows([sentence])[0])
    number = None if bench.record.blind else bench.suggestion(sentence)
    return {
        "id": sentence,
        "text": shorten(texts.sentences[row].text, _LETTERS),
        "about": texts.articles[row] if texts.several else "",
        "mark": "?" if bench.partition.uncertain[place] else "",
        "note": shorten(bench.partition.notes.get(sentence, ""), 120),
        "hint": f"→ {shorten(bench.partition.clusters[number].name, 40)}" if number is not None else "",
    }
