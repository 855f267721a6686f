"""Frame of every page: places at the left; above, the project, the pages of the place, search, jobs and person."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from html import escape
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from themescope.core.records.stored import CorpusRecord, JobRecord, JobStatus
from themescope.db.access import Actor, Right
from themescope.db.store import Store
from themescope.jobs.common.columns import is_list
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.kinds import shown_on
from themescope.jobs.services import pipeline
from themescope.jobs.services.pipeline import PipelineStep, remaining_s
from themescope.webapp.shared import compare_queries, job_status, navigation, people, projects, queries, search
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import draw_component, toast_error
from themescope.webapp.shared.job_status import FOLLOWED, elapsed, no_worker
from themescope.webapp.shared.labelling import correct_button
from themescope.webapp.shared.navigation import offered, open_project, page_link, switch_page
from themescope.webapp.shared.pages import CORPUS, DOCUMENTATION, PageCard, by_place, place_of
from themescope.webapp.shared.people import may, polled
from themescope.webapp.shared.text import ago, count, duration, plain, shorten, time_left

_HOME = "home"
_NAME_CHARS, _SEARCHED = 28, 8
_GONE = "It may have been deleted or renamed, or it is not shared with you."
_LONGEST = 120
_SWITCH, _FIND = "frame_project", "frame_find_project"


def sidebar(cards: Mapping[str, PageCard], current: PageCard) -> None:
    """Draw the links to the places; a place opens at the page that was open in it last. The logo leads to Home."""
    here, visited = place_of(current), st.session_state.setdefault(navigation.VISITED, {})
    if here is not None:
        visited[here.title] = current.id
    with st.sidebar, st.container(key="frame-places", gap="xxsmall"):
        for place, pages in by_place(cards.values()).items():
            named = {card.id: card for card in pages}
            card = named.get(visited.get(place.title, ""), pages[0])
            _link(card, place.title, place.icon, place == here)


def header(cards: Mapping[str, PageCard], current: PageCard, actor: Actor) -> None:
    """Draw one row: the project, links to the pages of the place, search, jobs, and the menu of the person."""
    place = place_of(current)
    pages = by_place(cards.values()).get(place, []) if place is not None else []
    row: dict[str, Any] = {"horizontal": True, "vertical_alignment": "center", "gap": "xxsmall", "wrap": False}
    with st.container(key="frame-header", **row):
        with st.container(key="frame-project", **row):
            switcher()
            st.title(current.title, anchor=False)
        with st.container(key="frame-tabs", **row):
            for card in pages if len(pages) > 1 else []:
                _link(card, card.title, "", card == current)
        search.dialog()
        tray(current.id)
        menu(cards, current, actor)
        # Runs the page again when the browser turns light or dark: Streamlit redraws its own elements only.
        draw_component("theme_watch", key="theme_watch", on_theme_change=lambda: None)
        draw_component("tab_focus", key="tab_focus")  # keeps the keyboard on a tab that is drawn anew


_WORDS = {"labelling": "coding", "labelled text": "coded text", "document": "text"}
"""Kinds of records (``UrlKey.record``) → what pages call them."""


def missing(page: str) -> bool:
    """Draw, in place of the page, what the link to it names and does not exist; return whether there is such."""
    if name := projects.unknown():
        what = f"There is no project called “{shorten(name, _LONGEST)}”."
        nothing(what, _GONE + " Choose another one in the menu at the top.", "home", "All projects")
        return True
    kind, name = navigation.missing()
    if kind:
        verb = "are" if kind.endswith("s") else "is"
        what = f"There {verb} no {_WORDS.get(kind, kind)} called “{shorten(name, _LONGEST)}” in this project."
        nothing(what, _GONE, page, "Open the page without it")
    return bool(kind)


def _link(card: PageCard, label: str, icon: str, is_current: bool) -> None:
    """Draw a link to a page of the navigation. Streamlit's own links do not tell which one is current."""
    if not is_current:
        navigation.page_link(card.id, plain(label), icon=icon)
        return
    query = urlencode(navigation.address(card), doseq=True)
    address = f"/{'' if card.id == _HOME else card.id}{'?' if query else ''}{query}"
    name = icon.removeprefix(":material/").removesuffix(":")
    shown = f'<span class="icon" aria-hidden="true">{escape(name)}</span>' if name else ""
    link = f'<a class="frame-current" aria-current="page" href="{escape(address)}" target="_self">'
    st.html(f"{link}{shown}<span>{escape(label)}</span></a>", width="stretch" if icon else "content")


