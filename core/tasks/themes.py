"""Themes of a list of sentences: clusters with names, sizes, central sentences and margins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.clustering.generated_names import made_unique
from themescope.core.clustering.inputs import (
    DEFAULT_CALIBRATION,
    DistinctTexts,
    PairCalibration,
    distinct_texts,
    extended_labels,
    unit_rows,
)
from themescope.core.clustering.naming import theme_names, theme_words
from themescope.core.config import Config, option
from themescope.core.errors import ConfigError, DataError
from themescope.core.metrics.partition import UNASSIGNED, match_clusters, same_clusters
from themescope.core.models.composite import concatenate_with_tfidf, position_rows
from themescope.core.tasks.density import (
    Curves,
    candidates,
    cluster_sums,
    dense_groups,
    is_article,
    mean_cosines,
    measure,
    silhouette_of,
    suggest,
)
from themescope.core.types import Float32, Floats, Ids, Labels, Matrix, Report, Sentence, SubReport

FEWEST, MOST = 4, 100_000
"""Minimum and maximum number of sentences of a list; ``benchmarks/large_list.py`` measures 100,000."""
COMPARED = 6_000
"""Maximum number of different texts that are clustered (0.3 GB); the others are assigned to the nearest theme."""

_FREQUENT = 5  # maximum number of repeated texts in the result
_NAME = 60  # maximum number of characters of a theme that is named by its only text
_DUPLICATE = 0.5  # common trigrams of two near-duplicates, as a share of all of theirs


@dataclass(frozen=True)
class ThemesConfig(Config):
    """Settings of finding themes."""

    k: int = option(0, "Number of themes; 0 uses the suggestion.", low=0, high=500, label="number of themes")
    most: int = option(200, "Maximum number of themes to suggest.", low=2, high=500, label="maximum themes suggested")
    clusterer: str = option("iclust", "Clusterer of the sentences.")
    sample: int = option(1_000, "Maximum number of sentences to measure the curves on.", low=10, high=COMPARED)
    subsamples: int = option(5, "Number of random samples to measure stability on.", low=1, high=50)
    shared: float | None = option(
        None,
        "Weight of shared words, against 1 for the model; 0 uses the model alone. Empty: the weight that was "
        "chosen for the model.",
        low=0.0,
        high=1_000.0,
    )
    order: float = option(
        0.4,
        "Weight of the order of sentences, against 1 for the others, in a running text in which neighbours are "
        "more alike than other sentences; 0: not used.",
        low=0.0,
        high=1_000.0,
    )
    density: bool = option(
        True, "Find the themes of a list in a layout where the model is calibrated for it; otherwise by the clusterer."
    )
    words: int = option(3, "Number of words in the name of a theme.", low=1, high=8)
    central: int = option(5, "Number of central sentences of each theme in the result.", low=1, high=50)

    def validate(self) -> None:
        """Reject unknown clusterers and those that do not use vectors."""
        tags = CLUSTERERS.get(self.clusterer).tags
        if self.k == 1:
            raise ConfigError("Give at least 2 themes, or 0 for a suggestion.")
        if "no-vectors" in tags or "needs-k" not in tags:
            raise ConfigError(f"{self.clusterer!r} does not cluster vectors into a given number of clusters.")


@dataclass(frozen=True, slots=True)
class Theme:
    """A cluster with its name; ``central`` are rows of its central sentences, most central first."""

    name: str
    words: tuple[str, ...]
    size: int
    central: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Level:
    """Themes that join or divide others; label c is ``themes[c]``, in order of falling size."""

    labels: Labels
    themes: tuple[Theme, ...]
    margins: Float32
    """(n,) as in :class:`FoundThemes`."""


@dataclass(frozen=True, slots=True)
class FoundThemes:
    """Result of finding themes; themes are in order of falling size, and label c is ``themes[c]``."""

    labels: Labels
    themes: tuple[Theme, ...]
    margins: npt.NDArray[np.float32]
    """(n,) mean cosine to the own theme minus that to the nearest other theme, each text counted once; negative for
    uncertain sentences."""
    curves: Curves
    reason: str
    """Reason for this number of themes; empty if it was given."""
    interval: tuple[int, int]
    """90 % interval of the suggested number of themes, also where another number was given. With ``by_density``, the
    numbers of themes that are nearly as clear, or for lists without clear ones, those of nine of ten such lists."""
    compared: int
    """Number of texts that were clustered; the others were assigned to the nearest theme."""
    shared: float
    """Weight of shared words, against 1 for the model."""
    order: float
    """Weight of the order of the sentences, against 1 for the others; 0 where it was not used."""
    context: bool
    """Whether the sentences were encoded in their context, see :meth:`themescope.SentenceModel.in_context`."""
    by_density: bool
    """Whether the themes are groups of a layout, see :mod:`themescope.core.tasks.density`."""
    distinct: int
    """Number of different texts."""
    usual: Ids
    """Numbers of the different texts without frequent answers, which are themes of their own, ascending."""
    frequent: tuple[tuple[int, int], ...]
    """Row and number of copies of the most frequent texts that occur more than once."""
    coarser: tuple[Level, ...]
    """Levels that join these themes, the one with the fewest first: each theme lies inside one of every level."""
    finer: tuple[Level, ...]
    """Levels that divide these themes, the one with the fewest first."""
    suggested: int
    """Number of the level that was found first, counted from 0 at the fewest themes; the others follow from it."""


def find_themes(
    texts: list[str],
    vectors: Matrix,
    config: ThemesConfig,
    seed: int,
    report: Report,
    calibration: PairCalibration = DEFAULT_CALIBRATION,
    positions: Ids | None = None,
    plain: Matrix | None = None,
) -> FoundThemes:
    """Cluster (n,) ``texts`` by their (n, dim) ``vectors``, name the clusters and order them by size.

    Identical texts, and sentences of a list that differ in numbers only, share a theme. They count once in everything
    but the sizes of the themes, and each frequent answer that is unlike the others is a theme of its own, named by its
    text (:mod:`themescope.core.clustering.inputs`). The order of the rows has no influence.
    The number of themes is suggested from the vectors alone by the ``calibration`` of their model. For clustering,
    dense vectors are concatenated with tf-idf within the list, with the weight ``config.shared`` or else that of the
    calibration, unless it is 0. The curves over k are measured also for a given number of themes, so that it can be
    compared with others.

    If ``vectors`` are of a model in the context of sentences on one subject, ``plain`` are its (n, dim) vectors without
    it, which the number of themes and the curves are from.

    ``positions`` (n,) are the places of sentences of a running text. If neighbours are more alike than by chance
    (:func:`follows_order`), neighbours also count as similar for clustering, with the weight ``config.order``
    (:func:`themescope.core.models.composite.position_rows`).

    Raises :class:`themescope.core.errors.DataError` for too few or too many sentences.
    """
    n = len(texts)
    if vectors.shape[0] != n:
        raise DataError(f"There are {n:,} sentences but {vectors.shape[0]:,} vectors.")
    if n > MOST:
        raise DataError(f"{n:,} sentences are too many for one list (at most {MOST:,}). Use a part of them.")
    different = distinct_texts(texts)
    m = len(different.rows)
    if n < max(FEWEST, config.k):
        few = "1 sentence is" if n == 1 else f"{n:,} sentences are"
        raise DataError(f"{few} too few: themes need at least {max(FEWEST, config.k):,}.")
    if m < config.k:
        raise DataError(f"{n:,} sentences with {m} different texts are too few for {config.k} themes. Ask for fewer.")
    points = different if positions is not None else different.joined([texts[row] for row in different.rows.tolist()])
    points = points if len(points.rows) >= config.k else different
    texts, vectors, exact = [texts[row] for row in points.rows.tolist()], points.vectors(vectors), texts
    counted = vectors if plain is None else points.vectors(plain)
    random = np.random.default_rng(seed)
    report.progress(0, 1, "estimating the number of themes")
    usual = points.usual(counted, FEWEST, texts)
    own = np.setdiff1d(np.arange(len(texts)), usual)
    own = own[np.argsort(-points.counts[own], kind="stable")][: config.k - 1 if config.k else None]
    usual = np.setdiff1d(np.arange(len(texts)), own)
    compared = usual[np.sort(random.permutation(len(usual))[:COMPARED])]
    groups, wanted = None, config.k and config.k - len(own)
    listed = positions is None and plain is None and not is_article(texts, counted, calibration)
    if config.density and listed:
        groups = dense_groups(counted[compared], calibration, seed, SubReport(report, 0.0, 0.1), wanted)
    if groups is None:
        suggestion = suggest(counted[usual], calibration, config.most, seed)
        k, reason, interval = suggestion.k, suggestion.reason, (suggestion.low, suggestion.high)
    else:
        k, reason, interval = groups.k, groups.reason, groups.interval
    k = wanted or k
    rows = usual[np.sort(random.permutation(len(usual))[: config.sample])]
    ks = candidates(k, len(rows)) if k > 1 else ()
    curves = measure(counted[rows], ks, config.subsamples, seed, SubReport(report, 0.1, 0.7))
    shared = calibration.shared if config.shared is None else config.shared
    if sparse.issparse(vectors) or groups is not None:
        shared = 0.0
    places = None if positions is None else positions[points.rows]
    order = 0.0 if places is None or not config.order or not follows_order(vectors, places, seed) else config.order
    x = features(texts, vectors, shared, usual, order, places)
    report.progress(0.7, 1, f"clustering {len(texts):,} different sentences")
    found: Labels = np.arange(len(compared), dtype=np.int32) if groups is None else groups.labels
    if groups is None and k < len(compared):
        found = CLUSTERERS.build(config.clusterer).fit_predict(x[compared], k, seed)
    labels = extended_labels(x, compared, found, k)
    labels[own] = np.arange(k, k + len(own))
    labels = by_size(labels, points.counts, k + len(own))
    report.progress(0.95, 1, "naming the themes")
    themes, margins = described(texts, x, labels, points, config.words, config.central)
    if len(own):
        themes = _named_by_texts(themes, {int(labels[row]): texts[row] for row in own})
        answers = ", ".join(f"“{themes[labels[row]].name}” ({points.counts[row]:,})" for row in own[:_FREQUENT])
        more = f" and {len(own) - _FREQUENT} others" if len(own) > _FREQUENT else ""
        which = "is a theme of its own" if len(own) == 1 else "are themes of their own"
        reason += f" Of the {len(exact):,} sentences, many have the same text: {answers}{more} {which} besides."
        interval = interval[0] + len(own), interval[1] + len(own)
        curves = replace(curves, ks=tuple(number + len(own) for number in curves.ks))
    report.progress(0.97, 1, "joining and dividing the themes")

    def level(nested: Labels) -> Level:
        nested = by_size(nested, points.counts, int(nested.max()) + 1)
        found, margins = described(texts, x, nested, points, config.words, config.central)
        return Level(nested[points.place], _with_known_names(found, nested, themes, labels), margins[points.place])

    alone = np.unique(labels[own]).astype(np.int64)
    coarser = tuple(level(nested) for nested in joined(x, labels, compared, alone))
    finer = tuple(level(nested) for nested in divided(x, labels, compared, alone, config.clusterer, seed))
    usual = np.unique(different.place[np.isin(points.place, usual)])
    parts = labels[points.place], themes, margins[points.place], curves, "" if config.k else reason, interval
    by_context, by_density, frequent = plain is not None, groups is not None, different.frequent(_FREQUENT)
    return FoundThemes(
        *parts, len(compared), shared, order, by_context, by_density, m, usual, frequent, coarser, finer, len(coarser)
    )


# ---------------------------------------------------------------- levels

_FEWEST_JOINED = 0.2
"""Least number of themes of a level, as a share of those that it joins; at most it has half of them."""
_JOINED_AGAIN = 10  # least number of joined themes that are joined once more
_PARTS, _MOST_PARTS = 2, 6  # parts of a theme of mean size, and maximum number of parts


def theme_tree(x: Matrix, labels: Labels) -> Floats:
    """Return the (k - 1, 4) tree that joins the k themes of (n,) ``labels``, for ``scipy.cluster.hierarchy``.

    ``x`` are :func:`features`. Themes are joined by Ward's criterion on the directions of their centres.
    """
    from scipy.cluster.hierarchy import linkage

    unit: Any = unit_rows(x)
    membership = np.zeros((len(labels), int(labels.max()) + 1))
    membership[np.arange(len(labels)), labels] = 1.0
    tree: Floats = linkage(unit_rows(np.asarray(unit.T @ membership).T), "ward")
    return tree


def joined(x: Matrix, labels: Labels, compared: Ids, alone: Ids) -> list[Labels]:
    """Return the (m,) labels of one or two levels that join themes by their tree, the one with the fewest first.

    A level has the number of themes whose silhouette on the rows ``compared`` is largest, between a fifth and half
    of the level below. Themes in ``alone`` are joined with none. Less than three others are not joined.
    """
    from scipy.cluster.hierarchy import cut_tree

    others = np.setdiff1d(np.arange(int(labels.max()) + 1), alone)
    inside = compared[np.isin(labels[compared], others)]
    levels: list[Labels] = []
    k, known = len(others), np.searchsorted(others, labels[inside]).astype(np.int32)
    if k < 3:
        return levels
    tree, (sums, selves) = theme_tree(x[inside], known), cluster_sums(x[inside], known, k)

    def clear(cut: Labels) -> float:
        joined_sums = np.stack([sums[:, cut == theme].sum(axis=1) for theme in range(int(cut.max()) + 1)], axis=1)
        return silhouette_of(joined_sums, selves, cut[known])

    while k >= (_JOINED_AGAIN if levels else 3):
        numbers = range(max(2, round(_FEWEST_JOINED * k)), (k + 1) // 2 + 1)
        best = max((cut_tree(tree, number).ravel().astype(np.int32) for number in numbers), key=clear)
        k = int(best.max()) + 1
        place = np.empty(int(labels.max()) + 1, np.int32)
        place[others], place[alone] = best, np.arange(k, k + len(alone))
        levels.insert(0, place[labels])
        if len(levels) == 2:
            break
    return levels


def divided(x: Matrix, labels: Labels, compared: Ids, alone: Ids, clusterer: str, seed: int) -> list[Labels]:
    """Return the (m,) labels of a level that divides themes; none if no theme can be divided.

    The clusterer divides the ``compared`` rows of each theme, one of mean size into two parts; the rows of parts with
    less than :data:`FEWEST` of them, and the other rows, join the nearest part. Themes in ``alone`` are not divided.
    """
    k, found = int(labels.max()) + 1, labels.copy()
    mean = len(compared) / max(k - len(alone), 1)
    last = k
    for theme in np.setdiff1d(np.arange(k), alone).tolist():
        every, inside = np.flatnonzero(labels == theme), compared[labels[compared] == theme]
        wanted = min(round(_PARTS * len(inside) / mean), _MOST_PARTS, len(inside) // FEWEST)
        if wanted < 2:
            continue
        parts = CLUSTERERS.build(clusterer).fit_predict(x[inside], wanted, seed)
        large = np.flatnonzero(np.bincount(parts) >= FEWEST)
        if len(large) < 2:
            continue
        kept = np.isin(parts, large)
        rows, known = np.searchsorted(every, inside[kept]), np.searchsorted(large, parts[kept]).astype(np.int32)
        place = extended_labels(x[every], rows, known, len(large))
        found[every] = np.where(place == 0, theme, last - 1 + place)
        last += len(large) - 1
    return [found] if last > k else []


def _with_known_names(
    themes: Sequence[Theme], labels: Labels, known: Sequence[Theme], known_labels: Labels
) -> tuple[Theme, ...]:
    """Return themes of (m,) ``labels`` of which those that are also among the ``known`` ones are the same there."""
    same = same_clusters(labels, known_labels)
    new = [place for place in range(len(themes)) if place not in same]
    taken = [known[other].name for other in same.values()]
    names = made_unique([themes[place].name for place in new], [themes[place].words for place in new], taken)
    named = {place: replace(themes[place], name=name) for place, name in zip(new, names, strict=True)}
    return tuple(named[place] if place in named else known[same[place]] for place in range(len(themes)))


def _named_by_texts(themes: Sequence[Theme], texts: Mapping[int, str]) -> tuple[Theme, ...]:
    """Return themes of which some, by place, have the one text that they consist of as their name."""
    short = [text if len(text) <= _NAME else f"{text[: _NAME - 1].rstrip()}…" for text in texts.values()]
    taken = [theme.name for place, theme in enumerate(themes) if place not in texts]
    names = dict(zip(texts, made_unique([" ".join(s.split()) for s in short], [()] * len(short), taken), strict=True))
    return tuple(replace(theme, name=names.get(place, theme.name)) for place, theme in enumerate(themes))


def features(
    texts: Sequence[str], vectors: Matrix, shared: float, usual: Ids, order: float, positions: Ids | None
) -> Matrix:
    """Return the rows by which (m,) different texts are clustered, sparse ones without empty columns.

    These are their (m, dim) ``vectors``, with shared words and positions in a running text where these have a weight;
    inner products are weighted means. Texts that are not ``usual`` are an article of their own, since they must not
    change the weights of words.
    """
    if shared:
        other = np.isin(np.arange(len(texts)), usual, invert=True).tolist()
        sentences = [Sentence(text, position=i, article_id=int(other[i])) for i, text in enumerate(texts)]
        vectors = _filled(concatenate_with_tfidf([np.asarray(vectors, np.float32)], sentences, shared))
    if positions is None or not order:
        return vectors
    share = 1.0 / (1.0 + order)
    sentences = [Sentence(text, position=at) for text, at in zip(texts, positions.tolist(), strict=True)]
    content: Any = sparse.csr_array(unit_rows(vectors)) * np.float32(np.sqrt(share))
    places = position_rows(sentences, _REACH) * np.float32(np.sqrt(1.0 - share))
    return _filled(sparse.hstack([content, places], format="csr"))


def _filled(x: sparse.csr_array) -> sparse.csr_array:
    return sparse.csr_array(x[:, np.flatnonzero(np.bincount(x.indices, minlength=x.shape[1]))])


def described(
    texts: Sequence[str], x: Matrix, labels: Labels, different: DistinctTexts, words: int, central: int
) -> tuple[tuple[Theme, ...], Float32]:
    """Return the themes of (m,) ``labels``, all of 0 … k - 1, and the (m,) margins of the texts.

    ``x`` are :func:`features`. Names have at most ``words`` words, and themes at most ``central`` central sentences,
    rows of the list that ``different`` was made from.
    """
    k = int(labels.max()) + 1
    own, other = mean_cosines(x, labels, k)
    # In a theme of a single text, the mean over the other rows is 1 if there are any.
    own[(np.bincount(labels, minlength=k)[labels] == 1) & (different.counts > 1)] = 1.0
    found = theme_words(texts, labels, k, words, own)
    sizes = np.bincount(labels, different.counts, k).astype(int).tolist()
    rows = [list(_central(texts, own, np.flatnonzero(labels == c), central)) for c in range(k)]
    listed = [[texts[row] for row in (*chosen, *np.flatnonzero(labels == c))] for c, chosen in enumerate(rows)]
    themes = tuple(
        Theme(name, own_words, size, tuple(different.rows[chosen].tolist()))
        for name, own_words, size, chosen in zip(theme_names(found, listed), found, sizes, rows, strict=True)
    )
    return themes, (own - other).astype(np.float32)


def continued(themes: FoundThemes, old: Labels) -> tuple[FoundThemes, dict[int, int]]:
    """Match themes to the earlier (n,) labels of their sentences, -1 for none; return them in other places.

    A theme continues an earlier one if, of the sentences with earlier labels that are in either, at least half are in
    both. It gets the same place, where there are so many themes; the others keep their order. Returned is also
    place → earlier theme.
    """
    k, common = len(themes.themes), old != UNASSIGNED
    sizes, old_sizes = np.bincount(themes.labels[common], minlength=k), np.bincount(old[common])
    pairs = [
        pair
        for pair in match_clusters(old[common], themes.labels[common]).pairs
        if 2 * pair.both >= old_sizes[pair.first] + sizes[pair.second] - pair.both
    ]
    taken = {pair.first: pair.second for pair in pairs if pair.first < k}
    others = (theme for theme in range(k) if theme not in taken.values())
    order = [taken[place] if place in taken else next(others) for place in range(k)]
    rank = np.argsort(order).astype(np.int32)
    moved = replace(themes, labels=rank[themes.labels], themes=tuple(themes.themes[theme] for theme in order))
    return moved, {int(rank[pair.second]): pair.first for pair in pairs}


_REACH = 6.0  # distance of two sentences at which the similarity of their positions is .61
_PERMUTED, _NEIGHBOURS = 199, 2_000  # number of permutations, and of neighbouring pairs that are compared


def follows_order(vectors: Matrix, positions: Ids, seed: int) -> bool:
    """Return whether neighbours in a text are more alike than by chance (permutation test, p ≤ .005).

    ``vectors`` are (n, dim) rows, ``positions`` (n,). In a shuffled text the order says nothing about themes, and using
    it would only spoil them.
    """
    n, unit, random = len(positions), unit_rows(vectors), np.random.default_rng(seed)
    if n < FEWEST:
        return False
    places = np.sort(random.permutation(n - 1)[:_NEIGHBOURS])

    def alike(order: Ids) -> float:
        first: Any = unit[order[places]]
        second = unit[order[places + 1]]
        return float((first.multiply(second) if sparse.issparse(first) else first * second).sum())

    return alike(np.argsort(positions, kind="stable")) > max(alike(random.permutation(n)) for _ in range(_PERMUTED))


def by_size(labels: Labels, counts: Ids, k: int) -> Labels:
    """Renumber clusters of (m,) texts by falling number of rows, ties by first text."""
    first = np.full(k, len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    order = np.lexsort((first, -np.bincount(labels, counts, k)))
    rank = np.empty(k, np.int32)
    rank[order] = np.arange(k, dtype=np.int32)
    return np.asarray(rank[labels])


def _central(texts: Sequence[str], own: Floats, rows: npt.NDArray[np.intp], count: int) -> tuple[int, ...]:
    """Return the most central of ``rows`` without near-duplicates: none shares half of its characters' trigrams."""
    found: dict[int, set[str]] = {}
    for row in rows[np.argsort(-own[rows], kind="stable")].tolist():
        if len(found) == count:
            break
        flat = f" {' '.join(texts[row].split()).casefold()} "
        new = {flat[i : i + 3] for i in range(max(len(flat) - 2, 1))}
        if all(len(new & old) < _DUPLICATE * len(new | old) for old in found.values()):
            found[row] = new
    return tuple(found)
