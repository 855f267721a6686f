"""Triplet sets and their triplets."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any

import numpy as np
import sqlalchemy as sa

from core.errors import DataError
from core.types import Ids, Split, TripletRows, TripletTexts
from db import tables as t
from db.records import Json, TripletCard, TripletMeasures, TripletSections, TripletSetRecord
from db.repositories.base import Repository
from db.repositories.triplet_measures import measures
from db.repositories.triplet_sections import section_titles
from db.repositories.triplet_texts import TripletReader
from db.sql import SPLITS, bulk_insert, contains, id_chunks, id_columns, now, within

_SET = [t.triplet_set.c[f] for f in TripletSetRecord.__dataclass_fields__]
_ROW = [t.triplet.c[name] for name in ("id", "article_id", "pivot_id", "positive_id", "negative_id")]
_NEW = ("set_id", "split", "article_id", "pivot_id", "positive_id", "negative_id")
_KINDS = ("sentences", "titles")


class Triplets(Repository):
    """Repository of triplet sets. Triplets are stored as ids, in the order of insertion within each split."""

    def create(
        self, corpus_id: int, name: str, kind: str, config: Json, seed: int, digest: str, revision: int = 1
    ) -> TripletSetRecord:
        """Create an empty set, hidden from :meth:`list` until :meth:`finish`.

        Raises
        ------
        DuplicateNameError
            If the name is taken, even by a set that is not finished.
        """
        if kind not in _KINDS:
            raise DataError(f"A triplet set is of kind {' or '.join(_KINDS)}, not {kind!r}.")
        name = self._free_name(t.triplet_set, name)
        values = {"corpus_id": corpus_id, "name": name, "kind": kind, "config": config, "seed": seed, "digest": digest}
        values |= {"counts": {}, "ready": False, "created": now(), "revision": revision}
        return self.get(self._insert(t.triplet_set, **values))

    def add(self, set_id: int, split: Split, rows: TripletRows) -> None:
        """Append triplets (their ``ids`` are ignored); some 10,000 at a time keep other writers waiting least."""
        columns = (rows.articles, rows.pivots, rows.positives, rows.negatives)
        if len({len(column) for column in columns}) != 1:
            raise DataError("The columns of a triplet block differ in length.")
        table = np.column_stack([np.asarray(column, dtype=np.int64) for column in columns]).tolist()
        number = SPLITS.index(split)
        bulk_insert(self.connection, t.triplet, _NEW, ((int(set_id), number, *row) for row in table))

    def finish(self, set_id: int, counts: Json) -> TripletSetRecord:
        """Make the set visible."""
        update = t.triplet_set.update().where(t.triplet_set.c.id == set_id)
        self.connection.execute(update.values(ready=True, counts=counts))
        return self.get(set_id)

    def list(self, corpus_id: int | None = None, include_unready: bool = False) -> list[TripletSetRecord]:
        """Return finished sets (of one corpus), oldest first."""
        query = sa.select(*_SET).order_by(t.triplet_set.c.id)
        if not include_unready:
            query = query.where(t.triplet_set.c.ready)
        if corpus_id is not None:
            query = query.where(t.triplet_set.c.corpus_id == corpus_id)
        return [TripletSetRecord(*row) for row in self.connection.execute(query)]

    def by_name(self, name: str) -> TripletSetRecord:
        """Return the set called ``name``, ready or not; :class:`UnknownNameError` suggests similar names."""
        return TripletSetRecord(*self._named(t.triplet_set, _SET, name))

    def get(self, set_id: int) -> TripletSetRecord:
        """Return the set with that id; raise :class:`UnknownNameError` if there is none."""
        return TripletSetRecord(*self._by_id(t.triplet_set, _SET, set_id))

    def by_digest(self, corpus_id: int, digest: str) -> TripletSetRecord | None:
        """Return the finished set with this digest, if any."""
        c = t.triplet_set.c
        query = sa.select(*_SET).where(c.corpus_id == corpus_id, c.digest == digest, c.ready).order_by(c.id)
        row = self._row(query)
        return None if row is None else TripletSetRecord(*row)

    def usable_name(self, wanted: str) -> str:
        """Return ``wanted``, with the first free number appended if taken: ``wanted 2``."""
        return self._usable_name(t.triplet_set, wanted)

    def delete(self, set_id: int) -> None:
        """Remove a set with its triplets and the runs over it; models trained on it stay."""
        self.connection.execute(t.triplet.delete().where(t.triplet.c.set_id == set_id))
        self._delete(t.triplet_set, set_id)

    # --- triplets ---------------------------------------------------------------------------------------------------

    def rows(self, set_id: int, split: Split, limit: int | None = None) -> TripletRows:
        """Return the triplets of a split as ids, in order."""
        c = t.triplet.c
        query = sa.select(*_ROW).where(c.set_id == set_id, c.split == SPLITS.index(split)).order_by(c.id).limit(limit)
        return TripletRows(*id_columns(self.connection.execute(query), len(_ROW)))

    def texts(self, set_id: int, split: Split, limit: int | None = None) -> TripletTexts:
        """The (first ``limit``) triplets of a split as text, row for row as :meth:`rows`.

        For the kind "titles", positive and negative are the article's title and the section's, with a space between.
        """
        return self.texts_of(self.get(set_id).kind, self.rows(set_id, split, limit))

    def texts_of(self, kind: str, rows: TripletRows) -> TripletTexts:
        """The texts of triplets of a ``kind`` that were read before, row for row."""
        return TripletReader(self.connection).texts(kind, rows)

    def sections(self, set_id: int, split: Split) -> TripletSections:
        """The titles of the two sections of every triplet of a split, row for row as :meth:`rows`."""
        return section_titles(self.connection, self.get(set_id).kind, self.rows(set_id, split))

    def measures(self, set_id: int, split: Split) -> TripletMeasures:
        """How long and how far apart the sentences of every triplet of a split are, row for row as :meth:`rows`."""
        return measures(self.connection, self.get(set_id).kind, self.rows(set_id, split))

    def ids(self, set_id: int, split: Split | None = None) -> Ids:
        """Return the ids of the triplets of a split, or of all splits in order."""
        query = self._of(sa.select(t.triplet.c.id), set_id, split).order_by(t.triplet.c.split, t.triplet.c.id)
        (found,) = id_columns(self.connection.execute(query), 1)
        return found

    def count(self, set_id: int, split: Split | None = None) -> int:
        """Return the number of triplets of a split, or of all."""
        return self._number(self._of(sa.select(sa.func.count()), set_id, split))

    def holding(self, corpus_id: int, text: str) -> Ids:
        """Ids of the sentences of a corpus that hold ``text``, whatever the case, ascending."""
        c = t.sentence.c
        query = sa.select(c.id).join(t.article, t.article.c.id == c.article_id).order_by(c.id)
        return self._found(query.where(t.article.c.corpus_id == corpus_id), c.text, text)

    def titled(self, corpus_id: int, text: str) -> Ids:
        """Ids of the articles of a corpus with ``text`` in their title, whatever the case, ascending."""
        c = t.article.c
        return self._found(sa.select(c.id).where(c.corpus_id == corpus_id).order_by(c.id), c.title, text)

    def _found(self, query: sa.Select[Any], column: sa.Column[str], text: str) -> Ids:
        result = self.connection.execute(query.where(contains(self.connection, column, text)))
        (found,) = id_columns(result, 1)
        return found

    def _of(self, query: sa.Select[Any], set_id: int, split: Split | None) -> sa.Select[Any]:
        query = query.select_from(t.triplet).where(t.triplet.c.set_id == set_id)
        return query if split is None else query.where(t.triplet.c.split == SPLITS.index(split))

    def cards(self, triplet_ids: Iterable[int] | Ids) -> builtins.list[TripletCard]:
        """Triplets with everything that a review needs, in the given order; deleted ones are left out."""
        wanted = [int(i) for i in triplet_ids]
        columns = [*_ROW, t.triplet.c.split, t.triplet_set.c.kind]
        found: dict[int, Any] = {}
        for chunk in id_chunks(wanted):
            query = sa.select(*columns).join(t.triplet_set, t.triplet_set.c.id == t.triplet.c.set_id)
            query = query.where(within(self.connection, t.triplet.c.id, chunk))
            found.update((row.id, row) for row in self.connection.execute(query))
        return TripletReader(self.connection).cards([found[i] for i in wanted if i in found])
