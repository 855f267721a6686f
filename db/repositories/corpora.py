"""Corpora, articles, sections and sentences."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from core.types import Article, Ids, SectionRecord, Sentence, Split, fold_title, title_bucket
from db import tables as t
from db.records import ArticleRecord, CorpusRecord, Json
from db.repositories.base import Repository
from db.repositories.text_rows import ArticleRows, SectionRows, SentenceRows
from db.sql import BATCH, bucket_range, bulk_insert, contains, id_chunks, id_columns, now, within

_ARTICLE = [t.article.c[f] for f in ArticleRecord.__dataclass_fields__]
_SECTION = [t.section.c[f] for f in SectionRecord.__dataclass_fields__]
_SENTENCE = [t.sentence.c[f] for f in Sentence.__dataclass_fields__]
# The order of their index, so that nothing is sorted.
_SECTION_ORDER = (t.section.c.article_id, t.section.c.position)
_SENTENCE_ORDER = (t.sentence.c.article_id, t.sentence.c.position)


class Corpora(Repository):
    """Repository of corpora and their text. Articles keep their order; ids are never reused."""

    # --- corpora ----------------------------------------------------------------------------------------------------

    def create(self, name: str, language: str) -> CorpusRecord:
        """Create an empty corpus, hidden until :meth:`finish`.

        Raises
        ------
        DuplicateNameError
            If the name is taken, even by a corpus whose import is not finished.
        """
        values = {
            "name": self._free_name(t.corpus, name),
            "language": language,
            "ready": False,
            "created": now(),
            "report": {},
        }
        counts = dict.fromkeys(("articles", "sections", "paragraphs", "sentences"), 0)
        return self.get(self._insert(t.corpus, **values, **counts))

    def finish(self, corpus_id: int, report: Json) -> CorpusRecord:
        """Make the corpus visible and store the report of its import."""
        self.connection.execute(t.corpus.update().where(t.corpus.c.id == corpus_id).values(ready=True, report=report))
        return self.get(corpus_id)

    def delete(self, corpus_id: int) -> None:
        """Remove the corpus with its triplets, benchmarks, vectors, runs and maps; models stay (they need no text)."""
        self.get(corpus_id)
        sets = sa.select(t.triplet_set.c.id).where(t.triplet_set.c.corpus_id == corpus_id)
        articles = sa.select(t.article.c.id).where(t.article.c.corpus_id == corpus_id)
        # In bulk first: a cascade looks up every single parent.
        self.connection.execute(t.triplet.delete().where(t.triplet.c.set_id.in_(sets)))
        for table in (t.sentence, t.section, t.embedding, t.score, t.assignment):
            self.connection.execute(table.delete().where(table.c.article_id.in_(articles)))
        self._delete(t.corpus, corpus_id)

    def abandon(self, corpus_id: int) -> None:
        """Abandon an unfinished import: release its name and mark it for removal."""
        name = f"unfinished import {corpus_id}"
        if not self.get(corpus_id).name.startswith(name):
            name = self._usable_name(t.corpus, name)
            self.connection.execute(t.corpus.update().where(t.corpus.c.id == corpus_id).values(name=name, ready=False))

    def shrink(self, corpus_id: int, articles: int = 100) -> bool:
        """Remove the last ``articles`` of an abandoned corpus, or the corpus when none is left; True: some are left.

        Step by step, because others may write between two steps; a million sentences take seconds.
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
        query = sa.select(t.corpus).order_by(t.corpus.c.id)
        if not include_unready:
            query = query.where(t.corpus.c.ready)
        return [CorpusRecord(**row._mapping) for row in self.connection.execute(query)]

    def by_name(self, name: str) -> CorpusRecord:
        """Return the corpus called ``name``, ready or not; :class:`UnknownNameError` suggests similar names."""
        return CorpusRecord(**self._named(t.corpus, list_of(t.corpus), name)._mapping)

    def get(self, corpus_id: int) -> CorpusRecord:
        """Return the corpus with that id; raise :class:`UnknownNameError` if there is none."""
        return CorpusRecord(**self._by_id(t.corpus, list_of(t.corpus), corpus_id)._mapping)

    def usable_name(self, wanted: str) -> str:
        """Return ``wanted``, with the first free number appended if taken: ``wanted 2``."""
        return self._usable_name(t.corpus, wanted)

    # --- writing text -----------------------------------------------------------------------------------------------

    def add_articles(self, corpus_id: int, articles: Sequence[Article]) -> None:
        """Append split articles; call it with a batch of about 2,000 sentences or a few hundred articles.

        Raises
        ------
        DataError
            If a paragraph was not split into sentences.
        """
        if not articles:
            return
        start = self.imported_articles(corpus_id)
        rows = ArticleRows(corpus_id, start, articles)
        bulk_insert(self.connection, t.article, ArticleRows.columns, rows)
        inserted = sa.select(t.article.c.id).where(t.article.c.corpus_id == corpus_id, t.article.c.position >= start)
        ids = self.connection.execute(inserted.order_by(t.article.c.position)).scalars().all()
        bulk_insert(self.connection, t.section, SectionRows.columns, SectionRows(ids, articles))
        bulk_insert(self.connection, t.sentence, SentenceRows.columns, SentenceRows(ids, articles))
        grown = {name: t.corpus.c[name] + more for name, more in rows.counts.items()}
        self.connection.execute(t.corpus.update().where(t.corpus.c.id == corpus_id).values(grown))

    def imported_articles(self, corpus_id: int) -> int:
        """Return the number of stored articles, from which an interrupted import resumes."""
        last = sa.select(sa.func.max(t.article.c.position)).where(t.article.c.corpus_id == corpus_id)
        position = self.connection.execute(last).scalar_one()
        return 0 if position is None else position + 1

    # --- articles ---------------------------------------------------------------------------------------------------

    def articles(
        self, corpus_id: int, search: str = "", split: Split | None = None, offset: int = 0, limit: int = 50
    ) -> builtins.list[ArticleRecord]:
        """Return a page of articles in store order, filtered by ``search`` in titles."""
        query = self._article_query(sa.select(*_ARTICLE), corpus_id, search, split)
        query = query.order_by(t.article.c.position).offset(offset).limit(limit)
        return [ArticleRecord(*row) for row in self.connection.execute(query)]

    def count_articles(self, corpus_id: int, search: str = "", split: Split | None = None) -> int:
        """Return the total number of articles of :meth:`articles`."""
        return self._number(self._article_query(sa.select(sa.func.count()), corpus_id, search, split))

    def _article_query(self, query: sa.Select[Any], corpus_id: int, search: str, split: Split | None) -> sa.Select[Any]:
        query = query.select_from(t.article).where(t.article.c.corpus_id == corpus_id)
        if search:
            query = query.where(contains(self.connection, t.article.c.title, search))
        if split is not None:
            query = query.where(t.article.c.bucket.between(*bucket_range(split)))
        return query

    def article(self, article_id: int) -> ArticleRecord:
        """Return one article; raise :class:`UnknownNameError` if there is none."""
        return ArticleRecord(*self._by_id(t.article, _ARTICLE, article_id))

    def articles_by_id(self, ids: Iterable[int] | Ids) -> dict[int, ArticleRecord]:
        """Return articles by id; missing ids are skipped."""
        return {row.id: ArticleRecord(*row) for row in self._within(_ARTICLE, t.article.c.id, ids)}

    def articles_by_title(self, corpus_id: int, title: str) -> builtins.list[ArticleRecord]:
        """Return the articles called ``title`` in page order, most often one.

        Articles with the exact title go before those whose title differs in Unicode form or underscores only.
        """
        c = t.article.c
        query = sa.select(*_ARTICLE).where(c.corpus_id == corpus_id, c.bucket == title_bucket(title))
        found = [ArticleRecord(*row) for row in self.connection.execute(query.order_by(c.position))]
        folded = [article for article in found if fold_title(article.title) == fold_title(title)]
        return [article for article in folded if article.title == title] or folded

    def topic_counts(self, corpus_id: int) -> dict[tuple[str, str], int]:
        """Return the number of articles per (topic, part); ("", "") are those without both."""
        c = t.article.c
        query = sa.select(c.topic, c.part, sa.func.count()).where(c.corpus_id == corpus_id)
        rows = self.connection.execute(query.group_by(c.topic, c.part).order_by(c.topic, c.part))
        return {(topic, part): count for topic, part, count in rows}

    # --- sections and sentences -------------------------------------------------------------------------------------

    def sections(self, article_id: int) -> builtins.list[SectionRecord]:
        """Return the sections of an article, in page order."""
        query = sa.select(*_SECTION).where(t.section.c.article_id == article_id).order_by(t.section.c.position)
        return [_section(row) for row in self.connection.execute(query)]

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
        query = sa.select(*_SENTENCE).where(t.sentence.c.article_id == article_id).order_by(t.sentence.c.position)
        return [Sentence(*row) for row in self.connection.execute(query)]

    def sentence_ids(self, corpus_id: int) -> Ids:
        """Return (n,) ids of all sentences of a corpus, article by article, in page order."""
        query = sa.select(t.sentence.c.id).join(t.article, t.article.c.id == t.sentence.c.article_id)
        query = query.where(t.article.c.corpus_id == corpus_id)
        (ids,) = id_columns(self.connection.execute(query.order_by(t.article.c.position, t.sentence.c.position)), 1)
        return ids

    def sentences_by_id(self, ids: Iterable[int] | Ids) -> dict[int, Sentence]:
        """Return sentences by id; missing ids are skipped."""
        return {row.id: Sentence(*row) for row in self._within(_SENTENCE, t.sentence.c.id, ids)}

    def sentences_of(self, article_ids: Iterable[int] | Ids) -> dict[int, builtins.list[Sentence]]:
        """Return the sentences of each article, in page order."""
        found: dict[int, builtins.list[Sentence]] = {}
        for row in self._within(_SENTENCE, t.sentence.c.article_id, article_ids, *_SENTENCE_ORDER):
            found.setdefault(row.article_id, []).append(Sentence(*row))
        return found

    def search_sentences(
        self, corpus_id: int, search: str, offset: int = 0, limit: int = 50
    ) -> builtins.list[Sentence]:
        """Return a page of the sentences that contain ``search``, in store order."""
        query = (
            sa.select(*_SENTENCE)
            .join(t.article, t.article.c.id == t.sentence.c.article_id)
            .where(t.article.c.corpus_id == corpus_id, contains(self.connection, t.sentence.c.text, search))
            .order_by(t.article.c.position, t.sentence.c.position)
        )
        return [Sentence(*row) for row in self.connection.execute(query.offset(offset).limit(limit))]

    def iterate(
        self, corpus_id: int, splits: Iterable[Split] | None = None, batch: int = 200
    ) -> Iterator[tuple[ArticleRecord, builtins.list[SectionRecord], builtins.list[Sentence]]]:
        """Yield every article with its text, in store order, ``batch`` articles in memory at a time."""
        position, query = -1, sa.select(*_ARTICLE).where(t.article.c.corpus_id == corpus_id)
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


def list_of(table: sa.Table) -> list[sa.Column[Any]]:
    """The columns of a table, in order."""
    return [*table.c]


def _section(row: Any) -> SectionRecord:
    return SectionRecord(row.id, row.article_id, row.position, row.level, row.title, tuple(row.path))
