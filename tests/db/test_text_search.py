"""Search in all texts: on both databases, with any letters, the rows of one corpus apart from the others."""

import unicodedata
from typing import Literal

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
        for name, texts in {**TEXTS, "Unfinished": ["The Danube."]}.items():
            corpus = w.corpora.create(name, "en")
            section = Section("", 1, tuple(Paragraph("", (text,)) for text in texts), ())
            w.corpora.add_articles(corpus.id, [Article(f"About {name}", (section,)), Article("Danube", ())])
            if name in TEXTS:
                w.corpora.finish(corpus.id, {})
    return store


def sentences(store: Store, *words: str, where: Where = Where.HERE, limit: int = 10) -> list[str]:
    with store.reading() as r:
        corpus = r.corpora.by_name("Rivers")
        return [s.text for s in r.text_search.sentences([words], corpus.id, where, limit)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("danube", "EAST"), [0]),
        (("danube", "cold"), []),
        (("100%",), [1]),
        (("_water_",), [1]),
        (("über",), [3]),
        (("straße", "fluss"), [2]),
    ],
)
def test_all_words_must_occur_whatever_their_case_and_language(
    filled: Store, words: tuple[str, ...], found: list[int]
) -> None:
    assert sentences(filled, *words) == [TEXTS["Rivers"][place] for place in found]


def test_rows_are_limited_titles_found_and_other_corpora_searched(filled: Store) -> None:
    assert sentences(filled, "danube", where=Where.ELSEWHERE) == ["Ulm lies on the Danube."]
    assert len(sentences(filled, "e", limit=2)) == 2
    with filled.reading() as r:
        corpus = r.corpora.by_name("Rivers")
        here = r.text_search.articles([["danube"]], corpus.id, Where.HERE, 10)
        elsewhere = r.text_search.articles([["danube"]], corpus.id, Where.ELSEWHERE, 10)
    assert [a.corpus_id for a in here] == [corpus.id] and len(elsewhere) == 1


@pytest.mark.parametrize("query", ["don't", "don’t", "DON'T"])
def test_signs_that_programs_replace_are_the_same(store: Store, query: str) -> None:
    assert found(store, query, ["I don't.", "I don’t.", "I donut."]) == ["I don't.", "I don’t."]
    assert found(store, "“so” – yes", ['"so" - yes', "«so» — yes", "so, yes"]) == ['"so" - yes', "«so» — yes"]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_forms_of_unicode_are_the_same(store: Store, form: Literal["NFC", "NFD"]) -> None:
    texts = [unicodedata.normalize(one, "un café noir") for one in ("NFC", "NFD")]
    assert found(store, unicodedata.normalize(form, "Café n"), [*texts, "cafe noir"]) == texts


def found(store: Store, query: str, texts: list[str]) -> list[str]:
    """The texts that a search finds in a corpus of them, as they were stored by version 0.2."""
    with store.writing() as w:
        corpus = w.corpora.create(f"C{len(w.corpora.list(include_unready=True))}", "en")
        section = Section("", 1, tuple(Paragraph("", (text,)) for text in texts), ())
        w.corpora.add_articles(corpus.id, [Article("A", (section,))])
        w.corpora.finish(corpus.id, {})
    with store.reading() as r:
        known = r.corpora.sentences_by_id(r.corpora.sentences_with(corpus.id, query))
    return [sentence.text for sentence in known.values()]
