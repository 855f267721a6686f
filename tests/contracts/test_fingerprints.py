"""Results of an implementation change only with a new revision of its card: see :mod:`tests.contracts.fingerprints`."""

from collections.abc import Callable

import pytest

from tests.contracts.fingerprints.comparison import FAMILIES, compare, computable, read
from tests.contracts.fingerprints.families import Fingerprint
from themescope.core.registry import Card

CARDS = [
    pytest.param(family, card, compute, id=f"{family}:{card.id}")
    for family, (cards, compute) in FAMILIES.items()
    for card in cards
    if computable(card)
]


@pytest.mark.parametrize(("family", "card", "compute"), CARDS)
def test_results_are_those_of_the_revision(family: str, card: Card, compute: Callable[[Card], Fingerprint]) -> None:
    change = compare(family, card, compute(card), read().get(family, {}).get(card.id))
    assert change is None, f"{change.reason} (python -m tests.contracts.fingerprints --write)"


def test_only_what_exists_has_a_fingerprint() -> None:
    assert {family: set(kept) for family, kept in read().items()} == {
        family: {card.id for card in cards} for family, (cards, _) in FAMILIES.items()
    }
