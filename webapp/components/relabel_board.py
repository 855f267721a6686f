"""The columns: one a cluster, its sentences below its name; click, drag, and change names and colours in place."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from core.labelling import operations as op
from core.labelling.partition import COLOURS, UNASSIGNED
from core.types import Ids
from webapp.components.relabel_bar import window
from webapp.components.text import shorten
from webapp.palette import tones
from webapp.relabelling import Bench

_ASSETS = Path(__file__).parents[1] / "assets"
_IN_COLUMN = 150
_LETTERS = 700
_HEIGHT = 560
HOW = "in the columns"


@cache
def _source(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def show(bench: Bench, ids: Ids) -> None:
    """Draw the sentences ``ids`` in their columns."""
    draw = st.components.v2.component(
        "themescope_board", html='<div class="board"></div>', css=_source("board.css"), js=_source("board.js")
    )
    key = f"board-{bench.record.id}"

    def told(name: str) -> Any:
        value = (st.session_state.get(key) or {}).get(name)
        return value if isinstance(value, dict) else {}

    draw(
        data=board_data(bench, ids),
        key=key,
        on_picked_change=lambda: picked(bench, told("picked")),
        on_moved_change=lambda: moved(bench, told("moved")),
        on_renamed_change=lambda: renamed(bench, told("renamed")),
        on_recoloured_change=lambda: recoloured(bench, told("recoloured")),
    )


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
                "colour": shades.colour(cluster.colour) if cluster else "",
                "shape": shades.symbol(cluster.colour) if cluster else "",
                "digit": digits.get(number, ""),
                "count": f"{whole:,}" if len(inside) == whole else f"{len(inside):,} of {whole:,}",
                "empty": "Nothing in view." if whole else "Empty: drag sentences here.",
                "more": f"{more:,} more; search, or use the table" if more > 0 else "",
                "sentences": [_sentence(bench, int(i)) for i in inside[:_IN_COLUMN]],
            }
        )
    return {
        "columns": columns,
        "selected": bench.selected.tolist(),
        "heard": bench.heard,
        "height": _HEIGHT,
        "palette": [{"colour": shades.colour(c), "shape": shades.symbol(c)} for c in range(COLOURS)],
        "words": {"rename": "Rename", "recolour": "Another colour"},
        "frozen": False,
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


# ---------------------------------------------------------------- what comes up


def picked(bench: Bench, event: dict[str, Any]) -> None:
    """Take over what is selected in the columns."""
    ids, number = event.get("ids"), event.get("number")
    if isinstance(ids, list) and isinstance(number, int):
        bench.heard = max(bench.heard, number)
        bench.select(_whole(ids), HOW)


def moved(bench: Bench, event: dict[str, Any]) -> None:
    """Sentences were dragged to another column."""
    ids, to = event.get("ids"), event.get("to")
    if not isinstance(ids, list) or not isinstance(to, int):
        return
    bench.select(_whole(ids), "dragged")
    bench.act(lambda p: op.unassign(p, bench.chosen) if to == UNASSIGNED else op.assign(p, bench.chosen, to))


def renamed(bench: Bench, event: dict[str, Any]) -> None:
    """A cluster has got another name where it stands."""
    number, name = event.get("number"), event.get("name")
    if isinstance(number, int) and isinstance(name, str):
        bench.act(lambda p: op.rename(p, number, name), keep=True)


def recoloured(bench: Bench, event: dict[str, Any]) -> None:
    """A cluster has got another colour."""
    number, colour = event.get("number"), event.get("colour")
    if isinstance(number, int) and isinstance(colour, int):
        bench.act(lambda p: op.recolour(p, number, colour), keep=True)


def _whole(values: list[Any]) -> Ids:
    return np.array([v for v in values if isinstance(v, int) and not isinstance(v, bool)], dtype=np.int64)
