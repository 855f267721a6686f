"""What is learned from labels in seconds: the ranking of clustering methods, and a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.records.stored import JobRecord, ModelRecord
from themescope.core.types import Estimate
from themescope.db.access import Right
from themescope.jobs.common.labelled.placed import judged_pairs
from themescope.jobs.services.labelling import methods, metrics
from themescope.jobs.services.labelling.methods import MethodAdoption
from themescope.jobs.services.labelling.metrics import LearnedMetric
from themescope.webapp.features.relabel import queries as page_queries
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing, one_model
from themescope.webapp.shared.components import attempt, draw_table
from themescope.webapp.shared.job_status import active, submit
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import ago, count, duration, plain, score, shorten, with_interval

TITLE = "Choose the method by these labels"
_KIND = "choose-method"
_EXAMPLES, _MAX_TEXT = 5, 160
_SHOWN = 10
_POLL_S = 1.5


def show(state: RelabelState) -> None:
    """Draw the form that ranks methods, the last ranking, and the button that uses the best one."""
    key = f"relabel_choice_{state.record.id}"
    folded = st.expander(TITLE, icon=":material/leaderboard:", key=f"{key}_open", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.markdown(
            "Clusters the sentences with several models, clusterers and numbers of clusters, and ranks the results by "
            "how well they agree with the sentences that people placed and the questions that they answered. A stored "
            "clustering of the same sentences takes part too."
        )
        if state.record.blind:
            st.caption("Blind labellings use no model.")
            return
        _start(state)
        if _running(state):
            st.fragment(_progress, run_every=_POLL_S)(state)
        done = page_queries.last_job(_KIND, state.record.id)
        if done is not None:
            result = done.result
            rows: list[Mapping[str, Any]] = result["ranking"]
            chosen = next(row for row in rows if row["chosen"])
            default = next(row for row in rows if row["default"])
            st.caption(
                f"{count(result['candidates'], 'clustering')} compared with "
                f"{count(result['sentences'], 'judged sentence')} ({count(result['pairs'], 'pair')}), "
                f"{ago(done.ended)}. Agreement is Cohen’s kappa over pairs, with the 95 % interval over sentences or "
                "articles: 1 is full agreement, 0 is chance. The gain is the difference to the default."
            )
            listed = [row for row in rows if row["place"] <= _SHOWN or row["chosen"] or row["default"]]
            draw_table(
                {
                    "Rank": [row["place"] for row in listed],
                    "Model": [row["model"] for row in listed],
                    "Clusterer": [methods.clusterer_title(row) for row in listed],
                    "Clusters": [row["k"] for row in listed],
                    "Shared words": ["yes" if row["shared"] else "no" for row in listed],
                    "Agreement": [with_interval(Estimate(**row["agreement"])) for row in listed],
                    "Gain": [with_interval(None if row["default"] else Estimate(**row["gain"])) for row in listed],
                    "Remark": [_remark(row) for row in listed],
                },
                height="content",
            )
            st.markdown(_reason(chosen, default, result.get("held_out")))
            _use(state, done, rows)


def _start(state: RelabelState) -> None:
    pairs = judged_pairs(queries.store(), state.record, state.partition).pairs
    enough = pairs.both_kinds and len(pairs.sentences) >= methods.FEWEST
    if not enough:
        st.info(
            f"People judged {count(len(pairs.sentences), 'sentence')} here. The choice needs at least "
            f"{methods.FEWEST}, with two or more in each of two clusters: with fewer it was no better than the "
            "default, so it stays off. Place sentences, or answer questions.",
            icon=":material/info:",
        )
    elif not may(Right.MANAGE):
        st.caption("Starting jobs requires the admin role.")
    if st.button(
        "Rank methods",
        icon=":material/leaderboard:",
        disabled=not enough or not may(Right.MANAGE),
        key=f"relabel_choice_start_{state.record.id}",
    ):
        name = state.record.name
        if submit(_KIND, {"labelling": name}, f"Choose the method by the labels of “{name}”") is not None:
            st.rerun()


def _running(state: RelabelState) -> list[JobRecord]:
    return [job for job in queries.active_jobs({_KIND}) if job.args.get("labelling") == state.record.name]


def _progress(state: RelabelState) -> None:
    """Draw the jobs that rank methods for this labelling; the tray reruns the page when one ends."""
    active(_running(state), f"relabel_choice_{state.record.id}_jobs")


def _remark(row: Mapping[str, Any]) -> str:
    said = ("chosen" if row["chosen"] else "", "default" if row["default"] else "", "stored" if "run" in row else "")
    return ", ".join(filter(None, said))


def _reason(chosen: Mapping[str, Any], default: Mapping[str, Any], held_out: float | None) -> str:
    if chosen["default"]:
        return (
            "**The default stays.** No method agrees with the labels so much better that this could not be chance: "
            "of many methods, the best one always agrees well with few sentences. Place more sentences to decide."
        )
    gain = with_interval(Estimate(**chosen["gain"]))
    told = "" if held_out is None else f" On sentences left out of the choice, the gain is {score(held_out)}."
    return (
        f"**Chosen: {plain(methods.described(chosen))}.** Its agreement exceeds that of the default "
        f"({plain(methods.described(default))}) by {gain}, more than the best of so many methods "
        f"would by chance.{told}"
    )


def _use(state: RelabelState, job: JobRecord, rows: Sequence[Mapping[str, Any]]) -> None:
    key = f"relabel_choice_{job.id}"
    best = next(row for row in rows if row["chosen"])
    offered = [best, *(row for row in rows[:_SHOWN] if row is not best)]
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    # By place: a stored clustering may be described like another one.
    places = range(len(offered))
    wanted = left.selectbox("Method", places, format_func=lambda at: _named(offered[at]), key=f"{key}_method")
    step = state.session.snapshot.step
    if right.button("Preview", icon=":material/visibility:", key=f"{key}_preview"):
        with st.spinner("Clustering …", show_time=True):
            found = attempt(
                lambda: methods.preview_method(
                    queries.store(), state.record, state.partition, offered[wanted], state.session.next_number,
                    job.result["seed"],
                )
            )  # fmt: skip
        st.session_state[f"{key}_found"] = (wanted, step, found)
    seen, at_step, adoption = st.session_state.get(f"{key}_found", (-1, -1, None))
    if adoption is not None and seen == wanted and at_step == step:
        is_best = wanted == 0
        st.markdown(
            f"{count(adoption.placed, 'sentence')} placed by people, and those marked as uncertain, stay where they "
            f"are. **{count(adoption.moved, 'other')}** would move; {count(adoption.created, 'new cluster')}, "
            f"{count(adoption.deleted, 'cluster')} emptied and removed."
        )
        _examples(state, adoption.after)
        st.button(
            "Use the best" if is_best else "Use this method",
            type="primary",
            icon=":material/auto_fix_high:",
            disabled=state.read_only or not adoption.operation.change_set,
            on_click=_apply,
            args=(state, adoption, f"{key}_found"),
            key=f"{key}_use",
        )


def _named(row: Mapping[str, Any]) -> str:
    return methods.described(row) + (" (stored)" if "run" in row else "")


def _examples(state: RelabelState, after: Partition) -> None:
    before = state.partition

    def name(partition: Partition, row: int) -> str:
        number = int(partition.numbers[row])
        return "unassigned" if number == UNASSIGNED else partition.clusters[number].name

    rows = (before.numbers != after.numbers).nonzero()[0][:_EXAMPLES].tolist()
    with st.container(gap="xxsmall"):
        for row in rows:
            text = shorten(state.session.texts[int(before.ids[row])], _MAX_TEXT)
            st.text(f"{name(before, row)} → {name(after, row)}:  {text}")


def _apply(state: RelabelState, adoption: MethodAdoption, key: str) -> None:
    st.session_state.pop(key, None)
    state.apply(lambda p: adoption.operation, keep_selection=True, method="method choice")


# --- metric -----------------------------------------------------------------------------------------------------------


METRIC_TITLE = "Learn a metric from these labels"


@dataclass(frozen=True, slots=True)
class _Result:
    """A learned metric with the state that it was learned from."""

    step: int
    learned: LearnedMetric
    after: Partition
    """The labelling, re-clustered under the metric around the placed sentences."""


def show_metric(state: RelabelState) -> None:
    """Draw the form that learns a metric, and what it would change."""
    key = f"relabel_metric_{state.record.id}"
    folded = st.expander(METRIC_TITLE, icon=":material/bolt:", key=f"{key}_open", on_change="rerun")
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
