"""Editing session of one user on a labelling, and its clusters as a working set.

Every change is checked against the snapshot that the user saw. When :meth:`LabellingSession.do` returns, the change is
committed. When it raises, nothing was written and the snapshot is unchanged, so that both versions can be shown. The
functions for re-clustering, merge suggestions, outliers, groups and names use the (n, dim) vectors of the sentences, in
the order of the partition's ids, and change nothing: a preview becomes an operation that the user may commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from themescope.core.errors import DataError, DuplicateNameError
from themescope.core.labelling import changes
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ChangeSet, Field, Kind, SentenceChanges, StaleChangeError, Step, UndoState
from themescope.core.labelling.coding import ClusterGroup, onto, with_sub_themes
from themescope.core.labelling.partition import UNASSIGNED, Partition, allows_several, distinct_names, free_name
from themescope.core.labelling.provenance import back_to
from themescope.core.records.stored import LabellingRecord, ModelRecord
from themescope.core.types import Ids, Matrix, Points
from themescope.db.records import Draft, Snapshot
from themescope.db.store import Store
from themescope.jobs.common.columns import added_sentences, waves_of
from themescope.jobs.common.labelled import judged_sentences
from themescope.jobs.services import search
from themescope.jobs.services.labelling.starts import MOST_SENTENCES

if TYPE_CHECKING:
    from themescope.core.labelling.learning import Centres, ClusterPart

UNASSIGNED_NAME = "unassigned"


@dataclass(frozen=True, slots=True)
class SentenceConflict:
    """Sentence that two people changed, with its cluster before, as wanted and as stored."""

    sentence: int
    seen: str
    mine: str
    theirs: str
    person: str
    when: datetime | None


@dataclass(frozen=True, slots=True, eq=False)
class Conflict:
    """Change that was not written because another person changed the same sentences or clusters first."""

    operation: op.Operation
    reason: str
    selection_method: str
    message: str
    sentences: tuple[SentenceConflict, ...]
    """The sentences concerned; empty if only clusters are."""


class LabellingSession:
    """Editing session of one user on a labelling. Not thread-safe: each browser session has its own."""

    def __init__(self, store: Store, labelling_id: int, person: str) -> None:
        self._store, self.person = store, person
        with store.reading() as r:
            self.record: LabellingRecord = r.labellings.get(labelling_id)
            self.snapshot: Snapshot = r.labellings.snapshot(labelling_id)
            self.steps: list[Step] = r.label_steps.list(labelling_id)
            self._edits = r.corpus_edits.stamp()
        self._texts: dict[int, str] = {}

    @property
    def partition(self) -> Partition:
        """State of the labelling in this session."""
        return self.snapshot.partition

    @property
    def texts(self) -> dict[int, str]:
        """Sentence id → text, for every sentence of the labelling."""
        if len(self._texts) != len(self.partition.ids):
            with self._store.reading() as r:
                found = r.corpora.sentences_by_id(self.partition.ids)
            self._texts = {i: sentence.text for i, sentence in found.items()}
        return self._texts

    @property
    def undo_state(self) -> UndoState:
        """Steps that this user can undo and redo."""
        return changes.undo_state(self.steps, self.person)

    @property
    def next_number(self) -> int:
        """Number of the next new cluster."""
        return self.snapshot.issued + 1

    def sync(self) -> list[Step]:
        """Apply the steps committed since the snapshot, and return them."""
        with self._store.reading() as r:
            self.record = r.labellings.get(self.record.id)
            found = r.label_steps.since(self.record.id, self.snapshot.step)
            edits = r.corpus_edits.stamp()
        if edits != self._edits:
            self._edits, self._texts = edits, {}
        for step, change_set in found:
            self.snapshot = self.snapshot.after(step, change_set)
            self.steps.append(step)
        return [step for step, _ in found]

    def do(self, operation: op.Operation, reason: str = "", selection_method: str = "") -> Step | None:
        """Commit an operation and return its step; None if it changes nothing.

        Raises :class:`StaleChangeError` if another person changed the same sentences or clusters, see :meth:`conflict`,
        and ``DuplicateNameError`` if another person gave the name to another cluster.
        """
        if not operation.change_set:
            return None
        about = (self.person, None, reason, selection_method, operation.coder)
        return self._write(Draft(Kind.DO, operation.kind.value, operation.summary, *about), operation.change_set)

    def new_sentences(self) -> Ids:
        """Return the sentences of the corpus that are not in the labelling of more than one article."""
        if self.record.article_id is not None:
            return np.empty(0, np.int64)
        with self._store.reading() as r:
            return np.setdiff1d(r.corpora.sentence_ids(self.record.corpus_id), self.partition.ids)

    def extend(self) -> Step | None:
        """Add the new sentences to the labelling, unassigned; None if there are none."""
        new = self.new_sentences()
        with self._store.reading() as r:
            corpus = r.corpora.get(self.record.corpus_id)
            of_waves = np.isin(new, added_sentences(r, corpus)).all()
        if len(new) + len(self.partition.ids) > MOST_SENTENCES:
            raise DataError(f"With {len(new):,} more sentences the coding would have more than {MOST_SENTENCES:,}.")
        name = waves_of(corpus)[-1]["name"] if len(new) and of_waves else corpus.name
        return self.do(op.extend(self.partition, new, f"“{name}”")) if len(new) else None

    def undo(self, step_id: int | None = None) -> Step | None:
        """Undo this user's last step, or the given one; None if there is none."""
        undoable = self.undo_state.undoable
        if not undoable or (step_id is not None and step_id not in undoable):
            return None
        return self._again(Kind.UNDO, undoable[-1] if step_id is None else step_id, ChangeSet.inverse)

    def redo(self) -> Step | None:
        """Redo the step that was undone last; None if there is none."""
        redoable = self.undo_state.redoable
        return self._again(Kind.REDO, redoable[-1], lambda change_set: change_set) if redoable else None

    def back_to(self, step_id: int) -> Step | None:
        """Restore the state after a step (0: the start). This is a new step, which can be undone.

        Sentences of documents that were removed since stay away.
        """
        step = next((step for step in self.steps if step.id == step_id), None)
        if step is None and step_id:
            raise DataError("This step is not in the history of this coding.")
        then = self.at(step_id)
        with self._store.reading() as r:
            there = r.maps.places(then.ids).ids
        kept = distinct_names(op.without(then, np.setdiff1d(then.ids, there)))
        operation = op.back(self.partition, kept, back_to(step))
        if not operation.change_set:
            return None
        draft = Draft(Kind.DO, operation.kind.value, operation.summary, self.person, step_id, "", "history")
        return self._write(draft, operation.change_set)

    def at(self, step_id: int) -> Partition:
        """Return the state after a step; 0: the start."""
        with self._store.reading() as r:
            later = r.label_steps.since(self.record.id, step_id)
        seen = [change_set for step, change_set in later if step.id <= self.snapshot.step]
        return changes.rewind(self.partition, seen)

    def _again(self, kind: Kind, step_id: int, convert: Callable[[ChangeSet], ChangeSet]) -> Step | None:
        target = next(step for step in self.steps if step.id == step_id)
        with self._store.reading() as r:
            change_set = convert(r.label_steps.change_set(step_id))
        return self._write(Draft(kind, target.operation, target.summary, self.person, step_id), change_set)

    def _write(self, draft: Draft, change_set: ChangeSet) -> Step:
        try:
            return self._append(draft, change_set)
        except (StaleChangeError, DuplicateNameError):
            if not allows_several(self.partition):
                raise
            with self._store.reading() as r:
                now = r.labellings.snapshot(self.record.id)
            again = onto(now.partition, change_set, now.issued + 1)
            if again is None:
                raise
            self.sync()
            return self._append(draft, again)

    def _append(self, draft: Draft, change_set: ChangeSet) -> Step:
        with self._store.writing() as w:
            step, written = w.label_steps.append(self.record.id, draft, change_set, self.snapshot)
            alone = w.label_steps.list(self.record.id, after=self.snapshot.step) == [step]
            self.record = w.labellings.get(self.record.id)
        if alone:
            self.snapshot = self.snapshot.after(step, written)
            self.steps.append(step)
        else:
            self.sync()
        return step

    def conflict(
        self, operation: op.Operation, error: StaleChangeError, reason: str = "", selection_method: str = ""
    ) -> Conflict:
        """Apply the steps of the others, and return both versions of each sentence concerned."""
        before = self.partition
        later = self.sync()
        with self._store.reading() as r:
            touched = {step.id: set(r.label_steps.change_set(step.id).sentences().tolist()) for step in later}
        wanted = {
            id: number
            for change in operation.change_set
            if isinstance(change, SentenceChanges) and change.field is Field.CLUSTER
            for id, number in zip(np.asarray(change.ids).tolist(), np.asarray(change.new).tolist(), strict=True)
        }
        names = {UNASSIGNED: UNASSIGNED_NAME} | {n: cluster.name for n, cluster in before.clusters.items()}
        found = []
        for sentence in error.sentences:
            by = next((step for step in reversed(later) if sentence in touched[step.id]), None)
            mine = names.get(wanted[sentence], operation.summary) if sentence in wanted else operation.summary
            versions = place_of(before, sentence), mine, place_of(self.partition, sentence)
            found.append(SentenceConflict(sentence, *versions, by.person if by else "", by.when if by else None))
        return Conflict(operation, reason, selection_method, str(error), tuple(found))

    def insist(self, conflict: Conflict) -> Step | None:
        """Overwrite the current state with the change of a conflict; the history records it as a step."""
        wanted = conflict.operation
        again = replace(wanted, change_set=changes.rebased(self.partition, wanted.change_set))
        return self.do(again, conflict.reason, conflict.selection_method)


