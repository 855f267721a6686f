"""Agreement of analysts on the categories of an error notebook, and the cases on which they disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from themescope.core.metrics.coding_agreement import Agreement, Coding, category_kappa, set_alpha
from themescope.db.notebook_records import ErrorCase, ErrorCategory, Notebook


@dataclass(frozen=True, slots=True)
class CategoryAgreement:
    """Cohen's kappa of two analysts for a category, and how often each of them gave it to the common cases."""

    category: ErrorCategory
    first: int
    second: int
    both: int
    kappa: Agreement


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Agreement of two analysts."""

    people: tuple[str, str]
    alpha: Agreement
    """Krippendorff's alpha of their sets of categories, by the MASI distance."""
    categories: Sequence[CategoryAgreement]
    disagreements: Sequence[tuple[ErrorCase, frozenset[int], frozenset[int]]]
    """Cases that both coded differently, with the categories of each."""


def analysts(notebook: Notebook) -> list[str]:
    """Return who has coded cases, the one with the most cases first."""
    coded = notebook.coded()
    return sorted(coded, key=lambda person: (-len(coded[person]), person))


def most_common_pair(notebook: Notebook) -> tuple[str, str] | None:
    """Return the two analysts who have coded the most common cases; None with fewer than two analysts."""
    coded = notebook.coded()
    pairs = list(combinations(analysts(notebook), 2))
    return max(pairs, key=lambda pair: len(coded[pair[0]].keys() & coded[pair[1]].keys()), default=None)


def agreement_of_all(notebook: Notebook, seed: int = 0) -> Agreement:
    """Return Krippendorff's alpha of all analysts."""
    coded = notebook.coded()
    return set_alpha([_coding(notebook, coded[person]) for person in analysts(notebook)], seed)


def agreement(notebook: Notebook, people: tuple[str, str], seed: int = 0) -> PairAgreement:
    """Return the agreement of two analysts on the cases that both coded."""
    coded = notebook.coded()
    first, second = (coded.get(person, {}) for person in people)
    codings = _coding(notebook, first), _coding(notebook, second)
    common = [case for case in notebook.cases if case.id in first and case.id in second]
    rows = [
        CategoryAgreement(
            category,
            sum(category.id in first[case.id] for case in common),
            sum(category.id in second[case.id] for case in common),
            sum(category.id in first[case.id] & second[case.id] for case in common),
            category_kappa(*codings, category.id, seed),
        )
        for category in notebook.current_categories()
    ]
    differ = [(case, first[case.id], second[case.id]) for case in common if first[case.id] != second[case.id]]
    return PairAgreement(people, set_alpha(codings, seed), rows, differ)


def in_words(found: Agreement) -> str:
    """Return a coefficient with its interval, or why there is none."""
    if found.estimate is None:
        return f"undefined because {found.undefined}"
    e = found.estimate
    ends = f" [{e.low:.2f}, {e.high:.2f}]" if e.n > 1 else ""
    return f"{e.value:.2f}{ends}".replace("-", "−")


def _coding(notebook: Notebook, coded: dict[int, frozenset[int]]) -> Coding:
    return [coded.get(case.id) for case in notebook.cases]
