"""Sentences of later waves in a labelling: the offer to add them, their predicted codes, and what is new among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.labelling import operations as op
from themescope.core.labelling.learning import dismiss_new_theme, in_no_new_theme
from themescope.core.labelling.partition import UNASSIGNED, Partition, free_name
from themescope.core.records.answers import LocatedSentence
from themescope.core.records.stored import PredictionRecord
from themescope.core.types import Floats, Ids
from themescope.jobs.services.labelling.files import PLACE, place_cells, sentence_parts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.coding import WAVE_QUEUE
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import download
from themescope.webapp.shared.labelling import codebook_view
from themescope.webapp.shared.navigation import switch_page
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.text import count, plain, shorten

ACCEPT_KEY, CONFIRM_KEY, DISMISS_KEY = "N", "Shift+N", "H"
_FEWEST = 3
"""Fewest sentences without a label of a new theme that is offered."""
_EXAMPLES, _MAX_TEXT = 5, 300
_GONE = "a deleted code"


def offer(state: RelabelState, *, hint: bool = True) -> None:
    """Offer to add the sentences of the project that the labelling does not have, such as those of later waves.

    With ``hint``, say where their predictions are.
    """
    new = len(state.session.new_sentences())
    if new and not state.read_only and codebook_view.of_labelling(state.record) is None:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            placed = hint and any(one.wave for one in queries.read(lambda r: r.predictions.list(state.record.id)))
            where = " Predicted codes and new themes are in “Label the rest”." if placed else ""
            st.markdown(
                f":material/library_add: {count(new, 'unit')} of the project are not in this coding.{where}",
                width="stretch",
            )
            st.button(
                "Add them, without codes",
                key="code_extend",
                on_click=state.travel,
                args=(lambda session: session.extend(), "There are no further units."),
                help="A step that can be undone.",
            )


@dataclass(frozen=True, slots=True, eq=False)
class _Wave:
    """Predictions of the sentences of a wave that have no label yet."""

    record: PredictionRecord
    ids: Ids
    probabilities: Floats
    candidates: Sequence[tuple[str, Ids]]
    """Name and sentences of the new themes that are neither created nor dismissed."""

    @property
    def unusual(self) -> int:
        """Number of sentences that fit no code."""
        return int(np.isin(self.ids, self.record.report["unusual"]).sum())


def show(state: RelabelState) -> None:
    """Draw what is new in each wave that was placed, the newest first, until all its sentences have labels."""
    state.session.sync()
    records = queries.read(lambda r: r.predictions.list(state.record.id))
    waves = [_open(state.partition, record) for record in reversed(records) if record.wave]
    waves = [wave for wave in waves if len(wave.ids)]
    offer(state, hint=False)
    if waves and state.notice:
        st.warning(plain(state.notice), icon=":material/info:")
    for place, wave in enumerate(waves):
        with st.container(border=True, key=f"code_wave_{wave.record.id}"):
            st.markdown(
                f"**New in “{plain(wave.record.wave)}”:** {count(len(wave.ids), 'unit')} without a code. "
                f"{len(wave.ids) - wave.unusual:,} have a predicted code, {wave.unusual:,} fit no code."
            )
            if wave.candidates:
                _candidate(state, wave, keys=place == 0)
            _predicted(state, wave)


def _open(partition: Partition, record: PredictionRecord) -> _Wave:
    ids, probabilities = queries.read(lambda r: r.predictions.values(record.id))
    labelled = partition.ids[partition.numbers != UNASSIGNED]
    kept = ~np.isin(ids, labelled)
    closed = np.union1d(labelled, in_no_new_theme(partition))
    found = [(str(one["name"]), np.array(one["sentences"], np.int64)) for one in record.report["candidates"]]
    left = [(name, new[~np.isin(new, closed)]) for name, new in found]  # the central ones first
    offered = [(name, new) for name, new in left if len(new) >= _FEWEST]
    return _Wave(record, ids[kept], probabilities[kept].astype(np.float64), offered)


def _candidate(state: RelabelState, wave: _Wave, keys: bool) -> None:
    """Draw the first new theme; keys create or dismiss it."""
    name, ids = wave.candidates[0]
    key = f"code_wave_{wave.record.id}_{ids[0]}"
    more = len(wave.candidates) - 1
    st.markdown(
        f":material/new_releases: Possible new theme: **{plain(name)}**, {count(len(ids), 'unit')}"
        + (f" · {more:,} more" if more else "")
    )
    texts = queries.sentences(ids[:_EXAMPLES])
    st.markdown("\n".join(f"- {plain(shorten(texts[i].text, _MAX_TEXT))}" for i in ids[:_EXAMPLES].tolist()))
    coder = f"new theme, {wave.record.model}"
    with st.container(horizontal=True):
        st.button(
            "Make it a code", icon=":material/add:", key=f"{key}_create", disabled=state.read_only,
            shortcut=ACCEPT_KEY if keys else None, on_click=_create, args=(state, name, ids, coder),
            help="Its units count as coded by a machine.",
        )  # fmt: skip
        st.button(
            "Make and confirm", icon=":material/done_all:", key=f"{key}_confirm", disabled=state.read_only,
            shortcut=CONFIRM_KEY if keys else None, on_click=_create, args=(state, name, ids, ""),
            help="You have read the units: they count as coded by you.",
        )  # fmt: skip
        st.button(
            "Dismiss", icon=":material/close:", key=f"{key}_dismiss", disabled=state.read_only,
            shortcut=DISMISS_KEY if keys else None, on_click=_dismiss, args=(state, name, ids),
        )  # fmt: skip


def _create(state: RelabelState, name: str, ids: Ids, coder: str) -> None:
    def make(partition: Partition) -> op.Operation:
        free = free_name(partition, name)
        return replace(op.create(partition, state.session.next_number, free, ids), coder=coder)

    if _added(state, ids):
        state.apply(make, method="new theme of a wave")


def _dismiss(state: RelabelState, name: str, ids: Ids) -> None:
    if _added(state, ids):
        state.apply(lambda partition: dismiss_new_theme(partition, name, ids))


def _added(state: RelabelState, ids: Ids) -> bool:
    """Add the new sentences of the project unless the labelling has ``ids``; return whether it has them now."""
    if not np.isin(ids, state.partition.ids).all():
        state.travel(LabellingSession.extend, "There are no new units.")
    return bool(np.isin(ids, state.partition.ids).all())


def _predicted(state: RelabelState, wave: _Wave) -> None:
    names = {number: cluster.name for number, cluster in state.partition.clusters.items()}
    best = wave.probabilities.max(axis=1)
    codes = np.array(wave.record.codes)[wave.probabilities.argmax(axis=1)]
    fits = ~np.isin(wave.ids, wave.record.report["unusual"])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if st.button(
            "Check them", icon=":material/rule:", key=f"code_wave_check_{wave.record.id}",
            help="One by one on the surface Code, with the predicted code as the suggestion.",
        ):  # fmt: skip
            switch_page("code", compare_queries.unit_view(state.record.name, f"{WAVE_QUEUE}{wave.record.wave}"))
        least = st.slider("Least probability", 0.0, 1.0, 0.8, 0.01, key=f"code_wave_least_{wave.record.id}", width=260)
        sure = np.flatnonzero((best >= least) & fits & np.isin(codes, list(names)))
        st.button(
            f"Assign the {count(len(sure), 'unit')} that are at least so sure", icon=":material/playlist_add_check:",
            key=f"code_wave_assign_{wave.record.id}", disabled=state.read_only or not len(sure),
            on_click=_assign, args=(state, wave.ids[sure], codes[sure], wave.record.model),
            help="One step that can be undone. The units count as coded by a machine.",
        )  # fmt: skip
    st.caption(
        f"Codes are those of the nearest centre among {count(wave.record.labels, 'coded unit')}, by "
        f"{plain(wave.record.model)}."
    )

    def row(sentence: LocatedSentence, at: int) -> tuple[Any, ...]:
        return *place_cells(sentence), names.get(int(codes[at]), _GONE), round(float(best[at]), 4), bool(fits[at])

    def table() -> str:
        lines = [line for part in sentence_parts(queries.store(), wave.ids, row) for line in part]
        return csv_text((*PLACE, "predicted code", "probability", "fits"), lines)

    download("All predictions (CSV)", table, f"{state.record.name}, {wave.record.wave}.csv")


def _assign(state: RelabelState, ids: Ids, codes: Ids, model: str) -> None:
    wanted = {int(number): ids[codes == number] for number in np.unique(codes)}
    if _added(state, ids):
        state.apply(lambda partition: replace(op.accept(partition, wanted), coder=f"nearest centre, {model}"))
