"""Memory of processes that run for days."""

import ctypes
import os
from contextlib import suppress

from themescope.core.text.languages import forget


def limit() -> None:
    """Limit what is kept of used memory; call it before there are threads, and PyTorch."""
    # 1,024 kernels, one for each shape that PyTorch has computed, are 300 MB.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")
    with suppress(AttributeError, OSError, TypeError):  # other C libraries than that of GNU, and Windows
        ctypes.CDLL(None).mallopt(-8, 2)  # M_ARENA_MAX of malloc.h: by default eight for each core


def give_back() -> None:
    """Free what can be computed again, and give free memory back to the system."""
    forget()
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
