"""Triplets of ids, resolved to text and to cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.types import Ids, SectionRecord, Sentence, TripletRows, TripletTexts
from db import tables as t
from db.records import ArticleRecord, TripletCard
from db.repositories.corpora import Corpora
from db.sql import SPLITS, id_chunks, within


class TripletReader:
    """Looks up what triplets refer to; each text is fetched once, however many triplets share it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._corpora = Corpora(connection)

    def texts(self, kind: str, rows: TripletRows) -> TripletTexts:
        """The texts of ``rows``, row for row."""
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

    def cards(self, rows: Sequence[Any]) -> list[TripletCard]:
        """Cards of triplet rows (with their set's ``kind``), in the same order."""
        found = self._find(rows)
        return [found.card(row) for row in rows]

    def _find(self, rows: Sequence[Any]) -> _Found:
        titled = [i for row in rows if row.kind == "titles" for i in (row.positive_id, row.negative_id)]
        others = [i for row in rows if row.kind != "titles" for i in (row.positive_id, row.negative_id)]
        sentences = self._corpora.sentences_by_id([*(row.pivot_id for row in rows), *others])
        of_article = self._corpora.sections_of(s.article_id for s in sentences.values())
        return _Found(
            sentences,
            {(article, s.position): s.title for article, listed in of_article.items() for s in listed},
            self._corpora.sections_by_id(titled),
            self._title_texts(titled),
            self._corpora.articles_by_id(row.article_id for row in rows),
        )

    def _sentence_texts(self, ids: Ids) -> dict[int, str]:
        c = t.sentence.c
        return self._texts(sa.select(c.id, c.text), c.id, ids)

    def _title_texts(self, section_ids: Iterable[int] | Ids) -> dict[int, str]:
        joined = sa.select(t.section.c.id, t.article.c.title, t.section.c.title)
        joined = joined.join(t.article, t.article.c.id == t.section.c.article_id)
        return self._texts(joined, t.section.c.id, section_ids)

    def _texts(self, query: sa.Select[Any], key: sa.Column[int], ids: Iterable[int] | Ids) -> dict[int, str]:
        found: dict[int, str] = {}
        for chunk in id_chunks(ids):
            rows = self._connection.execute(query.where(within(self._connection, key, chunk)))
            found.update((id, " ".join(parts).strip()) for id, *parts in rows)
        return found


@dataclass(frozen=True, slots=True)
class _Found:
    """Everything some cards show, by id."""

    sentences: dict[int, Sentence]
    headings: dict[tuple[int, int], str]
    """Section titles by article and position."""
    sections: dict[int, SectionRecord]
    titles: dict[int, str]
    articles: dict[int, ArticleRecord]

    def card(self, row: Any) -> TripletCard:
        """The card of one row."""
        pivot, pivot_section = self._sentence(row.pivot_id)
        side = self._title if row.kind == "titles" else self._sentence
        positive, _ = side(row.positive_id)
        negative, negative_section = side(row.negative_id)
        return TripletCard(
            id=row.id,
            split=SPLITS[row.split],
            article_id=row.article_id,
            article=self.articles[row.article_id].title,
            pivot=pivot,
            positive=positive,
            negative=negative,
            pivot_section=pivot_section,
            negative_section=negative_section,
            pivot_id=row.pivot_id,
            positive_id=row.positive_id,
            negative_id=row.negative_id,
        )

    def _sentence(self, id: int) -> tuple[str, str]:
        """Its text and the title of its section."""
        sentence = self.sentences[id]
        return sentence.text, self.headings.get((sentence.article_id, sentence.section), "")

    def _title(self, id: int) -> tuple[str, str]:
        """Article title and section title, and the section's alone."""
        return self.titles[id], self.sections[id].title
