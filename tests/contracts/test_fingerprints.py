"""Results of an implementation change only with a new revision of its card: see :mod:`tests.contracts.fingerprints`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.contracts.fingerprints.__main__ import main
from tests.contracts.fingerprints.comparison import FAMILIES, compare, computable, read, same
from tests.contracts.fingerprints.families import Fingerprint
from tests.contracts.fingerprints.inputs import partition
from tests.contracts.fingerprints.job_kinds import OF_KIND, WITHOUT_RESULTS
from themescope.core.registry import Card
from themescope.jobs.kinds import REGISTRY as JOB_KINDS

CARDS = [
    pytest.param(family, card, compute, id=f"{family}:{card.id}")
    for family, (cards, compute) in FAMILIES.items()
    for card in cards
    if computable(card)
]


@pytest.mark.parametrize(("family", "card", "compute"), CARDS)
def test_results_are_those_of_the_revision(family: str, card: Card, compute: Callable[[Card], Fingerprint]) -> None:
    change = compare(family, card, compute(card), read().get(family, {}).get(card.id))
    assert change is None, f"{change} (python -m tests.contracts.fingerprints --write)"


def test_only_what_exists_has_a_fingerprint() -> None:
    assert {family: set(kept) for family, kept in read().items()} == {
        family: {card.id for card in cards} for family, (cards, _) in FAMILIES.items()
    }


def test_every_kind_of_job_is_covered_or_has_no_results_of_its_own() -> None:
    assert set(JOB_KINDS.ids()) == set(OF_KIND) | WITHOUT_RESULTS and not set(OF_KIND) & WITHOUT_RESULTS


CARD = Card("mean", "Mean", "The mean.", "Test", "numpy:mean", "themescope.core.config:Config")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "fingerprints.json"
    monkeypatch.setattr("tests.contracts.fingerprints.comparison.FILE", path)
    return path


@pytest.fixture
def results() -> Iterator[dict[str, Any]]:
    """What the implementation of ``CARD`` gives, to be changed."""
    yield {"mean": [0.5, "a b"], "card": CARD}


def run(results: dict[str, Any], *arguments: str) -> int:
    return main(list(arguments), {"toys": ([results["card"]], lambda card: list(results["mean"]))})


def test_changed_results_are_refused_until_the_revision_is_raised(
    file: Path, results: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(results) == 1 and run(results, "--write") == 0 and run(results) == 0
    before = file.read_bytes()
    results["mean"] = [0.51, "a b"]
    assert run(results) == 1
    assert run(results, "--write") == 1 and file.read_bytes() == before
    assert "refused: toys mean: the results have changed. Raise the revision" in capsys.readouterr().out
    results["card"] = replace(CARD, revision=2)
    assert run(results) == 1
    assert run(results, "--write") == 0 and run(results) == 0 and file.read_bytes() != before
    results["card"] = CARD
    assert run(results, "--write") == 1, "a revision never goes back"


def test_rounding_is_no_change_but_a_text_a_number_more_or_a_larger_step_is() -> None:
    kept: Fingerprint = [2.0, "a", -1.0]
    assert same(kept, [2.0 + 1e-7, "a", -1.0], 1e-6)
    for other in ([2.0 + 1e-5, "a", -1.0], [2.0, "b", -1.0], [2.0, "a"], ["a", 2.0, -1.0], [2.0, "a", float("nan")]):
        assert not same(kept, other, 1e-6)


def test_partitions_are_compared_up_to_renaming() -> None:
    assert partition(np.array([3, 3, 0, 7])) == partition(np.array([1, 1, 2, 0])) == "0 0 1 2"
    assert partition(np.array([3, 0, 0, 7])) != "0 0 1 2"
