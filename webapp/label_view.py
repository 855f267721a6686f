"""Which sentences of a labelling are in view, and in which order: filters, queues, search."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.evaluation.matching import match_clusters
from core.labelling.partition import UNASSIGNED
from core.types import Ids
from webapp.relabelling import Bench

EVERYTHING = "All sentences"
OTHER_MODEL = "Not as the model says"
OTHER_SECTION = "Not as the sections say"


def _all(bench: Bench) -> Ids:
    return bench.texts.ids


def _in_order(bench: Bench, ids: Ids) -> Ids:
    found: Ids = bench.texts.ids[np.isin(bench.texts.ids, ids)]
    return found


def _unassigned(bench: Bench) -> Ids:
    return _in_order(bench, bench.partition.members(UNASSIGNED))


def _uncertain(bench: Bench) -> Ids:
    return _in_order(bench, bench.partition.ids[bench.partition.uncertain])


def _noted(bench: Bench) -> Ids:
    return _in_order(bench, np.array(sorted(bench.partition.notes), dtype=np.int64))


def _unlike_model(bench: Bench) -> Ids:
    """The model's clearest disagreements first."""
    found = bench.suggestions
    return np.empty(0, dtype=np.int64) if found is None else found.against(bench.partition)


def _unlike_sections(bench: Bench) -> Ids:
    """Sentences outside the section that their cluster matches; with a model, its clearest disagreements first."""
    texts = bench.texts
    keys = [f"{s.article_id} {s.section}" for s in texts.sentences] if not texts.several else texts.sections
    sections = np.unique(keys, return_inverse=True)[1].astype(np.int32)
    labels = bench.partition.numbers[bench.partition.rows(texts.ids)].astype(np.int32)
    assigned = np.flatnonzero(labels != UNASSIGNED)
    moved = texts.ids[assigned[match_clusters(sections[assigned], labels[assigned]).moved]]
    found = bench.suggestions
    if found is None:
        return moved
    pull = found.pull[bench.partition.rows(moved)]
    ordered: Ids = moved[np.argsort(-pull, kind="stable")]
    return ordered


FILTERS: dict[str, Callable[[Bench], Ids]] = {
    EVERYTHING: _all,
    "Unassigned": _unassigned,
    "Marked uncertain": _uncertain,
    "With a note": _noted,
    OTHER_MODEL: _unlike_model,
    OTHER_SECTION: _unlike_sections,
}
_SEEING = {OTHER_MODEL, OTHER_SECTION}


def filters(bench: Bench) -> list[str]:
    """What can be shown; in blind work nothing that tells what others think."""
    return [name for name in FILTERS if not (bench.record.blind and name in _SEEING)]


def in_view(bench: Bench, show: str, search: str) -> Ids:
    """Ids of the sentences in view, in their order."""
    found = FILTERS[show](bench)
    if not search.strip():
        return found
    texts = bench.texts
    wanted = search.strip().casefold()
    hits = [wanted in texts.sentences[texts.row[int(i)]].text.casefold() for i in found]
    kept: Ids = found[np.array(hits, dtype=bool)]
    return kept
