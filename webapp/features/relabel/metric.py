"""A metric that is learned from labels in seconds, and used in one step."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from themescope.core.labelling.partition import Partition
from themescope.core.records.stored import ModelRecord
from themescope.db.access import Right
from themescope.jobs.common.labelled.placed import judged_pairs
from themescope.jobs.services.labelling import metrics
from themescope.jobs.services.labelling.metrics import LearnedMetric
from themescope.webapp.features.relabel import queries as page_queries
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing, one_model
from themescope.webapp.shared.components import attempt, draw_table
from themescope.webapp.shared.job_status import submit
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import count, duration, plain, score, with_interval

TITLE = "Learn a metric from these labels"


@dataclass(frozen=True, slots=True)
class _Result:
    """A learned metric with the state that it was learned from."""

    step: int
    learned: LearnedMetric
    after: Partition
    """The labelling, re-clustered under the metric around the placed sentences."""


def show(state: RelabelState) -> None:
    """Draw the form that learns a metric, and what it would change."""
    key = f"relabel_metric_{state.record.id}"
    folded = st.expander(TITLE, icon=":material/bolt:", key=f"{key}_open", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.markdown(
            "In seconds, the vectors of a model are stretched along a few axes so that sentences that people put "
            "together are closer. Suggestions, search by meaning, re-clustering and the quick map then use it. "
            "Articles of the test split are not learned from. Fine-tuning, below, changes a network itself."
        )
        model, name = metrics.model_in_use(queries.store(), state.partition), metrics.name_in_use(state.partition)
        if model is None:
            if name:
                st.caption(f"The metric “{plain(name)}” of this labelling is not in this store. Learn one again.")
        else:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f":material/check_circle: This labelling uses **{plain(model.name)}**.", width="stretch")
                corpus = queries.read(lambda r: r.corpora.get(state.record.corpus_id).name)
                if may(Right.MANAGE) and st.button("Compute a map", icon=":material/map:", key="relabel_metric_map"):
                    submit("project", {"corpus": corpus, "model": model.name})
                if st.button(
                    "Stop using it", icon=":material/close:", key="relabel_metric_stop", disabled=state.read_only
                ):
                    state.apply(metrics.stop, keep_selection=True)
                    st.rerun()
        models = metrics.usable_bases(page_queries.models_for(state.record.id, state.record.members))
        if state.record.blind or not models:
            if state.record.blind:
                st.caption("Blind labellings use no model.")
            else:
                nothing(
                    "No model has vectors of these sentences.",
                    "A metric needs dense vectors of single sentences. Compute a map with such a model first.",
                    "map",
                    "Open Map",
                )
            return
        base = one_model("Vectors of", models, f"{key}_base")
        if st.button("Learn a metric", icon=":material/bolt:", key=f"{key}_learn"):
            with st.spinner("Learning, and measuring the effect on other sentences …", show_time=True):
                st.session_state[f"{key}_result"] = attempt(lambda: _learn(state, base))
        result: _Result | None = st.session_state.get(f"{key}_result")
        if result is not None:
            _show_result(state, result)


def _learn(state: RelabelState, base: ModelRecord) -> _Result:
    store, record = queries.store(), state.record
    learned = metrics.learn_from_labels(store, record, state.partition, base)
    x = page_queries.matrix(base.id, base.digest, record.id, record.members)
    placed = judged_pairs(store, record, state.partition).placed
    after = metrics.preview(state.partition, x, learned, placed)
    return _Result(state.session.snapshot.step, learned, after)


def _show_result(state: RelabelState, result: _Result) -> None:
    learned = result.learned
    st.caption(
        f"Learned from {count(learned.sentences, 'judged sentence')} in {duration(learned.seconds)}. The effect is "
        "measured on sentences, or whole articles, that the metric was not learned from (ten-fold cross-validation): "
        "the share of pairs in which a sentence of the same cluster is nearer than one of another cluster."
    )
    rows = [
        {
            "Measured on": what,
            "Before": score(effect.before),
            "After": score(effect.after),
            "Difference (95 % interval)": with_interval(effect.difference),
            "Number": effect.difference.n,
        }
        for what, effect in (("Other sentences", learned.on_sentences), ("Other articles", learned.on_articles))
        if effect is not None
    ]
    if rows:
        draw_table(rows)
    else:
        st.caption("Too few sentences share a cluster to measure an effect. Place more sentences in each cluster.")
    if result.step != state.session.snapshot.step:
        st.info("The labels have changed since. Learn the metric again.", icon=":material/info:")
    elif not learned.helps:
        st.info(
            "**It stays off.** This metric does not help with other sentences: the difference is not above 0. Place "
            "more sentences, or try another model.",
            icon=":material/info:",
        )
    else:
        _use_form(state, result)


def _use_form(state: RelabelState, result: _Result) -> None:
    changed = int((result.after.numbers != state.partition.numbers).sum())
    sure = all(
        effect.difference.low > 0
        for effect in [
            effect for effect in (result.learned.on_sentences, result.learned.on_articles) if effect is not None
        ]
    )
    doubt = "" if sure else " The interval includes 0, so the effect may be due to chance."
    st.success(f"**It helps** with other sentences.{doubt}", icon=":material/check_circle:")
    move = st.toggle(
        f"Re-cluster around the placed sentences too: {count(changed, 'sentence')} would move",
        value=False,
        key=f"relabel_metric_move_{state.record.id}",
        help="Placed sentences and those marked as uncertain stay. One undo restores everything.",
    )
    if not may(Right.MANAGE):
        st.caption("A metric is stored as a model, which requires the admin role.")
    if st.button(
        "Use this metric", type="primary", icon=":material/done:", disabled=state.read_only or not may(Right.MANAGE)
    ):
        with st.spinner("Storing the model …", show_time=True):
            model = attempt(lambda: metrics.keep(queries.store(), state.record, result.learned))
        if model is None:
            return
        page_queries.models_for.clear()
        after = result.after if move else None
        state.apply(lambda p: metrics.use(p, model, result.learned, after), keep_selection=True)
        st.session_state.pop(f"relabel_metric_{state.record.id}_result", None)
        st.rerun()
