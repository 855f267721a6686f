"""Queries of the Triplets page, and the export of the triplets in view, which is read in batches."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from themescope.core.metrics.triplets import MarginHistogram, SectionPairs, section_pairs
from themescope.core.types import Ids, Split, TripletRows
from themescope.db.records import TripletCard, TripletReview, TripletSections, TripletSetRecord
from themescope.jobs.services.table_files import csv_pieces, json_pieces
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import download
from themescope.webapp.shared.figures import Tones
from themescope.webapp.shared.people import UNNAMED
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.results.triplet_queries import Evaluation, Margins, margins, splits_of
from themescope.webapp.shared.text import count, figure_text


@dataclass(frozen=True, slots=True)
class EvaluatedModel:
    """A model with its evaluations on a set, at most one per split."""

    name: str
    evaluations: tuple[Evaluation, ...]


def evaluated_models(found: Sequence[Evaluation]) -> list[EvaluatedModel]:
    """Return the models of some evaluations, each once, in alphabetical order."""
    by_name: dict[str, list[Evaluation]] = {}
    for evaluation in found:
        by_name.setdefault(evaluation.model_name, []).append(evaluation)
    return [EvaluatedModel(name, tuple(by_name[name])) for name in sorted(by_name, key=str.casefold)]


def margins_at(model: EvaluatedModel, ids: Ids) -> Margins:
    """Return (n,) margins of the triplets ``ids`` of any split; NaN where the model was not evaluated."""
    found = np.full(len(ids), np.nan, np.float32)
    for evaluation in model.evaluations:
        known, values = margins(evaluation)
        if len(known):
            at = np.minimum(np.searchsorted(known, ids), len(known) - 1)
            hit = known[at] == ids
            found[hit] = values[at[hit]]
    return found


HASHES = {
    **queries.HASHES,
    Evaluation: lambda found: (found.run.id, found.run.created),
    EvaluatedModel: lambda model: (model.name, [found.run.id for found in model.evaluations]),
}


@st.cache_resource(show_spinner="Reading section titles …", max_entries=8, hash_funcs=HASHES)
def _sections(chosen: TripletSetRecord, split: Split) -> TripletSections:
    return queries.read(lambda r: r.triplets.sections(chosen.id, split))


def sections(chosen: TripletSetRecord, split: Split | None) -> TripletSections:
    """Return the section titles of the triplets of a split (None: of all splits), in the order of ``rows``."""
    parts = [_sections(chosen, one) for one in splits_of(split)]
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(len(part.titles) for part in parts)]).astype(np.int32)
    return TripletSections(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.articles for part in parts]),
        np.concatenate([part.own + start for part, start in zip(parts, starts, strict=False)]),
        np.concatenate([part.other + start for part, start in zip(parts, starts, strict=False)]),
        [title for part in parts for title in part.titles],
    )


@st.cache_resource(show_spinner="Counting section pairs …", max_entries=8, hash_funcs=HASHES)
def pairs_of(evaluation: Evaluation, chosen: TripletSetRecord) -> SectionPairs:
    """Return the accuracy by pair of section titles of an evaluation on a set."""
    known = sections(chosen, evaluation.split)
    ids, values = margins(evaluation)
    _, at, row = np.intersect1d(ids, known.ids, assume_unique=True, return_indices=True)
    return section_pairs(known.own[row], known.other[row], known.titles, values[at], known.articles[row])


@st.cache_data(show_spinner=False, max_entries=256, hash_funcs=HASHES)
def cards(chosen: TripletSetRecord, triplet_ids: Ids) -> list[TripletCard]:
    """Return triplets with their texts, in the order of ``triplet_ids``."""
    return queries.read(lambda r: r.triplets.cards(tuple(triplet_ids.tolist())))


@st.cache_resource(show_spinner="Searching …", max_entries=16, hash_funcs=HASHES)
def sentences_containing(chosen: TripletSetRecord, text: str) -> Ids:
    """Return the ids of the sentences of the set's corpus that contain ``text``."""
    return queries.read(lambda r: r.corpora.sentences_with(chosen.corpus_id, text))


def articles_titled(chosen: TripletSetRecord, text: str) -> Ids:
    """Return the ids of articles with ``text`` in their title; with ``"text"`` in quotation marks as their title."""
    whole = text.removeprefix('"').removesuffix('"')
    with queries.store().reading() as r:
        if len(text) == len(whole) + 2:
            return np.array([a.id for a in r.corpora.articles_by_title(chosen.corpus_id, whole)], dtype=np.int64)
        return r.corpora.articles_with(chosen.corpus_id, text)


