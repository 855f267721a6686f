"""Corpora with their columns, articles and sentences, and selections of sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from themescope.core import types
from themescope.core.client.records import Article, Column, Corpus, Page, Section, Selection, Sentence
from themescope.core.errors import UnknownNameError
from themescope.core.labelling.selections import Origin
from themescope.db.records import ArticleRecord, ColumnRecord, CorpusRecord, SelectionRecord
from themescope.db.store import Store, Unit


def corpora(store: Store) -> list[Corpus]:
    """Return all corpora, oldest first."""
    with store.reading() as r:
        return [_corpus(record) for record in r.corpora.list()]


def corpus(store: Store, corpus_id: int) -> Corpus:
    """Return a corpus."""
    with store.reading() as r:
        return _corpus(known_corpus(r, corpus_id))


def articles(store: Store, corpus_id: int, title: str = "", offset: int = 0, limit: int = 100) -> Page[Article]:
    """Return the articles of a corpus in their order, those with ``title`` in their title."""
    with store.reading() as r:
        known_corpus(r, corpus_id)
        found = r.corpora.articles(corpus_id, title, offset=offset, limit=limit)
        total = r.corpora.count_articles(corpus_id, title)
    return Page([_article(record) for record in found], total, offset)


def article(store: Store, article_id: int) -> Article:
    """Return an article."""
    with store.reading() as r:
        return _article(r.corpora.article(article_id))


def sections(store: Store, article_id: int) -> list[Section]:
    """Return the sections of an article in their order."""
    with store.reading() as r:
        r.corpora.article(article_id)
        return [Section(s.position, s.level, s.title) for s in r.corpora.sections(article_id)]


def sentences(store: Store, corpus_id: int, offset: int = 0, limit: int = 100) -> Page[Sentence]:
    """Return the sentences of a corpus in reading order."""
    with store.reading() as r:
        record = known_corpus(r, corpus_id)
        found = r.corpora.sentence_page(corpus_id, offset, limit)
        return Page(placed_sentences(r, found), record.sentences, offset)


def article_sentences(store: Store, article_id: int, offset: int = 0, limit: int = 100) -> Page[Sentence]:
    """Return the sentences of an article in reading order."""
    with store.reading() as r:
        record = r.corpora.article(article_id)
        found = r.corpora.sentences_at([(article_id, place) for place in range(offset, offset + limit)])
        return Page(placed_sentences(r, found), record.sentences, offset)


def columns(store: Store, corpus_id: int) -> list[Column]:
    """Return the columns of a corpus, those of articles first."""
    with store.reading() as r:
        known_corpus(r, corpus_id)
        return [_column(record) for record in r.columns.list(corpus_id)]


def selections(store: Store, corpus_id: int) -> list[Selection]:
    """Return the named selections of a corpus, newest first."""
    with store.reading() as r:
        known_corpus(r, corpus_id)
        return [_selection(record) for record in r.selections.list(corpus_id)]


def selection(store: Store, selection_id: int) -> Selection:
    """Return a selection, also one without a name."""
    with store.reading() as r:
        return _selection(r.selections.get(selection_id))


def selected_sentences(store: Store, selection_id: int, offset: int = 0, limit: int = 100) -> Page[Sentence]:
    """Return the sentences of a selection in reading order."""
    with store.reading() as r:
        ids = r.selections.ids(selection_id)
        found = sentences_of_ids(r, ids[offset : offset + limit].tolist())
    return Page([found[id] for id in sorted(found)], len(ids), offset)


def sentence(store: Store, sentence_id: int) -> Sentence:
    """Return a sentence."""
    with store.reading() as r:
        return placed_sentences(r, [known_sentence(r, sentence_id)])[0]


def known_corpus(r: Unit, corpus_id: int) -> CorpusRecord:
    """Return a corpus whose import is finished; raise ``UnknownNameError`` if there is none."""
    record = r.corpora.get(corpus_id)
    if not record.ready:
        raise UnknownNameError("corpus", str(corpus_id), [str(known.id) for known in r.corpora.list()])
    return record


def known_sentence(r: Unit, sentence_id: int) -> types.Sentence:
    """Return a sentence; raise ``UnknownNameError`` if there is none."""
    found = r.corpora.sentences_by_id([sentence_id]).get(sentence_id)
    if found is None:
        raise UnknownNameError("sentence", str(sentence_id), ())
    return found


def sentences_of_ids(r: Unit, ids: Iterable[int]) -> dict[int, Sentence]:
    """Return sentences with their titles by id; missing ids are skipped."""
    return {s.id: s for s in placed_sentences(r, [*r.corpora.sentences_by_id(ids).values()])}


def placed_sentences(r: Unit, found: Sequence[types.Sentence]) -> list[Sentence]:
    """Return sentences with the titles of their articles and sections."""
    ids = sorted({s.article_id for s in found})
    known = r.corpora.articles_by_id(ids)
    titles = {(id, s.position): s.title for id, of in r.corpora.sections_of(ids).items() for s in of}
    return [
        Sentence(
            s.id, s.text, s.article_id, known[s.article_id].title, titles.get((s.article_id, s.section), ""), s.position
        )
        for s in found
    ]


def _corpus(record: CorpusRecord) -> Corpus:
    sizes = record.articles, record.sections, record.paragraphs, record.sentences
    return Corpus(record.id, record.name, record.language, *sizes, record.created)


def _column(record: ColumnRecord) -> Column:
    about = record.about
    ends = about.get("low"), about.get("high")
    missing = int(about.get("missing", 0))
    return Column(record.id, record.name, record.level.value, record.type, missing, [*record.categories], *ends)


def _selection(record: SelectionRecord) -> Selection:
    about = record.id, record.corpus_id, record.name, record.person, record.created
    return Selection(*about, str(Origin.from_json(record.origin)), record.sentences)


def _article(record: ArticleRecord) -> Article:
    about = record.title, record.url, record.topic, record.split.value
    return Article(record.id, record.corpus_id, record.position, *about, record.sections, record.sentences)
