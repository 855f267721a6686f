"""Thematic sentence clustering: vectors, clusters, themes and scores of sentences.

Everything here works in a notebook, without a store, a queue or a browser:

>>> import themescope
>>> sentences = [
...     "The river floods every spring.", "The stream runs into the river.",
...     "The orchestra played a symphony.", "She plays the violin in an orchestra.",
... ]
>>> model = themescope.load("default")
>>> model.encode(sentences).shape
(4, 384)
>>> themescope.SentenceClusterer(model, k=2).fit_predict(sentences).tolist()
[0, 0, 1, 1]

Names are imported when they are first used, so that ``import themescope`` stays light.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from themescope.core.api import encode, find_themes, reproduce, similarity, train
    from themescope.core.client import Client
    from themescope.core.estimators import SentenceClusterer, SentenceVectorizer
    from themescope.core.sentence_model import SentenceModel, load
    from themescope.core.themes import Themes
    from themescope.webapp.map_view.widget import ThemesMap

__version__ = "0.3.0"
__all__ = [
    "Client",
    "SentenceClusterer",
    "SentenceModel",
    "SentenceVectorizer",
    "Themes",
    "encode",
    "find_themes",
    "load",
    "reproduce",
    "show",
    "similarity",
    "train",
]

_MODULES = {
    "Client": "themescope.core.client",
    "SentenceClusterer": "themescope.core.estimators",
    "SentenceModel": "themescope.core.sentence_model",
    "SentenceVectorizer": "themescope.core.estimators",
    "Themes": "themescope.core.themes",
    "load": "themescope.core.sentence_model",
}
"""Module of a name; the others are in ``themescope.core.api``."""

# In a checkout, core, db, jobs and webapp are folders beside this one; in the wheel they are inside it. The folders
# come before the links in this one, which `make` creates for tools that read source files only.
_checkout = Path(__file__).resolve().parents[1]
if (_checkout / "pyproject.toml").is_file() and (_checkout / "core" / "registry.py").is_file():
    __path__.insert(0, str(_checkout))


def show(themes: Themes, height: int = 480, theme: Literal["light", "dark"] = "light", seed: int = 0) -> ThemesMap:
    """Show the labelled map of themes in a notebook, and return it; whose ``selection`` is what the lasso selected.

    Parameters
    ----------
    themes
        Themes of at least 3 different sentences.
    height
        Height in pixels.
    theme
        Colours on a light or a dark ground.
    seed
        Seed of the layout (UMAP).

    Raises
    ------
    MissingExtraError
        If the extras ``app`` and ``notebook`` are not installed.

    Examples
    --------
    >>> from themescope import find_themes, show
    >>> themes = find_themes([
    ...     "The river floods every spring.", "The stream runs into the river.",
    ...     "The orchestra played a symphony.", "She plays the violin in an orchestra.",
    ... ], k=2)
    >>> chart = show(themes)
    >>> len(chart.selection)  # until something is selected
    0
    """
    widget = importlib.import_module("themescope.webapp.map_view.widget")  # of the application, which may be missing
    chart: ThemesMap = widget.ThemesMap(themes, height, theme, seed)
    return chart


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'themescope' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES.get(name, "themescope.core.api")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
