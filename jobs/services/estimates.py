"""Estimates of how much of a project has a code, from people's labels and the machine's predictions."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import numpy.typing as npt

from themescope.core.columns import ColumnType, as_text, plain_values
from themescope.core.errors import DataError, UnknownNameError
from themescope.core.estimates.report import replication_files
from themescope.core.estimates.shares import CodedUnits
from themescope.core.labelling.markup import counted
from themescope.core.labelling.partition import Partition, code_clusters, code_names, has_code
from themescope.core.metrics.statistics import periods_of, usual_period
from themescope.core.records.stored import ColumnRecord, CorpusRecord, LabellingRecord, Sharing
from themescope.core.types import Floats, Ids
from themescope.db.store import Unit
from themescope.jobs.common.files import safe_name
from themescope.jobs.common.labelled import coded_sentences, documents_of, judged_sentences
from themescope.jobs.services.samples import frame_of, given_samples

# What estimates are made of: labels of people, codes of a machine, sampling probabilities, and groups

NO_MACHINE = "There are no predictions of the whole project. Label the rest for narrower intervals."


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """n sentences and k codes of a project."""

    corpus: CorpusRecord
    labellings: tuple[LabellingRecord, ...]
    codes: tuple[str, ...]
    ids: Ids
    """(n,) sentences, ascending: those in the frame with a machine's code, or all of it without a machine."""
    articles: Ids
    """(n,) article of each sentence."""
    documents: Ids
    """(n,) document of each sentence, see :mod:`themescope.jobs.common.labelled`."""
    labels: Floats
    """(n, k) share of the people who gave the code; NaN where nobody labelled the sentence."""
    machine: Floats | None
    """(n, k) probabilities of the codes, or 0 and 1; None without a machine."""
    coder: str
    """What coded all sentences; "" without a machine."""
    probabilities: Floats | None
    """(n,) sampling probabilities; NaN of labels outside of a sample, None if no label is from a sample."""
    given: npt.NDArray[np.bool_]
    """(n,) sentences that samples gave to the people of the labellings; open if they have no label."""
    coded: npt.NDArray[np.bool_]
    """(n, k) sentences that have the code in a labelling as it is now, whoever gave it."""
    counted: str
    """Why sentences are counted and no share is estimated; "" if shares are estimated."""
    outside: int
    """Number of sentences of the project that the samples could not have drawn as they are now."""
    frame: str
    """For which sentences the estimates hold, such as ``all 60 sentences of the project``."""
    holds: tuple[str, ...]
    """The frame with what is outside of it, and what is left out or open, and why."""
    notes: tuple[str, ...]
    """What would make them better."""

    def units(self, code: str) -> CodedUnits:
        """Return the units of one code."""
        column = self.codes.index(code)
        codes = None if self.machine is None else self.machine[:, column]
        chances = np.full(len(self.ids), np.nan) if self.counted else self.probabilities
        return CodedUnits(self.labels[:, column], codes, chances, self.documents, self.given, self.coded[:, column])


