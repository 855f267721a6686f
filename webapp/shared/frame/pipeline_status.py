"""The steps of a project from its import to its map, with their states, results and next actions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from themescope.core.records.stored import CorpusRecord, JobRecord, JobStatus
from themescope.db.access import Right
from themescope.db.store import Store
from themescope.jobs.common.importing.waves import is_list
from themescope.jobs.services import pipeline
from themescope.jobs.services.pipeline import PipelineStep
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import toast_error
from themescope.webapp.shared.job_status import FOLLOWED, elapsed, no_worker
from themescope.webapp.shared.labelling.task_queries import correct_button
from themescope.webapp.shared.navigation import open_project, page_link
from themescope.webapp.shared.people import may
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.text import count, duration, plain, shorten

_POLL_S = 1.5
_INSTANT_S = 0.1
_TELLS_FROM = 0.05
"""Progress from which the remaining time of a job can be told."""
_OPENED = "pipeline_opened"
"""Session key of the names of the projects that were opened after their import."""
_MOST = 3
"""Maximum number of projects whose steps a page shows."""
_ICONS = {
    "ready": (":material/check_circle:", "green", "done"),
    "running": (":material/autorenew:", "blue", "running"),
    "waiting": (":material/schedule:", "gray", "waiting"),
    "failed": (":material/error:", "red", "failed"),
    "cancelled": (":material/cancel:", "orange", "cancelled"),
    "none": (":material/radio_button_unchecked:", "gray", "not started"),
}


def open_imported() -> None:
    """Make the project that this session imported last the current one as soon as it is there, once; may rerun."""
    opened = st.session_state.setdefault(_OPENED, set())
    names = {corpus.name for corpus in queries.corpora()}
    new = next((name for name in _followed(imports=True) if name in names and name not in opened), None)
    if new is not None:
        opened.update(names)
        open_project(new)
        st.rerun()


def watch(project: CorpusRecord | None = None) -> None:
    """Draw the projects with running steps, and those whose steps were queued in this session, until dismissed.

    With ``project``, that one comes first if it lacks a result of a step.
    """
    names = [*pipeline.working(queries.store()), *_followed()]
    if project is not None and not all(step.ready for step in pipeline.steps_of(queries.store(), project.name)):
        names.insert(0, project.name)
    for corpus in list(dict.fromkeys(names))[:_MOST]:
        show(corpus)


def _followed(imports: bool = False) -> list[str]:
    """Return the names of the projects of the jobs that this session queued and that are steps, newest first.

    With ``imports``, those of jobs that import a project.
    """
    jobs = [queries.job(job_id) for job_id in reversed(st.session_state.get(FOLLOWED, []))]
    steps = [job for job in jobs if job is not None and pipeline.is_step(job)]
    return list(dict.fromkeys(str(job.args["corpus"]) for job in steps if not imports or job.kind in pipeline.IMPORTS))


def show(corpus: str) -> None:
    """Draw the steps of a project; they are refreshed while jobs run, and the page reruns when a step is done."""
    steps = pipeline.steps_of(queries.store(), corpus)
    working = any(step.active for step in steps)
    live = st.fragment(_draw, run_every=_POLL_S if working else None)
    live(corpus, tuple(_state(step) for step in steps))


def start(corpus: CorpusRecord) -> None:
    """Queue the steps of a project that have no result; for callbacks."""
    toast_error(lambda: pipeline.queue_pipeline(queries.store(), corpus.name, corpus.language))


def _draw(corpus: str, known: tuple[str, ...]) -> None:
    steps = pipeline.steps_of(queries.store(), corpus)
    found = tuple(_state(step) for step in steps)
    if found != known:
        st.rerun()
    record = next((one for one in queries.corpora() if one.name == corpus), None)
    with st.container(border=True, key=f"pipeline-{_key(corpus)}"):
        _heading(corpus, record, steps)
        for column, step in zip(st.columns(len(steps)), steps, strict=True):
            with column, st.container(gap="xxsmall"):
                icon, colour, word = _ICONS[_state(step)]
                st.markdown(f":{colour}[{icon}] **{step.name}** :gray[{word}]")
                job = step.job
                if _state(step) == "running" and job is not None:
                    left = remaining(job)
                    time = f"about {duration(left)} left" if left is not None else f"for {duration(elapsed(job))}"
                    about = " · ".join(filter(None, [job.message, time]))
                    st.progress(min(max(job.progress, 0.0), 1.0), text=plain(about))
                elif step.ready and record is not None:
                    _RESULTS[step.name](record, job)
        failed = next((step.job for step in steps if step.failed), None)
        if failed is not None and failed.status is JobStatus.FAILED:
            st.error(f"**{plain(failed.title)}** failed. {plain(failed.error)}", icon=":material/error:")
        if any(step.active for step in steps) and not queries.worker_alive():
            no_worker(sum(step.active for step in steps))


def _heading(corpus: str, record: CorpusRecord | None, steps: list[PipelineStep]) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{plain(shorten(corpus, 80))}**", width="stretch")
        if not may(Right.MANAGE):
            return
        if any(step.active for step in steps):
            _button("Cancel all", ":material/stop_circle:", corpus, pipeline.cancel_pipeline)
        elif any(step.failed for step in steps):
            _button("Retry", ":material/replay:", corpus, pipeline.retry_pipeline)
        elif record is not None and not all(step.ready for step in steps):
            st.button(
                "Find themes and draw the map", key=f"pipeline-start-{record.id}", icon=":material/play_arrow:",
                on_click=start, args=(record,),
            )  # fmt: skip
        if corpus in _followed():
            st.button(
                "Dismiss", key=f"pipeline-dismiss-{_key(corpus)}", icon=":material/close:", type="tertiary",
                on_click=_dismiss, args=(corpus,),
            )  # fmt: skip


def _dismiss(corpus: str) -> None:
    """Stop following the jobs of a project in this session."""
    jobs = {job_id: queries.job(job_id) for job_id in st.session_state.get(FOLLOWED, [])}
    st.session_state[FOLLOWED] = [
        job_id for job_id, job in jobs.items() if job is not None and job.args.get("corpus") != corpus
    ]


def _key(corpus: str) -> str:
    return hashlib.sha256(corpus.encode()).hexdigest()[:12]


def _button(label: str, icon: str, corpus: str, act: Callable[[Store, str], object]) -> None:
    key = f"pipeline-{label}-{_key(corpus)}"
    change = partial(toast_error, lambda: act(queries.store(), corpus))
    st.button(label, key=key, icon=icon, type="tertiary", on_click=change)


def _state(step: PipelineStep) -> str:
    if step.active and step.job is not None:
        return "running" if step.job.status is JobStatus.RUNNING else "waiting"
    if step.failed and step.job is not None:
        return "cancelled" if step.job.status is JobStatus.CANCELLED else "failed"
    return "ready" if step.ready else "none"


def remaining(job: JobRecord) -> float | None:
    """Return the seconds that a running job needs at its present rate; None at its beginning."""
    return elapsed(job) * (1 - job.progress) / job.progress if job.progress >= _TELLS_FROM else None


def _took(job: JobRecord | None) -> str:
    """Return how long a finished job ran; "" for an instant, and if it is not known."""
    known = job is not None and job.status is JobStatus.DONE and elapsed(job) >= _INSTANT_S
    return f" in {duration(elapsed(job))}" if job is not None and known else ""


def _imported(record: CorpusRecord, job: JobRecord | None) -> None:
    of, unit = "" if is_list(record) else f" of {count(record.articles, 'article')}", record.unit.value
    st.caption(f"{count(record.sentences, unit)}{of}{_took(job)}")
    page_link(
        "corpora",
        f"Read the {f'{unit}s' if is_list(record) else 'articles'}",
        view={"view": "Read", "corpus": record.name},
    )
    skipped, changed = (sum(record.report.get(name, {}).values()) for name in ("skipped", "changed"))
    if skipped or changed:
        st.caption(f"{skipped:,} left out, {changed:,} changed")
        page_link("corpora", "Import report", view={"view": "All projects", "details": record.name})


def _embedded(record: CorpusRecord, job: JobRecord | None) -> None:
    done = job.result if job is not None and job.kind == "embed" else {}
    if not done:
        st.caption("Vectors are stored.")
        return
    sample = f" of {record.sentences:,}" if done.get("sentences", 0) < record.sentences else ""
    st.caption(f"{count(int(done['sentences']), 'sentence')}{sample} by {plain(done.get('model', ''))}{_took(job)}")
    if done.get("cut_off"):
        st.caption(f"The model read only the beginning of {count(int(done['cut_off']), 'sentence')}.")
    page_link("search", "Search by meaning", view={"corpus": record.name, "in": "Meaning"})


def _themed(record: CorpusRecord, job: JobRecord | None) -> None:
    found = next(iter(partition_queries.analyses(record.id)), None)
    if found is None:
        return
    clustered = int(found.run.config["sentences"])
    sample = f" in a sample of {clustered:,} sentences" if clustered < record.sentences else ""
    st.caption(f"{count(len(found.themes), 'theme')}{sample}{_took(job)}")
    page_link("themes", "See the themes", view={"view": "Results", "result": found.name, "corpus": record.name})
    correct_button("Correct these themes", found)


def _drawn(record: CorpusRecord, job: JobRecord | None) -> None:
    maps = [found for found in queries.maps(record.id) if not found.config.get("articles")]
    if not maps:
        return
    every = maps[0].sampled_from
    limit = int(maps[0].config.get("limit", 0) or every)
    st.caption(f"{'A sample of ' if limit < every else ''}{min(limit, every):,} sentences{_took(job)}")
    page_link("map", "Open the map", view=map_view(record, maps[0].name))
    if record.sections > 2 * record.articles:
        page_link("compare", "Compare methods", view={"corpus": record.name})


def map_view(corpus: CorpusRecord, name: str) -> Mapping[str, str]:
    """Return the view of a map that is coloured by the newest themes of the whole corpus, if there are any."""
    newest = next(iter(partition_queries.analyses(corpus.id)), None)
    view = {"corpus": corpus.name, "map": name}
    return view if newest is None else view | {"colour": newest.colour_name}


_RESULTS = {"Import": _imported, "Embed": _embedded, "Themes": _themed, "Map": _drawn}
