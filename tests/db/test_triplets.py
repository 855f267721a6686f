"""Triplets and their reviews."""

import numpy as np
import pytest
import sqlalchemy as sa

from tests.db.texts import add_corpus
from themescope.core.errors import DataError, DuplicateNameError, UnknownNameError
from themescope.core.types import Sentence, Split, TripletRows
from themescope.db.records import TripletReview, TripletSetRecord, Verdict
from themescope.db.repositories.triplets import NOTE_LIMIT
from themescope.db.store import Store

GOOD, BAD, AMBIGUOUS = Verdict.GOOD, Verdict.BAD, Verdict.AMBIGUOUS


def rows(*triplets: tuple[int, int, int, int]) -> TripletRows:
    """Rows of (article, pivot, positive, negative)."""
    table = np.array(triplets, dtype=np.int64).reshape(-1, 4)
    return TripletRows(np.zeros(len(table), np.int64), *(table[:, i] for i in range(4)))


def sentences_of(store: Store, corpus_id: int) -> list[list[Sentence]]:
    with store.reading() as r:
        return [listed for _, _, listed in r.corpora.iterate(corpus_id)]


def add_set(store: Store, name: str = "set", corpus: str = "demo") -> TripletSetRecord:
    """Two training triplets of the first article and one test triplet of the second."""
    corpus_id = add_corpus(store, corpus).id
    (a, b, *_) = sentences_of(store, corpus_id)
    with store.writing() as w:
        made = w.triplets.create(corpus_id, name, "sentences", {"drop_first": True}, 7, f"digest {name}")
        first = rows((a[0].article_id, a[0].id, a[2].id, a[4].id), (a[0].article_id, a[4].id, a[6].id, a[8].id))
        w.triplets.add(made.id, Split.TRAIN, first)
        w.triplets.add(made.id, Split.TEST, rows((b[0].article_id, b[0].id, b[2].id, b[4].id)))
        w.triplets.add(made.id, Split.TEST, rows())
        return w.triplets.finish(made.id, {"train": 2, "test": 1})


class TestSets:
    def test_create_and_finish(self, store: Store) -> None:
        corpus = add_corpus(store)
        with store.writing() as w:
            made = w.triplets.create(corpus.id, "set", "titles", {"min_tokens": 5}, 3, "abc")
            assert not made.ready and w.triplets.list() == [] and w.triplets.by_digest(corpus.id, "abc") is None
            assert w.triplets.by_name("set") == made
            done = w.triplets.finish(made.id, {"train": 0})
        assert done.ready and done.counts == {"train": 0} and done.config == {"min_tokens": 5}
        with store.reading() as r:
            assert r.triplets.list() == r.triplets.list(corpus.id) == [done]
            assert r.triplets.list(corpus.id + 1) == []
            assert r.triplets.by_digest(corpus.id, "abc") == done
            assert r.triplets.by_digest(corpus.id + 1, "abc") is None
            assert r.triplets.usable_name("set") == "set 2"

    def test_refused(self, store: Store) -> None:
        made = add_set(store)
        with store.writing() as w:
            with pytest.raises(DuplicateNameError, match="triplet set called 'set'"):
                w.triplets.create(made.corpus_id, "set", "sentences", {}, 0, "x")
            with pytest.raises(DataError, match="sentences or titles, not 'words'"):
                w.triplets.create(made.corpus_id, "other", "words", {}, 0, "x")
            with pytest.raises(UnknownNameError, match="Did you mean 'set'"):
                w.triplets.by_name("sets")
            short = TripletRows(*(np.zeros(n, np.int64) for n in (2, 2, 2, 1, 2)))
            with pytest.raises(DataError, match="differ in length"):
                w.triplets.add(made.id, Split.TRAIN, short)

    def test_a_deleted_set_or_corpus_takes_triplets_and_reviews_along(self, store: Store) -> None:
        gone, kept = add_set(store, "gone"), add_set(store, "kept", "other")
        with store.writing() as w:
            for made in (gone, kept):
                w.reviews.add(made.id, int(w.triplets.ids(made.id, Split.TEST)[0]), "Ada", GOOD)
            w.triplets.delete(gone.id)
            with pytest.raises(UnknownNameError):
                w.triplets.delete(gone.id)
            assert w.triplets.list() == [kept]
            assert [w.triplets.count(made.id) for made in (gone, kept)] == [0, 3]
            assert [len(w.reviews.list(made.id)) for made in (gone, kept)] == [0, 1]
            w.corpora.delete(kept.corpus_id)
            assert w.triplets.list() == [] and w.triplets.count(kept.id) == 0


