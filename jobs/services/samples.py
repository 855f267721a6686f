"""Random and stratified samples of a project that tasks give to people, and the sampling probabilities of sentences.

A sample is described by its rule: the articles that the project had, the values to which it was restricted, and the
number of units in each stratum and drawn from it. The rule is stored with the task and with the labellings of its
people. It names no ids, so that it stays right in a bundle, after the deletion of the task, and when a wave is added.

The frame of samples are the sentences that they could have drawn and that are still as they were: not those that were
added, removed or corrected since. Whatever follows from samples holds for their frame (:func:`frame_of`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from themescope.core.columns import ColumnLevel, ColumnType
from themescope.core.errors import DataError
from themescope.core.labelling.markup import counted
from themescope.core.labelling.provenance import Allocation, allocate, draw
from themescope.core.records.stored import CorpusEditRecord, CorpusRecord, EditKind, LabellingRecord
from themescope.core.types import Floats, Ids
from themescope.db.records import TaskRecord
from themescope.db.repositories.corpus_edits import every_wave
from themescope.db.store import Unit

SAMPLE = "sample"
"""Key of the rule in the settings of a task, and in the origin of a labelling of one."""
Range = tuple[int, int, int]
"""Article, position of the first sentence, position of the last one."""
ColumnKey = tuple[str, str]
"""Level and name of a column."""


@dataclass(frozen=True, slots=True)
class SampleForm:
    """What is entered to draw a sample."""

    number: int = 0
    """Number of units to draw; not used with ``given``."""
    whole_articles: bool = False
    """Whether articles are drawn rather than sentences."""
    by: ColumnKey | None = None
    """Column of categories whose values are the strata."""
    allocation: Allocation = Allocation.PROPORTIONAL
    given: tuple[tuple[str, int], ...] = ()
    """With :attr:`.Allocation.GIVEN`, number of units of each value of the column, 0 of others; "" is a missing one."""
    where: tuple[ColumnKey, tuple[str, ...]] | None = None
    """Column of categories and the values to which the sample is restricted."""
    new_only: bool = False
    """Whether sentences of earlier samples are left out."""
    outside: bool = False
    """Whether the sample is restricted to sentences outside of the frame of earlier samples."""


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """Rule by which a sample was drawn."""

    task: str
    """Name of the task."""
    drawn: str
    """Time in ISO form, which distinguishes tasks of the same name."""
    seed: int
    articles: int
    """The project had the articles at the positions 0 … ``articles`` - 1."""
    whole_articles: bool
    by: ColumnKey | None
    allocation: str
    where: tuple[ColumnKey, tuple[str, ...]] | None
    new_only: bool
    """Whether sentences of earlier samples were left out."""
    strata: tuple[tuple[str | None, int, int], ...]
    """Value (None: missing, or no column), number of units that could be drawn, and of units drawn."""
    outside: bool = False
    """Whether only sentences outside of the frame of earlier samples could be drawn."""

    @property
    def when(self) -> datetime:
        """Time at which the sample was drawn."""
        return datetime.fromisoformat(self.drawn)

    @property
    def number(self) -> int:
        """Number of units drawn."""
        return sum(drawn for _, _, drawn in self.strata)

    def text(self) -> str:
        """Return what was drawn from a project."""
        units = sum(units for _, units, _ in self.strata)
        found = f"{self.number:,} of {units:,} {'article' if self.whole_articles else 'unit'}s at random"
        if self.where is not None:
            (_, name), values = self.where
            found += f", only where {name} is {' or '.join(values)}"
        if self.by is not None:
            found += f", {len(self.strata):,} strata by {self.by[1]} ({self.allocation})"
        found += ", none of earlier samples" if self.new_only else ""
        return found + (", only units that earlier samples could not have drawn" if self.outside else "")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON value."""
        return asdict(self)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> DrawnSample:
        """Return the sample that :meth:`to_json` described."""
        return _RULE.validate_python(value)


_RULE = TypeAdapter(DrawnSample)


