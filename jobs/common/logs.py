"""Log records of the web server and of workers.

Records contain no texts of users: of an exception, they have the types and the places in the code, but not the message,
in which a database driver quotes the values of a statement. Pages show messages, and the row of a job keeps its own.

=============  ========================================================================
``time``       when, as ISO 8601 with the time zone UTC
``level``      such as ``INFO`` or ``WARNING``
``logger``     name of the module
``message``    what happened
``process``    ``web`` or ``worker``, host name and process id, such as ``web@lab:4711``
``job``        id of the job that was running, if any
``person``     name of the person who used the page, if known
``error``      types of the exception and of its causes, if there is one
``stack``      places in the code
=============  ========================================================================
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

_JOB: ContextVar[int | None] = ContextVar("job", default=None)
_PERSON: ContextVar[str] = ContextVar("person", default="")
_FOREIGN = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "websockets")

ErrorInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


@contextmanager
def about_job(job_id: int) -> Iterator[None]:
    """Name a job in the records of this thread."""
    token = _JOB.set(job_id)
    try:
        yield
    finally:
        _JOB.reset(token)


def about_person(name: str) -> None:
    """Name a person in the following records of this thread; "" for nobody."""
    _PERSON.set(name)


def set_up(process: str, log_format: str) -> None:
    """Write the records of this process to standard error; ``process`` is "web" or "worker".

    Records of the packages of Themescope are written from the level INFO on, those of others from WARNING on.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(process) if log_format == "json" else TextLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("themescope").setLevel(logging.INFO)
    logging.captureWarnings(True)
    redirect()
    sys.excepthook = _uncaught
    threading.excepthook = lambda args: _uncaught(args.exc_type, args.exc_value, args.exc_traceback)


def redirect() -> None:
    """Write the records of loggers with handlers of their own, as Streamlit and uvicorn create, with ours instead.

    Loggers that are created later keep their handlers, until this is called again.
    """
    existing = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "streamlit"]
    for name in (*existing, *_FOREIGN):
        logger = logging.getLogger(name)
        if not any(isinstance(one, _Redirect) for one in logger.filters):
            logger.addFilter(_Redirect())


class _Redirect(logging.Filter):
    """Filter that passes every record from the root logger's level on to the handlers of that one only.

    A filter, because these libraries configure the handlers of their loggers anew whenever they read their settings.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        root = logging.getLogger()
        if root.isEnabledFor(record.levelno):
            root.handle(record)
        return False


def _uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt | SystemExit) or error is None:
        return
    name = threading.current_thread().name
    logging.getLogger(__name__).critical("Uncaught exception in %s.", name, exc_info=(kind, error, trace))


class TextLines(logging.Formatter):
    """Records as text: time, level, logger, message."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatException(self, ei: ErrorInfo) -> str:
        """Return the places in the code and the types of an exception."""
        return "\n".join([*_stack(ei), *_types(ei)])


class JsonLines(logging.Formatter):
    """Records as JSON objects, one per line; the module describes the fields."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._process = f"{process}@{socket.gethostname()}"

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": f"{self._process}:{os.getpid()}",
        }
        if (job := _JOB.get()) is not None:
            fields["job"] = job
        if person := _PERSON.get():
            fields["person"] = person
        if record.exc_info and record.exc_info[0] is not None:
            fields |= {"error": _types(record.exc_info), "stack": _stack(record.exc_info)}
        return json.dumps(fields, ensure_ascii=False)


def _chain(info: ErrorInfo) -> list[BaseException]:
    """Return an exception and its causes, the first cause first."""
    chain: list[BaseException] = []
    error = info[1]
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return chain[::-1]


def _types(info: ErrorInfo) -> list[str]:
    return [f"{type(error).__module__}.{type(error).__qualname__}" for error in _chain(info)]


def _stack(info: ErrorInfo) -> list[str]:
    """Return the places in the code, those of the first cause first."""
    frames = [frame for error in _chain(info) for frame in traceback.extract_tb(error.__traceback__)]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
