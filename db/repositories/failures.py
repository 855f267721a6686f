"""Collected failures of models: for each project a corpus of its own, a list whose sentences are the failures.

What people code is an ordinary labelling of that corpus. The facts of the moment at which a failure was found are
columns, so that they stay true when models change or are deleted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from themescope.core.columns import ColumnLevel, ColumnType, TypedColumn, as_text, coded, typed
from themescope.core.errors import DataError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ChangeSet, Field, Kind, Step, apply, marked
from themescope.core.labelling.codebook.entries import CodebookEntry, packed
from themescope.core.labelling.coding import add_code, remove_code
from themescope.core.labelling.partition import (
    ALLOWED,
    COLOURS,
    Cluster,
    Entry,
    EntryKey,
    EntryKind,
    Partition,
    code_sets,
    free_name,
    start,
)
from themescope.core.records.stored import FAILURES_OF, CorpusRecord, EditKind
from themescope.core.types import Article, Ids, Paragraph, Section, Value
from themescope.db import tables as t
from themescope.db.access import Right, allowing
from themescope.db.records import NewItem, NewLabelling, NewTask, TaskRecord
from themescope.db.repositories.blocks import Columns, packed_blocks
from themescope.db.repositories.corpora import Corpora
from themescope.db.repositories.corpus_edits import IMPORTED_DIGEST, CorpusEdits
from themescope.db.repositories.label_steps import LabelSteps
from themescope.db.repositories.labellings import Labellings, Tasks
from themescope.db.repositories.people import People
from themescope.db.sql import Repository, now
from themescope.db.types import clean_text, dump_json

MOST = 20_000
"""Maximum number of failures of a project."""
_KEY = "failure"
_FOUND = ("kind", "source", "models", "margin", "margins", "placed", "article", "section", "link", "sentences")
_TYPES = {
    **dict.fromkeys((*_FOUND, "found by", "found", _KEY), ColumnType.TEXT),
    **dict.fromkeys(("kind", "source", "models", "section", "found by"), ColumnType.CATEGORY),
    "margin": ColumnType.NUMBER,
    "found": ColumnType.DATE,
}
"""Columns of the failures."""

_INSTRUCTIONS = "What others give to a failure is hidden until this task is closed. Close it to compare."
_SETTINGS = {
    "share": 1.0,
    "order": "given",
    "seed": 0,
    "longest": 0,
    "start": "nothing",
    "start_id": None,
    "gold_share": 0.0,
    "tell": False,
}


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
        what = [self.kind, self.source, ", ".join(self.models), worst, margins, self.placed]
        return [*what, self.article, self.section, self.link, ids]


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
        corpora, columns = Corpora(self.connection), Columns(self.connection)
        with allowing(self.connection, Right.LABEL):
            corpus = self.of(project.name)
            if corpus is None:
                corpus = corpora.create(corpora.usable_name(f"Errors of {project.name}"), project.language)
            self._lock_row(t.corpus, corpus.id)
            stored = {column.name: column for column in columns.list(corpus.id, with_removed=True)}
            before = corpora.sentence_ids(corpus.id)
            known = dict(zip(columns.values(stored[_KEY], before), before.tolist(), strict=True)) if stored else {}
            keys = [failure.key(batch) for failure in failures]
            rows = zip(keys, failures, found or [(person, now())] * len(failures), strict=True)
            new = {key: (failure, finder) for key, failure, finder in rows if key not in known}
            if len(known) + len(new) > MOST:
                raise DataError(f"A project has at most {MOST:,} collected failures. Collect a sample of them.")
            if new:
                texts = [clean_text(failure.text) for failure, _ in new.values()]
                section = Section("", 1, tuple(Paragraph(text, (text,), (0,)) for text in texts))
                corpora.add_articles(corpus.id, [Article(batch, (section,), source=about)])
                ids = corpora.sentence_ids(corpus.id)[len(before) :]
                known |= zip(new, ids.tolist(), strict=True)
                self._fill(corpus.id, ids, [[*one.values(), *finder, key] for key, (one, finder) in new.items()])
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


# Error notebooks of versions 0.2 and 0.3 as corpora of failures: a labelling of each person, with its history

TABLES = ("error_sample", "error_category", "error_case", "error_note", "error_coding")
"""The tables of error notebooks; each comes after those that it refers to."""
DELETED, NONE = "Deleted cases", "None applies"
_KINDS = {"triplet": "wrong triplet", "sentence": "misplaced sentence", "group": "sentences"}
Row = Mapping[str, Any]


def move_notebooks(connection: Connection) -> None:
    """Move the notebooks of a store, and drop their tables."""
    if not sa.inspect(connection).has_table("error_case"):
        return
    tables = sa.MetaData()
    tables.reflect(connection, only=TABLES)
    rows = {
        name: [_read({**row._mapping}) for row in connection.execute(sa.select(tables.tables[name]).order_by("id"))]
        for name in TABLES
    }
    owner = {case["id"]: case["corpus_id"] for case in rows["error_case"]}
    for corpus in Corpora(connection).list(include_unready=True):
        own = {
            name: [row for row in listed if row.get("corpus_id", owner.get(row.get("case_id"))) == corpus.id]
            for name, listed in rows.items()
        }
        move_notebook(connection, corpus, own)
    for name in reversed(TABLES):
        connection.execute(sa.schema.DropTable(tables.tables[name]))


def _read(row: Row) -> dict[str, Any]:
    """Return a row with its JSON parsed and its times in UTC, which SQLite stores without a zone."""
    found = {name: json.loads(value) if name in ("facts", "sentence_ids") else value for name, value in row.items()}
    return {
        name: value.replace(tzinfo=value.tzinfo or UTC) if isinstance(value, datetime) else value
        for name, value in found.items()
    }


def move_notebook(connection: Connection, project: CorpusRecord, rows: Mapping[str, Sequence[Row]]) -> None:
    """Move the notebook of a project, whose rows have ids: those of cases are ascending in the order of the list."""
    if not any(rows.values()):
        return
    corpus, removed, places = project, np.empty(0, np.int64), dict[int, int]()
    if rows["error_case"]:
        corpus, removed, places = _add_cases(connection, project, rows)
    people = [*dict.fromkeys(row["person"] for row in (*rows["error_coding"], *rows["error_note"]))]
    if not people and rows["error_category"]:
        people = [rows["error_category"][0]["person"]]
    # Categories without cases are kept as codes of a labelling of the first article.
    ids, article = sorted(places.values()), None
    if not ids:
        article = next(iter(Corpora(connection).article_ids(project.id).tolist()), None)
        ids = [] if article is None else [sentence.id for sentence in Corpora(connection).sentences(article)]
    steps, labels = dict[int, int](), 0
    made: dict[str, tuple[int, Partition]] = {}
    for person in people:
        history = _History(rows, person, ids, places, removed)
        name = Labellings(connection).usable_name(f"Errors of {project.name} · {person or 'no name'}")
        new = NewLabelling(corpus.id, name, person, blind=True, article_id=article, origin={"from": "nothing"})
        record = Labellings(connection).add_imported(new, history.start, None)
        LabelSteps(connection).take_over(record.id, history.log, history.start)
        made[person] = record.id, history.state
        if len(removed):
            steps[record.id] = LabelSteps(connection).list(record.id, limit=1)[-1].id
            labels += history.withdrawn
    if len(removed):
        edits = CorpusEdits(connection)
        edits.set_steps(edits.list(corpus.id)[-1].id, steps, labels)
    task = Failures(connection).hide(Corpora(connection).get(corpus.id), {name: id for name, (id, _) in made.items()})
    for item in Tasks(connection).items(task.id) if task is not None else ():
        state = made[item.person][1]
        coded = frozenset(state.ids[state.numbers >= 0].tolist())
        own = [sentence.id in coded for sentence in Corpora(connection).sentences(item.article_id)]
        times = {"opened": now() if any(own) else None, "done": now() if all(own) else None}
        connection.execute(t.task_item.update().where(t.task_item.c.id == item.id).values(**times))


def _add_cases(
    connection: Connection, project: CorpusRecord, rows: Mapping[str, Sequence[Row]]
) -> tuple[CorpusRecord, Ids, dict[int, int]]:
    """Store the cases; return their corpus, the sentences of deleted ones, and the sentence of each case."""
    samples = {sample["id"]: sample for sample in rows["error_sample"]}
    batches: dict[str, list[Row]] = {sample["name"]: [] for sample in samples.values()}
    for case in rows["error_case"]:
        sample = samples.get(case["sample_id"])
        name = DELETED if case["deleted"] else sample["name"] if sample else case["facts"]["source"]
        batches.setdefault(name, []).append(case)
    if DELETED in batches:
        batches[DELETED] = batches.pop(DELETED)  # last, so that no later document follows the removed one
    failures, places = Failures(connection), dict[int, int]()
    drawn = "Random sample of {population:,} failures with seed {seed}, {created:%d %B %Y}"
    about = {sample["name"]: drawn.format(**sample) for sample in samples.values()}
    for name, cases in batches.items():
        found = [(case["person"], case["created"]) for case in cases]
        listed = [_failure(case) for case in cases]
        corpus, ids, _ = failures.add(project, name, listed, found=found, about=about.get(name, ""))
        places |= zip((case["id"] for case in cases), ids.tolist(), strict=True)
    gone = np.array(sorted(places[case["id"]] for case in batches.get(DELETED, ())), np.int64)
    if len(batches) == 1:
        return corpus, gone[:0], places  # a corpus is never empty
    if len(gone):
        last = Corpora(connection).article_ids(corpus.id)[-1:]
        CorpusEdits(connection).remove(corpus.id, EditKind.ARTICLES, DELETED, last, "")
    return corpus, gone, places


def _failure(case: Row) -> CollectedFailure:
    facts = case["facts"]
    passages, margins = facts["passages"], facts["margins"]
    kind = _KINDS.get(case["kind"], str(case["kind"]))
    texts = [f"{one['role'].title()}: {one['text']}" if one["role"] else one["text"] for one in passages]
    placed = facts["predicted"] or "; ".join(dict.fromkeys(one["placed"] for one in passages if one["placed"]))
    articles, sections = (
        ", ".join(dict.fromkeys(filter(None, (one[of] for one in passages)))) for of in ("article", "section")
    )
    section = passages[0]["section"] if passages and passages[0]["role"] else sections
    text, where = "\n".join(texts) or "(no text)", (placed, articles, section, case["permalink"])
    ids, models = tuple(case["sentence_ids"]), tuple(facts["models"])
    return CollectedFailure(kind, text, facts["source"], ids, models, margins, *where)


@dataclass
class _History:
    """The labelling of a person: what it begins with, its steps, and its state after them."""

    rows: Mapping[str, Sequence[Row]]
    person: str
    ids: Sequence[int]
    """The sentences of the labelling."""
    places: Mapping[int, int]
    """Case → sentence."""
    removed: Ids
    log: list[tuple[Step, ChangeSet]] = field(default_factory=list)
    withdrawn: int = 0
    """Number of labels of deleted cases."""

    def __post_init__(self) -> None:
        known = self.rows["error_category"]
        self.numbers: dict[int | None, int] = {category["id"]: number for number, category in enumerate(known, 1)}
        self.state = start(self.ids)
        entries: dict[EntryKey, Entry] = {(EntryKind.CODES, ALLOWED): Entry()}
        for category in known:
            number = self.numbers[category["id"]]
            self._add(number, category["name"], category["colour"])
            by = category["person"] or "the person without a name"
            entry = CodebookEntry(category["description"], notes=f"By {by}, {category['created']:%d %B %Y}")
            entries[EntryKind.CODE, str(number)] = packed(entry) or Entry()
        if any(row["category_id"] is None for row in self.rows["error_coding"]):
            self.numbers[None] = len(known) + 1
            self._add(len(known) + 1, NONE, len(known) % COLOURS)
        self.start = self.state = Partition(
            self.state.ids, self.state.numbers, self.state.uncertain, {}, self.state.clusters, entries
        )
        self._next = len(self.numbers) + 1
        self._join_and_delete(self._replay())
        if len(self.removed):
            gone = self.state.numbers[self.state.rows(self.removed)]
            self.withdrawn = int((gone >= 0).sum())
            self._do(op.withdraw(self.state, self.removed, f"“{DELETED}”"), now(), always=True)

    def _add(self, number: int, name: str, colour: int) -> None:
        cluster = Cluster(number, free_name(self.state, name), colour)
        self.state = self.state.with_clusters({**self.state.clusters, number: cluster})

    def _do(self, made: op.Operation, when: datetime, always: bool = False) -> None:
        if made.change_set or always:
            about = (made.kind.value, made.summary, self.person, when)
            size = len(made.change_set.sentences())
            self.log.append((Step(len(self.log) + 1, Kind.DO, *about, size=size), made.change_set))
            self.state = apply(self.state, made.change_set)
            self._next = max(self._next, *(number + 1 for number in made.change_set.created()), 0)

    def _turn(self, id: int, number: int, given: bool, when: datetime) -> None:
        turn = add_code if given else remove_code
        self._do(turn(self.state, np.array([id]), number, self._next), when)

    def _replay(self) -> dict[int, dict[int | None, bool]]:
        """Return sentence → category → whether the person gives it in the end."""
        events = [row for name in ("error_coding", "error_note") for row in self.rows[name]]
        written: dict[int, dict[int, str]] = {}
        force: dict[int, dict[int | None, bool]] = {}
        for row in sorted((row for row in events if row["person"] == self.person), key=lambda row: row["created"]):
            id = self.places[row["case_id"]]
            if "text" in row:
                notes = written.setdefault(id, {})
                notes[row["id"] if row["note"] is None else row["note"]] = row["text"]
                text = "\n".join(filter(None, notes.values()))
                change = marked(self.state, Field.NOTE, np.array([id]), text)
                changes = ChangeSet(() if change is None else (change,))
                self._do(op.Operation(op.OperationKind.NOTE, "note of 1 case", changes), row["created"])
                continue
            given = force.setdefault(id, {})
            given[row["category_id"]] = row["given"]
            # That none applies does not count beside a category.
            there = {category for category, is_given in given.items() if is_given}
            wanted = {self.numbers[category] for category in (there - {None} or there)}
            held = code_sets(self.state)[int(self.state.numbers[self.state.rows([id])[0]])]
            for number in sorted(held - wanted):
                self._turn(id, number, False, row["created"])
            for number in sorted(wanted - held):
                self._turn(id, number, True, row["created"])
        return force

    def _join_and_delete(self, force: Mapping[int, Mapping[int | None, bool]]) -> None:
        known = {category["id"]: category for category in self.rows["error_category"]}
        for category in known.values():
            final, seen = category, {category["id"]}
            while final["merged_into"] is not None and final["merged_into"] not in seen:
                final = known[final["merged_into"]]
                seen.add(final["id"])
            if final is not category:
                number, into = self.numbers[category["id"]], self.numbers[final["id"]]
                if into in self.state.clusters:
                    self._do(op.merge(self.state, [number], into), now())
        for category in known.values():
            if category["deleted"] and category["merged_into"] is None:
                self._do(op.delete(self.state, self.numbers[category["id"]]), category["deleted"])
        for id, given in force.items():
            if given.get(None) and self.state.numbers[self.state.rows([id])[0]] < 0:
                self._turn(id, self.numbers[None], True, now())