def drawn(r: Unit, corpus_id: int, task: str, form: SampleForm, seed: int) -> tuple[DrawnSample, list[Range]]:
    """Draw a sample of a project; return its rule, and its sentences or articles in reading order.

    The same task and seed give the same sample. Raises :class:`DataError` if there are too few units, or if a column
    has no categories.
    """
    if form.whole_articles:
        stored = r.corpora.articles_by_id(r.corpora.article_ids(corpus_id))
        listed = [article for article in stored.values() if article.sentences]
        listed.sort(key=lambda article: article.position)
        ids = articles = np.array([article.id for article in listed], np.int64)
        ranges = np.array([(article.id, 0, article.sentences - 1) for article in listed], np.int64).reshape(-1, 3)
    else:
        places = r.maps.places(r.corpora.sentence_ids(corpus_id))
        ids, articles = places.ids, places.articles
        ranges = np.stack([articles, places.positions, places.positions], axis=1)
    kept = np.ones(len(ids), np.bool_)
    if form.where is not None:
        kept &= np.isin(_values(r, corpus_id, form.where[0], ids, articles, form.whole_articles), form.where[1])
    if form.new_only or form.outside:
        if form.whole_articles:
            raise DataError("Earlier samples can be left out of a sample of sentences, not of whole articles.")
        if form.new_only:
            kept &= ~np.isin(ids, [id for task in r.tasks.list(corpus_id) for id in _given(r, task, None)])
        if form.outside:
            kept &= np.isnan(sampling_probabilities(r, corpus_id, ids))
    if not kept.any():
        raise DataError("No sentence can be drawn. Choose other values, or include sentences of earlier samples.")
    names: list[str | None] = [None]
    strata: npt.NDArray[np.integer] = np.zeros(int(kept.sum()), np.int64)
    if form.by is not None:
        values = _values(r, corpus_id, form.by, ids[kept], articles[kept], form.whole_articles)
        unique, strata = np.unique(np.array([value or "" for value in values.tolist()]), return_inverse=True)
        names = [value or None for value in unique.tolist()]
    # Samples of different tasks must be independent with the same seed, too: probabilities of unions rely on it.
    known = sum(sample.task == task for sample in samples_of(r, corpus_id))
    wanted = _wanted(form, np.bincount(strata.ravel()).astype(np.int64), names)
    found = draw(strata.ravel(), wanted, [seed, known, *task.encode()])
    sizes = zip(names, found.sizes.tolist(), found.drawn.tolist(), strict=True)
    now, imported = datetime.now(UTC).isoformat(), r.corpora.imported_articles(corpus_id)
    how = form.whole_articles, form.by, form.allocation.value, form.where, form.new_only
    rule = DrawnSample(task, now, seed, imported, *how, tuple(sizes), form.outside)
    return rule, [(article, first, last) for article, first, last in ranges[kept][found.rows].tolist()]


def _wanted(form: SampleForm, sizes: Ids, names: list[str | None]) -> Ids:
    """Return the (k,) number of units to draw from strata of ``sizes`` (k,) with ``names``."""
    if form.allocation is not Allocation.GIVEN:
        return allocate(sizes, form.number, form.allocation)
    there, given = {name or "": int(size) for name, size in zip(names, sizes, strict=True)}, dict(form.given)
    if many := [name for name, number in given.items() if number > there.get(name, 0)]:
        name = many[0]
        raise DataError(
            f"{given[name]:,} with {repr(name) if name else 'no value'} cannot be drawn from {there.get(name, 0):,}. "
            "Lower the number, or include those of earlier samples."
        )
    return np.array([given.get(name or "", 0) for name in names], np.int64)


