"""The method that was chosen by labels becomes the clusters of a labelling, around the sentences that people placed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import difference
from themescope.core.labelling.method_choice import FEWEST
from themescope.core.labelling.partition import Partition
from themescope.core.types import Labels
from themescope.db.label_records import LabellingRecord
from themescope.db.store import Store
from themescope.jobs.common.labelled.clusterings import LabelledText, labels_of_run
from themescope.jobs.common.labelled.judged import judged_pairs
from themescope.jobs.services.labelling.assistance import cluster_name

__all__ = ["FEWEST", "MethodAdoption", "clusterer_title", "described", "preview_method"]


@dataclass(frozen=True, slots=True)
class MethodAdoption:
    """Preview of a labelling with the clusters of another method."""

    placed: int
    """Number of sentences placed by people, which keep their clusters."""
    after: Partition
    moved: int
    created: int
    deleted: int
    operation: op.Operation


def preview_method(
    store: Store, record: LabellingRecord, partition: Partition, row: Mapping[str, Any], first_number: int, seed: int
) -> MethodAdoption:
    """Cluster again by a row of the ranking of a job ``choose-method``; new clusters are numbered from a number on.

    Sentences that people placed and those marked as uncertain keep their clusters. Nothing is changed. Raises
    ``DataError`` if the model, its vectors or the stored run are gone.
    """
    from themescope.core.labelling.suggestions import adopted

    text = LabelledText(store, partition.ids)
    labels = _labels(store, text, row, seed)
    placed = judged_pairs(store, record, partition).placed
    fixed = np.union1d(placed, partition.ids[partition.uncertain])
    texts = dict(zip(partition.ids.tolist(), text.texts, strict=True))
    after = adopted(partition, labels, fixed, first_number, lambda ids: cluster_name(texts, ids))
    change_set = difference(partition, after)
    moved = int((after.numbers != partition.numbers).sum())
    summary = f"{moved:,} sentence{'' if moved == 1 else 's'} re-clustered by {described(row)}"
    operation = op.Operation(op.OperationKind.RECLUSTER, summary, change_set, described(row))
    return MethodAdoption(len(placed), after, moved, len(change_set.created()), len(change_set.deleted()), operation)


def described(row: Mapping[str, Any]) -> str:
    """Return the method of a row of the ranking in words: ``thematic-wikipedia, Iclust, 8 clusters, shared words``."""
    words = "shared words" if row["shared"] else ""
    return ", ".join(filter(None, [row["model"], clusterer_title(row), f"{row['k']} clusters", words]))


def clusterer_title(row: Mapping[str, Any]) -> str:
    """Return the title of the clusterer of a row; its id if it has no card in this version."""
    from themescope.core.clustering import REGISTRY as CLUSTERERS

    return CLUSTERERS.get(row["clusterer"]).title if row["clusterer"] in CLUSTERERS else str(row["clusterer"])


def _labels(store: Store, text: LabelledText, row: Mapping[str, Any], seed: int) -> Labels:
    from themescope.core.labelling.method_choice import Configuration

    if "run" in row:
        return labels_of_run(store, int(row["run"]), text)
    one = Configuration(str(row["model"]), str(row["clusterer"]), int(row["k"]), float(row["shared"]))
    return text.clustered(one, seed)
