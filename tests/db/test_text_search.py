"""Search in all texts: on both databases, with any letters, the rows of one corpus apart from the others."""

import pytest

from themescope.core.types import Article, Paragraph, Section
from themescope.db.repositories.corpora import Where
from themescope.db.store import Store

TEXTS = {
    "Rivers": ["The Danube flows east.", "100% of the _water_ is cold.", "Die Straße am Fluss.", "ÜBER den Fluss."],
    "Towns": ["Ulm lies on the Danube.", "Nothing here."],
}


@pytest.fixture
def filled(store: Store) -> Store:
    with store.writing() as w:
        for name, texts in TEXTS.items():
            corpus = w.corpora.create(name, "en")
            section = Section("", 1, tuple(Paragraph("", (text,)) for text in texts), ())
            w.corpora.add_articles(corpus.id, [Article(f"About {name}", (section,)), Article("Danube", ())])
            w.corpora.finish(corpus.id, {})
        hidden = w.corpora.create("Unfinished", "en")
        w.corpora.add_articles(
            hidden.id, [Article("Danube", (Section("", 1, (Paragraph("", ("The Danube.",)),), ()),))]
        )
    return store


def sentences(store: Store, *words: str, where: Where = Where.HERE, limit: int = 10) -> list[str]:
    with store.reading() as r:
        corpus = r.corpora.by_name("Rivers")
        return [s.text for s in r.text_search.sentences(words, corpus.id, where, limit)]


def test_all_words_must_occur_whatever_their_case(filled: Store) -> None:
    assert sentences(filled, "danube", "EAST") == ["The Danube flows east."]
    assert sentences(filled, "danube", "cold") == []


def test_other_corpora_are_searched_without_unfinished_ones(filled: Store) -> None:
    assert sentences(filled, "danube", where=Where.ELSEWHERE) == ["Ulm lies on the Danube."]


@pytest.mark.parametrize("word", ["100%", "_water_"])
def test_wildcards_of_the_database_are_letters(filled: Store, word: str) -> None:
    assert sentences(filled, word) == [TEXTS["Rivers"][1]]


def test_letters_of_other_languages_ignore_case_too(filled: Store) -> None:
    assert sentences(filled, "über") == ["ÜBER den Fluss."]
    assert sentences(filled, "straße", "fluss") == ["Die Straße am Fluss."]


def test_rows_are_limited_and_titles_found(filled: Store) -> None:
    assert len(sentences(filled, "e", limit=2)) == 2
    with filled.reading() as r:
        corpus = r.corpora.by_name("Rivers")
        here = r.text_search.articles(["danube"], corpus.id, Where.HERE, 10)
        elsewhere = r.text_search.articles(["danube"], corpus.id, Where.ELSEWHERE, 10)
    assert [a.corpus_id for a in here] == [corpus.id] and len(elsewhere) == 1
