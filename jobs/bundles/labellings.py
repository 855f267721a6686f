"""Labellings as JSON lines: initial state, sentences, and every step with its author.

The current state is not stored: it follows from the steps, and is checked against a digest on reading. Sentences are
identified by their text and position, so that they are found in another store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.errors import ReadError
from themescope.core.labelling import changes, partition
from themescope.core.labelling.changes import ChangeSet, ClusterChange, EntryChange, Field, Kind, SentenceChanges, Step
from themescope.core.labelling.codebook.entries import string
from themescope.core.labelling.operations import OperationKind, only_about, without
from themescope.core.labelling.partition import UNASSIGNED, Cluster, Entry, EntryKey, EntryKind, Partition
from themescope.core.labelling.provenance import Maker, Provenance, Source, of_rows, with_approvals
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.core.types import Ids
from themescope.db.records import NewLabelling
from themescope.db.store import Store, Unit
from themescope.jobs.common.labelled import approvals_of, start_provenance

FORMAT, VERSION = "themescope labelling", 1


@dataclass(frozen=True, slots=True)
class SentencePlace:
    """Position and text of a sentence."""

    article: str
    position: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class LabellingDocument:
    """A labelling with its history."""

    about: Mapping[str, Any]
    """Name, owner, kind, blind, origin, created, corpus."""
    start: Partition
    log: tuple[tuple[Step, ChangeSet], ...]
    places: Mapping[int, SentencePlace]
    """Sentence id, as in the other fields, → position."""
    labels: Provenance | None = None
    """Who or what made the initial labels; None in files of versions that did not write it."""

    def end(self) -> Partition:
        """Return the state after the last step."""
        return changes.replay(self.start, (change_set for _, change_set in self.log))


def export_document(store: Store, labelling_id: int) -> LabellingDocument:
    """Return a labelling with its complete history. What was approved in a task is a step of it.

    Sentences that were removed from the corpus are left out of the state and of every step.
    """
    with store.reading() as r:
        record, snapshot = r.labellings.get(labelling_id), r.labellings.snapshot(labelling_id)
        log, approvals = tuple(r.label_steps.since(labelling_id, 0)), approvals_of(r, record)
        labels = start_provenance(r, record, snapshot.partition.ids)
        touched = [change_set.sentences() for _, change_set in log]
        every = np.unique(np.concatenate([snapshot.partition.ids, *touched]))
        there = r.maps.places(every).ids
        sentences = r.corpora.sentences_by_id(there)
        titles = r.corpora.articles_by_id({s.article_id for s in sentences.values()})
        corpus = r.corpora.get(record.corpus_id).name
    about: dict[str, Any] = {"name": record.name, "owner": record.owner, "kind": record.kind.value}
    about |= {"blind": record.blind, "origin": dict(record.origin), "corpus": corpus}
    about["one_article"] = record.article_id is not None
    places = {i: SentencePlace(titles[s.article_id].title, s.position, s.text) for i, s in sentences.items()}
    first = changes.rewind(snapshot.partition, [change_set for _, change_set in log])
    if len(there) < len(every):
        first, kept = without(first, np.setdiff1d(first.ids, there)), frozenset(there.tolist())
        log = tuple((step, only_about(change_set, kept)) for step, change_set in log)
    if not approvals:
        return LabellingDocument(about, first, log, places, labels)
    return numbered(LabellingDocument(about, first, tuple(with_approvals(first, log, approvals)), places, labels))


def store_document(unit: Unit, corpus_id: int, document: LabellingDocument, article_id: int | None) -> LabellingRecord:
    """Store a labelling with its people, steps and times; its name is numbered if taken.

    ``article_id`` is the article of its sentences if they are all of one.
    """
    about, name = document.about, unit.labellings.usable_name(str(document.about["name"]))
    owner, kind, blind = str(about["owner"]), Sharing(about["kind"]), bool(about["blind"])
    article = article_id if about.get("one_article") else None
    new = NewLabelling(corpus_id, name, owner, kind, blind, article, dict(about["origin"]))
    record = unit.labellings.add_imported(new, document.start, document.labels)
    unit.label_steps.take_over(record.id, document.log, document.start)
    return record


def to_lines(document: LabellingDocument) -> Iterator[str]:
    """Yield the lines of the file, including line ends."""
    end = hashlib.sha256(document.end().to_bytes()).hexdigest()
    yield _line({"format": FORMAT, "version": VERSION, "about": dict(document.about), "end": end})
    start = document.start
    for _, cluster in sorted(start.clusters.items()):
        yield _line({"cluster": cluster.packed()})
    for key, entry in sorted(start.entries.items(), key=itemgetter(0)):
        yield _line({"entry": [*key, entry.packed()]})
    for row, (id, number) in enumerate(zip(start.ids.tolist(), start.numbers.tolist(), strict=True)):
        place = document.places[id]
        sentence = {"id": id, "article": place.article, "position": place.position, "text": place.text}
        about = {"cluster_number": number, "uncertain": bool(start.uncertain[row]), "note": start.notes.get(id, "")}
        if document.labels is not None and number != UNASSIGNED:
            about |= {"made_by": document.labels.cells(row)}
        yield _line({"sentence": sentence, **about})
    for id in sorted(document.places.keys() - set(start.ids.tolist())):  # those that a step added
        yield _line({"later": {"id": id, **asdict(document.places[id])}})
    for step, change_set in document.log:
        facts: dict[str, Any] = {"coder": step.coder} if step.coder else {}
        facts |= {key: getattr(step, name) for key, name in _STEP.items()}
        facts |= {"when": step.when.isoformat(), "kind": step.kind.value}
        yield _line({"step": facts, "changes": [_change(change) for change in change_set]})


_STEP = {
    "id": "id",
    "what": "operation",
    "said": "summary",
    "person": "person",
    "target": "target",
    "why": "reason",
    "how": "selection_method",
    "size": "size",
}
"""Key in the file → field of a step. The keys are those of version 0.1 of Themescope."""


def from_lines(lines: Iterable[str], path: Path | str = "the file") -> LabellingDocument:
    """Read what :func:`to_lines` wrote; raise :class:`ReadError` if a line is damaged or missing."""
    head: dict[str, Any] = {}
    clusters: list[Cluster] = []
    entries: dict[EntryKey, Entry] = {}
    sentences: list[_Sentence] = []
    later: dict[int, SentencePlace] = {}
    log: list[tuple[Step, ChangeSet]] = []
    steps: set[int] = set()
    for number, line in enumerate(_decoded(lines, path), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            if number == 1:
                head = _head(entry)
            elif "cluster" in entry:
                clusters.append(_cluster(entry["cluster"]))
            elif "entry" in entry:
                _add_entry(entries, entry["entry"])
            elif "sentence" in entry:
                sentences.append(_sentence(entry))
            elif "later" in entry:
                later[whole_number(entry["later"]["id"])] = _place(entry["later"])
            else:
                log.append((_step(entry["step"], steps), ChangeSet(tuple(_unpacked(c) for c in entry["changes"]))))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            problem = "this line is not part of an exported labelling."
            raise ReadError(path, problem, f"line {number}", "Export it again.") from error
    if not head:
        raise ReadError(path, "the file is empty.", "", "Export the coding again.")
    first = _start(clusters, entries, sentences)
    made = {s.id: s.made_by for s in sentences if s.made_by is not None}
    places = dict(sorted((later | {s.id: s.place for s in sentences}).items()))
    labels = of_rows(first.ids, made) if made else None
    document = LabellingDocument(head["about"], first, tuple(log), places, labels)
    _check(document, head["end"], path)
    return document


def _decoded(lines: Iterable[str], path: Path | str) -> Iterator[str]:
    try:
        yield from lines
    except UnicodeDecodeError as error:
        raise ReadError(path, "this is not text in UTF-8.", "", "Export it again.") from error


def _head(entry: dict[str, Any]) -> dict[str, Any]:
    if entry["format"] != FORMAT or entry["version"] != VERSION:
        raise ValueError(entry)
    about = dict(entry["about"])
    for name in ("name", "owner", "kind"):
        string(about[name])
    Sharing(about["kind"])
    if not isinstance(about["blind"], bool) or not isinstance(about["origin"], dict):
        raise TypeError(entry)
    return {"about": about, "end": string(entry["end"])}


def _start(clusters: list[Cluster], entries: dict[EntryKey, Entry], sentences: list[_Sentence]) -> Partition:
    order = sorted(sentences, key=lambda sentence: sentence.id)
    ids, numbers = (np.array([getattr(s, name) for s in order], dtype=np.int64) for name in ("id", "number"))
    uncertain, notes = np.array([s.uncertain for s in order], dtype=np.bool_), {s.id: s.note for s in order if s.note}
    return Partition(ids, numbers, uncertain, notes, {cluster.number: cluster for cluster in clusters}, entries)


def _check(document: LabellingDocument, end: str, path: Path | str) -> None:
    try:
        # Invalid initial states are rejected: a duplicate sentence, or one in an unknown cluster.
        partition.start(document.start.ids, document.start.numbers, document.start.clusters.values())
        if partition.misplaced(document.start.clusters):
            raise ValueError("a sub-theme without a theme")
        for entry in document.start.entries.values():
            document.start.rows(entry.sentences)
        found = hashlib.sha256(document.end().to_bytes()).hexdigest()
    except Exception as error:
        raise ReadError(path, "its steps do not fit its sentences.", "", "Export it again.") from error
    if found != end:
        raise ReadError(path, "a part of it is missing or was changed.", "", "Export it again.")


def moved(document: LabellingDocument, names: Mapping[int, int]) -> LabellingDocument:
    """Return the labelling with its sentence ids replaced; the mapping must cover every sentence."""
    start = document.start
    ids = np.array([names[int(i)] for i in start.ids], dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    notes = {names[i]: note for i, note in start.notes.items()}
    entries = {key: entry.with_sentences(names) for key, entry in start.entries.items()}
    first = Partition(ids[order], start.numbers[order], start.uncertain[order], notes, start.clusters, entries)
    log = tuple((step, ChangeSet(tuple(_renamed(c, names) for c in change_set))) for step, change_set in document.log)
    places = {names[i]: place for i, place in document.places.items()}
    labels = None if document.labels is None else document.labels.at(order)
    return LabellingDocument(document.about, first, log, places, labels)


def numbered(document: LabellingDocument) -> LabellingDocument:
    """Return the labelling with steps numbered 1, 2, …, because ids are valid only in their own store."""
    names = {0: 0} | {step.id: number for number, (step, _) in enumerate(document.log, 1)}
    log = tuple(
        (replace(step, id=names[step.id], target=None if step.target is None else names[step.target]), change_set)
        for step, change_set in document.log
    )
    return replace(document, log=log)


def _renamed(change: changes.Change, names: Mapping[int, int]) -> changes.Change:
    if isinstance(change, ClusterChange):
        return change
    if isinstance(change, EntryChange):
        sides = (entry and entry.with_sentences(names) for entry in (change.old, change.new))
        return EntryChange(change.kind, change.key, *sides)
    ids: Ids = np.array([names[int(i)] for i in change.ids], dtype=np.int64)
    order = np.argsort(ids, kind="stable")
    old, new = np.asarray(change.old)[order], np.asarray(change.new)[order]
    sure = None if change.probability is None else change.probability[order]
    return SentenceChanges(change.field, ids[order], old, new, sure)


def _line(entry: dict[str, Any]) -> str:
    # Non-ASCII characters are escaped, because some could end a line or cannot be encoded (U+2028, lone surrogates).
    return json.dumps(entry, ensure_ascii=True) + "\n"


def _change(change: changes.Change) -> dict[str, Any]:
    if isinstance(change, ClusterChange):
        return {"old": change.old and change.old.packed(), "new": change.new and change.new.packed()}
    if isinstance(change, EntryChange):
        old, new = (entry and entry.packed() for entry in (change.old, change.new))
        return {"entry": [change.kind.value, change.key], "old": old, "new": new}
    columns = {name: np.asarray(getattr(change, name)).tolist() for name in ("ids", "old", "new")}
    if change.probability is not None:
        columns["probability"] = [None if np.isnan(value) else value for value in change.probability.tolist()]
    return {"field": change.field.value, **columns}


def _unpacked(entry: dict[str, Any]) -> changes.Change:
    if "entry" in entry:
        kind, key = entry["entry"]
        sides = (None if value is None else partition.unpacked(value) for value in (entry["old"], entry["new"]))
        return EntryChange(EntryKind(kind), string(key), *sides)
    if "field" not in entry:
        old, new = (None if value is None else _cluster(value) for value in (entry["old"], entry["new"]))
        if len({cluster.number for cluster in (old, new) if cluster is not None}) != 1:
            raise ValueError(entry)
        return ClusterChange(old, new)
    field = Field(entry["field"])
    ids = [whole_number(id) for id in entry["ids"]]
    if len({*ids}) < len(ids) or not len(ids) == len(entry["old"]) == len(entry["new"]):
        raise ValueError(entry)
    checked, kind = (string, object) if field is Field.NOTE else (whole_number, np.int64)
    before, after = (np.array([checked(value) for value in entry[name]], dtype=kind) for name in ("old", "new"))
    sure = None
    if "probability" in entry:
        sure = np.array([np.nan if p is None else _probability(p) for p in entry["probability"]], dtype=np.float64)
        if len(sure) != len(ids):
            raise ValueError(entry)
    return SentenceChanges(field, np.array(ids, dtype=np.int64), before, after, sure)


def _probability(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 <= value <= 1.0:
        raise ValueError(value)
    return float(value)


def _step(facts: dict[str, Any], known: set[int]) -> Step:
    """Parse a step and add its id to ``known``; a step can only undo steps that are already known."""
    id, target = whole_number(facts["id"]), facts["target"]
    kind, when = Kind(facts["kind"]), datetime.fromisoformat(facts["when"])
    # Only a step that goes back has a target without undoing or redoing it: the step whose state it restores.
    allowed = {*known} if kind is not Kind.DO else {None, 0, *known} if facts["what"] == OperationKind.BACK else {None}
    if id in known or when.tzinfo is None or target not in allowed:
        raise ValueError(facts)
    known.add(id)
    texts = {_STEP[key]: string(facts[key]) for key in ("what", "said", "person", "why", "how")}
    texts["coder"] = string(facts.get("coder", ""))
    return Step(id=id, kind=kind, when=when, target=target, size=whole_number(facts["size"]), **texts)


@dataclass(frozen=True, slots=True)
class _Sentence:
    id: int
    place: SentencePlace
    number: int
    uncertain: bool
    note: str
    made_by: tuple[Maker, float | None] | None


def _place(facts: dict[str, Any]) -> SentencePlace:
    return SentencePlace(string(facts["article"]), whole_number(facts["position"]), string(facts["text"]))


def _sentence(entry: dict[str, Any]) -> _Sentence:
    facts, uncertain = entry["sentence"], entry["uncertain"]
    if not isinstance(uncertain, bool):
        raise TypeError(uncertain)
    place = _place(facts)
    number = whole_number(entry["cluster_number"])
    made_by = None
    if "made_by" in entry:
        source, coder, sure = entry["made_by"]
        made_by = Maker(Source(source), string(coder)), None if sure is None else _probability(sure)
    return _Sentence(whole_number(facts["id"]), place, number, uncertain, string(entry["note"]), made_by)


def whole_number(value: Any) -> int:
    """Return ``value`` if it is an integer that fits a database column; raise ``TypeError`` otherwise."""
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise TypeError(value)
    return value


def _add_entry(entries: dict[EntryKey, Entry], value: list[Any]) -> None:
    kind, key, packed = value
    place = EntryKind(kind), string(key)
    if place in entries:
        raise ValueError(value)
    entries[place] = partition.unpacked(packed)


def _cluster(value: list[Any]) -> Cluster:
    number, name, colour, *parent = value
    if whole_number(number) < 0 or not 0 <= whole_number(colour) < partition.COLOURS or len(parent) > 1:
        raise ValueError(value)
    return Cluster(number, string(name), colour, *map(whole_number, parent))
