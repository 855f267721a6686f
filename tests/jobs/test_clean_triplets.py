"""A set without the triplets that people called bad: what stays, what is told, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import write_articles
from tests.jobs.test_kinds import do
from themescope.core.errors import DataError, DuplicateNameError
from themescope.core.types import Split
from themescope.db.records import TripletSetRecord, Verdict
from themescope.db.store import Store
from themescope.jobs.kinds.triplets import ORIGIN

BAD, AMBIGUOUS, GOOD = Verdict.BAD, Verdict.AMBIGUOUS, Verdict.GOOD


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(lambda store: _review(store, write_articles(tmp_path_factory.mktemp("files"), 30)))


def _review(store: Store, articles: Path) -> None:
    do(store, "import-corpus", files=[str(articles)], corpus="C")
    do(store, "build-triplets", corpus="C", name="T")
    with store.writing() as w:
        made = w.triplets.by_name("T")
        train, test = (w.triplets.ids(made.id, split).tolist() for split in (Split.TRAIN, Split.TEST))
        said = [(train[0], "Ada", BAD), (train[1], "Ada", GOOD), (train[1], "Bob", BAD), (train[2], "Bob", AMBIGUOUS),
                (test[0], "Bob", BAD)]  # fmt: skip
        for triplet, person, verdict in said:
            w.reviews.add(made.id, triplet, person, verdict)


@pytest.fixture
def reviewed(copy_home: CopyHome, home: Path) -> tuple[Store, TripletSetRecord]:
    """A set with reviews: Ada on training triplets 0 and 1, Bob on 1 and 2 and on the first test triplet."""
    store = copy_home(home)
    with store.reading() as r:
        return store, r.triplets.by_name("T")


def kept(store: Store, name: str, split: Split) -> list[tuple[int, ...]]:
    """The triplets of a split without their ids."""
    with store.reading() as r:
        rows = r.triplets.rows(r.triplets.by_name(name).id, split)
    return [*zip(rows.articles.tolist(), rows.pivots.tolist(), rows.positives.tolist(), rows.negatives.tolist(),
                 strict=True)]  # fmt: skip


@pytest.mark.parametrize(
    ("args", "train", "test"),
    [
        ({}, [0, 1], []),
        ({"leave_out": ["bad", "ambiguous"]}, [0, 1, 2], []),
        ({"people": ["Bob"]}, [1], []),
        ({"people": ["Ada"], "leave_out": ["bad"]}, [0], []),
        ({"splits": ["train", "validation", "test"]}, [0, 1], [0]),
        ({"splits": ["test"]}, [], [0]),
    ],
)
def test_what_stays(
    reviewed: tuple[Store, TripletSetRecord], args: dict[str, Any], train: list[int], test: list[int]
) -> None:
    store, source = reviewed
    result = do(store, "clean-triplets", triplets="T", name="clean", **args)
    assert result["removed"] == {"train": len(train), "validation": 0, "test": len(test)}
    for split, gone in ((Split.TRAIN, train), (Split.VALIDATION, []), (Split.TEST, test)):
        before = kept(store, "T", split)
        assert kept(store, "clean", split) == [row for i, row in enumerate(before) if i not in gone]
    with store.reading() as r:
        made = r.triplets.by_name("clean")
        assert r.triplets.get(source.id) == source and len(r.reviews.list(source.id)) == 5
    origin = made.config[ORIGIN]
    assert (origin["from"], origin["from_digest"], origin["removed"]) == ("T", source.digest, result["removed"])
    assert {k: v for k, v in made.config.items() if k != ORIGIN} == source.config
    assert made.counts["triplets"]["train"] == source.counts["triplets"]["train"] - len(train)
    assert made.counts["triplets"]["dropped"]["reviewed"] == len(train) + len(test)
    assert made.digest != source.digest and (made.kind, made.seed) == (source.kind, source.seed)


def test_the_same_request_finds_the_set(reviewed: tuple[Store, TripletSetRecord]) -> None:
    store, source = reviewed
    first = do(store, "clean-triplets", triplets="T", name="clean")
    again = do(store, "clean-triplets", triplets="T", name="other name")
    assert (first["cached"], again["cached"], again["triplets"]) == (False, True, "clean")
    with store.writing() as w:  # one more verdict makes another set
        w.reviews.add(source.id, int(w.triplets.ids(source.id, Split.TRAIN)[5]), "Ada", BAD)
    with pytest.raises(DuplicateNameError):
        do(store, "clean-triplets", triplets="T", name="clean")
    assert do(store, "clean-triplets", triplets="T", name="cleaner")["removed"]["train"] == 3


def test_what_a_dead_attempt_left_is_replaced(reviewed: tuple[Store, TripletSetRecord]) -> None:
    store, source = reviewed
    with store.writing() as w:
        w.triplets.create(source.corpus_id, "clean", "sentences", {}, 0, "half")
    assert do(store, "clean-triplets", triplets="T", name="clean")["cached"] is False


def test_nothing_to_leave_out(reviewed: tuple[Store, TripletSetRecord]) -> None:
    store, _ = reviewed
    with pytest.raises(DataError, match=r"split validation was marked as bad by Ada\. Review triplets"):
        do(store, "clean-triplets", triplets="T", name="clean", splits=["validation"], people=["Ada"])
