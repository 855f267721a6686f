"""Several codes per sentence from few labels: combinations as classes, beside one classifier for each code.

    python -m benchmarks.several_codes LISTS.json [--model default] [--seeds 3] [--sizes 50 100 300 1000]

LISTS is a JSON list of [name, sentences, lists of codes]. For each size, so many sentences drawn at random are
labelled, and 600 others are predicted. Printed are macro F1, micro F1 and the share of sentences with exactly the right
codes, for the most probable combination (as the product predicts), for all codes with a probability of at least .5 by
the same combinations, and by a binary classifier for each code.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.metrics import f1_score

from themescope import load
from themescope.core.labelling.prediction import learn

HELD_OUT = 600
Mask = npt.NDArray[np.bool_]


def quality(truth: Mask, predicted: Mask) -> list[float]:
    """Return macro F1 over the codes that occur, micro F1, and the share of equal rows, of (n, k) codes."""
    used = truth.any(axis=0)
    macro, micro = (
        f1_score(truth[:, used], predicted[:, used], average=how, zero_division=0) for how in ("macro", "micro")
    )
    return [float(macro), float(micro), float((truth == predicted).all(axis=1).mean())]


def scores(x: npt.NDArray[np.float32], texts: list[str], truth: Mask, size: int, seed: int) -> list[list[float]]:
    """Return the quality of the three ways with ``size`` labels."""
    order = np.random.default_rng(seed).permutation(len(texts))
    rows, rest = order[:size], order[-HELD_OUT:]
    own, others = ([texts[i] for i in part] for part in (rows, rest))
    sets, classes = np.unique(truth[rows], axis=0, return_inverse=True)
    whole, _ = learn(x[rows], own, classes.ravel(), rows, x[rest], others, seed)
    made = whole.probabilities(x[rest], others)
    member = sets[whole.codes]
    each = np.zeros(truth[rest].shape, np.bool_)
    for code in np.flatnonzero(truth[rows].sum(axis=0) >= 2):
        one, _ = learn(x[rows], own, truth[rows, code].astype(np.int64), rows, x[rest], others, seed)
        each[:, code] = one.probabilities(x[rest], others)[:, -1] >= 0.5
    return [quality(truth[rest], found) for found in (member[made.argmax(1)], made @ member >= 0.5, each)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=(50, 100, 300, 1_000))
    args = parser.parse_args()
    model = load(args.model)
    print("| list | labels | combinations | codes of the combinations | code by code |\n|---|--:|---|---|---|")
    for name, texts, codes in json.loads(args.lists.read_text(encoding="utf-8")):
        known = sorted({code for given in codes for code in given})
        truth, x = np.array([[code in given for code in known] for given in codes]), model.encode(texts)
        for size in args.sizes:
            found = np.mean([scores(x, texts, truth, size, seed) for seed in range(args.seeds)], axis=0)
            cells = " | ".join("; ".join(f"{value:.3f}" for value in way) for way in found)
            print(f"| {name} | {size:,} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
