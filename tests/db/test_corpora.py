import unicodedata
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from tests.db.texts import add_corpus, article
from themescope.core.errors import DataError, DuplicateNameError, StoreError, UnknownNameError
from themescope.core.records.stored import JobStatus
from themescope.core.types import Article, Paragraph, Section, Split, split_of_title, title_bucket
from themescope.db import tables as t
from themescope.db.repositories.corpora import Where
from themescope.db.store import Store

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)


class TestCorpora:
    def test_create_add_finish(self, store: Store) -> None:
        with store.writing() as w:
            corpus = w.corpora.create(" Rome ", "en")
            assert (corpus.name, corpus.ready, corpus.articles) == ("Rome", False, 0)
            w.corpora.add_articles(corpus.id, [article("A"), article("B")])
            w.corpora.add_articles(corpus.id, [article("C")])
            w.corpora.add_articles(corpus.id, [])
        with store.reading() as r:
            assert r.corpora.list() == []
            assert [c.name for c in r.corpora.list(include_unready=True)] == ["Rome"]
            assert r.corpora.imported_articles(corpus.id) == 3
        with store.writing() as w:
            w.corpora.finish(corpus.id, {"skipped": {"redirect": np.int64(3)}, "files": ("a", "b")})
        with store.reading() as r:
            (ready,) = r.corpora.list()
        assert (ready.articles, ready.sections, ready.paragraphs, ready.sentences) == (3, 9, 18, 36)
        assert ready.report == {"skipped": {"redirect": 3}, "files": ["a", "b"]}

    def test_names_are_unique_have_a_length_and_are_proposed(self, store: Store) -> None:
        add_corpus(store, "Rome", articles=0)
        with store.writing() as w, pytest.raises(DuplicateNameError, match="'Rome' exists already"):
            w.corpora.create("Rome", "en")
        with store.reading() as r:
            assert r.corpora.usable_name("Rome") == "Rome 2"
            assert r.corpora.usable_name("Athens") == "Athens"
            with pytest.raises(UnknownNameError, match="Did you mean 'Rome'"):
                r.corpora.by_name("Rmoe")
            with pytest.raises(UnknownNameError, match="no corpus called '99'"):
                r.corpora.get(99)
            with pytest.raises(UnknownNameError, match="no article called '5'"):
                r.corpora.article(5)
        for name in ("", "  ", "x" * 201):
            with store.writing() as w, pytest.raises(DataError):
                w.corpora.create(name, "en")

    def test_delete_takes_the_text_along_and_ids_are_never_used_again(self, store: Store) -> None:
        gone, kept = add_corpus(store, "gone"), add_corpus(store, "kept")
        with store.writing() as w:
            used = w.corpora.sentence_ids(kept.id)
            w.corpora.delete(gone.id)
            assert [c.name for c in w.corpora.list()] == ["kept"]
            assert len(list(w.corpora.iterate(kept.id))) == 5
            for table, left in ((t.article, 5), (t.section, 15), (t.sentence, 60)):
                assert w.corpora.connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == left
            w.corpora.delete(kept.id)
        second = add_corpus(store, "second")
        with store.reading() as r:
            fresh = r.corpora.sentence_ids(second.id)
        assert second.id > kept.id and fresh.min() > used.max()

    def test_a_new_name_holds_for_jobs_and_views_too(self, store: Store) -> None:
        corpus, _ = add_corpus(store, "old & new"), add_corpus(store, "taken")
        with store.writing() as w:
            job = w.jobs.add("embed", "Embed", {"corpus": "old & new", "model": "m"})
            w.views.add("map", "A view", "corpus=old+%26+new&colour=a%3Db&colour=c")
        with store.writing() as w, pytest.raises(StoreError, match="waiting or running"):
            w.corpora.rename(corpus.id, "new")
        with store.writing() as w:
            w.jobs.claim(job.id, "vm:1:a")
            w.jobs.finish(job.id, "vm:1:a", JobStatus.DONE)
            with pytest.raises(DuplicateNameError):
                w.corpora.rename(corpus.id, "taken")
            assert w.corpora.rename(corpus.id, " new ").name == "new"
        with store.reading() as r:
            assert r.jobs.get(job.id).args == {"corpus": "new", "model": "m"}
            assert r.views.list()[0].query == "corpus=new&colour=a%3Db&colour=c"
            assert r.corpora.by_name("new").id == corpus.id


