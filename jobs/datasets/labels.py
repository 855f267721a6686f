"""Labels of an exported dataset: the clusters of a labelling, or the themes of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from themescope.core.errors import DataError
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.types import Sentence
from themescope.db.records import CorpusRecord
from themescope.db.store import Store
from themescope.jobs.common.labelled.placed import MAKER, provenance_of, run_origin

THEMES = "themes"
"""Kind of the runs that found themes."""


Label = tuple[int | None, str, str, float | None]
"""Class of a sentence or None, and the source, coder and probability of this label."""
_NO_LABEL: Label = (None, "", "", None)


@dataclass(frozen=True, slots=True)
class DatasetLabels:
    """Names of classes, and a function that returns the label of each sentence."""

    origin: str
    """What the labels are, in words."""
    names: tuple[str, ...]
    of: Callable[[Iterable[Sentence]], list[Label]]


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
        made = provenance_of(r, record, partition)
    numbers = sorted(partition.clusters)
    place = {number: index for index, number in enumerate(numbers)}
    row_of = {id: row for row, id in enumerate(partition.ids.tolist())}

    def label(id: int) -> Label:
        row = row_of.get(id)
        if row is None or partition.numbers[row] == UNASSIGNED:
            return _NO_LABEL
        return (place[int(partition.numbers[row])], *made.cells(row))

    def labels(sentences: Iterable[Sentence]) -> list[Label]:
        return [label(s.id) for s in sentences]

    return DatasetLabels(f"labelling “{name}”", unique([partition.clusters[n].name for n in numbers]), labels)


def _of_themes(store: Store, corpus: CorpusRecord) -> DatasetLabels:
    with store.reading() as r:
        runs = [run for run in r.runs.list(kind=THEMES) if run.config.get("corpus_id") == corpus.id]
        found = r.runs.labels(runs[-1].id) if runs else {}
        maker = run_origin(r, runs[-1].id)[MAKER] if runs else []
    if not runs:
        raise DataError(f"No themes of {corpus.name!r} were found yet. Find themes first.")
    source, coder = maker

    def labels(sentences: Iterable[Sentence]) -> list[Label]:
        classes = (int(found[s.article_id][s.position]) if s.article_id in found else -1 for s in sentences)
        return [_NO_LABEL if number < 0 else (number, source, coder, None) for number in classes]

    return DatasetLabels("newest themes", unique([str(theme["name"]) for theme in runs[-1].config["themes"]]), labels)


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
