"""Corpora as folders of Hugging Face datasets: Parquet files with a dataset card."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from themescope.core.columns import ColumnLevel, ColumnType, plain_values
from themescope.core.errors import DataError
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.readers.arrow_tables import (
    ARTICLES,
    FEATURES,
    LABEL,
    MADE_BY,
    METADATA,
    OF_ARTICLES,
    OF_SENTENCES,
    SENTENCES,
    schema_metadata,
)
from themescope.core.records.stored import ArticleRecord, ColumnRecord, CorpusRecord
from themescope.core.types import Ids, Report, SectionRecord, Sentence, Split
from themescope.db.store import Store, Unit
from themescope.jobs.common.articles import code_version
from themescope.jobs.common.labelled import MAKER, provenance_of, run_origin

# Writing the folder of a dataset with its card (README.md), a few hundred articles in memory at a time


@dataclass(frozen=True, slots=True)
class CardPart:
    """Files of one split of a subset."""

    split: Split
    rows: int
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Subset:
    """A subset (configuration) with its splits that have rows."""

    name: str
    fields: Fields
    parts: Sequence[CardPart]

    def config(self) -> dict[str, Any]:
        """Return the entry of the list ``configs``."""
        files = [{"split": p.split.value, "path": f"{self.name}/{p.split}-*.parquet"} for p in self.parts]
        default = {"default": True} if self.name == SENTENCES else {}
        return {"config_name": self.name, "data_files": files, **default}

    def info(self) -> dict[str, Any]:
        """Return the entry of the list ``dataset_info``."""
        splits = [{"name": p.split.value, "num_bytes": p.size, "num_examples": p.rows} for p in self.parts]
        size = sum(part.size for part in self.parts)
        sizes = {"download_size": size, "dataset_size": size}
        return {"config_name": self.name, "features": self.fields.in_card(), "splits": splits, **sizes}


def card(corpus: CorpusRecord, subsets: Sequence[Subset], labels: str) -> str:
    """Return the dataset card; ``labels`` says what the labels are, "" for none."""
    subsets = [subset for subset in subsets if subset.parts]
    header = {
        "language": [corpus.language],
        "pretty_name": corpus.name,
        "configs": [subset.config() for subset in subsets],
        "dataset_info": [subset.info() for subset in subsets],
    }
    counts = f"{corpus.articles:,} articles with {corpus.sentences:,} sentences"
    lines = [
        f"# {_line(corpus.name)}",
        f"{counts}, exported by Themescope {code_version()}.",
        "The subset `sentences` has a row for each sentence: its text, the title of its article, the headings of its "
        "section, the numbers of article, section, paragraph and position, and where it starts in its paragraph "
        "(in characters; -1: unknown). The subset `articles` has a row for each article, with its sections. Splits are "
        "determined by the titles of articles.",
    ]
    if labels:
        lines.append(f"The column `{LABEL}` has the {_line(labels)}; it is empty for sentences in no cluster.")
        lines.append(
            "The columns `source` (human, machine or imported), `coder` and `probability` say who or what gave it."
        )
    yaml_header = yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=1_000)
    return f"---\n{yaml_header}---\n\n" + "\n\n".join(lines) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())


GROUP_ROWS = 20_000
"""Rows of a row group."""
SHARD_ROWS = 500_000
"""Rows of a file."""
Rows = list[tuple[Any, ...]]


def write_dataset(
    store: Store, corpus: CorpusRecord, labels: DatasetLabels | None, folder: Path, report: Report
) -> dict[Split, int]:
    """Write a corpus into an empty folder, and return the number of sentences of each split."""
    with store.reading() as r:
        columns = r.columns.list(corpus.id)
    of = {level: [column for column in columns if column.level is level] for level in ColumnLevel}
    writer = _Writer(
        store,
        folder,
        article_fields(of[ColumnLevel.ARTICLE]),
        sentence_fields(of[ColumnLevel.SENTENCE], labels.names if labels else None),
        labels,
    )
    with store.reading() as r:
        for number, (article, sections, sentences) in enumerate(r.corpora.iterate(corpus.id)):
            writer.add(number, article, sections, sentences)
            report.progress(number + 1, max(corpus.articles, 1), f"{number + 1:,} articles")
    subsets = writer.close()
    text = card(corpus, subsets, labels.origin if labels else "")
    (folder / "README.md").write_text(text, encoding="utf-8", newline="\n")
    return {part.split: part.rows for part in subsets[0].parts}


class _Writer:
    """Parquet files of both subsets, one series of files for each split."""

    def __init__(
        self, store: Store, folder: Path, articles: Fields, sentences: Fields, labels: DatasetLabels | None
    ) -> None:
        self._store, self._labels = store, labels
        self._fields = {SENTENCES: sentences, ARTICLES: articles}
        self._shards = {
            (subset, split): _Shards(folder / subset, split, fields)
            for subset, fields in self._fields.items()
            for split in Split
        }

    def add(
        self, number: int, article: ArticleRecord, sections: Sequence[SectionRecord], sentences: Sequence[Sentence]
    ) -> None:
        listed = [{"title": s.title, "level": s.level, "path": [*s.path]} for s in sections]
        about = (article.title, article.url, article.source, article.topic, article.part)
        self._put(ARTICLES, article.split, article.id, (number, *about, listed))
        paths = {section.position: [*section.path] for section in sections}
        labels = self._labels.of(sentences) if self._labels else ()
        for at, s in enumerate(sentences):
            row = (s.text, article.title, paths[s.section], number, s.section, s.paragraph, s.position, s.start)
            self._put(SENTENCES, article.split, s.id, (*row, *labels[at]) if labels else row)

    def _put(self, subset: str, split: Split, id: int, row: tuple[Any, ...]) -> None:
        shards = self._shards[subset, split]
        shards.rows.append(row)
        shards.ids.append(id)
        if len(shards.rows) >= GROUP_ROWS:
            shards.flush(self._store)

    def close(self) -> list[Subset]:
        """Write what is left, and return what was written."""
        for shards in self._shards.values():
            shards.flush(self._store)
        return [
            Subset(subset, fields, [part for split in Split if (part := self._shards[subset, split].close()).rows])
            for subset, fields in self._fields.items()
        ]


@dataclass(slots=True)
class _Shards:
    """Files of one subset and split, named as in repositories: train-00000-of-00002.parquet."""

    folder: Path
    split: Split
    fields: Fields
    rows: Rows = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    _written: int = 0
    _files: list[Path] = field(default_factory=list)
    _writer: Any = None

    def flush(self, store: Store) -> None:
        """Write the waiting rows as one row group."""
        if not self.rows:
            return
        schema = self.fields.schema
        own = [list(values) for values in zip(*self.rows, strict=True)]
        ids = np.array(self.ids, np.int64)
        with store.reading() as r:
            own += [_values(r, column, ids) for column in self.fields.columns.values()]
        arrays = [pa.array(values, kind.type) for values, kind in zip(own, schema, strict=True)]
        if self._writer is None or self._written >= SHARD_ROWS * len(self._files):
            if self._writer is not None:
                self._writer.close()
            self.folder.mkdir(parents=True, exist_ok=True)
            self._files.append(self.folder / f"{self.split}-{len(self._files):05d}.parquet")
            self._writer = pq.ParquetWriter(self._files[-1], schema)
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        self._written += len(self.rows)
        self.rows, self.ids = [], []

    def close(self) -> CardPart:
        """Name the files, and return how many rows and bytes they have."""
        if self._writer is not None:
            self._writer.close()
        named = [file.rename(file.with_name(f"{file.stem}-of-{len(self._files):05d}.parquet")) for file in self._files]
        return CardPart(self.split, self._written, sum(file.stat().st_size for file in named))


def _values(r: Unit, column: ColumnRecord, ids: Ids) -> list[Any]:
    """Return the values of a column for articles or sentences, None for missing ones."""
    values = plain_values(ColumnType(column.type), r.columns.values(column, ids), column.categories)
    if column.type == ColumnType.DATE:
        return [time.replace(tzinfo=None) if isinstance(time, datetime) else None for time in values]
    if column.type == ColumnType.NUMBER and is_whole(column):
        return [int(number) if isinstance(number, float) else None for number in values]
    return values


# Fields of exported datasets as Arrow types and in the words of the package datasets; labels of their sentences

STRING, STRINGS, INTEGER = pa.string(), pa.list_(pa.string()), pa.int32()
_SECTION = pa.struct([("title", STRING), ("level", INTEGER), ("path", STRINGS)])
_SENTENCE_TYPES = (STRING, STRING, STRINGS, pa.int64(), *[INTEGER] * 4)
_ARTICLE_TYPES = (pa.int64(), STRING, STRING, STRING, STRING, STRING, pa.list_(_SECTION))
_LABEL_TYPES = {LABEL: pa.int64()} | dict(zip(MADE_BY, (STRING, STRING, pa.float64()), strict=True))
_DTYPES = {
    pa.string(): "string",
    pa.int32(): "int32",
    pa.int64(): "int64",
    pa.float64(): "float64",
    pa.timestamp("us"): "timestamp[us]",
}
_EXACT = 2**53


@dataclass(frozen=True)
class Fields:
    """Fields of the rows of a subset: its own, labels if it has them, and columns of the corpus."""

    own: tuple[tuple[str, pa.DataType], ...]
    classes: tuple[str, ...] | None
    columns: Mapping[str, ColumnRecord]
    """Field → column; the name differs where an own field has that of the column."""

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema of the Parquet files, with the features that the package datasets reads."""
        pairs = [*self.own, *(_LABEL_TYPES.items() if self.classes is not None else ())]
        pairs += [(name, _type_of(column)) for name, column in self.columns.items()]
        types = {name: column.type for name, column in self.columns.items()}
        names = {name: column.name for name, column in self.columns.items() if name != column.name}
        features = {name: self._feature(name, kind) for name, kind in pairs}
        about = json.dumps({"info": {"features": features}}).encode("ascii")
        return pa.schema(pairs, {METADATA: schema_metadata(types, names), FEATURES: about})

    def _feature(self, name: str, kind: pa.DataType) -> Any:
        if name == LABEL and self.classes is not None:
            return {"names": list(self.classes), "_type": "ClassLabel"}
        return _feature(kind)

    def in_card(self) -> list[dict[str, Any]]:
        """Return the features in the form of the header of a dataset card."""
        return [self._in_card(field.name, field.type) for field in self.schema]

    def _in_card(self, name: str, kind: pa.DataType) -> dict[str, Any]:
        if name == LABEL and self.classes is not None:
            names = {str(number): known for number, known in enumerate(self.classes)}
            return {"name": name, "dtype": {"class_label": {"names": names}}}
        return {"name": name, **_card_type(kind)}


