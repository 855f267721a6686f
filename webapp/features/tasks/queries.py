"""Queries of the Tasks page. Checks and routing take up to seconds, so that they are kept for a minute."""

from __future__ import annotations

import streamlit as st

from themescope.jobs.services.tasks import checks
from themescope.jobs.services.tasks.checks import Routed, TaskCheck
from themescope.webapp.shared import queries
from themescope.webapp.shared.labelling.task_queries import Task


def checks_of(task: Task) -> list[TaskCheck]:
    """Return the checks of the people of a task."""
    return _checks(task.record.id, _version(task))


def routed(task: Task, person: str) -> tuple[list[Routed], str]:
    """Return the items about which to ask a person next, and why there are none."""
    return _routed(task.record.id, _version(task), person)


def _version(task: Task) -> str:
    """Return a key that changes when items are added, given to others, done or taken back."""
    return " ".join(f"{item.id} {item.person!r} {item.done}" for item in task.items)


@st.cache_data(show_spinner="Checking labels …", ttl=60, max_entries=32)
def _checks(task_id: int, version: str) -> list[TaskCheck]:
    return checks.checks(queries.store(), task_id)


@st.cache_data(show_spinner="Looking for disputed items …", ttl=60, max_entries=32)
def _routed(task_id: int, version: str, person: str) -> tuple[list[Routed], str]:
    return checks.route(queries.store(), task_id, person, most=200)