def menu(cards: Mapping[str, PageCard], current: PageCard, actor: Actor) -> None:
    """Draw the menu of the person: name, sign-out, pages that belong to no place, and documentation."""
    label = plain(shorten(actor.name or people.UNNAMED, _NAME_CHARS))
    with st.popover(label, key="frame-menu", type="tertiary", icon=":material/person:"):
        people.show_identity(actor)
        for card in cards.values():
            if place_of(card) is None and card.id != _HOME:
                navigation.page_link(card.id, plain(card.title), icon=card.icon, key=f"frame-menu-{card.id}")
        with st.container(key="frame-documentation", gap="xxsmall"):
            for name, icon, address in (
                ("Help with this page", ":material/help:", current.documentation),
                ("Documentation", ":material/menu_book:", ""),
                ("Glossary", ":material/dictionary:", "glossary.html"),
                ("Keyboard shortcuts", ":material/keyboard:", "relabelling.html#keyboard-shortcuts"),
            ):
                st.link_button(name, DOCUMENTATION + address, icon=icon, type="tertiary")
        # For all pages of this browser (WCAG 2.1.4).
        draw_component("search_key_setting", data={"label": "Shortcuts of a single key"}, key="search_key_setting")


@st.fragment
def switcher() -> None:
    """Draw the current project as a menu of all projects, with links to a new project and to the list of them."""
    chosen = projects.current()
    label = shorten(chosen.name, _NAME_CHARS) if chosen else "No project"
    # The list is read when it is opened, not in every run of every page.
    # Its key is that of the project, so that it is closed once another one is chosen.
    with st.container(key=_SWITCH):
        key = f"{_SWITCH}_menu_{chosen.id if chosen else 0}"
        menu = st.popover(plain(label), key=key, type="tertiary", on_change="rerun")
    if menu.open:
        with menu:
            if chosen is not None:
                st.caption(f"Unit of analysis: {chosen.unit.value} ({chosen.sentences:,} in this project)")
            listed = projects.by_activity(queries.corpora())
            wanted = ""
            if len(listed) > _SEARCHED:
                wanted = st.text_input("Find a project", key=_FIND, icon=":material/search:").strip().casefold()
            found = [corpus for corpus in listed if wanted in corpus.name.casefold()]
            for corpus in found[:_SEARCHED]:
                is_current = chosen is not None and corpus.id == chosen.id
                if st.button(
                    plain(shorten(corpus.name, 2 * _NAME_CHARS)),
                    key=f"{_SWITCH}_{corpus.id}",
                    type="tertiary",
                    icon=":material/check:" if is_current else ":material/folder:",
                    disabled=is_current,
                    width="stretch",
                    help=f"{count(corpus.sentences, 'unit')}, imported {ago(corpus.created)}",
                ):
                    navigation.open_project(corpus.name)
                    st.rerun()
            if len(found) > _SEARCHED:
                st.caption(f"and {count(len(found) - _SEARCHED, 'more project')}")
            elif listed and not found:
                st.caption("No project matches.")
            navigation.page_link("import", "New project", icon=":material/add:", key=f"{_SWITCH}_import")
            navigation.page_link("home", "All projects", icon=":material/list:", key=f"{_SWITCH}_list")


