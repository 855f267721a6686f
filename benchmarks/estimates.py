"""Coverage and width of the 95 % intervals of estimates in simulated studies, and errors of the replacement test.

    python -m benchmarks.estimates --studies 1000 --seed 5

Each study has its own corpus, machine and random sample of labels. The first table has shares: how often the intervals
of people's labels alone, of the machine alone, and of both (corrected) contain the true share of the population, and
the width of the corrected interval relative to that of people alone (mean, and largest of a study). The second has the
same for the difference of two groups, the composition of a code, and the coefficients of a logistic regression. The
third has, for a machine that is worse than every person by exactly epsilon, how often the alternative annotator test
lets it win against anybody, and how often it passes.

If the package ppi-python is installed, the first table also has the coverage and relative width of its ``ppi_mean_ci``
in studies with equal probabilities and independent units, the only ones that it knows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from tests.core.estimates.studies import Study
from themescope.core.estimates.shares import CodedUnits, composition, difference, regression, share
from themescope.core.metrics.coding_agreement import alternative_annotator_test
from themescope.core.types import Estimate, Floats

STUDIES = {
    "balanced, good machine": Study(0.5, 0.95, 0.05),
    "30 %": Study(),
    "30 %, probabilities": Study(soft=True),
    "rare, 2 %": Study(0.02, 0.8, 0.01),
    "rare, good machine": Study(0.02, 0.95, 0.002),
    "rare, 500 labels": Study(0.02, 0.8, 0.005, labels=500),
    "biased machine": Study(0.3, 0.95, 0.3),
    "no better than chance": Study(0.3, 0.4, 0.4),
    "rare, no better than chance": Study(0.02, 0.2, 0.2),
    "60 documents": Study(documents=60, per_document=40, correlation=0.2),
    "60 documents, rare": Study(0.02, 0.8, 0.01, 400, 60, 40, 0.05),
    "20 documents": Study(documents=20, per_document=100, correlation=0.1),
    "unequal sampling": Study(0.1, 0.8, 0.05, unequal=True),
    "unequal, rare": Study(0.02, 0.8, 0.01, unequal=True),
    "unequal, 60 documents": Study(0.1, 0.8, 0.05, 300, 60, 40, 0.1, unequal=True),
    "small group, 30 labels": Study(labels=30, documents=300),
    "small group, 20 labels": Study(0.4, labels=20, documents=300),
    "small group, chance": Study(0.4, 0.4, 0.4, labels=25, documents=300),
}
WAYS = ("people", "machine", "corrected")


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    start = time.process_time()
    print("| study | people | machine | corrected | width | largest | λ | ppi-python | its width |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for name, study in STUDIES.items():
        print(f"| {name} | {' | '.join(share_row(study, args.studies, args.seed))} |", flush=True)
    print("\n| estimate | people | machine | corrected | width | largest |\n|---|--:|--:|--:|--:|--:|")
    for name, cells in other_rows(args.studies, args.seed):
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print("\n| people | units | wins against anybody | passes |\n|--:|--:|--:|--:|")
    for people, units in ((3, 15), (3, 50), (3, 100), (5, 50), (8, 100)):
        wins, passes = replaced(people, units, args.studies, args.seed)
        print(f"| {people} | {units} | {wins:.3f} | {passes:.3f} |", flush=True)
    print(f"\n{time.process_time() - start:.0f} s of processor time")


def share_row(study: Study, studies: int, seed: int) -> list[str]:
    """Return the cells of a study."""
    random, rows, tuning, theirs = np.random.default_rng(seed), [], [], []
    simple = not study.unequal and study.per_document == 1 and find_spec("ppi_py") is not None
    for _ in range(studies):
        units = study.draw(random)
        found = share(units)
        rows.append([ends(getattr(found, way)) for way in WAYS])
        tuning.append(found.tuning)
        if simple:
            theirs.append(ppi(units))
    cells = [*coverage_and_width(np.array(rows), study.share), f"{np.mean(tuning):.2f}"]
    if not simple:
        return [*cells, "", ""]
    low, high = np.array(theirs).T
    widths = np.array(rows)[:, 0, 1] - np.array(rows)[:, 0, 0]
    covered = np.mean((low <= study.share) & (study.share <= high))
    return [*cells, f"{covered:.3f}", f"{np.mean(high - low) / widths.mean():.2f}"]


def ends(found: Estimate | None) -> tuple[float, float]:
    """Return the ends of an interval, NaN without one."""
    return (found.low, found.high) if found else (np.nan, np.nan)


def ppi(units: CodedUnits) -> tuple[float, float]:
    """Return the interval of ppi-python; its unlabelled units are those that are not ours."""
    ppi_mean_ci = import_module("ppi_py").ppi_mean_ci
    labelled = units.weights > 0
    assert units.codes is not None
    low, high = ppi_mean_ci(units.label[labelled], units.codes[labelled], units.codes[~labelled], alpha=0.05)
    return np.asarray(low).item(), np.asarray(high).item()


def coverage_and_width(rows: Floats, truth: float) -> list[str]:
    """Return the cells of (s, 3, 2) intervals."""
    covered = ((rows[:, :, 0] <= truth) & (truth <= rows[:, :, 1])).mean(axis=0)
    widths = rows[:, :, 1] - rows[:, :, 0]
    ratio = widths[:, 2].mean() / widths[:, 0].mean()
    return [*(f"{x:.3f}" for x in covered), f"{ratio:.2f}", f"{(widths[:, 2] / widths[:, 0]).max():.2f}"]


def other_rows(studies: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the names and cells of estimates other than shares: of 150 documents of 20 units, sampled unequally."""
    random, intercept, slope, contrast = np.random.default_rng(seed), -1.0, 0.7, 0.5
    names = (
        "difference of two groups",
        "composition of the code",
        "intercept",
        "slope of a number",
        "slope of a group",
    )
    rows: list[list[list[tuple[float, float]]]] = []
    for _ in range(studies):
        documents = np.repeat(np.arange(150), 20)
        number, group = random.normal(size=3000), (random.random(150) < 0.4)[documents]
        chances = 1 / (1 + np.exp(-(intercept + slope * number + contrast * group)))
        truth = random.random(3000) < chances
        codes = (random.random(3000) < np.where(truth, 0.9 - 0.1 * group, 0.08 + 0.15 * group)).astype(float)
        probabilities = np.where(codes == 1, 0.25, 0.1)
        labels = np.where(random.random(3000) < probabilities, truth, np.nan)
        units = CodedUnits(labels, codes, probabilities, documents)
        found = regression(units, {"number": number, "group": np.where(group, "B", "A").tolist()})
        both = difference(units, group, ~group), composition(units, group)
        by_coefficient = [[(c.low, c.high) for c in getattr(found, way)] for way in WAYS]
        rows.append(
            [[ends(getattr(one, way)) for way in WAYS] for one in both]
            + [[way[i] for way in by_coefficient] for i in range(3)]
        )
    numbers = np.random.default_rng(0).normal(size=2_000_000)
    second, first = (np.mean(1 / (1 + np.exp(-(intercept + slope * numbers + x)))) for x in (contrast, 0.0))
    truths = (second - first, 0.4 * second / (0.4 * second + 0.6 * first), intercept, slope, contrast)
    for i, (name, truth) in enumerate(zip(names, truths, strict=True)):
        yield name, coverage_and_width(np.array([row[i] for row in rows]), float(truth))


def replaced(people: int, units: int, studies: int, seed: int, epsilon: float = 0.15) -> tuple[float, float]:
    """Return how often a machine that loses by ``epsilon`` wins against anybody, and passes.

    Each person is wrong on a tenth of the units, alone and at random; the machine on epsilon more. A person is then
    closer to the others with probability .9 (.1 + epsilon), the machine with .1 (.9 - epsilon): epsilon less.
    """
    random, wins, passes = np.random.default_rng(seed), 0, 0
    for _ in range(studies):
        errors = [0.1] * people + [0.1 + epsilon]
        wrong = [np.where(random.random(units) < error, 1 + j, 0) for j, error in enumerate(errors)]
        *codings, machine = ([frozenset([code]) for code in codes.tolist()] for codes in wrong)
        found = alternative_annotator_test(codings, machine, epsilon)
        wins += any(one.wins for one in found.people)
        passes += (found.winning_rate or 0) >= 0.5
    return wins / studies, passes / studies


if __name__ == "__main__":
    main()
