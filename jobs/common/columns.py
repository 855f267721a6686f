"""Columns of an import, which are kept and of which type; and waves, which are read as their project was."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from themescope.core.columns import (
    DECLARED,
    MOST_COLUMNS,
    OMIT,
    ColumnLevel,
    ColumnType,
    Profile,
    TypedColumn,
    Values,
    coded,
    column_name,
    count_categories,
    plain_values,
    summary,
    typed,
)
from themescope.core.errors import ConfigError, UnknownNameError
from themescope.core.readers import REGISTRY as READERS
from themescope.core.readers.formats import detect
from themescope.core.readers.table import AUTO, DOCUMENTS, SENTENCES, header_of
from themescope.core.readers.tables import TableForm
from themescope.core.records.stored import ArticleRecord, ColumnRecord, CorpusRecord
from themescope.core.text.cleaning import text_key
from themescope.core.types import Article, Ids, Report, SectionRecord, Sentence, Value
from themescope.db.repositories.blocks import packed_blocks
from themescope.db.repositories.corpus_edits import REMOVED_WAVES, WAVES, every_wave
from themescope.db.store import Store, Unit
from themescope.jobs.common.job import JobContext
from themescope.jobs.common.reading import call_apart

V = TypeVar("V")
_GROUP_SENTENCES = 20_000
LEFT_OUT = "columns beyond the first 100"
"""Reason, in the report of an import, for which columns are missing."""


def check_types(types: Mapping[str, Any], label: str) -> None:
    """Raise ``ConfigError`` unless every value is a type that can be declared."""
    for name, type in types.items():
        if type not in DECLARED:
            raise ConfigError(f"{label}: the type of {name!r} must be one of {', '.join(DECLARED)}, not {type!r}.")


class KeptColumns:
    """Filter of the columns of new articles: not those that a person omits, and at most 100 of each level."""

    def __init__(self, types: Mapping[str, str], known: Iterable[ColumnRecord] = ()) -> None:
        self._types = types
        self._seen: dict[ColumnLevel, dict[str, None]] = {level: {} for level in ColumnLevel}
        self.left_out: set[str] = set()
        """Names of the columns beyond the limit."""
        for column in known:
            self._seen[column.level][column.name] = None

    def __call__(self, articles: Iterable[Article]) -> Iterator[Article]:
        """Yield the articles with the columns that are kept."""
        for article in articles:
            if article.values or article.sentence_values:
                article = replace(
                    article,
                    values=self._kept(ColumnLevel.ARTICLE, article.values),
                    sentence_values=self._kept(ColumnLevel.SENTENCE, article.sentence_values),
                )
            yield article

    def _kept(self, level: ColumnLevel, values: Mapping[str, V]) -> dict[str, V]:
        seen, kept = self._seen[level], {}
        for source, value in values.items():
            name = column_name(source)
            if not name or self._types.get(name) == OMIT:
                continue
            if name in seen or len(seen) < MOST_COLUMNS:
                seen[name] = None
                kept[name] = value
            else:
                self.left_out.add(name)
        return kept


def find_types(context: JobContext, corpus_id: int, declared: Callable[[ColumnRecord], str], report: Report) -> None:
    """Give each column of an import the declared type, or where that is "" the one that its values have.

    A column is converted in one transaction, so a resumed import goes on with the others.
    """
    with context.store.reading() as r:
        columns = r.columns.list(corpus_id)
    for done, column in enumerate(columns):
        report.progress(done, len(columns), f"Column {column.name}")
        if column.type:
            continue
        ids, found = typed_column(context.store, column, declared(column))
        blocks = packed_blocks(ids, found)
        with context.writing() as w:
            if found.about["missing"] == len(ids):
                w.columns.remove(column)  # without any value
            else:
                w.columns.set_type(column, found, blocks)


Stored = tuple[ArticleRecord, list[SectionRecord], list[Sentence]]


def with_values(r: Any, corpus_id: int) -> Iterator[tuple[Stored, dict[str, Value], dict[str, list[Value]]]]:
    """Yield every stored article of a corpus with the values of its columns, and those of its sentences.

    ``r`` are the repositories. Values are read for groups of articles.
    """
    columns = r.columns.list(corpus_id)
    group: list[Stored] = []
    size = 0
    for found in r.corpora.iterate(corpus_id):
        group.append(found)
        size += len(found[2])
        if size >= _GROUP_SENTENCES:
            yield from _group_values(r, columns, group)
            group, size = [], 0
    yield from _group_values(r, columns, group)


def _group_values(
    r: Any, columns: Sequence[ColumnRecord], group: Sequence[Stored]
) -> Iterator[tuple[Stored, dict[str, Value], dict[str, list[Value]]]]:
    articles = np.array([article.id for article, _, _ in group], np.int64)
    sentences = np.array([sentence.id for _, _, found in group for sentence in found], np.int64)
    of_articles = _plain_values(r, columns, ColumnLevel.ARTICLE, articles)
    of_sentences = _plain_values(r, columns, ColumnLevel.SENTENCE, sentences)
    start = 0
    for row, found in enumerate(group):
        end = start + len(found[2])
        values = {name: values[row] for name, values in of_articles.items()}
        yield found, values, {name: values[start:end] for name, values in of_sentences.items()} if end > start else {}
        start = end


def _plain_values(r: Any, columns: Iterable[ColumnRecord], level: ColumnLevel, ids: Ids) -> dict[str, list[Value]]:
    chosen = [column for column in columns if column.level is level]
    return {c.name: plain_values(ColumnType(c.type), r.columns.values(c, ids), c.categories) for c in chosen}


def typed_column(
    store: Store, column: ColumnRecord, declared: str, before: Sequence[str] = ()
) -> tuple[Ids, TypedColumn]:
    """Return ids and values of a column without a type, in the declared type or else the one that its values have.

    Categories ``before`` keep their codes; new ones follow.
    """
    profile, counts = Profile(declared), Counter[str]()
    for _, values in raw_values(store, column):
        profile.add(values)
    type, format = profile.type, profile.format
    if type is ColumnType.CATEGORY:
        for _, values in raw_values(store, column):
            count_categories(counts, values)
        new = sorted(counts.keys() - set(before), key=lambda text: (-counts[text], text))
        listed = [*before, *new]
        codes = {text: code for code, text in enumerate(listed)}
        ids, found = _converted(store, column, lambda values: coded(values, codes))
        more: dict[str, Any] = {"categories": listed, "counts": [counts[text] for text in listed]}
    else:
        ids, found = _converted(store, column, lambda values: typed(values, type, format))
        more = {}
    about = summary(type, found) | more
    if about["missing"] > profile.missing:
        about["unreadable"] = about["missing"] - profile.missing
    return ids, TypedColumn(type, found, about)


def _converted(store: Store, column: ColumnRecord, convert: Callable[[list[Value]], Values]) -> tuple[Ids, Values]:
    parts = [(ids, convert(values)) for ids, values in raw_values(store, column)]
    return np.concatenate([ids for ids, _ in parts]), np.concatenate([values for _, values in parts])


def raw_values(store: Store, column: ColumnRecord) -> Iterator[tuple[Ids, list[Value]]]:
    """Yield ids and values, as the source gave them, of a column without a type."""
    after = -1
    while True:
        with store.reading() as r:
            blocks = r.columns.raw(column, after)
        if not blocks:
            return
        yield from blocks
        after = int(blocks[-1][0][-1])


# Waves of a corpus: their description, rows that occur twice, and columns that grow

FIRST = "wave 1"
"""Wave of the articles that were imported with the corpus."""
WAVE, WAVE_DATE = "wave", "wave date"
"""Columns of articles; where the corpus has others of these names when its first wave is added, with “of import”."""
KEEP, LEAVE_OUT = "keep", "omit"
ID_COLUMN = "id"
"""Column by which duplicates are found if no other is named."""
COUNTS = ("articles", "sections", "paragraphs", "sentences")
"""Counts of a corpus and of its waves."""


def waves_of(corpus: CorpusRecord) -> list[dict[str, Any]]:
    """Return the waves of a corpus in order: name, date, position of the first article, and counts.

    Without any that was added the corpus has none. Removed waves are left out, and the first one if it is left alone.
    """
    removed = corpus.report.get(REMOVED_WAVES, ())  # names in stores of development versions
    return [wave for wave in corpus.report.get(WAVES, ()) if wave["name"] not in removed]


def places_of(corpus: CorpusRecord, wave: str) -> range:
    """Return the positions of the articles of a wave; raise ``UnknownNameError`` if there is none."""
    first = {one["name"]: one["first"] for one in waves_of(corpus)}
    if wave not in first:
        raise UnknownNameError("wave", wave, [*first])
    later = (one["first"] for one in every_wave(corpus.report) if one["first"] > first[wave])
    return range(first[wave], next(later, sys.maxsize))


def is_list(corpus: CorpusRecord) -> bool:
    """Return whether a corpus is a list of sentences: failures, or one document without headings in each wave."""
    return bool(corpus.failures_of) or (corpus.articles <= max(len(waves_of(corpus)), 1) and not corpus.has_sections)


def is_table(corpus: CorpusRecord) -> bool:
    """Return whether a corpus is a list whose sentences are rows of tables, not those of a text without headings."""
    return is_list(corpus) and _of_tables(corpus)


def added_sentences(r: Unit, corpus: CorpusRecord) -> Ids:
    """Return the ids (n,) of the sentences of all waves after the first one."""
    later = [wave["first"] for wave in waves_of(corpus) if wave["first"]]
    return r.corpora.sentence_ids(corpus.id, min(later)) if later else np.empty(0, np.int64)


def in_project(
    r: Unit, corpus: CorpusRecord, path: str, own: Mapping[str, Any], renamed: Iterable[str] = ()
) -> dict[str, Any]:
    """Return reader and settings of a file of a wave; what ``own`` leaves open of a table is as in the project.

    Rows are sentences or documents as those before, whatever their length. Text, title and section are the columns that
    they were, or the text is the only column that is not among those of the project, and not ``renamed``.
    """
    id = own.get("reader") or detect(Path(path))
    settings = {name: value for name, value in own.get("settings", {}).items() if value not in ("", AUTO)}
    columns = [column for column in r.columns.list(corpus.id) if column.name not in corpus.wave_columns]
    if "table" not in READERS.get(id).tags or not columns or not _of_tables(corpus):
        return {"reader": id, "settings": settings}
    listed = any(column.level is ColumnLevel.SENTENCE for column in columns)
    known = [one["settings"] for one in corpus.report.get("by_file", {}).values() if one.get("settings")]
    first = {**corpus.report.get("settings", {}), **(known[0] if known else {})}
    form = TableForm(**{name: value for name, value in settings.items() if name in TableForm.__dataclass_fields__})
    header = call_apart(Path(path), header_of, Path(path), form)
    parts = {name: first[name] for name in ("text", "title", "section") if first.get(name) in header}
    if not listed:
        parts.pop("section", None)
    others = [name for name in header if column_name(name) not in {*(c.name for c in columns), *renamed}]
    if "text" not in parts and len(others) == 1:
        parts["text"] = others[0]
    return {"reader": id, "settings": {"rows": SENTENCES if listed else DOCUMENTS, **parts, **settings}}


def _of_tables(corpus: CorpusRecord) -> bool:
    """Return whether all files of a corpus were tables."""
    return {*corpus.report.get("readers", ("",))} <= {card.id for card in READERS if "table" in card.tags}


def without_waves(corpus: CorpusRecord, sentences: int, what: str) -> str:
    """Return that a result of the first ``sentences`` of a corpus leaves out its last waves; "" if it does not.

    ``what`` is the result, such as "map".
    """
    missing, names = corpus.sentences - sentences, list[str]()
    for wave in reversed(waves_of(corpus)[1:]):
        if missing > 0:
            names.insert(0, f"“{wave['name']}”")
            missing -= wave["sentences"]
    if not names:
        return ""
    return f"{corpus.sentences - sentences:,} sentences of {', '.join(names)} are not in this {what}."


def first_wave(corpus: CorpusRecord) -> dict[str, Any]:
    """Return the wave of the articles that were there before the first one that is added."""
    counts = {name: getattr(corpus, name) for name in COUNTS}
    return {"name": FIRST, "date": "", "first": 0, "added": corpus.created.isoformat(), **counts}


def typed_date(text: str) -> np.datetime64:
    """Return a date in ISO form; NaT for other texts."""
    try:
        date: np.datetime64 = np.datetime64(text.strip(), "D").astype("datetime64[us]")
        return date
    except ValueError:
        return np.datetime64("NaT", "us")


class PossibleDuplicate(NamedTuple):
    """What can be a duplicate: a sentence of a list, or an article."""

    level: ColumnLevel
    id: int
    article_id: int
    text: str


def rows(r: Unit, corpus_id: int, lists: Ids) -> Iterator[PossibleDuplicate]:
    """Yield the rows of a corpus; ``lists`` are the ascending ids of the sentences that are rows of a list."""
    listed = frozenset(lists.tolist())
    for article, _, sentences in r.corpora.iterate(corpus_id):
        if any(sentence.id in listed for sentence in sentences):
            yield from (PossibleDuplicate(ColumnLevel.SENTENCE, s.id, article.id, s.text) for s in sentences)
        else:
            yield PossibleDuplicate(ColumnLevel.ARTICLE, article.id, article.id, whole_text(sentences))


def whole_text(sentences: Sequence[Sentence]) -> str:
    """Return the text of the sentences of an article."""
    return " ".join(sentence.text for sentence in sentences)


def normalised(text: str) -> bytes:
    """Return a digest of the key of a text, which is the same for identical texts."""
    return hashlib.blake2b(text_key(text).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def plain_cells(found: TypedColumn) -> list[Value]:
    """Return the values of a column as plain Python."""
    return plain_values(found.type, found.values, found.about.get("categories", ()))


def empty_cells(found: TypedColumn) -> npt.NDArray[np.bool_]:
    """Return the (n,) mask of the missing values of a column."""
    return np.array([value is None for value in plain_cells(found)], bool)