@st.cache_resource(show_spinner=False, max_entries=16)
def _reviews(set_id: int, newest: int, created: datetime) -> dict[int, list[TripletReview]]:
    found: dict[int, list[TripletReview]] = {}
    with queries.store().reading() as r:
        for review in r.reviews.list(set_id):
            found.setdefault(review.triplet_id, []).append(review)
    return found


def reviews(chosen: TripletSetRecord) -> dict[int, list[TripletReview]]:
    """Return triplet id → the current review of every person; cached until there is a newer review."""
    newest = queries.read(lambda r: r.reviews.newest(chosen.id))
    return _reviews(chosen.id, newest, chosen.created)


# --- export -----------------------------------------------------------------------------------------------------------


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
        headings, judged = sections(self.chosen, self.split), reviews(self.chosen)
        titles = _article_titles(known.articles)
        order = np.argsort(known.ids, kind="stable")
        for start in range(0, len(self.ids), _BATCH):
            ids = self.ids[start : start + _BATCH]
            at = order[np.searchsorted(known.ids, ids, sorter=order)]
            part = TripletRows(*(getattr(known, name)[at] for name in TripletRows.__slots__))
            with queries.store().reading() as r:
                texts = r.triplets.texts_of(self.chosen.kind, part)
            own, other = ([headings.titles[i] for i in codes[at].tolist()] for codes in (headings.own, headings.other))
            columns = [
                texts.pivots, texts.positives, texts.negatives, [titles[i] for i in part.articles.tolist()], own, other,
                self._split_names(ids), *self._margins(ids), [format_reviews(judged.get(i, ())) for i in ids.tolist()],
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
            margins = margins_at(model, ids).tolist()
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
        download(label, make, f"{_FILE}.{suffix}{packed}", key=f"triplets_export_{suffix}", help=help)


# Chart of the margins of models on triplets

_PANEL = 250
WRONG, RIGHT = 1, 0
"""Positions in the palette."""


def margins_figure(panels: Sequence[tuple[str, str, MarginHistogram]], tones: Tones) -> go.Figure:
    """Return a histogram for each (model, unit, margins), in its own unit."""
    figure = make_subplots(rows=len(panels), cols=1, vertical_spacing=0.36 / len(panels))
    for row, (name, unit, found) in enumerate(panels, 1):
        middle = (found.edges[:-1] + found.edges[1:]) / 2
        colours = np.where(middle < 0, tones.colour(WRONG), tones.colour(RIGHT))
        spans = [f"{low:g} to {high:g}" for low, high in zip(found.edges[:-1], found.edges[1:], strict=True)]
        figure.add_trace(
            go.Bar(
                x=middle,
                y=found.counts,
                width=np.diff(found.edges),
                marker={"color": colours, "line": {"width": 0}},
                hovertext=spans,
                hovertemplate="%{y:,} triplets, margin %{hovertext}<extra></extra>",
            ),
            row=row,
            col=1,
        )
        figure.add_vline(x=0, line={"color": tones.ink, "width": 1.5}, row=row, col=1)
        of = f"{figure_text(name, 40)}: " if len(panels) > 1 else ""
        title = {"text": f"{of}margin in {figure_text(unit)}", "font": {"size": 12.5}}
        figure.update_xaxes(title=title, showgrid=False, zeroline=False, row=row, col=1)
        sides = (found.wrong / found.n, "wrong", "right", WRONG), (found.right / found.n, "correct", "left", RIGHT)
        for share, word, side, place in sides:
            figure.add_annotation(
                text=f"{share:.1%} {word}",
                x=0,
                xanchor=side,
                xshift=-8 if side == "right" else 8,
                y=1.0,
                yref="y domain" if row == 1 else f"y{row} domain",
                yanchor="bottom",
                showarrow=False,
                font={"color": tones.colour(place), "size": 13},
                row=row,
                col=1,
            )
    figure.update_yaxes(title={"text": "triplets", "font": {"size": 12.5}}, automargin=True, nticks=5)
    figure.update_xaxes(automargin=True)
    figure.update_layout(
        height=_PANEL * len(panels) + 50,
        margin={"l": 8, "r": 8, "t": 26, "b": 8},
        bargap=0.04,
        showlegend=False,
        dragmode=False,
    )
    return figure
