"""Cases of error notebooks, their notes, and random samples of cases."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from themescope.core.errors import ConflictError, DataError
from themescope.core.labelling.error_cases import MOST_SENTENCES, CaseFacts, CaseKind
from themescope.db import notebook_tables as t
from themescope.db.notebook_records import ErrorCase, ErrorNote, ErrorSample, NewCase, Notebook
from themescope.db.repositories.base import NAME_LIMIT, RecordRepository
from themescope.db.repositories.error_categories import ErrorCategories
from themescope.db.repositories.people import People
from themescope.db.sql import id_chunks, now, within
from themescope.db.types import clean_text

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
        text = _checked(text)
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
        return self._write_note(seen.case_id, seen.note, _checked(text), seen.person)

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


def _checked(text: str) -> str:
    text = clean_text(text).strip()
    if len(text) > NOTE_LIMIT:
        raise DataError(f"A note has at most {NOTE_LIMIT:,} characters; this one has {len(text):,}. Shorten it.")
    return text
