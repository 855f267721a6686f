"""Label the rest: predicted codes of what nobody coded, how right they are, and which of them to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
import streamlit as st

from themescope.core.labelling import operations as op
from themescope.core.labelling.learning import dismiss_new_theme, in_no_new_theme
from themescope.core.labelling.partition import UNASSIGNED, Partition, free_name
from themescope.core.labelling.prediction import LEAST, CodePrecision, PredictionReport, next_sentences
from themescope.core.records.answers import LocatedSentence
from themescope.core.records.stored import PredictionRecord
from themescope.core.types import Estimate, Floats, Ids, Matrix
from themescope.db.access import Right
from themescope.db.records import NewLabelling
from themescope.jobs.common.labelled import judged_sentences
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.files import PLACE, place_cells, sentence_parts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.coding import REST, UNSURE_QUEUE, WAVE_QUEUE
from themescope.webapp.features.coding import queries as page_queries
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.shared import compare_queries, labelling, queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import attempt, download, draw_table
from themescope.webapp.shared.job_status import active, submit
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.people import current_person, may, polled
from themescope.webapp.shared.text import ago, count, plain, shorten, with_interval

KIND = "predict-labels"
RANDOM, UNSURE = "random sample of the unlabelled", "prediction is unsure"
"""Selection methods of the steps that confirm or correct predictions."""
_BATCH, _RANDOM_SHARE = 40, 0.25
_SURE = 0.8
_GONE = "a deleted code"


@dataclass(frozen=True, slots=True, eq=False)
class _Predicted:
    """Stored predictions of the units of a coding that nobody coded."""

    record: PredictionRecord
    ids: Ids
    probabilities: npt.NDArray[np.float32]
    every: npt.NDArray[np.float32]
    """Probabilities of all units that nobody coded; a gold coding has the units of its sample alone."""
    report: PredictionReport


def show(state: RelabelState) -> None:
    """Draw the state of the predictions, how right they are, and where to check them."""
    if state.record.blind:
        nothing("Blind codings use no predictions.", "The codes of a blind task must not depend on a model.")
        return
    show_new(state)
    coded, enough = _coded(state)
    record, found = newest(state), None
    counts = f"**{coded:,}** of {count(state.record.sentences, 'unit')} coded by people"
    if record is not None:
        found, since = _open(state, record), coded - record.labels
        predicted = f"{record.sentences - record.labels:,} predicted from {record.labels:,} of them"
        counts += f", {predicted} {ago(record.created)}" + (f"; **{since:,} coded since then**" if since > 0 else "")
    st.markdown(f"{counts}.")
    check = found is not None and len(found.ids) > 0
    running = [job for job in queries.active_jobs({KIND}) if job.args.get("labelling") == state.record.name]
    with st.container(horizontal=True, vertical_alignment="center"):
        if check and st.button(
            "Check unsure predictions",
            type="primary",
            icon=":material/rule:",
            disabled=state.read_only,
            help=f"On the surface Code, {_BATCH} at a time: a quarter at random, the others unsure ones.",
        ):
            switch_page("code", compare_queries.unit_view(state.record.name, UNSURE_QUEUE))
        about = f"Learns from the codes of people, from {LEAST} of at least two codes; takes seconds."
        off = not enough or bool(running) or not may(Right.MANAGE)
        if _queued(state, "Predict again" if record else "Predict the rest", about, primary=not check, disabled=off):
            st.rerun()
    if running:
        polled(1.5)(active)(running, f"code_rest_{state.record.id}")
    if found is None:
        if not running:
            first = f"Needs {LEAST} coded units or more with at least 2 codes; 20 to 50 of each code are a good start. "
            then = "The codes of all other units are predicted, with probabilities that are measured on codes held out."
            nothing("No predictions yet.", then if enough else first + then)
        return
    _quality(state, found)
    _files(state)


def offer(state: RelabelState) -> None:
    """Offer to label the rest where that is the next step: people gave codes, and nothing was predicted from them."""
    if state.record.blind or not may(Right.MANAGE) or newest(state) is not None:
        return
    coded, enough = _coded(state)
    units = len(state.partition.ids) + len(state.session.new_sentences())  # a gold coding has the sample alone
    about = "Predicts the codes of all other units from those of people; takes seconds."
    if enough and coded < units and _queued(state, "Label the rest", about):
        switch_page("code", {"labelling": state.record.name, "view": REST})


def _queued(state: RelabelState, label: str, about: str, primary: bool = True, disabled: bool = False) -> bool:
    """Draw a button that queues the prediction of the rest; return whether it was queued."""
    type: Literal["primary", "secondary"] = "primary" if primary else "secondary"
    pressed = st.button(label, icon=":material/auto_awesome:", type=type, disabled=disabled, help=about)
    name = state.record.name
    return pressed and submit(KIND, {"labelling": name}, f"Label the rest of “{name}”") is not None


def _coded(state: RelabelState) -> tuple[int, bool]:
    """Return the number of units coded by people, and whether it is enough to learn from."""
    with queries.store().reading() as r:
        judged = judged_sentences(r, state.record, state.partition)
    given = state.partition.numbers[state.partition.rows(judged)]
    given = given[given != UNASSIGNED]
    return len(given), len(given) >= LEAST and len(np.unique(given)) > 1


def newest(state: RelabelState) -> PredictionRecord | None:
    """Return the newest predictions of a coding."""
    return queries.read(lambda r: r.predictions.newest(state.record.id))


def waves(state: RelabelState) -> dict[str, Ids]:
    """Return the waves whose units were given predicted codes, with these units."""
    found = queries.read(lambda r: r.predictions.list(state.record.id))
    return {record.wave: _values(record.id)[0] for record in found if record.wave}


@st.cache_resource(show_spinner="Reading predictions …", max_entries=4)
def _values(id: int) -> tuple[Ids, npt.NDArray[np.float32]]:
    with queries.store().reading() as r:
        ids, probabilities = r.predictions.values(id)
    return ids, probabilities.astype(np.float32)


def _open(state: RelabelState, record: PredictionRecord) -> _Predicted:
    """Return the predictions of the units of the coding that people have not coded, in their order."""
    ids, probabilities = _values(record.id)
    with queries.store().reading() as r:
        judged = judged_sentences(r, state.record, state.partition)
    left = ~np.isin(ids, judged)
    kept = left & np.isin(ids, state.partition.ids)
    return _Predicted(record, ids[kept], probabilities[kept], probabilities[left], _report(record.report))


def suggestions(state: RelabelState, ids: Ids) -> dict[int, tuple[int, float]]:
    """Return unit → the cluster that was predicted last for it, and its probability; none in blind codings."""
    found: dict[int, tuple[int, float]] = {}
    if state.record.blind:
        return found
    for record in queries.read(lambda r: r.predictions.list(state.record.id)):
        known, probabilities = _values(record.id)
        rows = np.flatnonzero(np.isin(known, ids))
        best = probabilities[rows].argmax(axis=1)
        values = zip(known[rows].tolist(), best.tolist(), probabilities[rows].max(axis=1).tolist(), strict=True)
        found |= {
            id: (record.codes[code], p) for id, code, p in values if record.codes[code] in state.partition.clusters
        }
    return found


def unsure(state: RelabelState) -> list[tuple[int, str]]:
    """Return the units whose predictions to check next, in their order, and why each was chosen."""
    record = newest(state)
    found = _open(state, record) if record is not None else None
    if record is None or found is None or not len(found.ids):
        return []
    rows, sampled = next_sentences(found.probabilities, _vectors(state, found), _BATCH, _RANDOM_SHARE, record.id)
    made = [(int(found.ids[row]), UNSURE) for row in rows] + [(int(found.ids[row]), RANDOM) for row in sampled]
    order = np.random.default_rng(record.id).permutation(len(made))
    return [made[place] for place in order]


def _quality(state: RelabelState, found: _Predicted) -> None:
    report = found.report
    names = {number: cluster.name for number, cluster in state.partition.clusters.items()}
    left, right = st.columns(2)
    left.metric("Accuracy", with_interval(report.accuracy))
    right.metric("Macro F1", with_interval(report.macro_f1))
    more = max(20, 10 * round(found.record.labels / 20))
    sure, held = found.every.max(axis=1, initial=0) >= _SURE, report.right[report.confidence >= _SURE]
    told = "People have coded all of them since then."
    if len(sure):
        told = f"{sure.sum():,} of {count(len(sure), 'prediction')} have a probability of {100 * _SURE:.0f} % or more"
        told += f"; {100 * held.mean():.0f} % of the {len(held):,} such held out are right." if len(held) else "."
    st.caption(
        f"Measured on {count(found.record.labels, 'coded unit')} held out in turn, whole texts at a time; 95 % "
        f"intervals. About {more:,} more would raise the accuracy by {100 * report.gain(more):.0f} points. "
        f"Probabilities are off by {100 * report.calibration_error:.0f} points on average. {told}"
    )
    page_link("estimates", "Estimate shares", view={"labellings": [state.record.name]})
    with st.expander("By code, confusions and learning curve", icon=":material/monitoring:"):
        rows = [
            (names[row.code], row.labels, *map(_cell, (row.precision, row.recall, row.f1)))
            for row in report.codes
            if row.code in names
        ]
        titles = ("Code", "Coded units", "Precision", "Recall", "F1")
        draw_table({title: [row[place] for row in rows] for place, title in enumerate(titles)})
        codes = [names.get(code, _GONE) for code in found.record.codes]
        wrong = [(int(report.confusion[i, j]), i, j) for i, j in np.argwhere(report.confusion).tolist() if i != j]
        listed = sorted(wrong, reverse=True)[:10]
        draw_table(
            {
                "Coded as": [codes[i] for _, i, _ in listed],
                "Predicted as": [codes[j] for *_, j in listed],
                "Units held out": [n for n, *_ in listed],
            }
        )
        curve = np.array(report.curve, np.float64)
        figure = go.Figure(go.Scatter(x=curve[:, 0], y=curve[:, 1], mode="lines+markers"))
        figure.update_layout(
            height=220, margin={"t": 10, "b": 40, "l": 50, "r": 10}, xaxis_title="Coded units", yaxis_title="Accuracy"
        )
        st.plotly_chart(figure, key=f"code_rest_curve_{found.record.id}")


def _vectors(state: RelabelState, found: _Predicted) -> Matrix:
    """Return the vectors of the model where a page may hold them, else the probabilities, which tell alike ones too."""
    models = page_queries.models_for(state.record.id, state.record.members)
    model = next((m for m in models if m.name == found.record.model), None)
    if model is None or len(state.partition.ids) > page_queries.MOST_WITH_VECTORS:
        return found.probabilities
    x = page_queries.matrix(model.id, model.digest, state.record.id, state.record.members)
    return x[state.partition.rows(found.ids)]


def _files(state: RelabelState) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        page_link("report", "All predictions as a file", view={"coding": state.record.name})
        if st.button(
            "Make them a coding",
            icon=":material/smart_toy:",
            help="A coding of a machine, to compare on the page Agreement with people who coded some of these units.",
        ):
            record, name = state.record, f"{state.record.name} · predictions"[:180]
            new = NewLabelling(record.corpus_id, name, current_person(), article_id=record.article_id)
            made = attempt(lambda: starts.begin(queries.store(), new, starts.from_predictions(record.id)))
            if made is not None:
                switch_page("code", compare_queries.edit_view(made.name))


def _report(values: Mapping[str, Any]) -> PredictionReport:
    def estimate(one: dict[str, Any]) -> Estimate:
        value, low, high = (np.nan if one[name] is None else one[name] for name in ("value", "low", "high"))
        return Estimate(value, low, high, one["n"])

    return PredictionReport(
        estimate(values["accuracy"]),
        estimate(values["macro_f1"]),
        tuple(
            CodePrecision(row["code"], row["labels"], *(estimate(row[name]) for name in ("precision", "recall", "f1")))
            for row in values["codes"]
        ),
        values["calibration_error"],
        np.array(values["confusion"]),
        np.array(values["confidence"]),
        np.array(values["right"], bool),
        tuple(map(tuple, values["curve"])),
    )


def _cell(one: Estimate) -> str:
    return "–" if np.isnan(one.value) else with_interval(one)


# Sentences of later waves in a labelling: the offer to add them, their predicted codes, and what is new among them

ACCEPT_KEY, CONFIRM_KEY, DISMISS_KEY = "N", "Shift+N", "H"


def offer_new(state: RelabelState, *, hint: bool = True) -> None:
    """Offer to add the sentences of the project that the labelling does not have, such as those of later waves.

    With ``hint``, say where their predictions are.
    """
    new = len(state.session.new_sentences())
    if new and not state.read_only and labelling.of_labelling(state.record) is None:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            placed = hint and any(one.wave for one in queries.read(lambda r: r.predictions.list(state.record.id)))
            where = " Predicted codes and new themes are in “Label the rest”." if placed else ""
            about = f"{count(new, 'unit')} of the project are not in this coding."
            st.markdown(f":material/library_add: {about}{where}", width="stretch")
            how, help = (LabellingSession.extend, "There are no further units."), "A step that can be undone."
            st.button("Add them, without codes", key="code_extend", on_click=state.travel, args=how, help=help)


@dataclass(frozen=True, slots=True, eq=False)
class _Wave:
    """Predictions of the sentences of a wave that have no label yet."""

    record: PredictionRecord
    ids: Ids
    probabilities: Floats
    fits: npt.NDArray[np.bool_]
    """(n,) whether a sentence fits a code."""
    candidates: Sequence[tuple[str, Ids]]
    """Name and sentences of the new themes that are neither created nor dismissed."""


def show_new(state: RelabelState) -> None:
    """Draw what is new in each wave that was placed, the newest first, until all its sentences have labels."""
    state.session.sync()
    records = queries.read(lambda r: r.predictions.list(state.record.id))
    waves = [_open_queue(state.partition, record) for record in reversed(records) if record.wave]
    waves = [wave for wave in waves if len(wave.ids)]
    offer_new(state, hint=False)
    if waves and state.notice:
        st.warning(plain(state.notice), icon=":material/info:")
    for place, wave in enumerate(waves):
        with st.container(border=True, key=f"code_wave_{wave.record.id}"):
            st.markdown(
                f"**New in “{plain(wave.record.wave)}”:** {count(len(wave.ids), 'unit')} without a code. "
                f"{wave.fits.sum():,} have a predicted code, {(~wave.fits).sum():,} fit no code."
            )
            if wave.candidates:
                _candidate(state, wave, keys=place == 0)
            _predicted(state, wave)


def _open_queue(partition: Partition, record: PredictionRecord) -> _Wave:
    ids, probabilities = queries.read(lambda r: r.predictions.values(record.id))
    labelled = partition.ids[partition.numbers != UNASSIGNED]
    kept = ~np.isin(ids, labelled)
    closed = np.union1d(labelled, in_no_new_theme(partition))
    found = [(str(one["name"]), np.array(one["sentences"], np.int64)) for one in record.report["candidates"]]
    left = [(name, new[~np.isin(new, closed)]) for name, new in found]  # the central ones first
    offered = [(name, new) for name, new in left if len(new) >= 3]
    fits = ~np.isin(ids[kept], record.report["unusual"])
    return _Wave(record, ids[kept], probabilities[kept].astype(np.float64), fits, offered)


def _candidate(state: RelabelState, wave: _Wave, keys: bool) -> None:
    """Draw the first new theme; keys create or dismiss it."""
    name, ids = wave.candidates[0]
    key = f"code_wave_{wave.record.id}_{ids[0]}"
    more = len(wave.candidates) - 1
    about = f"**{plain(name)}**, {count(len(ids), 'unit')}" + (f" · {more:,} more" if more else "")
    st.markdown(f":material/new_releases: Possible new theme: {about}")
    texts = queries.sentences(ids[:5])
    st.markdown("\n".join(f"- {plain(shorten(texts[i].text, 300))}" for i in ids[:5].tolist()))
    coder = f"new theme, {wave.record.model}"
    with st.container(horizontal=True):
        for label, icon, what, shortcut, act, told in (
            ("Make it a code", "add", "create", ACCEPT_KEY, partial(_create, coder=coder), "coded by a machine."),
            ("Make and confirm", "done_all", "confirm", CONFIRM_KEY, _create, "coded by you: you have read them."),
            ("Dismiss", "close", "dismiss", DISMISS_KEY, _dismiss, ""),
        ):
            st.button(
                label,
                icon=f":material/{icon}:",
                key=f"{key}_{what}",
                disabled=state.read_only,
                shortcut=shortcut if keys else None,
                on_click=act,
                args=(state, name, ids),
                help=f"Its units count as {told}" if told else None,
            )


def _create(state: RelabelState, name: str, ids: Ids, coder: str = "") -> None:
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
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if st.button(
            "Check them",
            icon=":material/rule:",
            key=f"code_wave_check_{wave.record.id}",
            help="One by one on the surface Code, with the predicted code as the suggestion.",
        ):
            switch_page("code", compare_queries.unit_view(state.record.name, f"{WAVE_QUEUE}{wave.record.wave}"))
        least = st.slider("Least probability", 0.0, 1.0, 0.8, 0.01, key=f"code_wave_least_{wave.record.id}", width=260)
        sure = np.flatnonzero((best >= least) & wave.fits & np.isin(codes, list(names)))
        st.button(
            f"Assign the {count(len(sure), 'unit')} that are at least so sure",
            icon=":material/playlist_add_check:",
            key=f"code_wave_assign_{wave.record.id}",
            disabled=state.read_only or not len(sure),
            on_click=_assign,
            args=(state, wave.ids[sure], codes[sure], wave.record.model),
            help="One step that can be undone. The units count as coded by a machine.",
        )
    among = count(wave.record.labels, "coded unit")
    st.caption(f"Codes are those of the nearest centre among {among}, by {plain(wave.record.model)}.")

    def row(sentence: LocatedSentence, at: int) -> tuple[Any, ...]:
        return *place_cells(sentence), names.get(int(codes[at]), _GONE), round(float(best[at]), 4), bool(wave.fits[at])

    def table() -> str:
        lines = [line for part in sentence_parts(queries.store(), wave.ids, row) for line in part]
        return csv_text((*PLACE, "predicted code", "probability", "fits"), lines)

    download("All predictions (CSV)", table, f"{state.record.name}, {wave.record.wave}.csv")


def _assign(state: RelabelState, ids: Ids, codes: Ids, model: str) -> None:
    wanted = {int(number): ids[codes == number] for number in np.unique(codes)}
    if _added(state, ids):
        state.apply(lambda partition: replace(op.accept(partition, wanted), coder=f"nearest centre, {model}"))
