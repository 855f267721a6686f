import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tests.core.estimates.studies import Study
from themescope.core.errors import DataError
from themescope.core.estimates.report import REFERENCES, estimates, paragraphs, replication_files
from themescope.core.estimates.shares import (
    CodedUnits,
    ShareEstimate,
    composition,
    difference,
    plan,
    regression,
    shares,
)
from themescope.core.labelling.markup import latex_text, markdown

UNITS = Study(0.2, documents=150, per_document=20, correlation=0.1, unequal=True).draw(np.random.default_rng(1))
OPEN = np.isnan(UNITS.labels) & (np.arange(3000) % 50 == 0) | ~np.isnan(UNITS.labels)
PARTIES = np.array(["Party “Ä”, left", "Green\nparty", ""])[np.minimum(np.arange(3000) // 1400, 2)].tolist()
PARTIES[-30:] = ["tiny"] * 30


def printed(found: Sequence[ShareEstimate]) -> str:
    lines = ["group\testimate\tshare\tlow\thigh"]
    for one in found:
        for name in ("people", "machine", "corrected", "least", "most"):
            if (value := getattr(one, name)) is not None:
                numbers = "\t".join(f"{100 * x:.4f}" for x in (value.value, value.low, value.high))
                lines.append(f"{one.name or 'all units'}\t{name}\t{numbers}")
    return "\n".join(lines) + "\n"


def replicated(units: CodedUnits, groups: Sequence[str]) -> list[ShareEstimate]:
    of = np.array(groups, dtype=str)
    names = sorted({*groups} - {""})
    parts = [composition(units, of == name, f"of the code, {name}") for name in names]
    pairs = [difference(units, of == one, of == other, f"{one} – {other}") for one, other in combinations(names, 2)]
    return [*estimates(units, groups), *parts, *pairs]


@pytest.mark.parametrize("case", ["machine", "people", "not at random", "open", "open people"])
def test_replication_in_a_fresh_interpreter_gives_the_same_digits(tmp_path: Path, case: str) -> None:
    units = {
        "machine": UNITS,
        "people": CodedUnits(UNITS.labels, None, UNITS.probabilities, UNITS.documents),
        "not at random": CodedUnits(UNITS.labels, UNITS.codes, None),
        "open": replace(UNITS, given=OPEN),
        "open people": replace(UNITS, given=OPEN, codes=None),
    }[case]
    groups = [group.replace("\n", " ") for group in PARTIES]
    for name, text in replication_files(units, groups).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-I", "-X", "utf8", str(tmp_path / "replicate.py")]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, cwd=tmp_path)
    assert run.stdout == printed(replicated(units, groups))
    assert ("\tleast\t" in run.stdout) == case.startswith("open")


def test_the_script_needs_numpy_alone_and_notes_are_comments_of_it() -> None:
    script = replication_files(UNITS, PARTIES)["replicate.py"]
    imported = {
        line.split()[1].split(".")[0] for line in script.splitlines() if line.strip().startswith(("import ", "from "))
    }
    assert imported - sys.stdlib_module_names == {"numpy"}
    assert "pip install numpy" in script[:300]
    noted = replication_files(UNITS, PARTIES, notes=["Holds for “a\nraise SystemExit”\x0c\x85\u2028."])["replicate.py"]
    assert "# Holds for “a raise SystemExit” .\n" in noted and "\nraise SystemExit”" not in noted
    with pytest.raises(DataError, match="Rename the group"):
        replication_files(UNITS, ["all units"] * 3000)


def test_methods_paragraph() -> None:
    found = estimates(UNITS, PARTIES)
    text = markdown(paragraphs("housing", UNITS, found, "logistic regression"), REFERENCES)
    assert "3,000 units" in text and "300 units" in text and "logistic regression" in text
    assert "with probabilities from" in text and "clustered by document" in text
    one = found[0].corrected
    assert f"{100 * one.value:.1f} % (95 % interval {100 * one.low:.1f} to {100 * one.high:.1f})" in text
    assert "Angelopoulos" in text and "Egami" in text and "Too few labels to tell" in text
    assert r"\cite{egami2023}" in latex_text(paragraphs("housing", UNITS, found, "logistic regression"))
    alone = CodedUnits(UNITS.labels, None, None)
    text = markdown(paragraphs("housing", alone, estimates(alone, PARTIES), ""), REFERENCES)
    assert "not sampled at random" in text and "Angelopoulos" not in text and "clustered by unit" in text


def groups_of(n: int) -> list[str]:
    return np.array(["A", "A", "A", "B"])[np.arange(n) % 4].tolist()


def test_labels_as_planned_reach_the_margin() -> None:
    random, reached = np.random.default_rng(1), []
    for _ in range(20):
        units = Study(0.3, labels=120, documents=6000).draw(random)
        groups = np.array(groups_of(6000))
        planned = plan(units, groups.tolist(), 0.04)
        assert planned.more > 100 and max(planned.expected.values()) <= 0.04
        truth = random.random(6000) < np.where(units.codes == 1, 0.79, 0.045)
        labels, chances = np.full(6000, np.nan), np.zeros(6000)
        for stratum in planned.strata:
            where = np.flatnonzero((groups == stratum.group) & ((units.codes >= 0.5) == stratum.coded))
            assert stratum.units == len(where)
            sampled = random.choice(where, stratum.labels + stratum.more, replace=False)
            labels[sampled], chances[where] = truth[sampled], stratum.probability
        reached += [
            (e.corrected.high - e.corrected.low) / 2
            for e in shares(CodedUnits(labels, units.codes, chances), groups.tolist())
        ]
    assert np.mean(reached) == pytest.approx(0.04, rel=0.1)


def test_documents_and_an_unsure_machine_cost_labels() -> None:
    units = Study(0.5, 0.98, 0.3, labels=400, documents=6000).draw(np.random.default_rng(1))
    planned = plan(units, ["A"] * 6000, 0.02)
    no, yes = planned.strata
    assert (no.coded, yes.coded) == (False, True)
    assert (yes.labels + yes.more) / yes.units > 2 * (no.labels + no.more) / no.units
    alike = Study(0.3, documents=60, per_document=100, correlation=0.3, labels=300).draw(np.random.default_rng(5))
    apart = CodedUnits(alike.labels, alike.codes, alike.probabilities)
    assert plan(alike, ["A"] * 6000, 0.06).more > plan(apart, ["A"] * 6000, 0.06).more


def test_labels_that_there_are_count_and_without_any_it_is_the_worst_case() -> None:
    units = CodedUnits(np.where(np.arange(400) < 100, np.arange(400) % 2, np.nan), None, np.full(400, 0.25))
    planned = plan(units, ["A"] * 200 + ["B"] * 180 + [""] * 20, 0.1)
    first, second = planned.strata
    assert first.labels == 100 and first.more == 0 and 90 < second.more < 100
    everything = plan(units, ["A"] * 200 + ["B"] * 180 + [""] * 20, 0.01)
    assert everything.more == 100 + 180 and everything.expected["A"] > 0.01
    with pytest.raises(DataError, match="margin"):
        plan(units, ["A"] * 400, 3)
    n = 10_000
    planned = plan(CodedUnits(np.full(n, np.nan), None), groups_of(n), 0.03)
    assert [(s.group, s.labels, s.more) for s in planned.strata] == [("A", 0, 1068), ("B", 0, 1068)]


def study(random: np.random.Generator, n: int = 3000) -> tuple[CodedUnits, dict[str, object], np.ndarray]:
    """A code that follows -1 + .7 · year + .5 · party B; the machine is biased against party B."""
    year, party = random.normal(size=n), random.random(n) < 0.4
    truth = (random.random(n) < 1 / (1 + np.exp(1 - 0.7 * year - 0.5 * party))).astype(float)
    codes = (random.random(n) < np.where(truth == 1, 0.9 - 0.1 * party, 0.08 + 0.15 * party)).astype(float)
    chances = np.where(codes == 1, 0.3, 0.15)
    labels = np.where(random.random(n) < chances, truth, np.nan)
    return CodedUnits(labels, codes, chances), {"year": year, "party": np.where(party, "B", "A").tolist()}, truth


def test_interval_covers_the_truth_and_is_narrower_than_peoples() -> None:
    random, truth = np.random.default_rng(1), (-1, 0.7, 0.5)
    found = [regression(*study(random)[:2]) for _ in range(50)]
    hits = np.array([[c.low <= b <= c.high for c, b in zip(one.corrected, truth, strict=True)] for one in found])
    assert (hits.sum(axis=0) > 41).all()
    naive = np.array([[c.low <= b <= c.high for c, b in zip(one.machine, truth, strict=True)] for one in found])
    assert (naive.sum(axis=0) < 40).all()
    errors = np.array([[[c.error for c in way] for way in (one.corrected, one.people)] for one in found]).mean(axis=0)
    assert (errors[0] < 0.9 * errors[1]).all()
    assert [c.name for c in found[0].corrected] == ["(intercept)", "year", "party: B (against A)"]


def test_all_labels_give_the_logistic_regression_of_the_labels() -> None:
    _, columns, truth = study(np.random.default_rng(2), 500)
    found = regression(CodedUnits(truth, None, np.ones(500)), columns)
    x = np.column_stack([np.ones(500), columns["year"], np.array(columns["party"]) == "B"]).astype(float)
    b = np.array([c.value for c in found.people])
    m = 1 / (1 + np.exp(-x @ b))
    assert np.abs(x.T @ (truth - m)).max() < 1e-6
    bread = np.linalg.inv((x * (m * (1 - m))[:, None]).T @ x)
    sandwich = bread @ ((x * (truth - m)[:, None]).T @ (x * (truth - m)[:, None])) @ bread * 500 / 497
    assert [c.error for c in found.people] == pytest.approx(np.sqrt(np.diag(sandwich)))
    assert found.corrected == found.people


def test_too_few_labels_missing_values_and_columns_that_cannot_be_used() -> None:
    units, columns, _ = study(np.random.default_rng(3), 60)
    year = np.where(np.arange(60) < 4, np.nan, columns["year"])
    found = regression(units, columns | {"year": year})
    assert found.people is None and found.corrected is None and found.machine is not None
    assert found.warnings[0] == "4 units without a value in a column left out." and found.units == 56
    assert "3 coefficients need at least 15" in found.warnings[-1]
    units, _, truth = study(np.random.default_rng(3), 500)
    found = regression(CodedUnits(truth, units.codes, np.ones(500)), {"same": truth})
    assert found.people is None and "perfectly" in found.warnings[0]
    units, _, _ = study(np.random.default_rng(3), 100)
    with pytest.raises(DataError, match="'a' has 3 values for 100 units"):
        regression(units, {"a": np.ones(3)})
    with pytest.raises(DataError, match="one value only"):
        regression(units, {"a": ["x"] * 100})
