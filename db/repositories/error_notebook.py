"""Error notebooks: cases, notes, samples, categories, who gave which category, and all rows for copies elsewhere."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from themescope.core.errors import ConflictError, DataError, DuplicateNameError
from themescope.core.labelling.error_cases import MOST_SENTENCES, CaseFacts, CaseKind
from themescope.core.labelling.partition import COLOURS
from themescope.core.records.stored import ErrorCase
from themescope.core.types import Ids
from themescope.db import label_tables as t
from themescope.db.label_records import ErrorCategory, ErrorCoding, ErrorNote, ErrorSample, NewCase, Notebook
from themescope.db.repositories.base import NAME_LIMIT, RecordRepository, Repository, checked_text
from themescope.db.repositories.people import People
from themescope.db.sql import id_chunks, now, within
from themescope.db.types import clean_text

DESCRIPTION_LIMIT = 2_000
MOST_CATEGORIES = 200
"""Maximum number of categories of a notebook."""


class ErrorCategories(RecordRepository[ErrorCategory]):
    """Repository of categories. Deleted and merged ones are kept, so that both can be undone."""

    table, record = t.error_category, ErrorCategory

    def list(self, corpus_id: int) -> builtins.list[ErrorCategory]:
        """Return all categories of a corpus, oldest first, also merged and deleted ones."""
        return self._matching(corpus_id=corpus_id)

    def add(self, corpus_id: int, name: str, description: str, person: str) -> ErrorCategory:
        """Add a category with the next colour of the palette."""
        People(self.connection).check_may_write(clean_text(person))
        known = self.list(corpus_id)
        if len(known) >= MOST_CATEGORIES:
            raise DataError(f"An error notebook has at most {MOST_CATEGORIES} categories, also deleted ones.")
        text = checked_text(description, DESCRIPTION_LIMIT, "description")
        values: dict[str, Any] = {"name": self._usable(corpus_id, name), "description": text}
        values |= {"colour": len(known) % COLOURS, "merged_into": None, "version": 0}
        values |= {"person": clean_text(person), "created": now(), "deleted": None}
        return self.get(self._insert(t.error_category, corpus_id=corpus_id, **values))

    def change(self, seen: ErrorCategory, name: str, description: str, colour: int, person: str) -> ErrorCategory:
        """Change a category; raise ``ConflictError`` if it has changed since it was ``seen``."""
        changed = clean_text(name).strip() != seen.name
        usable = self._usable(seen.corpus_id, name) if changed else seen.name
        text = checked_text(description, DESCRIPTION_LIMIT, "description")
        return self._set(seen, person, name=usable, description=text, colour=colour)

    def merge(self, seen: ErrorCategory, into: int, person: str) -> ErrorCategory:
        """Count the cases of a category for another one; :meth:`restore` undoes it."""
        target = self.get(into)
        if target.id == seen.id or target.corpus_id != seen.corpus_id or target.deleted or target.merged_into:
            raise DataError(f"{seen.name!r} cannot be merged into {target.name!r}. Choose another category.")
        return self._set(seen, person, merged_into=into)

    def delete(self, seen: ErrorCategory, person: str) -> ErrorCategory:
        """Hide a category; its cases keep it until :meth:`restore`."""
        return self._set(seen, person, deleted=now())

    def restore(self, seen: ErrorCategory, person: str) -> ErrorCategory:
        """Undo the deletion or the merge of a category; its name is numbered if another one took it meanwhile."""
        name, number = seen.name, 2
        while self._taken(seen.corpus_id, name):
            name, number = f"{seen.name} {number}", number + 1
        return self._set(seen, person, deleted=None, merged_into=None, name=name)

    def _set(self, seen: ErrorCategory, person: str, **values: Any) -> ErrorCategory:
        People(self.connection).check_may_write(clean_text(person))
        c = t.error_category.c
        update = t.error_category.update().where(c.id == seen.id, c.version == seen.version)
        if not self.connection.execute(update.values(**values, version=seen.version + 1)).rowcount:
            raise ConflictError(f"The category {seen.name!r} was changed meanwhile. Nothing was overwritten.")
        return self.get(seen.id)

    def _usable(self, corpus_id: int, name: str) -> str:
        name = clean_text(name).strip()
        if not 0 < len(name) <= NAME_LIMIT:
            raise DataError(f"The name of a category has 1 to {NAME_LIMIT} characters.")
        if self._taken(corpus_id, name):
            raise DuplicateNameError("category", name)
        return name

    def _taken(self, corpus_id: int, name: str) -> bool:
        current = (one for one in self.list(corpus_id) if one.deleted is None and one.merged_into is None)
        return any(one.name.casefold() == name.casefold() for one in current)

    # --- codings ----------------------------------------------------------------------------------------------------

    def code(self, case_id: int, category_id: int | None, person: str, given: bool) -> None:
        """Give a category to a case, or take it back; None states that no category applies."""
        People(self.connection).check_may_write(clean_text(person))
        self._code(case_id, category_id, clean_text(person), given, None)

    def undo(self, corpus_id: int, person: str) -> int | None:
        """Undo the person's last coding that is not undone yet; return its case, None if there is nothing to undo."""
        person = clean_text(person)
        People(self.connection).check_may_write(person)
        c, other = t.error_coding.c, t.error_coding.alias()
        of = sa.select(t.error_case.c.id).where(t.error_case.c.corpus_id == corpus_id, t.error_case.c.deleted.is_(None))
        query = self._select_codings().where(c.case_id.in_(of), c.person == person, c.undoes.is_(None))
        query = query.where(~sa.exists().where(other.c.undoes == c.id)).order_by(c.id.desc())
        row = self._row(query)
        if row is None:
            return None
        last = ErrorCoding(*row)
        self._code(last.case_id, last.category_id, person, not last.given, last.id)
        return last.case_id

    def _code(self, case_id: int, category_id: int | None, person: str, given: bool, undoes: int | None) -> None:
        values = {"case_id": case_id, "category_id": category_id, "person": person, "given": given}
        self._insert(t.error_coding, **values, undoes=undoes, created=now())

    def codings(self, corpus_id: int) -> builtins.list[ErrorCoding]:
        """Return the codings in force: the newest of each case, category and person, if it gives the category."""
        c = t.error_coding.c
        of = sa.select(t.error_case.c.id).where(t.error_case.c.corpus_id == corpus_id)
        newest = sa.select(sa.func.max(c.id)).where(c.case_id.in_(of)).group_by(c.case_id, c.category_id, c.person)
        query = self._select_codings().where(c.id.in_(newest), c.given).order_by(c.id)
        return [ErrorCoding(*row) for row in self.connection.execute(query)]

    def _select_codings(self) -> sa.Select[Any]:
        return sa.select(*(t.error_coding.c[name] for name in ErrorCoding.__dataclass_fields__))


