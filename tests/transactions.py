"""A guard over all tests: nothing outside the database is written while a transaction is open.

A file cannot be rolled back with a transaction, and every writer waits while one is open.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from themescope.db.store import Store, Unit

_CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC
_state = threading.local()


def written(event: str, arguments: tuple[Any, ...]) -> str:
    """Return the path that an audit event says is about to be written; "" for none."""
    if event == "open":
        path, _, flags = arguments
        return str(path) if isinstance(flags, int) and flags & _WRITES else ""
    return str(arguments[0]) if event in _CHANGES else ""


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not getattr(_state, "depth", 0):  # no transaction of this thread is open
        return
    path = written(event, arguments)
    if path and "__pycache__" not in path and path != os.devnull:
        raise AssertionError(f"{event} of {path} inside a transaction")


def guard(patch: pytest.MonkeyPatch) -> None:
    """Fail whatever writes a file inside a transaction, for as long as this process lives."""
    writing = Store.writing

    @contextmanager
    def counted(store: Store) -> Iterator[Unit]:
        with writing(store) as unit:
            _state.depth = getattr(_state, "depth", 0) + 1
            try:
                yield unit
            finally:
                _state.depth -= 1

    patch.setattr(Store, "writing", counted)
    sys.addaudithook(_refuse)
