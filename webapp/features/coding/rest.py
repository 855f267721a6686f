"""Tab Label the rest: predicted codes of what nobody labelled, how good they are, and what to label next."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
import streamlit as st

from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import entries
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.prediction import LEAST, PredictionReport, next_sentences
from themescope.core.records.answers import LocatedSentence
from themescope.core.records.stored import PredictionRecord
from themescope.core.types import Estimate, Ids, Matrix
from themescope.db.access import Right
from themescope.db.label_records import NewLabelling
from themescope.jobs.common.labelled import judged_sentences
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.files import PLACE, place_cells, sentence_parts
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.coding import new_sentences
from themescope.webapp.features.coding import queries as page_queries
from themescope.webapp.features.coding.actions import UNSEEN
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.features.coding.workspace import messages
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import attempt, download, draw_table
from themescope.webapp.shared.job_status import active, submit
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.text import ago, count, plain, shorten, with_interval

KIND = "predict-labels"
RANDOM, UNSURE = "random sample of the unlabelled", "prediction is unsure"
"""Selection methods of the steps that confirm or correct predictions."""
_BATCH, _RANDOM_SHARE = 40, 0.25
_KEYS = "123456789"
_LISTED, _MAX_TEXT = 200, 400
_POLL_S = 1.5
_SHOWN, _NOTICE = "code_rest_shown", "code_rest_notice"


@dataclass(frozen=True, slots=True, eq=False)
class _Predicted:
    """Stored predictions of sentences that are still unlabelled, the surest first."""

    record: PredictionRecord
    ids: Ids
    probabilities: npt.NDArray[np.float32]
    report: dict[str, Any]

    def code(self, row: int) -> int:
        return self.record.codes[int(self.probabilities[row].argmax())]


def show(state: RelabelState) -> None:
    """Draw the state of the predictions, their quality, and the sentences to label next."""
    if state.record.blind:
        nothing("Blind labellings use no predictions.", "The labels of a blind task must not depend on a model.")
        return
    state.sync()
    messages(state)
    new_sentences.show(state)
    with queries.store().reading() as r:
        judged = judged_sentences(r, state.record, state.partition)
    labelled, record = int((state.partition.numbers[state.partition.rows(judged)] != UNASSIGNED).sum()), _newest(state)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(_counts(state, labelled, record))
        running = [job for job in queries.active_jobs({KIND}) if job.args.get("labelling") == state.record.name]
        if st.button(
            "Predict again" if record else "Predict the rest",
            icon=":material/auto_awesome:",
            type="secondary" if record else "primary",
            disabled=labelled < LEAST or bool(running) or not may(Right.MANAGE),
            help=f"Learns from the labels of people, from {LEAST} of at least two codes; takes seconds.",
        ) and submit(KIND, {"labelling": state.record.name}, f"Label the rest of “{state.record.name}”"):
            st.rerun()
    if running:
        st.fragment(lambda: active(running, f"code_rest_{state.record.id}"), run_every=_POLL_S)()
    if record is None:
        nothing(
            "No predictions yet.",
            f"Label {LEAST} sentences or more in the tab Edit; 20 to 50 of each code are a good start. The codes of "
            "all others are then predicted, with probabilities that are measured on labels held out.",
        )
        return
    found = _open(state, record)
    queue, quality = st.columns([3, 2], gap="large")
    with quality:
        _quality(state, found)
    with queue:
        _next(state, found)
    _list(state, found)


def _newest(state: RelabelState) -> PredictionRecord | None:
    found: PredictionRecord | None = queries.read(lambda r: r.predictions.newest(state.record.id))
    return found


def _counts(state: RelabelState, labelled: int, record: PredictionRecord | None) -> str:
    text = f"**{labelled:,}** of {count(state.record.sentences, 'sentence')} labelled by people"
    if record is not None:
        since = labelled - record.labels
        text += f", {record.sentences - record.labels:,} predicted from {record.labels:,} labels {ago(record.created)}"
        text += f"; **{since:,} labels since then**" if since > 0 else ""
    return text + "."


@st.cache_resource(show_spinner="Reading predictions …", max_entries=4)
def _values(id: int) -> tuple[Ids, npt.NDArray[np.float32]]:
    with queries.store().reading() as r:
        ids, probabilities = r.predictions.values(id)
    return ids, probabilities.astype(np.float32)


def _open(state: RelabelState, record: PredictionRecord) -> _Predicted:
    """Return the predictions of the sentences of the labelling that people have not labelled."""
    ids, probabilities = _values(record.id)
    with queries.store().reading() as r:
        judged = judged_sentences(r, state.record, state.partition)
    kept = np.flatnonzero(~np.isin(ids, judged) & np.isin(ids, state.partition.ids))
    kept = kept[np.argsort(-probabilities[kept].max(1), kind="stable")]
    return _Predicted(record, ids[kept], probabilities[kept], dict(record.report))


def _quality(state: RelabelState, found: _Predicted) -> None:
    report = _report(found.report)
    names = {number: cluster.name for number, cluster in state.partition.clusters.items()}
    left, right = st.columns(2)
    left.metric("Accuracy", _percent(report.accuracy.value), help=with_interval(report.accuracy))
    right.metric("Macro F1", f"{report.macro_f1.value:.2f}", help=with_interval(report.macro_f1))
    more = max(20, 10 * round(found.record.labels / 20))
    st.caption(
        f"Measured on {count(found.record.labels, 'label')} held out in turn, whole documents at a time; 95 % "
        f"intervals. About {more:,} more labels would give +{100 * report.gain(more):.0f} points of accuracy. "
        f"Probabilities are off by {100 * report.calibration_error:.0f} points on average."
    )
    page_link("estimates", "Estimate shares", view={"labellings": [state.record.name]})
    threshold = st.slider("Least probability", 0.0, 1.0, 0.5, 0.01, key=f"code_rest_least_{state.record.id}")
    _, accuracy = report.at(threshold)
    enough = int((found.probabilities.max(1) >= threshold).sum()) if len(found.ids) else 0
    share = enough / max(len(found.ids), 1)
    told = "no held-out label is so sure" if np.isnan(accuracy) else f"about {_percent(accuracy)} of them right"
    st.caption(f"{enough:,} predictions ({_percent(share)}) are at least so sure, {told}. The others stay open.")
    rows = [row for row in found.report["codes"] if row["code"] in names]
    draw_table(
        {
            "Code": [names[row["code"]] for row in rows],
            "Labels": [row["labels"] for row in rows],
            "Precision": [_cell(row["precision"]) for row in rows],
            "Recall": [_cell(row["recall"]) for row in rows],
            "F1": [_cell(row["f1"]) for row in rows],
        }
    )
    with st.expander("Confusions and learning curve", icon=":material/monitoring:"):
        _confusions(found, names)
        curve = np.array(found.report["curve"], np.float64)
        figure = go.Figure(go.Scatter(x=curve[:, 0], y=curve[:, 1], mode="lines+markers"))
        figure.update_layout(
            height=220, margin={"t": 10, "b": 40, "l": 50, "r": 10}, xaxis_title="Labels", yaxis_title="Accuracy"
        )
        st.plotly_chart(figure, key=f"code_rest_curve_{found.record.id}")


def _confusions(found: _Predicted, names: dict[int, str]) -> None:
    table = np.array(found.report["confusion"])
    pairs = [(int(table[i, j]), i, j) for i in range(len(table)) for j in range(len(table)) if i != j and table[i, j]]
    name = [names.get(code, "a deleted cluster") for code in found.record.codes]
    listed = sorted(pairs, reverse=True)[:10]
    draw_table(
        {
            "Labelled": [name[i] for _, i, _ in listed],
            "Predicted": [name[j] for *_, j in listed],
            "Held-out labels": [n for n, *_ in listed],
        }
    )


def _next(state: RelabelState, found: _Predicted) -> None:
    """Draw the next sentence with its prediction; keys confirm or correct it."""
    st.markdown("**What to label next**")
    queue = _queue(state, found)
    if not queue:
        nothing("Nothing is left to label here.", "Predict again to get the next sentences.")
        return
    (id, method), rest = queue[0], len(queue)
    st.session_state[_SHOWN] = id
    row = int(np.flatnonzero(found.ids == id)[0])
    best, clusters = found.code(row), state.partition.clusters
    codes = [code.cluster.number for code in entries.codes(state.partition)]
    codes += [code for code in found.record.codes if code in clusters and code not in codes]  # combinations
    if notice := st.session_state.pop(_NOTICE, ""):
        st.warning(notice, icon=":material/visibility_off:")
    with st.container(border=True):
        st.markdown(plain(shorten(state.session.texts[id], _MAX_TEXT)))
        why = "drawn at random" if method == RANDOM else "the prediction is unsure"
        st.caption(
            f"{rest:,} left in this round; {why}. Predicted with {_percent(float(found.probabilities[row].max()))}:"
        )
        with st.container(horizontal=True):
            name = clusters[best].name if best in clusters else "a deleted cluster"
            st.button(
                plain(name), type="primary", icon=":material/check:", shortcut="Enter",
                disabled=best not in clusters or state.read_only, on_click=_place, args=(state, id, best, method),
                key=f"code_rest_confirm_{id}",
            )  # fmt: skip
            st.button(
                "Skip", icon=":material/skip_next:", shortcut="0", on_click=_skip, args=(state, id),
                key=f"code_rest_skip_{id}",
            )  # fmt: skip
        with st.container(horizontal=True):
            for code, key in zip_longest(codes, _KEYS[: len(codes)]):
                st.button(
                    plain(clusters[code].name), shortcut=key, disabled=state.read_only, on_click=_place,
                    args=(state, id, code, method), key=f"code_rest_{id}_{code}",
                )  # fmt: skip
    st.caption(
        f"A quarter of each round of {_BATCH} is drawn at random, which keeps the measured quality honest; the others "
        "are unsure and unlike each other. Estimates use the labels of samples that tasks gave out."
    )


def _queue(state: RelabelState, found: _Predicted) -> list[tuple[int, str]]:
    """Return the open sentences of this round with the reason of each; a round is made once for each prediction."""
    key = f"code_rest_round_{found.record.id}"
    if key not in st.session_state and len(found.ids):
        x = _vectors(state, found)
        unsure, sampled = next_sentences(found.probabilities, x, _BATCH, _RANDOM_SHARE, found.record.id)
        made = [(int(found.ids[row]), UNSURE) for row in unsure] + [(int(found.ids[row]), RANDOM) for row in sampled]
        order = np.random.default_rng(found.record.id).permutation(len(made))
        st.session_state[key] = [made[place] for place in order]
    known = set(found.ids.tolist())
    return [(id, method) for id, method in st.session_state.get(key, []) if id in known]


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


def _place(state: RelabelState, id: int, code: int, method: str) -> None:
    """Give a sentence a code, if it is still the one that is shown; for callbacks."""
    if st.session_state.pop(_SHOWN, None) != id:
        st.session_state[_NOTICE] = UNSEEN
        return
    ids = np.array([id], np.int64)
    if int(state.partition.numbers[state.partition.rows(ids)][0]) == code:
        state.apply(lambda partition: op.approve(partition, ids), keep_selection=True, method=method)
    else:
        state.apply(lambda partition: op.assign(partition, ids, code), keep_selection=True, method=method)


def _skip(state: RelabelState, id: int) -> None:
    record = _newest(state)
    key = f"code_rest_round_{record.id if record else 0}"
    st.session_state[key] = [pair for pair in st.session_state.get(key, []) if pair[0] != id]


def _list(state: RelabelState, found: _Predicted) -> None:
    if not len(found.ids):
        return
    names = {number: cluster.name for number, cluster in state.partition.clusters.items()}
    order = st.segmented_control(
        "Predictions", ["Surest first", "Least sure first"], default="Surest first", required=True
    )
    rows = range(min(len(found.ids), _LISTED))
    shown = [row if order == "Surest first" else len(found.ids) - 1 - row for row in rows]
    draw_table(
        {
            "Sentence": [shorten(state.session.texts[int(found.ids[row])], _MAX_TEXT) for row in shown],
            "Predicted code": [names.get(found.code(row), "a deleted cluster") for row in shown],
            "Probability": [f"{100 * found.probabilities[row].max():.0f} %" for row in shown],
        },
        height=420,
    )
    st.caption(f"Showing {len(shown):,} of {len(found.ids):,}. Exports of labels do not contain predictions.")
    with st.container(horizontal=True):
        download("All predictions (CSV)", lambda: _csv(found, names), f"{state.record.name} predictions.csv")
        if st.button(
            "Labelling of the predictions", icon=":material/smart_toy:",
            help="Makes a labelling of a machine, to compare on the page Agreement with people who labelled some of "
            "these sentences in labellings of their own.",
        ):  # fmt: skip
            record, name = state.record, f"{state.record.name} · predictions"[:180]
            new = NewLabelling(record.corpus_id, name, current_person(), article_id=record.article_id)
            made = attempt(lambda: starts.begin(queries.store(), new, starts.from_predictions(record.id)))
            if made is not None:
                switch_page("code", compare_queries.edit_view(made.name))


def _csv(found: _Predicted, names: dict[int, str]) -> str:
    codes = [names.get(code, "a deleted cluster") for code in found.record.codes]

    def row(sentence: LocatedSentence, at: int) -> tuple[Any, ...]:
        chances = [round(float(value), 4) for value in found.probabilities[at]]
        return (*place_cells(sentence), codes[found.probabilities[at].argmax()], max(chances), *chances)

    lines = [line for part in sentence_parts(queries.store(), found.ids, row) for line in part]
    return csv_text((*PLACE, "predicted code", "probability", *codes), lines)


def _report(values: dict[str, Any]) -> PredictionReport:
    def estimate(one: dict[str, Any]) -> Estimate:
        value, low, high = (np.nan if one[name] is None else one[name] for name in ("value", "low", "high"))
        return Estimate(value, low, high, one["n"])

    return PredictionReport(
        estimate(values["accuracy"]), estimate(values["macro_f1"]), (), values["calibration_error"],
        np.array(values["confusion"]), np.array(values["confidence"]), np.array(values["right"], bool),
        tuple(map(tuple, values["curve"])),
    )  # fmt: skip


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _cell(one: dict[str, Any]) -> str:
    return "–" if one["value"] is None else f"{one['value']:.2f} [{one['low'] or 0:.2f}, {one['high'] or 0:.2f}]"
