"""Simulated studies: a corpus, what a machine said about it, and the labels of a random sample."""

from dataclasses import dataclass

import numpy as np

from themescope.core.estimates.shares import CodedUnits


@dataclass(frozen=True)
class Study:
    """A corpus of documents with equally many units, and a machine with two error rates."""

    share: float = 0.3
    sensitivity: float = 0.9
    false_alarms: float = 0.1
    labels: int = 300
    documents: int = 3000
    per_document: int = 1
    correlation: float = 0.0
    """Intraclass correlation of the units of a document."""
    unequal: bool = False
    """Half of the labels for units to which the machine gave the code."""
    soft: bool = False
    """The machine gives probabilities, which are too low; its error rates are not used."""

    def draw(self, random: np.random.Generator) -> CodedUnits:
        chances = np.full(self.documents, self.share)
        if self.correlation:
            size = (1 - self.correlation) / self.correlation
            chances = random.beta(self.share * size, (1 - self.share) * size, self.documents)
        documents = np.repeat(np.arange(self.documents), self.per_document)
        n = len(documents)
        truth = random.random(n) < chances[documents]
        codes = (random.random(n) < np.where(truth, self.sensitivity, self.false_alarms)).astype(float)
        if self.soft:
            codes = 1 / (1 + np.exp(1 - random.normal(np.where(truth, 2, -2), 1.5)))
        strata = [np.flatnonzero(codes == 1), np.flatnonzero(codes == 0)] if self.unequal else [np.arange(n)]
        first = min(self.labels // len(strata), len(strata[0]))
        sizes = [first, self.labels - first]
        labels, probabilities = np.full(n, np.nan), np.zeros(n)
        for stratum, size in zip(strata, sizes, strict=False):
            sampled = random.choice(stratum, size, replace=False)
            labels[sampled] = truth[sampled]
            probabilities[stratum] = size / len(stratum)
        return CodedUnits(labels, codes, probabilities, documents)
