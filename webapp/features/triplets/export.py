"""Export of the triplets in view: texts, margins and verdicts as CSV or JSON lines.

Rows are read in batches, and long files are written directly into gzip.
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

from themescope.core.types import Ids, Split, TripletRows
from themescope.db.records import TripletReview, TripletSetRecord
from themescope.jobs.services.table_files import csv_pieces, json_pieces
from themescope.webapp.features.triplets import queries as page_queries
from themescope.webapp.features.triplets.queries import EvaluatedModel
from themescope.webapp.features.triplets.state import EXPORT
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import download
from themescope.webapp.shared.people import UNNAMED
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.text import count

COMPRESSED_FROM = 20_000
"""Rows from which a file is compressed: about 15 MB of text."""
_BATCH = 5_000
_TEXTS = ("Sentence1", "Sentence2", "Sentence3", "Article", "Section", "OtherSection", "Split")
_FILE = "themescope-triplets"
ReviewFormat = Callable[[Sequence[TripletReview]], Any]


@dataclass(frozen=True, slots=True)
class Export:
    """The content of an exported file."""

    chosen: TripletSetRecord
    models: Sequence[EvaluatedModel]
    split: Split | None
    """The split of all triplets; None for several."""
    ids: Ids

    @property
    def compressed(self) -> bool:
        """True if the file is compressed with gzip."""
        return len(self.ids) > COMPRESSED_FROM

    def csv(self) -> bytes:
        """Return a CSV for spreadsheets and for ``evaluate triplets``, with formulas escaped."""
        return self._file(csv_pieces(self._header(), self._rows(_as_text)))

    def jsonl(self) -> bytes:
        """Return one JSON object per line; verdicts are a list of objects."""
        return self._file(json_pieces(self._header(), self._rows(_as_objects)))

    def _file(self, lines: Iterable[str]) -> bytes:
        out = io.BytesIO()
        if self.compressed:
            with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as packed:
                packed.writelines(line.encode("utf-8") for line in lines)
        else:
            out.writelines(line.encode("utf-8") for line in lines)
        return out.getvalue()

    def _header(self) -> list[str]:
        models = chain.from_iterable((f"margin of {model.name}", f"{model.name} is") for model in self.models)
        return [*_TEXTS, *models, "Verdicts"]

    def _rows(self, format_reviews: ReviewFormat) -> Iterator[list[Any]]:
        known = triplet_queries.rows(self.chosen, self.split)
        sections = page_queries.sections(self.chosen, self.split)
        titles, reviews = _article_titles(known.articles), page_queries.reviews(self.chosen)
        order = np.argsort(known.ids, kind="stable")
        for start in range(0, len(self.ids), _BATCH):
            ids = self.ids[start : start + _BATCH]
            at = order[np.searchsorted(known.ids, ids, sorter=order)]
            part = TripletRows(*(getattr(known, name)[at] for name in TripletRows.__slots__))
            with queries.store().reading() as r:
                texts = r.triplets.texts_of(self.chosen.kind, part)
            own, other = ([sections.titles[i] for i in codes[at].tolist()] for codes in (sections.own, sections.other))
            columns = [
                texts.pivots, texts.positives, texts.negatives, [titles[i] for i in part.articles.tolist()], own, other,
                self._split_names(ids), *self._margins(ids), [format_reviews(reviews.get(i, ())) for i in ids.tolist()],
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
        """Yield two columns per model: its margin, and whether it is right."""
        for model in self.models:
            margins = page_queries.margins_at(model, ids).tolist()
            yield [None if math.isnan(m) else m for m in margins]
            yield [None if math.isnan(m) else "correct" if m > 0 else "wrong" if m < 0 else "tied" for m in margins]


def _article_titles(ids: Ids) -> Mapping[int, str]:
    return queries.read(
        lambda r: {id: article.title for id, article in r.corpora.articles_by_id(np.unique(ids)).items()}
    )


def _as_text(reviews: Sequence[TripletReview]) -> str:
    notes = {r.id: f" ({r.note})" if r.note else "" for r in reviews}
    return "; ".join(f"{r.person or UNNAMED}: {r.verdict}{notes[r.id]}" for r in reviews)


def _as_objects(reviews: Sequence[TripletReview]) -> list[dict[str, str]]:
    return [
        {"person": r.person, "verdict": str(r.verdict), "note": r.note, "when": r.created.isoformat()} for r in reviews
    ]


def buttons(chosen: TripletSetRecord, models: Sequence[EvaluatedModel], split: Split | None, ids: Ids) -> None:
    """Draw the downloads; a file is made when its button is clicked."""
    export = Export(chosen, models, split, ids)
    packed = ".gz" if export.compressed else ""
    help = f"The {count(len(ids), 'triplet')} in view with margins and verdicts{', compressed' if packed else ''}"
    for label, suffix, make in (("CSV", "csv", export.csv), ("JSONL", "jsonl", export.jsonl)):
        download(label, make, f"{_FILE}.{suffix}{packed}", key=f"{EXPORT}_{suffix}", help=help)
