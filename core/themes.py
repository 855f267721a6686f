"""Themes of a list as the library finds and returns them: tables, pictures, places of new sentences, changes, files."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

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
    unit_rows,
)
from themescope.core.errors import ConfigError, DataError, UnknownNameError, optional_module
from themescope.core.models.artifact import damaged, read_json, read_tensors, write_json, write_tensors
from themescope.core.sentence_model import BASE, EncoderLike, ModelLike, SentenceModel, encoder, load, vectors_of
from themescope.core.tasks.density import LEAST, Curves, dense_groups, is_article, theme_stability
from themescope.core.tasks.themes import (
    COMPARED,
    FoundThemes,
    Level,
    Theme,
    ThemesConfig,
    by_size,
    described,
    divided,
    features,
    find_themes,
    theme_tree,
)
from themescope.core.tasks.waves import Assigned, ThemeCentres
from themescope.core.text.sentence_lists import SentenceList, Sentences, read_sentences
from themescope.core.types import SILENT, Floats, Index, Labels, Matrix, NullReport, Points, Report

if TYPE_CHECKING:
    import pandas as pd

_FORMAT = 1
_FILE, _ARRAYS = "themes.json", "themes.safetensors"
_SHOWN = 3
"""Central sentences in the table of a notebook."""


@dataclass(frozen=True, eq=False, repr=False)
class Themes(FoundThemes):
    """Themes of the sentences that were given; they do not change, and methods return new ones.

    Row i of ``labels`` and ``margins`` belongs to sentence i that was given; one that was left out has the label -1 and
    the margin NaN. Methods take a theme by its label or by its name. The themes are one level of a hierarchy, whose
    other levels join or divide them: :meth:`level`.

    Examples
    --------
    >>> from themescope import find_themes
    >>> themes = find_themes([
    ...     "The river floods every spring.", "The stream runs into the river.",
    ...     "The orchestra played a symphony.", "She plays the violin in an orchestra.",
    ... ], k=2)
    >>> themes = themes.rename({0: "Music", 1: "Rivers"})
    >>> new = themes.predict(["A symphony for violins."])
    >>> themes.themes[new.labels[0]].name
    'Music'
    """

    sentences: tuple[str, ...]
    """The sentences; "" for one that was left out."""
    left_out: Mapping[str, int]
    """Number of items that were left out, by reason."""
    vectors: Matrix
    """(m, dim) vectors of the different texts, in the order of :class:`.DistinctTexts`."""
    clusterer: str
    """Clusterer that found the themes, unless they are groups of a layout."""
    encoder: EncoderLike | None = None
    """The model of the vectors; None where saved themes were loaded without one."""
    index: Any = None
    """The index of the pandas object that was given."""

    def __repr__(self) -> str:
        return f"<Themes: {len(self.themes)} themes of {len(self._rows):,} sentences>"

    @property
    def levels(self) -> tuple[int, ...]:
        """Number of themes of each level, ascending; that of these themes is at the place ``len(coarser)``."""
        return tuple(len(level.themes) for level in self._every_level)

    def level(self, number: int) -> Themes:
        """Return the themes of another level, counted from 0 at the fewest themes (or from -1 at the most).

        Each theme of a level lies inside one theme of every level with fewer themes. ``suggested`` is the number of the
        level that was found first. Themes that were merged, or whose sentences were moved, have their own level only.

        Raises :class:`.ConfigError` if there is no such level.

        Examples
        --------
        >>> from themescope import find_themes
        >>> themes = find_themes([f"{noun} {i}" for noun in ("river", "opera", "tax") for i in "abcdefgh"], k=3)
        >>> themes.levels[themes.suggested]
        3
        >>> [len(themes.level(number).themes) for number in range(len(themes.levels))] == list(themes.levels)
        True
        """
        every = self._every_level
        if not -len(every) <= number < len(every):
            raise ConfigError(f"There is no level {number}; these themes have {len(every)}, counted from 0.")
        place = number % len(every)
        now = every[place]
        return replace(
            self,
            labels=now.labels,
            themes=now.themes,
            margins=now.margins,
            coarser=every[:place],
            finer=every[place + 1 :],
        )

    @property
    def _every_level(self) -> tuple[Level, ...]:
        return (*self.coarser, Level(self.labels, self.themes, self.margins), *self.finer)

    def to_frame(self, levels: bool = False) -> pd.DataFrame:
        """Return a pandas DataFrame with the columns sentence, theme (label), name and margin, a row per sentence.

        With ``levels``, a column for each level follows, with the names of its themes: level_0 has the fewest. The
        table has the index of the pandas object that was given. Raises :class:`.MissingExtraError` without pandas.
        """
        pandas = optional_module("pandas", "A table of themes", "pandas", "notebook")
        names = [*(theme.name for theme in self.themes), None]  # the last one is that of the label -1
        columns = {
            "sentence": list(self.sentences),
            "theme": self.labels,
            "name": [names[label] for label in self.labels],
            "margin": self.margins,
        }
        if levels:
            columns |= self.level_names()
        frame: pd.DataFrame = pandas.DataFrame(columns, index=self.index)
        return frame

    def level_names(self) -> dict[str, list[str | None]]:
        """Return level_0, level_1 … → the name of the theme of each sentence at this level, None if it has none."""
        found: dict[str, list[str | None]] = {}
        for number, level in enumerate(self._every_level):
            names = [*(theme.name for theme in level.themes), None]  # the last one is that of the label -1
            found[f"level_{number}"] = [names[label] for label in level.labels]
        return found

    def predict(self, sentences: Sentences, text: str | None = None) -> Assigned:
        """Return the themes of new sentences with calibrated probabilities.

        A sentence gets the theme with the most similar centre by the model alone, without shared words. ``labels`` of
        the result are labels of these themes, ``probabilities`` (n, k), and ``unusual`` says which sentences fit none.
        Raises :class:`.DataError` if an item is no sentence, if no two themes have two different sentences, or without
        a model.
        """
        if self.encoder is None:
            raise DataError("These themes have no model. Name it in Themes.load or, beside vectors, in find_themes.")
        texts = read_sentences(sentences, text).texts
        if not texts:
            return self._centres.assign(np.zeros((0, self.vectors.shape[1]), np.float32))
        found = vectors_of(self.encoder, texts)
        if found.shape[1] != self.vectors.shape[1]:
            raise DataError(
                f"The model has vectors of {found.shape[1]:,} dimensions; these themes have {self.vectors.shape[1]:,}. "
                "Give the model that they were found with."
            )
        return self._centres.assign(found, texts)

    def rename(self, names: Mapping[int, str] | Mapping[str, str]) -> Themes:
        """Return themes with other names: label or name → name. Raises :class:`.ConfigError` for a name twice."""
        themes = list(self.themes)
        for theme, name in names.items():
            place = self._place(theme)
            themes[place] = replace(themes[place], name=name.strip())
        known = [theme.name for theme in themes]
        if not all(known) or len(set(known)) < len(known):
            raise ConfigError("Each theme needs a name of its own, which is not empty.")
        return replace(self, themes=tuple(themes))

    def merge(self, *themes: int | str, name: str = "") -> Themes:
        """Return themes with two or more joined under ``name``, or a name from their words.

        They are in order of falling size again; words, central sentences and margins are computed, other names kept.
        """
        joined = sorted({self._place(theme) for theme in themes})
        if len(joined) < 2:
            raise ConfigError("Name at least two themes to merge.")
        target = self.different_labels
        target[np.isin(target, joined)] = joined[0]
        names = {place: theme.name for place, theme in enumerate(self.themes) if place not in joined}
        return self._regrouped(target, names | {joined[0]: name.strip()})

    def move(self, rows: Sequence[int] | Index, theme: int | str) -> Themes:
        """Return themes with the sentences of some rows in one theme; a name that no theme has makes a new one.

        Sentences that are identical to them move too, and a theme without sentences is no longer there. Everything else
        is as after :meth:`merge`. Raises :class:`.DataError` for a row that was left out or is not there.
        """
        wanted = np.asarray(rows, np.int64).ravel()
        if not len(wanted) or wanted.min() < 0 or wanted.max() >= len(self.labels) or self.labels[wanted].min() < 0:
            raise DataError("Name at least one row, of sentences that have themes.")
        names = {place: known.name for place, known in enumerate(self.themes)}
        new = isinstance(theme, str) and theme not in names.values()
        place = len(names) if new else self._place(theme)
        target = self.different_labels
        target[self._different.place[np.searchsorted(self._rows, wanted)]] = place
        return self._regrouped(target, names | {place: str(theme).strip()} if new else names)

    def _regrouped(self, target: Labels, names: Mapping[int, str]) -> Themes:
        """Return themes of (m,) groups of the different texts with their names, "" for one from words."""
        different = self._different
        numbers, place = np.unique(target, return_inverse=True)
        labels = by_size(place.astype(np.int32), different.counts, len(numbers))
        x = self._features()
        words = max(1, *(len(theme.words) for theme in self.themes))
        central = max(len(theme.central) for theme in self.themes)
        found, margins = described(self.different_sentences, x, labels, different, words, central)
        number_of = {int(label): int(number) for label, number in zip(labels, target, strict=True)}
        given = [names[number_of[label]] for label in range(len(found))]
        free = iter(
            made_unique(
                [theme.name for theme, own in zip(found, given, strict=True) if not own],
                [theme.words for theme, own in zip(found, given, strict=True) if not own],
                given,
            )
        )
        listed = [replace(theme, name=own or next(free)) for theme, own in zip(found, given, strict=True)]
        plain = replace(
            self,
            labels=labels[different.place],
            margins=margins[different.place],
            reason="",
            coarser=(),
            finer=(),
            suggested=0,
        )
        return plain.placed(listed, self._rows, len(self.sentences)).rename({})

    def hierarchy(self) -> Floats:
        """Return the (k - 1, 4) tree of themes for ``scipy.cluster.hierarchy.dendrogram``.

        It joins themes by Ward's criterion on the directions of their centres, as the levels with fewer themes do.
        """
        return theme_tree(self._features(), self.different_labels)

    def stability(self, samples: int = 10, seed: int = 0, report: Report = SILENT) -> Floats:
        """Return the (k,) stability of each theme, 0…1 (:func:`.theme_stability`).

        Different sentences are grouped again in random samples of 70 %, as the themes were found, and joined or divided
        as on this level; a theme that is found in every sample has 1. Values below .5 are those of themes that
        dissolve, above .75 of stable ones (Hennig 2007). Each sample takes as long as finding themes. Raises
        :class:`.DataError` where the model is missing.
        """
        from scipy.cluster.hierarchy import cut_tree

        if self.by_density and not isinstance(self.encoder, SentenceModel):
            raise DataError(
                "Themes of a list depend on their model. Load the themes with it: Themes.load(folder, model)."
            )
        compared = np.sort(np.random.default_rng(seed).permutation(self.usual)[:COMPARED])
        x, found = self._features()[compared], self.level(self.suggested)
        first, k = (len({*one.different_labels[compared].tolist()}) for one in (found, self))
        own = len(self.coarser)

        def regroup(rows: Index, number: int) -> Labels:
            part, every = x[rows], np.arange(len(rows))
            if isinstance(self.encoder, SentenceModel) and self.by_density:
                dense = dense_groups(part, self.encoder.calibration, number, SILENT, first)
                groups = np.zeros(len(rows), np.int32) if dense is None else dense.labels
            else:
                groups = CLUSTERERS.build(self.clusterer).fit_predict(part, min(first, len(rows)), number)
            if own < self.suggested and groups.max() >= k:
                return np.asarray(cut_tree(theme_tree(part, groups), k).ravel()[groups], np.int32)
            if own > self.suggested:
                return next(iter(divided(part, groups, every, every[:0], self.clusterer, number)), groups)
            return groups

        return theme_stability(self.different_labels[compared], regroup, samples, seed, report)

    def layout(self, seed: int = 0) -> Points:
        """Return the (m, 2) places of the different sentences on a map (UMAP)."""
        from themescope.core.projection import UmapConfig, project

        return project(self.vectors, UmapConfig(), seed, SILENT)

    def plot(self, seed: int = 0) -> Any:
        """Return a plotly figure: a map of the different sentences (UMAP), coloured by theme, with their texts.

        Raises :class:`.MissingExtraError` without plotly.
        """
        graph = optional_module("plotly.graph_objects", "A map of themes", "plotly", "notebook")
        points, sentences, labels = self.layout(seed), self.different_sentences, self.different_labels
        figure = graph.Figure(layout={"template": "plotly_white", "legend": {"title": {"text": "Theme"}}})
        for label, theme in enumerate(self.themes):
            rows = np.flatnonzero(labels == label)
            texts = [html.escape(sentences[row]) for row in rows]
            figure.add_scattergl(
                x=points[rows, 0],
                y=points[rows, 1],
                mode="markers",
                name=html.escape(theme.name),
                text=texts,
                hovertemplate="%{text}",
                marker={"size": 5},
            )
        # Axes of UMAP have no unit; only neighbourhoods mean something.
        return figure.update_xaxes(visible=False).update_yaxes(visible=False, scaleanchor="x")

    def save(self, folder: str | Path) -> None:
        """Write the themes into ``folder``: JSON and safetensors; of the model only its name and digest."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {"labels": self.labels, "margins": self.margins, "usual": self.usual}
        for number, level in enumerate((*self.coarser, *self.finer)):
            arrays |= {f"labels-{number}": level.labels, f"margins-{number}": level.margins}
        x: Any = self.vectors
        parts = ("data", "indices", "indptr") if sparse.issparse(x) else ()
        write_tensors(target / _ARRAYS, arrays | ({p: getattr(x, p) for p in parts} or {"vectors": x}))
        model = self.encoder
        named: dict[str, Any] = {}
        if isinstance(model, SentenceModel):  # what ``_model_of`` finds it by
            context = {} if model.context is None else {"context": model.context.tolist()}
            facts = {"source": model.source, "digest": model.info.get("digest"), "base": BASE in model.info}
            named = {"model": facts | context}
        how = ("reason", "interval", "compared", "shared", "order", "context", "by_density", "clusterer", "suggested")
        values = {name: getattr(self, name) for name in (*how, "distinct", "frequent", "sentences")}
        values |= {"curves": asdict(self.curves), "left_out": dict(self.left_out)}
        values["themes"] = [asdict(theme) for theme in self.themes]
        for side, levels in (("coarser", self.coarser), ("finer", self.finer)):
            values[side] = [[asdict(theme) for theme in level.themes] for level in levels]
        write_json(target / _FILE, {"format": _FORMAT, "values": values, "shape": x.shape} | named)

    @classmethod
    def load(cls, folder: str | Path, model: ModelLike | None = None) -> Self:
        """Return the themes that :meth:`save` wrote, without the index of a pandas object.

        ``model`` is the model that they were found with, by default the one whose name was saved.

        Raises
        ------
        ArtifactError
            If the files are missing or damaged, or the model has changed since.
        UnknownNameError
            If the model that was saved is not on this machine.
        """
        source = Path(folder)
        found, arrays = read_json(source / _FILE), read_tensors(source / _ARRAYS, ("labels", "margins", "usual"))
        if found.get("format") != _FORMAT:
            raise damaged(source, f"it has format {found.get('format')!r:.50}, not {_FORMAT}")
        try:
            # What themes of earlier versions lack.
            values = {"context": False, "coarser": [], "finer": [], "suggested": 0} | found["values"]
            x = (
                arrays["vectors"]
                if "vectors" in arrays
                else sparse.csr_array(
                    tuple(arrays[name] for name in ("data", "indices", "indptr")), shape=tuple(found["shape"])
                )
            )
            values["themes"], numbers = _themes(values["themes"]), count()
            for name in ("coarser", "finer"):
                values[name] = tuple(
                    Level(arrays[f"labels-{number}"], _themes(themes), arrays[f"margins-{number}"])
                    for themes, number in zip(values[name], numbers, strict=False)
                )
            curves: dict[str, Any] = {
                key: value if key == "sentences" else tuple(value) for key, value in values["curves"].items()
            }
            values |= {"curves": Curves(**curves), "interval": tuple(values["interval"])}
            values |= {"frequent": tuple(map(tuple, values["frequent"])), "sentences": tuple(values["sentences"])}
            plain = cls(**values, **{key: arrays[key] for key in ("labels", "margins", "usual")}, vectors=x)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(source, error) from None
        given = None if model is None else encoder(model)
        return replace(plain, encoder=_model_of(found.get("model"), source, given))

    def _repr_html_(self) -> str:
        rows = []
        for label, theme in enumerate(self.themes):
            texts = "<br>".join(html.escape(self.sentences[row]) for row in theme.central[:_SHOWN])
            cells = f"<td>{label}</td><td>{html.escape(theme.name)}</td><td>{theme.size:,}</td>"
            rows.append(f'<tr>{cells}<td style="text-align:left">{texts}</td></tr>')
        out = "".join(f" {n:,} left out ({html.escape(reason)})." for reason, n in self.left_out.items())
        head = "<tr><th>label</th><th>theme</th><th>sentences</th><th>central sentences</th></tr>"
        about = f"{len(self.themes)} themes of {len(self._rows):,} sentences.{out} {html.escape(self.reason)}"
        return f"<p>{about}</p><table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"

    def placed(self, themes: Sequence[Theme], rows: Index, given: int) -> Themes:
        """Return the themes of sentences that are ``rows`` of ``given`` items."""

        def moved(level: Level) -> Level:
            labels, margins = np.full(given, -1, np.int32), np.full(given, np.nan, np.float32)
            labels[rows], margins[rows] = level.labels, level.margins
            central = [tuple(rows[list(theme.central)].tolist()) for theme in level.themes]
            themes = [replace(theme, central=own) for theme, own in zip(level.themes, central, strict=True)]
            return Level(labels, tuple(themes), margins)

        now = moved(Level(self.labels, tuple(themes), self.margins))
        coarser, finer = tuple(map(moved, self.coarser)), tuple(map(moved, self.finer))
        return replace(self, **{f.name: getattr(now, f.name) for f in fields(Level)}, coarser=coarser, finer=finer)

    def _place(self, theme: int | str) -> int:
        """Return the label of a theme that is named by its label or name."""
        names = [known.name for known in self.themes]
        if isinstance(theme, str) and theme in names:
            return names.index(theme)
        if isinstance(theme, int | np.integer) and 0 <= theme < len(names):
            return int(theme)
        raise UnknownNameError("theme", str(theme), names)

    @cached_property
    def _rows(self) -> npt.NDArray[np.int64]:
        """Rows of the sentences that were not left out."""
        return np.flatnonzero(self.labels >= 0)

    @cached_property
    def _different(self) -> DistinctTexts:
        return distinct_texts([self.sentences[row] for row in self._rows])

    @property
    def different_sentences(self) -> list[str]:
        """The m different sentences, in the order of ``vectors``."""
        return [self.sentences[row] for row in self._rows[self._different.rows]]

    @property
    def different_labels(self) -> Labels:
        """(m,) label of each different sentence."""
        return self.labels[self._rows[self._different.rows]]

    def rows_of(self, different: npt.ArrayLike) -> Index:
        """Return the ascending rows of all sentences that are identical to some of the m different ones."""
        return np.asarray(self._rows[np.isin(self._different.place, different)])

    def _features(self) -> Matrix:
        positions = self._different.rows if self.order else None
        return features(self.different_sentences, self.vectors, self.shared, self.usual, self.order, positions)

    @cached_property
    def _centres(self) -> ThemeCentres:
        return ThemeCentres(self.vectors, self.different_labels.tolist(), self.different_sentences)


