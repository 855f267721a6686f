"""A computation as two files, so that several processes share one copy of its arrays.

The first file contains the pickled objects, the second the bytes of their arrays, which each process maps into its
memory. The files are private to one run of this program: they are no format for models.
"""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

_OBJECTS, _ARRAYS = "task.pickle", "task.arrays"
_ALIGNED = 64  # bytes; arrays begin at multiples of it


def write_task(folder: Path, task: Callable[..., Any]) -> int:
    """Write a function with its data, such as a ``functools.partial``, and return the bytes of its arrays.

    Arrays of numpy are written once, whatever their size; tensors are part of the pickled objects.
    """
    buffers: list[pickle.PickleBuffer] = []
    objects = pickle.dumps(task, protocol=5, buffer_callback=buffers.append)
    spans = []
    with (folder / _ARRAYS).open("wb") as stream:
        for buffer in buffers:
            with buffer.raw() as view:
                stream.write(bytes(-stream.tell() % _ALIGNED))
                spans.append((stream.tell(), view.nbytes))
                stream.write(view)
        size = stream.tell()
        stream.write(b"\0")  # an empty file cannot be mapped
    (folder / _OBJECTS).write_bytes(pickle.dumps((spans, objects)))
    return size


def read_task(folder: Path) -> Callable[..., Any]:
    """Return the function that :func:`write_task` wrote. Its arrays are in memory that the processes share.

    A process that changes an array gets its own copy of the changed pages.
    """
    spans, objects = pickle.loads((folder / _OBJECTS).read_bytes())
    with (folder / _ARRAYS).open("rb") as stream:
        view = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
    task: Callable[..., Any] = pickle.loads(objects, buffers=[view[start : start + size] for start, size in spans])
    return task
