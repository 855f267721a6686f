"""Column types that behave the same on SQLite and PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.engine import Dialect

NAME_LIMIT = 200
"""Maximum length of a name in characters."""


def clean_text(text: str) -> str:
    """Return ``text`` with characters that databases cannot store (NUL, lone surrogates) replaced by U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    return text


def dump_json(value: Any) -> str:
    """Return ``value`` as JSON; mappings, paths and numpy values are converted to plain JSON values."""
    return _ENCODER.encode(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)


_ENCODER = json.JSONEncoder(default=_plain, separators=(",", ":"))


class Big(sa.TypeDecorator[int]):
    """Integer of 64 bits; numpy integers are accepted.

    On SQLite it is declared INTEGER, which has 64 bits there and is required for automatic ids.
    """

    impl = sa.BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> sa.types.TypeEngine[Any]:
        """Return the type of the column in a dialect."""
        return dialect.type_descriptor(sa.Integer() if dialect.name == "sqlite" else sa.BigInteger())

    def process_bind_param(self, value: Any, dialect: Dialect) -> int | None:
        """Convert to a Python int, because drivers reject numpy integers."""
        return None if value is None else int(value)


class Text(sa.TypeDecorator[str]):
    """Text of any length that both engines accept, see :func:`clean_text`."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Replace characters that no database can store."""
        return None if value is None else clean_text(value)


class Json(sa.TypeDecorator[Any]):
    """JSON value, stored as text so that both engines return exactly what was written."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Serialise."""
        return dump_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Parse."""
        return None if value is None else json.loads(value)


class UtcDateTime(sa.TypeDecorator[datetime]):
    """Aware time, stored in UTC. On SQLite it is text without a zone, which sorts by time."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert to UTC; raise ``TypeError`` for a naive time."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise TypeError(f"A time without a zone cannot be stored: {value!r}.")
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return an aware time in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Number(sa.TypeDecorator[float]):
    """Float of 64 bits. NaN, which SQLite does not support, is stored as NULL."""

    impl = sa.Double
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:
        """Convert NaN to NULL."""
        return None if value is None or value != value else float(value)

    def process_result_value(self, value: float | None, dialect: Dialect) -> float:
        """Convert NULL to NaN."""
        return float("nan") if value is None else value
