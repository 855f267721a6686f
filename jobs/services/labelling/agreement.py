"""Labellings as coders of the same sentences, which of them count for agreement, and how it is settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import entr

from themescope.core.errors import UnknownNameError
from themescope.core.labelling import consensus
from themescope.core.labelling.agreement import CommonCodes, common_codes, dispute
from themescope.core.labelling.codebook.entries import entries_with
from themescope.core.labelling.operations import NOTE_LIMIT
from themescope.core.labelling.partition import (
    ALLOWED,
    Cluster,
    CodeSet,
    Entry,
    EntryKey,
    EntryKind,
    Partition,
    allows_several,
    code_clusters,
    coded,
    combinations,
    free_name,
    start,
)
from themescope.core.labelling.provenance import Source
from themescope.core.labelling.task_items import items_of, share_right
from themescope.core.metrics.partition import match_clusters
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.core.text.cleaning import folded_name
from themescope.core.types import Estimate, Floats, Ids, Labels, Sentence
from themescope.db.records import NewLabelling, TaskRecord
from themescope.db.store import Store, Unit
from themescope.jobs.common.labelled import ANNOTATOR, coded_sentences, gold_labels, joint_provenance
from themescope.jobs.services import tasks
from themescope.jobs.services.labelling.starts import Begin, Beginning, from_labels, labels_on
from themescope.jobs.services.samples import places_of

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
        return self.record.by_model

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
    items = tasks.items_of(r, known[0].id, known[1])
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


# Gold labellings from several labellings: by code where they have common codes, or else the posterior's consensus

Mask = npt.NDArray[np.bool_]
CLOSE = 0.1
"""Smallest difference between the probabilities of two places of a sentence that decides between them."""


@dataclass(frozen=True, slots=True, eq=False)
class Adjudication:
    """What follows from several labellings of n sentences; row i of every array is one sentence."""

    model: consensus.RaterModel | consensus.CodeModel
    """That of codes where the labellings have common ones."""
    labels: Labels
    """(n,) most probable codes, or clusters of the consensus; -1 for sentences that nobody has assigned."""
    certainty: Floats
    """(n,) probability of the code; of a cluster, the mean probability of belonging together with its others."""
    differ: Mask
    """(n,) sentences with different codes, or in different clusters after those of the article were matched."""
    dispute: Floats
    """(n,) bits of uncertainty about the code, or about pairs of the article on which people differ, per pair."""
    unclear: Mask
    """(n,) sentences without a code of more than half of the people, or without a clearly most probable cluster."""
    names: Mapping[int, str]
    """Name of each code; of a cluster of the consensus, that which people gave to most of its sentences."""
    expected_ari: float | None
    """Mean over articles of the expected adjusted Rand index with the true clusters."""


def adjudicated(
    raters: Sequence[Labels],
    articles: Ids,
    names: Sequence[Mapping[int, str]],
    gold: Collection[int] = (),
    sets: Sequence[Mapping[int, CodeSet]] = (),
) -> Adjudication:
    """Compute the posterior of the codes of labellings; of those without common codes, that of pairs and the consensus.

    The consensus is that of every article. Clusters of two articles are the same if people called them the same,
    because nobody may have labelled both articles. ``raters`` are the (n,) cluster numbers of each labelling, -1 for
    sentences that are unassigned or do not count, with the names and the combinations (``sets``) of its clusters;
    ``articles`` is the (n,) article of each sentence, ``gold`` the positions of labellings that are known to be right.
    """
    codes = common_codes(raters, names, sets, codebooks=True)
    if codes is not None:
        return _of_codes(codes, articles, gold)
    model = consensus.fit(raters, articles, gold)
    columns: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    expected = []
    for rows, posterior in consensus.by_article(model, raters, articles):
        own = [labels[rows] for labels in raters]
        found, value = _of_article(posterior, own, names, numbers)
        for name, values in found.items():
            columns.setdefault(name, np.zeros(len(articles), dtype=values.dtype))[rows] = values
        if (found["labels"] >= 0).sum() > 1:
            expected.append(value)
    called = {number: name.partition("\0")[0] for name, number in numbers.items()}
    mean = float(np.mean(expected)) if expected else None
    return Adjudication(model, **columns, names=called, expected_ari=mean)


def _of_codes(codes: CommonCodes, articles: Ids, gold: Collection[int]) -> Adjudication:
    model, n = consensus.fit_codes(codes.labels, len(codes.values), articles, gold), len(articles)
    people = [own for place, own in enumerate(codes.labels) if place not in gold]
    known = np.any([codes.labels[place] >= 0 for place in gold], axis=0)
    p = np.concatenate([model.probabilities, np.zeros((n, 1))], axis=1)  # at least one column
    best, certainty = p.argmax(axis=1), p.max(axis=1)
    votes = np.stack(people)
    differ = ((votes != votes.max(axis=0)) & (votes >= 0)).any(axis=0)
    labels, bits = np.where(certainty > 0, best, -1).astype(np.int32), entr(p).sum(axis=1) / np.log(2)
    unclear = replace(codes, labels=people).majority()[1] & ~known
    names = dict(enumerate(codes.names))
    return Adjudication(model, labels, certainty, differ, np.where(differ, bits, 0.0), unclear, names, None)


def _of_article(
    posterior: consensus.CoAssignment,
    raters: Sequence[Labels],
    names: Sequence[Mapping[int, str]],
    numbers: dict[str, int],
) -> tuple[dict[str, Any], float]:
    """Return the columns of an article, and the expected adjusted Rand index; ``numbers`` of clusters are extended."""
    made = consensus.consensus(posterior)
    differ = dispute(raters) > 0
    called = _names(made.labels, raters, names)
    clusters = np.unique(made.labels[made.labels >= 0]).tolist()
    number = np.full(max(clusters, default=-1) + 2, -1, dtype=np.int32)  # the last one stands for -1
    for label in clusters:
        # A cluster without a name of its own is none of another article.
        name = called.get(label) or f"\0{len(numbers)}"
        number[label] = numbers.setdefault(name, len(numbers))
    places = consensus.support(posterior)
    best = np.where(np.isnan(places), -1.0, places).max(axis=0, initial=-1.0)
    least = np.where(np.isnan(places), 2.0, places).min(axis=0, initial=2.0)
    unclear = differ & ((best < 0.5) | (best - least < CLOSE))  # no place is more probable than not, and than the least
    columns = {"labels": number[made.labels], "certainty": made.certainty, "differ": differ, "unclear": unclear}
    return columns | {"dispute": consensus.disputed(posterior)}, made.expected_ari


def _names(labels: Labels, raters: Sequence[Labels], names: Sequence[Mapping[int, str]]) -> dict[int, str]:
    """Name each cluster as most of its labels are called; a name is used once, where it is most frequent."""
    counts = Counter[tuple[int, str]]()
    for own, called in zip(raters, names, strict=False):
        both = (labels >= 0) & (own >= 0)
        pairs, times = np.unique(np.stack([labels[both], own[both]]), axis=1, return_counts=True)
        for label, number, count in zip(*pairs.tolist(), times.tolist(), strict=True):
            if name := called.get(number, ""):
                counts[label, name] += count
    found: dict[int, str] = {}
    for (label, name), _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if label not in found and name not in found.values():
            found[label] = name
    return found


def from_adjudication(labelling_ids: Sequence[int], placed_only: bool = False, gold_id: int | None = None) -> Begin:
    """Return what several labellings say together.

    Labellings with common codes keep them: the codebook is theirs, a sentence has each code that more than half of its
    people gave it, and where that is none, or half of them gave another one, it is open: marked uncertain, with a note
    of what everybody gave it. Other partitions become the consensus of the posterior, in which sentences without a
    clearly most probable cluster are marked uncertain.

    With ``placed_only``, only labels of the people who placed a sentence count where somebody did; sentences that
    nobody placed are where the labellings began. The labels of ``gold_id`` are known to be right.
    """

    def initial(store: Store, new: NewLabelling) -> Beginning:
        with store.reading() as r:
            records = [r.labellings.get(id) for id in labelling_ids]
            text = coded_text(r, records)
            gold, called = gold_on(r, gold_id, text.ids)
        ids, coders = text.ids, text.coders
        votes = [coder.labels for coder in coders]
        if placed_only:
            nobody = ~np.logical_or.reduce([coder.placed for coder in coders])
            votes = [np.where(coder.placed | nobody, coder.labels, -1).astype(np.int32) for coder in coders]
        names, sets = [coder.names for coder in coders], [coder.sets for coder in coders]
        origin: dict[str, Any] = {"from": "adjudication", "of": [record.name for record in records]}
        codes = common_codes(votes, names, sets, codebooks=True)
        if codes is not None:
            right = [called.get(int(number), "") for number in gold]
            partition, gave = _code_by_code(codes, coders, ids, right)
            origin |= {"method": "majority of each code", "open": int(partition.uncertain.sum())}
            with store.reading() as r:
                return Beginning(partition, origin, joint_provenance(r, records, ids, gave=gave))
        known = (gold >= 0).any()
        found = adjudicated(
            [*votes, *([gold] if known else [])], text.articles, [*names, called], [len(votes)] if known else []
        )
        expected = None if found.expected_ari is None else round(found.expected_ari, 4)
        origin |= {"method": "posterior", "expected_ari": expected, "equal": found.model.equal}
        first = from_labels(ids, found.labels, found.names, origin)(store, new)
        with store.reading() as r:
            gave = [match_clusters(found.labels, own).aligned == found.labels for own in votes]
            made = joint_provenance(r, records, ids, gave=gave)
        machine = np.array([maker.source is Source.MACHINE for maker in made.makers], np.bool_)[made.maker]
        made = replace(made, probability=np.where(machine, found.certainty, np.nan))
        return first._replace(partition=replace(first.partition, uncertain=found.unclear), labels=made)

    return initial


def gold_on(r: Unit, gold_id: int | None, ids: Ids) -> tuple[Labels, Mapping[int, str]]:
    """Return the (n,) right clusters of sentences, -1 where they are not known, and the names of the clusters."""
    labels = np.full(len(ids), -1, dtype=np.int32)
    if gold_id is None:
        return labels, {}
    known = gold_labels(r, gold_id)
    labels[:] = [known.get(int(id), -1) for id in ids]
    return labels, {number: cluster.name for number, cluster in r.labellings.clusters(gold_id).items()}


def _code_by_code(
    codes: CommonCodes, coders: Sequence[Coder], ids: Ids, right: Sequence[str]
) -> tuple[Partition, list[Mask]]:
    """Return the codes that more than half of the people gave, or that are ``right`` (n,), and who gave them."""
    partition, numbers = _joint_codebook(coders, ids)
    kept, still = codes.majority()
    known = np.array([folded_name(name) in numbers for name in right])
    kept = [(name,) if known[row] else kept[row] for row, name in enumerate(right)]
    still &= ~known
    said = [[codes.values[at] if at >= 0 else () for at in own] for own in codes.labels]
    gave = [np.array([not {*own}.isdisjoint(of) for own, of in zip(one, kept, strict=True)]) for one in said]
    people = [coder.record.owner or coder.record.name for coder in coders]
    notes: dict[int, str] = {}
    for row in np.flatnonzero(still).tolist():
        told = [f"{who}: {' + '.join(one[row])}" for who, one in zip(people, said, strict=True) if one[row]]
        notes[int(ids[row])] = " · ".join(told)[:NOTE_LIMIT]
    wanted = [frozenset(numbers[folded_name(name)] for name in names) for names in kept]
    found = coded(partition, dict(zip(ids.tolist(), wanted, strict=True)))
    return replace(found, notes=notes, uncertain=still), gave


def _joint_codebook(coders: Sequence[Coder], ids: Ids) -> tuple[Partition, dict[str, int]]:
    """Return sentences without codes but with the codebook of the first coder and what the others added to it.

    Also return the number of each code by its folded name.
    """
    clusters: dict[int, Cluster] = {}
    found: dict[EntryKey, Entry] = {}
    numbers: dict[str, int] = {}
    for coder in coders:
        texts, own = entries_with(coder.state, {*ids.tolist()}), dict[int, int]()
        for number, cluster in sorted(code_clusters(coder.state).items(), key=lambda one: one[1].parent is not None):
            folded = folded_name(coder.names[number])
            if folded not in numbers:
                fresh = number if coder is coders[0] else max(clusters, default=0) + 1
                numbers[folded], parent = fresh, None if cluster.parent is None else own[cluster.parent]
                name = free_name(start([], None, clusters.values()), cluster.name)
                clusters[fresh] = replace(cluster, number=fresh, name=name, parent=parent)
                if entry := texts.get((EntryKind.CODE, str(number))):
                    found[EntryKind.CODE, str(fresh)] = entry
            own[number] = numbers[folded]
        if allows_several(coder.state):
            found[EntryKind.CODES, ALLOWED] = Entry()
    return replace(start(ids, None, clusters.values()), entries=found), numbers


# Checks of the people of a task by its gold items


def _judged(r: Unit, task: TaskRecord) -> tuple[CodedText, dict[str, Coder], Labels, Mapping[int, str]]:
    """Return what the people of a task have judged so far, by person, the (n,) right clusters, and their names.

    The right ones are those of the gold labelling; -1 where there is none.
    """
    of = {m.person: r.labellings.get(m.labelling_id) for m in r.tasks.members(task.id) if m.labelling_id is not None}
    # The labellings have the sentences of the items; articles can have many more, of which a sample was drawn.
    text = coded_text(r, [*of.values()], None if of else ())
    return text, dict(zip(of, text.coders, strict=True)), *gold_on(r, task.gold_id, text.ids)


def checks(store: Store, task_id: int) -> dict[str, Estimate | None]:
    """Return the share of right labels of gold sentences of every person who has begun; None without any."""
    with store.reading() as r, r.seeing_all():
        _, coders, gold, names = _judged(r, r.tasks.get(task_id))
    right = {person: right_of(coder, gold, names) for person, coder in coders.items()}
    return {person: share_right([bool(x) for x in own[own >= 0]]) for person, own in right.items()}


@dataclass(frozen=True, slots=True)
class GoldAnswer:
    """What a person said about a gold sentence, beside the right cluster."""

    sentence: int
    given: str
    right: str
    correct: bool
    explanation: str
    """Why it belongs there."""


def gold_answers(store: Store, task_id: int, person: str) -> list[GoldAnswer]:
    """Return the answers of a person to the gold sentences of the items that they have done, if the task tells them."""
    with store.reading() as r, r.seeing_all():
        task = r.tasks.get(task_id)
        if task.gold_id is None or not task.settings.get("tell"):
            return []
        text, coders, gold, gold_names = _judged(r, task)
        items = [item for item in r.tasks.items(task_id) if item.person == person and item.done is not None]
        chosen = items_of(r.labellings.entries(task.gold_id), r.labellings.clusters(task.gold_id))
    if person not in coders:
        return []
    coder, why = coders[person], {item.sentence: item.explanation for item in chosen}
    right, done = right_of(coder, gold, gold_names), {*places_of(item.range for item in items)}
    answers = []
    for row, s in enumerate(text.sentences):
        if right[row] >= 0 and (s.article_id, s.position) in done:
            given, known = coder.state.clusters[int(coder.labels[row])].name, gold_names[int(gold[row])]
            answers.append(GoldAnswer(s.id, given, known, bool(right[row]), why.get(s.id, "")))
    return answers


def right_of(coder: Coder, gold: Labels, gold_names: Mapping[int, str]) -> Labels:
    """Return (n,) 1 where a person's label is the ``gold`` one (n,), 0 where it is another, -1 where one is missing.

    Clusters with the name of a gold cluster are that cluster. If no name is the same, clusters are matched one-to-one.
    """
    labels, names = coder.judged, {c.number: c.name for c in coder.state.clusters.values()}
    both = (labels >= 0) & (gold >= 0)
    result = np.full(len(labels), -1, dtype=np.int32)
    if not both.any():
        return result
    number_of = {name: number for number, name in gold_names.items()}
    if number_of.keys() & {*names.values()}:
        mapped = np.array([number_of.get(names.get(int(n), ""), -2) for n in labels[both]], dtype=np.int32)
    else:
        mapped = match_clusters(gold[both], labels[both]).aligned
    result[both] = mapped == gold[both]
    return result
