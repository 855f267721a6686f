"""Import of labels from a table with a sentence (id or exact text) and its cluster in each row.

A plan lists matches, ambiguous rows and unmatched rows before anything is stored. Sentences without a row are
unassigned. Where several annotators judged the same sentences, each has a plan, and becomes a labelling.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import chain, product
from typing import Any

import numpy as np

from themescope.core.errors import DataError, UnknownNameError
from themescope.core.labelling.partition import Cluster, coded, start
from themescope.core.labelling.provenance import Maker, Source, of_rows
from themescope.core.readers.tables import TEXT_NAMES, Sheet, TableForm, likely_column, one_line, raw_cell
from themescope.core.text.cleaning import comparable, folded_name
from themescope.core.types import Sentence
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.common.labelled import ANNOTATOR, MAKER
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.foreign_labels import (
    CODER,
    LABELS,
    NOTES,
    NOTHING,
    PLACE,
    TEXTS,
    annotator_name,
    cluster_column,
    is_about,
    is_exact,
    labels_of,
    note_of,
    paths,
    themes_of,
)

_ID = ("sentence_id", "sentence id", "id")
_CODERS = (
    "coder", "annotator", "annotator_id", "annotator id", "annotation_agent", "completed_by", "rater", "labeler",
    "labeller", "worker_id", "workerid", "worker", "_annotator_id", "created by", "modified by", "kodierer", "codeur",
    "bearbeitet von", "erstellt von", "excerpt creator",
)  # fmt: skip
_PERHAPS_CODERS = ("user", "user_id", "username", "user id", "author")
"""Names of columns of annotators, if the same text has rows of several of them; otherwise of those who wrote it."""
_ONE_OF_SEVERAL = re.compile(r"(.*[^\W\d_].*?)[\s_.(-]*(?:\d{1,2}|\b[A-Za-z])\)?")
"""A name such as “coder 2” or “label_b”."""
_NO_CODERS = frozenset({
    "article", "section", "source", "theme", "uncertain", "changed", "probability", "view", "meta", "prediction",
    "predictions", "predicted", "pred", "suggestion", "suggestions", "row", "place",
})  # fmt: skip
"""Names of columns whose values may be those of labels, but that no annotator made."""
_NUMBER, _OUTLIER = re.compile(r"-?\d+"), "-1"
EACH_OR_ALL = "give each of them a row, or assign all of them (--together, “Include duplicates”)"
_NOT_FOUND = "no sentence has this text"
_DECIMALS = re.compile(r"\d*\.\d+")
_CHOOSE = "Choose another column (--cluster), or write the code of each row into one column."
_SHORTEST = 8
"""Characters by which the units in a text are found."""
_MARKS = {"true": True, "false": False, "1": True, "0": False, "": False}


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """Names of the columns of a table, "" for none. The cluster, and the id or the text, are required."""

    cluster: str
    id: str = ""
    text: str = ""
    note: str = ""
    theme: str = ""
    """Theme of which the cluster is a sub-theme."""
    source: str = ""
    """"human", "machine" or "imported", as exports of labellings have it."""
    coder: str = ""
    probability: str = ""
    uncertain: str = ""
    """Whether the sentence is marked as uncertain: "true" or "false", as exports have it."""
    before: str = ""
    """What stands before the text, if that is a part of a longer one."""
    after: str = ""


@dataclass(frozen=True, slots=True)
class LabelReading:
    """How a table of labels is read."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Field of :class:`LabelColumns` → column; others are recognised by name."""
    together: bool = True
    """Whether a text assigns all sentences that have it."""
    several: bool = True
    """Whether the codes of several rows of a sentence are all kept; otherwise they contradict each other."""
    chosen: bool = False
    """Whether the column of clusters is the only one with labels."""
    form: TableForm | None = None


AS_GUESSED = LabelReading()


