"""Search in the titles and sentences of all corpora."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

import sqlalchemy as sa

from themescope.core.types import Sentence
from themescope.db import tables as t
from themescope.db.records import ArticleRecord
from themescope.db.repositories.base import Repository
from themescope.db.sql import contains

_ASCII = re.compile(r"[ -~]+")
_ARTICLE = [t.article.c[f] for f in ArticleRecord.__dataclass_fields__ if f in t.article.c]
_SENTENCE = [t.sentence.c[f] for f in Sentence.__dataclass_fields__]


class Where(Enum):
    """Corpora to search."""

    HERE = "in one corpus"
    ELSEWHERE = "in all other corpora"


class TextSearch(Repository):
    """Repository of texts that contain all of some words, ignoring case. Corpora that are being imported are left out.

    No index is used: the rows are read until enough match, which takes about 0.1 s for 100,000 sentences.
    """

    def articles(self, words: Sequence[str], corpus_id: int, where: Where, limit: int) -> list[ArticleRecord]:
        """Return the first ``limit`` articles with all ``words`` in their title, by corpus and position."""
        query = sa.select(*_ARTICLE).where(*self._all(t.article.c.title, words), self._corpora(corpus_id, where))
        query = query.order_by(t.article.c.corpus_id, t.article.c.position).limit(limit)
        return [ArticleRecord(*row) for row in self.connection.execute(query)]

    def sentences(self, words: Sequence[str], corpus_id: int, where: Where, limit: int) -> list[Sentence]:
        """Return the first ``limit`` sentences with all ``words``, in the order of their import."""
        query = sa.select(*_SENTENCE).join(t.article, t.article.c.id == t.sentence.c.article_id)
        query = query.where(*self._all(t.sentence.c.text, words), self._corpora(corpus_id, where))
        return [Sentence(*row) for row in self.connection.execute(query.order_by(t.sentence.c.id).limit(limit))]

    def _all(self, column: sa.Column[str], words: Sequence[str]) -> list[sa.ColumnElement[bool]]:
        # The longest word is the rarest one in most cases. SQLite compares a word with other letters than ASCII in
        # Python, which takes longer, so its longest ASCII part is looked for first.
        parts = [max(_ASCII.findall(word), key=len, default="") for word in words if not word.isascii()]
        wanted = [*(part for part in parts if part), *sorted(words, key=len, reverse=True)]
        return [contains(self.connection, column, word) for word in wanted]

    def _corpora(self, corpus_id: int, where: Where) -> sa.ColumnElement[bool]:
        c = t.article.c
        if where is Where.HERE:
            return c.corpus_id == corpus_id
        ready = sa.select(t.corpus.c.id).where(t.corpus.c.ready, t.corpus.c.id != corpus_id)
        return c.corpus_id.in_(ready)