# The jobs tray: a control of the header on every page with the running jobs and those that ended in this session

_POLL_S = 2.0
_JOB_TRAY_LISTED, _ENDED, _FOLLOWED, _NEWEST = 6, 5, 20, 50
_TITLE_CHARS = 70
_TOLD, _TRAY = "jobs_told", "jobs_tray"
_SEEN = "jobs_seen"
"""Session key: states of the newest jobs of the page at the beginning of its last run."""


def tray(page: str) -> None:
    """Draw the tray; the page reruns when a job changes whose results it may show.

    That includes a job which this run of the page queues, and which ends before the tray looks for the first time.
    """
    st.session_state.pop(_SEEN, None)
    polled(_POLL_S)(_live)(tuple(sorted(shown_on(page))))


def _live(kinds: tuple[str, ...]) -> None:
    active, alive = queries.active_jobs(), queries.workers()
    states = {job.id: job.status for job in [*queries.jobs(limit=_NEWEST), *active] if job.kind in kinds}
    seen: dict[int, JobStatus] = st.session_state.setdefault(_SEEN, states)
    if any(seen.get(id) is not status for id, status in states.items()) or any(
        id not in states for id, status in seen.items() if not status.ended
    ):
        st.rerun()
    followed = [*filter(None, map(queries.job, st.session_state.get(FOLLOWED, [])[-_FOLLOWED:]))]
    _tell(followed)
    running = [job for job in active if job.status is JobStatus.RUNNING]
    ended = [job for job in followed if job.status.ended][-_ENDED:]
    label, icon = "No jobs", ":material/task_alt:"
    if not alive:
        label, icon = "No worker", ":material/pause_circle:"
    elif running:
        label, icon = f"{count(len(active), 'job')} · {running[0].progress:.0%}", ":material/autorenew:"
    elif active:
        label, icon = f"{count(len(active), 'job')} queued", ":material/schedule:"
    with st.popover(label, key=_TRAY, type="tertiary", icon=icon):
        if not alive:
            job_status.no_worker(len(active) - len(running))
        history = queries.jobs(limit=200) if running else []
        for job in [*running, *(job for job in active if job not in running)][:_JOB_TRAY_LISTED]:
            _job(job, history)
        if len(active) > _JOB_TRAY_LISTED:
            st.caption(f"and {count(len(active) - _JOB_TRAY_LISTED, 'more job')}")
        for job in reversed(ended):
            _ended(job)
        if not active and not ended:
            st.caption("No jobs are running.")
        if page_link("jobs", "All jobs", key=f"{_TRAY}-all"):
            st.rerun()


def _job(job: JobRecord, history: list[JobRecord]) -> None:
    with st.container(key=f"{_TRAY}-{job.id}", gap="xxsmall"):
        with st.container(horizontal=True, vertical_alignment="center", wrap=False):
            st.markdown(_title(job), width="stretch")
            job_status.cancel_button(job, f"{_TRAY}-cancel-{job.id}")
        if job.started is None:
            st.caption(f"queued {ago(job.created)}")
            return
        left = remaining_s(job, history, datetime.now(UTC))
        about = [job_status.message(job), "" if left is None or job.cancel else time_left(left)]
        st.progress(min(max(job.progress, 0.0), 1.0), text=" · ".join(filter(None, about)) or None)


def _ended(job: JobRecord) -> None:
    with st.container(horizontal=True, vertical_alignment="center", wrap=False):
        job_status.badge(job)
        st.markdown(_title(job), width="stretch")
        if job.status is JobStatus.DONE and result_link(job, f"open-{job.id}"):
            st.rerun()
    if job.status is JobStatus.FAILED:
        st.caption(plain(job.error))
    if renamed := job.result.get("renamed"):
        st.caption(plain(renamed))