@dataclass(frozen=True, slots=True)
class RowProblem:
    """Row that assigns no sentence, with the reason."""

    row: int
    """Row number as in a spreadsheet."""
    text: str
    why: str
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of an import."""

    names: tuple[str, ...]
    """Names of the clusters, in the order of the table."""
    placed: Mapping[int, frozenset[int]]
    """Sentence id → indices of its clusters; none for an unassigned one."""
    notes: Mapping[int, str]
    themes: Mapping[str, str]
    """Name of a cluster → name of its theme, for sub-themes."""
    makers: Mapping[int, tuple[Maker, float | None]]
    """Sentence id → who made its label, and its probability; empty if the table has no column that says so."""
    rows: int
    """Number of rows that assign a sentence."""
    sentences: int
    """Number of sentences that could be assigned."""
    missing: tuple[RowProblem, ...]
    """Rows that match no sentence."""
    ambiguous: tuple[RowProblem, ...]
    """Rows that match several sentences."""
    contradicting: tuple[RowProblem, ...]
    """Rows that contradict an earlier row."""
    uncertain: frozenset[int] = frozenset()
    """Sentences that are marked as uncertain."""
    remarks: tuple[str, ...] = ()
    """Cells that are read otherwise than they stand there, and names of clusters that look the same."""
    coder: str = ""
    """Annotator whose labels these are, if the table has those of several."""

    @property
    def several(self) -> int:
        """Return the number of sentences with several codes, all of which are kept."""
        return sum(len(places) > 1 for places in self.placed.values())

    @property
    def problems(self) -> list[RowProblem]:
        """Return every skipped row, ordered by number."""
        return sorted((*self.missing, *self.ambiguous, *self.contradicting), key=lambda problem: problem.row)


def likely_columns(sheet: Sheet) -> LabelColumns:
    """Guess the columns from their names."""

    def named(*names: str) -> str:
        known = {column.strip().lower(): column for column in reversed(sheet.columns)}
        return next((known[name] for name in names if name in known), "")

    id, found = named(*_ID), named(*TEXTS)
    cluster = cluster_column(sheet, [*filter(None, (id, found))])
    text = found or ("" if named(*_ID[:2]) else _text_column(sheet, cluster))
    theme = named("theme") if cluster != named("theme") else ""
    source = named("source")
    if source and not {*sheet.column(source)} <= {"", *Source}:
        source = ""  # a column about something else
    uncertain = named("uncertain")
    if uncertain and not {cell.lower() for cell in sheet.column(uncertain)} <= _MARKS.keys():
        uncertain = ""
    coder = named(*_CODERS) if cluster != named(*_CODERS) else ""
    notes = (name for name in sheet.columns if NOTES.fullmatch(name.strip()) and name not in (cluster, text))
    note = next((name for name in notes if any(sheet.column(name))), "")
    about = source, coder, named("probability"), uncertain, *map(named, PLACE)
    return LabelColumns(cluster if cluster != text else "", id, text, note, theme, *about)


def _text_column(sheet: Sheet, cluster: str) -> str:
    texts = [*TEXT_NAMES, "excerpt"]
    rest = [at for at, n in enumerate(sheet.columns) if n != cluster and (n.lower() in texts or not is_about(n))]
    names, rows = [sheet.columns[place] for place in rest], [[row[place] for place in rest] for row in sheet.rows]
    found = likely_column(names, rows) if names else ""
    return found if any(any(map(str.isalpha, cell)) for cell in (sheet.column(found) if found else ())) else ""


def hides_makers(sheet: Sheet) -> bool:
    """Return whether a table was exported by version 0.2, whose exports name a person for labels of a machine, too."""
    return {"changed_by", "cluster_number"} <= {*sheet.columns} and not likely_columns(sheet).source


def plans(
    store: Store, corpus_id: int, article_id: int | None, sheet: Sheet, columns: LabelColumns, how: LabelReading
) -> tuple[Plan, ...]:
    """Match each row to a sentence: one plan, or one for each annotator where several judged the same sentence.

    Annotators are told by a column of their names, or have a column of labels each, unless the column is chosen. All
    codes of one cell are kept.

    Raises ``UnknownNameError`` if a column does not exist, and ``DataError`` if a required column is missing, there are
    too many rows, sentences or clusters, no row matches, or none has a label.
    """
    _check(sheet, columns)
    with store.reading() as r:
        sentences = starts.sentences_of(r, corpus_id, article_id)
    own = "sentence_id" in sheet.columns or {"uncertain", "source", "coder"} <= {*sheet.columns}
    others = [] if how.chosen or own else _other_coders(sheet, columns)
    clusters, parts = (columns.cluster, *others), {"": (sheet, columns)}
    if others:
        parts = {name: (sheet, replace(columns, cluster=name, coder="")) for name in clusters}
    elif found := _by_coder(sheet, columns, sentences):
        parts = found
    divided = chain.from_iterable(map(labels_of(sheet, name), sheet.column(name)) for name in clusters)
    listed = [*chain.from_iterable(divided)]
    if not how.chosen and (number := next((one for one in listed if _DECIMALS.fullmatch(one) and float(one) % 1), "")):
        raise DataError(f"The column {columns.cluster!r} has numbers such as {number}, not codes. {_CHOOSE}")
    levels = {} if own or columns.theme else paths(listed)
    made = {
        name: _Planner(sentences, about, how, name if others else "", levels).plan(part)
        for name, (part, about) in parts.items()
    }
    names = tuple(dict.fromkeys(name for one in made.values() for name in one.names))
    themes = {name: theme for one in made.values() for name, theme in one.themes.items()}
    remarks = [] if own else _not_read(sheet, columns, others)
    if not names and (first := [one for plan in made.values() for one in plan.problems if one.cluster][:1]):
        place = f"row {first[0].row:,}, {first[0].text[:60]!r}: {first[0].why}"
        raise DataError(f"No row with a label matches a unit ({place}). Choose other columns, or the right project.")
    if not names:
        raise DataError(". ".join([f"No row of the column {columns.cluster!r} has a label", *remarks, _CHOOSE]))
    return tuple(
        replace(
            one,
            names=(*one.names, *(n for n in names if n not in one.names)),
            coder=coder,
            themes=themes,
            remarks=(*one.remarks, *(remarks if at == 0 else ())),
        )
        for at, (coder, one) in enumerate(made.items())
    )


def differing(found: Sequence[Plan]) -> int:
    """Return the number of sentences to which annotators gave different codes."""
    placed = ((one.names, id, codes) for one in found for id, codes in one.placed.items() if codes)
    given = {(id, frozenset(names[code] for code in codes)) for names, id, codes in placed}
    return sum(different > 1 for different in Counter(id for id, _ in given).values())


def _other_coders(sheet: Sheet, columns: LabelColumns) -> list[str]:
    """Return the columns with the labels of further annotators: of the same names, or called like the first."""

    def labels(name: str) -> set[str]:
        divided = labels_of(sheet, name)
        return {label for cell in sheet.column(name) for label in divided(cell)}

    def stem(name: str) -> str:
        found = _ONE_OF_SEVERAL.fullmatch(name.strip().lower())
        return found[1] if found else ""

    first, found = labels(columns.cluster), list[str]()
    numbers = all(_NUMBER.fullmatch(label) for label in first)
    for name in sheet.columns:
        lower = name.strip().lower()
        if name in astuple(columns) or is_about(name) or lower in _NO_CODERS or not (own := labels(name)):
            continue
        alike = bool(stem(name)) and stem(name) == stem(columns.cluster)
        alike = alike or bool(CODER.fullmatch(name.strip()) and CODER.fullmatch(columns.cluster.strip()))
        if alike or (not numbers and 2 * len(own & first) >= min(len(own), len(first))):
            found.append(name)
    return found


def _by_coder(
    sheet: Sheet, columns: LabelColumns, sentences: Sequence[Sentence]
) -> dict[str, tuple[Sheet, LabelColumns]]:
    """Return the rows of each annotator, none where each sentence has rows of one only."""
    known = {column.strip().lower(): column for column in reversed(sheet.columns)}
    coder = columns.coder or next((known[name] for name in _PERHAPS_CODERS if name in known), "")
    if not coder or coder in (columns.cluster, columns.text, columns.id):
        return {}
    keys: list[Any] = [*zip(*(sheet.column(name) for name in filter(None, (columns.id, columns.text))), strict=True)]
    if columns.text and not columns.id.startswith("sentence"):
        keys = [*map(comparable, sheet.column(columns.text))]
    equal = Counter(comparable(one_line(sentence.text)) for sentence in sentences)
    cells = sheet.column(coder)
    people = Counter(key for key, who in {*zip(keys, cells, strict=True)} if who)
    if not any(people[key] > 1 and rows > equal.get(key, 1) for key, rows in Counter(keys).items()):
        return {}
    labels = labels_of(sheet, columns.cluster)
    about = replace(columns, coder=coder)
    found: dict[str, tuple[Sheet, LabelColumns]] = {}
    for name in dict.fromkeys(cells):
        places = [place for place, who in enumerate(cells) if who == name]
        if not name and not any(labels(sheet.rows[place][sheet.columns.index(columns.cluster)]) for place in places):
            continue  # nobody judged these
        part = replace(
            sheet, rows=tuple(sheet.rows[at] for at in places), numbers=tuple(sheet.numbers[at] for at in places)
        )
        found[annotator_name(name)] = part, about
    return found


def _not_read(sheet: Sheet, columns: LabelColumns, others: Sequence[str]) -> list[str]:
    used = {*astuple(columns), *others, *_PERHAPS_CODERS}
    rest = (name for name in sheet.columns if name not in used and any(sheet.column(name)))
    left = [name for name in rest if not is_about(name) or NOTES.fullmatch(name)]
    found = [f"not read: the columns {', '.join(f'“{name}”' for name in left)}"] if left else []
    found += [f"{one.reason}: {one.text}" for one in sheet.account.entries if one.place == LABELS]
    return found + [f"not read: {one.place}" for one in sheet.account.entries if one.reason.endswith(" sheet")]


def from_plan(found: Plan, origin: str, machine: bool = False) -> starts.Begin:
    """Create a labelling from a plan; ``machine``: whether a program made all labels, from which nothing is learned."""

    def initial(store: Store, new: NewLabelling) -> starts.Beginning:
        with store.reading() as r:
            ids = [s.id for s in starts.sentences_of(r, new.corpus_id, new.article_id)]
        bare = start(ids, None, _clusters(found))
        uncertain = np.isin(bare.ids, sorted(found.uncertain))
        first = replace(bare, notes=dict(found.notes), uncertain=uncertain)
        first = coded(first, {id: frozenset(place + 1 for place in places) for id, places in found.placed.items()})
        about: dict[str, Any] = {"from": "table", "name": origin} | ({ANNOTATOR: found.coder} if found.coder else {})
        if machine:
            about[MAKER] = [Source.MACHINE.value, origin]
        if machine or not found.makers:
            return starts.Beginning(first, about)
        unnamed = Maker(Source.IMPORTED, origin)
        makers = {id: (by if by.coder else unnamed, p) for id, (by, p) in found.makers.items()}
        return starts.Beginning(first, about, of_rows(first.ids, makers))

    return initial


def _clusters(found: Plan) -> list[Cluster]:
    """Return the clusters of a plan and their themes; where a theme is a sub-theme itself, the topmost one is taken."""
    made = starts.clusters([*found.names, *sorted({*found.themes.values()} - {*found.names})])
    number_of = {cluster.name: cluster.number for cluster in made}
    tops = {name: number_of[_top(found.themes, name)] for name in found.themes}
    return [replace(c, parent=top if (top := tops.get(c.name)) != c.number else None) for c in made]


def _top(themes: Mapping[str, str], name: str) -> str:
    """Return the topmost theme of a cluster; clusters that are each other's themes are themes."""
    above = [name]
    while (theme := themes.get(above[-1])) is not None:
        if theme in above:
            return theme
        above.append(theme)
    return above[-1]


