import math
from contextlib import AbstractContextManager

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.db.texts import add_corpus
from themescope.core.errors import AccessError, ConflictError, DataError, DuplicateNameError, UnknownNameError
from themescope.core.records.stored import ModelRecord, Role, ScoreRecord
from themescope.core.types import BenchmarkItem, Sentence, Split, TripletRows
from themescope.db import tables as t
from themescope.db.records import BenchmarkRecord, MapPoints, TripletReview, TripletSetRecord, VectorBlock, Verdict
from themescope.db.repositories.triplets import NOTE_LIMIT
from themescope.db.store import Store, Unit


def add_model(store: Store, name: str = "model", corpus_id: int | None = None) -> ModelRecord:
    with store.writing() as w:
        return w.models.add(
            name=name,
            method="triplets-sen",
            config={"hidden": 300},
            seed=2**40,
            digest=f"digest of {name}",
            artifact="0" * 32,
            corpus_id=corpus_id,
            metrics={"validation": 0.74},
        )


def add_benchmark(store: Store, corpus_id: int, name: str = "scb") -> BenchmarkRecord:
    items = [
        BenchmarkItem(2, np.array([20, 21, 2**40]), np.array([0, 1, 1], np.int32)),
        BenchmarkItem(1, np.array([10]), np.array([3])),
    ]
    with store.writing() as w:
        return w.benchmarks.add(corpus_id, name, {"min": 5}, f"digest of {name}", {"articles": {"taken": 2}}, items)


class TestModels:
    def test_round_trip(self, store: Store) -> None:
        corpus = add_corpus(store)
        model = add_model(store, corpus_id=corpus.id)
        assert (model.seed, model.config, model.metrics) == (2**40, {"hidden": 300}, {"validation": 0.74})
        assert model.corpus_id == corpus.id and model.triplet_set_id is None
        with store.reading() as r:
            assert r.models.list() == r.models.list("triplets-sen") == [model]
            assert r.models.list("tfidf") == []
            assert r.models.get(model.id) == r.models.by_name("model") == r.models.by_digest(model.digest) == model
            assert r.models.by_digest("other") is None
            with pytest.raises(UnknownNameError, match="Did you mean 'model'"):
                r.models.by_name("modell")
        with store.writing() as w:
            w.corpora.delete(corpus.id)
            assert w.models.by_name("model").corpus_id is None, "a model outlives its corpus"

    def test_the_same_is_not_entered_twice(self, store: Store) -> None:
        model = add_model(store)
        with store.writing() as w:
            about = {"method": "x", "config": {}, "seed": 0, "artifact": "a"}
            with pytest.raises(ConflictError, match="stored already, as 'model'"):
                w.models.add(name="other", digest=model.digest, **about)
            with pytest.raises(DuplicateNameError):
                w.models.add(name="model", digest="other", **about)
            assert w.models.usable_name("model") == "model 2"
            w.models.add(name="model 2", digest="third", **about)
            assert w.models.usable_name("model") == "model 3"
            assert len(w.models.usable_name("x" * 500)) <= 200
            assert w.models.usable_name(" ") == "model 3"