def samples_of(r: Unit, corpus_id: int) -> list[DrawnSample]:
    """Return the samples that tasks of a project gave to people, oldest first.

    Those of deleted tasks are among them as long as there are labellings of these tasks.
    """
    stored = [task.settings.get(SAMPLE) for task in r.tasks.list(corpus_id)]
    stored += [labelling.origin.get(SAMPLE) for labelling in r.labellings.list(corpus_id)]
    return sorted({DrawnSample.from_json(value) for value in stored if value}, key=lambda sample: sample.when)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The sentences of a project that its samples could have drawn as they are now; estimates hold for them alone."""

    probabilities: Floats
    """(n,) probability of each sentence to be given to people; NaN outside of the frame."""
    text: str
    """For which sentences estimates hold, and which others are outside: ``all 60 sentences of the project``."""
    whole: bool
    """Whether it is the whole project, as it was when the samples were drawn."""


def frame_of(r: Unit, corpus: CorpusRecord, ids: Ids, articles: Ids, samples: Sequence[DrawnSample]) -> Frame:
    """Return the frame of ``samples``, at least one, oldest first, among the sentences ``ids`` (n,) of a project."""
    known = samples_of(r, corpus.id)
    p = _union(r, corpus.id, ids, articles, known, samples)
    inside, positions = ~np.isnan(p), _positions(r, articles)
    edits = r.corpus_edits.list(corpus.id)
    added = ~inside & (positions >= max(sample.articles for sample in samples))
    changed = ~inside & ~added & np.isin(ids, _changed(edits, samples[0]))
    removed = 0
    for edit in edits:
        before = [sample for sample in known if sample.when < edit.created]
        if edit.kind is not EditKind.TEXT and edit.undone is None and before:
            gone = [*chain(*r.corpora.sentences_of(r.corpus_edits.removed_articles(edit.id)).values())]
            gone_ids, owners = np.array([(one.id, one.article_id) for one in gone], np.int64).reshape(-1, 2).T
            removed += int((~np.isnan(_union(r, corpus.id, gone_ids, owners, before, samples))).sum())
    waves = every_wave(corpus.report)
    wave = np.searchsorted([one["first"] for one in waves], positions, side="right") - 1

    def of_waves(where: npt.NDArray[np.bool_]) -> str:
        return ", ".join(f"“{waves[number]['name']}”" for number in np.unique(wave[where]).tolist()) if waves else ""

    reasons = {
        f"added since{f' ({of_waves(added)})' if waves else ''}": int(added.sum()),
        "with a text changed since": int(changed.sum()),
        "removed since": removed,
        "that it left out": int((~inside & ~added & ~changed).sum()),
    }
    told = [f"{number:,} {reason}" for reason, number in reasons.items() if number]
    if not told:
        return Frame(p, f"all {counted(len(ids), 'unit')} of the project", True)
    whose = f" of {of_waves(inside)}" if len(np.unique(wave[inside])) < len(np.unique(wave)) else ""
    drawable = f"the {counted(int(inside.sum()), 'unit')}{whose} that the sample could draw"
    return Frame(p, f"{drawable}; outside of it: {', '.join(told)}", False)


def sampling_probabilities(r: Unit, corpus_id: int, ids: Ids) -> Floats:
    """Return the probability (n,) that sentences ``ids`` were given to people by any sample of their project.

    A sentence that several samples could have drawn has the probability 1 - ∏ (1 - p) of their union. That holds for
    samples that left out sentences of earlier ones as well: p is the probability of a sentence that was not drawn
    before. NaN where no sample could have drawn a sentence with its present text.
    """
    samples = samples_of(r, corpus_id)
    return _union(r, corpus_id, ids, r.maps.places(ids).articles, samples, samples)


def _union(
    r: Unit, corpus_id: int, ids: Ids, articles: Ids, samples: Sequence[DrawnSample], of: Sequence[DrawnSample]
) -> Floats:
    """Return the probability (n,) of sentences to be in any of the samples ``of``, which are some of ``samples``."""
    missed, free = np.ones(len(ids)), np.ones(len(ids))  # probabilities to be in none of them, and of all samples
    reached, found = np.zeros(len(ids), np.bool_), np.zeros(len(ids), np.bool_)
    if samples and len(ids):
        positions, edits = _positions(r, articles), r.corpus_edits.list(corpus_id)
        for sample in samples:
            p = _probabilities(r, corpus_id, sample, ids, articles)
            p[(positions >= sample.articles) | np.isin(ids, _changed(edits, sample))] = np.nan
            if sample.outside:
                p[reached] = np.nan
            reached |= ~np.isnan(p)
            if sample in of:
                found |= ~np.isnan(p)
                missed = missed - free * np.nan_to_num(p) if sample.new_only else missed * (1 - np.nan_to_num(p))
            free = free * (1 - np.nan_to_num(p))
    return np.where(found, 1 - missed, np.nan)


def _positions(r: Unit, articles: Ids) -> Ids:
    unique, row = np.unique(articles, return_inverse=True)
    known = r.corpora.articles_by_id(unique)
    return np.array([known[id].position for id in unique.tolist()], np.int64)[row.ravel()]


def _changed(edits: Sequence[CorpusEditRecord], sample: DrawnSample) -> list[int]:
    """Return the sentences whose text is another one than when a sample was drawn."""
    when, texts = sample.when, [edit for edit in edits if edit.kind is EditKind.TEXT]
    later = [one for one in texts if one.created > when and one.undone is None]
    undone = [one for one in texts if one.created <= when and one.undone is not None and one.undone > when]
    return [one.sentence_id for one in (*later, *undone)]


def _probabilities(r: Unit, corpus_id: int, sample: DrawnSample, ids: Ids, articles: Ids) -> Floats:
    of = {name: drawn / units for name, units, drawn in sample.strata if drawn}
    if sample.by is None:
        found = np.full(len(ids), of[None])
    else:
        values = _values(r, corpus_id, sample.by, ids, articles)
        found = np.array([of.get(value, np.nan) for value in values.tolist()])
    if sample.where is not None:
        found[~np.isin(_values(r, corpus_id, sample.where[0], ids, articles), sample.where[1])] = np.nan
    return found


def _values(
    r: Unit, corpus_id: int, key: ColumnKey, ids: Ids, articles: Ids, whole_articles: bool = False
) -> np.ndarray:
    """Return (n,) values of a column of categories as texts, and None where they are missing."""
    level, name = key
    known = r.columns.list(corpus_id, with_removed=True)  # a wave from which a sample was drawn may be gone
    column = next((one for one in known if (one.level, one.name) == key), None)
    if column is None or column.type != ColumnType.CATEGORY:
        raise DataError(f"The project has no column {name!r} of categories. Samples need one.")
    if whole_articles and level == ColumnLevel.SENTENCE:
        raise DataError(f"The sentences of an article can have different values of {name!r}. Draw sentences instead.")
    codes = r.columns.values(column, ids if level == ColumnLevel.SENTENCE else articles)
    return np.array([*column.categories, None], dtype=object)[codes]


@dataclass(frozen=True, slots=True)
class GivenSamples:
    """The samples from which the labels of some labellings are, and what was given to their people."""

    samples: tuple[DrawnSample, ...]
    """Oldest first, without those of which nothing is labelled."""
    drawn: Ids
    """Sentences that the samples gave to anybody."""
    given: Ids
    """Those that they gave to the people of the labellings; to anybody, if a labelling is not that of one person."""
    removed: int
    """Number of sentences that they drew and that were removed since."""


def given_samples(r: Unit, corpus_id: int, labellings: Sequence[LabellingRecord], labelled: Ids) -> GivenSamples:
    """Return the samples from which ``labelled`` sentences of labellings are."""
    owners = [r.tasks.of_labelling(record.id) for record in labellings]
    drawn: dict[DrawnSample, set[int]] = {}
    given = set[int]()
    for task in r.tasks.list(corpus_id):
        if SAMPLE in task.settings:
            own = drawn.setdefault(DrawnSample.from_json(task.settings[SAMPLE]), set())
            own |= _given(r, task, None)
            for owner in owners:
                if owner is None or owner[0].id == task.id:
                    given |= own if owner is None else _given(r, task, owner[1])
    existing = {*drawn}
    for record in r.labellings.list(corpus_id):
        if SAMPLE in record.origin and (sample := DrawnSample.from_json(record.origin[SAMPLE])) not in existing:
            # The task was deleted: its labellings have what it gave to their people.
            own = {*r.labellings.snapshot(record.id).partition.ids.tolist()}
            drawn.setdefault(sample, set()).update(own)
            given |= own if record in labellings or None in owners else set()
    of = [sample for sample in samples_of(r, corpus_id) if drawn[sample] & {*labelled.tolist()}]
    every = {*chain(*(drawn[sample] for sample in of))}
    removed = sum(max(0, one.number - len(drawn[one])) for one in of if one in existing and not one.whole_articles)
    all_, own_ = (np.array(sorted(ids), np.int64) for ids in (every, given & every))
    return GivenSamples(tuple(of), all_, own_, removed)


def _given(r: Unit, task: TaskRecord, person: str | None) -> set[int]:
    """Return the sentences of the items of a task with a sample, of everybody or of a person."""
    if SAMPLE not in task.settings:
        return set()
    return {s.id for s in r.corpora.sentences_at(places_of(item.range for item in r.tasks.items(task.id, person)))}


def places_of(ranges: Iterable[Range]) -> list[tuple[int, int]]:
    """Return the article and the position of each sentence of ranges, each sentence once."""
    return [*dict.fromkeys((article, at) for article, first, last in ranges for at in range(first, last + 1))]