def _check(sheet: Sheet, columns: LabelColumns) -> None:
    for name in filter(None, astuple(columns)):
        if name not in sheet.columns:
            raise UnknownNameError("column", name, sheet.columns)
    if not columns.cluster or not (columns.id or columns.text):
        raise DataError(
            "A table of labels needs a column of codes, and one of units or their ids; this file has "
            f"{', '.join(f'“{name}”' for name in sheet.columns[:20])}. Choose them (--cluster, --text, --id), or "
            "export a table (CSV, JSON) with a text and its label in each row."
        )
    if sheet.cut:
        raise DataError(f"The table has more than {len(sheet.rows):,} rows. Split it.")


class _Planner:
    def __init__(
        self,
        sentences: Sequence[Sentence],
        columns: LabelColumns,
        how: LabelReading,
        coder: str,
        levels: Mapping[str, tuple[str, str]],
    ) -> None:
        self._coder, self._levels = coder, levels
        """Annotator of all rows, and label → its name and that of its theme."""
        self._columns, self._how, self._total = columns, how, len(sentences)
        self._texts = {s.id: one_line(s.text) for s in sentences}
        self._by_text: dict[str, list[int]] = {}
        self._by_form: dict[str, list[int]] = {}
        for id, text in self._texts.items():
            self._by_text.setdefault(text, []).append(id)
            self._by_form.setdefault(comparable(text), []).append(id)
        self._openings: dict[str, dict[str, list[int]]] = {}
        """First signs of a sentence → its signs without spaces → the sentences that have them."""
        self._parts: set[str] = set()
        """Those of which a part has a label."""
        self._queues: dict[str, deque[int]] = {}
        """Text of as many rows as sentences → sentences that wait for a row."""
        self._names: dict[str, int] = {}
        self._placed: dict[int, frozenset[int]] = {}
        self._by_row: dict[int, int] = {}
        self._notes: dict[int, str] = {}
        self._uncertain: set[int] = set()
        self._makers: dict[int, tuple[Maker, float | None]] = {}
        self._themes: dict[str, tuple[str, int]] = {}
        """Name of a cluster → name of its theme, and the row that says so."""

    def plan(self, sheet: Sheet) -> Plan:
        column = self._columns.cluster
        found = [*map(labels_of(sheet, column), sheet.column(column))]
        exact = is_exact(sheet)
        numbers_only = not exact and all(_NUMBER.fullmatch(label) for labels in found for label in labels)
        nothing = Counter(cell for cell in sheet.column(column) if not exact and cell.lower() in NOTHING)
        self._queues = self._one_by_one(sheet)
        note = self._columns.note
        place_of_note = sheet.columns.index(note) if note else None
        missing: list[RowProblem] = []
        ambiguous: list[RowProblem] = []
        contradicting: list[RowProblem] = []
        for number, cells, names in zip(sheet.numbers, sheet.rows, found, strict=True):
            names = [self._levels.get(n, (n, ""))[0] for n in names if not (numbers_only and n == _OUTLIER)]
            row = dict(zip(sheet.columns, cells, strict=True))
            if place_of_note is not None and (lines := sheet.lines.get((number, place_of_note))):
                row[self._columns.note] = lines
            text = row.get(self._columns.text, "")
            around = row.get(self._columns.before, ""), row.get(self._columns.after, "")
            inside = any(around) and not row.get(self._columns.id)
            ids, why = self._meant(row.get(self._columns.id, ""), text) if not inside else self._inside(text, *around)

            def problem(why: str, at: int = number, text: str = text, names: Sequence[str] = names) -> RowProblem:
                return RowProblem(at, text, why, ", ".join(names))

            if not ids:
                missing.append(problem(why))
            elif len({self._texts[id] for id in ids}) < len(ids) and not self._how.together:
                ambiguous.append(problem(f"{len(ids)} sentences have this text: {EACH_OR_ALL}"))
            elif earlier := self._theme(number, names, row):
                contradicting.append(problem(f"row {earlier} puts this code under another theme"))
            elif earlier := self._place(number, ids, names, row, self._how.several or inside):
                contradicting.append(problem(f"row {earlier} gives this unit another code"))
        self._check_clusters()
        rows = len(sheet.rows) - len(missing) - len(ambiguous) - len(contradicting)
        problems = (tuple(missing), tuple(ambiguous), tuple(contradicting))
        themes = {name: theme for name, (theme, _) in self._themes.items() if theme}
        themes |= {name: theme for name, theme in self._levels.values() if theme and name in self._names}
        about = self._notes, themes, self._makers
        remarks = [f"{n:,} × “{cell}” is read as no code" for cell, n in nothing.items()]
        forms: dict[str, list[str]] = {}
        for name in self._names:
            forms.setdefault(folded_name(name), []).append(name)
        alike = (" and ".join(f"“{name}”" for name in same) for same in forms.values() if len(same) > 1)
        remarks += [
            f"{names} look the same, but are different codes; merge them if they mean the same" for names in alike
        ]
        if parts := len(self._parts):
            remarks.append(f"{parts:,} units have labels of a part of them")
        if numbers_only and (outliers := sum(names == [_OUTLIER] for names in found)):
            remarks.append(f"{outliers:,} × “{_OUTLIER}” is read as no code")
        counts = rows, self._total
        marks = frozenset(self._uncertain)
        return Plan(tuple(self._names), self._placed, *about, *counts, *problems, marks, tuple(remarks))

    def _one_by_one(self, sheet: Sheet) -> dict[str, deque[int]]:
        """Return the sentences of the texts that occur several times, and in as many rows."""
        if self._how.together or not self._columns.text:
            return {}
        counts = Counter(map(comparable, sheet.column(self._columns.text)))
        return {form: deque(ids) for form, ids in self._by_form.items() if len(ids) > 1 and counts[form] == len(ids)}

    def _meant(self, id: str, text: str) -> tuple[list[int], str]:
        """Return the ids of the sentences that a row matches, or the reason that there are none."""
        known, form = _whole(id), comparable(raw_cell(text))
        if known in self._texts and (not text or comparable(self._texts[known]) in (form, comparable(text))):
            if known in self._queues.get(form, ()):
                self._queues[form].remove(known)
            return [known], ""
        if self._queues.get(form):
            return [self._queues[form].popleft()], ""
        if text:
            exact = self._by_text.get(text) or self._by_text.get(raw_cell(text))
            return exact or self._by_form.get(form) or self._by_form.get(comparable(text)) or [], _NOT_FOUND
        return [], f"no sentence has the id {id[:20]!r}" if id else "the row has no sentence"

    def _inside(self, text: str, before: str, after: str) -> tuple[list[int], str]:
        """Return the sentences of which a part of a text has half, otherwise the one of which it has most.

        The text is compared without spaces.
        """
        if not self._openings:
            for id, sentence in self._texts.items():
                form = _flat(sentence)
                self._openings.setdefault(form[:_SHORTEST], {}).setdefault(form, []).append(id)
        begin, end = len(_flat(before)), len(_flat(before)) + len(_flat(text))
        whole = _flat(before) + _flat(text) + _flat(after)
        found: dict[str, int] = {}
        for place, length in product(range(end), {len(one) for one in self._openings}):
            for form in self._openings.get(whole[place : place + length], ()):
                common = min(end, place + len(form)) - max(begin, place)
                if common > 0 and whole.startswith(form, place):
                    found[form] = max(common, found.get(form, 0))
        forms = [form for form, common in found.items() if 2 * common >= len(form)]
        forms = forms or sorted(found, key=lambda form: found[form])[-1:]
        self._parts.update(form for form in forms if found[form] < len(form))
        return [id for form in forms for id in self._openings[form[:_SHORTEST]][form]], _NOT_FOUND

    def _theme(self, number: int, names: Sequence[str], row: Mapping[str, str]) -> int:
        """Remember the themes of the clusters of a row; return the number of an earlier row that differs, else 0.

        A row with several clusters has a list of their themes, or says nothing about them.
        """
        for name, theme in themes_of(row.get(self._columns.theme, ""), names).items():
            known, earlier = self._themes.setdefault(name, (theme, number)) if theme not in ("", name) else ("", 0)
            if known and known != theme:
                return earlier
        return 0

    def _place(self, number: int, ids: list[int], names: Sequence[str], row: Mapping[str, str], several: bool) -> int:
        """Assign the sentences of a row; return the number of an earlier row that contradicts it, else 0."""
        new = {name: len(self._names) + at for at, name in enumerate(name for name in names if name not in self._names)}
        places = frozenset(self._names.get(name, new.get(name, 0)) for name in names)
        other = next((id for id in ids if self._placed.get(id, places) != places), None)
        if other is not None and not several:
            return self._by_row[other]
        self._names |= new
        note = note_of(row.get(self._columns.note, ""))
        for id in ids:
            self._placed[id] = self._placed.get(id, frozenset()) | places
            self._by_row.setdefault(id, number)
            if note:
                self._notes.setdefault(id, note)
            if _MARKS.get(row.get(self._columns.uncertain, "").lower(), False):
                self._uncertain.add(id)
            if names and (self._columns.source or self._columns.coder or self._coder):
                self._makers.setdefault(id, self._maker(row))
        return 0

    def _maker(self, row: Mapping[str, str]) -> tuple[Maker, float | None]:
        source, coder, sure = (row.get(getattr(self._columns, n), "") for n in ("source", "coder", "probability"))
        try:
            probability = float(sure)
        except ValueError:
            probability = -1.0
        who = self._coder or annotator_name(coder.strip())
        maker = Maker(Source(source) if source in {*Source} else Source.IMPORTED, who)
        return maker, probability if 0.0 <= probability <= 1.0 else None

    def _check_clusters(self) -> None:
        if len(self._names) > starts.MOST_CLUSTERS:
            raise DataError(
                f"The column {self._columns.cluster!r} has {len(self._names):,} codes; the maximum is "
                f"{starts.MOST_CLUSTERS}. Check that it is the right column."
            )


def _flat(text: str) -> str:
    return "".join(comparable(text).split())


def _whole(text: str) -> int:
    """Parse an id, also as written by a spreadsheet (12.0); -1 if there is none."""
    try:
        value = float(text)
    except ValueError:
        return -1
    return int(value) if value.is_integer() and abs(value) < 2**53 else -1
