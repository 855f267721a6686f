"""Labelling tasks for pages: those of a project and of a person, and opening items in Relabel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import streamlit as st

from themescope.core.records.stored import ArticleRecord, LabellingRecord, Sharing
from themescope.db.access import Right
from themescope.db.label_records import ItemRecord, MemberRecord, NewLabelling, TaskRecord
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.tasks import work
from themescope.jobs.services.tasks.work import OpenItem
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.navigation import switch_page
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.results import partition_queries
from themescope.webapp.shared.results.partition_queries import Analysis
from themescope.webapp.shared.text import count

PLANNED = "tasks_planned_sample"
"""Key of the session with a sample that the form of a new task begins with."""


@dataclass(frozen=True, slots=True)
class PlannedSample:
    """A sample that the page Estimates has planned."""

    corpus_id: int
    column: str
    """Column whose values are the strata; "" for none."""
    numbers: Mapping[str, int]
    """Value → number of units to label, more than 0."""
    outside: bool = False
    """Whether it is of the units that earlier samples could not have drawn."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task with its people and items."""

    record: TaskRecord
    members: tuple[MemberRecord, ...]
    items: tuple[ItemRecord, ...]

    @property
    def people(self) -> list[str]:
        """Names of the members, by name."""
        return [member.person for member in self.members]

    def of(self, person: str) -> list[ItemRecord]:
        """Return the items of a person in their order."""
        return [item for item in self.items if item.person == person]


def tasks(corpus_id: int) -> list[Task]:
    """Return the tasks of a project, open ones first, the newest first."""
    with queries.store().reading() as r:
        found = [
            Task(record, tuple(r.tasks.members(record.id)), tuple(work.items_of(r, record.id)))
            for record in r.tasks.list(corpus_id)
        ]
    return sorted(found, key=lambda task: task.record.closed is not None)


def titles(items: list[ItemRecord]) -> dict[int, str]:
    """Return item id → the article's title and, for a part of an article, its sentences."""
    with queries.store().reading() as r:
        articles = r.corpora.articles_by_id({item.article_id for item in items})
    return {item.id: _title(item, articles[item.article_id]) for item in items}


def _title(item: ItemRecord, article: ArticleRecord) -> str:
    if item.sentences == article.sentences:
        return article.title
    last = f"s {item.first + 1:,}–{item.last + 1:,}" if item.sentences > 1 else f" {item.first + 1:,}"
    return f"{article.title}, sentence{last}"


def open_item(item_id: int) -> None:
    """Open an item in Relabel, as the working set of the person's labelling; an error stays on this page."""
    opened = attempt(lambda: work.open_item(queries.store(), item_id))
    if opened is not None:
        switch_page("relabel", item_view(opened))


def item_view(opened: OpenItem) -> dict[str, str]:
    """Return the view of the Relabel page with the sentences of an item."""
    return dict(partition_queries.selection_view(opened.labelling.name, opened.selection_id))


def of_labelling(record: LabellingRecord) -> Task | None:
    """Return the task of a labelling that was made for the person who uses the page; None for other labellings."""
    with queries.store().reading() as r:
        found = r.tasks.of_labelling(record.id)
        if found is None or found[1] != current_person():
            return None
        task, _ = found
        return Task(task, tuple(r.tasks.members(task.id)), tuple(work.items_of(r, task.id)))


def is_open(record: LabellingRecord) -> bool:
    """Whether a labelling may change: that of a task is finished with the last item of its person."""
    with queries.store().reading() as r:
        found = r.tasks.of_labelling(record.id)
        return found is None or any(item.done is None for item in work.items_of(r, found[0].id, found[1]))


def counted(items: list[ItemRecord]) -> str:
    """Return ``3 of 10 items are done``."""
    done = sum(item.done is not None for item in items)
    return f"{done:,} of {count(len(items), 'item')} {'is' if done == 1 else 'are'} done"


# --- corrections ------------------------------------------------------------------------------------------------------


_NAME_CHARS = 120


def correct_button(label: str, analysis: Analysis, article_id: int | None = None, key: str = "correct") -> None:
    """Draw the button that calls :func:`correct`, where :func:`can_correct` allows it."""
    if not can_correct(analysis, article_id):
        return
    if st.button(label, key=f"{key}-{analysis.run.id}", icon=":material/edit:", type="tertiary"):
        attempt(lambda: correct(analysis, article_id))


def can_correct(analysis: Analysis, article_id: int | None = None) -> bool:
    """Return whether this person may label, and the corpus, or the article, fits into one labelling."""
    return may(Right.LABEL) and (article_id is not None or analysis.corpus.sentences <= starts.MOST_SENTENCES)


def correct(analysis: Analysis, article_id: int | None = None) -> NoReturn:
    """Open this person's labelling that started from the analysis, or create it; ends the run."""
    name, person = (analysis.article or analysis.corpus.name)[:_NAME_CHARS], current_person()
    mine = [one for one in partition_queries.labellings(analysis.corpus.id) if one.owner == person]
    record = next((one for one in mine if one.origin.get("run_id") == analysis.run.id), None)
    if record is None:
        new = NewLabelling(analysis.corpus.id, name, person, Sharing.OWN, False, article_id)
        record = starts.begin(queries.store(), new, starts.from_themes(analysis.run.id))
    switch_page("relabel", {"corpus": analysis.corpus.name, **partition_queries.edit_view(record.name)})
