import numpy as np
import pytest

from themescope.core.errors import DataError
from themescope.core.estimates.regression import regression
from themescope.core.estimates.shares import CodedUnits


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


def test_too_few_labels_and_missing_values() -> None:
    units, columns, _ = study(np.random.default_rng(3), 60)
    year = np.where(np.arange(60) < 4, np.nan, columns["year"])
    found = regression(units, columns | {"year": year})
    assert found.people is None and found.corrected is None and found.machine is not None
    assert found.warnings[0] == "4 units without a value in a column left out." and found.units == 56
    assert "3 coefficients need at least 15" in found.warnings[-1]


def test_a_column_that_predicts_the_code_perfectly() -> None:
    units, _, truth = study(np.random.default_rng(3), 500)
    found = regression(CodedUnits(truth, units.codes, np.ones(500)), {"same": truth})
    assert found.people is None and "perfectly" in found.warnings[0]


def test_refuses_columns_that_it_cannot_use() -> None:
    units, _, _ = study(np.random.default_rng(3), 100)
    with pytest.raises(DataError, match="'a' has 3 values for 100 units"):
        regression(units, {"a": np.ones(3)})
    with pytest.raises(DataError, match="one value only"):
        regression(units, {"a": ["x"] * 100})
