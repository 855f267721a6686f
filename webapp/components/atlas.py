"""The map: sentences as points, a lasso, and exactly the sentences that lie inside it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from core.clusterers import REGISTRY as CLUSTERERS
from core.records import CorpusRecord, MapRecord, RunRecord
from core.sheets.writing import csv_text
from core.types import Ids, Points, Sentence
from webapp import mapping, queries
from webapp.components.choose import by_name
from webapp.components.text import count, plain
from webapp.figures import MapView, map_figure
from webapp.palette import tones

_WHOLE = "the whole map"
_TABLE_ROWS = 2_000
_LONG_HOVER, _SHORT_HOVER, _MANY = 260, 110, 5_000
_HEIGHT = 520
_LEAD = "Introduction"


@dataclass(frozen=True, slots=True)
class Scene:
    """The points in view with everything known about each; row i of every part is one sentence."""

    ids: Ids
    points: Points
    sentences: list[Sentence]
    articles: list[str]
    sections: list[str]
    hover: list[str]

    def only(self, keep: npt.NDArray[np.bool_]) -> Scene:
        """The rows where ``keep`` is true."""
        rows = np.flatnonzero(keep)
        return Scene(
            self.ids[rows],
            self.points[rows],
            [self.sentences[i] for i in rows],
            [self.articles[i] for i in rows],
            [self.sections[i] for i in rows],
            [self.hover[i] for i in rows],
        )

    def keys(self, by: str) -> list[str]:
        """The article (``by`` "article") or the section title of every sentence."""
        return self.articles if by == "article" else [s or _LEAD for s in self.sections]


@dataclass(frozen=True, slots=True)
class Colouring:
    """The category of each point, the categories' names, and what the rest is called."""

    categories: npt.NDArray[np.int64]
    names: list[str]
    other: str
    colours: Sequence[int] = ()
    """Place of each category in the palette; empty: 0, 1, 2, …"""
    clusters: bool = False
    """True for the clusters of a run, which the table cannot say otherwise."""

    def name(self, row: int) -> str:
        """The category of one row in words."""
        return self.names[self.categories[row]] if self.categories[row] >= 0 else self.other


def show(corpus: CorpusRecord, record: MapRecord) -> None:
    """Controls, map, and the table of what is selected: side by side on a wide screen."""
    whole = _scene(record.digest, record)
    first, second, third, fourth = st.columns([4, 4, 4, 2], vertical_alignment="bottom")
    with first:
        article = _article_choice(whole)
    view = whole if article == _WHOLE else whole.only(np.array([a == article for a in whole.articles]))
    with second:
        colouring = _colouring(view, whole, corpus, single=article != _WHOLE)
    query = third.text_input(
        "Mark sentences with", key="mark", bind="query-params", placeholder="a word", icon=":material/search:"
    )
    with fourth.popover("Look", icon=":material/palette:", width="stretch"):
        size = st.slider("Size of points", 2.0, 14.0, 4.0 if len(view.ids) > 2_000 else 8.0, 0.5)
        opacity = st.slider("Opacity", 0.1, 1.0, 0.75, 0.05)
    marked = view.ids[mapping.matching([s.text for s in view.sentences], query)]
    with st.container(horizontal=True, key="linked", gap="medium"):
        with st.container():
            chosen = _draw(record, view, colouring, marked, (size, opacity))
            _honesty(record, whole, view, marked, query)
        with st.container():
            _table(view, colouring, chosen, record)


@st.cache_resource(show_spinner="Opening the map …", max_entries=4)
def _scene(digest: str, _record: MapRecord) -> Scene:
    """The scene of a map, made once: its digest names its content, and nobody changes it."""
    return scene(_record)


def scene(record: MapRecord) -> Scene:
    """Everything on a map."""
    placed = queries.map_points(record.id)
    known = queries.sentences(placed.sentence_ids)
    names = queries.headings(sorted({s.article_id for s in known.values()}))
    rows = np.array([int(i) in known for i in placed.sentence_ids], dtype=bool)
    ids = placed.sentence_ids[rows]
    texts = [known[int(i)] for i in ids]
    articles = [names[s.article_id][0] for s in texts]
    sections = [names[s.article_id][1][s.section] for s in texts]
    letters = _SHORT_HOVER if len(ids) > _MANY else _LONG_HOVER
    hover = [mapping.hover_text(a, s, t.text, letters) for a, s, t in zip(articles, sections, texts, strict=True)]
    return Scene(ids, placed.points[rows], texts, articles, sections, hover)


