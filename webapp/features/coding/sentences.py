"""Surfaces Sort and Table of the page Code: units in lists, with the clusters beside them, and the filters.

Keys act on the selected units, or on the one that has the focus; what the browser sends names them.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.errors import DataError, ThemescopeError
from themescope.core.labelling.agreement import dispute
from themescope.core.labelling.codebook.entries import codes
from themescope.core.labelling.coding import total_sizes, with_sub_themes
from themescope.core.labelling.learning import neighbours
from themescope.core.labelling.partition import COLOURS, UNASSIGNED, combinations, has_code
from themescope.core.metrics.partition import match_clusters
from themescope.core.types import Ids
from themescope.jobs.services.labelling.agreement import names_of
from themescope.jobs.services.labelling.starts import labels_on
from themescope.jobs.services.search import holds, parsed
from themescope.webapp.features.coding import CLUSTER, NEEDS_MODEL, NO_CODE, NONE_SELECTED, ORDER, SEARCH, UNCERTAIN
from themescope.webapp.features.coding import SELECTION as SELECTION_ID
from themescope.webapp.features.coding import queries as page_queries
from themescope.webapp.features.coding.actions import actions_of, is_int
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.features.coding.toolbar import appearance, bar_data, code_list, draw
from themescope.webapp.shared import people, queries, selections, unit_list
from themescope.webapp.shared.choose import menu
from themescope.webapp.shared.compare_queries import DIFFERS_FROM_PEOPLE, SELECTION, SORT, TABLE, labellings
from themescope.webapp.shared.figures import Tones, tones
from themescope.webapp.shared.navigation import set_parameter
from themescope.webapp.shared.text import ago, count, shorten
from themescope.webapp.shared.unit_list import SCRIPTS, Units

_MAX_TEXT, _MAX_NEAR, _MAX_CONTEXT, _MAX_WHOLE, _MAX_NAME, _MAX_NOTE = 600, 150, 160, 3_000, 28, 300
_MOST_POINTS = 3_000
_WORDS = {
    "clusters": "Codes",
    "new": "+ New",
    "first": "No codes yet. Select units and press N to make a code of them, or press N and type its name.",
    "menu": "Menu of the code",
    "renaming": "Enter saves the name, Esc cancels.",
    "recolour": "Colour",
    "merge_into": "Merge into “{}”",
    "put_under": "Put under “{}”",
    "nearest": "Nearest units",
    "map": "Where they lie",
    "similar": "List all similar units",
}
_BAR = {
    "label": "Selected units",
    "selected": "{} selected",
    "move": "Move to …",
    "created": "Name of the new code",
    "naming": "Enter saves the name, Esc keeps the suggested one.",
    "clear": "Clear",
    "others": "More actions",
}


# --- Sort and Table ---------------------------------------------------------------------------------------------------


def show_sort(state: RelabelState, _: str) -> None:
    """Draw the clusters, the units of the open one, and what is known of the unit that has the focus."""
    if state.asked is not None:
        set_parameter(CLUSTER, str(state.asked))
        state.asked = None
    known = [code.cluster for code in codes(state.partition)]
    numbers = [cluster.number for cluster in known]
    wanted = int(found) if (found := str(st.session_state.get(CLUSTER, ""))).lstrip("-").isdigit() else None
    opened = wanted if wanted in (*numbers, UNASSIGNED) else (numbers or [UNASSIGNED])[0]
    state.cluster, st.session_state[CLUSTER] = opened, str(opened)  # it stays open when another one comes first
    p = state.partition
    inside = p.members(UNASSIGNED) if opened == UNASSIGNED else p.ids[has_code(p, *with_sub_themes(p, [opened]))]
    name = NO_CODE if opened == UNASSIGNED else p.clusters[opened].name
    similar = state.similar_to
    if similar is not None and state.model is not None:
        ids, name, order = _nearest(state, p.ids, similar), "Similar units", "nearest first"
    else:
        ids, order = least_certain(state, inside)
    head = {"title": name, "about": f" · {order}"} | ({} if similar is None else {"of": len(ids)})
    _draw(state, ids, f"code {opened} {similar}", head, len({*p.numbers[p.rows(ids)].tolist()}) > 1)


def show_filters(state: RelabelState) -> None:
    """Draw search and order of the table."""
    st.text_input(
        "Search",
        key=SEARCH,
        icon=":material/search:",
        placeholder='rent OR "new flats"',
        width=220,
        bind="query-params",
        label_visibility="collapsed",
    )
    menu(orders(state), ORDER, "Order")


def show_table(state: RelabelState, name: str) -> None:
    """Draw the units of a filter, with their codes."""
    state.cluster = None
    search, known = str(st.session_state.get(SEARCH) or ""), orders(state)
    order = held if (held := str(st.session_state.get(ORDER, ""))) in known else known[0]
    try:
        ids = ordered(state, in_view(state, name, search, order), order)
    except ThemescopeError as error:
        st.info(str(error), icon=":material/info:")
        return
    of = count(len(state.partition.ids), "unit").partition(" ")
    about = f" {of[2]}" if len(ids) == len(state.partition.ids) else f" of {' '.join(of[::2])}"
    _draw(state, ids, f"table {name} {search} {order}", {"title": "", "of": len(ids), "about": about}, True, search)


def least_certain(state: RelabelState, ids: Ids) -> tuple[Ids, str]:
    """Return units with the least certain ones first, and the name of the order; without a model in reading order."""
    found = state.suggestions
    if found is None:
        return _in_reading_order(state, ids), "in reading order"
    rows = state.partition.rows(ids)
    uncertain = state.partition.uncertain[rows]
    order = np.lexsort((ids, found.margin[rows], -found.pull[rows], ~uncertain))
    return ids[order], "least certain first"


def _draw(state: RelabelState, ids: Ids, name: str, head: dict[str, Any], with_codes: bool, search: str = "") -> None:
    if state.focused not in ids:
        state.focused = int(ids[min(state.focused_at, len(ids) - 1)]) if len(ids) else None
    state.focused_at = int(np.flatnonzero(ids == state.focused)[0]) if state.focused is not None else 0

    def focus(event: Mapping[str, Any]) -> None:
        if is_int(event.get("id")):
            state.focused = event["id"]

    data = panes_data(state, ids, name, head, with_codes, search)
    draw(state, "panes", data, *SCRIPTS, events={"groups": state.sent.request, "focus": focus})


def panes_data(
    state: RelabelState, ids: Ids, name: str, head: dict[str, Any], with_codes: bool, search: str = ""
) -> dict[str, Any]:
    """Return what the browser needs to draw the panes."""
    shades, p = tones(st.context.theme.type), state.partition
    was = p.numbers[p.rows(ids)].tolist()
    of = f"{state.session.snapshot.step} {state.model_id}"
    units = Units(ids, partial(_rows, state, ids, with_codes, shades), of, name, search)
    sort = state.cluster is not None
    in_bar = [
        {"kind": one.kind, "label": one.label, "key": one.key, "first": one.in_bar}
        for one in sorted(actions_of(state, TABLE), key=lambda one: not one.in_bar)
        if one.label and one.kind not in ("codebook_panel", "undo", "redo", "keys")
    ]
    return {
        **bar_data(
            state, SORT if sort else TABLE, _WORDS | ({} if sort and state.model_id is not None else {"similar": ""})
        ),
        "palette": [appearance(shades, colour) for colour in range(COLOURS)],
        "sort": sort,
        "open": state.cluster if state.similar_to is None else None,
        "focused": state.focused,
        "head": head,
        "clusters": _clusters(state, shades),
        "details": _details(state, ids) if state.focused is not None else None,
        "list": unit_list.view_data(units, state.sent)
        | {
            "ids": ids.tolist(),
            "was": was[0] if len({*was}) == 1 else was,
            "select": not state.read_only,
            "focus": state.shown if state.shown is not None else -1,
            "bar": _BAR | {"actions": in_bar},
            "empty": "No units here.",
        },
    }


def _clusters(state: RelabelState, shades: Tones) -> list[dict[str, Any]]:
    """Return the codes and what has none, with their numbers of units."""
    p, totals = state.partition, total_sizes(state.partition)
    found = [
        code
        | {
            "level": 1 if (cluster := p.clusters[code["number"]]).parent is None else 2,
            "parent": cluster.parent,
            "place": cluster.colour,
            "size": totals[cluster.number],
        }
        for code in code_list(state, shades)
    ]
    size = p.sizes()[UNASSIGNED]
    left = {"number": UNASSIGNED, "name": NO_CODE, "key": "⌫", "level": 1, "parent": None, "size": size}
    return [*found, left | appearance(shades, -1)]


def _rows(state: RelabelState, ids: Ids, with_codes: bool, shades: Tones, part: slice) -> list[dict[str, Any]]:
    texts, p, found = state.texts, state.partition, []
    shown = ids[part]
    for id, row in zip(shown.tolist(), p.rows(shown).tolist(), strict=True):
        number, place = int(p.numbers[row]), texts.row[id]
        cluster = p.clusters.get(number)
        suggested = None if state.record.blind else state.suggestion_for(row)
        note = ""
        if suggested is not None and state.suggestions is not None:
            margin = f"{max(state.suggestions.pull[row], state.suggestions.margin[row]):.2f}".lstrip("0")
            note = f"→ {shorten(p.clusters[suggested].name, _MAX_NAME)} {margin}"
        tag = {"name": cluster.name if cluster else NO_CODE} | appearance(shades, cluster.colour if cluster else -1)
        found.append(
            {
                "id": id,
                "text": shorten(" ".join(texts.sentences[place].text.split()), _MAX_TEXT),
                "mark": ("?" if p.uncertain[row] else "") + ("✎" if id in p.notes else ""),
                "note": note,
                "tag": tag if with_codes else None,
            }
        )
    return found


def _details(state: RelabelState, ids: Ids) -> dict[str, Any]:
    """Return what is known of the unit that has the focus; blind work shows its text and its own notes only."""
    id = state.focused
    assert id is not None
    texts, p, blind = state.texts, state.partition, state.record.blind
    place, row = texts.row[id], int(p.rows([id])[0])
    shown = page_queries.unit_texts(state, np.array([id]))[id]
    number = int(p.numbers[row])
    facts = [shown["about"]] if shown["about"] else []
    if texts.several_sections and not blind:
        facts.append(texts.sections[place])
    if number != UNASSIGNED and not blind:
        of = state.record.id, state.record.members, state.session.snapshot.step
        (by,) = page_queries.made_by(p, *of, p.ids[[row]])
        facts.append(f"{p.clusters[number].name}, by {by}")
    if note := p.notes.get(id):
        facts.append(f"Note: {shorten(note, _MAX_NOTE)}")
    steps = queries.read(lambda r: r.label_steps.of_sentence(state.record.id, id))
    if steps:
        last = f"the last by {people.shown(steps[-1].person)} {ago(steps[-1].when)}"
        facts.append(f"{count(len(steps), 'change')}, {last}")
    nearest, x = [], None if blind else state.vectors
    if x is not None:
        for other in neighbours(x, row, 5).tolist():
            near, cluster = int(p.ids[other]), p.clusters.get(int(p.numbers[other]))
            text = shorten(texts.sentences[texts.row[near]].text, _MAX_NEAR)
            nearest.append({"id": near, "text": text, "cluster": cluster.name if cluster else NO_CODE})
    return {
        **shown,
        "id": id,
        "cluster": number,
        "facts": facts,
        "nearest": nearest,
        "map": None if blind or state.cluster is None else _small_map(state, ids, row),
    }


def _small_map(state: RelabelState, ids: Ids, row: int) -> dict[str, Any] | None:
    """Return where all units lie, those of the list, and one of them, in two bytes each; None without coordinates."""
    p = state.partition
    points = page_queries.small_map(state)
    if points is None:
        return None
    every = points[:: max(-(-len(points) // _MOST_POINTS), 1)]
    own = points[p.rows(ids)]
    own = own[:: max(-(-len(own) // _MOST_POINTS), 1)]
    cluster = p.clusters.get(UNASSIGNED if state.cluster is None else state.cluster)
    shade = appearance(tones(st.context.theme.type), cluster.colour if cluster else -1)["colour"]
    encoded = [base64.b64encode(part.tobytes()).decode() for part in (every, own)]
    return {"points": encoded[0], "own": encoded[1], "colour": shade, "at": points[row].tolist()}


# --- filters ----------------------------------------------------------------------------------------------------------


ALL = "All units"
DIFFERS_FROM_MODEL = "Differs from model"
DIFFERS_FROM_SECTIONS = "Differs from sections"
SUGGESTED = "Suggested: "
"""Beginning of the name of the filter of the units for which a code is suggested."""
IN_ORDER, LEAST_CERTAIN, BY_CODE, MEANING = "In order", "Least certain first", "By code", "By meaning of the search"


def _in_reading_order(state: RelabelState, ids: Ids) -> Ids:
    return state.texts.ids[np.isin(state.texts.ids, ids)]


def _differs_from_model(state: RelabelState) -> Ids:
    """Return the sentences that the model would assign elsewhere, the most confident suggestions first."""
    found = state.suggestions
    return NONE_SELECTED if found is None else found.against(state.partition)


def _differs_from_sections(state: RelabelState) -> Ids:
    """Return sentences outside the section that matches their cluster; with a model, its confident cases first."""
    texts = state.texts
    keys = texts.sections if texts.several_articles else [f"{s.article_id} {s.section}" for s in texts.sentences]
    sections = np.unique(keys, return_inverse=True)[1].astype(np.int32)
    labels = state.partition.numbers[state.partition.rows(texts.ids)].astype(np.int32)
    assigned = np.flatnonzero(labels != UNASSIGNED)
    moved = texts.ids[assigned[match_clusters(sections[assigned], labels[assigned]).moved]]
    found = state.suggestions
    if found is None:
        return moved
    pull = found.pull[state.partition.rows(moved)]
    return moved[np.argsort(-pull, kind="stable")]


def _differs_from_people(state: RelabelState) -> Ids:
    """Return sentences that other labellings of the same text assign elsewhere, the most disputed first.

    Codes are compared by name, other clusters after they were matched; ties are in the order of the model's confidence.
    """
    ids, record = state.partition.ids, state.record
    others = [x.id for x in labellings(record.corpus_id) if x.article_id == record.article_id and x.id != record.id]
    if not others:
        return NONE_SELECTED
    partitions = [state.partition, *queries.read(lambda r: [r.labellings.snapshot(id).partition for id in others])]
    votes, names = [labels_on(one, ids) for one in partitions], [names_of(one) for one in partitions]
    differ = dispute(votes, names, [combinations(one) for one in partitions])
    found = state.suggestions
    pull = found.pull if found is not None else np.zeros(len(ids))
    order = np.lexsort((ids, -pull, -differ))
    return ids[order[differ[order] > 0]]


def _suggested(state: RelabelState, code: str) -> Ids:
    """Return units without a code for which the model suggests it, the clearest ones first."""
    found, p = state.suggestions, state.partition
    if found is None:
        return NONE_SELECTED
    numbers = [number for number, cluster in p.clusters.items() if cluster.name == code]
    rows = np.flatnonzero(np.isin(found.best, numbers) & (found.best != p.numbers))
    return p.ids[rows[np.argsort(-found.margin[rows], kind="stable")]]


def _in_selection(state: RelabelState) -> Ids:
    found = selections.from_address(SELECTION_ID)
    return NONE_SELECTED if found is None else _in_reading_order(state, found.ids)


FILTERS: dict[str, Callable[[RelabelState], Ids]] = {
    ALL: lambda state: _in_reading_order(state, state.partition.ids),
    NO_CODE: lambda state: _in_reading_order(state, state.partition.members(UNASSIGNED)),
    UNCERTAIN: lambda state: _in_reading_order(state, state.partition.ids[state.partition.uncertain]),
    "With a note": lambda state: _in_reading_order(state, np.array(sorted(state.partition.notes), dtype=np.int64)),
    DIFFERS_FROM_MODEL: _differs_from_model,
    DIFFERS_FROM_SECTIONS: _differs_from_sections,
    DIFFERS_FROM_PEOPLE: _differs_from_people,
    SELECTION: _in_selection,
}


def filters(state: RelabelState) -> list[str]:
    """Return the names of the filters; in blind mode only those that reveal nobody else's opinion, nor a model's.

    That of a selection is offered where the address names one.
    """
    hidden = {DIFFERS_FROM_MODEL, DIFFERS_FROM_SECTIONS, DIFFERS_FROM_PEOPLE} if state.record.blind else set()
    if SELECTION_ID not in st.query_params:
        hidden.add(SELECTION)
    offered = [name for name in FILTERS if name not in hidden]
    if state.record.blind or (found := state.suggestions) is None:
        return offered
    best = {*found.best[found.best != state.partition.numbers].tolist()}
    named = [code.cluster.name for code in codes(state.partition) if code.cluster.number in best]
    return [*offered, *(f"{SUGGESTED}{name}" for name in named)]


def orders(state: RelabelState) -> list[str]:
    """Return the names of the orders; two of them need a model."""
    return [IN_ORDER, BY_CODE, *([LEAST_CERTAIN, MEANING] if state.model_id is not None else [])]


def in_view(state: RelabelState, name: str, search: str = "", order: str = IN_ORDER) -> Ids:
    """Return the ids of the units of a filter that a search looks for, or the nearest ones by its meaning.

    Raises ``ThemescopeError`` if the model cannot search.
    """
    if name.startswith(SUGGESTED) and not state.record.blind:
        found = _suggested(state, name.removeprefix(SUGGESTED))
    else:
        found = FILTERS[name if name in FILTERS else ALL](state)
    if not search.strip():
        return found
    return _nearest(state, found, search.strip()) if order == MEANING else _with_words(state, found, search)


def ordered(state: RelabelState, ids: Ids, order: str) -> Ids:
    """Return units in an order of the table."""
    if order == LEAST_CERTAIN:
        return least_certain(state, ids)[0]
    if order == BY_CODE:
        place = {code.cluster.number: place for place, code in enumerate(codes(state.partition))}
        numbers = state.partition.numbers[state.partition.rows(ids)].tolist()
        return ids[np.argsort([place.get(number, len(place)) for number in numbers], kind="stable")]
    return ids


def _with_words(state: RelabelState, ids: Ids, search: str) -> Ids:
    texts, query = state.texts, parsed(search)
    return ids[np.array([holds(texts.sentences[texts.row[i]].text, query) for i in ids.tolist()], bool)]


def _nearest(state: RelabelState, ids: Ids, query: str | int) -> Ids:
    cosines = state.similarities(query)
    if cosines is None:
        raise DataError(NEEDS_MODEL)
    return ids[np.argsort(-cosines[state.partition.rows(ids)], kind="stable")[:50]]
