"""Collected failures of models: for each project a corpus of its own, a list whose sentences are the failures.

What people code is an ordinary labelling of that corpus. The facts of the moment at which a failure was found are
columns, so that they stay true when models change or are deleted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from themescope.core.columns import ColumnLevel, ColumnType, TypedColumn, as_text, coded, typed
from themescope.core.errors import DataError
from themescope.core.records.stored import FAILURES_OF, CorpusRecord
from themescope.core.types import Article, Ids, Paragraph, Section, Value
from themescope.db import tables as t
from themescope.db.access import Right, allowing
from themescope.db.records import NewItem, NewTask, TaskRecord
from themescope.db.repositories.blocks import Columns, packed_blocks
from themescope.db.repositories.corpora import Corpora
from themescope.db.repositories.corpus_edits import IMPORTED_DIGEST, CorpusEdits
from themescope.db.repositories.labellings import Tasks
from themescope.db.repositories.people import People
from themescope.db.sql import Repository, now
from themescope.db.types import clean_text, dump_json

MOST = 20_000
"""Maximum number of failures of a project."""
_KEY = "failure"
_TYPES = {
    "kind": ColumnType.CATEGORY, "source": ColumnType.CATEGORY, "models": ColumnType.CATEGORY,
    "margin": ColumnType.NUMBER, "margins": ColumnType.TEXT, "placed": ColumnType.TEXT, "article": ColumnType.TEXT,
    "section": ColumnType.CATEGORY, "link": ColumnType.TEXT, "sentences": ColumnType.TEXT,
    "found by": ColumnType.CATEGORY, "found": ColumnType.DATE, _KEY: ColumnType.TEXT,
}  # fmt: skip
"""Columns of the failures."""

_INSTRUCTIONS = "What others give to a failure is hidden until this task is closed. Close it to compare."
_SETTINGS = {
    "share": 1.0, "order": "given", "seed": 0, "longest": 0, "start": "nothing", "start_id": None, "gold_share": 0.0,
    "tell": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CollectedFailure:
    """Something that a model got wrong, or on which people or models disagree."""

    kind: str
    """What it is, such as "wrong triplet"."""
    text: str
    """What is read to judge it."""
    source: str
    """Where it was found, such as "triplet set Rivers, test split"."""
    sentences: tuple[int, ...]
    """Ids of its sentences; those of a triplet in the order pivot, positive, negative."""
    models: tuple[str, ...] = ()
    """Models that were wrong, or that placed the sentences."""
    margins: Mapping[str, float] = field(default_factory=dict)
    """Model → distance of pivot and negative minus distance of pivot and positive; negative where it is wrong."""
    placed: str = ""
    """Where models or people placed it."""
    article: str = ""
    section: str = ""
    link: str = ""
    """Page and query of the view that shows it, without the project."""

    def key(self, batch: str) -> str:
        """Return what identifies the failure among those that were collected."""
        about = dump_json([batch, self.kind, self.text, self.source, self.sentences])
        return hashlib.blake2b(about.encode(), digest_size=12).hexdigest()

    def values(self) -> list[Value]:
        """Return the values of the columns that do not tell who found it."""
        margins = "; ".join(f"{name} {margin:+.3g}".replace("-", "−") for name, margin in self.margins.items())
        worst = min(self.margins.values(), default=None)
        ids = " ".join(map(str, self.sentences))
        return [self.kind, self.source, ", ".join(self.models), worst, margins, self.placed, self.article,
                self.section, self.link, ids]  # fmt: skip


class Failures(Repository):
    """Repository of the corpora of failures. Who may label may add to them, although importing takes another right."""

    def of(self, project: str) -> CorpusRecord | None:
        """Return the corpus of the failures of a project; None before the first one."""
        return next((c for c in Corpora(self.connection).list() if c.failures_of == project), None)

    def add(
        self,
        project: CorpusRecord,
        batch: str,
        failures: Sequence[CollectedFailure],
        person: str = "",
        found: Sequence[tuple[str, datetime]] = (),
        about: str = "",
    ) -> tuple[CorpusRecord, Ids, int]:
        """Add failures that were found together as a document called ``batch``, with what is said ``about`` it.

        Returns the corpus, the sentence (n,) of each failure, and how many are new: a failure that is there already
        under the same batch is not added again. ``found`` says who found each, and when; by default ``person``, now.
        """
        with allowing(self.connection, Right.LABEL):
            return self._add(project, batch, failures, found or [(person, now())] * len(failures), about)

    def _add(
        self,
        project: CorpusRecord,
        batch: str,
        failures: Sequence[CollectedFailure],
        finders: Sequence[tuple[str, datetime]],
        about: str,
    ) -> tuple[CorpusRecord, Ids, int]:
        corpora, columns = Corpora(self.connection), Columns(self.connection)
        corpus = self.of(project.name)
        if corpus is None:
            corpus = corpora.create(corpora.usable_name(f"Errors of {project.name}"), project.language)
        self._lock_row(t.corpus, corpus.id)
        stored = {column.name: column for column in columns.list(corpus.id, with_removed=True)}
        before = corpora.sentence_ids(corpus.id)
        known = dict(zip(columns.values(stored[_KEY], before), before.tolist(), strict=True)) if stored else {}
        keys = [failure.key(batch) for failure in failures]
        rows = zip(keys, failures, finders, strict=True)
        new = {key: (failure, finder) for key, failure, finder in rows if key not in known}
        if len(known) + len(new) > MOST:
            raise DataError(f"A project has at most {MOST:,} collected failures. Collect a sample of them.")
        if new:
            texts = [clean_text(failure.text) for failure, _ in new.values()]
            section = Section("", 1, tuple(Paragraph(text, (text,), (0,)) for text in texts))
            corpora.add_articles(corpus.id, [Article(batch, (section,), source=about)])
            ids = corpora.sentence_ids(corpus.id)[len(before) :]
            known |= zip(new, ids.tolist(), strict=True)
            cells = [[*failure.values(), *finder, key] for key, (failure, finder) in new.items()]
            self._fill(corpus.id, ids, cells)
            report = {FAILURES_OF: project.name, "readers": [], **corpus.report}
            for name in {"digest", IMPORTED_DIGEST} & {"digest", *report}:
                joint = f"{report.get(name, '')} {[*new]}"
                report[name] = hashlib.blake2b(joint.encode(), digest_size=8).hexdigest()
            corpora.finish(corpus.id, report)
            corpus = CorpusEdits(self.connection).refresh(corpus.id)
        return corpus, np.array([known[key] for key in keys], np.int64), len(new)

    def hide(self, corpus: CorpusRecord, labellings: Mapping[str, int]) -> TaskRecord | None:
        """Let a blind task hide what several people code (person → labelling) from each other, until it is closed.

        Each of them has every document. Who was in a task that is closed now stays out of a new one. Returns the task.
        """
        with allowing(self.connection, Right.LABEL):
            tasks, corpora = Tasks(self.connection), Corpora(self.connection)
            known = [task for task in tasks.list(corpus.id) if task.blind]
            past = {one.person for task in known if task.closed for one in tasks.members(task.id)}
            people = [person for person in labellings if person not in past]
            if not people or len(labellings) < 2:
                return None
            articles = corpora.articles(corpus.id, limit=corpus.articles)
            items = [NewItem(article.id, 0, article.sentences - 1, one) for one in people for article in articles]
            task = next((task for task in known if not task.closed), None)
            if task is None:
                maker = next(iter(People(self.connection).admins()), people[0])
                name = tasks.usable_name(corpus.name)
                new = NewTask(corpus.id, name, maker, None, _INSTRUCTIONS, True, _SETTINGS | {"several": len(people)})
                task = tasks.create(new, {}, [])
            begun = {one.person for one in tasks.members(task.id) if one.labelling_id is not None}
            for person in people:
                tasks.add_member(task.id, person)
                if person not in begun:
                    tasks.set_labelling(task.id, person, labellings[person])
            tasks.add_items(task.id, items)
            return task

    def _fill(self, corpus_id: int, ids: Ids, rows: Sequence[Sequence[Value]]) -> None:
        """Store the values (n, columns) of new sentences."""
        columns = Columns(self.connection)
        stored = {column.name: column for column in columns.list(corpus_id, with_removed=True)}
        for place, (name, type) in enumerate(_TYPES.items()):
            values, column = [row[place] for row in rows], stored.get(name)
            texts = filter(None, (as_text(value).strip() for value in values))
            before = column.categories if column else ()
            categories = dict.fromkeys([*before, *texts]) if type is ColumnType.CATEGORY else {}
            codes = {category: code for code, category in enumerate(categories)}
            found = coded(values, codes) if type is ColumnType.CATEGORY else typed(values, type)
            blocks = packed_blocks(ids, TypedColumn(type, found, {}))
            about = {"categories": list(categories)} if type is ColumnType.CATEGORY else {}
            if column is None:
                columns.add(corpus_id, ColumnLevel.SENTENCE, name, TypedColumn(type, found, about), blocks)
            else:
                columns.extend(column, {**column.about, **about}, blocks)
        CorpusEdits(self.connection).recount(corpus_id)
