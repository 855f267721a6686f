"""What the points of a map can be coloured by. A new colouring is a function in ``SOURCES``; the page asks for no more.

A source looks at a corpus and the sentences in view and offers choices; a choice is made into a colouring only when it
is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from core.clustering import REGISTRY as CLUSTERERS
from core.labelling.partition import UNASSIGNED
from core.types import Ids, Split
from db.label_records import LabellingRecord
from db.records import CorpusRecord, RunRecord, TripletSetRecord
from webapp.map_view import mapping
from webapp.map_view.map_scene import LEAD, Scene
from webapp.shared import label_queries, queries, theme_queries, triplet_queries
from webapp.shared.palette import Tones
from webapp.shared.people import current_person
from webapp.shared.theme_queries import Analysis
from webapp.shared.triplet_queries import Evaluation

Categories = npt.NDArray[np.int64]
_RANGES = 6
_WRONG, _RIGHT = 1, 6
"""Places in the palette: orange and blue."""


@dataclass(frozen=True, slots=True)
class Colouring:
    """The category of each point, what the categories are called, and how they are painted."""

    categories: Categories
    """(n,) -1 is "other"."""
    names: list[str]
    other: str
    colours: Sequence[int] = ()
    """Place of each category in the palette; empty: 0, 1, 2, …"""
    shades: Sequence[float] = ()
    """For ordered categories, place of each on a ramp instead: -1 wrong … 0 … 1 right."""
    column: str = ""
    """Head of the column that says the category in a table; "" where the table says it anyway."""
    values: npt.NDArray[np.floating] | None = None
    """(n,) the number behind the category, NaN where there is none."""

    def only(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Colouring:
        """The colouring of some rows."""
        values = None if self.values is None else self.values[rows]
        return Colouring(self.categories[rows], self.names, self.other, self.colours, self.shades, self.column, values)

    def name(self, row: int) -> str:
        """The category of one row in words."""
        return self.names[self.categories[row]] if self.categories[row] >= 0 else self.other

    def paint(self, tones: Tones, category: int) -> tuple[str, int]:
        """(colour, shape 0…3) of a category."""
        if category < 0:
            return tones.other, 0
        if self.shades:
            return _ramp(tones, self.shades[category]), 0
        place = self.colours[category] if self.colours else category
        return tones.colour(place), place // len(tones.categories) % 4


@dataclass(frozen=True, slots=True)
class View:
    """What a source may look at."""

    corpus: CorpusRecord
    whole: Scene
    scene: Scene
    """The sentences in view, some of the whole."""
    articles: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    """Ids of the articles that were chosen; empty: all."""

    @property
    def single(self) -> bool:
        """One article alone is in view."""
        return len(self.articles) == 1


@dataclass(frozen=True, slots=True)
class Choice:
    """Something to colour by."""

    name: str
    """Stands in the list and in the address."""
    make: Callable[[], Colouring]


def choices(view: View) -> dict[str, Choice]:
    """Everything that the sentences in view can be coloured by, by name; of equal names the first, as sources stand."""
    found: dict[str, Choice] = {}
    for source in SOURCES:
        for choice in source(view):
            found.setdefault(choice.name, choice)
    return found


# ---------------------------------------------------------------- the text itself


def of_text(view: View) -> list[Choice]:
    """Section, article, topic and split."""
    known = view.scene.known
    offered = [Choice("Section", partial(_sections, view))]
    if not view.single:
        offered.append(Choice("Article", partial(_articles, view)))
        if any(article.topic for article in known.values()):
            offered.append(Choice("Topic", partial(_topics, view)))
        offered.append(Choice("Split", partial(_splits, view)))
    return offered


def _sections(view: View) -> Colouring:
    titles = [title or LEAD for title in view.scene.titles]
    found, codes = mapping.categories(view.scene.sections, titles, keep_order=view.single)
    everywhere = mapping.categories(view.whole.sections, titles)[1]
    names = [titles[code] for code in codes]
    colours = mapping.lasting_colours(names, [titles[code] for code in everywhere])
    return Colouring(found, names, "other sections", colours)


def _articles(view: View) -> Colouring:
    ids = np.array(sorted(view.scene.known), dtype=np.int64)
    titles = [view.scene.known[int(i)].title for i in ids]
    found, codes = mapping.categories(np.searchsorted(ids, view.scene.articles), titles)
    everywhere = mapping.categories(np.searchsorted(ids, view.whole.articles), titles)[1]
    places = {code: place for place, code in enumerate(everywhere)}
    lasting = mapping.lasting_colours([str(c) for c in codes], [str(c) for c in places])
    return Colouring(found, [titles[code] for code in codes], "other articles", lasting)


def _topics(view: View) -> Colouring:
    names = sorted({article.topic for article in view.scene.known.values()} - {""})
    place = {name: i for i, name in enumerate(names)}
    topic = _by_article(view.scene, {i: place.get(article.topic, -1) for i, article in view.scene.known.items()})
    found = np.full(len(topic), -1, dtype=np.int64)
    found[topic >= 0], codes = mapping.categories(topic[topic >= 0], names)
    return Colouring(found, [names[code] for code in codes], "other topics or none", column="Topic")


def _splits(view: View) -> Colouring:
    place = {split: i for i, split in enumerate(Split)}
    found = _by_article(view.scene, {i: place[article.split] for i, article in view.scene.known.items()})
    return Colouring(found, [str(split) for split in Split], "", column="Split")


def _by_article(scene: Scene, codes: dict[int, int]) -> Categories:
    ids = np.array(sorted(codes), dtype=np.int64)
    values = np.array([codes[int(i)] for i in ids], dtype=np.int64)
    return values[np.searchsorted(ids, scene.articles)]


# ---------------------------------------------------------------- clusters


def of_clusterings(view: View) -> list[Choice]:
    """Clusterings of the one article in view, the newest of each kind; elsewhere clusters have no common meaning."""
    if not view.single:
        return []
    models, article = {m.id: m.name for m in queries.models()}, int(view.articles[0])
    offered = []
    for benchmark in queries.benchmarks(view.corpus.id):
        for run in queries.clusterings(benchmark.id):
            title = CLUSTERERS.get(run.clusterer).title if run.clusterer in CLUSTERERS else run.clusterer
            if article in queries.labels(run.id, run.digest):
                offered.append(
                    Choice(f"{title} of {models.get(run.model_id or -1, 'no model')}", partial(_clusters, view, run))
                )
    return offered


def _clusters(view: View, run: RunRecord) -> Colouring:
    """The clusters of a run, numbered from 1; sentences that it did not see are "not clustered"."""
    assert run.benchmark_id is not None  # clusterings are those of a benchmark
    items = queries.benchmark_sentences(run.benchmark_id, run.digest)
    label = mapping.cluster_of(queries.labels(run.id, run.digest), items)
    found = np.array([label.get(int(i), -1) for i in view.scene.ids], dtype=np.int64)
    names = [f"Cluster {k + 1}" for k in range(min(int(found.max(initial=-1)) + 1, mapping.MOST))]
    return Colouring(np.where(found < len(names), found, -1), names, "not clustered", column="Cluster")


def of_themes(view: View) -> list[Choice]:
    """Themes that were found in the whole corpus, and how sure each sentence is of its own."""
    offered = []
    for analysis in theme_queries.analyses():
        if analysis.corpus.id == view.corpus.id:
            name = f"{len(analysis.themes)} themes by {analysis.model.name}"
            offered.append(Choice(name, partial(_themes, view, analysis)))
            offered.append(Choice(f"Confidence in the {name}", partial(_confidence, view, analysis)))
    return offered


def _themes(view: View, analysis: Analysis) -> Colouring:
    listed = theme_queries.listing(analysis.run.id, analysis.run.created)
    labels = _looked_up(view.scene.ids, listed.ids, listed.labels.astype(np.float64))
    found = np.where(np.isfinite(labels) & (labels < mapping.LIMIT), np.nan_to_num(labels, nan=-1.0), -1).astype(
        np.int64
    )
    names = [f"{place}. {theme['name']}" for place, theme in enumerate(analysis.themes[: mapping.LIMIT], 1)]
    return Colouring(found, names, "other themes", column="Theme")


def _confidence(view: View, analysis: Analysis) -> Colouring:
    listed = theme_queries.listing(analysis.run.id, analysis.run.created)
    return _ranged(_looked_up(view.scene.ids, listed.ids, listed.margins), "no theme", "Confidence")


# ---------------------------------------------------------------- people


def of_labellings(view: View) -> list[Choice]:
    """What people said: every labelling of the corpus, but blind ones only for those who own them."""
    known = label_queries.labellings(view.corpus.id)
    person = current_person()
    return [Choice(f"Labels: {r.name}", partial(_labels, view, r)) for r in known if not r.blind or r.owner == person]


def _labels(view: View, record: LabellingRecord) -> Colouring:
    """The clusters of a labelling as they are now, in the colours that people gave them."""
    with queries.store().reading() as r:
        now = r.labellings.shown(record.id).partition
    numbers = _looked_up(view.scene.ids, now.ids, now.numbers.astype(np.float64))
    clusters = sorted(now.clusters)
    place = np.searchsorted(clusters, np.nan_to_num(numbers, nan=UNASSIGNED))
    known = np.isin(numbers, clusters)
    names = [now.clusters[number].name for number in clusters]
    found = np.full(len(numbers), -1, dtype=np.int64)
    found[known], chosen = mapping.categories(place[known], names)
    colours = [now.clusters[clusters[code]].colour for code in chosen]
    return Colouring(found, [names[code] for code in chosen], "other labels or none", colours, column="Label")


# ---------------------------------------------------------------- triplets


def of_triplets(view: View) -> list[Choice]:
    """Whether a model got the triplets right whose pivots are in view, and by how much."""
    offered = []
    for chosen in queries.triplet_sets(view.corpus.id):
        for evaluation in triplet_queries.evaluations(chosen):
            name = f"{evaluation.name} on {chosen.name}"
            offered.append(Choice(f"Right or wrong: {name}", partial(_right, view, evaluation, chosen)))
            offered.append(Choice(f"Margin: {name}", partial(_margin, view, evaluation, chosen)))
    return offered


def _pivots(evaluation: Evaluation, chosen: TripletSetRecord) -> tuple[Ids, npt.NDArray[np.float64]]:
    """(n,) pivots of the triplets that were evaluated, and the margin of each."""
    ids, margins = triplet_queries.margins(evaluation)
    rows = triplet_queries.rows(chosen, evaluation.split)
    there = np.isin(ids, rows.ids)
    return rows.pivots[mapping.rows_of(rows.ids, ids[there])], margins[there].astype(np.float64)


def _right(view: View, evaluation: Evaluation, chosen: TripletSetRecord) -> Colouring:
    pivots, margins = _pivots(evaluation, chosen)
    share = _means(view.scene.ids, pivots, (margins > 0).astype(np.float64))
    found = np.full(len(share), -1, dtype=np.int64)
    there = np.isfinite(share)
    found[there] = np.where(share[there] == 1, 0, np.where(share[there] == 0, 2, 1))
    names = ["every triplet right", "some right, some wrong", "every triplet wrong"]
    return Colouring(found, names, "pivot of no triplet", shades=(1.0, 0.0, -1.0), column="Triplets", values=share)


def _margin(view: View, evaluation: Evaluation, chosen: TripletSetRecord) -> Colouring:
    return _ranged(_means(view.scene.ids, *_pivots(evaluation, chosen)), "pivot of no triplet", "Margin")


def _means(wanted: Ids, ids: Ids, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(n,) mean of the values of each wanted id; NaN where it has none."""
    known, place = np.unique(ids, return_inverse=True)
    sums, counts = np.bincount(place, values, len(known)), np.bincount(place, minlength=len(known))
    return _looked_up(wanted, known, sums / np.maximum(counts, 1))