def _themes(listed: Sequence[Mapping[str, Any]]) -> tuple[Theme, ...]:
    return tuple(Theme(t["name"], tuple(t["words"]), t["size"], tuple(t["central"])) for t in listed)


def _model_of(saved: Mapping[str, Any] | None, folder: Path, given: EncoderLike | None) -> EncoderLike | None:
    if not saved or not isinstance(given, SentenceModel | None):
        return given
    model = given or load(str(saved["source"]))
    if given and model.info.get("digest") != saved.get("digest"):
        return given
    if model.info.get("digest") != saved.get("digest"):
        raise damaged(folder, f"the model {saved['source']!r} has changed. Load with the former one as model")
    if "context" in saved:
        return model.with_context(np.array(saved["context"], np.float32))
    return model.before() if saved.get("base") else model


# Themes of texts by a model: their vectors, and what is left out of a list


def themes_of(
    texts: Sequence[str],
    model: EncoderLike | None,
    config: ThemesConfig,
    seed: int,
    report: Report,
    in_order: bool = False,
    lists: bool = False,
    vectors: Matrix | None = None,
) -> Themes:
    """Return the themes of texts, see :func:`themescope.core.api.find_themes`.

    With ``lists``, the encoder is chosen by the kind of the texts, see :func:`suited`. Unless the texts are
    ``in_order``, each different one is encoded once, so that their order has no influence. ``vectors`` are known ones
    of the texts, which may have no model.
    """
    different = distinct_texts(texts)
    ours = model if isinstance(model, SentenceModel) else None
    if ours is not None and lists and not in_order and vectors is None:
        ours = ours.for_lists()
        found = suited(ours, texts, vectors_of(ours, texts))
    else:
        if vectors is None:
            assert model is not None
            vectors = model.encode(texts) if in_order else vectors_of(model, texts)
        found = Suited(model, vectors, ours.calibration if ours else DEFAULT_CALIBRATION)
    positions = np.arange(len(texts)) if in_order else None
    themes = find_themes(list(texts), found.vectors, config, seed, report, found.calibration, positions, found.plain)
    known = {field.name: getattr(themes, field.name) for field in fields(themes)}
    own = different.vectors(found.vectors)
    return Themes(
        **known, sentences=tuple(texts), left_out={}, vectors=own, clusterer=config.clusterer, encoder=found.encoder
    )


