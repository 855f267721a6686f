"""Counts of error categories with intervals, by model and by section type; agreement of analysts on them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from themescope.core.metrics.coding_agreement import Agreement, Coding, category_kappa, set_alpha
from themescope.core.metrics.crosstabs import LEAST_EXPECTED, Crosstab, crosstab, share_intervals
from themescope.core.metrics.triplet_analysis import fold_heading
from themescope.core.records.stored import ErrorCase
from themescope.db.label_records import ErrorCategory, ErrorSample, Notebook

STRONG = 2.0
"""Adjusted residual from which a cell is marked."""
MOST_SECTIONS = 8
"""Number of section types that are told apart; the others count together."""
OTHER_SECTIONS, NO_MODEL, LEAD = "other sections", "no model", "(no heading)"
Codes = Mapping[int, frozenset[int]]
"""Case id → ids of its categories."""


@dataclass(frozen=True, slots=True)
class CountScope:
    """Which cases and whose categories are counted."""

    person: str | None = None
    """The analyst; None counts what any analyst gave."""
    sample: int | None = None
    """Id of a random sample; None counts all cases."""


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """Number of cases of a category, with its share of the coded cases and the 95 % Wilson interval."""

    category: ErrorCategory
    cases: int
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class CountTable:
    """Category × models, or category × section types."""

    categories: Sequence[str]
    columns: Sequence[str]
    totals: Sequence[int]
    """Number of coded cases of each column."""
    found: Crosstab

    def cell(self, row: int, column: int) -> str:
        """Return the count of a cell with its adjusted residual, marked from :data:`STRONG` on."""
        n, residual = int(self.found.counts[row, column]), float(self.found.residuals[row, column])
        if math.isnan(residual):
            return f"{n:,}"
        mark = " ▲" if residual >= STRONG else " ▼" if residual <= -STRONG else ""
        return f"{n:,} ({residual:+.1f}{mark})".replace("-", "−")

    def reading(self) -> str:
        """Return how to read the residuals, and the strength of the association."""
        found = self.found
        p = "< .001" if found.p < 0.001 else f"= {found.p:.3f}"
        text = (
            "In brackets: adjusted residuals; ▲ and ▼ mark cells that are more or less frequent than expected by "
            f"{STRONG:.0f} or more. Cramér's V = {found.cramers_v:.2f}, p {p} (chi-square)."
        )
        if found.low_expected:
            few = "1 cell has" if found.low_expected == 1 else f"{found.low_expected:,} cells have"
            text += f" {few} an expected count below {LEAST_EXPECTED:.0f}, so the residuals there are unreliable."
        return text


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of a scope."""

    cases: int
    coded: int
    """Number of cases that were judged; shares refer to them."""
    sampled: int
    """Number of those that were drawn at random."""
    sample: ErrorSample | None
    categories: Sequence[CategoryCount]
    """The most frequent first."""
    by_model: CountTable
    by_section: CountTable

    def statement(self) -> str:
        """Return what the shares describe, in one or two sentences."""
        picked = self.coded - self.sampled
        if self.sample is None and picked:
            return (
                f"Shares of {self.coded:,} coded cases. They describe the collected cases only, because {picked:,} of "
                f"them {'was' if picked == 1 else 'were'} picked by hand."
            )
        if self.sample is None:
            return (
                f"Shares of {self.coded:,} coded cases, all of them from random samples. Choose one sample to estimate "
                "shares of all failures."
            )
        left = self.cases - self.coded
        are = "case of the sample is" if left == 1 else "cases of the sample are"
        missing = f" {left:,} {are} not coded yet, so the estimate is preliminary." if left else ""
        return (
            f"Random sample of {self.cases:,} out of {self.sample.population:,} failures of {self.sample.model}: the "
            f"shares estimate those of all its failures.{missing}"
        )


def codes_of(notebook: Notebook, person: str | None) -> dict[int, frozenset[int]]:
    """Return the categories of every coded case, by one analyst or by any of them."""
    coded = notebook.coded()
    if person is not None:
        return coded.get(person, {})
    found: dict[int, frozenset[int]] = {}
    for cases in coded.values():
        for case, categories in cases.items():
            found[case] = found.get(case, frozenset()) | categories
    return found


def count_categories(notebook: Notebook, scope: CountScope = CountScope()) -> Counts:
    """Count the categories of the cases of a scope."""
    within = [case for case in notebook.cases if scope.sample is None or case.sample_id == scope.sample]
    codes = codes_of(notebook, scope.person)
    coded = [case for case in within if case.id in codes]
    categories = notebook.current_categories()
    totals = Counter(category for case in coded for category in codes[case.id])
    shares = share_intervals([totals[c.id] for c in categories], [len(coded)] * len(categories))
    rows = [CategoryCount(c, totals[c.id], *map(float, ends)) for c, *ends in zip(categories, *shares, strict=True)]
    sample = next((s for s in notebook.samples if s.id == scope.sample), None)
    types = section_types(coded)
    return Counts(
        len(within),
        len(coded),
        sum(case.sample_id is not None for case in coded),
        sample,
        sorted(rows, key=lambda row: (-row.cases, row.category.name.casefold())),
        _table(coded, codes, categories, lambda case: case.facts.models or (NO_MODEL,)),
        _table(coded, codes, categories, lambda case: (types[case.id],)),
    )


def section_types(cases: Sequence[ErrorCase]) -> dict[int, str]:
    """Return case id → title of its section in the most frequent spelling; rare titles are :data:`OTHER_SECTIONS`."""
    spellings: dict[str, Counter[str]] = {}
    for case in cases:
        spellings.setdefault(fold_heading(case.facts.section), Counter())[case.facts.section] += 1
    frequent = sorted(spellings, key=lambda folded: (-spellings[folded].total(), folded))[:MOST_SECTIONS]
    names = {folded: spellings[folded].most_common(1)[0][0] or LEAD for folded in frequent}
    return {case.id: names.get(fold_heading(case.facts.section), OTHER_SECTIONS) for case in cases}


def _table(
    cases: Sequence[ErrorCase],
    codes: Codes,
    categories: Sequence[ErrorCategory],
    columns_of: Callable[[ErrorCase], Sequence[str]],
) -> CountTable:
    totals = Counter(name for case in cases for name in dict.fromkeys(columns_of(case)))
    columns = sorted(totals, key=lambda name: (name in (OTHER_SECTIONS, NO_MODEL), -totals[name], name))
    row_of = {category.id: place for place, category in enumerate(categories)}
    column_of = {name: place for place, name in enumerate(columns)}
    pairs = [
        (row_of[category], column_of[name])
        for case in cases
        for category in codes[case.id]
        for name in dict.fromkeys(columns_of(case))
    ]
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    found = crosstab(table[:, 0], table[:, 1], (len(categories), len(columns)))
    return CountTable([c.name for c in categories], columns, [totals[name] for name in columns], found)


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
