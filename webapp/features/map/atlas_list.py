"""What stands beside a map: the sentences that were selected or found, what they have in common, and their files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from core.clustering.naming import theme_words
from core.types import Ids
from jobs.services.table_files import csv_text, json_lines
from webapp.features.map import map_files
from webapp.map_view import map_scene, mapping
from webapp.map_view.colourings import Colouring
from webapp.map_view.map_choice import Choice
from webapp.map_view.map_scene import Scene
from webapp.map_view.map_search import Found
from webapp.map_view.mapping import Rows
from webapp.shared.navigation import page_link
from webapp.shared.text import count, plain

SENTENCES, COMMON = "Sentences", "Sections and words"
_TABLE_ROWS = 500
_WORDS, _SAMPLE = 12, 2_000
_SHARES = 12


@dataclass(frozen=True, slots=True)
class Panel:
    """Everything that the list needs to know."""

    scene: Scene
    colouring: Colouring
    choice: Choice
    found: Found
    searched: bool
    height: int
    moved: npt.NDArray[np.float64] | None = None
    """(n,) how far each sentence lies from its place on the other map, where two are shown."""
    alike: Callable[[int], None] = lambda sentence: None
    """Searches for sentences like the one with this id."""


def show(panel: Panel) -> None:
    """The head with its files, the table, and the details of one sentence."""
    rows, said, extra = _listed(panel)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{said}**", width="stretch")
        if len(panel.choice.ids):
            st.button("Clear", icon=":material/close:", on_click=panel.choice.clear, help="Select nothing.")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        part = st.segmented_control(
            "What to show", [SENTENCES, COMMON], default=SENTENCES, required=True, key="list", bind="query-params",
            label_visibility="collapsed", width="stretch",
        )  # fmt: skip
        with st.popover("Save", icon=":material/download:"):
            _files(panel, rows)
    if not len(rows):
        st.info("No sentence here. Draw around points on the map, or search for something else.")
    elif part == COMMON:
        _common(panel, rows)
    else:
        _table(panel, rows, extra)
    _details(panel)


def _listed(panel: Panel) -> tuple[Rows, str, dict[str, Any]]:
    """The rows to list, what they are called, and columns of their own."""
    chosen, found = panel.choice.rows(panel.scene), panel.found
    if len(panel.choice.ids) and panel.searched:
        inside = np.isin(found.rows, chosen)
        rows = found.rows[inside]
        return rows, f"{count(len(rows), 'sentence')} found among {len(chosen):,} selected", _scores(found, inside)
    if len(panel.choice.ids):
        return _ordered(panel, chosen), f"{count(len(chosen), 'sentence')} selected", {}
    if panel.searched:
        return found.rows, f"{count(len(found.rows), 'sentence')} found", _scores(found, np.ones(len(found.rows), bool))
    everything = np.arange(len(panel.scene.ids))
    if panel.moved is not None:
        return _ordered(panel, everything), "The sentences that moved most", {}
    return _ordered(panel, everything), "All sentences in view", {}


def _ordered(panel: Panel, rows: Rows) -> Rows:
    """What moved most first; without a second map, what has the lowest number, as where a model errs most."""
    values = panel.colouring.values if panel.moved is None else -panel.moved
    return rows if values is None else rows[np.argsort(values[rows], kind="stable")]


def _scores(found: Found, keep: npt.NDArray[np.bool_]) -> dict[str, Any]:
    return {} if found.cosines is None else {"Likeness": found.cosines[keep]}


def _files(panel: Panel, rows: Rows) -> None:
    for label, ending, mime, made in _FILES:
        st.download_button(
            label,
            data=_maker(made, panel, rows),
            file_name=f"themescope-map.{ending}",
            mime=mime,
            icon=":material/download:",
            on_click="ignore",
            help=f"These {len(rows):,} sentences as a file.",
        )


_FILES: tuple[tuple[str, str, str, Callable[..., str]], ...] = (
    ("CSV", "csv", "text/csv", csv_text),
    ("JSONL", "jsonl", "application/jsonl", json_lines),
)


def _maker(made: Callable[..., str], panel: Panel, rows: Rows) -> Callable[[], str]:
    """What a download button calls when it is pressed, and not before."""
    return lambda: made(map_files.HEADER, map_files.table(panel.scene, panel.colouring, rows))


# ---------------------------------------------------------------- the table


_COLUMNS = {
    "Sentence": st.column_config.TextColumn(width=225),
    "Section": st.column_config.TextColumn(width=98),
    "Article": st.column_config.TextColumn(width=98),
    "Likeness": st.column_config.NumberColumn(format="%.3f", width=70, help="Cosine of the two vectors, at most 1."),
    "Moved": st.column_config.NumberColumn(
        format="%.2f", width=65, help="Distance between its places on the two maps, in spreads of the first map."
    ),
}


def _table(panel: Panel, rows: Rows, extra: dict[str, Any]) -> None:
    """The sentences, a click on a row shows its details."""
    listed = rows[:_TABLE_ROWS]
    frame = _frame(panel, listed, {name: values[:_TABLE_ROWS] for name, values in extra.items()})
    key = f"rows-{mapping.digest(panel.scene.ids[listed])}"
    with st.container(height=panel.height, border=False, key="map-list"):  # grows with the screen: style.css
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
        st.caption(f"The first {len(listed):,} of {len(rows):,}; the files have all of them.")


def _choose(panel: Panel, ids: Ids, key: str) -> None:
    chosen = st.session_state[key]["selection"]["cells"]
    panel.choice.sentence = int(ids[chosen[0][0]]) if chosen else -1


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


# ---------------------------------------------------------------- what sentences have in common


def _common(panel: Panel, rows: Rows) -> None:
    """Words that tell these sentences from the others, and the sections and articles they come from."""
    words = _telling_words(mapping.digest(panel.scene.ids[rows]), mapping.digest(panel.scene.ids), panel.scene, rows)
    if words:
        st.markdown("Telling words: " + " · ".join(f"**{plain(word)}**" for word in words))
    st.caption(
        "Words that are frequent here and rare elsewhere on the map (class-based tf-idf)"
        + (f", over {_SAMPLE:,} sentences of each at most." if len(panel.scene.ids) > _SAMPLE else ".")
        if words
        else "Everything is selected, so no word tells it from the rest."
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
        format="percent", min_value=0, max_value=1, width=95, help="Part of the sentences listed."
    ),
    "On the map": st.column_config.NumberColumn(format="percent", width=95, help="Part of all sentences in view."),
}


@st.cache_data(show_spinner="Comparing words …", max_entries=16)
def _telling_words(selection: str, whole: str, _scene: Scene, _rows: Rows) -> tuple[str, ...]:
    """Class-based tf-idf of the selection against the rest of the map; nothing where there is no rest."""
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
    """The chosen sentence in full, where it stands, and what leads on from it."""
    rows = panel.scene.rows_of(np.array([panel.choice.sentence]))
    if not len(rows):
        st.caption("Click a point or a row to read the sentence in full and to find others like it.")
        return
    row = int(rows[0])
    (sentence,) = map_scene.texts(panel.scene, rows)
    with st.container(border=True, gap="small", key="sentence-details"):
        st.text(sentence.text)
        head = f"{plain(panel.scene.article(row))} · {plain(panel.scene.section(row))}"
        st.caption(f"{head} · {plain(panel.colouring.name(row))}" if panel.colouring.column else head)
        with st.container(horizontal=True):
            st.button(
                "Find alike", icon=":material/join_inner:", on_click=panel.alike, args=(sentence.id,), shortcut="A",
                help="The sentences whose vectors are nearest to this one's, listed and marked on the map.",
            )  # fmt: skip
            page_link(
                "corpora",
                "Read the article",
                icon=":material/menu_book:",
                view={"article": panel.scene.article(row)},
            )
