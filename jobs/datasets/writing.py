"""Writing the folder of a dataset with its card (README.md), a few hundred articles in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from themescope.core.columns import ColumnLevel, ColumnType, plain_values
from themescope.core.protocols import Report
from themescope.core.readers.arrow_tables import ARTICLES, LABEL, SENTENCES
from themescope.core.records.stored import ArticleRecord, ColumnRecord, CorpusRecord
from themescope.core.types import Ids, SectionRecord, Sentence, Split
from themescope.db.store import Store, Unit
from themescope.jobs.common.results import code_version
from themescope.jobs.datasets.fields import DatasetLabels, Fields, article_fields, is_whole, sentence_fields


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
    writer = _Writer(store, folder, article_fields(of[ColumnLevel.ARTICLE]),
                     sentence_fields(of[ColumnLevel.SENTENCE], labels.names if labels else None), labels)  # fmt: skip
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
        """Add an article with its sentences."""
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
        further = _column_values(store, list(self.fields.columns.values()), np.array(self.ids, np.int64))
        arrays = [pa.array(values, kind.type) for values, kind in zip([*own, *further], schema, strict=True)]
        if self._writer is None or self._written >= SHARD_ROWS * len(self._files):
            self._begin()
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
        self._written += len(self.rows)
        self.rows, self.ids = [], []

    def _begin(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._files.append(self.folder / f"{self.split}-{len(self._files):05d}.parquet")
        self._writer = pq.ParquetWriter(self._files[-1], self.fields.schema)

    def close(self) -> CardPart:
        """Name the files, and return how many rows and bytes they have."""
        if self._writer is not None:
            self._writer.close()
        named = [file.rename(file.with_name(f"{file.stem}-of-{len(self._files):05d}.parquet")) for file in self._files]
        return CardPart(self.split, self._written, sum(file.stat().st_size for file in named))


def _column_values(store: Store, columns: Sequence[ColumnRecord], ids: Ids) -> Iterator[list[Any]]:
    """Yield the values of each column for articles or sentences, None for missing ones."""
    if columns:
        with store.reading() as r:
            yield from (_values(r, column, ids) for column in columns)


def _values(r: Unit, column: ColumnRecord, ids: Ids) -> list[Any]:
    values = plain_values(ColumnType(column.type), r.columns.values(column, ids), column.categories)
    if column.type == ColumnType.DATE:
        return [time.replace(tzinfo=None) if isinstance(time, datetime) else None for time in values]
    if column.type == ColumnType.NUMBER and is_whole(column):
        return [int(number) if isinstance(number, float) else None for number in values]
    return values