class TestText:
    def test_sentences_know_where_they_stand(self, store: Store) -> None:
        given = Article(
            "Rome",
            (
                Section("", 1, (Paragraph("a", ("One.", "Two.")), Paragraph(" "), Paragraph("b", ("Three.",)))),
                Section("History", 2),
                Section("Kings", 3, (Paragraph("c", ("Four.",)),), ("History", "Kings")),
            ),
            "https://example.org/Rome",
            "test",
        )
        with store.writing() as w:
            corpus = w.corpora.create("c", "en")
            w.corpora.add_articles(corpus.id, [given])
        with store.reading() as r:
            (about,) = r.corpora.articles(corpus.id)
            assert (about.title, about.url, about.source) == ("Rome", "https://example.org/Rome", "test")
            assert (about.sections, about.sentences, about.bucket) == (3, 4, title_bucket("Rome"))
            assert about.split is split_of_title("Rome")
            sentences = r.corpora.sentences(about.id)
            assert [(s.text, s.section, s.paragraph, s.position, s.opens_paragraph) for s in sentences] == [
                ("One.", 0, 0, 0, True),
                ("Two.", 0, 0, 1, False),
                ("Three.", 0, 1, 2, True),
                ("Four.", 2, 0, 3, True),
            ]
            assert all(s.article_id == about.id and s.opens_paragraph in (True, False) for s in sentences)
            sections = r.corpora.sections(about.id)
            assert [(s.position, s.level, s.title, s.path) for s in sections] == [
                (0, 1, "", ()),
                (1, 2, "History", ()),
                (2, 3, "Kings", ("History", "Kings")),
            ]
            assert r.corpora.sections_by_id([sections[2].id]) == {sections[2].id: sections[2]}
            assert r.corpora.article(about.id) == about
            assert r.corpora.articles_by_title(corpus.id, "Rome") == [about]
            assert r.corpora.get(corpus.id).paragraphs == 3

    def test_articles_are_found_by_every_spelling_of_their_title(self, store: Store) -> None:
        composed, decomposed = (unicodedata.normalize(form, "São Tomé") for form in ("NFC", "NFD"))
        with store.writing() as w:
            corpus = w.corpora.create("c", "en")
            w.corpora.add_articles(corpus.id, [article(decomposed), article("Rome"), article("A_b"), article("A b")])
        with store.reading() as r:
            for wanted in (composed, decomposed, composed.replace(" ", "_")):
                assert [a.title for a in r.corpora.articles_by_title(corpus.id, wanted)] == [decomposed]
            for wanted in ("A_b", "A b"):
                assert [a.title for a in r.corpora.articles_by_title(corpus.id, wanted)] == [wanted]
            assert r.corpora.articles_by_title(corpus.id, "rome") == []

    def test_topics_and_parts_are_kept_and_counted(self, store: Store) -> None:
        labels = [("grain", "train"), ("grain", "train"), ("grain", "test"), ("ship", ""), ("", "")]
        with store.writing() as w:
            corpus = w.corpora.create("c", "en")
            rows = [replace(article(f"A{i}"), topic=topic, part=part) for i, (topic, part) in enumerate(labels)]
            w.corpora.add_articles(corpus.id, rows)
        with store.reading() as r:
            assert [(a.topic, a.part) for a in r.corpora.articles(corpus.id)] == labels
            counts = {("grain", "train"): 2, ("grain", "test"): 1, ("ship", ""): 1, ("", ""): 1}
            assert r.corpora.topic_counts(corpus.id) == counts
            assert r.corpora.topic_counts(corpus.id + 1) == {}

    def test_text_that_was_not_split_is_refused(self, store: Store) -> None:
        with pytest.raises(DataError, match="of 'Rome' was not split"), store.writing() as w:
            corpus = w.corpora.create("c", "en")
            w.corpora.add_articles(corpus.id, [Article("Rome", (Section("", 1, (Paragraph("One. Two."),)),))])
        with store.reading() as r:
            assert r.corpora.list(include_unready=True) == []

    @given(text=ANY_TEXT, title=ANY_TEXT, heading=ANY_TEXT)
    def test_any_text_comes_back(self, store: Store, text: str, title: str, heading: str) -> None:
        def kept(given: str) -> str:
            return "".join("\ufffd" if c == "\0" or unicodedata.category(c) == "Cs" else c for c in given)

        given = Article(title, (Section(heading, 2, (Paragraph(text, (text, "x")),), (heading,)),), title, heading)
        with store.writing() as w:
            corpus = w.corpora.create(w.corpora.usable_name("c"), "en")
            w.corpora.add_articles(corpus.id, [given])
            w.corpora.finish(corpus.id, {title: heading})
        with store.reading() as r:
            ((about, (section,), (sentence, _)),) = r.corpora.iterate(corpus.id)
            assert (about.title, about.url, about.source) == (kept(title), kept(title), kept(heading))
            assert about.bucket == title_bucket(kept(title))
            assert (section.title, section.path) == (kept(heading), (kept(heading),))
            assert sentence.text == kept(text)
            assert r.corpora.get(corpus.id).report == {title: heading}
        with store.writing() as w:
            w.corpora.delete(corpus.id)