def open_study(r: Unit, labellings: Sequence[LabellingRecord], machine: LabellingRecord | None = None) -> Study:
    """Return the study of labellings of one project, whose codes are joined by their names.

    ``machine`` is a labelling of a model that coded sentences; by default, the predictions of the first labelling that
    has any. Raises :class:`DataError` if the labellings have no label of a person, or are of several projects.
    """
    if len({record.corpus_id for record in labellings}) != 1:
        raise DataError("Estimates are of one project. Choose codings of the same project.")
    corpus = r.corpora.get(labellings[0].corpus_id)
    states = [r.labellings.snapshot(record.id).partition for record in labellings]
    judged = [judged_sentences(r, record, state) for record, state in zip(labellings, states, strict=True)]
    given = [(ids, *_given(state, ids)) for ids, state in zip(judged, states, strict=True)]
    codes = tuple(dict.fromkeys(name for _, _, names in given for name in names))
    if not codes or not any(len(ids) for ids, _, _ in given):
        raise DataError("Nobody has coded a unit yet. Code a random sample first, as a task.")
    coded, shares, coder, notes = _coded(r, labellings, machine, codes)
    places = r.maps.places(np.sort(r.corpora.sentence_ids(corpus.id)))
    ids, articles = places.ids, places.articles
    labelled = np.unique(np.concatenate([known for known, _, _ in given]))
    sampled = given_samples(r, corpus.id, labellings, labelled)
    probabilities, outside, holds = None, 0, list[str]()
    elsewhere = all(record.origin.get("from") == "table" for record in labellings)
    unknown = (
        "if the imported codes are those of a random sample" if elsewhere else "no random sample of which was coded"
    )
    where = f"{counted(len(ids), 'unit')}, {unknown}"
    if sampled.samples:
        frame = frame_of(r, corpus, ids, articles, sampled.samples)
        probabilities, where = frame.probabilities, frame.text.partition(";")[0]
        inside = ~np.isnan(probabilities)
        outside = int((~inside).sum())
        holds.append(f"The estimates hold for {frame.text}.")
        if left := int(np.isin(ids[~inside], labelled).sum()):
            holds.append(f"{counted(left, 'code')} of units outside of it left out.")
        if left := sampled.removed + int(np.isin(ids[~inside], sampled.drawn).sum()):
            total = counted(sampled.removed + len(sampled.drawn), "sampled unit")
            holds.append(f"{left:,} of {total} removed or changed since.")
        ids, articles, probabilities = ids[inside], articles[inside], probabilities[inside]
    elif left := len(np.setdiff1d(np.concatenate([state.ids[state.uncertain] for state in states]), labelled)):
        holds.append(f"{counted(left, 'unit')} marked as uncertain or disputed left out.")
    if coded is not None:
        inside = np.isin(ids, coded)
        if left := int((~inside).sum()):
            lost = int(np.isin(ids[~inside], sampled.given).sum())
            of_sample = f", {lost:,} of them sampled" if lost else ""
            advice = "" if machine else " Predict again to include them."
            holds.append(f"{counted(left, 'unit')} without a code of the machine left out{of_sample}.{advice}")
        ids, articles = ids[inside], articles[inside]
        probabilities = None if probabilities is None else probabilities[inside]
        assert shares is not None
        shares = shares[np.searchsorted(coded, ids)]
    labels, now = _mean(ids, given, codes), _now(ids, states, codes)
    unlabelled = ~np.isin(ids, labelled)
    why = _why_counted(labels, probabilities, np.isin(ids, sampled.given), elsewhere)
    holds += _unchecked(labellings, why, now[unlabelled])
    used = np.nansum(labels, axis=0) + (0 if shares is None else shares.sum(axis=0)) > 0
    used |= now.any(axis=0) & bool(why)
    codes, labels, now = tuple(compress(codes, used)), labels[:, used], now[:, used]
    shares = None if shares is None else shares[:, used]
    if not codes:
        raise DataError(" ".join([*holds, "No code is of one of them. Code a sample of the others, as a task."]))
    if probabilities is not None:
        probabilities = np.where(np.isin(ids, sampled.drawn) | unlabelled, probabilities, np.nan)
    gave = np.isin(ids, sampled.given)
    if (left := int((gave & unlabelled).sum())) and not why:
        holds.append(
            f"{left:,} of {counted(int(gave.sum()), 'sampled unit')} open: not coded, uncertain or disputed. "
            "Shares take them for like the others; “least” and “most” are the shares whatever their codes are."
        )
    units = corpus, tuple(labellings), codes, ids, articles, documents_of(r, corpus, ids, articles), labels, shares
    return Study(*units, coder, probabilities, gave, now, why, outside, where, tuple(holds), tuple(notes))