def place_of(partition: Partition, sentence: int) -> str:
    """Return the name of the cluster of a sentence."""
    number = int(partition.numbers[partition.rows([sentence])[0]])
    return UNASSIGNED_NAME if number == UNASSIGNED else partition.clusters[number].name


MOST_CHOSEN = 200
"""Maximum number of clusters that the number of themes suggests for a part."""
_NAMED_FROM, _NAMED_OF_EACH = 20_000, 2_000
"""Maximum number of sentences whose words are compared for names, in all and of each of several clusters."""


@dataclass(frozen=True, slots=True)
class Reclustered:
    """Preview of re-clustering some sentences: the parts, and why there are so many."""

    parts: list[ClusterPart]
    reason: str
    """Reason for the number of parts; "" if it was given."""


def preview_parts(
    store: Store, model: ModelRecord, texts: Sequence[str], ids: Ids, x: Matrix, k: int | None, clusterer: str
) -> Reclustered:
    """Divide the sentences ``ids`` by their (m, dim) vectors into ``k`` parts, by default as many as their themes.

    Raises ``DataError`` if there are fewer different sentences than parts.
    """
    from themescope.core.clustering.inputs import distinct_texts
    from themescope.core.labelling.learning import propose
    from themescope.core.tasks.density import load_calibration, suggest

    reason = ""
    if k is None:
        calibration = load_calibration(store.artifacts.path(model.artifact))
        suggestion = suggest(distinct_texts(texts).vectors(x), calibration, MOST_CHOSEN, seed=0)
        k, reason = suggestion.k, suggestion.reason
    return Reclustered(propose(ids, texts, x, k, clusterer), reason)


