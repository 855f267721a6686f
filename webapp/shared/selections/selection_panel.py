"""The panel of a selection: its sentences in full, its words and composition, comparisons, and what to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from themescope.core.labelling.operations import digest_of_ids
from themescope.core.types import Ids
from themescope.jobs.services import selections as service
from themescope.jobs.services.selections import SelectedSentences, SelectionComparison
from themescope.webapp.shared import queries, unit_list
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.selections import selection_actions, selections
from themescope.webapp.shared.selections.selections import Panel
from themescope.webapp.shared.text import count, plain, shorten

SENTENCES, WORDS, COMPARE = "Sentences", "Sections and words", "Compare"
_READING, _CENTRAL = "Reading order", "Most central"
_REST = "Everything else"
_COUNTED = 200_000
"""Up to this number of other sentences, their themes, sections and articles are counted beside those selected."""
_ORIGIN = 160


def show(panel: Panel) -> None:
    """Draw the panel."""
    with st.container(gap="xsmall", key=f"{panel.key}-selection-panel"):
        origin = str(panel.selection.origin)
        with st.container(gap="xxsmall"):
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(f"**{plain(panel.heading or count(len(panel.selection), 'sentence'))}**", width="stretch")
                if panel.on_clear is not None:
                    st.button("Clear selection", icon=":material/close:", on_click=panel.on_clear, type="tertiary")
            st.caption(plain(shorten(origin, _ORIGIN)), help=plain(origin) if len(origin) > _ORIGIN else None)
        if not len(panel.selection):
            st.info("No sentences. Select some on the map, or change search or filters.", icon=":material/info:")
            return
        selection_actions.show(panel)
        bound = {"key": panel.tab_key, "bind": "query-params"} if panel.tab_key else {"key": f"{panel.key}-tab"}
        part = st.segmented_control(
            "Part", [SENTENCES, WORDS, COMPARE], default=SENTENCES, required=True, label_visibility="collapsed", **bound
        )  # type: ignore[call-overload]
        if part == COMPARE:
            _compare(panel)
        elif part == WORDS:
            _words(panel)
        else:
            _sentences(panel)


# ---------------------------------------------------------------- sentences


def _sentences(panel: Panel) -> None:
    found = panel.read()
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        text = st.text_input(
            "Search in selection", key=f"{panel.key}-search", icon=":material/search:",
            placeholder="Search in selection", label_visibility="collapsed",
        )  # fmt: skip
    model = service.model_of(
        queries.store(), panel.selection.corpus_id, found, panel.themes.model.id if panel.themes else None
    )
    orders = [*([panel.ranking.name] if panel.ranking else []), _READING, *([_CENTRAL] if model else [])]
    with right:
        order = st.selectbox("Order", orders, key=f"{panel.key}-order-{len(orders)}", label_visibility="collapsed")
    rows: npt.NDArray[np.intp] = np.arange(len(found.ids))
    notes: Sequence[str] = ()
    if panel.ranking is not None and order == panel.ranking.name:
        rows, notes = found.rows_of(panel.ranking.ids), panel.ranking.notes
    elif order == _CENTRAL and model is not None:
        listed, notes = selections.central_order(panel.selection.digest, model.digest, found, model)
        rows = np.array(listed, dtype=np.intp)
    wanted = " ".join((text or "").split())
    if wanted:
        keep = np.isin(found.ids[rows], queries.sentence_ids_with(panel.selection.corpus_id, wanted))
        rows, notes = rows[keep], [note for note, kept in zip(notes, keep, strict=True) if kept] if notes else ()
        st.caption(f"{count(len(rows), 'sentence')} with “{plain(wanted)}”")
    units = unit_list.of_sentences(found, rows, notes, wanted)
    unit_list.show(units, f"{panel.key}-sentences", panel.height, panel.focus, panel.on_pick)


# ---------------------------------------------------------------- words and composition


def _whole(panel: Panel) -> Ids:
    return panel.whole if panel.whole is not None else selections.everything(panel.selection)


def _against(panel: Panel, others: Ids) -> SelectionComparison:
    return selections.comparison(panel.selection.digest, digest_of_ids(others), panel.selection.ids, others)


def _words(panel: Panel) -> None:
    rest = np.setdiff1d(_whole(panel), panel.selection.ids, assume_unique=True)
    words = _against(panel, rest).words[0]
    if words:
        st.markdown("Distinctive words: " + " · ".join(f"**{plain(word)}**" for word in words))
        sampled = f", from at most {service.SAMPLE:,} sentences of each part" if len(rest) > service.SAMPLE else ""
        st.caption(f"Frequent here and rare elsewhere (class-based tf-idf){sampled}.")
    else:
        st.caption("All sentences are selected, so no word is distinctive.")
    _composition(panel, rest, ("Here", "Elsewhere"))


def _composition(panel: Panel, others: Ids, heads: tuple[str, str]) -> None:
    """Draw the counts of themes, sections and articles here and among ``others``, if those are not too many."""
    here = panel.read()
    there = selections.sentences(others, digest_of_ids(others), panel.themes) if 0 < len(others) <= _COUNTED else None
    kinds = [*(["Theme"] if len(here.theme_names) else []), "Section", "Article"]
    for tab, kind in zip(st.tabs([f"{kind}s" for kind in kinds]), kinds, strict=True):
        with tab:
            _shares(kind, here, there, heads, max(panel.height - 90, 200))


def _shares(
    kind: str, here: SelectedSentences, there: SelectedSentences | None, heads: tuple[str, str], height: int
) -> None:
    counts = [found.counts(kind) for found in (here, there) if found is not None]
    listed = sorted(counts[0] | counts[-1], key=lambda name: (*(-found[name] for found in counts), name))
    columns: dict[str, list[Any]] = {kind: listed}
    for head, found, sentences in zip(heads, counts, (here, there), strict=False):
        total = len(sentences.ids) if sentences is not None else 0
        columns[head] = [found[name] for name in listed]
        columns[f"Share {head.lower()}"] = [found[name] / max(total, 1) for name in listed]
    share = st.column_config.ProgressColumn(format="percent", min_value=0, max_value=1, width=90)
    config = {name: share for name in columns if name.startswith("Share")}
    config[kind] = st.column_config.TextColumn(width="medium")
    draw_table(columns, height=min(height, 38 + 35 * max(len(listed), 1)), column_config=config)


# ---------------------------------------------------------------- comparison with another selection


def _compare(panel: Panel) -> None:
    saved = {record.name: record for record in selections.saved(panel.selection.corpus_id)}
    chosen = st.selectbox("Compare with", [_REST, *saved], key=f"{panel.key}-other")
    others = (
        np.setdiff1d(_whole(panel), panel.selection.ids, assume_unique=True)
        if chosen not in saved
        else queries.read(lambda r: r.selections.ids(saved[chosen].id))
    )
    found = _against(panel, others)
    first, second = "This selection", chosen or _REST
    with st.container(horizontal=True):
        st.metric(first, f"{found.sizes[0]:,}", border=True)
        st.metric(plain(shorten(second, 40)), f"{found.sizes[1]:,}", border=True)
        st.metric("In both", f"{found.shared:,}", border=True)
    for name, words in zip((first, second), found.words, strict=True):
        if words:
            st.markdown(f"{plain(name)}: " + " · ".join(f"**{plain(word)}**" for word in words))
    _composition(panel, others, ("Here", "There"))