def result_link(job: JobRecord, key: str) -> bool:
    """Draw the link to the result of a job, where a page shows it; returns whether it changed the open page."""
    link = KINDS.get(job.kind).link if job.kind in KINDS else None
    view = link.view_of({**job.args, **job.result}) if link else None
    if link is None or view is None or not offered(link.page):
        return False
    project = {CORPUS: str(job.args[CORPUS])} if CORPUS in job.args else {}
    return page_link(link.page, "Open result", view=project | view, key=key)


def _tell(followed: list[JobRecord]) -> None:
    """Tell of each job once that it is queued, which includes running, and how it ended."""
    told: dict[int, JobStatus] = st.session_state.setdefault(_TOLD, {})
    stages = {job.id: job.status if job.status.ended else JobStatus.QUEUED for job in followed}
    news: dict[JobStatus, list[JobRecord]] = {stage: [] for stage in JobStatus}
    for job in followed:
        if told.get(job.id) is not stages[job.id]:
            news[stages[job.id]].append(job)
    told |= stages
    if queued := news[JobStatus.QUEUED]:
        others = f" and {count(len(queued) - 1, 'other job')}" if len(queued) > 1 else ""
        st.toast(f"Queued: **{_title(queued[0])}**{others}.", icon=":material/schedule:")
    if done := news[JobStatus.DONE]:
        more = f" ({count(len(done) - 1, 'other job')} done)" if len(done) > 1 else ""
        st.toast(f"**{_title(done[-1])}** finished in {duration(elapsed(done[-1]))}{more}.", icon=":material/check:")
    for job in news[JobStatus.FAILED]:
        st.toast(f"**{_title(job)}** failed. {plain(job.error)}", icon=":material/error:", duration="long")


def _title(job: JobRecord) -> str:
    return plain(shorten(job.title, _TITLE_CHARS))


# The steps of a project from its import to its map, with their states, results and next actions

_PIPELINE_STATUS_POLL_S = 1.5
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
    """Open the project that this session imported last as soon as it is there, once; may end the run.

    The page Themes has its themes when they are found; without them, it is opened where one is.
    """
    opened = st.session_state.setdefault(_OPENED, set())
    names = {corpus.name for corpus in queries.corpora()}
    new = next((name for name in _followed(imports=True) if name in names and name not in opened), None)
    if new is not None:
        opened.update(names)
        if offered("themes") and any(step.active for step in pipeline.steps_of(queries.store(), new)):
            switch_page("themes", {CORPUS: new})
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
    jobs = filter(None, map(queries.job, reversed(st.session_state.get(FOLLOWED, []))))
    steps = [job for job in jobs if pipeline.is_step(job)]
    return list(dict.fromkeys(str(job.args["corpus"]) for job in steps if not imports or job.kind in pipeline.IMPORTS))


def show(corpus: str) -> None:
    """Draw the steps of a project; they are refreshed while jobs run, and the page reruns when a step is done."""
    steps = pipeline.steps_of(queries.store(), corpus)
    every = _PIPELINE_STATUS_POLL_S if any(step.active for step in steps) else None
    polled(every)(_draw)(corpus, tuple(map(_state, steps)))


def start(corpus: CorpusRecord) -> None:
    """Queue the steps of a project that have no result; for callbacks."""
    toast_error(lambda: pipeline.queue_pipeline(queries.store(), corpus.name, corpus.language))


