"""Tab Label the rest: a language model codes by the codebook; what is sent, what it takes, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.core.records.stored import JobRecord, JobStatus
from themescope.db.access import Right
from themescope.jobs.common.language_models import coding
from themescope.jobs.common.language_models.coding import ALL, KIND, LABELLED, CodingPlan, CodingRequest
from themescope.jobs.common.language_models.requests import Endpoint
from themescope.webapp.features.relabel.editing import RelabelState
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.job_status import active
from themescope.webapp.shared.labelling import codebook_view
from themescope.webapp.shared.labelling.codebook_view import code
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.text import ago, count, duration, plain, score

TITLE = "Code with a language model"
_SENTENCES = {ALL: "All", LABELLED: "Labelled by people"}
_POLL_S = 1.5


def show(state: RelabelState) -> None:
    """Draw the newest result, and the form for another one."""
    folded = st.expander(TITLE, icon=":material/smart_toy:", key=f"relabel_coding_{state.record.id}", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.caption(
            "The codebook becomes the prompt of a language model. Its codes are a labelling of their own, which never "
            "counts as a person; the page Agreement tests whether it may replace one."
        )
        running = [job for job in queries.active_jobs({KIND}) if job.args.get("labelling") == state.record.name]
        if running:
            st.fragment(lambda: active(running, f"relabel_coding_{state.record.id}"), run_every=_POLL_S)()
        _newest(state)
        if not may(Right.MANAGE):
            st.caption("Sending texts to a language model requires the admin role.")
            return
        model = codebook_view.endpoint()
        if model is not None:
            _form(state, model)


def _form(state: RelabelState, model: Endpoint) -> None:
    key = f"relabel_coding_{state.record.id}"
    left, middle, right = st.columns([2, 1, 1])
    sentences = left.segmented_control(
        "Sentences to code", list(_SENTENCES), default=LABELLED, required=True, format_func=_SENTENCES.__getitem__,
        key=f"{key}_sentences", help="Begin with those that people labelled, here or in another labelling of the "
        "project: they show how good the model is before it codes the rest.",
    )  # fmt: skip
    limit = middle.number_input("Random sample", 0, step=50, key=f"{key}_limit", help="Number of sentences; 0: all.")
    batch = right.number_input("Per request", 1, 50, 10, key=f"{key}_batch", help="Sentences of a request.")
    written = st.text_area(
        "Instructions before the codebook", key=f"{key}_instructions", height=100,
        help="Optional. Several, separated by a line with three hyphens, are compared on the sentences that people "
        "labelled in this labelling, and the best one codes; an empty one is the codebook alone.",
    )  # fmt: skip
    instructions = tuple(part.strip() for part in f"\n{written or ''}\n".split("\n---\n"))
    wanted = CodingRequest(state.record.name, sentences or ALL, limit, 0, batch, instructions)
    try:
        plan = _plan(state.record.id, state.session.snapshot.step, wanted)
    except ThemescopeError as error:
        st.info(plain(str(error)), icon=":material/info:")
        return
    _estimate(plan, model, key)
    args = {
        "labelling": state.record.name, "person": current_person(), "sentences": wanted.sentences, "limit": limit,
        "batch": batch, "instructions": list(instructions), "texts": plan.digest,
    }  # fmt: skip
    codebook_view.agreement(KIND, args, plan.text, model, key, "Send and code")


@st.cache_resource(show_spinner="Reading the sentences …", max_entries=4, ttl=60)
def _plan(labelling_id: int, step: int, wanted: CodingRequest) -> CodingPlan:
    return coding.plan_of(queries.store(), wanted)


def _estimate(plan: CodingPlan, model: Endpoint, key: str) -> None:
    found = coding.estimate(plan, model, coding.newest_result(queries.store()))
    examples = f" {count(plan.examples, 'sentence')} with the text of an example will not be coded, because the prompt "
    examples = f"{examples}tells the code." if plan.examples else ""
    time = "unknown before the first job" if found.seconds is None else f"about {duration(found.seconds)}"
    st.markdown(
        f"{count(len(plan.texts), 'text')} in {count(found.requests, 'request')} will be sent to `{code(model.url)}`, "
        f"model `{code(model.model)}`; at most {found.most:,} requests if answers are unusable.{examples}"
    )
    left, right = st.columns(2)
    read = left.number_input("Price of a million tokens read", 0.0, key=f"{key}_price_read", format="%.2f")
    written = right.number_input("Price of a million tokens written", 0.0, key=f"{key}_price_written", format="%.2f")
    cost = f" · cost: about {found.cost(read, written):,.2f}" if read or written else ""
    st.caption(f"Tokens: about {found.read:,} read, {found.written:,} written{cost} · time: {time}")


def _newest(state: RelabelState) -> None:
    job = _newest_job(state.record.name)
    if job is None:
        return
    found = job.result
    left_out = {
        "no code fits": found["no_code"], "code not in the codebook": found["invented"],
        "unusable answer": found["unusable"], "failed": found["failed"], "example of the prompt": found["examples"],
    }  # fmt: skip
    others = ", ".join(f"{what}: {n:,}" for what, n in left_out.items() if n)
    others = f", {sum(left_out.values()):,} not ({others})" if others else ""
    st.markdown(
        f"**{plain(found['model'])}** coded {count(found['coded'], 'sentence')}{others} {ago(job.ended)}, "
        f"by {count(found['requests'], 'request')} in {duration(found['seconds'])}."
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        page_link(
            "relabel", plain(found["labelling"]), icon=":material/edit_note:",
            view=compare_queries.edit_view(found["labelling"]),
        )  # fmt: skip
        page_link("agreement", "Compare with people", icon=":material/handshake:")
    if "prompts" in found:
        _prompts(found)
    if found["problems"]:
        st.caption(
            f"Showing {len(found['problems']):,} of {count(found['problems_in_all'], 'text')} without a usable code; "
            "the reasons are notes of the labelling."
        )
        rows = [(row["sentence"], row["reason"]) for row in found["problems"]]
        draw_table(pd.DataFrame(rows, columns=["Sentence", "Reason"]), height="content" if len(rows) < 6 else 220)


def _newest_job(labelling: str) -> JobRecord | None:
    done = (job for job in queries.jobs(limit=200) if job.kind == KIND and job.status is JobStatus.DONE)
    return next((job for job in done if job.args.get("labelling") == labelling), None)


def _prompts(found: Mapping[str, Any]) -> None:
    rows = [
        (row["instructions"] or "–", f"{score(row['value'])} [{score(row['low'])}, {score(row['high'])}]",
         "best" if place == found["best"] else "")
        for place, row in enumerate(found["prompts"])
    ]  # fmt: skip
    draw_table(pd.DataFrame(rows, columns=["Instructions", "Accuracy", ""]))
    chosen = found["cross_validated"]
    st.caption(
        "Accuracy is the share of sentences with the code that people gave. That of the best is too high, because it "
        f"was chosen by the same sentences; cross-validated it is {score(chosen['value'])} [{score(chosen['low'])}, "
        f"{score(chosen['high'])}]."
    )