def suggested_groups(partition: Partition, texts: Mapping[int, str], found: Centres, groups: int) -> list[ClusterGroup]:
    """Return groups of two or more clusters with names, for so many themes; other clusters stay alone."""
    from themescope.core.labelling.learning import similar_groups

    numbers = [group for group in similar_groups(found, groups) if len(group) > 1]
    named: list[ClusterGroup] = []
    known = partition
    for group, name in zip(numbers, _names(partition, texts, [list(group) for group in numbers]), strict=True):
        free = free_name(known, name or "Theme")
        known = known.with_clusters({**known.clusters, -2 - len(named): replace(known.clusters[group[0]], name=free)})
        named.append(ClusterGroup(free, group))
    return named


def _names(partition: Partition, texts: Mapping[int, str], groups: Sequence[Sequence[int]]) -> list[str]:
    """Return a name for each group of clusters, from the words that are frequent in it and rare elsewhere."""
    from themescope.core.clustering.naming import theme_words

    group_of = {n: place for place, group in enumerate(groups) for n in with_sub_themes(partition, group)}
    labels = np.array([group_of.get(n, len(groups)) for n in partition.numbers.tolist()], dtype=np.int32)
    order = np.random.default_rng(0).permutation(len(labels))
    rows = np.concatenate([order[labels[order] == place][:_NAMED_OF_EACH] for place in range(len(groups) + 1)])
    rows = rows[:_NAMED_FROM]
    listed = [texts[int(partition.ids[row])] for row in rows]
    return [" · ".join(words) for words in theme_words(listed, labels[rows], len(groups) + 1)[: len(groups)]]


# Model-based assistance of an editing session: suggestions, similar sentences, previews, names, map and questions


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
) -> tuple[int, Partition, op.Operation]:
    """Re-cluster the sentences that nobody judged by the vectors of a model; those marked uncertain stay, too.

    Return the number of sentences that people judged, the state after, and the operation that leads to it.
    """
    from themescope.core.labelling.learning import recluster

    with store.reading() as r:
        placed = judged_sentences(r, record, partition)
    after = recluster(partition, x, np.union1d(placed, partition.ids[partition.uncertain]))
    return len(placed), after, op.around(partition, after, len(placed), model)


def cluster_name(texts: Mapping[int, str], ids: Ids) -> str:
    """Return a name from the distinctive words of the sentences ``ids``; "" if there are none."""
    from themescope.core.clustering.naming import theme_words

    inside = set(ids.tolist())
    others = [i for i in texts if i not in inside]
    compared = [*ids.tolist(), *others[: max(_NAMED_FROM - len(inside), 0)]]
    labels = np.array([0 if i in inside else 1 for i in compared], dtype=np.int32)
    return " · ".join(theme_words([texts[i] for i in compared], labels, 2)[0])


def principal_components(x: Matrix) -> Points:
    """Return (n, 2) coordinates: the first two principal components of the rows scaled to length 1."""
    from sklearn.decomposition import TruncatedSVD

    from themescope.core.clustering.inputs import unit_rows

    unit: Any = unit_rows(x)
    centred = unit if hasattr(unit, "todense") else unit - unit.mean(axis=0)
    return np.asarray(TruncatedSVD(2, random_state=0).fit_transform(centred), dtype=np.float32)