class TestEmbeddings:
    @pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 1e-3), ("float32", 0)])
    def test_dense_blocks(self, store: Store, dtype: str, tolerance: float) -> None:
        corpus, model = add_corpus(store), add_model(store)
        x = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
        with store.writing() as w:
            w.embeddings.add(model.id, [VectorBlock(1, x), VectorBlock(np.int64(2), x[:0])], dtype)
        with store.reading() as r:
            assert r.embeddings.have(model.id, corpus.id) == {1, 2}
            assert r.embeddings.have(model.id, corpus.id + 1) == set()
            got = r.embeddings.get(model.id, [1, 2, 3])
        assert got.keys() == {1, 2} and got[1].dtype == np.float32 and got[2].shape == (0, 5)
        np.testing.assert_allclose(got[1], x, rtol=tolerance)
        got[1][0, 0] = 1  # ours to change

    def test_sparse_blocks(self, store: Store) -> None:
        add_corpus(store)
        model = add_model(store)
        x = sparse.random_array((9, 400), density=0.05, format="csr", dtype=np.float32, rng=np.random.default_rng(0))
        empty = sparse.csr_array((3, 400), dtype=np.float32)
        with store.writing() as w:
            w.embeddings.add(model.id, [VectorBlock(1, x), VectorBlock(2, empty)], "float32")
        with store.reading() as r:
            got = r.embeddings.get(model.id, np.array([1, 2]))
        assert sparse.issparse(got[1]) and got[1].dtype == np.float32 and got[1].shape == (9, 400)
        assert (got[1] != x).nnz == 0 and got[2].nnz == 0 and got[2].shape == (3, 400)

    def test_blocks_are_replaced_and_deleted_also_with_their_model(self, store: Store) -> None:
        corpus, model, other = add_corpus(store), add_model(store), add_model(store, "other")
        with store.writing() as w:
            for one in (model, other):
                w.embeddings.add(one.id, [VectorBlock(1, np.zeros((2, 2))), VectorBlock(2, np.zeros((2, 2)))])
        with store.writing() as w:
            w.embeddings.add(model.id, [VectorBlock(1, np.ones((2, 2)))])
            assert w.embeddings.get(model.id, [1])[1].sum() == 4
            assert w.embeddings.get(model.id, [2])[2].sum() == w.embeddings.get(other.id, [1])[1].sum() == 0
            assert w.embeddings.have(model.id, corpus.id) == w.embeddings.have(other.id, corpus.id) == {1, 2}
            w.embeddings.delete(model.id)
            assert w.embeddings.have(model.id, corpus.id) == set()
            assert w.embeddings.have(other.id, corpus.id) == {1, 2}
            w.models.delete(other.id)
            assert w.embeddings.have(other.id, corpus.id) == set()


class TestBenchmarks:
    def test_round_trip(self, store: Store) -> None:
        corpus = add_corpus(store)
        made = add_benchmark(store, corpus.id)
        with store.reading() as r:
            assert r.benchmarks.list() == r.benchmarks.list(corpus.id) == [made]
            assert r.benchmarks.list(corpus.id + 1) == []
            assert r.benchmarks.by_name("scb") == r.benchmarks.get(made.id) == made
            assert r.benchmarks.usable_name("scb") == "scb 2"
            two, one = r.benchmarks.items(made.id)
            (of_two,) = r.benchmarks.items_of(2).items()
            assert r.benchmarks.items_of(3) == {}
        assert of_two[0] == made.id and of_two[1].sentence_ids.tolist() == two.sentence_ids.tolist()
        assert (two.article_id, one.article_id) == (2, 1)
        assert two.sentence_ids.tolist() == [20, 21, 2**40] and two.sentence_ids.dtype == np.int64
        assert two.truth.tolist() == [0, 1, 1] and two.truth.dtype == one.truth.dtype == np.int32

    def test_refused_and_deleted(self, store: Store) -> None:
        corpus = add_corpus(store)
        made = add_benchmark(store, corpus.id)
        with store.writing() as w:
            with pytest.raises(DuplicateNameError):
                w.benchmarks.add(corpus.id, "scb", {}, "x", {}, [])
            with pytest.raises(DataError, match="2 sentences but 1 true"):
                uneven = BenchmarkItem(1, np.array([1, 2]), np.array([1], np.int32))
                w.benchmarks.add(corpus.id, "uneven", {}, "x", {}, [uneven])
            w.benchmarks.delete(made.id)
            assert made not in w.benchmarks.list() and w.benchmarks.items(made.id) == []


