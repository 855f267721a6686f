"""Label the rest from few labels, beside logistic regression on the vectors of the base encoder.

    python -m benchmarks.label_the_rest LISTS.json --model default --seeds 5 [--record RECORD.json --name now]

LISTS is a JSON list of [name, sentences, codes]. For each list, size and seed, so many sentences drawn at random are
labelled; the codes of the others are predicted. Printed are macro F1, accuracy, and the calibration error (ten groups
of equal size) of ``learn``, with the accuracy that it had measured on held-out labels, and macro F1 of logistic
regression (C = 10) on the vectors of the base encoder. With ``--chosen``, half are labelled at random, and then the
sentences that ``next_sentences`` names, in two rounds. Vectors are those for lists, or of the model alone in versions
without them. The record gets the rows under a name. The last line is the time of 100,000 predictions.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from benchmarks._shared import add_to_record, calibration_error, known_lists
from themescope import load
from themescope.core.labelling.prediction import CodeClassifier, learn, next_sentences
from themescope.core.sentence_model import vectors_of
from themescope.core.text.encoders import installed_encoder, load_encoder
from themescope.core.types import Labels

SIZES = (20, 50, 100, 300)
Rows = npt.NDArray[np.int64]


class LabelledList:
    """A list with its vectors by both encoders."""

    def __init__(self, name: str, texts: list[str], codes: Labels, x: npt.NDArray, raw: npt.NDArray) -> None:
        self.name, self.texts, self.codes, self.x, self.raw = name, texts, codes, x, raw

    def learned(self, rows: Rows, seed: int) -> tuple[CodeClassifier, float]:
        """Learn from the labels of ``rows``; return the classifier and the accuracy on held-out labels."""
        rest = np.setdiff1d(np.arange(len(self.codes)), rows)
        texts, others = ([self.texts[i] for i in part] for part in (rows, rest))
        classifier, report = learn(self.x[rows], texts, self.codes[rows], rows, self.x[rest], others, seed)
        return classifier, report.accuracy.value

    def scores(self, rows: Rows, seed: int) -> list[float]:
        """Return macro F1, accuracy, calibration error and held-out accuracy on the sentences beside ``rows``."""
        rest = np.setdiff1d(np.arange(len(self.codes)), rows)
        classifier, measured = self.learned(rows, seed)
        made = classifier.probabilities(self.x[rest], [self.texts[i] for i in rest])
        predicted = classifier.codes[made.argmax(1)]
        f1 = f1_score(self.codes[rest], predicted, average="macro", zero_division=0)
        right = float((predicted == self.codes[rest]).mean())
        return [f1, right, calibration_error(made.max(1), predicted == self.codes[rest]), measured]

    def plain(self, rows: Rows) -> float:
        """Return macro F1 of logistic regression on the vectors of the base encoder."""
        rest = np.setdiff1d(np.arange(len(self.codes)), rows)
        fitted = LogisticRegression(C=10.0, max_iter=1_000).fit(self.raw[rows], self.codes[rows])
        return float(f1_score(self.codes[rest], fitted.predict(self.raw[rest]), average="macro", zero_division=0))

    def chosen(self, rows: Rows, seed: int) -> Rows:
        """Return as many rows as ``rows``: half of them, and the next ones to label in two rounds."""
        have, rounds = rows[: len(rows) // 2], np.array_split(rows[len(rows) // 2 :], 2)
        for part in rounds:
            rest = np.setdiff1d(np.arange(len(self.codes)), have)
            made = self.learned(have, seed)[0].probabilities(self.x[rest], [self.texts[i] for i in rest])
            unsure, sampled = next_sentences(made, self.x[rest], len(part), 0.25, seed)
            have = np.concatenate([have, rest[unsure], rest[sampled]])
        return have


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--chosen", action="store_true")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--name", default="now")
    args = parser.parse_args()
    model, raw = load(args.model), load_encoder(installed_encoder("the benchmark"), "the benchmark")
    model, rows_of = model.for_lists() if hasattr(model, "for_lists") else model, dict[str, list[float]]()
    print("| list | codes | labels | raw | F1 | chosen | accuracy | held out | calibration error |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for name, texts, codes in known_lists(args.lists):
        one = LabelledList(name, texts, codes, model.encode(texts), np.asarray(vectors_of(raw, texts), np.float32))
        for size in (size for size in args.sizes if size <= len(texts) / 2):
            found = []
            for seed in range(args.seeds):
                rows = np.random.default_rng(seed).permutation(len(texts))[:size]
                f1, *others = one.scores(rows, seed)
                chosen = one.scores(one.chosen(rows, seed), seed)[0] if args.chosen else np.nan
                found.append([one.plain(rows), f1, chosen, *others])
            f = np.mean(found, axis=0)
            cells = " | ".join(f"{value:.3f}" for value in (*f[:4], f[5], f[4]))
            print(f"| {name} | {one.codes.max() + 1} | {size} | {cells} |", flush=True)
            rows_of[f"{name}, {size}"] = [round(float(value), 4) for value in f]
    add_to_record(args.record, "label the rest", args.name, rows_of)
    classifier, _ = one.learned(np.arange(min(300, len(texts) // 2)), 0)
    rows = np.random.default_rng(0).integers(len(texts), size=100_000)
    before = time.process_time()
    classifier.probabilities(one.x[rows], [one.texts[i] for i in rows])
    print(f"\n100,000 predictions: {time.process_time() - before:.1f} CPU s")


if __name__ == "__main__":
    main()
