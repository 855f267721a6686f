"""Import of umap-learn, with its compiled functions cached on disk.

umap-learn compiles its loops anew in every process, for about ten seconds. pynndescent, which umap-learn imports for
an approximate search that :mod:`core.projection.maps` does not use, compiles at its first import and caches the result
itself; :mod:`core.precompile` fills both caches.
"""

from __future__ import annotations

import threading
import warnings
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import Any


@cache
def load_umap() -> Any:
    """Import and return the module ``umap.umap_``; the first call in a process takes seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # umap-learn warns about optional packages that are not needed here
        import umap.layouts
        import umap.umap_
        from tqdm.auto import tqdm  # type: ignore[import-untyped]
    # A cancelled layout raises while its progress bar writes, and tqdm then keeps its lock: this one never blocks.
    tqdm.set_lock(threading.Semaphore(1_000_000))
    for module in (umap.umap_, umap.layouts):
        _cache_compiled(module)
    return umap.umap_


def _cache_compiled(module: ModuleType) -> None:
    """Let numba cache what it compiles of the module's functions, as ``njit(cache=True)`` does."""
    from numba.core.dispatcher import Dispatcher

    for function in vars(module).values():
        if isinstance(function, Dispatcher) and not function.signatures:
            with suppress(RuntimeError):  # there is no writable folder for the cache
                function.enable_caching()
