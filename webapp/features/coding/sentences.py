"""Sentences in view of the page Code: filters and search, and the layouts Columns and Map.

On the map, what the filter or the search leaves out is grey, so that the distribution of what was found is seen.
Colours are those of the clusters, or of the themes. A lasso is one of the toolbar's actions, so that a key that is
pressed right after it applies to the new selection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.errors import DataError
from themescope.core.labelling.agreement import dispute
from themescope.core.labelling.code_sets import combinations, has_code
from themescope.core.labelling.hierarchy import at_theme_level, in_order, with_sub_themes
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.metrics.matching import match_clusters
from themescope.core.types import Ids, Points
from themescope.jobs.services.labelling.agreement import names_of
from themescope.jobs.services.labelling.starts import labels_on
from themescope.jobs.services.selections import NO_THEME, SelectedSentences
from themescope.webapp.features.coding import NEEDS_MODEL, NONE_SELECTED, UNCERTAIN, PlottedMap, Queue
from themescope.webapp.features.coding import SELECTION as SELECTION_ID
from themescope.webapp.features.coding import queries as page_queries
from themescope.webapp.features.coding.actions import clusters_with_keys
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.features.coding.toolbar import ASSETS, SCRIPTS, WORDS, appearance, palette
from themescope.webapp.map_view import component, geometry
from themescope.webapp.map_view.component import Canvas
from themescope.webapp.map_view.geometry import Grid
from themescope.webapp.map_view.scene import MAX_CATEGORIES, Colouring, MapState, Scene
from themescope.webapp.shared import queries, unit_list
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.results.compare_queries import DIFFERS_FROM_PEOPLE, SELECTION
from themescope.webapp.shared.selections import selections
from themescope.webapp.shared.text import count, plain, shorten

_HEIGHT = 350
_KEPT_MAPS = 4
_MOST_OTHERS = 50_000
_NO_POINTS: Points = np.empty((0, 2), dtype=np.float32)
QUICK = "Quick map (principal components)"


def show_map(state: RelabelState, ids: Ids) -> None:
    """Draw the sentences ``ids``; the points inside a lasso become the selection."""
    placed = _coordinates(state)
    if placed is None:
        nothing(
            "No map yet.",
            "Choose a model under “Suggestions from”, or draw a map of this corpus on the Map page.",
            "map",
            "Open Map",
        )
        return
    known, points = placed
    here = np.isin(known, ids)
    others = points[np.isin(known, state.partition.ids) & ~here]
    canvas = canvas_of(state, known[here], points[here], others)
    colouring = canvas.colouring
    state.plotted[canvas.digest] = PlottedMap(
        canvas.scene.ids, canvas.units, colouring.categories, len(colouring.names)
    )
    while len(state.plotted) > _KEPT_MAPS:
        del state.plotted[next(iter(state.plotted))]
    left, right = st.columns([5, 4])
    with left:
        component.points(canvas)
        _view(state, canvas)
    with right:
        if not len(state.selected):
            st.caption("Lasso or click points to read their sentences here.")
        else:
            st.markdown(f"**{plain(count(len(state.selected), 'sentence'))} selected**")
            found = sentences_of(state, state.selected)
            units = unit_list.of_sentences(found, np.arange(len(found.ids)))
            only = int(state.selected[0]) if len(state.selected) == 1 else -1
            unit_list.show(units, f"code_map_list_{state.record.id}", _HEIGHT, only)


def sentences_of(state: RelabelState, ids: Ids) -> SelectedSentences:
    """Return sentences with their clusters in place of themes; blind work shows no sections."""
    texts, p = state.texts, state.partition
    rows = np.array(sorted(texts.row[int(i)] for i in ids), dtype=np.intp)
    numbers = p.numbers[p.rows(texts.ids[rows])]
    clusters = np.array(sorted(p.clusters), dtype=np.int64)
    titles = {"": 0} if state.record.blind else {title: i for i, title in enumerate(dict.fromkeys(texts.sections))}
    chosen = [texts.sentences[row] for row in rows.tolist()]
    return SelectedSentences(
        texts.ids[rows],
        np.array([s.article_id for s in chosen], dtype=np.int64),
        np.array([s.position for s in chosen], dtype=np.int64),
        np.array([titles.get(texts.sections[row], 0) for row in rows.tolist()], dtype=np.int32),
        list(titles),
        {texts.sentences[row].article_id: texts.articles[row] for row in rows.tolist()},
        np.where(np.isin(numbers, clusters), np.searchsorted(clusters, numbers), NO_THEME).astype(np.int32),
        [p.clusters[number].name for number in clusters.tolist()],
    )


@st.fragment
def _view(state: RelabelState, canvas: Canvas) -> None:
    """Draw the map; hovering reruns this fragment only."""
    choice: MapState = st.session_state.setdefault(
        f"code_map_choice_{state.record.id}_{state.browser_session}", MapState()
    )
    choice.ids = state.selected
    component.view(canvas, choice)


def _coordinates(state: RelabelState) -> tuple[Ids, Points] | None:
    """Return ids and (n, 2) coordinates from a stored map that has all sentences, else from a quick map."""
    record = state.record
    maps = {m.name: m for m in page_queries.maps_with(record.corpus_id, state.partition.ids)}
    model = state.model
    options = [*maps, *([QUICK] if model else [])]
    if not options:
        return None
    with st.container(horizontal=True, vertical_alignment="center"):
        chosen = st.selectbox("Map", options, key=f"code_map_{record.id}", label_visibility="collapsed")
        if any(cluster.parent is not None for cluster in state.partition.clusters.values()):
            st.toggle("Colour by theme", key=f"code_level_{record.id}")
    if chosen in maps:
        found = queries.map_points(maps[chosen].id)
        return found.sentence_ids, found.points
    assert model is not None
    points = page_queries.quick_map(model.id, model.digest, record.id, record.members)
    return state.partition.ids, points


def canvas_of(state: RelabelState, ids: Ids, points: Points, others: Points = _NO_POINTS) -> Canvas:
    """Return the drawing of (n,) sentences at (n, 2) coordinates, coloured by cluster, and (m, 2) grey points.

    Where there are more clusters than colours, the smallest share one.
    """
    colouring, grid = _colouring(state, ids), Grid.around(np.concatenate([points, others]))
    context = grid.units(others)
    frame = geometry.frame_of(np.concatenate([grid.units(points), context]))
    texts, p = state.texts, state.partition
    sentences = [texts.sentences[texts.row[int(i)]] for i in ids]
    titles = [c.name for c in p.clusters.values()] + ["unassigned"]
    row_of: dict[int, int] = {number: row for row, number in enumerate(p.clusters)} | {UNASSIGNED: len(titles) - 1}
    owners: Any = [s.article_id for s in sentences]
    scene = Scene(
        ids,
        points,
        grid.units(points),
        np.array(owners, dtype=np.int64),
        np.array([s.position for s in sentences], dtype=np.int64),
        np.array([row_of[int(n)] for n in p.numbers[p.rows(ids)]], dtype=np.int32),
        [shorten(title, 60) for title in titles],
        queries.articles_by_id(np.unique(owners)),
        grid,
    )
    return component.canvas_of(
        scene,
        colouring,
        frame=frame,
        context=context[:: max(-(-len(context) // _MOST_OTHERS), 1)],
        opacity=0.85,
        height=_HEIGHT,
        name=f"relabel-{state.record.id}",
        texts=lambda rows: [texts.sentences[texts.row[int(i)]].text for i in ids[rows]],
        action_queue=True,
    )


def _colouring(state: RelabelState, ids: Ids) -> Colouring:
    p = state.partition
    if st.session_state.get(f"code_level_{state.record.id}"):
        p = at_theme_level(p)
    sizes = p.sizes()
    kept = sorted(sorted(p.clusters, key=lambda n: -sizes[n])[:MAX_CATEGORIES])
    category_of = {number: category for category, number in enumerate(kept)}
    numbers = p.numbers[p.rows(ids)]
    categories = np.array([category_of.get(int(n), -1) for n in numbers], dtype=np.int64)
    rest = len(p.clusters) - len(kept)
    other = f"{count(rest, 'smaller cluster')} and unassigned" if rest else "unassigned"
    return Colouring(categories, [p.clusters[n].name for n in kept], other, [p.clusters[n].colour for n in kept])


# --- columns ----------------------------------------------------------------------------------------------------------


_MAX_IN_COLUMN, _MIN_IN_COLUMN, _MAX_TOGETHER = 600, 6, 1_800
"""Bounds on the sentences of one column, and about how many all columns show together."""
_MAX_TEXT, _MAX_NOTE, _MAX_SUGGESTION = 700, 120, 40


def show_columns(state: RelabelState, ids: Ids) -> None:
    """Draw the sentences ``ids`` in columns. What is done there arrives with the actions of the toolbar."""
    state.views = ("columns",)
    data, key = columns_data(state, ids), f"code_columns_{state.record.id}"
    draw_component("columns", ASSETS, *SCRIPTS, data=data, key=key)


def columns_data(state: RelabelState, ids: Ids) -> dict[str, Any]:
    """Return what the browser needs to draw the columns: texts and colours, a few hundred sentences per column."""
    shades = tones(st.context.theme.type)
    columns = _columns(state, ids)
    if "task" in state.record.origin:  # codes stay where they are from item to item
        columns.sort(key=lambda column: column["number"] != UNASSIGNED)
    elif len(ids) < len(state.partition.ids):  # with a filter or a search, empty columns come last
        columns.sort(key=lambda column: not column["sentences"])
    return {
        "columns": columns,
        "selected": state.selected.tolist(),
        "session": state.browser_session,
        "acknowledged": state.acknowledged,
        "turn": state.turn,
        "heading": state.heading,
        "palette": palette(shades),
        "words": WORDS,
    }


def _columns(state: RelabelState, ids: Ids) -> list[dict[str, Any]]:
    shades = tones(st.context.theme.type)
    rows = state.partition.rows(ids)
    numbers = state.partition.numbers[rows]
    digits = {cluster.number: str(digit) for digit, cluster in enumerate(clusters_with_keys(state), 1)}
    sizes, in_view = state.partition.sizes(), len(np.unique(numbers))
    # Fewer sentences where there are many columns with some; a filter or a search leaves fewer columns.
    limit = max(_MIN_IN_COLUMN, min(_MAX_IN_COLUMN, _MAX_TOGETHER // max(in_view, 1)))
    columns = []
    clusters = state.partition.clusters
    together = [number for number in sorted(combinations(state.partition)) if sizes[number]]
    for number in (*(cluster.number for cluster in in_order(state.partition)), *together, UNASSIGNED):
        inside = np.flatnonzero(numbers == number)
        cluster = clusters.get(number)
        only_above = cluster is not None and not sizes[number] and bool(state.partition.children(number))
        unused = cluster is None and not len(inside) and "task" not in state.record.origin
        if unused or only_above:
            continue
        theme = clusters[cluster.parent].name if cluster is not None and cluster.parent is not None else ""
        size, hidden = sizes[number], len(inside) - limit
        columns.append(
            {
                "number": number,
                "name": cluster.name if cluster else "Unassigned",
                "theme": theme,
                **appearance(shades, cluster.colour if cluster else -1),
                "digit": digits.get(number, ""),
                "count": f"{size:,}" if len(inside) == size else f"{len(inside):,} of {size:,}",
                "empty": "Nothing in view." if size else "Empty. Drag sentences here.",
                "more": f"{hidden:,} more: choose fewer clusters, filter or search" if hidden > 0 else "",
                "sentences": [_sentence(state, int(ids[i]), int(rows[i])) for i in inside[:limit]],
            }
        )
    return columns


def _sentence(state: RelabelState, sentence: int, row: int) -> dict[str, Any]:
    texts = state.texts
    place = texts.row[sentence]
    number = None if state.record.blind else state.suggestion_for(row)
    return {
        "id": sentence,
        "text": shorten(texts.sentences[place].text, _MAX_TEXT),
        "article": texts.articles[place] if texts.several_articles else "",
        "mark": "?" if state.partition.uncertain[row] else "",
        "note": shorten(state.partition.notes.get(sentence, ""), _MAX_NOTE),
        "suggestion": f"→ {shorten(state.partition.clusters[number].name, _MAX_SUGGESTION)}"
        if number is not None
        else "",
    }


# --- filters ----------------------------------------------------------------------------------------------------------


ALL = "All sentences"
DIFFERS_FROM_MODEL = "Differs from model"
DIFFERS_FROM_SECTIONS = "Differs from sections"
CHOSEN = "Chosen clusters"
SUBSTRING, MEANING = "substring", "meaning"
MATCHES = (SUBSTRING, MEANING)
TOP_K = 50
"""Sentences that a search by meaning shows."""


def _in_reading_order(state: RelabelState, ids: Ids) -> Ids:
    found: Ids = state.texts.ids[np.isin(state.texts.ids, ids)]
    return found


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
    ordered: Ids = moved[np.argsort(-pull, kind="stable")]
    return ordered


def _differs_from_people(state: RelabelState) -> Ids:
    """Return sentences that other labellings of the same text assign elsewhere, the most disputed first.

    Codes are compared by name, other clusters after they were matched; ties are in the order of the model's confidence.
    """
    ids = state.partition.ids
    partitions = [state.partition, *(partition for _, partition in page_queries.other_labellings(state.record))]
    if len(partitions) < 2:
        return NONE_SELECTED
    votes, names = [labels_on(one, ids) for one in partitions], [names_of(one) for one in partitions]
    differ = dispute(votes, names, [combinations(one) for one in partitions])
    found = state.suggestions
    pull = found.pull if found is not None else np.zeros(len(ids))
    order = np.lexsort((ids, -pull, -differ))
    kept: Ids = ids[order[differ[order] > 0]]
    return kept


def _in_selection(state: RelabelState) -> Ids:
    found = selections.from_address(SELECTION_ID)
    return NONE_SELECTED if found is None else _in_reading_order(state, found.ids)


def _chosen_clusters(state: RelabelState) -> Ids:
    numbers = with_sub_themes(state.partition, state.clusters.numbers)
    return _in_reading_order(state, state.partition.ids[has_code(state.partition, *numbers)])


FILTERS: dict[str, Callable[[RelabelState], Ids]] = {
    ALL: lambda state: _in_reading_order(state, state.partition.ids),
    "Unassigned": lambda state: _in_reading_order(state, state.partition.members(UNASSIGNED)),
    UNCERTAIN: lambda state: _in_reading_order(state, state.partition.ids[state.partition.uncertain]),
    "With a note": lambda state: _in_reading_order(state, np.array(sorted(state.partition.notes), dtype=np.int64)),
    CHOSEN: _chosen_clusters,
    DIFFERS_FROM_MODEL: _differs_from_model,
    DIFFERS_FROM_SECTIONS: _differs_from_sections,
    DIFFERS_FROM_PEOPLE: _differs_from_people,
    SELECTION: _in_selection,
}
_HIDDEN_WHEN_BLIND = {DIFFERS_FROM_MODEL, DIFFERS_FROM_SECTIONS, DIFFERS_FROM_PEOPLE}


def filters(state: RelabelState) -> list[str]:
    """Return the names of the filters; in blind mode only those that reveal nobody else's opinion.

    That of a selection is offered where the address names one.
    """
    hidden = set(_HIDDEN_WHEN_BLIND) if state.record.blind else set()
    if SELECTION_ID not in st.query_params:
        hidden.add(SELECTION)
    return [name for name in FILTERS if name not in hidden]


def in_view(state: RelabelState, name: str, search: str = "", match: str = SUBSTRING) -> Ids:
    """Return the ids of the sentences in view, in order; search by meaning and neighbours come nearest first.

    Also sets the queue that the keys for next and previous step through.

    Raises
    ------
    ThemescopeError
        If the model cannot search.
    """
    found = FILTERS[name](state)
    state.queue = None if name == ALL else Queue(f"queue “{name}”", found)
    if search.strip():
        found = _nearest(state, found, search.strip()) if match == MEANING else _with_substring(state, found, search)
    if state.similar_to is not None:
        found = _nearest(state, found, state.similar_to)
    return found


def _with_substring(state: RelabelState, ids: Ids, search: str) -> Ids:
    texts, wanted = state.texts, search.strip().casefold()
    hits = [wanted in texts.sentences[texts.row[int(i)]].text.casefold() for i in ids]
    kept: Ids = ids[np.array(hits, dtype=bool)]
    return kept


def _nearest(state: RelabelState, ids: Ids, query: str | int) -> Ids:
    cosines = state.similarities(query)
    if cosines is None:
        raise DataError(NEEDS_MODEL)
    here = cosines[state.partition.rows(ids)]
    kept: Ids = ids[np.argsort(-here, kind="stable")[:TOP_K]]
    return kept
