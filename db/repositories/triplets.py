"""Triplet sets, their triplets as ids, texts, cards and arrays, and reviews of triplets.

Half a million triplets share some 200,000 sentences. For positions, titles and lengths without text, each sentence is
looked up once and joined in memory, which is faster than a join in the database per triplet.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from themescope.core.errors import DataError
from themescope.core.records.stored import Json
from themescope.core.types import Ids, Split, TripletRows, TripletTexts
from themescope.db import tables as t
from themescope.db.records import SentencePlaces, TripletCard, TripletReview, TripletSections, TripletSetRecord, Verdict
from themescope.db.repositories.corpora import Corpora, removed_articles
from themescope.db.repositories.people import People
from themescope.db.sql import (
    SPLITS,
    NamedRepository,
    RecordRepository,
    bulk_insert,
    grouped_columns,
    id_chunks,
    id_columns,
    now,
    plain_rows,
    within,
)
from themescope.db.types import clean_text

_Codes = npt.NDArray[np.int32]
_Table = tuple[Ids, _Codes]
"""Ascending keys, and the code of the title of each."""
PLACES = 1 << 20
"""Factor that combines an article id and the position of a section to one number; no article has so many sections."""


def section_titles(connection: Connection, kind: str, rows: TripletRows) -> TripletSections:
    """Return the section titles of pivots and negatives; in sets of kind "titles", negatives are sections."""
    titled = kind == "titles"
    sentences = rows.pivots if titled else np.concatenate([rows.pivots, rows.negatives])
    s, section, codes = t.sentence.c, t.section.c, {"": 0}
    found = [np.empty((3, 0), np.int64)]
    for chunk in id_chunks(sentences):
        numbers = grouped_columns(connection, s.article_id, (s.id, s.section), within(connection, s.id, chunk))
        found.append(np.stack(numbers))
    table = np.concatenate(found, axis=1)
    articles, ids, sections = table[:, np.argsort(table[1], kind="stable")]
    places = articles * PLACES + sections
    of_sentence = ids, looked_up(_titles_at(connection, places, codes), places)
    of_negative = of_sentence
    if titled:
        of_negative = _titles(connection, section.id, section.id, rows.negatives, codes)
    own, other = looked_up(of_sentence, rows.pivots), looked_up(of_negative, rows.negatives)
    return TripletSections(rows.ids, rows.articles, own, other, list(codes))


def _titles_at(connection: Connection, places: Ids, codes: dict[str, int]) -> _Table:
    """Return the section titles of all articles in ``places``; new titles are added to ``codes``."""
    c = t.section.c
    return _titles(connection, c.article_id * PLACES + c.position, c.article_id, places // PLACES, codes)


def _titles(
    connection: Connection, key: sa.ColumnElement[int], among: sa.Column[int], ids: Ids, codes: dict[str, int]
) -> _Table:
    """Return the titles of the sections ``among`` whose values are ``ids``, by ``key``."""
    query = sa.select(key, t.section.c.title)
    chunks = (query.where(within(connection, among, chunk)) for chunk in id_chunks(ids))
    listed = [row for chunk in chunks for row in plain_rows(connection.execute(chunk))]
    titles = [title for _, title in listed]
    for title in dict.fromkeys(titles):
        codes.setdefault(title, len(codes))
    keys = np.fromiter((key for key, _ in listed), np.int64, len(listed))
    values = np.fromiter(map(codes.__getitem__, titles), np.int32, len(titles))
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]


def looked_up(table: _Table, wanted: Ids) -> _Codes:
    """Return the codes of the wanted keys; 0, the code of no title, for missing ones."""
    keys, codes = table
    if not len(keys):
        return np.zeros(len(wanted), np.int32)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, codes[at], 0).astype(np.int32)


def sentence_places(connection: Connection, sentence_ids: Ids) -> SentencePlaces:
    """Return article, position and section title of existing sentences, in the order of the ids.

    Sentences of removed articles are left out.
    """
    c = t.sentence.c
    found = [np.empty((4, 0), np.int64)]
    for chunk in id_chunks(sentence_ids):
        columns = (c.id, c.position, c.section)
        found.append(np.stack(grouped_columns(connection, c.article_id, columns, within(connection, c.id, chunk))))
    table = np.concatenate(found, axis=1)
    (removed,) = id_columns(connection.execute(sa.select(t.article.c.id).where(t.article.c.removed.is_not(None))), 1)
    table = table[:, ~np.isin(table[0], removed)]
    table = table[:, np.argsort(table[1], kind="stable")]
    at = np.minimum(np.searchsorted(table[1], sentence_ids), max(table.shape[1] - 1, 0))
    there = table[1][at] == sentence_ids if table.shape[1] else np.zeros(len(sentence_ids), bool)
    articles, ids, positions, sections = table[:, at[there]] if table.shape[1] else table
    codes: dict[str, int] = {"": 0}
    places = articles * PLACES + sections
    titles = looked_up(_titles_at(connection, places, codes), places)
    return SentencePlaces(ids, articles, positions, titles, list(codes))


_ROW = [t.triplet.c[name] for name in ("id", "article_id", "pivot_id", "positive_id", "negative_id")]
_NEW = ("set_id", "split", "article_id", "pivot_id", "positive_id", "negative_id")
_KINDS = ("sentences", "titles")


class Triplets(NamedRepository[TripletSetRecord]):
    """Repository of triplet sets. Triplets are stored as ids, in the order of insertion within each split."""

    table, record = t.triplet_set, TripletSetRecord

    def create(
        self, corpus_id: int, name: str, kind: str, config: Json, seed: int, digest: str, revision: int = 1
    ) -> TripletSetRecord:
        """Create an empty set, hidden from :meth:`list` until :meth:`finish`.

        Raises ``DuplicateNameError`` if the name is taken, even by a set that is not finished.
        """
        if kind not in _KINDS:
            raise DataError(f"The kind of a triplet set is {' or '.join(_KINDS)}, not {kind!r}.")
        name = self._free_name(t.triplet_set, name)
        values = {"corpus_id": corpus_id, "name": name, "kind": kind, "config": config, "seed": seed, "digest": digest}
        values |= {"counts": {}, "ready": False, "created": now(), "revision": revision}
        return self.get(self._insert(t.triplet_set, **values))

    def add(self, set_id: int, split: Split, rows: TripletRows) -> None:
        """Append triplets; their ``ids`` are ignored. Batches of about 10,000 let other writers in between."""
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
        return self._matching(corpus_id=corpus_id, ready=None if include_unready else True)

    def by_digest(self, corpus_id: int, digest: str) -> TripletSetRecord | None:
        """Return the finished set with this digest, if any."""
        return next(iter(self._matching(corpus_id=corpus_id, digest=digest, ready=True)), None)

    def delete(self, set_id: int) -> None:
        """Delete a set with its triplets and runs; models trained on it stay."""
        self.connection.execute(t.triplet.delete().where(t.triplet.c.set_id == set_id))
        self._delete(t.triplet_set, set_id)

    # --- triplets ---------------------------------------------------------------------------------------------------

    def rows(self, set_id: int, split: Split, limit: int | None = None) -> TripletRows:
        """Return the triplets of a split as ids, in order."""
        c = t.triplet.c
        query = self._of(sa.select(*_ROW), set_id, split).order_by(c.id).limit(limit)
        return TripletRows(*id_columns(self.connection.execute(query), len(_ROW)))

    def texts(self, set_id: int, split: Split, limit: int | None = None) -> TripletTexts:
        """Return the (first ``limit``) triplets of a split as text, in the order of :meth:`rows`.

        For the kind "titles", positive and negative are the title of the article, a space and the title of the section.
        """
        return self.texts_of(self.get(set_id).kind, self.rows(set_id, split, limit))

    def texts_of(self, kind: str, rows: TripletRows) -> TripletTexts:
        """Return the texts of triplets of a ``kind``, in the same order."""
        if kind == "titles":
            sentences = self._sentence_texts(rows.pivots)
            others = self._title_texts(np.concatenate([rows.positives, rows.negatives]))
        else:
            sentences = others = self._sentence_texts(np.concatenate([rows.pivots, rows.positives, rows.negatives]))
        return TripletTexts(
            [sentences[i] for i in rows.pivots.tolist()],
            [others[i] for i in rows.positives.tolist()],
            [others[i] for i in rows.negatives.tolist()],
            rows.articles.copy(),
        )

    def _sentence_texts(self, ids: Ids) -> dict[int, str]:
        c = t.sentence.c
        return self._texts(sa.select(c.id, c.text), c.id, ids)

    def _title_texts(self, section_ids: Iterable[int] | Ids) -> dict[int, str]:
        """Return the titles of the article and the section as one text by the id of the section."""
        joined = sa.select(t.section.c.id, t.article.c.title, t.section.c.title)
        joined = joined.join(t.article, t.article.c.id == t.section.c.article_id)
        return self._texts(joined, t.section.c.id, section_ids)

    def _texts(self, query: sa.Select[Any], key: sa.Column[int], ids: Iterable[int] | Ids) -> dict[int, str]:
        found: dict[int, str] = {}
        for chunk in id_chunks(ids):
            rows = self.connection.execute(query.where(within(self.connection, key, chunk)))
            found.update((id, " ".join(parts).strip()) for id, *parts in rows)
        return found

    def sections(self, set_id: int, split: Split) -> TripletSections:
        """Return the section titles of the triplets of a split, in the order of :meth:`rows`."""
        return section_titles(self.connection, self.get(set_id).kind, self.rows(set_id, split))

    def ids(self, set_id: int, split: Split | None = None) -> Ids:
        """Return the ids of the triplets of a split, or of all splits in order."""
        query = self._of(sa.select(t.triplet.c.id), set_id, split).order_by(t.triplet.c.split, t.triplet.c.id)
        (found,) = id_columns(self.connection.execute(query), 1)
        return found

    def count(self, set_id: int, split: Split | None = None) -> int:
        """Return the number of triplets of a split, or of all."""
        return self._number(self._of(sa.select(sa.func.count()), set_id, split))

    def _of(self, query: sa.Select[Any], set_id: int, split: Split | None) -> sa.Select[Any]:
        """Return a query of the triplets of a set (of one split) without those with sentences of removed articles."""
        c = t.triplet.c
        query = query.select_from(t.triplet).where(c.set_id == set_id)
        query = query if split is None else query.where(c.split == SPLITS.index(split))
        if not len(removed_articles(self.connection)):
            return query
        gone = sa.select(t.article.c.id).where(t.article.c.removed.is_not(None))
        query = query.where(c.article_id.not_in(gone))
        if self.get(set_id).kind == "titles":
            return query
        lost = sa.select(t.sentence.c.id).where(t.sentence.c.article_id.in_(gone))
        return query.where(*(column.not_in(lost) for column in (c.pivot_id, c.positive_id, c.negative_id)))

    def cards(self, triplet_ids: Iterable[int] | Ids) -> builtins.list[TripletCard]:
        """Return triplets with texts and titles, in the given order; deleted ones are left out."""
        wanted = [int(i) for i in triplet_ids]
        columns = [*_ROW, t.triplet.c.split, t.triplet_set.c.kind]
        found: dict[int, Any] = {}
        for chunk in id_chunks(wanted):
            query = sa.select(*columns).join(t.triplet_set, t.triplet_set.c.id == t.triplet.c.set_id)
            query = query.where(within(self.connection, t.triplet.c.id, chunk))
            found.update((row.id, row) for row in self.connection.execute(query))
        rows = [found[i] for i in wanted if i in found]
        corpora = Corpora(self.connection)
        titled = [i for row in rows if row.kind == "titles" for i in (row.positive_id, row.negative_id)]
        others = [i for row in rows if row.kind != "titles" for i in (row.positive_id, row.negative_id)]
        sentences = corpora.sentences_by_id([*(row.pivot_id for row in rows), *others])
        of_article = corpora.sections_of(s.article_id for s in sentences.values())
        headings = {(article, s.position): s.title for article, listed in of_article.items() for s in listed}
        # The text of a sentence or of titles, and the title of its section.
        read = {id: (s.text, headings.get((s.article_id, s.section), "")) for id, s in sentences.items()}
        sections, titles = corpora.sections_by_id(titled), self._title_texts(titled)
        read_titles = {id: (text, sections[id].title) for id, text in titles.items()}
        articles = corpora.articles_by_id(row.article_id for row in rows)
        cards = []
        for row in rows:
            side = read_titles if row.kind == "titles" else read
            (pivot, section), (positive, _) = read[row.pivot_id], side[row.positive_id]
            negative, other = side[row.negative_id]
            of, texts = articles[row.article_id], (pivot, positive, negative, section, other)
            ids = (row.pivot_id, row.positive_id, row.negative_id)
            cards.append(TripletCard(row.id, SPLITS[row.split], of.id, of.title, *texts, *ids))
        return cards


NOTE_LIMIT = 2_000


class TripletReviews(RecordRepository[TripletReview]):
    """Repository of reviews. Rows are only added; the latest review of a person counts."""

    table, record = t.triplet_review, TripletReview

    def add(self, set_id: int, triplet_id: int, person: str, verdict: Verdict | None, note: str = "") -> TripletReview:
        """Add a verdict; None withdraws the person's earlier one.

        Raises ``DataError`` if the set has no such triplet or the note is too long, and ``StoreError`` if the person
        may only view.
        """
        People(self.connection).check_may_write(clean_text(person))
        note = clean_text(note).strip()
        if len(note) > NOTE_LIMIT:
            raise DataError(f"A note has at most {NOTE_LIMIT:,} characters; this one has {len(note):,}. Shorten it.")
        of_set = sa.select(t.triplet.c.id).where(t.triplet.c.id == triplet_id, t.triplet.c.set_id == set_id)
        if self._row(of_set) is None:
            raise DataError("This triplet was deleted with its set. Choose another set.")
        values = {"person": clean_text(person), "verdict": verdict.value if verdict else "", "note": note}
        id = self._insert(t.triplet_review, set_id=set_id, triplet_id=triplet_id, **values, created=now())
        return self.get(id)

    def newest(self, set_id: int) -> int:
        """Return the id of the last review of a set, 0 if there is none; it changes whenever a review is added."""
        c = t.triplet_review.c
        return self._number(sa.select(sa.func.max(c.id)).where(c.set_id == set_id))

    def list(self, set_id: int, people: Sequence[str] | None = None) -> builtins.list[TripletReview]:
        """Return the current verdicts of all (or these) people on the triplets of a set, oldest first."""
        c = t.triplet_review.c
        latest = sa.select(sa.func.max(c.id)).where(c.set_id == set_id).group_by(c.triplet_id, c.person)
        query = self._select().where(c.id.in_(latest), c.verdict != "").order_by(c.id)
        if people is not None:
            query = query.where(c.person.in_([*people]))
        return self._records(query)

    def history(self, set_id: int, triplet_id: int) -> builtins.list[TripletReview]:
        """Return all reviews of a triplet, oldest first."""
        return self._matching(set_id=set_id, triplet_id=triplet_id)

    def _record(self, row: Any) -> TripletReview:
        return TripletReview(**{**row._mapping, "verdict": Verdict(row.verdict) if row.verdict else None})