def sentence_fields(columns: Iterable[ColumnRecord], classes: Sequence[str] | None) -> Fields:
    """Return the fields of sentences."""
    own = tuple(zip(OF_SENTENCES, _SENTENCE_TYPES, strict=True))
    taken = [*OF_SENTENCES, *(_LABEL_TYPES if classes is not None else ())]
    return Fields(own, None if classes is None else tuple(classes), _named(columns, taken))


def article_fields(columns: Iterable[ColumnRecord]) -> Fields:
    """Return the fields of articles."""
    return Fields(tuple(zip(OF_ARTICLES, _ARTICLE_TYPES, strict=True)), None, _named(columns, OF_ARTICLES))


def _named(columns: Iterable[ColumnRecord], taken: Sequence[str]) -> dict[str, ColumnRecord]:
    found: dict[str, ColumnRecord] = {}
    for column in columns:
        name = column.name
        while name in taken or name in found:
            name += " (column)"
        found[name] = column
    return found


def _type_of(column: ColumnRecord) -> pa.DataType:
    if column.type == ColumnType.NUMBER:
        return pa.int64() if is_whole(column) else pa.float64()
    return pa.timestamp("us") if column.type == ColumnType.DATE else STRING


def is_whole(column: ColumnRecord) -> bool:
    """Return whether all numbers of a column are whole numbers that a float has exactly."""
    ends = (column.about.get("low", 0), column.about.get("high", 0))
    return bool(column.about.get("whole")) and all(abs(end or 0) < _EXACT for end in ends)