def _article_choice(whole: Scene) -> str:
    options = [_WHOLE, *sorted(set(whole.articles))]
    if st.session_state.get("article") not in options:
        st.session_state.pop("article", None)
    return st.selectbox("Show", options, key="article", bind="query-params")


def _colouring(view: Scene, whole: Scene, corpus: CorpusRecord, single: bool) -> Colouring:
    """Colours by section or article, or by the clusters of a run where one article is in view."""
    runs = _runs(view, corpus) if single else {}
    options = ["section", *(["article"] if not single else []), *runs]
    if st.session_state.get("colour") not in options:
        st.session_state.pop("colour", None)
    by = st.selectbox(
        "Colour by",
        options,
        key="colour",
        bind="query-params",
        format_func=lambda option: option if option in runs else option.capitalize(),
        help="Clusters are made inside each article: choose one article to colour by them.",
    )
    if by in runs:
        return clusters(view, runs[by])
    found, names = mapping.categories(view.keys(by), keep_order=single)
    everywhere = names if view is whole else mapping.categories(whole.keys(by))[1]
    return Colouring(found, names, f"other {by}s", mapping.lasting_colours(names, everywhere))


def _runs(view: Scene, corpus: CorpusRecord) -> dict[str, RunRecord]:
    """Clusterings that hold labels for the article in view, newest of each kind, by a readable name."""
    models = {m.id: m.name for m in queries.models()}
    article_id = view.sentences[0].article_id if view.sentences else -1
    found: dict[str, RunRecord] = {}
    for benchmark in queries.benchmarks(corpus.id):
        for run in queries.clusterings(benchmark.id):
            title = CLUSTERERS.get(run.clusterer).title if run.clusterer in CLUSTERERS else run.clusterer
            name = f"{title} of {models.get(run.model_id or -1, 'no model')}"
            if name not in found and article_id in queries.labels(run.id, run.digest):
                found[name] = run
    return found


def clusters(view: Scene, run: RunRecord) -> Colouring:
    """The clusters of a run, numbered from 1; sentences that it did not see are "not clustered"."""
    assert run.benchmark_id is not None
    items = queries.benchmark_sentences(run.benchmark_id, run.digest)
    label = mapping.cluster_of(queries.labels(run.id, run.digest), items)
    found = np.array([label.get(int(i), -1) for i in view.ids], dtype=np.int64)
    names = [f"Cluster {k + 1}" for k in range(int(found.max(initial=-1)) + 1)]
    return Colouring(found, names, "not clustered", clusters=True)


def _draw(record: MapRecord, view: Scene, colouring: Colouring, marked: Ids, look: tuple[float, float]) -> Ids:
    """The chart; returns the selection. It survives recolouring and filters because it is kept here, by id."""
    store = f"selection-{record.digest}"
    state: dict[str, Any] = st.session_state.setdefault(store, {"ids": np.empty(0, dtype=np.int64), "by": "", "n": 0})
    theme = st.context.theme.type
    drawn = (view.ids.tobytes(), colouring.categories.tobytes(), marked.tobytes(), str((look, theme)).encode())
    signature = hashlib.sha256(b"|".join(drawn)).hexdigest()[:16]
    key = f"map-{signature}-{state['n']}"
    if key in st.session_state and state["by"] != key:
        _keep(state, key)
    figure = map_figure(
        MapView(
            ids=view.ids,
            points=view.points,
            categories=colouring.categories,
            names=colouring.names,
            other=colouring.other,
            hover=view.hover,
            colours=colouring.colours,
            size=look[0],
            opacity=look[1],
            marked=marked,
            selected=state["ids"] if len(state["ids"]) and state["by"] != key else None,
        ),
        tones(theme),
    )
    figure.update_layout(height=_HEIGHT)
    st.plotly_chart(
        figure,
        key=key,
        on_select=lambda: _keep(state, key),
        selection_mode=("points", "box", "lasso"),
        config={"displaylogo": False, "scrollZoom": True, "modeBarButtonsToRemove": ["toImage"]},
    )
    return state["ids"]


