"""The bar: what one can do to the selection, a key for each thing; whether all is saved; who else is here."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from core.errors import StoreError
from core.labelling.partition import COLOURS
from webapp.features.relabel.actions import DEEDS, NINE, TURN, Deed, current, hear, window
from webapp.features.relabel.state import Bench
from webapp.shared import label_queries, people, queries
from webapp.shared.palette import Tones, tones
from webapp.shared.text import ago, count, plain, shorten

_ASSETS = Path(__file__).parent / "assets"
_POLL_S = 5.0
_GROUPS = {"steps": "Steps", "selection": "The selection", "queue": "What to look at next", "clusters": "Clusters"}
WORDS = {
    "saving": "saving …",
    "late": "not saved yet: the server does not answer. It is kept here and sent again.",
    "lost": "The connection was away. Look whether what you did last is here, and do it again if not.",
    "keys": "Keys",
    "hint": "Keys do nothing while you type in a field. In the columns: click to select, Shift-click for a range, drag "
    "to another column, click a name or a colour to change it. Esc or a click closes this list.",
    "editing": "Enter keeps the name, Esc leaves it. A click on a colour takes it at once.",
    "rename": "Rename",
    "recolour": "Another colour",
}


@cache
def source(*names: str) -> str:
    """Files of the browser's side, one after the other."""
    return "\n".join((_ASSETS / name).read_text(encoding="utf-8") for name in names)


def show(bench: Bench) -> None:
    """Status, the selection and what to do with it, and who else is here."""
    draw = st.components.v2.component(
        "themescope_relabel_bar",
        html='<div class="bar"></div>',
        css=source("toolbar.css"),
        js=source("action_queue.js", "cluster_editor.js", "toolbar.js"),
    )
    key = f"bar-{bench.record.id}"
    with st.container(border=True, key="label-bar"):
        draw(
            data=bar_data(bench),
            key=key,
            on_deeds_change=lambda: hear(bench, (st.session_state.get(key) or {}).get("deeds")),
        )
    bench.notice = ""
    _people(bench)


def bar_data(bench: Bench) -> dict[str, Any]:
    """What goes down."""
    shades, chosen = tones(st.context.theme.type), window(bench)
    total = len(bench.partition.clusters)
    deeds = [deed for deed in DEEDS if not (deed.seeing and bench.record.blind)]
    if total > NINE:
        deeds.append(TURN)
    sizes, named = bench.partition.sizes(), current(bench)
    return {
        "session": bench.session,
        "heard": bench.heard,
        "status": {"words": status_words(bench), "state": "failed" if bench.unsaved or bench.conflict else "saved"},
        "notice": bench.notice,
        "words": WORDS,
        "heading": heading(bench),
        "clusters": [
            {"number": c.number, "name": c.name, "count": f"{sizes[c.number]:,}", "digit": str(digit)}
            | looks(shades, c.colour)
            for digit, c in enumerate(chosen, 1)
        ],
        "groups": [
            {"title": title, "deeds": [_button(bench, deed) for deed in deeds if deed.group == group]}
            for group, title in _GROUPS.items()
            if any(deed.group == group for deed in deeds)
        ],
        "keys": [("1 … 9", "put the selection into that cluster"), *((deed.key, deed.told) for deed in deeds)],
        "current": {"number": named.number, "name": named.name} if named else None,
        "palette": palette(shades),
    }


def heading(bench: Bench) -> str:
    """What is selected; where there is no cluster to put it into, how one comes about."""
    if bench.partition.clusters:
        return f"{bench.describe()} → put into" if len(bench.selected) else "Nothing selected"
    if len(bench.selected):
        return f"{bench.describe()}: N makes a cluster of it"
    return "No cluster yet. Select sentences and press N, or let G find clusters."


def looks(shades: Tones, colour: int) -> dict[str, str]:
    """Colour and shape of a place in the palette."""
    return {"colour": shades.colour(colour), "shape": shades.symbol(colour)}


def palette(shades: Tones) -> list[dict[str, str]]:
    """Every place of it."""
    return [looks(shades, colour) for colour in range(COLOURS)]


def _button(bench: Bench, deed: Deed) -> dict[str, Any]:
    clusters, selected = len(bench.partition.clusters), bool(len(bench.selected))
    standing = bench.desk.standing
    able = {
        "undo": bool(standing.undoable),
        "redo": bool(standing.redoable),
        "merge": clusters > 1,
        "split": clusters > 0,
        "delete": clusters > 0,
        "name": current(bench) is not None,
        **dict.fromkeys(("unassign", "uncertain", "certain", "note", "accept", "none", "alike"), selected),
    }
    return {
        "name": deed.name,
        "key": deed.key,
        "label": deed.label,
        "told": deed.told[:1].upper() + deed.told[1:],
        "idle": not able.get(deed.name, True),
        "switch": deed.name == "twins",
        "on": deed.name == "twins" and bench.twins,
    }


def status_words(bench: Bench) -> str:
    """Whether everything that was done is in the store."""
    if bench.conflict is not None:
        return "not saved: somebody was first"
    if bench.unsaved is not None:
        return "not saved"
    if bench.saved is None:
        steps = bench.desk.steps
        return f"all saved · last change {ago(steps[-1].when)}" if steps else "all saved"
    return f"saved · {shorten(bench.said, 80)}"


@st.fragment(run_every=_POLL_S)
def _people(bench: Bench) -> None:
    """Says every few seconds that this person is here, and who else is; offers what others did."""
    try:
        with queries.store().writing() as w:
            w.people.beat(bench.record.id, bench.desk.person, bench.session)
    except StoreError as error:
        st.warning(plain(error), icon=":material/delete:")
        return
    others = [p.person for p in label_queries.here(bench.record.id) if p.person != bench.desk.person]
    with st.container(horizontal=True, vertical_alignment="center", width="content"):
        if others and not bench.record.blind:
            st.markdown(f":material/group: {' · '.join(people.shown(name) for name in others)} also here")
        waiting = label_queries.steps_after(bench.record.id, bench.desk.shown.step)
        if waiting and st.button(f"Show {count(waiting, 'new change')}", icon=":material/refresh:", type="tertiary"):
            st.rerun()
