"""umap-learn, imported without what it compiles for nothing, and with its compiled loops kept on disk.

Its import takes pynndescent along, which compiles for some twenty seconds on a machine that never did so before; it
seeks neighbours, which :mod:`core.projection.maps` does exactly by itself. Its own loops compile in each process anew.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from types import ModuleType
from typing import Any

_UNUSED = {
    "pynndescent": ("NNDescent",),
    "pynndescent.distances": ("named_distances",),
    "pynndescent.sparse": ("sparse_named_distances",),
}


@cache
def load_umap() -> Any:
    """The module ``umap.umap_``: graph and layout. The first call in a process imports and takes a second or two."""
    with warnings.catch_warnings(), _without_search():
        warnings.simplefilter("ignore")  # umap-learn warns about optional packages that are not needed here
        import umap.layouts
        import umap.umap_
    for module in (umap.umap_, umap.layouts):
        _keep_compiled(module)
    return umap.umap_


@contextmanager
def _without_search() -> Iterator[None]:
    """Let empty modules stand for pynndescent while umap-learn is imported, unless somebody has imported it."""
    if "pynndescent" in sys.modules:
        yield
        return
    for name, contents in _UNUSED.items():
        stand_in = ModuleType(name)
        vars(stand_in).update(dict.fromkeys(contents))
        sys.modules[name] = stand_in
    try:
        yield
    finally:
        for name in _UNUSED:
            del sys.modules[name]


def _keep_compiled(module: ModuleType) -> None:
    """Let numba keep what it compiles of a module's functions, as it does for ``njit(cache=True)``."""
    from numba.core.dispatcher import Dispatcher

    for function in vars(module).values():
        if isinstance(function, Dispatcher) and not function.signatures:
            with suppress(RuntimeError):  # no folder that it may write to
                function.enable_caching()