def _keep(state: dict[str, Any], key: str) -> None:
    state["ids"] = mapping.selected_ids(st.session_state.get(key))
    state["by"] = key


def _honesty(record: MapRecord, whole: Scene, view: Scene, marked: Ids, query: str) -> None:
    """What the map leaves out, and how far it may be believed."""
    parts = [f"{count(len(view.ids), 'sentence')} in view."]
    if record.sampled_from > len(whole.ids):
        parts.append(
            f"This map is a sample of {len(whole.ids):,} out of {record.sampled_from:,} sentences, "
            f"drawn with seed {record.seed}."
        )
    parts.append(
        f"Faithfulness: {record.faithfulness:.0%} of the 15 nearest neighbours that a sentence has among the vectors "
        "are also near it on the map; distances between far groups mean little."
    )
    if query.strip():
        parts.append(f"{count(len(marked), 'sentence')} marked.")
    st.caption(plain(" ".join(parts)))


def _table(view: Scene, colouring: Colouring, chosen: Ids, record: MapRecord) -> None:
    """The sentences of the selection; without one, those in view."""
    rows = np.flatnonzero(np.isin(view.ids, chosen)) if len(chosen) else np.arange(len(view.ids))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{count(len(rows), 'sentence')} selected**" if len(chosen) else "**All sentences in view**")
        if len(chosen):
            st.button("Clear selection", icon=":material/close:", on_click=_clear, args=(record,))
        else:
            st.caption("Draw around points with the lasso to see only those.")
        st.space("stretch")
        st.download_button(
            "CSV",
            data=lambda: export(view, colouring, rows),
            file_name="themescope-map.csv",
            mime="text/csv",
            icon=":material/download:",
            on_click="ignore",
        )
    listed = rows[:_TABLE_ROWS]
    st.dataframe(_frame(view, colouring, listed), hide_index=True, height=_HEIGHT - 60, column_config=_COLUMNS)
    if len(rows) > len(listed):
        st.caption(f"The first {len(listed):,} of {len(rows):,}; the CSV has all of them.")


_COLUMNS = {
    "Sentence": st.column_config.TextColumn(width=390),
    "Section": st.column_config.TextColumn(width=140),
    "Article": st.column_config.TextColumn(width=130),
}


def _frame(view: Scene, colouring: Colouring, rows: Sequence[int] | npt.NDArray[np.intp]) -> pd.DataFrame:
    columns = {
        "Sentence": [view.sentences[i].text for i in rows],
        "Section": [view.sections[i] or _LEAD for i in rows],
        "Article": [view.articles[i] for i in rows],
    }
    if colouring.clusters:
        columns = {"Cluster": [colouring.name(i) for i in rows], **columns}
    return pd.DataFrame(columns)


def export(view: Scene, colouring: Colouring, rows: Sequence[int] | npt.NDArray[np.intp]) -> str:
    """A CSV of the rows, safe for spreadsheets."""
    header = ("sentence_id", "article", "section", "position", "sentence", "group", "x", "y")
    return csv_text(
        header,
        (
            (
                int(view.ids[i]),
                view.articles[i],
                view.sections[i],
                view.sentences[i].position,
                view.sentences[i].text,
                colouring.name(i),
                float(view.points[i, 0]),
                float(view.points[i, 1]),
            )
            for i in rows
        ),
    )


def _clear(record: MapRecord) -> None:
    state = st.session_state[f"selection-{record.digest}"]
    state.update(ids=np.empty(0, dtype=np.int64), by="", n=state["n"] + 1)


def choose_map(found: Sequence[MapRecord]) -> MapRecord:
    """One of the maps of a corpus, named by its model."""
    names = {m.id: m.name for m in queries.models()}
    return by_name("Map", found, "map", lambda m: m.name or names.get(m.model_id, "map"))
