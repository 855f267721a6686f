"""Corpora, articles, sections and sentences, and search in the texts of all corpora."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from themescope.core.errors import DataError, StoreError, UnknownNameError
from themescope.core.records.stored import ArticleRecord, CorpusRecord, JobStatus, Json
from themescope.core.types import Article, Ids, ReadEntry, SectionRecord, Sentence, Split, fold_title, title_bucket
from themescope.db import tables as t
from themescope.db.repositories.blocks import Columns
from themescope.db.sql import (
    BATCH,
    NamedRepository,
    Repository,
    batches,
    bucket_range,
    bulk_insert,
    contains,
    id_chunks,
    id_columns,
    now,
    plain_rows,
    within,
)
from themescope.db.types import clean_text, dump_json

_ARTICLE = [t.article.c[f] for f in ArticleRecord.__dataclass_fields__ if f in t.article.c]
_SECTION = [t.section.c[f] for f in SectionRecord.__dataclass_fields__]
_SENTENCE = [t.sentence.c[f] for f in Sentence.__dataclass_fields__]
# The order of their index, so that nothing is sorted.
_SECTION_ORDER = (t.section.c.article_id, t.section.c.position)
_SENTENCE_ORDER = (t.sentence.c.article_id, t.sentence.c.position)
_CONDITIONS = 200
"""Number of conditions of a query; SQLite rejects expressions with a thousand levels."""
_NEW_ARTICLE = ("corpus_id", "position", "title", "url", "source", "bucket", "sections", "sentences", "topic", "part")
_NEW_SECTION = ("article_id", "position", "level", "title", "path")
_NEW_SENTENCE = ("article_id", "position", "section", "paragraph", "opens_paragraph", "start", "text")


class Corpora(NamedRepository[CorpusRecord]):
    """Repository of corpora and their text. Articles keep their order; ids are never reused."""

    table, record = t.corpus, CorpusRecord

    # --- corpora ----------------------------------------------------------------------------------------------------

    def create(self, name: str, language: str) -> CorpusRecord:
        """Create an empty corpus, hidden until :meth:`finish`.

        Raises ``DuplicateNameError`` if the name is taken, even by a corpus whose import is not finished.
        """
        values = {"name": self._free_name(t.corpus, name), "language": language, "ready": False, "report": {}}
        return self.get(self._insert(t.corpus, **values, **_text_counts([]), created=now()))

    def finish(self, corpus_id: int, report: Json) -> CorpusRecord:
        """Make the corpus visible and store the report of its import."""
        self.connection.execute(t.corpus.update().where(t.corpus.c.id == corpus_id).values(ready=True, report=report))
        return self.get(corpus_id)

    def add_entries(self, corpus_id: int, entries: Iterable[ReadEntry]) -> None:
        """Store what the import of a corpus left out or changed, in the order of its files."""
        known = sa.select(sa.func.count()).where(t.import_entry.c.corpus_id == corpus_id)
        rows = (
            (corpus_id, number, change, clean_text(reason), clean_text(place), clean_text(text))
            for number, (change, reason, place, text) in enumerate(entries, self._number(known))
        )
        bulk_insert(self.connection, t.import_entry, [column.name for column in t.import_entry.c], rows)

    def entries(self, corpus_id: int, limit: int | None = None) -> builtins.list[ReadEntry]:
        """Return the first ``limit`` parts of files that the import left out or changed, or all."""
        c = t.import_entry.c
        query = sa.select(c.change, c.reason, c.place, c.text).where(c.corpus_id == corpus_id).order_by(c.number)
        return [ReadEntry(*row) for row in self.connection.execute(query.limit(limit))]

    def rename(self, corpus_id: int, name: str) -> CorpusRecord:
        """Rename a corpus, also in the arguments of its jobs and in saved views.

        Raises ``StoreError`` while one of its jobs waits or runs, ``DuplicateNameError`` if the name is taken.
        """
        old = self.get(corpus_id).name
        if clean_text(name).strip() == old:
            return self.get(corpus_id)
        name, c = self._free_name(t.corpus, name), t.job.c
        jobs = self.connection.execute(sa.select(c.id, c.args, c.status)).all()
        own = [job for job in jobs if job.args.get("corpus") == old]
        if any(not JobStatus(job.status).ended for job in own):
            raise StoreError(f"Jobs of {old!r} are waiting or running. Rename it when they have ended.")
        for job in own:
            self.connection.execute(t.job.update().where(c.id == job.id).values(args=job.args | {"corpus": name}))
        views = t.saved_view
        for view in self.connection.execute(sa.select(views.c.id, views.c.query)).all():
            parts = parse_qsl(view.query, keep_blank_values=True)
            if ("corpus", old) in parts:
                query = urlencode([(key, name if (key, value) == ("corpus", old) else value) for key, value in parts])
                self.connection.execute(views.update().where(views.c.id == view.id).values(query=query))
        self.connection.execute(t.corpus.update().where(t.corpus.c.id == corpus_id).values(name=name))
        return self.get(corpus_id)

    def delete(self, corpus_id: int) -> None:
        """Delete the corpus with its triplets, benchmarks, vectors, runs and maps; models, which need no text, stay."""
        self.get(corpus_id)
        sets = sa.select(t.triplet_set.c.id).where(t.triplet_set.c.corpus_id == corpus_id)
        articles = sa.select(t.article.c.id).where(t.article.c.corpus_id == corpus_id)
        # In bulk first, because a cascade looks up each parent separately.
        self.connection.execute(t.triplet.delete().where(t.triplet.c.set_id.in_(sets)))
        for table in (t.sentence, t.section, t.embedding, t.filed_embedding, t.score, t.assignment):
            self.connection.execute(table.delete().where(table.c.article_id.in_(articles)))
        self._delete(t.corpus, corpus_id)

    def abandon(self, corpus_id: int) -> None:
        """Abandon an unfinished import: release its name and mark it for removal."""
        name = f"unfinished import {corpus_id}"
        if not self.get(corpus_id).name.startswith(name):
            name = self.usable_name(name)
            self.connection.execute(t.corpus.update().where(t.corpus.c.id == corpus_id).values(name=name, ready=False))

    def shrink(self, corpus_id: int, articles: int = 100) -> bool:
        """Delete the last ``articles`` of an abandoned corpus, or the empty corpus; return whether articles remain.

        Large corpora are deleted in several transactions, so that others can write in between.
        """
        own = sa.select(t.article.c.id).where(t.article.c.corpus_id == corpus_id)
        last = [*self.connection.execute(own.order_by(t.article.c.position.desc()).limit(articles)).scalars()]
        for table in (t.sentence, t.section):
            self.connection.execute(table.delete().where(within(self.connection, table.c.article_id, last)))
        self.connection.execute(t.article.delete().where(within(self.connection, t.article.c.id, last)))
        if not last:
            self.connection.execute(t.corpus.delete().where(t.corpus.c.id == corpus_id))
        return bool(last)

    def list(self, include_unready: bool = False) -> list[CorpusRecord]:
        """Return all corpora, oldest first."""
        return self._matching(ready=None if include_unready else True)

    # --- writing text -----------------------------------------------------------------------------------------------

    def add_articles(self, corpus_id: int, articles: Sequence[Article]) -> None:
        """Append split articles in batches of about 2,000 sentences or a few hundred articles.

        Raises ``DataError`` if a paragraph was not split into sentences.
        """
        if not articles:
            return
        start = self.imported_articles(corpus_id)
        bulk_insert(self.connection, t.article, _NEW_ARTICLE, _article_rows(int(corpus_id), start, articles))
        inserted = sa.select(t.article.c.id).where(t.article.c.corpus_id == corpus_id, t.article.c.position >= start)
        ids = self.connection.execute(inserted.order_by(t.article.c.position)).scalars().all()
        bulk_insert(self.connection, t.section, _NEW_SECTION, _section_rows(ids, articles))
        bulk_insert(self.connection, t.sentence, _NEW_SENTENCE, _sentence_rows(ids, articles))
        Columns(self.connection).add_raw(corpus_id, articles, ids)
        grown = {name: t.corpus.c[name] + more for name, more in _text_counts(articles).items()}
        self.connection.execute(t.corpus.update().where(t.corpus.c.id == corpus_id).values(grown))

    def absorb(self, corpus_id: int, staged: CorpusRecord, without: tuple[Ids, Ids], report: Json) -> CorpusRecord:
        """Move the articles of an unfinished corpus behind those of another one, and delete the unfinished one.

        The ids of articles, sections and sentences stay, and no row of the other corpus changes but its own, which
        gets the counts and the report. ``without`` are the ids of articles and of sentences to delete.

        Raises ``DataError`` if an article of the other corpus is newer than the first one to move: blocks of columns
        have ascending ids.
        """
        self._lock_row(t.corpus, corpus_id)
        c = t.article.c
        newest = self._number(sa.select(sa.func.max(c.id)).where(c.corpus_id == corpus_id))
        oldest = self._number(sa.select(sa.func.min(c.id)).where(c.corpus_id == staged.id))
        if oldest < newest:
            raise DataError("Other articles were added to this project in the meantime. Add the files again.")
        self._remove(*without)
        start = self.imported_articles(corpus_id)
        places = [{"moved": id, "position": position} for position, id in enumerate(self.article_ids(staged.id), start)]
        more = self.counted(staged.id)
        moved = t.article.update().where(c.id == sa.bindparam("moved"))
        self.connection.execute(moved.values(corpus_id=corpus_id, position=sa.bindparam("position")), places)
        self._delete(t.corpus, staged.id)
        grown = {name: t.corpus.c[name] + number for name, number in more.items()}
        self.connection.execute(t.corpus.update().where(t.corpus.c.id == corpus_id).values(report=report, **grown))
        return self.get(corpus_id)

    def _remove(self, articles: Ids, sentences: Ids) -> None:
        """Delete articles with their text, and sentences, whose articles get new counts and positions of sentences."""
        for chunk in id_chunks(articles):
            self.connection.execute(t.article.delete().where(within(self.connection, t.article.c.id, chunk)))
        c = t.sentence.c
        owners = sorted({sentence.article_id for sentence in self._sentences(c.id, sentences)})
        for chunk in id_chunks(sentences):
            self.connection.execute(t.sentence.delete().where(within(self.connection, c.id, chunk)))
        for owner in owners:
            left = [sentence.id for sentence in self.sentences(owner)]
            # Ascending: no position is taken when a sentence gets it.
            places = [{"moved": id, "position": position} for position, id in enumerate(left)]
            if places:
                moved = t.sentence.update().where(c.id == sa.bindparam("moved"))
                self.connection.execute(moved.values(position=sa.bindparam("position")), places)
            self.connection.execute(t.article.update().where(t.article.c.id == owner).values(sentences=len(left)))

    def counted(self, corpus_id: int) -> dict[str, int]:
        """Return the counts of a corpus as its rows give them."""
        c, s = t.article.c, t.sentence.c
        own = there(corpus_id)
        sums = (sa.func.count(), sa.func.sum(c.sections), sa.func.sum(c.sentences))
        articles, sections, sentences = self.connection.execute(sa.select(*sums).where(own)).one()
        places = sa.select(s.article_id, s.section, s.paragraph).join(t.article, c.id == s.article_id).where(own)
        paragraphs = self._number(sa.select(sa.func.count()).select_from(places.distinct().subquery()))
        return {
            "articles": articles,
            "sections": int(sections or 0),
            "paragraphs": paragraphs,
            "sentences": int(sentences or 0),
        }

    def imported_articles(self, corpus_id: int) -> int:
        """Return the number of stored articles, from which an interrupted import resumes."""
        last = sa.select(sa.func.max(t.article.c.position)).where(t.article.c.corpus_id == corpus_id)
        position = self.connection.execute(last).scalar_one()
        return 0 if position is None else position + 1

    # --- articles ---------------------------------------------------------------------------------------------------

    def articles(
        self, corpus_id: int, search: str = "", offset: int = 0, limit: int = 50, positions: range | None = None
    ) -> builtins.list[ArticleRecord]:
        """Return a page of articles in store order, filtered by ``search`` in titles and by their positions."""
        query = self._article_query(sa.select(*_ARTICLE), corpus_id, search)
        if positions is not None:
            query = query.where(t.article.c.position >= positions.start, t.article.c.position < positions.stop)
        query = query.order_by(t.article.c.position).offset(offset).limit(limit)
        return [ArticleRecord(*row) for row in self.connection.execute(query)]

    def article_ids(self, corpus_id: int, with_removed: bool = False) -> Ids:
        """Return the ids (n,) of all articles of a corpus in store order."""
        own = t.article.c.corpus_id == corpus_id if with_removed else there(corpus_id)
        query = sa.select(t.article.c.id).where(own).order_by(t.article.c.position)
        (ids,) = id_columns(self.connection.execute(query), 1)
        return ids

    def count_articles(self, corpus_id: int, search: str = "") -> int:
        """Return the total number of articles of :meth:`articles`."""
        return self._number(self._article_query(sa.select(sa.func.count()), corpus_id, search))

    def _article_query(self, query: sa.Select[Any], corpus_id: int, search: str) -> sa.Select[Any]:
        query = query.select_from(t.article).where(there(corpus_id))
        return query.where(contains(self.connection, t.article.c.title, search)) if search else query

    def article(self, article_id: int) -> ArticleRecord:
        """Return one article; raise :class:`UnknownNameError` if there is none, or it was removed."""
        row = self._row(sa.select(*_ARTICLE).where(t.article.c.id == article_id, t.article.c.removed.is_(None)))
        if row is None:
            raise UnknownNameError("article", str(article_id), None)
        return ArticleRecord(*row)

    def articles_by_id(self, ids: Iterable[int] | Ids) -> dict[int, ArticleRecord]:
        """Return articles by id; missing ids are skipped."""
        return {row.id: ArticleRecord(*row) for row in self._within(_ARTICLE, t.article.c.id, ids)}

    def articles_by_title(self, corpus_id: int, title: str) -> builtins.list[ArticleRecord]:
        """Return the articles called ``title`` in store order.

        If none has the exact title, those whose title differs only in Unicode form or underscores are returned.
        """
        c = t.article.c
        query = sa.select(*_ARTICLE).where(there(corpus_id), c.bucket == title_bucket(title))
        found = [ArticleRecord(*row) for row in self.connection.execute(query.order_by(c.position))]
        folded = [article for article in found if fold_title(article.title) == fold_title(title)]
        return [article for article in folded if article.title == title] or folded

    def topic_counts(self, corpus_id: int) -> dict[tuple[str, str], int]:
        """Return (topic, part) → number of articles; "" for articles without a topic or part."""
        c = t.article.c
        query = sa.select(c.topic, c.part, sa.func.count()).where(there(corpus_id))
        rows = self.connection.execute(query.group_by(c.topic, c.part).order_by(c.topic, c.part))
        return {(topic, part): count for topic, part, count in rows}

    # --- sections and sentences -------------------------------------------------------------------------------------

    def sections(self, article_id: int) -> builtins.list[SectionRecord]:
        """Return the sections of an article, in page order."""
        return self.sections_of([article_id]).get(article_id, [])

    def sections_by_id(self, ids: Iterable[int] | Ids) -> dict[int, SectionRecord]:
        """Return sections by id."""
        return {row.id: _section(row) for row in self._within(_SECTION, t.section.c.id, ids)}

    def sections_of(self, article_ids: Iterable[int] | Ids) -> dict[int, builtins.list[SectionRecord]]:
        """Return the sections of each article, in page order."""
        found: dict[int, builtins.list[SectionRecord]] = {}
        for row in self._within(_SECTION, t.section.c.article_id, article_ids, *_SECTION_ORDER):
            found.setdefault(row.article_id, []).append(_section(row))
        return found

    def sentences(self, article_id: int) -> builtins.list[Sentence]:
        """Return the sentences of an article, in page order."""
        return self.sentences_of([article_id]).get(article_id, [])

    def sentence_ids(self, corpus_id: int, first: int = 0) -> Ids:
        """Return the ids (n,) of all sentences of a corpus, article by article, in page order.

        With ``first``, those of the articles from that position on.
        """
        query = sa.select(t.sentence.c.id).join(t.article, t.article.c.id == t.sentence.c.article_id)
        query = query.where(there(corpus_id), t.article.c.position >= first)
        (ids,) = id_columns(self.connection.execute(query.order_by(t.article.c.position, t.sentence.c.position)), 1)
        return ids

    def sample_texts(self, corpus_id: int, articles: int = 200, each: int = 10) -> builtins.list[str]:
        """Return sentences from evenly spaced articles: about ``each`` of an article, more if there are few."""
        total = self.imported_articles(corpus_id)
        places = sorted({position * total // articles for position in range(articles)}) if total > articles else None
        query = sa.select(t.article.c.id).where(there(corpus_id))
        chosen = query if places is None else query.where(t.article.c.position.in_(places))
        found = self.sentences_of(self.connection.execute(chosen).scalars().all())
        most = max(each, articles * each // max(len(found), 1))
        return [s.text for sentences in found.values() for s in sentences[:: -(-len(sentences) // most)]]

    def sentences_by_id(self, ids: Iterable[int] | Ids) -> dict[int, Sentence]:
        """Return sentences by id; missing ids are skipped."""
        return {sentence.id: sentence for sentence in self._sentences(t.sentence.c.id, ids)}

    def sentences_of(self, article_ids: Iterable[int] | Ids) -> dict[int, builtins.list[Sentence]]:
        """Return the sentences of each article, in page order."""
        found: dict[int, builtins.list[Sentence]] = {}
        for sentence in self._sentences(t.sentence.c.article_id, article_ids, *_SENTENCE_ORDER):
            found.setdefault(sentence.article_id, []).append(sentence)
        return found

    def _sentences(self, key: sa.Column[int], ids: Iterable[int] | Ids, *order: sa.Column[Any]) -> Iterator[Sentence]:
        """Yield sentences without an object per row of the database, which would take as long as the sentence."""
        for chunk in id_chunks(ids):
            query = sa.select(*_SENTENCE).where(within(self.connection, key, chunk)).order_by(*order)
            rows = plain_rows(self.connection.execute(query))
            for text, id, article, section, paragraph, position, opens, start in rows:
                yield Sentence(text, id, article, section, paragraph, position, bool(opens), start)

    def sentence_page(self, corpus_id: int, offset: int, limit: int) -> builtins.list[Sentence]:
        """Return a page of the sentences of a corpus, in reading order."""
        c, s = t.article.c, t.sentence.c
        query = sa.select(c.id, c.sentences).where(there(corpus_id), c.sentences > 0).order_by(c.position)
        ids, sizes = id_columns(self.connection.execute(query), 2)
        ends = np.cumsum(sizes)
        first, last = np.searchsorted(ends, (offset, offset + limit - 1), side="right")
        if first == len(ids):
            return []
        owners, start = ids[first : last + 1].tolist(), offset - int(ends[first] - sizes[first])
        before = sa.and_(s.article_id == owners[0], s.position < start)
        query = sa.select(*_SENTENCE).where(within(self.connection, s.article_id, owners), ~before)
        return [Sentence(*row) for row in self.connection.execute(query.order_by(*_SENTENCE_ORDER).limit(limit))]

    def sentences_at(self, places: Iterable[tuple[int, int]]) -> builtins.list[Sentence]:
        """Return the sentences at (article id, position), in the order of ``places``; missing ones are skipped."""
        wanted: dict[int, builtins.list[int]] = {}
        for article, position in (order := list(places)):
            wanted.setdefault(article, []).append(position)
        c, found = t.sentence.c, {}
        for some in batches(wanted.items(), _CONDITIONS):
            own = (sa.and_(c.article_id == id, within(self.connection, c.position, at)) for id, at in some)
            for row in self.connection.execute(sa.select(*_SENTENCE).where(sa.or_(*own))):
                found[row.article_id, row.position] = Sentence(*row)
        return [found[place] for place in order if place in found]

    def sentences_with(self, corpus_id: int, text: str) -> Ids:
        """Return the ascending ids of the sentences of a corpus that contain ``text``, ignoring case."""
        c = t.sentence.c
        query = sa.select(c.id).join(t.article, t.article.c.id == c.article_id)
        return self._ids_with(query.where(there(corpus_id)).order_by(c.id), c.text, text)

    def articles_with(self, corpus_id: int, text: str) -> Ids:
        """Return the ascending ids of the articles of a corpus with ``text`` in their title, ignoring case."""
        c = t.article.c
        return self._ids_with(sa.select(c.id).where(there(corpus_id)).order_by(c.id), c.title, text)

    def _ids_with(self, query: sa.Select[Any], column: sa.Column[str], text: str) -> Ids:
        result = self.connection.execute(query.where(contains(self.connection, column, text)))
        return id_columns(result, 1)[0]

    def iterate(
        self, corpus_id: int, splits: Iterable[Split] | None = None, batch: int = 200
    ) -> Iterator[tuple[ArticleRecord, builtins.list[SectionRecord], builtins.list[Sentence]]]:
        """Yield every article with its text, in store order, ``batch`` articles in memory at a time."""
        position, query = -1, sa.select(*_ARTICLE).where(there(corpus_id))
        if splits is not None:
            query = query.where(sa.or_(sa.false(), *(t.article.c.bucket.between(*bucket_range(s)) for s in splits)))
        while True:
            page = query.where(t.article.c.position > position).order_by(t.article.c.position).limit(batch)
            articles = [ArticleRecord(*row) for row in self.connection.execute(page)]
            if not articles:
                return
            ids = [article.id for article in articles]
            sections, sentences = self.sections_of(ids), self.sentences_of(ids)
            for article in articles:
                yield article, sections.get(article.id, []), sentences.get(article.id, [])
            position = articles[-1].position

    def _within(
        self, columns: Sequence[sa.Column[Any]], key: sa.Column[int], ids: Iterable[int] | Ids, *order: sa.Column[Any]
    ) -> Iterator[Any]:
        for chunk in id_chunks(ids):
            query = sa.select(*columns).where(within(self.connection, key, chunk)).order_by(*order)
            for rows in self.connection.execute(query).partitions(BATCH):
                yield from rows


def there(corpus_id: int) -> sa.ColumnElement[bool]:
    """Return the condition on the articles of a corpus that were not removed from it."""
    c = t.article.c
    return sa.and_(c.corpus_id == corpus_id, c.removed.is_(None))


def removed_articles(connection: Connection, corpus_id: int | None = None) -> Ids:
    """Return the ids (n,) of the articles that were removed (from one corpus)."""
    c = t.article.c
    own = sa.true() if corpus_id is None else c.corpus_id == corpus_id
    return id_columns(connection.execute(sa.select(c.id).where(own, c.removed.is_not(None))), 1)[0]


def kept_rows(connection: Connection, sentence_ids: Ids) -> npt.NDArray[np.bool_]:
    """Return the (n,) mask of the sentences whose articles were not removed."""
    c = t.sentence.c
    query = sa.select(c.id).join(t.article, t.article.c.id == c.article_id).where(t.article.c.removed.is_not(None))
    return np.isin(sentence_ids, id_columns(connection.execute(query), 1)[0], invert=True)


def _section(row: Any) -> SectionRecord:
    return SectionRecord(row.id, row.article_id, row.position, row.level, row.title, tuple(row.path))


def _text_counts(articles: Sequence[Article]) -> dict[str, int]:
    """Return what articles add to the counts of their corpus."""
    return {
        "articles": len(articles),
        "sections": sum(len(a.sections) for a in articles),
        "paragraphs": sum(bool(p.sentences) for a in articles for s in a.sections for p in s.paragraphs),
        "sentences": sum(a.sentence_count() for a in articles),
    }


def _article_rows(corpus_id: int, start: int, articles: Sequence[Article]) -> Iterator[tuple[object, ...]]:
    for position, a in enumerate(articles, start):
        title = clean_text(a.title)
        where = clean_text(a.url), clean_text(a.source)
        sizes = len(a.sections), a.sentence_count()
        labels = clean_text(a.topic), clean_text(a.part)
        yield corpus_id, position, title, *where, title_bucket(title), *sizes, *labels


def _section_rows(ids: Sequence[int], articles: Sequence[Article]) -> Iterator[tuple[object, ...]]:
    for id, article in zip(ids, articles, strict=True):
        for position, s in enumerate(article.sections):
            yield id, position, s.level, clean_text(s.title), dump_json([clean_text(part) for part in s.path])


def _sentence_rows(ids: Sequence[int], articles: Sequence[Article]) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the sentences. A paragraph without text is skipped and gets no index."""
    for id, article in zip(ids, articles, strict=True):
        position = count()
        for section_index, section in enumerate(article.sections):
            if any(paragraph.text.strip() and not paragraph.sentences for paragraph in section.paragraphs):
                where = f"A paragraph of {article.title!r}"
                raise DataError(f"{where} was not split into sentences, so it cannot be stored.")
            kept = (paragraph for paragraph in section.paragraphs if paragraph.sentences)
            for paragraph_index, paragraph in enumerate(kept):
                starts = paragraph.starts or [-1] * len(paragraph.sentences)
                for place, (text, start) in enumerate(zip(paragraph.sentences, starts, strict=True)):
                    yield id, next(position), section_index, paragraph_index, place == 0, start, clean_text(text)


