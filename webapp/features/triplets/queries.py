"""Queries of the Triplets page, and the export of the triplets in view, which is read in batches."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from themescope.core.metrics.triplets import MarginHistogram, SectionPairs, fold_heading, section_pairs
from themescope.core.types import Ids, Split, TripletRows
from themescope.db.records import TripletCard, TripletReview, TripletSections, TripletSetRecord, Verdict
from themescope.jobs.services.table_files import csv_pieces, json_pieces
from themescope.webapp.features import triplets as state
from themescope.webapp.features.triplets import LOWEST, TRIPLET
from themescope.webapp.shared import people, queries, triplet_queries
from themescope.webapp.shared.choose import by_name
from themescope.webapp.shared.components import download
from themescope.webapp.shared.figures import Tones
from themescope.webapp.shared.people import UNNAMED
from themescope.webapp.shared.text import count, figure_text, plain
from themescope.webapp.shared.triplet_queries import Evaluation, Margins, margins, splits_of


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

    def _rows(self, format_reviews: Callable[[Sequence[TripletReview]], Any]) -> Iterator[list[Any]]:
        known = triplet_queries.rows(self.chosen, self.split)
        headings, judged = sections(self.chosen, self.split), reviews(self.chosen)
        articles = queries.articles_by_id(np.unique(known.articles))
        order = np.argsort(known.ids, kind="stable")
        for start in range(0, len(self.ids), _BATCH):
            ids = self.ids[start : start + _BATCH]
            at = order[np.searchsorted(known.ids, ids, sorter=order)]
            part = TripletRows(*(getattr(known, name)[at] for name in TripletRows.__slots__))
            with queries.store().reading() as r:
                texts = r.triplets.texts_of(self.chosen.kind, part)
            own, other = ([headings.titles[i] for i in codes[at].tolist()] for codes in (headings.own, headings.other))
            titles = [articles[i].title for i in part.articles.tolist()]
            told = [format_reviews(judged.get(i, ())) for i in ids.tolist()]
            found = [texts.pivots, texts.positives, texts.negatives, titles, own, other, self._split_names(ids)]
            yield from map(list, zip(*found, *self._margins(ids), told, strict=True))

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
        download(label, make, f"themescope-triplets.{suffix}{packed}", key=f"triplets_export_{suffix}", help=help)


# Chart of the margins of models on triplets

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
        height=250 * len(panels) + 50,
        margin={"l": 8, "r": 8, "t": 26, "b": 8},
        bargap=0.04,
        showlegend=False,
        dragmode=False,
    )
    return figure


# Filter of the Browse tab. All of its settings are URL keys, so that a view can be shared as a link

_ALL = "all"
ANY, UNJUDGED, JUDGED = "any", "not reviewed by me", "reviewed"
_REVIEWS = (ANY, UNJUDGED, JUDGED, *(verdict.value for verdict in Verdict))
AS_SAMPLED = "as sampled"
ORDERS: Mapping[str, Callable[[Margins], Margins]] = {
    LOWEST: lambda m: m,
    "highest margin first": lambda m: -m,
    "margin closest to 0 first": np.abs,
}
"""Orders → sort keys, ascending, of margins."""


@dataclass(frozen=True, slots=True)
class TripletFilter:
    """Conditions on the triplets of a set, and their order; empty values impose none."""

    split: Split | None = None
    words: str = ""
    """Text that one of the sentences contains."""
    article: str = ""
    """Part of a title; in quotation marks, the whole title."""
    pair: tuple[str, ...] = ()
    """Two section titles in any order, ignoring case and spacing."""
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    """Models that are right, and that are wrong, about the triplet."""
    review: str = ANY
    order: str = AS_SAMPLED
    order_model: str = ""
    """The model whose margins the order refers to."""


def panel(models: Sequence[EvaluatedModel]) -> TripletFilter:
    """Draw the settings in a panel above the text, and a summary of the filter; return the filter."""
    names = [model.name for model in models]
    beside = st.container(horizontal=True, vertical_alignment="center")
    with beside.popover("Filter and sort", icon=":material/filter_list:", key="triplets_filter", width="content"):
        columns = st.columns(3)
        with columns[0]:
            split = by_name("Split", [_ALL, *(s.value for s in Split)], state.SPLIT, str)
            right = _models("Right", names, state.RIGHT)
            review = by_name("Review", _REVIEWS, state.REVIEW, str, help="Of anyone, if not said otherwise.")
        with columns[1]:
            words = st.text_input("Words", key=state.WORDS, bind="query-params", placeholder="in a sentence")
            wrong = _models("Wrong", names, state.WRONG)
            order = by_name("Sort", [AS_SAMPLED, *ORDERS], state.ORDER, str, disabled=not names)
        with columns[2]:
            article = st.text_input("Article", key=state.ARTICLE, bind="query-params", placeholder="part of a title")
            st.caption("A model is right if the margin is above 0: the pivot is nearer to the positive.")
            of = by_name("By the margins of", names, state.ORDER_MODEL, str) if names else ""
    pair = tuple(st.query_params.get_all(state.PAIR))
    of_texts = None if split == _ALL else Split(split), words.strip(), article.strip(), pair if len(pair) == 2 else ()
    found = TripletFilter(*of_texts, right, wrong, review, order if names else AS_SAMPLED, of)
    summary = describe(found)
    if summary:
        beside.markdown(f"Showing only {summary}", width="content")
        beside.button("Reset filter", icon=":material/close:", on_click=state.reset_filter, type="tertiary")
    return found


def _models(label: str, names: Sequence[str], key: str) -> tuple[str, ...]:
    if key in st.session_state:
        st.session_state[key] = [name for name in st.session_state[key] if name in names]
    off = not names
    return tuple(st.multiselect(label, names, key=key, bind="query-params", placeholder="any model", disabled=off))


def describe(found: TripletFilter) -> str:
    """Return the filter in words for Markdown; "" where there is no condition."""
    parts = [f"the {found.split.value} split"] if found.split else []
    texts = (("article", found.article), ("words", found.words))
    parts += [f"{noun} with **{plain(text)}**" for noun, text in texts if text]
    if found.pair:
        parts.append(" and ".join(f"**{plain(state.heading(title))}**" for title in found.pair))
    parts += [f"**{plain(name)}** right" for name in found.right]
    parts += [f"**{plain(name)}** wrong" for name in found.wrong]
    parts += [found.review] if found.review != ANY else []
    return " · ".join(parts) + (f", {found.order}" if found.order != AS_SAMPLED else "") if parts else ""


def ids(chosen: TripletSetRecord, conditions: TripletFilter, models: Sequence[EvaluatedModel]) -> Ids:
    """Return the ids of the triplets that pass the filter, whatever their reviews, in its order."""
    if replace(conditions, review=ANY) == TripletFilter(split=conditions.split, order_model=conditions.order_model):
        return triplet_queries.ids(chosen, conditions.split)
    return _ids(chosen, replace(conditions, review=ANY), models)


@st.cache_resource(show_spinner="Filtering triplets …", max_entries=24, hash_funcs=HASHES)
def _ids(chosen: TripletSetRecord, conditions: TripletFilter, models: Sequence[EvaluatedModel]) -> Ids:
    named = {model.name: model for model in models}
    known = triplet_queries.rows(chosen, conditions.split)
    keep = np.ones(len(known.ids), bool)
    if conditions.article:
        keep &= np.isin(known.articles, articles_titled(chosen, conditions.article))
    if conditions.words:
        columns = [known.pivots] if chosen.kind == "titles" else [known.pivots, known.positives, known.negatives]
        holding = sentences_containing(chosen, conditions.words)
        keep &= np.logical_or.reduce([np.isin(column, holding) for column in columns])
    if conditions.pair:
        keep &= _of_sections(chosen, conditions)
    for names, sign in ((conditions.right, 1), (conditions.wrong, -1)):
        for name in names:
            keep &= sign * margins_at(named[name], known.ids) > 0  # False where the margin is NaN
    found = known.ids[keep]
    if conditions.order == AS_SAMPLED:
        return found
    margins = margins_at(named[conditions.order_model], found)
    found, margins = found[np.isfinite(margins)], margins[np.isfinite(margins)]
    return found[np.argsort(ORDERS[conditions.order](margins), kind="stable")]


def _of_sections(chosen: TripletSetRecord, conditions: TripletFilter) -> npt.NDArray[np.bool_]:
    """Return a mask of the triplets of two sections, one of which has the pivot."""
    known = sections(chosen, conditions.split)
    folded = [fold_heading(title) for title in known.titles]
    a, b = (np.array([title == fold_heading(one) for title in folded], bool) for one in conditions.pair)
    found: npt.NDArray[np.bool_] = (a[known.own] & b[known.other]) | (b[known.own] & a[known.other])
    return found


def reviewed(reviews: Mapping[int, Sequence[TripletReview]], review: str) -> Ids:
    """Return the ids of the triplets with a review, one by this person, or a verdict of anyone, in ascending order."""
    me = people.current_person()

    def fits(one: TripletReview) -> bool:
        return one.person == me if review == UNJUDGED else review in (JUDGED, one.verdict)

    return np.array(sorted(id for id, listed in reviews.items() if any(map(fits, listed))), dtype=np.int64)


def with_reviews(found: Ids, reviews: Mapping[int, Sequence[TripletReview]], review: str) -> Ids:
    """Return those of the triplets ``found`` that have such a review, in their order."""
    return found if review == ANY else found[np.isin(found, reviewed(reviews, review), invert=review == UNJUDGED)]


@dataclass(frozen=True, slots=True)
class TripletView:
    """The triplets that pass the filter, in order, with models and reviews."""

    chosen: TripletSetRecord
    models: Sequence[EvaluatedModel]
    reviews: Mapping[int, Sequence[TripletReview]]
    candidates: Ids
    """(m,) ids that pass the filter, whatever their reviews."""
    ids: Ids
    """(n,) ids that pass the whole filter."""

    def position(self) -> int:
        """Return the position of the triplet that the URL names; 0 if it is not in view."""
        text = st.query_params.get(TRIPLET, "")
        wanted = int(text) if text.isdecimal() and len(text) < 19 else 0
        found = np.flatnonzero(self.ids == wanted)
        return int(found[0]) if len(found) else 0

    def step(self, at: int, to: int) -> None:
        """Move from position ``at`` to ``to``, unless the user has left ``at``; for callbacks."""
        if self.position() == at:
            self.go(to)

    def go(self, to: int) -> None:
        """Show the triplet at a position; for callbacks."""
        st.query_params[TRIPLET] = str(self.ids[min(max(to, 0), len(self.ids) - 1)])
