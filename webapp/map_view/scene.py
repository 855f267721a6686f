"""The sentences of a map without their text: a few arrays, also for a million sentences.

Row i of every array is one sentence. Texts are read for the rows that are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.errors import DataError
from core.types import Ids, Points, Sentence
from db.records import ArticleRecord, MapRecord
from webapp.map_view import geometry
from webapp.map_view.geometry import Grid, Units
from webapp.shared import queries

LEAD = "Introduction"
"""Name of a section without a title."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Sentences with their coordinates, articles and sections."""

    ids: Ids
    points: Points
    """(n, 2) coordinates as they are stored."""
    units: Units
    """(n, 2) the points on the grid of the map: what is drawn, and what shapes are compared with."""
    articles: Ids
    """Id of the article of each sentence."""
    positions: Ids
    """Position of each sentence in its article."""
    sections: npt.NDArray[np.int32]
    """Index of the section title of each sentence in ``titles``."""
    titles: list[str]
    known: Mapping[int, ArticleRecord]
    """The articles by id."""
    grid: Grid

    def only(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Scene:
        """Return the scene of some rows."""
        kept = {
            name: getattr(self, name)[rows] for name in ("ids", "points", "units", "articles", "positions", "sections")
        }
        return replace(self, **kept)

    def article(self, row: int) -> str:
        """Return the title of the article of a row."""
        return self.known[int(self.articles[row])].title

    def section(self, row: int) -> str:
        """Return the title of the section of a row."""
        return self.titles[self.sections[row]] or LEAD

    def rows_of(self, ids: Ids) -> npt.NDArray[np.intp]:
        """Return the rows of those of ``ids`` that are in the scene, in the order of ``ids``."""
        return geometry.rows_of(self.ids, ids)


@st.cache_resource(show_spinner="Opening the map …", max_entries=4)
def _opened(digest: str, _record: MapRecord) -> Scene:
    placed = queries.map_points(_record.id)
    places = queries.sentence_places(placed.sentence_ids)
    points = placed.points[geometry.rows_of(placed.sentence_ids, places.ids)]
    if not len(points):
        raise DataError(f"The sentences of the map “{_record.name}” no longer exist. Draw the map again.")
    known = queries.articles_by_id(np.unique(places.articles))
    grid = Grid.around(points)
    return Scene(
        places.ids,
        points,
        grid.units(points),
        places.articles,
        places.positions,
        places.sections,
        list(places.titles),
        known,
        grid,
    )


def opened(record: MapRecord) -> Scene:
    """Return the scene of a stored map, cached by the digest of its content."""
    return _opened(record.digest, record)


def texts(scene: Scene, rows: npt.NDArray[np.intp]) -> list[Sentence]:
    """Return the sentences of some rows, in their order."""
    found = queries.sentences(scene.ids[rows])
    return [found[int(i)] for i in scene.ids[rows]]
