"""Small clusters that questions about merges begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from themescope.core.clustering.iclust import Iclust, IclustConfig
from themescope.core.clustering.inputs import extended_labels
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import apply, difference
from themescope.core.labelling.operations import Operation, OperationKind
from themescope.core.labelling.partition import COLOURS, Cluster
from themescope.core.labelling.questions.state import QuestionState
from themescope.core.types import Ids, Labels

_TIMES, _LEAST, _MOST = 3.0, 10, 150
_COMPARED = 2_000
"""Maximum number of sentences that are clustered; the others go to the nearest cluster."""


def suggested_count(state: QuestionState) -> int:
    """Return how many small clusters to make: three times the estimated number of themes, within limits."""
    wanted = min(max(round(_TIMES * state.vectors.themes), _LEAST), _MOST)
    return max(min(wanted, len(state.partition.ids) // 2), 1)


def small_clusters(state: QuestionState, texts: Sequence[str], count: int, first_number: int) -> Operation:
    """Replace all clusters by ``count`` small ones, named by their words; ``texts`` are the (n,) sentences.

    Raises :class:`themescope.core.errors.DataError` if there are fewer sentences than clusters.
    """
    from themescope.core.clustering.naming import theme_names, theme_words

    labels = _labels(state, count)
    before = after = state.partition
    for number in list(before.clusters):
        after = apply(after, op.delete(after, number).change_set)
    for label, name in enumerate(theme_names(theme_words(texts, labels, count))):
        number = first_number + label
        cluster = Cluster(number, op.free_name(after, name or "Cluster"), label % COLOURS)
        after = after.with_clusters({**after.clusters, number: cluster})
    numbers: Ids = labels.astype(np.int64) + first_number
    summary = f"{count:,} small clusters to merge by answers"
    return Operation(OperationKind.SMALL_CLUSTERS, summary, difference(before, replace(after, numbers=numbers)))


def _labels(state: QuestionState, count: int) -> Labels:
    x = state.vectors.unit
    compared = np.sort(np.random.default_rng(state.seed).permutation(len(x))[:_COMPARED])
    found = Iclust(IclustConfig(restarts=3)).fit_predict(x[compared], count, state.seed)
    return extended_labels(x, compared, found, count)
