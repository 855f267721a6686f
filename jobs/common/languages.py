"""Languages of a corpus: detected at its import, kept in its report, and as stated where nothing was detected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from themescope.core.errors import ThemescopeError
from themescope.core.text.languages import Shares, frequent, language_shares, main_language, sampled
from themescope.core.text.splitting import LANGUAGES
from themescope.core.types import Article
from themescope.db.records import CorpusRecord
from themescope.db.store import Store

REPORTED = "languages"
"""Key of the shares in the report of a corpus."""
_PREVIEWED = 5


def corpus_shares(corpus: CorpusRecord) -> Shares:
    """Return the shares of the languages of a corpus; the stated language where nothing was detected."""
    return corpus.report.get(REPORTED) or {corpus.language: 1.0}


def corpus_languages(corpus: CorpusRecord) -> tuple[str, ...]:
    """Return the languages with at least a tenth of the sentences of a corpus."""
    return frequent(corpus_shares(corpus))


def language_report(store: Store, corpus_id: int) -> dict[str, Any]:
    """Return the entry of the import report with the shares of the languages, from a sample of the stored text."""
    with store.reading() as r:
        texts = r.corpora.sample_texts(corpus_id)
    return {REPORTED: language_shares(texts)}


def splitting_language(shares: Shares) -> str:
    """Return the main language if sentences can be split in it, else English."""
    found = main_language(shares)
    return found if found in LANGUAGES else "en"


def language_of_file(path: Path, reader: str = "") -> str:
    """Return the language for splitting the sentences of a file, by its first articles; English if it has none."""
    from themescope.core.readers.formats import detect, preview

    try:
        seen = preview(path, reader or detect(path), {}, n=_PREVIEWED)
    except ThemescopeError:
        return "en"  # the import reports what is wrong with the file
    return splitting_language(language_shares(sampled(_lines(seen.articles))))


def _lines(articles: Sequence[Article]) -> list[str]:
    """Return the sentences of articles, or where they are not split, pieces of their paragraphs."""
    paragraphs = [p for article in articles for section in article.sections for p in section.paragraphs]
    return [line for p in paragraphs for line in (p.sentences or p.text.split(". "))]
