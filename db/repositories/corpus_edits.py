"""Edits of corpora after their import: removed waves and articles, and corrected texts. Each can be undone.

Removed articles keep their rows, ids and positions; queries of their corpus leave them out. What refers to single
sentences by id, such as triplets and the items of a benchmark, still finds them.
"""

from __future__ import annotations

import builtins
import hashlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import sqlalchemy as sa

from themescope.core.columns import ColumnLevel, ColumnType, TypedColumn, described
from themescope.core.errors import ConflictError
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.records.stored import CorpusEditRecord, CorpusRecord, EditKind
from themescope.core.types import Ids, Sentence
from themescope.db import tables as t
from themescope.db.repositories.blocks import TABLES_OF_VECTORS, Columns
from themescope.db.repositories.corpora import Corpora, there
from themescope.db.sql import RecordRepository, id_chunks, id_columns, now, within
from themescope.db.types import clean_text

IMPORTED_DIGEST = "digest_without_edits"
"""Key in the report of a corpus of the digest of its text without edits, once there was one."""
REMOVED_WAVES = "removed_waves"
"""Key in the report of a corpus of its waves that have no article now, and of the first one if it is left alone."""
WAVES = "waves"
"""Key of the waves in the report of a corpus, in order."""


def every_wave(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all waves in the report of a corpus in order, also those that were removed."""
    removed = [wave for wave in report.get(REMOVED_WAVES, ()) if isinstance(wave, dict)]  # former versions: names
    return sorted([*report.get(WAVES, ()), *removed], key=lambda wave: wave["first"])


class CorpusEdits(RecordRepository[CorpusEditRecord]):
    """Repository of the edits of corpora."""

    table, record = t.corpus_edit, CorpusEditRecord

    def _record(self, row: Any) -> CorpusEditRecord:
        id, corpus_id, kind, *rest = row
        return CorpusEditRecord(id, corpus_id, EditKind(kind), *rest)

    def list(self, corpus_id: int) -> builtins.list[CorpusEditRecord]:
        """Return the edits of a corpus, oldest first."""
        return self._matching(corpus_id=corpus_id)

    def stamp(self) -> tuple[int, int]:
        """Return numbers that change with every edit and every undo, by which others find out that texts changed."""
        c = t.corpus_edit.c
        newest, undone = self.connection.execute(sa.select(sa.func.max(c.id), sa.func.count(c.undone))).one()
        return newest or 0, undone

    def steps(self, edit_id: int) -> dict[int, int]:
        """Return labelling → the step by which the sentences of a removal left it."""
        found: Mapping[str, int] = self._by_id(t.corpus_edit, [t.corpus_edit.c.steps], edit_id).steps
        return {int(labelling): step for labelling, step in found.items()}

    def remove(self, corpus_id: int, kind: EditKind, what: str, articles: Ids, person: str) -> CorpusEditRecord:
        """Remove articles from a corpus; they keep their rows."""
        self._lock_row(t.corpus, corpus_id)
        before = Corpora(self.connection).counted(corpus_id)
        edit = self._enter(corpus_id, kind, what, articles=len(articles), person=person)
        c = t.article.c
        for chunk in id_chunks(articles):
            own = (c.corpus_id == corpus_id) & within(self.connection, c.id, chunk)
            self.connection.execute(t.article.update().where(own).values(removed=edit))
        after = self.refresh(corpus_id)
        self.recount(corpus_id)
        self._set(edit, sentences=before["sentences"] - after.sentences)
        return self.get(edit)

    def correct(self, corpus_id: int, title: str, sentence: Sentence, text: str, person: str) -> CorpusEditRecord:
        """Replace the text of a sentence; the vectors of its article are out of date and are deleted."""
        self._lock_row(t.corpus, corpus_id)
        c = t.label.c
        own = c.labelling_id.in_(sa.select(t.labelling.c.id).where(t.labelling.c.corpus_id == corpus_id))
        labels = sa.select(sa.func.count()).where(own, c.sentence_id == sentence.id, c.number != UNASSIGNED)
        about = {"sentence_id": sentence.id, "before": sentence.text, "after": clean_text(text), "sentences": 1}
        about |= {"labels": self._number(labels), "person": person}
        edit = self._enter(corpus_id, EditKind.TEXT, title, **about)
        self._write_text(sentence.id, sentence.text, text)
        self.refresh(corpus_id)
        return self.get(edit)

    def set_steps(self, edit_id: int, steps: Mapping[int, int], labels: int) -> None:
        """Store labelling → the step by which the sentences of a removal left it, and the number of their labels."""
        self._set(edit_id, steps={str(labelling): step for labelling, step in steps.items()}, labels=labels)

    def undo(self, edit_id: int) -> CorpusEditRecord:
        """Take an edit back; raise ``ConflictError`` if it is undone, or the text was corrected again since."""
        edit = self.get(edit_id)
        self._lock_row(t.corpus, edit.corpus_id)
        if edit.undone is not None:
            raise ConflictError("This edit is undone already.")
        if edit.kind is EditKind.TEXT:
            self._write_text(edit.sentence_id, edit.after, edit.before)
        self.connection.execute(t.article.update().where(t.article.c.removed == edit_id).values(removed=None))
        self._set(edit_id, undone=now())
        self.refresh(edit.corpus_id)
        if edit.kind is not EditKind.TEXT:
            self.recount(edit.corpus_id)
        return self.get(edit_id)

    def removed_articles(self, edit_id: int) -> Ids:
        """Return the ids (n,) of the articles that an edit removed and that are not back."""
        found = self.connection.execute(sa.select(t.article.c.id).where(t.article.c.removed == edit_id))
        return id_columns(found, 1)[0]

    def recount(self, corpus_id: int) -> None:
        """Give the columns of a corpus what is known of the values of the articles and sentences that are there now."""
        known, columns = Corpora(self.connection), Columns(self.connection)
        units = {ColumnLevel.ARTICLE: known.article_ids(corpus_id), ColumnLevel.SENTENCE: known.sentence_ids(corpus_id)}
        for column in columns.list(corpus_id, with_removed=True):
            found = TypedColumn(ColumnType(column.type), columns.values(column, units[column.level]), column.about)
            columns.extend(column, {**column.about, **described(found)}, [])

    def refresh(self, corpus_id: int) -> CorpusRecord:
        """Give a corpus the counts and the digest that follow from its edits. Indexes of its vectors are deleted."""
        known = Corpora(self.connection)
        edits = self.list(corpus_id)
        if not edits:
            return known.get(corpus_id)
        report = dict(known.get(corpus_id).report)
        base = report.setdefault(IMPORTED_DIGEST, report.get("digest", ""))
        active = [edit for edit in edits if edit.undone is None]
        marks = f"{base} {[edit.id for edit in active]}".encode()
        report["digest"] = hashlib.blake2b(marks, digest_size=8).hexdigest() if active else base
        places = np.array([*self.connection.scalars(sa.select(t.article.c.position).where(there(corpus_id)))])
        waves = every_wave(report)
        found = (
            [
                wave
                for wave, later in zip(waves, [*(wave["first"] for wave in waves[1:]), sys.maxsize], strict=True)
                if ((places >= wave["first"]) & (places < later)).any()
            ]
            if waves
            else []
        )
        found = [] if [wave["first"] for wave in found] == [0] else found
        split = {WAVES: found, REMOVED_WAVES: [wave for wave in waves if wave not in found]}
        report = {key: value for key, value in (report | split).items() if value or key not in split}
        changed = t.corpus.update().where(t.corpus.c.id == corpus_id)
        self.connection.execute(changed.values(report=report, **known.counted(corpus_id)))
        return known.get(corpus_id)

    def _enter(self, corpus_id: int, kind: EditKind, what: str, **values: Any) -> int:
        empty = {"sentence_id": 0, "before": "", "after": "", "articles": 0, "sentences": 0, "labels": 0, "steps": {}}
        about = {"corpus_id": corpus_id, "kind": kind.value, "what": what}
        return self._insert(t.corpus_edit, **about, created=now(), **empty | values)

    def _set(self, edit_id: int, **values: Any) -> None:
        self.connection.execute(t.corpus_edit.update().where(t.corpus_edit.c.id == edit_id).values(values))

    def _write_text(self, sentence_id: int, before: str, after: str) -> None:
        c = t.sentence.c
        own = t.sentence.update().where(c.id == sentence_id, c.text == before)
        if self.connection.execute(own.values(text=after)).rowcount == 0:
            raise ConflictError("The text of this sentence was changed since. Undo the later correction first.")
        owner = sa.select(c.article_id).where(c.id == sentence_id).scalar_subquery()
        for table in TABLES_OF_VECTORS:
            self.connection.execute(table.delete().where(table.c.article_id == owner))
