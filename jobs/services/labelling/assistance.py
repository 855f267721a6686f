"""Model-based assistance of an editing session: suggestions, similar sentences, previews, names, map and questions.

All functions use the (n, dim) vectors of a labelling's sentences, in the order of the partition's ids, and change
nothing: a preview is an operation that the user may commit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.labelling import operations as op
from themescope.core.labelling.partition import Partition
from themescope.core.records.stored import LabellingRecord, ModelRecord
from themescope.core.types import Ids, Matrix, Points
from themescope.db.store import Store
from themescope.jobs.common.labelled import judged_sentences
from themescope.jobs.services import search

_NAMED_FROM = 20_000
"""Maximum number of sentences whose words are compared to name a new cluster."""


@dataclass(frozen=True, slots=True)
class Reclustering:
    """Preview of re-clustering with the sentences that people assigned fixed."""

    placed: int
    """Number of sentences assigned by people, which keep their clusters."""
    after: Partition
    operation: op.Operation


def similarities(store: Store, model: ModelRecord, x: Matrix, ids: Ids, query: str | int) -> npt.NDArray[np.float32]:
    """Return the cosines (n,) of the sentences ``ids`` to a query text, or to one of the sentences (its id).

    Raises ``DataError`` if the model knows none of the words.
    """
    from themescope.core.compute import cosines

    vector = search.query_vector(store, model, query) if isinstance(query, str) else x[np.flatnonzero(ids == query)]
    found: npt.NDArray[np.float32] = cosines(vector, x)
    return found


def preview_reclustering(
    store: Store, record: LabellingRecord, partition: Partition, x: Matrix, model: str
) -> Reclustering:
    """Re-cluster the sentences that nobody judged by the vectors of a model; those marked uncertain stay, too."""
    from themescope.core.labelling.learning import recluster

    with store.reading() as r:
        placed = judged_sentences(r, record, partition)
    after = recluster(partition, x, np.union1d(placed, partition.ids[partition.uncertain]))
    return Reclustering(len(placed), after, op.around(partition, after, len(placed), model))


def cluster_name(texts: Mapping[int, str], ids: Ids) -> str:
    """Return a name from the distinctive words of the sentences ``ids``; "" if there are none."""
    from themescope.core.clustering.naming import theme_words

    inside = set(ids.tolist())
    others = [i for i in texts if i not in inside]
    compared = [*ids.tolist(), *others[: max(_NAMED_FROM - len(inside), 0)]]
    labels = np.array([0 if i in inside else 1 for i in compared], dtype=np.int32)
    words: Sequence[str] = theme_words([texts[i] for i in compared], labels, 2)[0]
    return " · ".join(words)


def principal_components(x: Matrix) -> Points:
    """Return (n, 2) coordinates: the first two principal components of the rows scaled to length 1."""
    from sklearn.decomposition import TruncatedSVD

    from themescope.core.clustering.inputs import unit_rows

    unit: Any = unit_rows(x)
    centred = unit if hasattr(unit, "todense") else unit - unit.mean(axis=0)
    return np.asarray(TruncatedSVD(2, random_state=0).fit_transform(centred), dtype=np.float32)