class TestRows:
    def test_rows_and_texts_come_back_in_order(self, store: Store) -> None:
        made = add_set(store)
        (a, *_) = sentences_of(store, made.corpus_id)
        with store.reading() as r:
            train = r.triplets.rows(made.id, Split.TRAIN)
            assert train.pivots.dtype == np.int64 and train.pivots.tolist() == [a[0].id, a[4].id]
            assert train.positives.tolist() == [a[2].id, a[6].id] and train.negatives.tolist() == [a[4].id, a[8].id]
            assert train.articles.tolist() == [a[0].article_id] * 2
            assert (np.diff(train.ids) > 0).all()
            assert len(r.triplets.rows(made.id, Split.TRAIN, limit=1).ids) == 1
            empty = r.triplets.rows(made.id, Split.VALIDATION)
            assert all(len(getattr(empty, name)) == 0 for name in TripletRows.__dataclass_fields__)
            texts = r.triplets.texts(made.id, Split.TRAIN)
            assert texts.pivots == ["Article 0 0.0.0.", "Article 0 1.0.0."]
            assert texts.positives == ["Article 0 0.1.0.", "Article 0 1.1.0."]
            assert texts.negatives == ["Article 0 1.0.0.", "Article 0 2.0.0."]
            assert texts.groups.tolist() == train.articles.tolist()
            assert len(r.triplets.texts(made.id, Split.TRAIN, limit=1)) == 1
            assert len(r.triplets.texts(made.id, Split.VALIDATION)) == 0

    def test_titles_name_article_and_section(self, store: Store) -> None:
        corpus = add_corpus(store)
        (a, *_) = sentences_of(store, corpus.id)
        with store.writing() as w:
            lead, first, second = w.corpora.sections(a[0].article_id)
            made = w.triplets.create(corpus.id, "titles", "titles", {}, 0, "d")
            new = rows((a[0].article_id, a[4].id, first.id, second.id), (a[0].article_id, a[0].id, lead.id, first.id))
            w.triplets.add(made.id, Split.TRAIN, new)
        with store.reading() as r:
            texts = r.triplets.texts(made.id, Split.TRAIN)
            assert texts.positives == ["Article 0 Heading 1", "Article 0"]
            assert texts.negatives == ["Article 0 Heading 2", "Article 0 Heading 1"]
            card, _ = r.triplets.cards(r.triplets.ids(made.id))
            assert (card.pivot, card.positive) == ("Article 0 1.0.0.", "Article 0 Heading 1")
            assert (card.pivot_section, card.negative_section) == ("Heading 1", "Heading 2")
            assert (card.positive_id, card.negative_id) == (first.id, second.id)


class TestSections:
    @pytest.mark.parametrize("kind", ["sentences", "titles"])
    def test_equal_to_what_cards_say(self, store: Store, kind: str) -> None:
        corpus = add_corpus(store)
        random = np.random.default_rng(0)
        listed = [s for article in sentences_of(store, corpus.id) for s in article]
        with store.writing() as w:
            sections = [s.id for a in w.corpora.articles(corpus.id) for s in w.corpora.sections(a.id)]
            others = sections if kind == "titles" else [s.id for s in listed]
            pivots = [listed[i] for i in random.integers(len(listed), size=40)]
            new = [(s.article_id, s.id, *random.choice(others, 2).tolist()) for s in pivots]
            made = w.triplets.create(corpus.id, kind, kind, {}, 0, kind)
            w.triplets.add(made.id, Split.TEST, rows(*new))
        with store.reading() as r:
            found = r.triplets.sections(made.id, Split.TEST)
            cards = r.triplets.cards(found.ids)
            assert [found.titles[i] for i in found.own] == [c.pivot_section for c in cards]
            assert [found.titles[i] for i in found.other] == [c.negative_section for c in cards]
            assert found.articles.tolist() == [c.article_id for c in cards]
            assert sorted(found.titles) == ["", "Heading 1", "Heading 2"]
            none = r.triplets.sections(made.id, Split.TRAIN)
            assert len(none.ids) == len(none.own) == len(none.other) == 0

    def test_no_statement_for_each_triplet(self, sqlite_store: Store) -> None:
        made = add_set(sqlite_store)
        n = 30_000
        with sqlite_store.writing() as w:
            columns = [np.resize(np.arange(1, 6), n) for _ in range(5)]
            w.triplets.add(made.id, Split.VALIDATION, TripletRows(*columns))
        with sqlite_store.reading() as r:
            said: list[str] = []
            sa.event.listen(r.triplets.connection, "before_cursor_execute", lambda *a: said.append(a[2]))
            assert len(r.triplets.sections(made.id, Split.VALIDATION).ids) == n
            assert len([s for s in said if s.startswith("SELECT")]) == 5