NOTE_LIMIT = 5_000
"""Maximum length of a note in characters."""
MOST_CASES = 20_000
"""Maximum number of cases of a notebook, which a page holds in memory."""


class ErrorNotebook(RecordRepository[ErrorCase]):
    """Repository of cases. Deleting one hides it until :meth:`restore`."""

    table, record = t.error_case, ErrorCase

    def add(self, new: NewCase, person: str, note: str = "", sample_id: int | None = None) -> ErrorCase:
        """Add a case with a note; the same case is stored once, and is restored if it was deleted.

        A case that is in a sample of another model's failures is stored again for ``sample_id``, because neither of the
        two samples would be random without it.

        Raises ``DataError`` for a case with too many sentences, in a full notebook or with a note that is too long, and
        ``StoreError`` if the person may only view.
        """
        People(self.connection).check_may_write(clean_text(person))
        if len(new.sentence_ids) > MOST_SENTENCES:
            n = len(new.sentence_ids)
            raise DataError(f"A case has at most {MOST_SENTENCES:,} sentences; this one has {n:,}. Select fewer.")
        known = self._same(new)
        if known is not None and (model := self._another_model(known, sample_id)):
            new = replace(new, facts=replace(new.facts, source=f"{new.facts.source}, failures of {model}"))
            known = self._same(new)
        case = self._insert_case(new, person, sample_id) if known is None else self._again(known, sample_id)
        if note.strip():
            self.add_note(case.id, note, person)
        return case

    def _same(self, new: NewCase) -> ErrorCase | None:
        c = t.error_case.c
        return self._first(self._select().where(c.corpus_id == new.corpus_id, c.digest == new.digest))

    def _another_model(self, known: ErrorCase, sample_id: int | None) -> str:
        """Return the model of a sample if a case is in a sample of another one, else ""."""
        if sample_id is None or known.sample_id is None:
            return ""
        models = {sample.id: sample.model for sample in self.samples(known.corpus_id)}
        return models[sample_id] if models[sample_id] != models[known.sample_id] else ""

    def _insert_case(self, new: NewCase, person: str, sample_id: int | None) -> ErrorCase:
        c = t.error_case.c
        if self._number(sa.select(sa.func.count()).where(c.corpus_id == new.corpus_id)) >= MOST_CASES:
            raise DataError(f"An error notebook has at most {MOST_CASES:,} cases. Use a part of the project.")
        about: dict[str, Any] = {"corpus_id": new.corpus_id, "kind": new.kind.value, "digest": new.digest}
        about |= {"sentence_ids": [*map(int, new.sentence_ids)], "facts": new.facts.to_json()}
        values = {"permalink": new.permalink, "sample_id": sample_id, "person": clean_text(person)}
        return self.get(self._insert(t.error_case, **about, **values, created=now(), deleted=None))

    def _again(self, known: ErrorCase, sample_id: int | None) -> ErrorCase:
        """Show a case again, and count a case that was picked by hand for a sample that drew it."""
        values = {"deleted": None, "sample_id": known.sample_id if known.sample_id is not None else sample_id}
        self.connection.execute(t.error_case.update().where(t.error_case.c.id == known.id).values(**values))
        return self.get(known.id)

    def read(self, corpus_id: int) -> Notebook:
        """Return the notebook of a corpus; empty if nothing was added yet."""
        categories = ErrorCategories(self.connection)
        return Notebook(
            self.list(corpus_id),
            self.notes(corpus_id),
            categories.list(corpus_id),
            categories.codings(corpus_id),
            self.samples(corpus_id),
        )

    def list(self, corpus_id: int, deleted: bool = False) -> builtins.list[ErrorCase]:
        """Return the (deleted) cases of a corpus, oldest first."""
        c = t.error_case.c
        query = self._select().where(c.corpus_id == corpus_id).order_by(c.id)
        return self._records(query.where(c.deleted.is_not(None) if deleted else c.deleted.is_(None)))

    def delete(self, case_ids: Iterable[int], person: str) -> None:
        """Hide cases; requires the person who added each, or an admin."""
        self._set_deleted(case_ids, person, now())

    def restore(self, case_ids: Iterable[int], person: str) -> None:
        """Show deleted cases again."""
        self._set_deleted(case_ids, person, None)

    def _set_deleted(self, case_ids: Iterable[int], person: str, value: Any) -> None:
        People(self.connection).check_may_write(clean_text(person))
        for chunk in id_chunks(case_ids):
            where = within(self.connection, t.error_case.c.id, chunk)
            for maker in self.connection.execute(sa.select(t.error_case.c.person).where(where).distinct()).scalars():
                self._require_own(maker)
            self.connection.execute(t.error_case.update().where(where).values(deleted=value))

    def version(self, corpus_id: int) -> tuple[int, ...]:
        """Return a value that changes whenever cases, notes, categories, codings or samples do."""
        c, n, k, g = t.error_case.c, t.error_note.c, t.error_coding.c, t.error_category.c
        of = sa.select(c.id).where(c.corpus_id == corpus_id)
        counts = (
            sa.func.count(),
            sa.func.coalesce(sa.func.max(c.id), 0),
            sa.func.count(c.deleted),
            sa.func.count(c.sample_id),
        )
        cases = self._row(sa.select(*counts).where(c.corpus_id == corpus_id))
        changes = sa.func.coalesce(sa.func.sum(g.version), 0), sa.func.count()
        categories = self._row(sa.select(*changes).where(g.corpus_id == corpus_id))
        s = t.error_sample.c
        newest = [self._number(sa.select(sa.func.max(x.id)).where(x.case_id.in_(of))) for x in (n, k)]
        newest.append(self._number(sa.select(sa.func.max(s.id)).where(s.corpus_id == corpus_id)))
        return tuple(int(value) for value in (*cases, *categories, *newest))

    def _record(self, row: Any) -> ErrorCase:
        facts, ids = CaseFacts.from_json(row.facts), tuple(row.sentence_ids)
        return ErrorCase(**{**row._mapping, "kind": CaseKind(row.kind), "facts": facts, "sentence_ids": ids})

    # --- notes ------------------------------------------------------------------------------------------------------

    def add_note(self, case_id: int, text: str, person: str) -> ErrorNote:
        """Add a note to a case."""
        People(self.connection).check_may_write(clean_text(person))
        text = checked_text(text, NOTE_LIMIT, "note")
        if not text:
            raise DataError("A note needs a text.")
        self.get(case_id)
        return self._write_note(case_id, None, text, person)

    def change_note(self, seen: ErrorNote, text: str, person: str) -> ErrorNote:
        """Replace the text of a note, or delete it with an empty one; earlier texts are kept.

        Requires the author or an admin. Raises ``ConflictError`` if the note has changed since it was ``seen``.
        """
        People(self.connection).check_may_write(clean_text(person))
        self._require_own(seen.person)
        self._lock_row(t.error_note, seen.note)
        newest = self._number(sa.select(sa.func.max(t.error_note.c.id)).where(_same_note(seen.note)))
        if newest != seen.id:
            raise ConflictError("This note was changed meanwhile. Nothing was overwritten; look at the new text first.")
        return self._write_note(seen.case_id, seen.note, checked_text(text, NOTE_LIMIT, "note"), seen.person)

    def _write_note(self, case_id: int, note: int | None, text: str, person: str) -> ErrorNote:
        values = {"case_id": case_id, "note": note, "text": text, "person": clean_text(person)}
        id = self._insert(t.error_note, **values, created=now())
        return self.note_history(note or id)[-1]

    def notes(self, corpus_id: int) -> builtins.list[ErrorNote]:
        """Return the current texts of the notes on cases that are not deleted, in the order of their first texts."""
        c, first = t.error_note.c, sa.func.coalesce(t.error_note.c.note, t.error_note.c.id)
        of = sa.select(t.error_case.c.id).where(t.error_case.c.corpus_id == corpus_id, t.error_case.c.deleted.is_(None))
        newest = sa.select(sa.func.max(c.id)).where(c.case_id.in_(of)).group_by(first)
        return self._notes(sa.and_(c.id.in_(newest), c.text != ""), first)

    def note_history(self, note: int) -> builtins.list[ErrorNote]:
        """Return all texts of a note, oldest first."""
        return self._notes(_same_note(note), t.error_note.c.id)

    def _notes(self, where: sa.ColumnElement[bool], order: sa.ColumnElement[int]) -> builtins.list[ErrorNote]:
        c = t.error_note.c
        first = sa.func.coalesce(c.note, c.id)
        query = sa.select(c.id, c.case_id, first, c.text, c.person, c.created).where(where).order_by(order)
        return [ErrorNote(*row) for row in self.connection.execute(query)]

    # --- samples ----------------------------------------------------------------------------------------------------

    def add_sample(self, corpus_id: int, name: str, model: str, population: int, seed: int, person: str) -> ErrorSample:
        """Record that cases are drawn at random from ``population`` failures of a model."""
        People(self.connection).check_may_write(clean_text(person))
        values = {"corpus_id": corpus_id, "name": clean_text(name)[: 2 * NAME_LIMIT], "model": model, "seed": seed}
        about = {"population": population, "person": clean_text(person), "created": now()}
        id = self._insert(t.error_sample, **values, **about)
        return next(sample for sample in self.samples(corpus_id) if sample.id == id)

    def samples(self, corpus_id: int) -> builtins.list[ErrorSample]:
        """Return the samples of a corpus, oldest first."""
        columns = [t.error_sample.c[name] for name in ErrorSample.__dataclass_fields__]
        query = sa.select(*columns).where(t.error_sample.c.corpus_id == corpus_id).order_by(t.error_sample.c.id)
        return [ErrorSample(*row) for row in self.connection.execute(query)]


