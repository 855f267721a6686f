"""The triplets in view as a file: texts, margins, who was right, and everybody's verdicts; streamed, however many.

Nothing is held but a few thousand rows and what is already packed: long files are written straight into gzip.
"""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import streamlit as st

from core.types import Ids, Split, TripletRows
from db.records import TripletReview, TripletSetRecord
from jobs.services.table_files import csv_pieces, json_pieces
from webapp.shared import queries, triplet_queries
from webapp.shared.people import UNNAMED
from webapp.shared.text import count
from webapp.shared.triplet_queries import Judge

PACKED_FROM = 20_000
"""Rows from which on a file is packed: some 15 MB of text."""
_AT_ONCE = 5_000
_TEXTS = ("Sentence1", "Sentence2", "Sentence3", "Article", "Section", "OtherSection", "Split")
_FILE = "themescope-triplets"
Said = Callable[[Sequence[TripletReview]], Any]


@dataclass(frozen=True, slots=True)
class Export:
    """What goes into a file."""

    chosen: TripletSetRecord
    judges: Sequence[Judge]
    split: Split | None
    """Of all the triplets, where they have one."""
    ids: Ids

    @property
    def packed(self) -> bool:
        """Whether the file is packed with gzip."""
        return len(self.ids) > PACKED_FROM

    def csv(self) -> bytes:
        """A file for spreadsheets, and for ``evaluate triplets``; no cell is a formula."""
        return self._file(csv_pieces(self._header(), self._rows(_in_words)))

    def jsonl(self) -> bytes:
        """One object a line; the verdicts are a list of objects."""
        return self._file(json_pieces(self._header(), self._rows(_as_objects)))

    def _file(self, lines: Iterable[str]) -> bytes:
        out = io.BytesIO()
        if self.packed:
            with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as packed:
                packed.writelines(line.encode("utf-8") for line in lines)
        else:
            out.writelines(line.encode("utf-8") for line in lines)
        return out.getvalue()

    def _header(self) -> list[str]:
        models = chain.from_iterable((f"margin of {judge.name}", f"{judge.name} is") for judge in self.judges)
        return [*_TEXTS, *models, "Verdicts"]

    def _rows(self, said: Said) -> Iterator[list[Any]]:
        known = triplet_queries.rows(self.chosen, self.split)
        sections = triplet_queries.sections(self.chosen, self.split)
        titles, reviews = _article_titles(known.articles), triplet_queries.reviews(self.chosen)
        order = np.argsort(known.ids, kind="stable")
        for start in range(0, len(self.ids), _AT_ONCE):
            ids = self.ids[start : start + _AT_ONCE]
            at = order[np.searchsorted(known.ids, ids, sorter=order)]
            part = TripletRows(*(getattr(known, name)[at] for name in TripletRows.__slots__))
            with queries.store().reading() as r:
                texts = r.triplets.texts_of(self.chosen.kind, part)
            own, other = ([sections.titles[i] for i in codes[at].tolist()] for codes in (sections.own, sections.other))
            columns = [
                texts.pivots, texts.positives, texts.negatives, [titles[i] for i in part.articles.tolist()], own, other,
                self._split_names(ids), *self._margins(ids), [said(reviews.get(i, ())) for i in ids.tolist()],
            ]  # fmt: skip
            yield from map(list, zip(*columns, strict=True))

    def _split_names(self, ids: Ids) -> list[str]:
        if self.split is not None:
            return [self.split.value] * len(ids)
        names = np.full(len(ids), "", dtype=object)
        for split in Split:
            names[np.isin(ids, triplet_queries.rows(self.chosen, split).ids)] = split.value
        return list(names)

    def _margins(self, ids: Ids) -> Iterator[list[Any]]:
        """Two columns a model: its margin, and in words whether it is right."""
        for judge in self.judges:
            margins = triplet_queries.margins_at(judge, ids).tolist()
            yield [None if math.isnan(m) else m for m in margins]
            yield [None if math.isnan(m) else "right" if m > 0 else "wrong" if m < 0 else "undecided" for m in margins]


def _article_titles(ids: Ids) -> Mapping[int, str]:
    with queries.store().reading() as r:
        return {id: article.title for id, article in r.corpora.articles_by_id(np.unique(ids)).items()}


def _in_words(said: Sequence[TripletReview]) -> str:
    notes = {r.id: f" ({r.note})" if r.note else "" for r in said}
    return "; ".join(f"{r.person or UNNAMED}: {r.verdict}{notes[r.id]}" for r in said)


def _as_objects(said: Sequence[TripletReview]) -> list[dict[str, str]]:
    return [
        {"person": r.person, "verdict": str(r.verdict), "note": r.note, "when": r.created.isoformat()} for r in said
    ]


def buttons(chosen: TripletSetRecord, judges: Sequence[Judge], split: Split | None, ids: Ids) -> None:
    """A download as CSV and as JSON lines; a file is made when it is asked for, beside the page."""
    export = Export(chosen, judges, split, ids)
    for label, ending, mime, make in (
        ("CSV", "csv", "text/csv", export.csv),
        ("JSONL", "jsonl", "application/jsonl", export.jsonl),
    ):
        st.download_button(
            label,
            data=make,
            file_name=f"{_FILE}.{ending}{'.gz' if export.packed else ''}",
            mime="application/gzip" if export.packed else mime,
            icon=":material/download:",
            on_click="ignore",
            key=f"export-{ending}",
            help=f"The {count(len(ids), 'triplet')} in view, with margins and verdicts"
            + (", packed with gzip" if export.packed else ""),
        )
