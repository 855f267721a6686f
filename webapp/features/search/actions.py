"""Actions on the current project that the search box finds and does, those of the page that was open before first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import streamlit as st

from themescope.core.columns import ColumnType
from themescope.core.errors import DataError
from themescope.core.records.stored import CorpusRecord, LabellingRecord
from themescope.db.access import Right
from themescope.jobs.services import pipeline
from themescope.jobs.services.everything import HitGroup, Result, group_of, holds_all
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.search.found import Link, Listed
from themescope.webapp.shared import queries
from themescope.webapp.shared.labelling import task_queries
from themescope.webapp.shared.navigation import SEARCHED_FROM, offered
from themescope.webapp.shared.people import current_actor, current_person, may
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.text import count, shorten

KIND = "Actions"
_SHOWN, _COLUMNS, _NAME_CHARS = 12, 8, 60
Action = tuple[str, str, Link]
"""Title, what it does, and what is opened or called."""


def matching(words: Sequence[str], project: CorpusRecord | None) -> Listed:
    """Return the actions that contain all words; without words, all of them."""
    before = st.session_state.get(SEARCHED_FROM, "")
    known = [one for one in _actions(project) if not one[2].page or offered(one[2].page)]
    found = [one for one in known if holds_all(f"{one[0]} {one[1]}", words)]
    found.sort(key=lambda one: one[2].page != before)
    group: HitGroup = group_of(KIND, [Result(title, about) for title, about, _ in found], _SHOWN)
    return Listed(group, [link for _, _, link in found[:_SHOWN]])


def _actions(project: CorpusRecord | None) -> Iterator[Action]:
    if may(Right.MANAGE):
        yield "Import files", "New project, or a wave of this one", Link("corpora", {"view": "Import"})
        yield "Find themes in a new list", "Paste or upload sentences", Link("themes", {"view": "New list"})
    if project is None:
        return
    yield from _of_results(project)
    if may(Right.LABEL):
        yield from _of_labels(project)
    yield "Report, bundle and dataset", "Files of the whole project", Link("corpora", {"view": "All projects"})


def _of_results(project: CorpusRecord) -> Iterator[Action]:
    analyses = partition_queries.analyses(project.id)
    if analyses:
        themes = f"Colour the map by {count(len(analyses[0].themes), 'theme')}"
        yield themes, "The newest result", Link("map", {"colour": analyses[0].colour_name})
    columns = [column for column in queries.columns(project) if column.type != ColumnType.TEXT]
    for column in columns[:_COLUMNS]:
        yield f"Colour the map by {column.name}", f"Column: {column.type}", Link("map", {"colour": column.name})
    if not may(Right.MANAGE):
        return
    steps = pipeline.steps_of(queries.store(), project.name)
    if any(step.active for step in steps):
        stop = partial(pipeline.cancel_pipeline, queries.store(), project.name)
        yield "Cancel the jobs of this project", "Import, vectors, themes and map", Link("jobs", do=stop)
    elif not all(step.ready for step in steps):
        begin = partial(pipeline.queue_pipeline, queries.store(), project.name, project.language)
        yield "Find themes and draw the map", "Queues what is missing", Link("themes", {"view": "Results"}, do=begin)


def _of_labels(project: CorpusRecord) -> Iterator[Action]:
    analyses = partition_queries.analyses(project.id)
    if analyses and task_queries.can_correct(analyses[0]):
        correct = partial(task_queries.correct, analyses[0])
        yield "Correct the themes", "Opens your labelling of the newest result", Link(do=correct)
    yield "New labelling", "From themes, sections, labels or nothing", Link("relabel", {"view": "New labelling"})
    yield "Import labels", "Tables, and exports of other programs", Link("relabel", {"view": "New labelling"})
    yield "New task", "Give sentences to people", Link("tasks", {"view": "New task"})
    actor = current_actor()
    known = [one for one in partition_queries.labellings(project.id) if one.editable_by(current_person(), actor.role)]
    for record in sorted(known, key=partition_queries.precedence)[:1]:
        name, view = shorten(record.name, _NAME_CHARS), {"labelling": record.name}
        undo = Link("relabel", view | {"view": "Edit"}, do=partial(_undo, record))
        yield f"Undo my last change in “{name}”", "Opens the labelling", undo
        yield f"Label the rest of “{name}”", "Predicts codes", Link("relabel", view | {"view": "Label the rest"})


def _undo(record: LabellingRecord) -> None:
    if LabellingSession(queries.store(), record.id, current_person()).undo() is None:
        raise DataError(f"You changed nothing in “{record.name}” that could be undone.")
