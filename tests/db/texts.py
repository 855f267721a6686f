"""Small articles for the store's tests."""

from themescope.core.records.stored import CorpusRecord
from themescope.core.types import Article, Ids, Paragraph, Section
from themescope.db.store import Store, Unit


def article(title: str, sections: int = 3, paragraphs: int = 2, sentences: int = 2) -> Article:
    """Sentences say where they stand: "Rome 1.0.1." is the second of the first paragraph of the second section."""
    return Article(
        title,
        tuple(
            Section(
                "" if s == 0 else f"Heading {s}",
                1 if s == 0 else 2,
                tuple(
                    Paragraph("text", tuple(f"{title} {s}.{p}.{i}." for i in range(sentences)))
                    for p in range(paragraphs)
                ),
                () if s == 0 else (f"Heading {s}",),
            )
            for s in range(sections)
        ),
        url=f"https://example.org/{title}",
        source="test",
    )


def add_texts(w: Unit, name: str, articles: list[Article], **report: object) -> tuple[int, Ids]:
    """Add a finished corpus; its id, and those of its units."""
    corpus = w.corpora.create(name, "en")
    w.corpora.add_articles(corpus.id, articles)
    w.corpora.finish(corpus.id, report)
    return corpus.id, w.corpora.sentence_ids(corpus.id)


def add_articles(store: Store, name: str, articles: list[Article]) -> int:
    """The id of a finished corpus of the articles."""
    with store.writing() as w:
        return add_texts(w, name, articles)[0]


def add_corpus(store: Store, name: str = "demo", articles: int = 5) -> CorpusRecord:
    """A finished corpus of articles called "Article 0", "Article 1", …"""
    with store.writing() as w:
        corpus = w.corpora.create(name, "en")
        w.corpora.add_articles(corpus.id, [article(f"Article {i}") for i in range(articles)])
        return w.corpora.finish(corpus.id, {"files": ["a.txt"]})


def add_list(store: Store, name: str = "list", waves: tuple[str, ...] = (), reader: str = "table") -> CorpusRecord:
    """A finished list of sentences, with an article for each of the waves."""
    with store.writing() as w:
        corpus = w.corpora.create(name, "en")
        titles = [f"file {i}" for i in range(max(len(waves), 1))]
        w.corpora.add_articles(corpus.id, [article(title, sections=1, paragraphs=30, sentences=1) for title in titles])
        listed = [{"name": wave, "first": place} for place, wave in enumerate(waves)]
        return w.corpora.finish(corpus.id, {"readers": [reader], **({"waves": listed} if listed else {})})
