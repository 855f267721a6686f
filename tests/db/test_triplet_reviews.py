import numpy as np
import pytest

from tests.db.test_triplets import add_set
from themescope.core.errors import DataError
from themescope.core.types import Split
from themescope.db.records import TripletReview, Verdict
from themescope.db.repositories.triplets import NOTE_LIMIT
from themescope.db.store import Store

GOOD, BAD, AMBIGUOUS = Verdict.GOOD, Verdict.BAD, Verdict.AMBIGUOUS


def said(reviews: list[TripletReview]) -> list[tuple[int, str, Verdict | None, str]]:
    return [(r.triplet_id, r.person, r.verdict, r.note) for r in reviews]


def test_the_latest_of_each_person_counts(store: Store) -> None:
    made = add_set(store)
    with store.writing() as w:
        first, second, _ = (int(i) for i in w.triplets.ids(made.id))
        assert (w.reviews.newest(made.id), w.reviews.list(made.id)) == (0, [])
        w.reviews.add(made.id, first, "Ada", GOOD, " looks right ")
        w.reviews.add(made.id, first, "", BAD)
        last = w.reviews.add(made.id, first, "Ada", AMBIGUOUS, "on\0second thought")
        w.reviews.add(made.id, second, "Ada", BAD)
    with store.reading() as r:
        now = said(r.reviews.list(made.id))
        assert now == [
            (first, "", BAD, ""), (first, "Ada", AMBIGUOUS, "on�second thought"), (second, "Ada", BAD, "")
        ]  # fmt: skip
        assert said(r.reviews.list(made.id, people=["Ada"])) == now[1:]
        assert r.reviews.list(made.id, people=["Bob"]) == []
        assert [x.verdict for x in r.reviews.history(made.id, first)] == [GOOD, BAD, AMBIGUOUS]
        assert r.reviews.history(made.id, first)[-1] == last
        assert last.created.tzinfo is not None and r.reviews.newest(made.id) == last.id + 1


def test_a_verdict_is_taken_back_without_losing_history(store: Store) -> None:
    made = add_set(store)
    with store.writing() as w:
        first, *_ = (int(i) for i in w.triplets.ids(made.id))
        w.reviews.add(made.id, first, "Ada", BAD)
        w.reviews.add(made.id, first, "Bob", BAD)
        w.reviews.add(made.id, first, "Ada", None)
    with store.reading() as r:
        assert said(r.reviews.list(made.id)) == [(first, "Bob", BAD, "")]
        assert [x.verdict for x in r.reviews.history(made.id, first)] == [BAD, BAD, None]


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


def test_a_set_takes_its_reviews_along(store: Store) -> None:
    gone, kept = add_set(store), add_set(store, "kept", "second corpus")
    with store.writing() as w:
        for made in (gone, kept):
            w.reviews.add(made.id, int(w.triplets.ids(made.id, Split.TEST)[0]), "Ada", GOOD)
        w.triplets.delete(gone.id)
    with store.reading() as r:
        assert (len(r.reviews.list(gone.id)), len(r.reviews.list(kept.id))) == (0, 1)
