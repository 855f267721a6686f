"""Labellings: reading them, and changing them by ordinary steps of their history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np

from themescope.core.client.records import Cluster, Label, Labelling, LabellingState, Page, Sentence, Step
from themescope.core.errors import DataError, UnknownNameError
from themescope.core.labelling import history
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ClusterChange, StaleChangeError
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.types import Ids
from themescope.db.access import Actor, Right
from themescope.db.label_records import LabellingRecord, NewLabelling, Sharing, Snapshot
from themescope.db.store import Store, Unit
from themescope.db.types import clean_text
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.remote import acting
from themescope.jobs.services.remote.corpora import known_corpus, sentences_of_ids
from themescope.jobs.services.remote.runs import theme_record

SELECTED = "api"
"""Selection method of steps that come from outside of the pages."""


class Start(StrEnum):
    """Initial state of a new labelling."""

    NOTHING = "nothing"
    """All sentences are unassigned."""
    SECTIONS = "sections"
    """One cluster per heading."""
    THEMES = "themes"
    """The themes of a run."""
    LABELLING = "labelling"
    """The current state of another labelling."""


# --- reading ----------------------------------------------------------------------------------------------------------


def labellings(store: Store, corpus_id: int | None = None) -> list[Labelling]:
    """Return all labellings (of one corpus), oldest first."""
    with store.reading() as r:
        return [_labelling(record) for record in r.labellings.list(corpus_id)]


def labelling(store: Store, actor: Actor, labelling_id: int) -> LabellingState:
    """Return a labelling with its clusters, and what the person can undo and redo."""
    with store.reading() as r:
        record, snapshot = visible_labelling(r, actor, labelling_id), r.labellings.snapshot(labelling_id)
        undo = history.undo_state(r.label_steps.list(labelling_id), actor.name)
    sizes = snapshot.partition.sizes()
    clusters = [Cluster(c.number, c.name, sizes[c.number], c.parent) for c in snapshot.partition.clusters.values()]
    can = bool(undo.undoable), bool(undo.redoable)
    return LabellingState(_labelling(record), clusters, sizes[UNASSIGNED], snapshot.step, *can)


def labels(
    store: Store, actor: Actor, labelling_id: int, cluster: int | None = None, offset: int = 0, limit: int = 100
) -> Page[Label]:
    """Return the sentences of a labelling (of one cluster, -1 for the unassigned ones) in reading order."""
    with store.reading() as r:
        visible_labelling(r, actor, labelling_id)
        p = r.labellings.snapshot(labelling_id).partition
        if cluster not in (None, UNASSIGNED):
            _known_cluster(p, cluster)
        rows = np.arange(len(p.ids)) if cluster is None else np.flatnonzero(p.numbers == cluster)
        page = rows[offset : offset + limit]
        known = sentences_of_ids(r, p.ids[page].tolist())
    return Page([_label(p, known, int(row)) for row in page], len(rows), offset)


def steps(store: Store, actor: Actor, labelling_id: int, offset: int = 0, limit: int = 100) -> Page[Step]:
    """Return the history of a labelling, newest first."""
    with store.reading() as r:
        visible_labelling(r, actor, labelling_id)
        found = r.label_steps.list(labelling_id)[::-1]
    return Page([_step(step) for step in found[offset : offset + limit]], len(found), offset)


def known_labelling(r: Unit, labelling_id: int) -> LabellingRecord:
    """Return a labelling that was not deleted; raise ``UnknownNameError`` if there is none."""
    record = r.labellings.get(labelling_id)
    if record.deleted is not None:
        raise UnknownNameError("labelling", str(labelling_id), [str(known.id) for known in r.labellings.list()])
    return record


def visible_labelling(r: Unit, actor: Actor, labelling_id: int) -> LabellingRecord:
    """Return :func:`known_labelling`; raise ``AccessError`` while the person labels its articles blind."""
    record = known_labelling(r, labelling_id)
    r.labellings.check_visible(labelling_id, actor.name)
    return record


# --- the labelling itself ---------------------------------------------------------------------------------------------


def create(
    store: Store, actor: Actor, new: NewLabelling, start: Start = Start.NOTHING, source_id: int | None = None
) -> Labelling:
    """Create a labelling; its name is numbered if taken. ``source_id`` is the run or the labelling to copy.

    Raises ``DataError`` if there are no sentences to label, or too many, or if the source is of another corpus.
    """
    with store.reading() as r:
        known_corpus(r, new.corpus_id)
        if new.article_id is not None and r.corpora.article(new.article_id).corpus_id != new.corpus_id:
            raise UnknownNameError("article of this corpus", str(new.article_id), ())
        if start is Start.LABELLING:
            new = replace(new, article_id=visible_labelling(r, actor, _source(source_id)).article_id)
        if start in (Start.THEMES, Start.LABELLING) and _corpus_of(r, start, _source(source_id)) != new.corpus_id:
            raise DataError("The source is of another corpus. Choose a source of the same corpus.")
    initial = {
        Start.NOTHING: starts.from_nothing,
        Start.SECTIONS: starts.from_sections,
        Start.THEMES: starts.from_themes(source_id or 0),
        Start.LABELLING: starts.from_labelling(source_id or 0),
    }
    return _labelling(starts.begin(acting(store, actor), new, initial[start]))


def _source(source_id: int | None) -> int:
    if source_id is None:
        raise DataError("Name the run or the labelling to copy as the source.")
    return source_id


def _corpus_of(r: Unit, start: Start, source_id: int) -> int:
    if start is Start.THEMES:
        return int(theme_record(r, source_id).config["corpus_id"])
    return known_labelling(r, source_id).corpus_id


def new_labelling(actor: Actor, corpus_id: int, name: str, article_id: int | None, shared: bool) -> NewLabelling:
    """Return the properties of a new labelling of the person."""
    kind = Sharing.SHARED if shared else Sharing.OWN
    return NewLabelling(corpus_id, clean_text(name), actor.name, kind, article_id=article_id)


def rename(store: Store, actor: Actor, labelling_id: int, name: str) -> Labelling:
    """Rename a labelling."""
    with acting(store, actor).writing() as w:
        known_labelling(w, labelling_id)
        return _labelling(w.labellings.rename(labelling_id, clean_text(name), actor.name))


def delete(store: Store, actor: Actor, labelling_id: int) -> None:
    """Delete a labelling; its owner or an admin can restore it on the page Relabel."""
    with acting(store, actor).writing() as w:
        known_labelling(w, labelling_id)
        w.labellings.delete(labelling_id, actor.name)


# --- changes ----------------------------------------------------------------------------------------------------------


class LabellingChanges:
    """Changes of one labelling by one person. Each is a step of its history; None if it would change nothing.

    With ``seen``, the id of the last step that the person knows, a change of what others changed after it raises
    ``StaleChangeError``.
    """

    def __init__(
        self, store: Store, actor: Actor, labelling_id: int, reason: str = "", seen: int | None = None
    ) -> None:
        with store.reading() as r:
            visible_labelling(r, actor, labelling_id)
            # Asked here too, because a change that changes nothing is never written, and so not refused there.
            actor.require(Right.LABEL)
            r.labellings.check_editable(labelling_id, actor.name, actor.role)
        self._session = LabellingSession(acting(store, actor), labelling_id, actor.name)
        self._reason, self._seen = clean_text(reason), seen

    def assign(self, sentences: Sequence[int], cluster: int) -> Step | None:
        """Put sentences into a cluster."""
        return self._do(lambda p: op.assign(p, _ids(sentences), _known_cluster(p, cluster)))

    def unassign(self, sentences: Sequence[int]) -> Step | None:
        """Remove sentences from their clusters."""
        return self._do(lambda p: op.unassign(p, _ids(sentences)))

    def create_cluster(self, name: str, sentences: Sequence[int]) -> Step | None:
        """Create a cluster with these sentences, possibly none."""
        return self._do(lambda p: op.create(p, self._session.next_number, name, _ids(sentences)))

    def rename_cluster(self, cluster: int, name: str) -> Step | None:
        """Rename a cluster."""
        return self._do(lambda p: op.rename(p, _known_cluster(p, cluster), name))

    def merge_clusters(self, clusters: Sequence[int], into: int) -> Step | None:
        """Merge clusters into one of them."""
        return self._do(lambda p: op.merge(p, [_known_cluster(p, c) for c in clusters], _known_cluster(p, into)))

    def delete_cluster(self, cluster: int) -> Step | None:
        """Delete a cluster; its sentences become unassigned."""
        return self._do(lambda p: op.delete(p, _known_cluster(p, cluster)))

    def mark(self, sentences: Sequence[int], uncertain: bool) -> Step | None:
        """Mark sentences as uncertain or certain."""
        return self._do(lambda p: op.mark(p, _ids(sentences), uncertain))

    def note(self, sentences: Sequence[int], text: str) -> Step | None:
        """Set the note of sentences; "" removes it."""
        return self._do(lambda p: op.note(p, _ids(sentences), text))

    def undo(self) -> Step | None:
        """Undo the person's last step."""
        return _step_or_none(self._session.undo())

    def redo(self) -> Step | None:
        """Redo the step that the person undid last."""
        return _step_or_none(self._session.redo())

    def _do(self, operation: Callable[[Partition], op.Operation]) -> Step | None:
        made = operation(self._session.partition)
        self._check_seen(made)
        return _step_or_none(self._session.do(made, self._reason, SELECTED))

    def _check_seen(self, made: op.Operation) -> None:
        if self._seen is None:
            return
        snapshot: Snapshot = self._session.snapshot
        touched = made.change_set.sentences()
        later = touched[snapshot.versions[snapshot.partition.rows(touched)] > self._seen]
        numbers = [c.number for c in made.change_set if isinstance(c, ClusterChange)]
        changed = [n for n in numbers if snapshot.cluster_versions.get(n, 0) > self._seen]
        if len(later) or changed:
            raise StaleChangeError(later.tolist(), changed)


def _ids(sentences: Sequence[int]) -> Ids:
    return np.array(sentences, dtype=np.int64)


def _known_cluster(partition: Partition, number: int) -> int:
    """Return the number of a cluster; raise ``UnknownNameError`` if there is none."""
    if number not in partition.clusters:
        raise UnknownNameError("cluster of this labelling", str(number), [str(n) for n in partition.clusters])
    return number


def _labelling(record: LabellingRecord) -> Labelling:
    about = record.name, record.kind.value, record.owner, record.article_id
    return Labelling(record.id, record.corpus_id, *about, record.sentences, record.created)


def _label(p: Partition, known: Mapping[int, Sentence], row: int) -> Label:
    id, number = int(p.ids[row]), int(p.numbers[row])
    cluster, name = (None, "") if number == UNASSIGNED else (number, p.clusters[number].name)
    return Label(known[id], cluster, name, bool(p.uncertain[row]), p.notes.get(id, ""))


def _step_or_none(step: history.Step | None) -> Step | None:
    return None if step is None else _step(step)


def _step(step: history.Step) -> Step:
    about = step.id, step.kind.value, step.operation, step.summary, step.person, step.when, step.target
    return Step(*about, step.reason, step.selection_method, step.size)
