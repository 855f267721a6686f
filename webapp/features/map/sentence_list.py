"""The list beside the map: selected or found sentences, what they have in common, and their download."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from core.clustering.naming import theme_words
from core.types import Ids
from jobs.services.table_files import csv_text, json_lines
from webapp.features.map import export, state
from webapp.features.map.search import Found
from webapp.map_view import geometry
from webapp.map_view import scene as map_scene
from webapp.map_view.geometry import Rows
from webapp.map_view.scene import Colouring, Scene
from webapp.map_view.view_state import MapState
from webapp.shared.components import download
from webapp.shared.navigation import page_link
from webapp.shared.text import count, plain

_TABLE_ROWS = 500
_WORDS, _SAMPLE = 12, 2_000


@dataclass(frozen=True, slots=True)
class Panel:
    """Input of the list."""

    scene: Scene
    colouring: Colouring
    state: MapState
    found: Found
    height: int
    moved: npt.NDArray[np.float64] | None = None
    """(n,) distance of each sentence between both maps, if two are shown."""
    find_similar: Callable[[int], None] = lambda sentence: None
    """Searches for the neighbours of the sentence with this id."""


def show(panel: Panel) -> None:
    """Draw heading, table and the details of one sentence."""
    rows, heading, extra = _listed(panel)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{heading}**", width="stretch")
        if len(panel.state.ids):
            st.button("Clear selection", icon=":material/close:", on_click=panel.state.clear)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        part = st.segmented_control(
            "List", [state.SENTENCES, state.SECTIONS], default=state.SENTENCES, required=True, key=state.LIST,
            bind="query-params",
            label_visibility="collapsed", width="stretch",
        )  # fmt: skip
        with st.popover("Export", icon=":material/download:"):
            _files(panel, rows)
    if not len(rows):
        st.info("No sentences. Lasso points on the map, or change the search.")
    elif part == state.SECTIONS:
        _common(panel, rows)
    else:
        _table(panel, rows, extra)
    _details(panel)


def _listed(panel: Panel) -> tuple[Rows, str, dict[str, Any]]:
    """Return the rows to list, their heading, and further columns."""
    chosen, found = panel.state.rows(panel.scene), panel.found
    if len(panel.state.ids) and panel.found.searched:
        inside = np.isin(found.rows, chosen)
        rows = found.rows[inside]
        return rows, f"{count(len(rows), 'sentence')} found among {len(chosen):,} selected", _scores(found, inside)
    if len(panel.state.ids):
        return _ordered(panel, chosen), f"{count(len(chosen), 'sentence')} selected", {}
    if panel.found.searched:
        return found.rows, f"{count(len(found.rows), 'sentence')} found", _scores(found, np.ones(len(found.rows), bool))
    everything = np.arange(len(panel.scene.ids))
    if panel.moved is not None:
        return _ordered(panel, everything), "Sentences that moved most", {}
    return _ordered(panel, everything), "All sentences shown", {}


def _ordered(panel: Panel, rows: Rows) -> Rows:
    """Sort by distance moved, largest first; without a second map, by the value of the colouring, lowest first."""
    values = panel.colouring.values if panel.moved is None else -panel.moved
    return rows if values is None else rows[np.argsort(values[rows], kind="stable")]


def _scores(found: Found, keep: npt.NDArray[np.bool_]) -> dict[str, Any]:
    return {} if found.cosines is None else {"Similarity": found.cosines[keep]}


def _files(panel: Panel, rows: Rows) -> None:
    def content(write: Callable[..., str]) -> str:
        return write(export.HEADER, export.table(panel.scene, panel.colouring, rows))

    for label, suffix, write in (("CSV", "csv", csv_text), ("JSONL", "jsonl", json_lines)):
        help = f"Download these {len(rows):,} sentences."
        download(label, partial(content, write), f"themescope-map.{suffix}", help=help)


# ---------------------------------------------------------------- the table


_COLUMNS = {
    "Sentence": st.column_config.TextColumn(width=270),
    "Section": st.column_config.TextColumn(width=98),
    "Article": st.column_config.TextColumn(width=98),
    "Similarity": st.column_config.NumberColumn(format="%.3f", width=72, help="Cosine similarity, at most 1."),
    "Moved": st.column_config.NumberColumn(
        format="%.2f", width=65, help="Distance between both positions, in standard deviations of the first map."
    ),
}


def _table(panel: Panel, rows: Rows, extra: dict[str, Any]) -> None:
    """Draw the sentences; a click on a row shows its details."""
    listed = rows[:_TABLE_ROWS]
    frame = _frame(panel, listed, {name: values[:_TABLE_ROWS] for name, values in extra.items()})
    key = f"{state.ROWS}_{geometry.digest(panel.scene.ids[listed])}"
    with st.container(height=panel.height, border=False, key=state.TABLE):  # its height follows the screen: style.css
        st.dataframe(
            frame,
            hide_index=True,
            height="stretch",
            column_config=_COLUMNS,
            key=key,
            on_select=lambda: _choose(panel, panel.scene.ids[listed], key),
            selection_mode="single-cell",
        )
    if len(rows) > len(listed):
        st.caption(f"Showing {len(listed):,} of {len(rows):,}; export for all.")


def _choose(panel: Panel, ids: Ids, key: str) -> None:
    chosen = st.session_state[key]["selection"]["cells"]
    panel.state.sentence = int(ids[chosen[0][0]]) if chosen else -1


def _frame(panel: Panel, rows: Rows, extra: dict[str, Any]) -> pd.DataFrame:
    scene, colouring = panel.scene, panel.colouring
    columns: dict[str, Any] = dict(extra)
    if panel.moved is not None:
        columns["Moved"] = panel.moved[rows]
    columns["Sentence"] = [s.text for s in map_scene.texts(scene, rows)]
    if colouring.column:
        columns[colouring.column] = (
            [colouring.name(row) for row in rows] if colouring.values is None else colouring.values[rows]
        )
    columns["Section"] = [scene.section(row) for row in rows]
    columns["Article"] = [scene.article(row) for row in rows]
    return pd.DataFrame(columns)


# ---------------------------------------------------------------- sections and words


def _common(panel: Panel, rows: Rows) -> None:
    """Draw the distinctive words of these sentences, and their sections and articles."""
    words = distinctive_words(
        geometry.digest(panel.scene.ids[rows]), geometry.digest(panel.scene.ids), panel.scene, rows
    )
    if words:
        st.markdown("Distinctive words: " + " · ".join(f"**{plain(word)}**" for word in words))
    st.caption(
        "Frequent here and rare elsewhere on the map (class-based tf-idf)"
        + (f", from at most {_SAMPLE:,} sentences of each part." if len(panel.scene.ids) > _SAMPLE else ".")
        if words
        else "All sentences are selected, so no word is distinctive."
    )
    titles = [title or map_scene.LEAD for title in panel.scene.titles]
    left, right = st.tabs(["Sections", "Articles"])
    with left:
        _shares("Section", panel.scene.sections, titles, rows, panel.height - 110)
    with right:
        ids, codes = np.unique(panel.scene.articles, return_inverse=True)
        _shares("Article", codes, [panel.scene.known[int(i)].title for i in ids], rows, panel.height - 110)


def _shares(head: str, codes: npt.NDArray[np.integer], names: list[str], rows: Rows, height: int) -> None:
    here, all_ = np.bincount(codes[rows], minlength=len(names)), np.bincount(codes, minlength=len(names))
    order = np.argsort(-here, kind="stable")
    order = order[here[order] > 0]
    frame = pd.DataFrame(
        {
            head: [names[i] for i in order[:_TABLE_ROWS]],
            "Here": here[order[:_TABLE_ROWS]],
            "Share": here[order[:_TABLE_ROWS]] / len(rows),
            "On the map": all_[order[:_TABLE_ROWS]] / len(codes),
        }
    )
    st.dataframe(frame, hide_index=True, height=max(height, 160), column_config=_SHARE_COLUMNS)


_SHARE_COLUMNS = {
    "Section": st.column_config.TextColumn(width=130),
    "Article": st.column_config.TextColumn(width=130),
    "Here": st.column_config.NumberColumn(format="localized", width=60),
    "Share": st.column_config.ProgressColumn(
        format="percent", min_value=0, max_value=1, width=95, help="Share of the listed sentences."
    ),
    "On the map": st.column_config.NumberColumn(format="percent", width=95, help="Share of all sentences shown."),
}


@st.cache_data(show_spinner="Comparing words …", max_entries=16)
def distinctive_words(selection: str, whole: str, _scene: Scene, _rows: Rows) -> tuple[str, ...]:
    """Return words by class-based tf-idf of the selection against the rest of the map; none without a rest."""
    rest = np.setdiff1d(np.arange(len(_scene.ids)), _rows)
    if not len(rest):
        return ()
    rng = np.random.default_rng(0)
    parts = [np.sort(rng.permutation(part)[:_SAMPLE]) for part in (_rows, rest)]
    texts = [sentence.text for sentence in map_scene.texts(_scene, np.concatenate(parts))]
    labels = np.repeat(np.array([0, 1], dtype=np.int32), [len(part) for part in parts])
    return theme_words(texts, labels, 2, _WORDS)[0]


# ---------------------------------------------------------------- one sentence


def _details(panel: Panel) -> None:
    """Draw the chosen sentence in full, with its article and actions."""
    rows = panel.scene.rows_of(np.array([panel.state.sentence]))
    if not len(rows):
        st.caption("Click a point or a row to read the sentence and find similar ones.")
        return
    row = int(rows[0])
    (sentence,) = map_scene.texts(panel.scene, rows)
    with st.container(border=True, gap="small", key=state.DETAILS):
        st.text(sentence.text)
        head = f"{plain(panel.scene.article(row))} · {plain(panel.scene.section(row))}"
        st.caption(f"{head} · {plain(panel.colouring.name(row))}" if panel.colouring.column else head)
        with st.container(horizontal=True):
            st.button(
                "Find similar", icon=":material/join_inner:", shortcut="A", on_click=panel.find_similar,
                args=(sentence.id,),
                help="Lists the nearest neighbours of this sentence and rings them on the map.",
            )  # fmt: skip
            page_link(
                "corpora", "Read the article", icon=":material/menu_book:", view={"article": panel.scene.article(row)}
            )
