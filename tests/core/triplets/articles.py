"""Hand-made articles for tests: sections of numbered sentences of a given length."""

from themescope.core.triplets.rules import ArticleSentences, positioned
from themescope.core.types import Article, Paragraph, Section


def words(name: str, n: int = 6) -> str:
    return " ".join([name, *(["word"] * (n - 1))])


def section(title: str, paragraphs: int = 2, level: int = 2, tokens: int = 6, follow: int = 1) -> Section:
    """Paragraphs of one opening sentence and ``follow`` others; every sentence names its place."""
    texts = [tuple(words(f"{title}/{p}/{s}", tokens) for s in range(1 + follow)) for p in range(paragraphs)]
    return Section(title, level, tuple(Paragraph("", sentences) for sentences in texts), (title,))


def article(title: str, *sections: Section, lead: bool = True, id: int = 1) -> ArticleSentences:
    start = (section("", level=1),) if lead else ()
    return positioned(Article(title, (*start, *sections)), id, id * 10_000, id * 1_000)


def plain(title: str, sections: int = 5, paragraphs: int = 2, id: int = 1) -> ArticleSentences:
    """An article of equal sections called A, B, C, … whose sentences carry the article's title."""
    names = [f"{title} {chr(ord('A') + i)}" for i in range(sections)]
    return article(title, *(section(name, paragraphs) for name in names), id=id)
