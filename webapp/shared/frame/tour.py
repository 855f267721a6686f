"""A tour of the demo: a note at the top of six pages that says what to see there, with Back, Next and End.

The note is part of the page, so it is read and operated like everything else. A browser remembers for each person that
the tour was ended; the menu of the header starts it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from themescope.core.records.stored import CorpusRecord
from themescope.jobs.services.installation import demo
from themescope.webapp.shared import navigation, people, projects, queries
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.frame import pipeline_status
from themescope.webapp.shared.people import tour_cookie
from themescope.webapp.shared.results import partition_queries

_STEP, _ENDED = "tour_step", "tour_ended"
"""Session keys: the step that is shown, and whether the tour was ended in this session."""
View = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TourStep:
    """A page of the tour, and what the note on it says."""

    page: str
    title: str
    text: str
    view: Callable[[CorpusRecord], View] = lambda project: {}


def _results(project: CorpusRecord) -> View:
    newest = next(iter(partition_queries.analyses(project.id)), None)
    return {"view": "Results"} | ({"result": newest.name} if newest else {})


def _map(project: CorpusRecord) -> View:
    whole = next((record for record in queries.maps(project.id) if not record.config.get("articles")), None)
    return pipeline_status.map_view(project, whole.name) if whole else {}


def _labelling(project: CorpusRecord) -> View:
    return {} if partition_queries.labellings(project.id) else {"view": "New labelling"}


STEPS = (
    TourStep(
        "home",
        "A project",
        "Everything belongs to a project: texts, and what is made of them. This one is a sample of Wikipedia. After an "
        "import, vectors, themes and a map are computed by themselves.",
    ),
    TourStep(
        "corpora",
        "Read",
        "Articles keep their sections. “Cluster this article” groups the sentences of the article that is open and "
        "colours them; sections show whether the groups make sense.",
        lambda project: {"view": "Read", "article": demo.ARTICLE},
    ),
    TourStep(
        "themes",
        "Themes",
        "All sentences, grouped and named. The curves show whether more or fewer themes fit as well.",
        _results,
    ),
    TourStep(
        "map",
        "Map",
        "Every point is a sentence, and nearby points are similar. Lasso points to read their sentences; type "
        "into “Search” to ring the ones that contain a word.",
        _map,
    ),
    TourStep(
        "relabel",
        "Correct",
        "Start a labelling from clusters, and move sentences where they belong. Every change is saved at once and can "
        "be undone, and models learn from it.",
        _labelling,
    ),
    TourStep(
        "compare",
        "Compare",
        "Which model finds the sections of unseen articles? Scores have intervals, and models that do not differ "
        "significantly share a letter. To begin with your own text, open the project menu above and choose "
        "“New project”.",
    ),
)


def show(current: str) -> None:
    """Draw the note of the current step, or on Home the invitation; remember that the tour was ended."""
    project = _project()
    step = st.session_state.get(_STEP)
    if project is not None and isinstance(step, int):
        _note(project, step, current)
    elif (
        project is not None
        and current == STEPS[0].page
        and not (st.session_state.get(_ENDED) or st.context.cookies.get(_cookie()) == "seen")
    ):
        with st.container(border=True, key="tour", horizontal=True, vertical_alignment="center"):
            st.markdown("**New here?** Six pages of the demo, in a minute.", width="stretch")
            if st.button("Start the tour", type="primary", icon=":material/tour:", key="tour-start"):
                _go(project, 0)
            st.button("Not now", type="tertiary", key="tour-not-now", on_click=_end)
    if st.session_state.get(_ENDED):
        draw_component("kept_cookie", data={"name": _cookie(), "value": "seen"}, key="tour-cookie", height=0)


def start_button() -> None:
    """Draw the button that starts the tour again; nothing without the demo."""
    project, icon = _project(), ":material/tour:"
    if project is not None and st.button("Tour of the demo", icon=icon, type="tertiary", key="tour-restart"):
        _go(project, 0)


def _project() -> CorpusRecord | None:
    """Return the demo; None if it does not exist."""
    return next((corpus for corpus in projects.known() if corpus.name == demo.CORPUS), None)


def _cookie() -> str:
    """Return the name of the cookie for this person; several may use a browser one after the other."""
    return tour_cookie(hashlib.sha256(people.current_person().encode()).hexdigest()[:8])


def _go(project: CorpusRecord, number: int) -> None:
    st.session_state[_STEP] = number
    step = STEPS[number]
    navigation.switch_page(step.page, {"corpus": project.name, **step.view(project)})


def _end() -> None:
    """End the tour and forget what it opened, but for the page that is open; a callback."""
    project = _project()
    if st.session_state.pop(_STEP, None) is not None and project is not None:
        navigation.forget_views(project.id)
    st.session_state[_ENDED] = True


def _note(project: CorpusRecord, number: int, current: str) -> None:
    step = STEPS[number]
    with st.container(border=True, key="tour", gap="xsmall"):
        if current == step.page:
            st.markdown(f":gray[{number + 1} of {len(STEPS)}] **{step.title}**  \n{step.text}")
        else:
            st.markdown(f":gray[{number + 1} of {len(STEPS)}] The tour is on another page.")
        with st.container(horizontal=True):
            if current != step.page and st.button("Return to the tour", key="tour-return"):
                _go(project, number)
            if number and st.button("Back", icon=":material/arrow_back:", key="tour-back"):
                _go(project, number - 1)
            more = number + 1 < len(STEPS)
            if more and st.button("Next", type="primary", icon=":material/arrow_forward:", key="tour-next"):
                _go(project, number + 1)
            st.button("End the tour", type="tertiary", key="tour-end", on_click=_end)