class TestPages:
    def test_offset_limit_count_and_split(self, store: Store) -> None:
        corpus = add_corpus(store, articles=60)
        add_corpus(store, "other")
        with store.reading() as r:
            page = r.corpora.articles(corpus.id, offset=5, limit=3)
            assert [a.title for a in page] == ["Article 5", "Article 6", "Article 7"]
            assert [a.position for a in page] == [5, 6, 7]
            assert r.corpora.count_articles(corpus.id) == 60
            every = r.corpora.articles(corpus.id, limit=100)
            for split in Split:
                chosen = [a for a in every if a.split is split]
                assert chosen and [a for a, _, _ in r.corpora.iterate(corpus.id, [split])] == chosen
            assert list(r.corpora.iterate(corpus.id, [])) == []

    def test_search_means_what_it_says(self, store: Store) -> None:
        titles = ["100% Wolf", "The wolf", "snake_case", "back\\slash", "École normale", "Москва 😀"]
        searches = {
            "100%": ["100% Wolf"],
            "%": ["100% Wolf"],
            "_": ["snake_case"],
            "\\": ["back\\slash"],
            "WOLF": ["100% Wolf", "The wolf"],
            "ÉCOLE": ["École normale"],
            "école": ["École normale"],
            "москва": ["Москва 😀"],
            "😀": ["Москва 😀"],
            "ecole": [],
            "'; DROP TABLE article; --": [],
            "\0": [],
            "x" * 5_000: [],
        }
        with store.writing() as w:
            corpus, other = w.corpora.create("c", "en"), w.corpora.create("other", "en")
            for one in (corpus, other):
                w.corpora.add_articles(one.id, [article(title, 1, 1, 1) for title in titles])
        with store.reading() as r:
            others = {*r.corpora.sentence_ids(other.id).tolist()}
            for search, found in searches.items():
                assert [a.title for a in r.corpora.articles(corpus.id, search=search)] == found, search
                assert r.corpora.count_articles(corpus.id, search=search) == len(found)
                assert len(r.corpora.articles_with(corpus.id, search)) == len(found)
                sentences = r.corpora.sentences_by_id(r.corpora.sentences_with(corpus.id, search))
                assert [sentence.text for sentence in sentences.values()] == [f"{title} 0.0.0." for title in found]
                assert not {*sentences} & others