def _feature(kind: pa.DataType) -> Any:
    if pa.types.is_list(kind):
        return [_feature(kind.value_type)]
    if pa.types.is_struct(kind):
        return {field.name: _feature(field.type) for field in kind}
    return {"dtype": _DTYPES[kind], "_type": "Value"}


def _card_type(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_list(kind):
        inner = _card_type(kind.value_type)
        return {"list": inner.get("struct", inner.get("dtype"))}
    if pa.types.is_struct(kind):
        return {"struct": [{"name": field.name, **_card_type(field.type)} for field in kind]}
    return {"dtype": _DTYPES[kind]}


Label = tuple[int | None, str, str, float | None]
"""Class of a sentence or None, and the source, coder and probability of this label."""
_NO_LABEL: Label = (None, "", "", None)


@dataclass(frozen=True, slots=True)
class DatasetLabels:
    """Names of classes, and a function that returns the label of each sentence."""

    origin: str
    """What the labels are, in words."""
    names: tuple[str, ...]
    of: Callable[[Iterable[Sentence]], list[Label]]


def labels_of(store: Store, corpus: CorpusRecord, labelling: str, themes: bool) -> DatasetLabels | None:
    """Return the labels of a labelling by its name, or with ``themes`` the newest themes; None for neither.

    Raises :class:`DataError` if the labelling is of another corpus, or if no themes were found.
    """
    if labelling:
        return _of_labelling(store, corpus, labelling)
    return _of_themes(store, corpus) if themes else None


def _of_labelling(store: Store, corpus: CorpusRecord, name: str) -> DatasetLabels:
    with store.reading() as r:
        record = r.labellings.by_name(name)
        if record.corpus_id != corpus.id:
            raise DataError(f"The coding {name!r} is of another project than {corpus.name!r}.")
        partition = r.labellings.snapshot(record.id).partition
        made = provenance_of(r, record, partition)
    numbers = sorted(partition.clusters)
    place = {number: index for index, number in enumerate(numbers)}
    row_of = {id: row for row, id in enumerate(partition.ids.tolist())}

    def label(id: int) -> Label:
        row = row_of.get(id)
        if row is None or partition.numbers[row] == UNASSIGNED:
            return _NO_LABEL
        return (place[int(partition.numbers[row])], *made.cells(row))

    def labels(sentences: Iterable[Sentence]) -> list[Label]:
        return [label(s.id) for s in sentences]

    return DatasetLabels(f"labelling “{name}”", unique([partition.clusters[n].name for n in numbers]), labels)


def _of_themes(store: Store, corpus: CorpusRecord) -> DatasetLabels:
    with store.reading() as r:
        runs = r.runs.themes(corpus.id, whole=True)
        found = r.runs.labels(runs[-1].id) if runs else {}
        maker = run_origin(r, runs[-1].id)[MAKER] if runs else []
    if not runs:
        raise DataError(f"No themes of {corpus.name!r} were found yet. Find themes first.")
    source, coder = maker

    def labels(sentences: Iterable[Sentence]) -> list[Label]:
        classes = (int(found[s.article_id][s.position]) if s.article_id in found else -1 for s in sentences)
        return [_NO_LABEL if number < 0 else (number, source, coder, None) for number in classes]

    return DatasetLabels("newest themes", unique([theme["name"] for theme in runs[-1].found["themes"]]), labels)


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of classes, which must differ, numbered where they do not."""
    taken: set[str] = set()
    found = []
    for name in names:
        number, given = 1, name
        while given in taken:
            number += 1
            given = f"{name} ({number})"
        taken.add(given)
        found.append(given)
    return tuple(found)