@dataclass(frozen=True)
class Suited:
    """An encoder and its (n, dim) vectors of texts; ``plain`` are those without context, if it has one."""

    encoder: EncoderLike | None
    vectors: Matrix
    calibration: PairCalibration
    plain: Matrix | None = None


def suited(model: SentenceModel, texts: Sequence[str], vectors: Matrix) -> Suited:
    """Return the encoder for texts whose order is not known, by the model that ``vectors`` are of.

    For the sentences of an article it is the thematic encoder that a model for lists is built on, in their context if
    it has one; for fewer than :data:`.density.LEAST` different texts that thematic encoder; for others the model.
    """
    rows = distinct_texts(texts).rows
    enough = len(rows) >= LEAST
    if enough and not is_article([texts[row] for row in rows], vectors[rows], model.calibration):
        return Suited(model, vectors, model.calibration)
    own = model.of_articles()
    plain = vectors if own is model else unit_rows(vectors[:, vectors.shape[1] // 2 :])
    if enough and (inside := own.in_context(plain[rows])) is not None:
        return Suited(inside, vectors_of(inside, texts), own.calibration, plain)
    return Suited(own, plain, own.calibration)


def themes_of_list(given: SentenceList, found: Themes) -> Themes:
    """Return the themes of the sentences of a list in its rows, with what was left out."""
    rows = np.array(given.rows, np.int64)
    texts = dict(zip(given.rows, found.sentences, strict=True))
    sentences = tuple(texts.get(row, "") for row in range(given.given))
    frequent = tuple((int(rows[row]), copies) for row, copies in found.frequent)
    placed = found.placed(found.themes, rows, given.given)
    return replace(placed, frequent=frequent, sentences=sentences, left_out=given.left_out, index=given.index)


class ProgressBar(NullReport):
    """Report that shows progress as a bar of tqdm, in the terminal or the notebook."""

    def __init__(self) -> None:
        super().__init__()
        form = "{desc} {percentage:3.0f} %|{bar}| {elapsed}"
        tqdm = optional_module("tqdm.auto", "A progress bar", "tqdm", "notebook")
        self.bar = tqdm.tqdm(total=1.0, bar_format=form)

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Move the bar."""
        self.bar.n = min(done / total, 1.0) if total else 0.0
        self.bar.set_description(message)
