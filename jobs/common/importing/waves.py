"""Waves of a corpus: their description, rows that occur twice, and columns that grow.

The waves are in the report of the corpus, and name and date of each in columns of its articles.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from themescope.core.columns import ColumnLevel, TypedColumn, column_name, plain_values
from themescope.core.errors import UnknownNameError
from themescope.core.readers import REGISTRY as READERS
from themescope.core.readers.formats import detect
from themescope.core.readers.table import AUTO, DOCUMENTS, SENTENCES, header_of
from themescope.core.readers.tables import TableForm
from themescope.core.records.stored import CorpusRecord
from themescope.core.text.cleaning import text_key
from themescope.core.types import Ids, Sentence, Value
from themescope.db.repositories.corpus_edits import REMOVED_WAVES, WAVES, every_wave
from themescope.db.store import Unit
from themescope.jobs.common.importing.reading import call_apart

FIRST = "wave 1"
"""Wave of the articles that were imported with the corpus."""
WAVE, WAVE_DATE = "wave", "wave date"
"""Columns of articles; where the corpus has others of these names when its first wave is added, with “of import”."""
KEEP, OMIT = "keep", "omit"
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
    columns = [
        column for column in r.columns.list(corpus.id) if column.name not in corpus.report.get("wave_columns", ())
    ]
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
