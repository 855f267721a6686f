"""Labels of an exported dataset: the clusters of a labelling, or the themes of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from themescope.core.errors import DataError
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.types import Sentence
from themescope.db.records import CorpusRecord
from themescope.db.store import Store

THEMES = "themes"
"""Kind of the runs that found themes."""


@dataclass(frozen=True, slots=True)
class DatasetLabels:
    """Names of classes, and a function that returns the class of each sentence, or None."""

    origin: str
    """What the labels are, in words."""
    names: tuple[str, ...]
    of: Callable[[Iterable[Sentence]], list[int | None]]


def labels_of(store: Store, corpus: CorpusRecord, labelling: str, themes: bool) -> DatasetLabels | None:
    """Return the labels of a labelling by its name, or with ``themes`` the newest themes; None for neither.

    Raises :class:`DataError` if the labelling is of another corpus, or if no themes were found.
    """
    if labelling:
        return _of_labelling(store, corpus, labelling)
    return _of_themes(store, corpus) if themes else None


def _of_labelling(store: Store, corpus: CorpusRecord, name: str) -> DatasetLabels:
    with store.reading() as r:
        record = r.labellings.by_name(name)
        if record.corpus_id != corpus.id:
            raise DataError(f"The labelling {name!r} is of another corpus than {corpus.name!r}.")
        partition = r.labellings.snapshot(record.id).partition
    numbers = sorted(partition.clusters)
    place = {number: index for index, number in enumerate(numbers)}

    def classes(sentences: Iterable[Sentence]) -> list[int | None]:
        ids = np.array([s.id for s in sentences], dtype=np.int64)
        rows = np.minimum(np.searchsorted(partition.ids, ids), max(len(partition.ids) - 1, 0))
        known = partition.ids[rows] == ids if len(partition.ids) else np.zeros(len(ids), bool)
        found = np.where(known, partition.numbers[rows], UNASSIGNED) if len(partition.ids) else ids * 0 + UNASSIGNED
        return [place.get(number) for number in found.tolist()]

    return DatasetLabels(f"labelling “{name}”", unique([partition.clusters[n].name for n in numbers]), classes)


def _of_themes(store: Store, corpus: CorpusRecord) -> DatasetLabels:
    with store.reading() as r:
        runs = [run for run in r.runs.list(kind=THEMES) if run.config.get("corpus_id") == corpus.id]
        labels = r.runs.labels(runs[-1].id) if runs else {}
    if not runs:
        raise DataError(f"No themes of {corpus.name!r} were found yet. Find themes first.")

    def classes(sentences: Iterable[Sentence]) -> list[int | None]:
        found = (int(labels[s.article_id][s.position]) if s.article_id in labels else -1 for s in sentences)
        return [None if label < 0 else label for label in found]

    return DatasetLabels("newest themes", unique([str(theme["name"]) for theme in runs[-1].config["themes"]]), classes)


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of classes, which must differ, numbered where they do not."""
    taken: set[str] = set()
    found = []
    for name in names:
        number, given = 1, name
        while given in taken:
            number += 1
            given = f"{name} ({number})"
        taken.add(given)
        found.append(given)
    return tuple(found)