def usual_labelling(r: Unit, labellings: Sequence[LabellingRecord]) -> LabellingRecord | None:
    """Return the labelling that estimates are of at first: with the newest predictions, else gold, else the newest.

    None without one of people that somebody has changed.
    """
    people = [one for one in labellings if not one.by_model]
    predicted = [(found.created, one.id, one) for one in people if (found := r.predictions.newest(one.id))]
    if predicted:
        return max(predicted, key=lambda found: found[:2])[2]
    used = [one for one in people if one.kind is Sharing.GOLD or r.labellings.newest_step(one.id)]
    return max(used or people, key=lambda one: (one.kind is Sharing.GOLD, one.created, one.id), default=None)


def usual_study(r: Unit, labellings: Sequence[LabellingRecord]) -> Study | None:
    """Return the study of :func:`usual_labelling`; None without codes of people."""
    chosen = usual_labelling(r, labellings)
    try:
        return None if chosen is None else open_study(r, [chosen])
    except DataError:
        return None


def replication_zip(study: Study, codes: Sequence[str] = (), groups: Sequence[str] = ()) -> bytes:
    """Return a ZIP file with :func:`replication_files` of each code, by default all, in a folder of its name."""
    chosen, packed = codes or study.codes, io.BytesIO()
    ids = [str(id) for id in study.ids.tolist()]
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for number, code in enumerate(chosen, 1):
            made = replication_files(study.units(code), groups or [""] * len(ids), ids, study.holds)
            for name, text in made.items():
                archive.writestr(f"{number} {safe_name(code)}/{name}" if len(chosen) > 1 else name, text)
    return packed.getvalue()


def _given(partition: Partition, ids: Ids) -> tuple[Floats, list[str]]:
    """Return the (m, k) codes of sentences, 0 or 1, and the names of the codes."""
    listed = code_clusters(partition)
    of = partition.only(ids)
    columns = [has_code(of, number) for number in listed]
    return np.array(columns, np.float64).reshape(len(listed), len(ids)).T, [code.name for code in listed.values()]


def _mean(ids: Ids, given: Sequence[tuple[Ids, Floats, list[str]]], codes: Sequence[str]) -> Floats:
    total, people = np.zeros((len(ids), len(codes))), np.zeros(len(ids))
    for known, codings, names in given:
        inside = np.isin(known, ids)
        rows = np.searchsorted(ids, known[inside])
        people[rows] += 1
        for column, name in enumerate(names):
            total[rows, codes.index(name)] += codings[inside, column]
    with np.errstate(invalid="ignore"):
        return np.asarray(total / np.where(people, people, np.nan)[:, None])


