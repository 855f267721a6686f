"""Requests to the HTTP API: answers as records, pages as iterators, problem details as errors."""

from __future__ import annotations

import os
import secrets
import weakref
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from themescope.core.errors import ConfigError, DataError, RequestError, optional_module
from themescope.core.records.answers import Page

if TYPE_CHECKING:
    import httpx
    from pydantic import TypeAdapter

T = TypeVar("T")
_API = "/api/v1"
_PAGE = 1_000
"""Number of items that are requested at once: the maximum of the server."""
_FORMATS = {".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet"}


class Connection:
    """Connection to a server, with the token of a person."""

    def __init__(self, address: str, token: str, timeout: float) -> None:
        optional_module("httpx", "The client of a server", "httpx", "client")
        optional_module("pydantic", "The client of a server", "pydantic", "client")
        import httpx

        if not (token.isascii() and token.isprintable()):
            raise ConfigError("This is no token: tokens consist of letters, digits, “_” and “-”.")
        self.timeout = timeout
        self.address = address.rstrip("/")
        # A server where nobody signs in accepts changes without a token as JSON only, so every request says so.
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._http = httpx.Client(base_url=self.address + _API, headers=headers, timeout=timeout)
        self.close = weakref.finalize(self, self._http.close)  # also when nobody uses the connection any more

    def get(self, kind: type[T], path: str, /, **parameters: Any) -> T:
        """Return the answer to a GET request as ``kind``."""
        return self.send(kind, "GET", path, parameters=parameters)

    def upload(self, kind: type[T], path: str, file: Path) -> T:
        """Send a file as the body of a request, and return the answer as ``kind``."""
        with self._errors(), file.open("rb") as content:
            headers = {"Content-Type": "application/octet-stream"}
            answer = self._http.post(path, content=content, params={"name": file.name}, headers=headers)
        return _read(kind, answer)

    def send(
        self,
        kind: type[T],
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        parameters: Any = None,
    ) -> T:
        """Return the answer to a request as ``kind``; raise :class:`RequestError` if it was refused or not answered."""
        with self._errors():
            answer = self._http.request(
                method,
                path,
                json=body,
                params={name: value for name, value in (parameters or {}).items() if value is not None},
            )
        return _read(kind, answer)

    def pages(self, kind: type[Page[T]], path: str, /, **parameters: Any) -> Iterator[T]:
        """Yield the items of a list, page by page."""
        offset, total = 0, 1
        while offset < total:
            page = self.get(kind, path, **parameters, offset=offset, limit=_PAGE)
            yield from page.items
            offset, total = offset + _PAGE, page.total

    def save(self, path: str, file: Path, **about: Any) -> None:
        """Write an export into a file, whose suffix says the format."""
        format = _FORMATS.get(file.suffix.lower())
        if format is None:
            raise DataError(f"Exports are written as {', '.join(_FORMATS)}, not as {file.suffix or 'no ending'!r}.")
        self.download(path, file, format=format, **about)

    def download(self, path: str, file: Path, **parameters: Any) -> None:
        """Write the answer into a file. An incomplete one is removed."""
        partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        try:
            with self._errors(), self._http.stream("GET", path, params=parameters) as answer:
                if answer.is_error:
                    answer.read()
                _check(answer)
                with partial.open("wb") as stream:
                    for piece in answer.iter_bytes():
                        stream.write(piece)
            os.replace(partial, file)
        finally:
            partial.unlink(missing_ok=True)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import httpx

        try:
            yield
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = str(error) or type(error).__name__
            raise RequestError(f"No answer from {self.address}: {why}. Check the address, and that it runs.") from error


def _read(kind: type[T], answer: httpx.Response) -> T:
    _check(answer)
    found: T = _adapter(cast(Hashable, kind)).validate_json(answer.content or b"null")
    return found


def _check(answer: httpx.Response) -> None:
    """Raise :class:`RequestError` with the sentence of the server."""
    if answer.is_success:
        return
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"{answer.url} answered with the status {answer.status_code} {answer.reason_phrase}."
    raise RequestError(detail, answer.status_code)


@lru_cache(maxsize=64)
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cast(Any, kind))
