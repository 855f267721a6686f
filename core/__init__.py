"""Public library interface: vectors, clusters, themes and scores of sentences.

Everything here works in a notebook, without a store, a queue or a browser:

>>> import core as themescope
>>> sentences = [
...     "The river floods every spring.", "The stream runs into the river.",
...     "The orchestra played a symphony.", "She plays the violin in an orchestra.",
... ]
>>> model = themescope.load("default")
>>> model.encode(sentences).shape
(4, 384)
>>> themescope.SentenceClusterer(model, k=2).fit_predict(sentences).tolist()
[0, 0, 1, 1]

Names are imported when they are first used, so that ``import core`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.api import SentenceModel, encode, find_themes, load, reproduce
    from core.client.client import Client
    from core.estimators import SentenceClusterer, SentenceVectorizer

__all__ = [
    "Client",
    "SentenceClusterer",
    "SentenceModel",
    "SentenceVectorizer",
    "encode",
    "find_themes",
    "load",
    "reproduce",
]

_MODULES = {
    "Client": "core.client.client",
    "SentenceClusterer": "core.estimators",
    "SentenceVectorizer": "core.estimators",
}
"""Module of a name; the others are in ``core.api``."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'core' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES.get(name, "core.api")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
