"""Triplets of ids, resolved to text and to cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.records import TripletCard, TripletRows
from core.types import Ids, TripletTexts
from db import tables as t
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
        titled = [row for row in rows if row.kind == "titles"]
        plain = [row for row in rows if row.kind != "titles"]
        sentences = self._corpora.sentences_by_id(
            [row.pivot_id for row in rows] + [i for row in plain for i in (row.positive_id, row.negative_id)]
        )
        sections = self._corpora.sections_by_id([i for row in titled for i in (row.positive_id, row.negative_id)])
        titles = self._title_texts(sections)
        of_article = self._corpora.sections_of(s.article_id for s in sentences.values())
        headings = {(a, s.position): s.title for a, listed in of_article.items() for s in listed}
        articles = self._corpora.articles_by_id(row.article_id for row in rows)
        cards = []
        for row in rows:
            pivot = sentences[row.pivot_id]
            if row.kind == "titles":
                positive, negative = titles[row.positive_id], titles[row.negative_id]
                other = sections[row.negative_id].title
            else:
                positive, negative = sentences[row.positive_id].text, sentences[row.negative_id].text
                at = sentences[row.negative_id]
                other = headings.get((at.article_id, at.section), "")
            cards.append(
                TripletCard(
                    id=row.id,
                    split=SPLITS[row.split],
                    article_id=row.article_id,
                    article=articles[row.article_id].title,
                    pivot=pivot.text,
                    positive=positive,
                    negative=negative,
                    pivot_section=headings.get((pivot.article_id, pivot.section), ""),
                    negative_section=other,
                    pivot_id=row.pivot_id,
                    positive_id=row.positive_id,
                    negative_id=row.negative_id,
                )
            )
        return cards

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
