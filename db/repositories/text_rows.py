"""Articles as the rows of their tables, streamed straight into a bulk insert."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.errors import DataError
from core.types import Article, Paragraph, title_bucket
from db.types import clean_text, dump_json


class ArticleRows:
    """Rows of ``article``; positions count on from ``start``. ``counts`` is what they add to the corpus."""

    columns = ("corpus_id", "position", "title", "url", "source", "bucket", "sections", "sentences", "topic", "part")

    def __init__(self, corpus_id: int, start: int, articles: Sequence[Article]) -> None:
        self._corpus_id, self._start, self._articles = int(corpus_id), start, articles
        self.counts = {
            "articles": len(articles),
            "sections": sum(len(a.sections) for a in articles),
            "paragraphs": sum(bool(p.sentences) for a in articles for s in a.sections for p in s.paragraphs),
            "sentences": sum(a.sentence_count() for a in articles),
        }

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        for position, a in enumerate(self._articles, self._start):
            title = clean_text(a.title)
            where = clean_text(a.url), clean_text(a.source)
            sizes = len(a.sections), a.sentence_count()
            labels = clean_text(a.topic), clean_text(a.part)
            yield self._corpus_id, position, title, *where, title_bucket(title), *sizes, *labels


class SectionRows:
    """Rows of ``section``, for articles that were given ``ids``."""

    columns = ("article_id", "position", "level", "title", "path")

    def __init__(self, ids: Sequence[int], articles: Sequence[Article]) -> None:
        self._ids, self._articles = ids, articles

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        for id, article in zip(self._ids, self._articles, strict=True):
            for position, s in enumerate(article.sections):
                yield id, position, s.level, clean_text(s.title), dump_json([clean_text(part) for part in s.path])


class SentenceRows:
    """Rows of ``sentence``. A paragraph without text is skipped and gets no index."""

    columns = ("article_id", "position", "section", "paragraph", "opens_paragraph", "text")

    def __init__(self, ids: Sequence[int], articles: Sequence[Article]) -> None:
        self._ids, self._articles = ids, articles

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        for id, article in zip(self._ids, self._articles, strict=True):
            position = 0
            for section_index, section in enumerate(article.sections):
                for paragraph_index, paragraph in enumerate(_split(section.paragraphs, article.title)):
                    opens = True
                    for text in paragraph.sentences:
                        yield id, position, section_index, paragraph_index, opens, clean_text(text)
                        position += 1
                        opens = False


def _split(paragraphs: Sequence[Paragraph], title: str) -> Iterator[Paragraph]:
    for paragraph in paragraphs:
        if paragraph.sentences:
            yield paragraph
        elif paragraph.text.strip():
            raise DataError(f"A paragraph of {title!r} was not split into sentences, so it cannot be stored.")