def _draw(corpus: str, known: tuple[str, ...]) -> None:
    steps = pipeline.steps_of(queries.store(), corpus)
    if tuple(map(_state, steps)) != known:
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
                    ran, time = elapsed(job), f"for {duration(elapsed(job))}"
                    if job.progress >= _TELLS_FROM:  # at its present rate
                        time = f"about {duration(ran * (1 - job.progress) / job.progress)} left"
                    about = " · ".join(filter(None, [job.message, time]))
                    st.progress(min(max(job.progress, 0.0), 1.0), text=plain(about))
                elif step.ready and record is not None:
                    _RESULTS[step.name](record, job)
        failed = next((step.job for step in steps if step.failed), None)
        if failed is not None and failed.status is JobStatus.FAILED:
            st.error(f"**{plain(failed.title)}** failed. {plain(failed.error)}", icon=":material/error:")
        if any(step.active for step in steps) and not queries.workers():
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
                "Find themes and draw the map",
                key=f"pipeline-start-{record.id}",
                icon=":material/play_arrow:",
                on_click=start,
                args=(record,),
            )
        if corpus in _followed():
            st.button(
                "Dismiss",
                key=f"pipeline-dismiss-{_key(corpus)}",
                icon=":material/close:",
                type="tertiary",
                on_click=_dismiss,
                args=(corpus,),
            )


def _dismiss(corpus: str) -> None:
    """Stop following the jobs of a project in this session."""
    jobs = filter(None, map(queries.job, st.session_state.get(FOLLOWED, [])))
    st.session_state[FOLLOWED] = [job.id for job in jobs if job.args.get("corpus") != corpus]


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


def _took(job: JobRecord | None) -> str:
    """Return how long a finished job ran; "" for an instant, and if it is not known."""
    known = job is not None and job.status is JobStatus.DONE and elapsed(job) >= _INSTANT_S
    return f" in {duration(elapsed(job))}" if job is not None and known else ""


def _imported(record: CorpusRecord, job: JobRecord | None) -> None:
    of = "" if is_list(record) else f" of {count(record.articles, 'text')}"
    st.caption(f"{count(record.sentences, 'unit')}{of}{_took(job)}")
    page_link(
        "texts", f"Read the {'units' if is_list(record) else 'texts'}", view={"view": "Read", "corpus": record.name}
    )
    skipped, changed = (sum(record.report.get(name, {}).values()) for name in ("skipped", "changed"))
    if skipped or changed:
        st.caption(f"{skipped:,} left out, {changed:,} changed")
        page_link("texts", "Import report", view={"view": "Import report", "corpus": record.name})


def _embedded(record: CorpusRecord, job: JobRecord | None) -> None:
    done = job.result if job is not None and job.kind == "embed" else {}
    if not done:
        st.caption("Vectors are stored.")
        return
    sample = f" of {record.sentences:,}" if done.get("sentences", 0) < record.sentences else ""
    st.caption(f"{count(int(done['sentences']), 'unit')}{sample} by {plain(done.get('model', ''))}{_took(job)}")
    if done.get("cut_off"):
        st.caption(f"The model read only the beginning of {count(int(done['cut_off']), 'unit')}.")


def _themed(record: CorpusRecord, job: JobRecord | None) -> None:
    found = next(iter(compare_queries.analyses(record.id)), None)
    if found is None:
        return
    clustered = int(found.run.found["sentences"])
    sample = f" in a sample of {clustered:,} units" if clustered < record.sentences else ""
    st.caption(f"{count(len(found.themes), 'theme')}{sample}{_took(job)}")
    page_link("themes", "See the themes", view={"result": found.name, "corpus": record.name})
    correct_button("Correct these themes", found)


def _drawn(record: CorpusRecord, job: JobRecord | None) -> None:
    maps = [found for found in queries.maps(record.id) if not found.articles]
    if not maps:
        return
    every = maps[0].sampled_from
    limit = int(maps[0].config.get("limit", 0) or every)
    st.caption(f"{'A sample of ' if limit < every else ''}{min(limit, every):,} units{_took(job)}")
    newest = next(iter(compare_queries.analyses(record.id)), None)
    colour = {} if newest is None else {"colour": newest.colour_name}
    page_link("map", "Open the map", view={"corpus": record.name, "map": maps[0].name, **colour})
    if record.sections > 2 * record.articles:
        page_link("compare", "Compare methods", view={"corpus": record.name})


_RESULTS = {"Import": _imported, "Embed": _embedded, "Themes": _themed, "Map": _drawn}
