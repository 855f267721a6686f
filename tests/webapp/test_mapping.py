"""What a map shows and what is chosen on it. The id of a point survives any colouring, filter and sampling."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
from hypothesis import given
from hypothesis import strategies as st

from webapp.map_view import mapping
from webapp.shared.figures import MapView, map_figure
from webapp.shared.palette import THEMES


def categories_of(keys: list[str], keep_order: bool = False) -> tuple[np.ndarray, list[str]]:
    titles, codes = np.unique(np.array(keys, dtype=object), return_inverse=True)
    found, chosen = mapping.categories(codes, titles.tolist(), keep_order)
    return found, [titles[code] for code in chosen]


def view_of(ids: list[int], keys: list[str], marked: list[int], selected: list[int] | None) -> MapView:
    categories, names = categories_of(keys)
    return MapView(
        ids=np.array(ids, dtype=np.int64),
        points=np.column_stack([np.array(ids) * 2.0, np.array(ids) * -3.0]).astype(np.float32),
        categories=categories,
        names=names,
        hover=[f"hover {i}" for i in ids],
        marked=np.array(marked, dtype=np.int64),
        selected=None if selected is None else np.array(selected, dtype=np.int64),
    )


def event_for(figure: go.Figure, inside: set[int]) -> dict[str, object]:
    """The event that the browser would send for a lasso around the points with these ids."""
    points = [
        {"curve_number": c, "point_index": i, "customdata": int(trace.customdata[i])}
        for c, trace in enumerate(figure.data)
        for i in range(len(trace.x))
        if round(float(trace.x[i]) / 2) in inside
    ]
    return {"selection": {"points": points, "point_indices": [p["point_index"] for p in points]}}


@given(
    st.lists(st.integers(0, 500), unique=True, min_size=1, max_size=120),
    st.integers(1, 40),
    st.sets(st.integers(0, 500), max_size=30),
    st.data(),
)
def test_a_lasso_finds_exactly_the_sentences_inside(
    ids: list[int], groups: int, marked: set[int], data: st.DataObject
) -> None:
    keys = [f"section {i % groups}" for i in ids]
    inside = set(data.draw(st.lists(st.sampled_from(ids), unique=True)))
    figure = map_figure(view_of(ids, keys, sorted(marked), None), THEMES["light"])
    chosen = mapping.selected_ids(event_for(figure, inside))
    assert chosen.tolist() == sorted(inside)


@given(st.lists(st.integers(0, 300), unique=True, min_size=1, max_size=80), st.integers(1, 30), st.data())
def test_a_selection_is_drawn_back_on_the_same_sentences(ids: list[int], groups: int, data: st.DataObject) -> None:
    selected = data.draw(st.lists(st.sampled_from(ids), unique=True))
    figure = map_figure(view_of(ids, [str(i % groups) for i in ids], [], selected), THEMES["dark"])
    drawn = [int(trace.customdata[i]) for trace in figure.data for i in trace.selectedpoints]
    assert sorted(drawn) == sorted(selected)


def test_every_point_carries_its_own_text_and_place() -> None:
    figure = map_figure(view_of([5, 3, 9, 4], ["b", "a", "b", "c"], [], None), THEMES["light"])
    seen = {}
    for trace in figure.data:
        for i in range(len(trace.x)):
            seen[int(trace.customdata[i])] = (trace.hovertext[i], float(trace.x[i]), float(trace.y[i]))
    assert seen == {i: (f"hover {i}", i * 2.0, i * -3.0) for i in (5, 3, 9, 4)}


def test_an_event_may_be_missing_empty_or_hold_lists() -> None:
    assert mapping.selected_ids(None).tolist() == []
    assert mapping.selected_ids({"selection": {"points": []}}).tolist() == []
    points = [{"customdata": [7]}, {"customdata": 7}, {"customdata": 2}, {"x": 1}]
    assert mapping.selected_ids({"selection": {"points": points}}).tolist() == [2, 7]


def test_rare_categories_become_other_and_sections_keep_their_order() -> None:
    keys = [f"s{i}" for i in range(mapping.LIMIT + 5) for _ in range(2)] + ["rare"]
    found, names = categories_of(keys)
    assert len(names) == mapping.LIMIT
    assert found[-1] == -1
    _, ordered = categories_of(["Late", "Early", "Early"], keep_order=True)
    assert ordered == ["Late", "Early"]


@given(st.lists(st.text(max_size=3), unique=True, max_size=20), st.lists(st.text(max_size=3), unique=True, max_size=20))
def test_a_name_keeps_its_colour_and_no_two_share_one(names: list[str], known: list[str]) -> None:
    colours = mapping.lasting_colours(names, known)
    assert len(set(colours)) == len(names)
    assert all(colour == known.index(name) for name, colour in zip(names, colours, strict=True) if name in known)


def test_labels_are_matched_by_sentence_not_by_place() -> None:
    labels = {1: np.array([2, 0], dtype=np.int32), 9: np.array([1], dtype=np.int32)}
    items = {1: np.array([40, 30]), 2: np.array([50]), 9: np.array([7])}
    assert mapping.cluster_of(labels, items) == {40: 2, 30: 0, 7: 1}


def test_hover_text_is_data() -> None:
    shown = mapping.hover_text("<b>A</b>", "", "<a href='x'>y</a> & " + "z" * 500, 80)
    assert "<a" not in shown
    assert "&lt;a href" in shown
    assert "Introduction" in shown
    assert shown.count("<b>") == 1


@given(st.lists(st.text("abc", min_size=1, max_size=30), max_size=12), st.integers(1, 20))
def test_lines_of_a_hover_label_hold_every_letter(words: list[str], width: int) -> None:
    lines = mapping.wrapped(" ".join(words), width)
    assert "".join(lines).replace(" ", "") == "".join(words)
    assert all(0 < len(line) <= width for line in lines)


@given(st.lists(st.integers(0, 60), max_size=300))
def test_the_most_frequent_have_a_category_of_their_own(codes: list[int]) -> None:
    names = [f"n{code:02}" for code in range(61)]
    found, chosen = mapping.categories(np.array(codes, dtype=np.int64), names)
    wanted = sorted(set(codes), key=lambda code: (-codes.count(code), code))[: mapping.LIMIT]
    assert chosen == wanted
    assert found.tolist() == [wanted.index(code) if code in wanted else -1 for code in codes]


@given(st.lists(st.one_of(st.just(np.nan), st.integers(-3, 3).map(float)), max_size=60), st.integers(1, 5))
def test_ranges_are_ordered_and_hold_every_value(values: list[float], parts: int) -> None:
    found, ends = mapping.ranges(np.array(values), parts)
    assert len(ends) <= parts
    assert all(low <= high for low, high in ends)
    assert all(a[1] < b[0] for a, b in pairwise(ends))
    for value, place in zip(values, found.tolist(), strict=True):
        assert place == -1 if np.isnan(value) else ends[place][0] <= value <= ends[place][1]


@given(st.lists(st.integers(0, 50), unique=True, max_size=30), st.lists(st.integers(0, 50), max_size=30))
def test_rows_of_ids_stand_in_the_order_they_are_asked_for(among: list[int], wanted: list[int]) -> None:
    found = mapping.rows_of(np.array(among, np.int64), np.array(wanted, np.int64))
    assert found.tolist() == [among.index(i) for i in wanted if i in among]