def _now(ids: Ids, states: Sequence[Partition], codes: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return the (n, k) sentences that have a code in one of the labellings, whoever gave it."""
    found = np.zeros((len(ids), len(codes)), np.bool_)
    for state in states:
        inside = np.isin(state.ids, ids)
        codings, names = _given(state, state.ids[inside])
        for column, name in enumerate(names):
            found[np.searchsorted(ids, state.ids[inside]), codes.index(name)] |= codings[:, column] > 0
    return found


def _why_counted(labels: Floats, probabilities: Floats | None, gave: npt.NDArray[np.bool_], elsewhere: bool) -> str:
    """Return why no share of all sentences follows from labels (n, k); "" if it does.

    Labels of a file (``elsewhere``) may be those of a random sample, which only a person can know.
    """
    checked = ~np.isnan(labels).any(axis=1)
    units = f"{checked.sum():,} units were" if checked.sum() != 1 else "1 unit was"
    if probabilities is None:
        return "" if elsewhere or checked.all() else f"Only {units} checked, not at random: no estimate for all"
    if checked.any() and (gave & ~checked).any() and (labels[checked] == 1).all(axis=0).any():
        return f"Only {units} checked, all with one code: no estimate for all"
    return ""


def _unchecked(labellings: Sequence[LabellingRecord], why: str, now: npt.NDArray[np.bool_]) -> list[str]:
    """Return why units are counted, and what the (m, k) unchecked ones have; nothing if shares are estimated."""
    if not why:
        return []
    themes = any("run_id" in record.origin for record in labellings)
    has = "the theme of the machine" if themes else "a code"
    number = int(now.any(axis=1).sum())
    notes = {f"{counted(number, 'unit')} with {has}, unchecked.": number}
    notes[f"{counted(len(now) - number, 'unit')} without a code."] = len(now) - number
    return [f"{why}.", *(note for note, units in notes.items() if units)]


def _coded(
    r: Unit, labellings: Sequence[LabellingRecord], machine: LabellingRecord | None, codes: Sequence[str]
) -> tuple[Ids | None, Floats | None, str, list[str]]:
    """Return the sentences with codes of the machine, their (n, k) shares, its name, and what is missing."""
    if machine is not None:
        partition = r.labellings.snapshot(machine.id).partition
        ids = coded_sentences(r, machine, partition)
        codings, called = _given(partition, ids)
        found = np.zeros((len(ids), len(codes)))
        for column, name in enumerate(called):
            if name in codes:
                found[:, codes.index(name)] = codings[:, column]
        return ids, found, machine.name, []
    for record in labellings:
        stored = r.predictions.newest(record.id)
        if stored is None:
            continue
        names = code_names(r.labellings.snapshot(record.id).partition)
        ids, probabilities = r.predictions.values(stored.id)
        found = np.zeros((len(ids), len(codes)))
        for column, number in enumerate(stored.codes):
            for name in names.get(number, ()):  # of a combination, each of its codes
                if name in codes:
                    found[:, codes.index(name)] += probabilities[:, column]
        return ids, np.clip(found, 0, 1), f"a classifier on the vectors of {stored.model}", []
    return None, None, "", [NO_MACHINE]


def columns_of(r: Unit, corpus_id: int) -> dict[str, ColumnRecord]:
    """Return the columns that can group sentences, categories and dates, by the name that pages show."""
    kinds = (ColumnType.CATEGORY, ColumnType.DATE)
    return {column.label: column for column in r.columns.list(corpus_id) if column.type in kinds}


def groups_by(r: Unit, study: Study, name: str, period: str = "") -> list[str]:
    """Return :func:`groups_of` by the column of a name; raise ``UnknownNameError`` if it cannot group sentences."""
    known = columns_of(r, study.corpus.id)
    named = {column.name: column for column in reversed(known.values())} | known
    if name not in named:
        raise UnknownNameError("column of categories or dates", name, [*named])
    return groups_of(r, study, named[name], period)


def groups_of(r: Unit, study: Study, column: ColumnRecord, period: str = "") -> list[str]:
    """Return the (n,) group of each sentence by a column: the category, or the period of a date; "" without any.

    ``period`` is one of :data:`themescope.core.metrics.statistics.PERIODS`, by default one that suits the dates.
    """
    values = values_of(r, study, column)
    if column.type == ColumnType.DATE:
        place, names = periods_of(values, period or usual_period(values))
        return [names[i] if i >= 0 else "" for i in place.tolist()]
    return [as_text(value) for value in plain_values(ColumnType(column.type), values, column.categories)]


def values_of(r: Unit, study: Study, column: ColumnRecord) -> Any:
    """Return the stored values (n,) of a column."""
    return r.columns.values(column, study.ids if column.level.value == "sentence" else study.articles)


def regressors(r: Unit, study: Study, columns: Sequence[ColumnRecord]) -> Mapping[str, Sequence[str] | Floats]:
    """Return the values of columns for a regression: numbers, or texts of categories and periods."""
    return {
        column.label: values_of(r, study, column).astype(np.float64)
        if column.type == ColumnType.NUMBER
        else groups_of(r, study, column)
        for column in columns
    }