class TestRuns:
    def test_a_clustering(self, store: Store) -> None:
        model = add_model(store)
        benchmark = add_benchmark(store, add_corpus(store).id)
        scores = [ScoreRecord(0, 1, "ami", 0.25), ScoreRecord(0, np.int64(2), "ami", 0.5, n=np.int64(1))]
        mean = ScoreRecord(0, None, "ami", np.float64(0.375), 0.3, 0.45, 2)
        with store.writing() as w:
            run = w.runs.add(
                kind="clustering",
                digest="d",
                model_id=model.id,
                benchmark_id=benchmark.id,
                clusterer="kmeans",
                config={"restarts": 10},
                seed=1,
                seconds=1.5,
                assignments={1: np.array([0, 0, -1]), np.int64(2): np.array([1], np.int32)},
                scores=[*scores, mean],
            )
        with store.reading() as r:
            assert r.runs.by_digest("d") == r.runs.get(run.id) == run and r.runs.by_digest("e") is None
            assert r.runs.list(benchmark_id=benchmark.id, model_id=model.id, kind="clustering") == [run]
            assert r.runs.list(kind="triplets") == [] == r.runs.list(model_id=99)
            labels = r.runs.labels(run.id)
            assert {a: (x.tolist(), x.dtype) for a, x in labels.items()} == {
                1: ([0, 0, -1], np.int32),
                2: ([1], np.int32),
            }
            assert r.runs.labels(run.id, 2).keys() == {2}
            assert r.runs.scores([run.id]) == [ScoreRecord(run.id, None, "ami", 0.375, 0.3, 0.45, 2)]
            assert [(s.article_id, s.value) for s in r.runs.scores([run.id], per_article=True)] == [(1, 0.25), (2, 0.5)]
            assert r.runs.scores([]) == []
            articles, values, sizes = r.runs.article_values([run.id, 99], "ami")[run.id]
            assert (articles.tolist(), values.tolist(), sizes.tolist()) == ([1, 2], [0.25, 0.5], [1, 1])
            assert r.runs.article_values([run.id], "mi") == r.runs.article_values([], "ami") == {}
            assert r.runs.of_article(2) == [run] and r.runs.of_article(3) == []

    def test_a_run_needs_no_vectors_and_finite_scores(self, store: Store) -> None:
        with store.writing() as w:
            run = w.runs.add(kind="clustering", digest="d", clusterer="random")
            assert run.model_id is None and w.runs.list() == [run]
            with pytest.raises(ConflictError, match="stored already"):
                w.runs.add(kind="clustering", digest="d")
            for value in (math.nan, math.inf):
                with pytest.raises(DataError, match="'ami' is not a finite number"):
                    w.runs.add(kind="clustering", digest=f"{value}", scores=[ScoreRecord(0, None, "ami", value)])

    def test_margins(self, store: Store) -> None:
        test = np.array([9, 3, 7]), np.array([0.5, -0.25, 0.0], np.float32)
        train = np.array([1]), np.array([1.0], np.float32)
        with store.writing() as w:
            one = w.runs.add(kind="triplets", digest="1", margins={Split.TEST: test, Split.TRAIN: train})
            two = w.runs.add(kind="triplets", digest="2", margins={Split.TEST: (test[0][:1], test[1][:1])})
            none = w.runs.add(kind="triplets", digest="3", margins={Split.TEST: (test[0][:0], test[1][:0])})
            with pytest.raises(DataError, match="3 triplets of the test split have 1 margins"):
                w.runs.add(kind="triplets", digest="4", margins={Split.TEST: (test[0], test[1][:1])})
        with store.reading() as r:
            ids, margins = r.runs.margins(one.id, Split.TEST)
            assert ids.tolist() == [9, 3, 7] and margins.tolist() == [0.5, -0.25, 0.0]
            assert margins.dtype == np.float32 and len(r.runs.margins(two.id, Split.TRAIN)[0]) == 0
            of = r.runs.margins_of([3, 1, 9, 100], [one.id, two.id, none.id])
        np.testing.assert_array_equal(of[one.id], [-0.25, 1.0, 0.5, np.nan])
        np.testing.assert_array_equal(of[two.id], [np.nan, np.nan, 0.5, np.nan])
        assert np.isnan(of[none.id]).all()

    def test_runs_go_with_what_they_measured(self, store: Store) -> None:
        corpus, model = add_corpus(store), add_model(store)
        benchmark = add_benchmark(store, corpus.id)
        about = {"kind": "clustering", "assignments": {1: np.zeros(3)}, "scores": [ScoreRecord(0, 1, "ami", 0.5)]}
        with store.writing() as w:
            w.runs.add(digest="1", model_id=model.id, benchmark_id=benchmark.id, **about)
            second = w.runs.add(digest="2", benchmark_id=benchmark.id, **about)
            w.models.delete(model.id)
            assert w.runs.list() == [second]
            w.runs.delete(second.id)
            w.runs.add(digest="3", benchmark_id=benchmark.id, **about)
            topics = w.runs.add(kind="topics", digest="4", corpus_id=corpus.id)
            assert w.runs.list(corpus_id=corpus.id) == [topics]
            w.corpora.delete(corpus.id)
            assert w.runs.list() == [] == w.benchmarks.list()
            for table in (t.assignment, t.score):
                assert w.runs.connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() == 0


