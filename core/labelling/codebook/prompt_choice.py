"""Choice among the prompts of a language model by its agreement with people, cross-validated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError
from themescope.core.metrics.statistics import bootstrap_mean
from themescope.core.types import Estimate, Ids

FOLDS = 5
FEWEST = 10
"""Minimum number of labelled sentences for a comparison."""


@dataclass(frozen=True, slots=True)
class PromptComparison:
    """Shares of sentences to which the model gave the code of people."""

    accuracy: tuple[Estimate, ...]
    """Of each prompt, on all labelled sentences. The best of several is too high, because it is chosen by the same."""
    best: int
    """Place of the prompt with the highest accuracy; the first of equals."""
    chosen: Estimate
    """Of the prompt chosen on the other folds, on each fold: what choosing the best prompt gives on new sentences."""


def compare_prompts(right: npt.NDArray[np.bool_], documents: Ids, seed: int = 0) -> PromptComparison:
    """Compare k prompts by ``right`` (k, n), whether each is right on each sentence; folds keep ``documents`` whole.

    ``documents`` (n,) are the document of each sentence. With fewer documents than folds, sentences are the documents.
    Raises :class:`DataError` with fewer than :data:`FEWEST` sentences.
    """
    n = right.shape[1]
    if n < FEWEST:
        raise DataError(f"Comparing prompts needs {FEWEST} labelled sentences; there are {n}. Label more.")
    _, groups = np.unique(documents, return_inverse=True)
    if groups.max() + 1 < FOLDS:
        groups = np.arange(n)
    fold = np.random.default_rng(seed).permutation(groups.max() + 1)[groups] % FOLDS
    held_out = np.empty(n, np.bool_)
    for one in range(FOLDS):
        held_out[fold == one] = right[right[:, fold != one].mean(1).argmax(), fold == one]
    accuracy = tuple(bootstrap_mean(row, groups, seed=seed) for row in right)
    return PromptComparison(accuracy, int(right.mean(1).argmax()), bootstrap_mean(held_out, groups, seed=seed))