def _same_note(note: int) -> sa.ColumnElement[bool]:
    return sa.or_(t.error_note.c.id == note, t.error_note.c.note == note)


Row = dict[str, Any]
REFERENCES: Mapping[str, Mapping[str, str]] = {
    "error_sample": {},
    "error_category": {"merged_into": "error_category"},
    "error_case": {"sample_id": "error_sample"},
    "error_note": {"case_id": "error_case", "note": "error_note"},
    "error_coding": {"case_id": "error_case", "category_id": "error_category", "undoes": "error_coding"},
}
"""Table → column → the table that it refers to; tables come after those that they refer to."""
_NOT_COPIED = ("id", "corpus_id", "digest")


def columns_of(table: str) -> list[str]:
    """Return the columns of a table that are copied."""
    return [column.name for column in t.metadata.tables[table].c if column.name not in _NOT_COPIED]


class NotebookRows(Repository):
    """Repository of the rows of error notebooks, also deleted cases and earlier notes."""

    def read(self, corpus_id: int) -> dict[str, list[Row]]:
        """Return table → its rows, oldest first; references are positions in these lists."""
        found: dict[str, list[Row]] = {}
        places: dict[str, dict[int, int]] = {}
        for name, references in REFERENCES.items():
            table = t.metadata.tables[name]
            rows = self.connection.execute(
                sa.select(table).where(self._of(table, corpus_id)).order_by(table.c.id)
            ).all()
            places[name] = {row.id: place for place, row in enumerate(rows)}
            found[name] = [
                {
                    column: places[references[column]].get(value) if column in references else value
                    for column in columns_of(name)
                    for value in [row._mapping[column]]
                }
                for row in rows
            ]
        return found

    def _of(self, table: sa.Table, corpus_id: int) -> sa.ColumnElement[bool]:
        if "corpus_id" in table.c:
            return table.c.corpus_id == corpus_id
        c = t.error_case.c
        return table.c.case_id.in_(sa.select(c.id).where(c.corpus_id == corpus_id))

    def write(self, corpus_id: int, rows: Mapping[str, Sequence[Row]], sentence_ids: Ids) -> None:
        """Add the rows that :meth:`read` returned to an empty notebook.

        The sentences of a case are places in ``sentence_ids``, the sentences of the corpus in their order.
        """
        ids: dict[str, list[int]] = {}
        for name, references in REFERENCES.items():
            ids[name] = []
            for row in rows.get(name, ()):
                values = {column: value for column, value in row.items() if column not in references}
                if name == "error_case":
                    values["sentence_ids"] = [int(sentence_ids[place]) for place in row["sentence_ids"]]
                    facts = CaseFacts.from_json(values["facts"])
                    values["digest"] = NewCase(
                        corpus_id, CaseKind(values["kind"]), tuple(values["sentence_ids"]), facts, values["permalink"]
                    ).digest
                if "corpus_id" in t.metadata.tables[name].c:
                    values["corpus_id"] = corpus_id
                # A category may be merged into a later one.
                later = name == "error_category"
                values |= {c: None if later else _id(ids[of], row[c]) for c, of in references.items()}
                ids[name].append(self._insert(t.metadata.tables[name], **values))
        self._merge(rows.get("error_category", ()), ids["error_category"])

    def _merge(self, rows: Sequence[Row], ids: Sequence[int]) -> None:
        c = t.error_category.c
        for id, row in zip(ids, rows, strict=True):
            if row["merged_into"] is not None:
                update = t.error_category.update().where(c.id == id)
                self.connection.execute(update.values(merged_into=ids[row["merged_into"]]))


def _id(ids: Sequence[int], place: int | None) -> int | None:
    return None if place is None else ids[place]