class TestMaps:
    def test_round_trip(self, store: Store) -> None:
        corpus, model = add_corpus(store), add_model(store)
        about = {"corpus_id": corpus.id, "model_id": model.id, "config": {"neighbours": 15}, "seed": 0}
        points = MapPoints(np.array([5, 2**40]), np.array([[1, 2], [3, 4.5]], np.float32))
        with store.writing() as w:
            made = w.maps.add(**about, name="m", digest="d", faithfulness=0.25, sampled_from=100, points=points)
            blank = MapPoints(np.empty(0, np.int64), np.empty((0, 2), np.float32))
            unsure = w.maps.add(**about, name="m", digest="e", faithfulness=math.nan, sampled_from=0, points=blank)
            with pytest.raises(ConflictError):
                w.maps.add(**about, name="m", digest="d", faithfulness=1, sampled_from=1, points=points)
            with pytest.raises(DataError, match="2 sentences needs 2 × 2"):
                wrong = MapPoints(points.sentence_ids, np.zeros((2, 3), np.float32))
                w.maps.add(**about, name="m", digest="f", faithfulness=1, sampled_from=1, points=wrong)
        assert math.isnan(unsure.faithfulness)
        with store.reading() as r:
            assert [m.id for m in r.maps.list(corpus.id)] == [made.id, unsure.id]
            assert r.maps.list(corpus.id + 1) == []
            assert r.maps.by_digest("d") == r.maps.get(made.id) == made and made.faithfulness == 0.25
            got = r.maps.points(made.id)
            np.testing.assert_array_equal(got.sentence_ids, points.sentence_ids)
            np.testing.assert_array_equal(got.points, points.points)
            assert r.maps.points(unsure.id).points.shape == (0, 2)
        with store.writing() as w:
            w.maps.delete(made.id)
            w.models.delete(model.id)
            assert w.maps.list() == []


class TestPlaces:
    def test_where_sentences_stand_in_the_requested_order(self, store: Store) -> None:
        corpus = add_corpus(store, articles=3)
        with store.reading() as r:
            articles = r.corpora.articles(corpus.id)
            known = {s.id: s for a in articles for s in r.corpora.sentences(a.id)}
            titles = {a.id: [s.title for s in r.corpora.sections(a.id)] for a in articles}
            ids = np.random.default_rng(0).permutation([*known, 10**9])
            got = r.maps.places(ids)
            nothing = r.maps.places(np.empty(0, np.int64))
        assert got.ids.tolist() == [i for i in ids.tolist() if i in known]
        for i, article, position, section in zip(got.ids, got.articles, got.positions, got.sections, strict=True):
            sentence = known[int(i)]
            assert (sentence.article_id, sentence.position) == (article, position)
            assert got.titles[section] == titles[sentence.article_id][sentence.section]
        assert len(nothing.ids) == len(nothing.sections) == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(config=st.dictionaries(st.text(), JSON, max_size=4))
def test_any_json_comes_back(store: Store, config: dict) -> None:
    with store.writing() as w:
        model = w.models.add(name="m", method="x", config=config, seed=0, digest="d", artifact="a")
        assert model.config == config
        w.models.delete(model.id)


CONTENT = {"rows": [{"id": "a", "ours": {"ami": {"value": 0.25}}}], "note": "τ ≥ 1"}


def test_a_table_is_kept_by_paper_name_and_profile_and_replaced_where_it_differs(store: Store) -> None:
    with store.writing() as w:
        first = w.papers.put("p", "1", "quick", {"corpus": "C"}, CONTENT)
        w.papers.put("p", "1", "full", {}, {})
        w.papers.put("q", "1", "quick", {}, {})
    with store.writing() as w:
        assert w.papers.put("p", "1", "quick", {"corpus": "C"}, dict(CONTENT)) == first
        assert w.papers.find("p", "1", "quick") == first
        assert (first.content, first.arguments) == (CONTENT, {"corpus": "C"})
        assert w.papers.find("p", "2", "quick") is None
        assert [t.profile for t in w.papers.list("p")] == ["quick", "full"]
        assert [t.paper for t in w.papers.list(profile="quick")] == ["p", "q"]
    with store.writing() as w:
        second = w.papers.put("p", "1", "quick", {}, {"rows": []})
        assert (second.id, second.content) == (first.id, {"rows": []}) and second.created > first.created
        assert w.papers.find("p", "1", "quick") == second


# --- saved views ------------------------------------------------------------------------------------------------------


