"""The points of a map with everything that is known about each without its text; text is fetched where it is shown.

A map of a million sentences is a few arrays here. Row i of every array is one sentence.
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
from webapp.map_view import mapping
from webapp.map_view.mapping import Grid, Units
from webapp.shared import queries

LEAD = "Introduction"
"""What the section without a title is called."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Sentences on a plane."""

    ids: Ids
    points: Points
    units: Units
    """The points on the grid of the map; what is drawn, and what shapes are compared with."""
    articles: Ids
    positions: Ids
    sections: npt.NDArray[np.int32]
    """Place of each section's title in ``titles``."""
    titles: list[str]
    known: Mapping[int, ArticleRecord]
    """The articles by id."""
    grid: Grid

    def only(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Scene:
        """The scene of some rows."""
        kept = {
            name: getattr(self, name)[rows] for name in ("ids", "points", "units", "articles", "positions", "sections")
        }
        return replace(self, **kept)

    def article(self, row: int) -> str:
        """Title of the article of a row."""
        return self.known[int(self.articles[row])].title

    def section(self, row: int) -> str:
        """Title of the section of a row."""
        return self.titles[self.sections[row]] or LEAD

    def rows_of(self, ids: Ids) -> npt.NDArray[np.intp]:
        """Rows of those of ``ids`` that are here, in the order of ``ids``."""
        return mapping.rows_of(self.ids, ids)


@st.cache_resource(show_spinner="Opening the map …", max_entries=4)
def _opened(digest: str, _record: MapRecord) -> Scene:
    placed = queries.map_points(_record.id)
    places = queries.sentence_places(placed.sentence_ids)
    points = placed.points[mapping.rows_of(placed.sentence_ids, places.ids)]
    if not len(points):
        raise DataError(f"The sentences of the map “{_record.name}” are gone. Draw it again.")
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
    """Everything on a map, made once: its digest names its content, and nobody changes it."""
    return _opened(record.digest, record)


def texts(scene: Scene, rows: npt.NDArray[np.intp]) -> list[Sentence]:
    """The sentences of some rows, in their order."""
    found = queries.sentences(scene.ids[rows])
    return [found[int(i)] for i in scene.ids[rows]]
