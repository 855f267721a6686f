"""Labellings that a person may see, as coders of the same sentences, and which of them count for agreement."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from themescope.core.errors import UnknownNameError
from themescope.core.labelling.agreement import common_codes
from themescope.core.labelling.code_sets import CodeSet, combinations
from themescope.core.labelling.partition import Partition
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.core.types import Ids, Labels, Sentence
from themescope.db.store import Unit
from themescope.jobs.common.labelled import ANNOTATOR, MODEL, coded_sentences
from themescope.jobs.services.labelling.starts import labels_on
from themescope.jobs.services.tasks import work

COPIED = 20
"""Minimum number of equal sentences of two labellings of a person from which on one is a copy of the other."""


@dataclass(frozen=True, slots=True, eq=False)
class Coder:
    """A labelling on the n sentences of a :class:`CodedText`."""

    record: LabellingRecord
    state: Partition
    labels: Labels
    """(n,) cluster numbers; -1 is unassigned."""
    placed: npt.NDArray[np.bool_]
    """(n,) mask of the sentences that people placed, or that the model of a labelling coded."""
    uncertain: npt.NDArray[np.bool_]
    """(n,) mask of the sentences marked as uncertain."""
    names: Mapping[int, str]
    """Number → name of the clusters, of sub-themes with the name of their theme."""

    @property
    def sets(self) -> Mapping[int, CodeSet]:
        """Return the codes of the clusters that are combinations."""
        return combinations(self.state)

    @property
    def machine(self) -> bool:
        """Return whether a model is the coder."""
        return self.record.origin.get("from") == MODEL

    @property
    def abstained(self) -> npt.NDArray[np.bool_]:
        """Return the (n,) mask of the sentences to which a model was asked to give a code and gave none."""
        return self.machine & (self.labels < 0) & self.uncertain

    @property
    def judged(self) -> Labels:
        """Return the (n,) cluster numbers of the sentences that the coder judged; -1 for all others."""
        return np.where(self.placed, self.labels, -1).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class CodedText:
    """Labellings of the same sentences; row i of every array is sentence ``ids[i]``."""

    ids: Ids
    articles: Ids
    sentences: Sequence[Sentence]
    coders: Sequence[Coder]


def coded_text(r: Unit, records: Sequence[LabellingRecord], articles: Collection[int] | None = None) -> CodedText:
    """Return labellings on all sentences of some articles; by default, on all sentences that one of them has."""
    states = [r.labellings.snapshot(record.id).partition for record in records]
    if articles is None:
        known = r.corpora.sentences_by_id(np.unique(np.concatenate([state.ids for state in states])))
    else:
        known = {s.id: s for found in r.corpora.sentences_of(articles).values() for s in found}
    sentences = [known[id] for id in sorted(known)]
    ids, coders = np.array([s.id for s in sentences], dtype=np.int64), []
    for record, state in zip(records, states, strict=True):
        placed = np.isin(ids, coded_sentences(r, record, state))
        uncertain = np.isin(ids, state.ids[state.uncertain])
        coders.append(Coder(record, state, labels_on(state, ids), placed, uncertain, names_of(state)))
    return CodedText(ids, np.array([s.article_id for s in sentences], dtype=np.int64), sentences, coders)


def names_of(state: Partition) -> dict[int, str]:
    """Return number → name of the clusters, of sub-themes with the name of their theme."""
    themes = {number: cluster.name for number, cluster in state.clusters.items()}
    return {
        number: cluster.name if cluster.parent is None else f"{themes.get(cluster.parent, '')} › {cluster.name}"
        for number, cluster in state.clusters.items()
    }


def left_out(r: Unit, coders: Sequence[Coder]) -> dict[int, str]:
    """Return labelling id → reason for the labellings that are no independent, finished coding.

    They are codings by models, templates in which nobody placed a sentence, gold labellings, labellings of a task with
    open items, and copies of another labelling of the same person that counts. A labelling is a copy if it began with
    the other one, or if people placed at least :data:`COPIED` sentences in both, and these have the same codes.
    """
    reasons: dict[int, str] = {}
    counted: list[Coder] = []
    for coder in sorted(coders, key=lambda coder: coder.record.id):
        reason = _reason(r, coder) or next((found for other in counted if (found := _copy(coder, other))), "")
        if reason:
            reasons[coder.record.id] = reason
        else:
            counted.append(coder)
    return reasons


def counting(r: Unit, labellings: Sequence[LabellingRecord]) -> list[int]:
    """Return the ids of the labellings that count for agreement, see :func:`left_out`."""
    coders = coded_text(r, labellings).coders if labellings else ()
    reasons = left_out(r, coders)
    return [coder.record.id for coder in coders if coder.record.id not in reasons]


def version(r: Unit, records: Sequence[LabellingRecord]) -> tuple[object, ...]:
    """Return a key of the results of :func:`coded_text` and :func:`left_out`, which changes with any of them."""
    found: list[object] = []
    for record in records:
        task = r.tasks.of_labelling(record.id)
        items = r.tasks.items(task[0].id, task[1]) if task else []
        about = record.id, record.created, record.name, record.kind, record.owner, r.labellings.newest_step(record.id)
        found.append((*about, task and task[0].closed, *((item.id, item.done) for item in items)))
    return tuple(found)


def _reason(r: Unit, coder: Coder) -> str:
    """Return why a labelling does not count, whatever the others are."""
    if coder.machine:
        return "coded by a model, not by a person"
    if not coder.placed.any():
        return "nobody coded a unit in it"
    if coder.record.kind is Sharing.GOLD:
        return "a gold coding, made from others"
    known = r.tasks.of_labelling(coder.record.id)
    if known is None or known[0].closed is not None:
        return ""
    items = work.items_of(r, known[0].id, known[1])
    still = sum(item.done is None for item in items)
    return f"{still:,} of {len(items):,} items of its task are open" if still else ""


def person_of(record: LabellingRecord) -> tuple[str, str]:
    """Return whose labels these are: the owner's, or those of an annotator in a file that the owner imported."""
    return record.owner, str(record.origin.get(ANNOTATOR, ""))


def _copy(coder: Coder, other: Coder) -> str:
    if person_of(coder.record) != person_of(other.record):
        return ""
    reason = f"a copy of “{other.record.name}” by the same person"
    if coder.record.origin.get("from") == "labelling" and coder.record.origin.get("name") == other.record.name:
        return reason
    both = coder.placed & other.placed
    if both.sum() < COPIED:
        return ""
    found = common_codes([coder.judged, other.judged], [coder.names, other.names], [coder.sets, other.sets])
    return reason if found is not None and (found.labels[0] == found.labels[1])[both].all() else ""


def known_labelling(r: Unit, labelling_id: int) -> LabellingRecord:
    """Return a labelling that was not deleted; raise ``UnknownNameError`` if there is none."""
    record = r.labellings.get(labelling_id)
    if record.deleted is not None:
        raise UnknownNameError("labelling", str(labelling_id), [str(known.id) for known in r.labellings.list()])
    return record
