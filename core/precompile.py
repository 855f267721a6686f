"""Precompilation of the inner loops of every method: ``python -m themescope prepare``.

numba caches compiled functions on disk. ``make`` fills this cache, because otherwise the first themes, training and map
on a machine would together take about a minute longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import fields

import numpy as np

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.metrics.partition import ContingencyTable
from themescope.core.models import REGISTRY as METHODS
from themescope.core.models.con_s2v.config import EpochsConfig
from themescope.core.sentence_model import load
from themescope.core.types import SILENT, Corpus, Sentence

_TEXT = ("The king lost the war.", "Rain fell all summer.", "The market closed.", "Her song was heard.")
_NETWORK = "triplets-sen-titles-wikipedia"  # the pretrained model that computes in compiled loops
_SMALL = {"dim": 8, "epochs": 1, "threads": 1, "min_count": 0}


def precompile(tell: Callable[[str], None] = lambda what: None) -> None:
    """Run every compiled method on a few sentences; ``tell`` is called with the name of each before it runs."""
    vectors = np.random.default_rng(0).normal(size=(24, 8)).astype(np.float32)
    tell("maps and groups by density")
    project_points()
    for card in CLUSTERERS:
        if "no-vectors" not in card.tags:
            tell(card.id)
            CLUSTERERS.build(card.id).fit_predict(vectors, 3, 0)
    for card in METHODS:
        if issubclass(card.config_class(), EpochsConfig):
            tell(card.id)
            names = {field.name for field in fields(card.config_class())}
            model = METHODS.build(card.id, {name: value for name, value in _SMALL.items() if name in names}, seed=0)
            sentences = [Sentence(text, id=i, article_id=i // 2, position=i % 2) for i, text in enumerate(_TEXT * 3)]
            model.fit(Corpus("a few sentences", sentences=sentences), SILENT)
            # This compiles the inference of new sentences.
            model.embed([Sentence("A king lost her song.", id=len(sentences))])
    tell(_NETWORK)
    for precision in ("fp32", "int8"):
        load(_NETWORK, precision).encode(_TEXT)
    labels = np.arange(24, dtype=np.int32) % 3
    ContingencyTable.of(labels, labels[::-1].copy()).expected_mutual_information()


def project_points() -> None:
    """Project a few points to two dimensions."""
    from themescope.core.projection import UmapConfig, project

    project(np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32), UmapConfig(), 0, SILENT)


def main() -> None:
    """Precompile, and say what and how long it takes."""
    begun = time.monotonic()
    precompile(lambda what: print(f"{time.monotonic() - begun:4.0f} s: compiling {what} …", flush=True))  # noqa: T201
    print(f"{time.monotonic() - begun:4.0f} s: ready; what was compiled is kept.")  # noqa: T201
