from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from themescope.core.clustering.inputs import DEFAULT_CALIBRATION
from themescope.core.metrics.partition import AdjustedRandIndex, MetricConfig
from themescope.core.tasks.density import LEAST, dense_groups, is_article
from themescope.core.tasks.themes import ThemesConfig, find_themes
from themescope.core.types import SILENT

LISTS = replace(DEFAULT_CALIBRATION, clear=0.17, one_subject=0.31)


def planted(sizes: tuple[int, ...], noise: float, shared: float = 0.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Unit-like vectors of groups around orthogonal centres, with a direction that all have in common."""
    random = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    centres = np.eye(len(sizes) + 1, 32)
    x = centres[truth] + shared * centres[-1] + noise * random.normal(size=(len(truth), 32)) / np.sqrt(32)
    return x.astype(np.float32), truth


def test_groups_of_different_sizes_are_found_and_counted_also_in_a_list_of_a_hundred_rows() -> None:
    x, truth = planted((60, 30, 20, 12), noise=0.6)
    found = dense_groups(x, LISTS, 0, SILENT)
    assert found is not None and found.k == 4 and "clearest of" in found.reason
    assert AdjustedRandIndex(MetricConfig()).score(truth, found.labels) == 1.0
    assert found.interval[0] <= 4 <= found.interval[1]
    x, truth = planted((12,) * 8, noise=0.9)
    found = dense_groups(x, LISTS, 0, SILENT)
    assert found is not None and AdjustedRandIndex(MetricConfig()).score(truth, found.labels) > 0.9


def test_where_there_is_no_density_or_no_clear_number_of_groups_it_is_said() -> None:
    x, _ = planted((60, 60, 60), noise=3.0)
    found = dense_groups(x, LISTS, 0, SILENT)
    assert found is None or ("No grouping is clear" in found.reason and (found.k, found.interval) == (6, (3, 9)))
    x, _ = planted((40, 40), noise=0.5)
    assert dense_groups(x, DEFAULT_CALIBRATION, 0, SILENT) is None
    assert dense_groups(x[: LEAST - 1], LISTS, 0, SILENT) is None
    assert dense_groups(sparse.csr_array(x), LISTS, 0, SILENT) is None
    assert dense_groups(np.ones((80, 4), np.float32), LISTS, 0, SILENT) is None
    x = np.random.default_rng(0).normal(size=(2_000, 24)).astype(np.float32)
    found = [dense_groups(part, LISTS, 0, SILENT) for part in (x[:300], x)]
    assert [one.k for one in found if one is not None] == [7, 9]


def test_an_article_is_told_from_a_list_by_its_vectors_and_its_words() -> None:
    alike, _ = planted((40, 40, 40), noise=0.3, shared=1.5)
    apart, _ = planted((40, 40, 40), noise=0.3)
    told = "The council of the old town, which was founded in the year of the flood, rebuilt the market hall twice."
    assert is_article([told] * 120, alike, LISTS) and not is_article([told] * 120, apart, LISTS)
    for answer in ("Too expensive for what it is.", f"I think that {told.lower()}"):
        assert not is_article([answer] * 120, alike, LISTS), "answers to one question are on one subject, too"


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_of_the_rows_has_no_influence(seed: int) -> None:
    x, _ = planted((50, 30, 25), noise=1.2)
    texts = [f"Answer {i} here." for i in range(len(x))]
    config = ThemesConfig(sample=20, subsamples=1)
    order = np.random.default_rng(seed).permutation(len(x))
    first = find_themes(texts, x, config, 0, SILENT, LISTS)
    other = find_themes([texts[i] for i in order], x[order], config, 0, SILENT, LISTS)
    assert AdjustedRandIndex(MetricConfig()).score(first.labels[order], other.labels) == 1.0
    assert first.reason == other.reason and len(first.themes) == 3


def test_branches_give_any_number_of_groups_but_none_of_a_running_text() -> None:
    x, truth = planted((50, 40, 30), noise=0.5)
    texts, config = [f"Sentence {i}." for i in range(len(x))], ThemesConfig(sample=20, subsamples=1)
    given = find_themes(texts, x, replace(config, k=3), 0, SILENT, LISTS)
    assert np.array_equal(given.labels, find_themes(texts, x, config, 0, SILENT, LISTS).labels), "as if suggested"
    assert given.by_density and AdjustedRandIndex(MetricConfig()).score(truth, given.labels) == 1.0
    assert len(find_themes(texts, x, replace(config, k=5), 0, SILENT, LISTS).themes) == 5
    x, _ = planted((50, 40, 30), noise=0.5)
    assert find_themes(texts, x, config, 0, SILENT, LISTS).by_density
    assert not find_themes(texts, x, config, 0, SILENT, LISTS, np.arange(len(x))).by_density
    assert not find_themes(texts, x, replace(config, density=False), 0, SILENT, LISTS).by_density


def test_a_given_number_of_groups_is_that_of_the_clearer_vectors() -> None:
    """Where vectors from before fine-tuning, here places on a ring, blur the groups, the others alone decide."""
    tuned, truth = planted((40, 40, 40), noise=1.2)
    angles = np.random.default_rng(1).uniform(0, 2 * np.pi, len(truth))
    ring = 0.7 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    x = np.hstack([ring, tuned / np.linalg.norm(tuned, axis=1, keepdims=True)]).astype(np.float32)
    both, alone = (dense_groups(x, replace(LISTS, before=before), 0, SILENT, 3) for before in (0, 2))
    assert both is not None and alone is not None and both.k == alone.k == 3
    ari = AdjustedRandIndex(MetricConfig())
    assert ari.score(truth, alone.labels) > max(0.95, ari.score(truth, both.labels))
