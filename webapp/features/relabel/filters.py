"""Which sentences of a labelling are in view, and in which order: filters, queues, search."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.errors import DataError
from core.labelling.agreement import adjudicate
from core.labelling.partition import UNASSIGNED
from core.metrics.matching import match_clusters
from core.types import Ids
from jobs.services.labelling.starts import labels_on
from webapp.features.relabel.state import NOTHING, Bench
from webapp.map_view import map_search
from webapp.shared import label_queries

EVERYTHING = "All sentences"
OTHER_MODEL = "Not as the model says"
OTHER_SECTION = "Not as the sections say"
OTHER_PEOPLE = "Not as other people say"
LETTERS, MEANING = map_search.LETTERS, map_search.MEANING
NEAREST = 50
"""Sentences that a search by meaning shows."""


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


def _disputed(bench: Bench) -> Ids:
    """Sentences that other labellings of the same text put elsewhere, the most disputed first.

    Clusters are matched before they are compared; of equally disputed ones the model's clearest disagreement is first.
    """
    ids = bench.partition.ids
    votes = [
        labels_on(bench.partition, ids),
        *(labels_on(state, ids) for _, state in label_queries.others(bench.record)),
    ]
    if len(votes) < 2:
        return NOTHING
    dispute = adjudicate(votes).dispute
    found = bench.suggestions
    pull = found.pull if found is not None else np.zeros(len(ids))
    order = np.lexsort((ids, -pull, -dispute))
    kept: Ids = ids[order[dispute[order] > 0]]
    return kept


FILTERS: dict[str, Callable[[Bench], Ids]] = {
    EVERYTHING: _all,
    "Unassigned": _unassigned,
    "Marked uncertain": _uncertain,
    "With a note": _noted,
    OTHER_MODEL: _unlike_model,
    OTHER_SECTION: _unlike_sections,
    OTHER_PEOPLE: _disputed,
}
_SEEING = {OTHER_MODEL, OTHER_SECTION, OTHER_PEOPLE}
"""These tell what others think; in blind work they are not offered."""


def filters(bench: Bench) -> list[str]:
    """What can be shown; in blind work nothing that tells what others think."""
    return [name for name in FILTERS if not (bench.record.blind and name in _SEEING)]


def in_view(bench: Bench, show: str, search: str = "", way: str = LETTERS) -> Ids:
    """Ids of the sentences in view, in their order; what is found by meaning and what is alike comes nearest first.

    Raises ``ThemescopeError`` where the model cannot search.
    """
    found = FILTERS[show](bench)
    bench.line = None if show == EVERYTHING else (f"queue “{show}”", found)
    if search.strip():
        found = _nearest(bench, found, search.strip()) if way == MEANING else _with_letters(bench, found, search)
    if bench.alike is not None:
        found = _nearest(bench, found, bench.alike)
    return found


def _with_letters(bench: Bench, ids: Ids, search: str) -> Ids:
    texts, wanted = bench.texts, search.strip().casefold()
    hits = [wanted in texts.sentences[texts.row[int(i)]].text.casefold() for i in ids]
    kept: Ids = ids[np.array(hits, dtype=bool)]
    return kept


def _nearest(bench: Bench, ids: Ids, query: str | int) -> Ids:
    likeness = bench.likeness(query)
    if likeness is None:
        raise DataError("Choose a model for suggestions first: it says what is alike in meaning.")
    here = likeness[bench.partition.rows(ids)]
    kept: Ids = ids[np.argsort(-here, kind="stable")[:NEAREST]]
    return kept
