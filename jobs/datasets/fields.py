"""Fields of exported datasets as Arrow types and in the words of the package datasets; labels of their sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from themescope.core.columns import ColumnType
from themescope.core.errors import DataError
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.readers.arrow_tables import (
    FEATURES,
    LABEL,
    MADE_BY,
    METADATA,
    OF_ARTICLES,
    OF_SENTENCES,
    schema_metadata,
)
from themescope.core.records.stored import ColumnRecord, CorpusRecord
from themescope.core.types import Sentence
from themescope.db.store import Store
from themescope.jobs.common.labelled.placed import MAKER, provenance_of, run_origin

STRING, STRINGS, INTEGER = pa.string(), pa.list_(pa.string()), pa.int32()
_SECTION = pa.struct([("title", STRING), ("level", INTEGER), ("path", STRINGS)])
_SENTENCE_TYPES = (STRING, STRING, STRINGS, pa.int64(), *[INTEGER] * 4)
_ARTICLE_TYPES = (pa.int64(), STRING, STRING, STRING, STRING, STRING, pa.list_(_SECTION))
_LABEL_TYPES = {LABEL: pa.int64()} | dict(zip(MADE_BY, (STRING, STRING, pa.float64()), strict=True))
_DTYPES = {
    pa.string(): "string", pa.int32(): "int32", pa.int64(): "int64", pa.float64(): "float64",
    pa.timestamp("us"): "timestamp[us]",
}  # fmt: skip
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
            raise DataError(f"The labelling {name!r} is of another corpus than {corpus.name!r}.")
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

    return DatasetLabels("newest themes", unique([str(theme["name"]) for theme in runs[-1].config["themes"]]), labels)


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
