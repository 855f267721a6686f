"""A set without the triplets that people called bad: what stays, what is told, and what is refused."""

from typing import Any

import pytest

from tests.jobs.test_kinds import do
from themescope.core.errors import DataError, DuplicateNameError
from themescope.core.types import Split
from themescope.db.records import TripletSetRecord, Verdict
from themescope.db.store import Store
from themescope.jobs.kinds.triplets import ORIGIN

BAD = Verdict.BAD


@pytest.fixture
def source(filled: Store) -> TripletSetRecord:
    """The set “T” with reviews: Ada on training triplets 0 and 1, Bob on 1 and 2 and on the first test triplet."""
    with filled.writing() as w:
        made = w.triplets.by_name("T")
        train, test = (w.triplets.ids(made.id, split).tolist() for split in (Split.TRAIN, Split.TEST))
        w.reviews.add(made.id, train[0], "Ada", BAD)
        w.reviews.add(made.id, train[1], "Ada", Verdict.GOOD)
        w.reviews.add(made.id, train[1], "Bob", BAD)
        w.reviews.add(made.id, train[2], "Bob", Verdict.AMBIGUOUS)
        w.reviews.add(made.id, test[0], "Bob", BAD)
    return made


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
    filled: Store, source: TripletSetRecord, args: dict[str, Any], train: list[int], test: list[int]
) -> None:
    result = do(filled, "clean-triplets", triplets="T", name="clean", **args)
    assert result["removed"] == {"train": len(train), "validation": 0, "test": len(test)}
    for split, gone in ((Split.TRAIN, train), (Split.VALIDATION, []), (Split.TEST, test)):
        before = kept(filled, "T", split)
        assert kept(filled, "clean", split) == [row for i, row in enumerate(before) if i not in gone]
    with filled.reading() as r:
        made = r.triplets.by_name("clean")
        assert r.triplets.get(source.id) == source and len(r.reviews.list(source.id)) == 5
    origin = made.config[ORIGIN]
    assert (origin["from"], origin["from_digest"], origin["removed"]) == ("T", source.digest, result["removed"])
    assert {k: v for k, v in made.config.items() if k != ORIGIN} == source.config
    assert made.counts["triplets"]["train"] == source.counts["triplets"]["train"] - len(train)
    assert made.counts["triplets"]["dropped"]["reviewed"] == len(train) + len(test)
    assert made.digest != source.digest and (made.kind, made.seed) == (source.kind, source.seed)


def test_the_same_request_finds_the_set(filled: Store, source: TripletSetRecord) -> None:
    with filled.writing() as w:  # left by an attempt that died
        w.triplets.create(source.corpus_id, "clean", "sentences", {}, 0, "half")
    first = do(filled, "clean-triplets", triplets="T", name="clean")
    again = do(filled, "clean-triplets", triplets="T", name="other name")
    assert (first["cached"], again["cached"], again["triplets"]) == (False, True, "clean")
    with filled.writing() as w:  # one more verdict makes another set
        w.reviews.add(source.id, int(w.triplets.ids(source.id, Split.TRAIN)[5]), "Ada", BAD)
    with pytest.raises(DuplicateNameError):
        do(filled, "clean-triplets", triplets="T", name="clean")
    assert do(filled, "clean-triplets", triplets="T", name="cleaner")["removed"]["train"] == 3
    with pytest.raises(DataError, match=r"split validation was marked as bad by Ada\. Review triplets"):
        do(filled, "clean-triplets", triplets="T", name="none", splits=["validation"], people=["Ada"])