class TestCards:
    def test_a_card_tells_everything(self, store: Store) -> None:
        made = add_set(store)
        (a, *_) = sentences_of(store, made.corpus_id)
        with store.reading() as r:
            _, card, _ = r.triplets.cards(r.triplets.ids(made.id))
        assert (card.split, card.article, card.article_id) == (Split.TRAIN, "Article 0", a[0].article_id)
        assert (card.pivot, card.positive, card.negative) == (a[4].text, a[6].text, a[8].text)
        assert (card.pivot_section, card.negative_section) == ("Heading 1", "Heading 2")
        assert (card.pivot_id, card.positive_id, card.negative_id) == (a[4].id, a[6].id, a[8].id)

    def test_ids_go_split_by_split(self, store: Store) -> None:
        made = add_set(store)
        with store.writing() as w:
            (a, *_) = (x for _, _, x in w.corpora.iterate(made.corpus_id))
            late = rows((a[0].article_id, a[1].id, a[3].id, a[5].id))
            w.triplets.add(made.id, Split.TRAIN, late)
        with store.reading() as r:
            every = r.triplets.cards(r.triplets.ids(made.id))
            assert [c.split for c in every] == [Split.TRAIN] * 3 + [Split.TEST]
            assert r.triplets.cards(r.triplets.ids(made.id, Split.TEST)) == every[3:]
            assert len(r.triplets.ids(made.id, Split.VALIDATION)) == 0
            assert (r.triplets.count(made.id), r.triplets.count(made.id, Split.TRAIN)) == (4, 3)
            assert r.triplets.cards([every[2].id, 10_000, every[0].id]) == [every[2], every[0]]

    def test_a_large_set_is_listed_from_an_index(self, sqlite_store: Store) -> None:
        made = add_set(sqlite_store)
        n = 20_000
        with sqlite_store.writing() as w:
            columns = [np.resize(np.arange(1, 6), n) for _ in range(5)]
            w.triplets.add(made.id, Split.TRAIN, TripletRows(*columns))
        with sqlite_store.reading() as r:
            plan = r.triplets.connection.exec_driver_sql(
                "EXPLAIN QUERY PLAN SELECT id FROM triplet WHERE set_id = 1 ORDER BY split, id"
            ).all()
            assert all("COVERING INDEX" in row[-1] for row in plan)
            assert len(r.triplets.ids(made.id)) == n + 3


def said(reviews: list[TripletReview]) -> list[tuple[int, str, Verdict | None, str]]:
    return [(r.triplet_id, r.person, r.verdict, r.note) for r in reviews]


def test_the_latest_of_each_person_counts_and_a_verdict_is_taken_back_without_losing_history(store: Store) -> None:
    made = add_set(store)
    with store.writing() as w:
        first, second, third = (int(i) for i in w.triplets.ids(made.id))
        assert (w.reviews.newest(made.id), w.reviews.list(made.id)) == (0, [])
        w.reviews.add(made.id, first, "Ada", GOOD, " looks right ")
        w.reviews.add(made.id, first, "", BAD)
        last = w.reviews.add(made.id, first, "Ada", AMBIGUOUS, "on\0second thought")
        w.reviews.add(made.id, second, "Ada", BAD)
        assert w.reviews.newest(made.id) == last.id + 1
        for person, verdict in (("Ada", BAD), ("Bob", BAD), ("Ada", None)):
            w.reviews.add(made.id, third, person, verdict)
    with store.reading() as r:
        now = said(r.reviews.list(made.id))
        assert now == [
            (first, "", BAD, ""), (first, "Ada", AMBIGUOUS, "on�second thought"), (second, "Ada", BAD, ""),
            (third, "Bob", BAD, ""),
        ]  # fmt: skip
        assert said(r.reviews.list(made.id, people=["Ada"])) == now[1:3]
        assert r.reviews.list(made.id, people=["Eve"]) == []
        assert [x.verdict for x in r.reviews.history(made.id, first)] == [GOOD, BAD, AMBIGUOUS]
        assert r.reviews.history(made.id, first)[-1] == last and last.created.tzinfo is not None
        assert [x.verdict for x in r.reviews.history(made.id, third)] == [BAD, BAD, None]


def test_what_cannot_be_kept_is_refused(store: Store) -> None:
    made, other = add_set(store), add_set(store, "other", "second corpus")
    with store.writing() as w:
        (first, *_), (foreign, *_) = w.triplets.ids(made.id), w.triplets.ids(other.id)
        for gone in (foreign, np.int64(10_000)):
            with pytest.raises(DataError, match="was deleted"):
                w.reviews.add(made.id, int(gone), "Ada", BAD)
        with pytest.raises(DataError, match="2,001"):
            w.reviews.add(made.id, int(first), "Ada", BAD, "x" * (NOTE_LIMIT + 1))
        assert w.reviews.newest(made.id) == 0
