"""Label the rest: predicted codes of what nobody coded, how right they are, and which of them to check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
import streamlit as st

from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.prediction import LEAST, PredictionReport, next_sentences
from themescope.core.records.stored import PredictionRecord
from themescope.core.types import Estimate, Ids, Matrix
from themescope.db.access import Right
from themescope.db.records import NewLabelling
from themescope.jobs.common.labelled import judged_sentences
from themescope.jobs.services.labelling import starts
from themescope.webapp.features.coding import REST, UNSURE_QUEUE, new_sentences
from themescope.webapp.features.coding import queries as page_queries
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import attempt, draw_table
from themescope.webapp.shared.job_status import active, submit
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.text import ago, count, with_interval

KIND = "predict-labels"
RANDOM, UNSURE = "random sample of the unlabelled", "prediction is unsure"
"""Selection methods of the steps that confirm or correct predictions."""
_BATCH, _RANDOM_SHARE = 40, 0.25
_POLL_S, _SURE = 1.5, 0.8
_GONE = "a deleted code"


@dataclass(frozen=True, slots=True, eq=False)
class _Predicted:
    """Stored predictions of units that nobody coded."""

    record: PredictionRecord
    ids: Ids
    probabilities: npt.NDArray[np.float32]
    report: dict[str, Any]


def show(state: RelabelState) -> None:
    """Draw the state of the predictions, how right they are, and where to check them."""
    if state.record.blind:
        nothing("Blind codings use no predictions.", "The codes of a blind task must not depend on a model.")
        return
    new_sentences.show(state)
    coded, enough = _coded(state)
    record = newest(state)
    st.markdown(_counts(state, coded, record))
    found = _open(state, record) if record is not None else None
    check = found is not None and len(found.ids) > 0
    running = [job for job in queries.active_jobs({KIND}) if job.args.get("labelling") == state.record.name]
    with st.container(horizontal=True, vertical_alignment="center"):
        if check and st.button(
            "Check unsure predictions", type="primary", icon=":material/rule:", disabled=state.read_only,
            help=f"On the surface Code, {_BATCH} at a time: a quarter at random, the others unsure ones.",
        ):  # fmt: skip
            switch_page("code", compare_queries.unit_view(state.record.name, UNSURE_QUEUE))
        if st.button(
            "Predict again" if record else "Predict the rest",
            icon=":material/auto_awesome:",
            type="secondary" if check else "primary",
            disabled=not enough or bool(running) or not may(Right.MANAGE),
            help=f"Learns from the codes of people, from {LEAST} of at least two codes; takes seconds.",
        ) and submit(KIND, {"labelling": state.record.name}, f"Label the rest of “{state.record.name}”"):
            st.rerun()
    if running:
        st.fragment(lambda: active(running, f"code_rest_{state.record.id}"), run_every=_POLL_S)()
    if found is None:
        if not running:
            first = f"Needs {LEAST} coded units or more with at least 2 codes; 20 to 50 of each code are a good start. "
            first = "" if enough else first
            nothing(
                "No predictions yet.",
                f"{first}The codes of all other units are predicted, with probabilities that are measured on codes "
                "held out.",
            )
        return
    _quality(state, found)
    _files(state)


def offer(state: RelabelState) -> None:
    """Offer to label the rest where that is the next step: people gave codes, and nothing was predicted from them."""
    if state.record.blind or not may(Right.MANAGE) or newest(state) is not None:
        return
    coded, enough = _coded(state)
    units = len(state.partition.ids) + len(state.session.new_sentences())  # a gold coding has the sample alone
    if enough and coded < units and st.button(
        "Label the rest", type="primary", icon=":material/auto_awesome:", key="code_label_rest",
        help="Predicts the codes of all other units from those of people; takes seconds.",
    ) and submit(KIND, {"labelling": state.record.name}, f"Label the rest of “{state.record.name}”"):  # fmt: skip
        switch_page("code", {"labelling": state.record.name, "view": REST})


def _coded(state: RelabelState) -> tuple[int, bool]:
    """Return the number of units coded by people, and whether it is enough to learn from."""
    with queries.store().reading() as r:
        judged = judged_sentences(r, state.record, state.partition)
    given = state.partition.numbers[state.partition.rows(judged)]
    given = given[given != UNASSIGNED]
    return len(given), len(given) >= LEAST and len(np.unique(given)) > 1


def newest(state: RelabelState) -> PredictionRecord | None:
    """Return the newest predictions of a coding."""
    found: PredictionRecord | None = queries.read(lambda r: r.predictions.newest(state.record.id))
    return found


def _counts(state: RelabelState, coded: int, record: PredictionRecord | None) -> str:
    text = f"**{coded:,}** of {count(state.record.sentences, 'unit')} coded by people"
    if record is not None:
        since = coded - record.labels
        text += f", {record.sentences - record.labels:,} predicted from {record.labels:,} of them {ago(record.created)}"
        text += f"; **{since:,} coded since then**" if since > 0 else ""
    return text + "."


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
    kept = np.flatnonzero(~np.isin(ids, judged) & np.isin(ids, state.partition.ids))
    return _Predicted(record, ids[kept], probabilities[kept], dict(record.report))


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
        fits = {id: (record.codes[code], p) for id, code, p in values if record.codes[code] in state.partition.clusters}
        found |= fits
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
    report = _report(found.report)
    names = {number: cluster.name for number, cluster in state.partition.clusters.items()}
    left, right = st.columns(2)
    left.metric("Accuracy", with_interval(report.accuracy))
    right.metric("Macro F1", with_interval(report.macro_f1))
    more = max(20, 10 * round(found.record.labels / 20))
    _, accuracy = report.at(_SURE)
    sure = int((found.probabilities.max(1) >= _SURE).sum()) if len(found.ids) else 0
    reached = "" if np.isnan(accuracy) else f"; about {100 * accuracy:.0f} % of such are right"
    st.caption(
        f"Measured on {count(found.record.labels, 'coded unit')} held out in turn, whole documents at a time; 95 % "
        f"intervals. About {more:,} more would give +{100 * report.gain(more):.0f} points of accuracy. "
        f"Probabilities are off by {100 * report.calibration_error:.0f} points on average. {sure:,} of "
        f"{count(len(found.ids), 'prediction')} have a probability of {100 * _SURE:.0f} % or more{reached}."
    )
    page_link("estimates", "Estimate shares", view={"labellings": [state.record.name]})
    with st.expander("By code, confusions and learning curve", icon=":material/monitoring:"):
        rows = [row for row in found.report["codes"] if row["code"] in names]
        draw_table(
            {
                "Code": [names[row["code"]] for row in rows],
                "Coded units": [row["labels"] for row in rows],
                **{title: [_cell(row[title.lower()]) for row in rows] for title in ("Precision", "Recall", "F1")},
            }
        )
        _confusions(found, names)
        curve = np.array(found.report["curve"], np.float64)
        figure = go.Figure(go.Scatter(x=curve[:, 0], y=curve[:, 1], mode="lines+markers"))
        figure.update_layout(
            height=220, margin={"t": 10, "b": 40, "l": 50, "r": 10}, xaxis_title="Coded units", yaxis_title="Accuracy"
        )
        st.plotly_chart(figure, key=f"code_rest_curve_{found.record.id}")


def _confusions(found: _Predicted, names: dict[int, str]) -> None:
    table = np.array(found.report["confusion"])
    pairs = [(int(table[i, j]), i, j) for i in range(len(table)) for j in range(len(table)) if i != j and table[i, j]]
    name = [names.get(code, _GONE) for code in found.record.codes]
    listed = sorted(pairs, reverse=True)[:10]
    draw_table(
        {
            "Coded as": [name[i] for _, i, _ in listed],
            "Predicted as": [name[j] for *_, j in listed],
            "Units held out": [n for n, *_ in listed],
        }
    )


def _vectors(state: RelabelState, found: _Predicted) -> Matrix:
    """Return the vectors of the model where a page may hold them, else the probabilities, which tell alike ones too."""
    model = next(
        (m for m in page_queries.models_for(state.record.id, state.record.members) if m.name == found.record.model),
        None,
    )
    if model is None or len(state.partition.ids) > page_queries.MOST_WITH_VECTORS:
        return found.probabilities
    x = page_queries.matrix(model.id, model.digest, state.record.id, state.record.members)
    return x[state.partition.rows(found.ids)]


def _files(state: RelabelState) -> None:
    with st.container(horizontal=True):
        page_link("report", "All predictions as a file", view={"coding": state.record.name})
        if st.button(
            "Make them a coding", icon=":material/smart_toy:",
            help="A coding of a machine, to compare on the page Agreement with people who coded some of these units.",
        ):  # fmt: skip
            record, name = state.record, f"{state.record.name} · predictions"[:180]
            new = NewLabelling(record.corpus_id, name, current_person(), article_id=record.article_id)
            made = attempt(lambda: starts.begin(queries.store(), new, starts.from_predictions(record.id)))
            if made is not None:
                switch_page("code", compare_queries.edit_view(made.name))


def _report(values: dict[str, Any]) -> PredictionReport:
    def estimate(one: dict[str, Any]) -> Estimate:
        value, low, high = (np.nan if one[name] is None else one[name] for name in ("value", "low", "high"))
        return Estimate(value, low, high, one["n"])

    return PredictionReport(
        estimate(values["accuracy"]), estimate(values["macro_f1"]), (), values["calibration_error"],
        np.array(values["confusion"]), np.array(values["confidence"]), np.array(values["right"], bool),
        tuple(map(tuple, values["curve"])),
    )  # fmt: skip


def _cell(one: dict[str, Any]) -> str:
    return "–" if one["value"] is None else f"{one['value']:.2f} [{one['low'] or 0:.2f}, {one['high'] or 0:.2f}]"