def _looked_up(wanted: Ids, ids: Ids, values: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    found = np.full(len(wanted), np.nan)
    there = np.flatnonzero(np.isin(wanted, ids))
    found[there] = values[mapping.rows_of(ids, wanted[there])]
    return found


def _ranged(values: npt.NDArray[np.float64], other: str, column: str) -> Colouring:
    """Ordered ranges of a number that is below 0 where something is wrong."""
    found = np.full(len(values), -1, dtype=np.int64)
    names: list[str] = []
    shades: list[float] = []
    for wrong in (True, False):
        part = np.where((values < 0) == wrong, values, np.nan)
        place, ends = mapping.ranges(part, _RANGES // 2)
        found[place >= 0] = place[place >= 0] + len(names)
        steps = np.linspace(1, 0.3, len(ends)) if wrong else np.linspace(0.3, 1, len(ends))
        shades += [float(-s if wrong else s) for s in steps]
        names += [_range_name(low, high) for low, high in ends]
    return Colouring(found, names, other, shades=shades, column=column, values=values)


def _range_name(low: float, high: float) -> str:
    said = [f"{value:.2f}".replace("-", "−") for value in (low, high)]
    return said[0] if said[0] == said[1] else f"{said[0]} … {said[1]}"


def _ramp(tones: Tones, place: float) -> str:
    """A colour between the ground's grey (0), orange (-1) and blue (1)."""
    end, share = tones.colour(_RIGHT if place > 0 else _WRONG), abs(place)
    pairs = zip(_channels(tones.other), _channels(end), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


SOURCES: list[Callable[[View], list[Choice]]] = [of_text, of_labellings, of_clusterings, of_themes, of_triplets]
"""Every source, in the order of the list."""