class TestLargeSelections:
    def test_any_choice_of_ids_is_found(self, store: Store) -> None:
        """Consecutive ids are read as a range, others one by one."""
        corpus = add_corpus(store, articles=20)
        with store.reading() as r:
            everything = {s.id: s for _, _, listed in r.corpora.iterate(corpus.id) for s in listed}
            assert r.corpora.sentences_by_id(range(1, 100_001)) == everything
            assert r.corpora.sentences_by_id(np.array([*everything] * 500)) == everything
            assert len(r.corpora.articles_by_id(range(100_000))) == 20
            known = [*everything][:24]

            @given(st.lists(st.sampled_from([*known, max(everything) + 5])), st.booleans())
            def check(ids: list[int], array: bool) -> None:
                found = r.corpora.sentences_by_id(np.array(ids, np.int64) if array else ids)
                assert found == {id: everything[id] for id in ids if id in everything}

            check()

    @pytest.mark.parametrize("batch", [1, 3, 7, 100])
    def test_iterate_is_in_store_order_whatever_the_batch(self, store: Store, batch: int) -> None:
        with store.writing() as w:
            one, two = w.corpora.create("one", "en"), w.corpora.create("two", "en")
            for i in range(7):  # two imports at once
                w.corpora.add_articles(one.id, [article(f"One {i}")])
                w.corpora.add_articles(two.id, [article(f"Two {i}")])
        with store.reading() as r:
            walked = list(r.corpora.iterate(one.id, batch=batch))
            assert [a.title for a, _, _ in walked] == [f"One {i}" for i in range(7)]
            for about, sections, sentences in walked:
                assert sections == r.corpora.sections(about.id)
                assert sentences == r.corpora.sentences(about.id)


def test_a_page_of_sentences_and_those_at_places(store: Store) -> None:
    add_corpus(store, "other")
    corpus = add_corpus(store, articles=3)
    with store.reading() as r:
        whole = [s for _, _, sentences in r.corpora.iterate(corpus.id) for s in sentences]
        for offset, limit in ((0, 5), (10, 15), (11, 12), (12, 12), (35, 9), (36, 1), (2**53 - 1, 1_000)):
            assert r.corpora.sentence_page(corpus.id, offset, limit) == whole[offset : offset + limit]
        places = [(s.article_id, s.position) for s in (whole[30], whole[2], whole[35], whole[2])]
        found = r.corpora.sentences_at([*places, (whole[0].article_id, 99), (2**40, 2**53)])
        assert found == [whole[30], whole[2], whole[35], whole[2]]
        assert r.corpora.sentences_at([]) == []


# --- search in all texts: with any letters, the rows of one corpus apart from the others ------------------------------

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
def test_all_words_must_occur_in_any_case_and_language(filled: Store, words: tuple[str, ...], found: list[int]) -> None:
    assert sentences(filled, *words) == [TEXTS["Rivers"][place] for place in found]


def test_rows_are_limited_titles_found_and_other_corpora_searched(filled: Store) -> None:
    assert sentences(filled, "danube", where=Where.ELSEWHERE) == ["Ulm lies on the Danube."]
    assert len(sentences(filled, "e", limit=2)) == 2
    with filled.reading() as r:
        corpus = r.corpora.by_name("Rivers")
        here = r.text_search.articles([["danube"]], corpus.id, Where.HERE, 10)
        elsewhere = r.text_search.articles([["danube"]], corpus.id, Where.ELSEWHERE, 10)
    assert [a.corpus_id for a in here] == [corpus.id] and len(elsewhere) == 1


CAFES = [unicodedata.normalize(form, "un café noir") for form in ("NFC", "NFD")]


@pytest.mark.parametrize(
    ("query", "wanted", "other"),
    [
        *((query, ["I don't.", "I don’t."], "I donut.") for query in ("don't", "don’t", "DON'T")),
        ("“so” – yes", ['"so" - yes', "«so» — yes"], "so, yes"),
        (unicodedata.normalize("NFC", "Café n"), CAFES, "cafe noir"),
        (unicodedata.normalize("NFD", "Café n"), CAFES, "cafe noir"),
    ],
)
def test_signs_that_programs_replace_and_forms_of_unicode_are_the_same(
    store: Store, query: str, wanted: list[str], other: str
) -> None:
    """As they were stored by version 0.2."""
    with store.writing() as w:
        corpus = w.corpora.create("C", "en")
        section = Section("", 1, tuple(Paragraph("", (text,)) for text in (*wanted, other)), ())
        w.corpora.add_articles(corpus.id, [Article("A", (section,))])
        known = w.corpora.sentences_by_id(w.corpora.sentences_with(corpus.id, query))
    assert [sentence.text for sentence in known.values()] == wanted
