"""Evaluations of models that are built on the same network."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.jobs.test_kinds import do
from themescope.core.models.bag_of_words import MeanVectors
from themescope.core.types import Sentence
from themescope.db.store import Store
from themescope.jobs.common.models import find_model
from themescope.jobs.common.vectors import load_model
from themescope.jobs.papers.shared_models import RememberedVectors, SharedModels

TEXTS = [f"The {noun} of the {place}." for noun in ("river", "king", "market") for place in ("town", "north")]
SENTENCES = [Sentence(text, article_id=1 + i % 2, position=i) for i, text in enumerate(TEXTS)]


@pytest.fixture
def models(sqlite_store: Store) -> list[str]:
    do(sqlite_store, "train", method="mean-vectors", name="mean", settings={"vocabulary_limit": 5_000})
    do(sqlite_store, "train", method="centred", name="centred", models=["mean"])
    do(sqlite_store, "train", method="hybrid", name="hybrid", models=["centred"])
    return ["mean", "centred", "hybrid"]


def _dense(x: Any) -> Any:
    return x.toarray() if sparse.issparse(x) else x


def test_vectors_are_the_same_and_each_text_is_embedded_once(
    sqlite_store: Store, models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [find_model(sqlite_store, name) for name in models]
    expected = [_dense(load_model(sqlite_store, record)[0].embed(SENTENCES)) for record in records]
    read: list[str] = []
    original = MeanVectors.embed

    def embed(self: MeanVectors, sentences: Sequence[Sentence]) -> Any:
        read.extend(sentence.text for sentence in sentences)
        return original(self, sentences)

    monkeypatch.setattr(MeanVectors, "embed", embed)
    shared = SharedModels(sqlite_store)
    for record, vectors in zip(records[::-1], expected[::-1], strict=True):
        assert np.allclose(_dense(shared.get(record).embed(SENTENCES)), vectors, atol=1e-6)
        assert shared.get(record) is shared.get(record)
    assert sorted(read) == sorted(TEXTS)


def test_vectors_are_forgotten_when_they_take_too_much_memory(sqlite_store: Store, models: list[str]) -> None:
    fitted, _ = load_model(sqlite_store, find_model(sqlite_store, "mean"))
    expected = fitted.embed(SENTENCES)
    bounded = RememberedVectors(fitted, most_bytes=2 * expected[0].nbytes)
    for rows in (slice(0, 3), slice(1, 6), slice(0, 0), slice(0, 6)):
        assert np.allclose(bounded.embed(SENTENCES[rows]), expected[rows], atol=1e-6)


def test_distances_are_those_of_the_model(sqlite_store: Store, models: list[str]) -> None:
    fitted, _ = load_model(sqlite_store, find_model(sqlite_store, "mean"))
    x = fitted.embed(SENTENCES)
    assert np.array_equal(RememberedVectors(fitted).distances(x[:2], x[2:4]), fitted.distances(x[:2], x[2:4]))