def test_a_view_is_kept_with_who_and_when_forgotten_or_refused(store: Store) -> None:
    with store.writing() as w:
        first = w.views.add("compare", " hard ones ", "benchmark=a+b&article=%C3%9C", "Ada")
        second = w.views.add("map", "hard ones", "")
    assert (first.name, first.query, first.person) == ("hard ones", "benchmark=a+b&article=%C3%9C", "Ada")
    assert first.created.tzinfo is not None
    with store.reading() as r:
        assert r.views.list() == [second, first]
        assert r.views.list("compare") == [r.views.get(first.id)] == [first]
    with store.writing() as w:
        w.views.delete(first.id)
        assert w.views.list("compare") == []
        with pytest.raises(UnknownNameError):
            w.views.delete(first.id)
        with pytest.raises(DuplicateNameError, match="hard ones"):
            w.views.add("map", "hard ones", "a=2")
        for name, query in (("  ", ""), ("x" * 201, ""), ("long", "x" * 9_000)):
            with pytest.raises(DataError):
                w.views.add("compare", name, query)


def test_a_view_of_somebody_else_stays_as_soon_as_there_is_an_admin(store: Store) -> None:
    with store.writing() as w:
        first, second, nobodys = (
            w.views.add("map", name, "", person) for name, person in zip("abc", ("Ada", "Ada", ""), strict=True)
        )
    with _as("Bob", store) as w:
        w.views.delete(first.id)  # nobody has said who may do what
        w.people.set_role("Eve", Role.ADMIN, "Bob")
    for view, maker in ((second, "Ada"), (nobodys, "the person without a name")):
        with pytest.raises(AccessError, match=f"Only {maker}, who made it, or an admin"), _as("Bob", store) as w:
            w.views.delete(view.id)
    with _as("Ada", store) as w:
        w.views.delete(second.id)
    with _as("Eve", store) as w:
        w.views.delete(nobodys.id)
        assert w.views.list() == []


def _as(name: str, store: Store) -> AbstractContextManager[Unit]:
    return store.by(lambda: name).writing()


# --- triplets and their reviews ---------------------------------------------------------------------------------------

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


class TestCards:
    def test_a_card_tells_everything_and_ids_go_split_by_split(self, store: Store) -> None:
        made = add_set(store)
        (a, *_) = sentences_of(store, made.corpus_id)
        with store.writing() as w:
            w.triplets.add(made.id, Split.TRAIN, rows((a[0].article_id, a[1].id, a[3].id, a[5].id)))
        with store.reading() as r:
            every = r.triplets.cards(r.triplets.ids(made.id))
            assert [c.split for c in every] == [Split.TRAIN] * 3 + [Split.TEST]
            assert r.triplets.cards(r.triplets.ids(made.id, Split.TEST)) == every[3:]
            assert len(r.triplets.ids(made.id, Split.VALIDATION)) == 0
            assert (r.triplets.count(made.id), r.triplets.count(made.id, Split.TRAIN)) == (4, 3)
            assert r.triplets.cards([every[2].id, 10_000, every[0].id]) == [every[2], every[0]]
        card = every[1]
        assert (card.article, card.article_id) == ("Article 0", a[0].article_id)
        assert (card.pivot, card.positive, card.negative) == (a[4].text, a[6].text, a[8].text)
        assert (card.pivot_section, card.negative_section) == ("Heading 1", "Heading 2")
        assert (card.pivot_id, card.positive_id, card.negative_id) == (a[4].id, a[6].id, a[8].id)

    def test_a_large_set_is_listed_from_an_index_without_a_statement_for_each_triplet(
        self, sqlite_store: Store
    ) -> None:
        made = add_set(sqlite_store)
        n = 30_000
        with sqlite_store.writing() as w:
            columns = [np.resize(np.arange(1, 6), n) for _ in range(5)]
            w.triplets.add(made.id, Split.VALIDATION, TripletRows(*columns))
        with sqlite_store.reading() as r:
            plan = r.triplets.connection.exec_driver_sql(
                "EXPLAIN QUERY PLAN SELECT id FROM triplet WHERE set_id = 1 ORDER BY split, id"
            ).all()
            assert all("COVERING INDEX" in row[-1] for row in plan)
            assert len(r.triplets.ids(made.id)) == n + 3
            said: list[str] = []
            sa.event.listen(r.triplets.connection, "before_cursor_execute", lambda *a: said.append(a[2]))
            assert len(r.triplets.sections(made.id, Split.VALIDATION).ids) == n
            assert len([s for s in said if s.startswith("SELECT")]) == 5


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
