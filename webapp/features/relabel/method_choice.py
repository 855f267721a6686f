"""Choice of the clustering method by the labels of a labelling: the ranking, and what the best one would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.core.types import Estimate
from themescope.db.access import Right
from themescope.jobs.common.labelled.placed import judged_pairs
from themescope.jobs.services.labelling import methods
from themescope.jobs.services.labelling.methods import MethodAdoption
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.features.relabel.state import CHOICE
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.job_status import active, submit
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import ago, count, ends, interval, plain, score, shorten

TITLE = "Choose the method by these labels"
_KIND = "choose-method"
_EXAMPLES, _MAX_TEXT = 5, 160
_SHOWN = 10
_POLL_S = 1.5


def show(state: RelabelState) -> None:
    """Draw the form that ranks methods, the last ranking, and the button that uses the best one."""
    key = f"{CHOICE}_{state.record.id}"
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
        done = _last(state)
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
            st.dataframe(_table(rows), hide_index=True, height="content")
            st.markdown(_reason(chosen, default, result.get("held_out")))
            _use(state, done, rows)


def _start(state: RelabelState) -> None:
    """Draw the button that starts the job; without enough labels it says what is missing."""
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
        key=f"{CHOICE}_start_{state.record.id}",
    ):
        name = state.record.name
        if submit(_KIND, {"labelling": name}, f"Choose the method by the labels of “{name}”") is not None:
            st.rerun()


def _running(state: RelabelState) -> list[JobRecord]:
    return [job for job in queries.active_jobs({_KIND}) if job.args.get("labelling") == state.record.name]


def _progress(state: RelabelState) -> None:
    """Draw the jobs that rank methods for this labelling; the tray reruns the page when one ends."""
    active(_running(state), f"{CHOICE}_{state.record.id}_jobs")


def _last(state: RelabelState) -> JobRecord | None:
    """Return the last finished ranking for this labelling."""
    done = (job for job in queries.jobs(limit=200) if job.kind == _KIND and job.status is JobStatus.DONE)
    return next((job for job in done if job.result.get("labelling_id") == state.record.id), None)


def _table(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    listed = [row for row in rows if row["place"] <= _SHOWN or row["chosen"] or row["default"]]
    return pd.DataFrame(
        {
            "Rank": [row["place"] for row in listed],
            "Model": [row["model"] for row in listed],
            "Clusterer": [methods.clusterer_title(row) for row in listed],
            "Clusters": [row["k"] for row in listed],
            "Shared words": ["yes" if row["shared"] else "no" for row in listed],
            "Agreement": [_estimate(row["agreement"]) for row in listed],
            "Gain": ["–" if row["default"] else _estimate(row["gain"]) for row in listed],
            "Remark": [_remark(row) for row in listed],
        }
    )


def _remark(row: Mapping[str, Any]) -> str:
    said = ("chosen" if row["chosen"] else "", "default" if row["default"] else "", "stored" if "run" in row else "")
    return ", ".join(filter(None, said))


def _estimate(found: Mapping[str, Any]) -> str:
    estimate = Estimate(**found)
    return interval(estimate.value, *ends(estimate))


def _reason(chosen: Mapping[str, Any], default: Mapping[str, Any], held_out: float | None) -> str:
    """Return which method is chosen and why."""
    if chosen["default"]:
        return (
            "**The default stays.** No method agrees with the labels so much better that this could not be chance: "
            "of many methods, the best one always agrees well with few sentences. Place more sentences to decide."
        )
    told = "" if held_out is None else f" On sentences left out of the choice, the gain is {score(held_out)}."
    return (
        f"**Chosen: {plain(methods.described(chosen))}.** Its agreement exceeds that of the default "
        f"({plain(methods.described(default))}) by {_estimate(chosen['gain'])}, more than the best of so many methods "
        f"would by chance.{told}"
    )


def _use(state: RelabelState, job: JobRecord, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw the choice of a method, what it would move, and the button that moves it."""
    key = f"{CHOICE}_{job.id}"
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
    """Draw some of the sentences that would move."""
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
    """Move the sentences in one step of the history."""
    st.session_state.pop(key, None)
    state.apply(lambda p: adoption.operation, keep_selection=True, method="method choice")
