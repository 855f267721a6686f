"""Options for colouring the points of a map.

A source is a function in ``SOURCES``: for a corpus and the sentences in view it returns options. The colouring of an
option is computed when the option is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.columns import ColumnType
from themescope.core.labelling.coding import at_theme_level
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.records.stored import ColumnRecord, CorpusRecord, LabellingRecord, RunRecord
from themescope.core.types import Ids, Labels, Split
from themescope.webapp.map_view.scene import LEAD, MANY, MAX_CATEGORIES, Categories, Colouring, Scene, rows_of
from themescope.webapp.shared import compare_queries, queries
from themescope.webapp.shared.compare_queries import Analysis
from themescope.webapp.shared.people import current_person


def categories(
    codes: npt.NDArray[np.integer], names: Sequence[str], keep_order: bool = False
) -> tuple[npt.NDArray[np.int64], list[int]]:
    """Return the (n,) category of each point and the code behind each category; rare codes have the category -1.

    ``codes`` are indices into ``names``. The categories are the ``MANY`` most frequent codes, ties broken by name, in
    order of first appearance with ``keep_order`` (sections of one article), else by frequency.
    """
    counts = np.bincount(codes, minlength=len(names)) if len(codes) else np.zeros(len(names), np.int64)
    least = np.sort(counts)[-MANY] if len(counts) >= MANY else 0
    there = np.flatnonzero((counts > 0) & (counts >= least))
    chosen = sorted(there.tolist(), key=lambda code: (-int(counts[code]), names[code]))[:MANY]
    if keep_order:
        first = dict(zip(*(part.tolist() for part in np.unique(codes, return_index=True)), strict=True))
        chosen.sort(key=first.__getitem__)
    place = np.full(len(names), -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    return place[codes] if len(codes) else np.empty(0, np.int64), chosen


def lasting_colours(names: Sequence[str], known: Sequence[str]) -> list[int]:
    """Return the palette index of each of ``names``, the same in every view for names among ``known``.

    Other names take the free indices in their order, so that no two categories in view look the same.
    """
    place = {name: i for i, name in enumerate(known)}
    taken = {place[name] for name in names if name in place}
    free = (i for i in range(len(names) + len(taken)) if i not in taken)
    return [place[name] if name in place else next(free) for name in names]


def cluster_of(labels: Mapping[int, Labels], items: Mapping[int, Ids]) -> dict[int, int]:
    """Return sentence id → label over every article of a run."""
    return {
        int(sentence): int(label)
        for article, ids in items.items()
        if article in labels
        for sentence, label in zip(ids, labels[article], strict=True)
    }


def ranges(values: npt.NDArray[np.floating], parts: int) -> tuple[npt.NDArray[np.int64], list[tuple[float, float]]]:
    """Return the (n,) range of each value, lowest first, and the bounds of each range; NaN has the range -1.

    The at most ``parts`` ranges contain about equally many values; equal values are in the same range.
    """
    there = np.isfinite(values)
    found = np.full(len(values), -1, dtype=np.int64)
    if not there.any():
        return found, []
    known = values[there]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, parts + 1)[1:-1], method="higher"))
    place = np.searchsorted(edges, known, side="right")
    _, found[there] = np.unique(place, return_inverse=True)
    return found, [(float(known[place == p].min()), float(known[place == p].max())) for p in np.unique(place)]


@dataclass(frozen=True, slots=True)
class ColouredView:
    """Input of a source."""

    corpus: CorpusRecord
    whole: Scene
    scene: Scene
    """The sentences in view, a part of ``whole``."""
    articles: Ids = field(default_factory=lambda: np.empty(0, np.int64))
    """Ids of the chosen articles; empty for all."""

    @property
    def single(self) -> bool:
        """True if exactly one article is in view."""
        return len(self.articles) == 1


@dataclass(frozen=True, slots=True)
class Option:
    """Something to colour by."""

    name: str
    """Label in the list and value in the address."""
    make: Callable[[], Colouring]


def of_today(name: str) -> str:
    """Return the name of an option that an address of an earlier version may name otherwise."""
    old = next((old for old in _EARLIER if name.startswith(old)), "")
    name = (_EARLIER[old] + name.removeprefix(old) if old else name).replace(" (article)", " (text)")
    return "Text" if name == "Article" else name


def options(view: ColouredView) -> dict[str, Option]:
    """Return the options of all sources by name, best first; of equal names the first.

    Corrected themes come first, then themes; in the map of one article its sections, if it has several.
    """
    found: dict[str, Option] = {}
    divided = view.single and len(np.unique(view.scene.sections)) > 1
    for source in SOURCES if divided else sorted(SOURCES, key=lambda source: source is not of_themes):
        for option in source(view):
            found.setdefault(option.name, option)
    corrected = None if divided else compare_queries.corrected(view.corpus.id)
    first = _LABELS + corrected.name if corrected is not None else ""
    return {first: found[first], **found} if first in found else found


def of_text(view: ColouredView) -> list[Option]:
    """Offer section, article, topic and split."""
    known = view.scene.known
    offered = [Option("Section", partial(_sections, view))]
    if not view.single:
        offered.append(Option("Text", partial(_articles, view)))
        if any(article.topic for article in known.values()):
            offered.append(Option("Topic", partial(_topics, view)))
        offered.append(Option("Split", partial(_splits, view)))
    return offered


def _sections(view: ColouredView) -> Colouring:
    titles = [title or LEAD for title in view.scene.titles]
    found, codes = categories(view.scene.sections, titles, keep_order=view.single)
    everywhere = categories(view.whole.sections, titles)[1]
    names = [titles[code] for code in codes]
    colours = lasting_colours(names, [titles[code] for code in everywhere])
    return Colouring(found, names, "other sections", colours)


def _articles(view: ColouredView) -> Colouring:
    ids = np.array(sorted(view.scene.known), dtype=np.int64)
    titles = [view.scene.known[int(i)].title for i in ids]
    found, codes = categories(np.searchsorted(ids, view.scene.articles), titles)
    everywhere = categories(np.searchsorted(ids, view.whole.articles), titles)[1]
    lasting = lasting_colours([str(c) for c in codes], [str(c) for c in everywhere])
    return Colouring(found, [titles[code] for code in codes], "other texts", lasting)


def _topics(view: ColouredView) -> Colouring:
    names = sorted({article.topic for article in view.scene.known.values()} - {""})
    place = {name: i for i, name in enumerate(names)}
    topic = _by_article(view.scene, {i: place.get(article.topic, -1) for i, article in view.scene.known.items()})
    found = np.full(len(topic), -1, dtype=np.int64)
    found[topic >= 0], codes = categories(topic[topic >= 0], names)
    return Colouring(found, [names[code] for code in codes], "other topics or none", column="Topic")


def _splits(view: ColouredView) -> Colouring:
    place = {split: i for i, split in enumerate(Split)}
    found = _by_article(view.scene, {i: place[article.split] for i, article in view.scene.known.items()})
    return Colouring(found, [str(split) for split in Split], "", column="Split")


def _by_article(scene: Scene, codes: dict[int, int]) -> Categories:
    ids = np.array(sorted(codes), dtype=np.int64)
    values = np.array([codes[int(i)] for i in ids], dtype=np.int64)
    return values[np.searchsorted(ids, scene.articles)]


def of_columns(view: ColouredView) -> list[Option]:
    """Offer the columns of the corpus but texts."""
    known = [column for column in queries.columns(view.corpus) if column.type != ColumnType.TEXT]
    taken = ("Section", "Text", "Topic", "Split")
    return [Option(c.label + " (column)" * (c.label in taken), partial(_column, view, c)) for c in known]


def _column(view: ColouredView, column: ColumnRecord) -> Colouring:
    """Return the categories of a column, or ranges of its numbers or dates with about equally many sentences each."""
    values = queries.column_values(column, view.scene.ids, view.scene.articles)
    if column.type == ColumnType.CATEGORY:
        found = np.full(len(values), -1, dtype=np.int64)
        found[values >= 0], codes = categories(values[values >= 0], column.categories)
        names = [column.categories[code] for code in codes]
        colours = lasting_colours(names, column.categories[:MANY])
        other = "other values or none" if len(names) < len(column.categories) else _NO_VALUE
        return Colouring(found, names, other, colours, column=column.name)
    dates = column.type == ColumnType.DATE
    numbers = np.where(np.isnat(values), np.nan, values.astype(np.float64)) if dates else values
    found, ends = ranges(numbers, 9)
    names = [_date_range(low, high) if dates else _number_range(low, high, ",.6g") for low, high in ends]
    shades = np.linspace(0, 1, len(names)).tolist()
    return Colouring(found, names, _NO_VALUE, (), shades, True, column.name, numbers, dates)


_NO_VALUE = "no value"


def _number_range(low: float, high: float, form: str) -> str:
    """Return both ends as text, or one where they look the same."""
    return " … ".join(dict.fromkeys(format(value, form).replace("-", "−") for value in (low, high)))


def _date_range(low: float, high: float) -> str:
    days = [str(np.datetime64(int(value), "us").astype("datetime64[D]")) for value in (low, high)]
    if days[0] == days[1]:
        return days[0]
    return f"{days[0]} – {days[1].removeprefix(days[0][:5])}"  # the year once


def of_clusterings(view: ColouredView) -> list[Option]:
    """Offer the clusterings of the one article in view, the newest of each kind; clusters are per article."""
    if not view.single:
        return []
    models, article = {m.id: m.name for m in queries.models()}, int(view.articles[0])
    offered = []
    for run in (run for benchmark in queries.benchmarks(view.corpus.id) for run in queries.clusterings(benchmark.id)):
        if article in queries.labels(run.id, run.digest):
            title = CLUSTERERS.get(run.clusterer).title if run.clusterer in CLUSTERERS else run.clusterer
            name = f"{title} of {models.get(run.model_id or -1, 'no model')}"
            offered.append(Option(name, partial(_clusters, view, run)))
    return offered


def _clusters(view: ColouredView, run: RunRecord) -> Colouring:
    """Return the clusters of a run, numbered from 1; other sentences are "not clustered"."""
    assert run.benchmark_id is not None  # clusterings are those of a benchmark
    items = queries.benchmark_sentences(run.benchmark_id, run.digest)
    label = cluster_of(queries.labels(run.id, run.digest), items)
    found = np.array([label.get(int(i), -1) for i in view.scene.ids], dtype=np.int64)
    names = [f"Cluster {k + 1}" for k in range(min(int(found.max(initial=-1)) + 1, MAX_CATEGORIES))]
    return Colouring(np.where(found < len(names), found, -1), names, "not clustered", column="Cluster")


def of_themes(view: ColouredView) -> list[Option]:
    """Offer the themes of the corpus, or the clusters of the article in view, and the confidence of each sentence."""
    offered = []
    found = compare_queries.analyses(view.corpus.id)
    if view.single:
        found = [*compare_queries.article_clusters(int(view.articles[0])), *found]
    for analysis in found:
        name = analysis.colour_name
        suggested_first = sorted(compare_queries.levels(analysis), key=lambda one: one.run.id != analysis.run.id)
        offered += [Option(one.colour_name, partial(_themes, view, one)) for one in suggested_first]
        offered.append(Option(f"Confidence in the {name}", partial(_confidence, view, analysis)))
    return offered


def _themes(view: ColouredView, analysis: Analysis) -> Colouring:
    listed = compare_queries.theme_listing(analysis.run.id, analysis.run.created)
    sure = np.where(listed.margins < 0, -1.0, listed.labels)
    labels = np.nan_to_num(_looked_up(view.scene.ids, listed.ids, sure), nan=-1.0)
    names = [f"{place}. {theme['name']}" for place, theme in enumerate(analysis.themes[:MANY], 1)]
    other = "low confidence" if len(analysis.themes) <= MANY else "smaller themes or low confidence"
    return Colouring(np.where(labels < MANY, labels, -1).astype(np.int64), names, other, column="Theme")


def _confidence(view: ColouredView, analysis: Analysis) -> Colouring:
    """Return ordered ranges of the margins of the themes, those below 0 in the other direction."""
    listed = compare_queries.theme_listing(analysis.run.id, analysis.run.created)
    values = _looked_up(view.scene.ids, listed.ids, listed.margins)
    found = np.full(len(values), -1, dtype=np.int64)
    names: list[str] = []
    shades: list[float] = []
    for wrong in (True, False):
        part = np.where((values < 0) == wrong, values, np.nan)
        place, ends = ranges(part, 3)
        found[place >= 0] = place[place >= 0] + len(names)
        steps = np.linspace(1, 0.3, len(ends)) if wrong else np.linspace(0.3, 1, len(ends))
        shades += [float(-s if wrong else s) for s in steps]
        names += [_number_range(low, high, ".2f") for low, high in ends]
    return Colouring(found, names, "no theme", shades=shades, column="Confidence", values=values)


def of_labellings(view: ColouredView) -> list[Option]:
    """Offer the labellings of the corpus, and their themes; blind ones only to their owners."""
    person = current_person()
    known = [r for r in compare_queries.labellings(view.corpus.id) if not r.blind or r.owner == person]
    clusters = queries.read(lambda r: [r.labellings.clusters(record.id).values() for record in known])
    offered = []
    for record, found in zip(known, clusters, strict=True):
        offered.append(Option(_LABELS + record.name, partial(_labels, view, record, False)))
        if any(cluster.parent is not None for cluster in found):
            offered.append(Option(_THEMES_OF + record.name, partial(_labels, view, record, True)))
    return offered


_LABELS, _THEMES_OF = "Coding: ", "Themes of coding: "
_EARLIER = {"Labels: ": _LABELS, "Themes of labels: ": _THEMES_OF}


def _labels(view: ColouredView, record: LabellingRecord, themes: bool) -> Colouring:
    """Return the current clusters of a labelling, or only its themes, in their own colours."""
    now = queries.read(lambda r: r.labellings.snapshot(record.id).partition)
    if themes:
        now = at_theme_level(now)
    numbers = _looked_up(view.scene.ids, now.ids, now.numbers.astype(np.float64))
    clusters = sorted(now.clusters)
    place = np.searchsorted(clusters, np.nan_to_num(numbers, nan=UNASSIGNED))
    known = np.isin(numbers, clusters)
    names = [now.clusters[number].name for number in clusters]
    found = np.full(len(numbers), -1, dtype=np.int64)
    found[known], chosen = categories(place[known], names)
    colours = [now.clusters[clusters[code]].colour for code in chosen]
    return Colouring(found, [names[code] for code in chosen], "other codes or none", colours, column="Code")


def _looked_up(wanted: Ids, ids: Ids, values: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    found = np.full(len(wanted), np.nan)
    there = np.flatnonzero(np.isin(wanted, ids))
    found[there] = values[rows_of(ids, wanted[there])]
    return found


SOURCES: list[Callable[[ColouredView], list[Option]]] = [of_text, of_columns, of_labellings, of_clusterings, of_themes]
"""All sources, in the order of the list."""