class Where(Enum):
    """Corpora to search."""

    HERE = "in one corpus"
    ELSEWHERE = "in all other corpora"


Words = Sequence[Sequence[str]]
"""Alternatives of words that all occur."""


class TextSearch(Repository):
    """Repository of texts with all words of an alternative, ignoring case, without those that are being imported.

    No index is used: the rows are read until enough match, which takes about 0.1 s for 100,000 sentences.
    """

    def articles(self, words: Words, corpus_id: int, where: Where, limit: int | None) -> list[ArticleRecord]:
        """Return the first ``limit`` articles with ``words`` in their title, by corpus and position."""
        query = sa.select(*_ARTICLE).where(self._with(t.article.c.title, words), self._corpora(corpus_id, where))
        query = query.order_by(t.article.c.corpus_id, t.article.c.position).limit(limit)
        return [ArticleRecord(*row) for row in self.connection.execute(query)]

    def sentences(self, words: Words, corpus_id: int, where: Where, limit: int | None) -> list[Sentence]:
        """Return the first ``limit`` sentences with ``words``, in the order of their import."""
        query = sa.select(*_SENTENCE).join(t.article, t.article.c.id == t.sentence.c.article_id)
        query = query.where(self._with(t.sentence.c.text, words), self._corpora(corpus_id, where))
        return [Sentence(*row) for row in self.connection.execute(query.order_by(t.sentence.c.id).limit(limit))]

    def _with(self, column: sa.Column[str], words: Words) -> sa.ColumnElement[bool]:
        # The longest word is the rarest one in most cases.
        some = (sorted(of, key=len, reverse=True) for of in words)
        return sa.or_(*(sa.and_(*(contains(self.connection, column, word) for word in of)) for of in some))

    def _corpora(self, corpus_id: int, where: Where) -> sa.ColumnElement[bool]:
        if where is Where.HERE:
            return there(corpus_id)
        ready = sa.select(t.corpus.c.id).where(t.corpus.c.ready, t.corpus.c.id != corpus_id)
        return sa.and_(t.article.c.corpus_id.in_(ready), t.article.c.removed.is_(None))
