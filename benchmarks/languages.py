"""Themes and neighbours of labelled lists in several languages, by tf-idf and by the model that a project gets.

    python -m benchmarks.languages LISTS.json [--model universal-sentence-encoder]

LISTS is a JSON list of [name, sentences, codes]. Printed are for each list and way: AMI (max) and ARI of
``find_themes`` as in a stored project, its number of themes, AMI with the true number, and the share of the 10 nearest
sentences that have the code of a sentence. Last are the mean differences with 95 % bootstrap intervals over the lists.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._shared import AMI, ARI, QUICK, known_lists
from themescope import load
from themescope.core.clustering.inputs import DEFAULT_CALIBRATION, unit_rows
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.models import REGISTRY
from themescope.core.tasks.themes import ThemesConfig, find_themes
from themescope.core.types import SILENT, Labels, Matrix, Sentence

NEAREST = 10
MEASURES = ("AMI", "ARI", "themes", "AMI, true number", "nearest 10")
COMPARED = (0, 1, 3, 4)


def nearest_share(x: Matrix, truth: Labels) -> float:
    """Return the mean share of the nearest sentences that have the code of a sentence."""
    unit: Any = unit_rows(x)
    cosines = unit @ unit.T
    cosines = np.asarray(cosines.toarray() if hasattr(cosines, "toarray") else cosines)
    np.fill_diagonal(cosines, -np.inf)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST]
    return float((truth[nearest] == truth[:, None]).mean())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path)
    parser.add_argument("--model", default="universal-sentence-encoder")
    args = parser.parse_args()
    model = load(args.model)
    model.encode(["Read once."])
    ways = {
        "tfidf": (REGISTRY.build("tfidf", {}, seed=0), DEFAULT_CALIBRATION),
        args.model: (model.fitted, model.calibration),
    }
    found: dict[str, list[list[float]]] = {way: [] for way in ways}
    print(f"| list | sentences | codes | way | {' | '.join(MEASURES)} |\n|{'---|' * (len(MEASURES) + 4)}")
    for name, texts, truth in known_lists(args.lists):
        k = int(truth.max()) + 1
        for way, (fitted, calibration) in ways.items():
            x = fitted.embed([Sentence(text, position=i) for i, text in enumerate(texts)])
            themes = find_themes(texts, x, ThemesConfig(**QUICK), 0, SILENT, calibration)
            given = find_themes(texts, x, ThemesConfig(k=k, **QUICK), 0, SILENT, calibration)
            row = [
                AMI.score(truth, themes.labels), ARI.score(truth, themes.labels), len(themes.themes),
                AMI.score(truth, given.labels), nearest_share(x, truth),
            ]  # fmt: skip
            found[way].append(row)
            cells = " | ".join(f"{value:.3f}" for value in row)
            print(f"| {name} | {len(texts)} | {k} | {way} | {cells} |", flush=True)
    before, after = (np.array(rows) for rows in found.values())
    for column in COMPARED:
        gain = bootstrap_mean(after[:, column] - before[:, column], seed=0)
        print(f"{MEASURES[column]}: {gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]")


if __name__ == "__main__":
    main()
