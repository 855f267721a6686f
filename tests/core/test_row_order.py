import csv
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import themescope
from themescope.core.clustering.inputs import canonical_labels
from themescope.core.metrics.partition import AdjustedRandIndex, MetricConfig
from themescope.core.types import Labels

QUICK = {"sample": 10, "subsamples": 1}
"""The curves take no part in the themes."""


def claims(folder: Path) -> list[str]:
    with gzip.open(folder / "debater-claims-evidence" / "claims.tsv.gz", "rt", encoding="utf-8") as file:
        return [row[2] for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][1:241]


def paper(folder: Path) -> list[str]:
    with lzma.open(folder / "summaries" / "scisummnet.jsonl.xz", "rt", encoding="utf-8") as file:
        sections = json.loads(next(file))["sections"]
    return [sentence for section in sections for sentence in section["sentences"] if sentence.strip()][:150]


def sick(folder: Path) -> list[str]:
    rows = (folder / "sick" / "SICK_train.txt").read_text("utf-8").splitlines()
    return [row.split("\t")[1] for row in rows[1:301]]


def themes(texts: Any) -> Labels:
    return themescope.find_themes(texts, settings=QUICK).labels


def twelve(texts: Any) -> Labels:
    return themescope.find_themes(texts, k=12, settings=QUICK).labels


def clusters(texts: Any) -> Labels:
    return themescope.SentenceClusterer().fit_predict(texts)


def orders(n: int, count: int) -> list[np.ndarray]:
    return [np.random.default_rng(seed).permutation(n) for seed in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("use", [themes, twelve, clusters])
@pytest.mark.parametrize("read", [claims, paper, sick])
def test_twenty_orders_of_real_lists(
    read: Callable[[Path], list[str]], use: Callable[[Any], Labels], shared_data: Path
) -> None:
    texts = read(shared_data)
    first, metric = use(texts), AdjustedRandIndex(MetricConfig())
    for order in orders(len(texts), 20):
        found = use([texts[row] for row in order])
        assert metric.score(first[order], found) == 1.0
        if use is not clusters:  # those are numbered by first appearance
            assert (found == first[order]).all()


@pytest.mark.slow
@pytest.mark.parametrize("read", [claims, sick])
def test_texts_of_real_lists_keep_their_themes_beside_repeats(
    read: Callable[[Path], list[str]], shared_data: Path
) -> None:
    texts, random = list(dict.fromkeys(read(shared_data))), np.random.default_rng(0)
    share = random.permutation(1 / np.arange(1, len(texts) + 1))
    copies = [texts[i] for i in random.choice(len(texts), len(texts), p=share / share.sum())]
    plain, found = themes(texts), themes([*texts, *copies, *["Don't know"] * 60])
    assert AdjustedRandIndex(MetricConfig()).score(plain, found[: len(texts)]) >= 0.98
    assert len({*found[-60:].tolist()}) == 1 and found[-1] not in found[:-60]


def test_three_orders_of_a_list_with_repeats() -> None:
    nouns, verbs = ("river", "opera", "tax", "cell", "king"), ("meets", "joins", "feeds", "fills", "leaves", "needs")
    texts = [f"The {noun} {verb} the {noun}." for noun in nouns for verb in verbs]
    texts += [text.upper() for text in texts[::3]] + texts[:4] * 3
    first = themescope.find_themes(texts, "static-wikipedia")
    for order in orders(len(texts), 3):
        found = themescope.find_themes([texts[row] for row in order], "static-wikipedia")
        assert (found.labels == first.labels[order]).all() and (found.margins == first.margins[order]).all()
        assert (found.interval, found.curves, found.reason) == (first.interval, first.curves, first.reason)
        assert [(theme.name, theme.size) for theme in found.themes] == [(t.name, t.size) for t in first.themes]


@settings(max_examples=20, deadline=None)
@given(st.randoms(use_true_random=False), st.booleans(), st.sampled_from(["iclust", "kmeans", "ward"]))
def test_the_order_of_vectors_has_no_influence(random: Any, as_sparse: bool, clusterer: str) -> None:
    vectors: Any = np.random.default_rng(0).normal(size=(30, 5))
    vectors[20:] = vectors[:10]  # rows that are there twice
    order = list(range(30))
    random.shuffle(order)
    whole = sparse.csr_array(vectors) if as_sparse else vectors
    first = themescope.SentenceClusterer(k=4, clusterer=clusterer).fit_predict(whole)
    found = themescope.SentenceClusterer(k=4, clusterer=clusterer).fit_predict(whole[order])
    assert (canonical_labels(first[order]) == found).all()
