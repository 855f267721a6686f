"""Client of the HTTP API, and the records that it returns.

Use :class:`themescope.Client`. The module imports httpx and pydantic when a client is made.
"""

from __future__ import annotations

import inspect
import os
import secrets
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from themescope.core.errors import ConfigError, DataError, RequestError, optional_module
from themescope.core.records.answers import Page, PointPage, ThemeRun, UploadedFile
from themescope.core.records.stored import JobStatus, JobSummary, Json

if TYPE_CHECKING:
    import httpx
    from pydantic import TypeAdapter


# Client of a Themescope server, whose methods are the operations of the HTTP API as the server describes them

_API = "/api/v1"
_PAGE, _POINTS = 1_000, 50_000
"""Number of items that are requested at once: the maximum of the server."""
_WAIT_S = 30.0
_RECORDS = ("records.answers", "records.stored", "labelling.changes", "labelling.codebook.entries")
"""Modules of the records that answers consist of."""
_SHORT = {
    "search_sentences": "search",
    "list_similar_sentences": "similar",
    "queue_job": "queue",
    "cancel_job": "cancel",
    "retry_job": "retry",
}
_LATER = ("reason", "seen", "coder")
"""What every change may say about itself, behind its own arguments."""


class Client:
    """Client of the HTTP API of a server.

    Its methods are the operations of the server, without “list” and “get”: ``client.corpora()`` is ``list_corpora``.
    ``help(client.labels)`` describes one, and ``dir(client)`` lists them. Arguments are the ids in the address, then
    what the operation requires, then what it accepts. Methods return records (:mod:`themescope.core.records`), and
    iterators over long lists, which are read page by page; those that export write a file. Changes of a labelling
    return the step of its history, or None if nothing would change. Every method raises
    :class:`themescope.core.errors.RequestError` with the sentence of the server if it refuses the request.

    >>> import themescope
    >>> client = themescope.Client("http://127.0.0.1:8501", token="themescope_0123")
    >>> client
    <Client of http://127.0.0.1:8501>

    Parameters
    ----------
    address
        Address of the server, as it is opened in a browser.
    token
        Token of a person, from the page Account. Not needed where nobody signs in.
    timeout
        Seconds to wait for an answer.
    """

    def __init__(self, address: str = "http://127.0.0.1:8501", token: str = "", timeout: float = 60.0) -> None:
        optional_module("httpx", "The client of a server", "httpx", "app")
        optional_module("pydantic", "The client of a server", "pydantic", "app")
        import httpx

        if not (token.isascii() and token.isprintable()):
            raise ConfigError("This is no token: tokens consist of letters, digits, “_” and “-”.")
        self._timeout, self._address = timeout, address.rstrip("/")
        # A server where nobody signs in accepts changes without a token as JSON only, so every request says so.
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._http = httpx.Client(base_url=self._address + _API, headers=headers, timeout=timeout)
        self._close = weakref.finalize(self, self._http.close)  # also when nobody uses the client any more

    def __repr__(self) -> str:
        return f"<Client of {self._address}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._methods:
            raise AttributeError(f"{self!r} has no method {name!r}.")
        return self._methods[name]

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self._methods]

    def upload(self, file: str | Path) -> UploadedFile:
        """Upload a file; its ``path`` is for the arguments of a job, see ``queue``. Requires the admin role."""
        path = Path(file)
        with self._errors(), path.open("rb") as content:
            headers = {"Content-Type": "application/octet-stream"}
            answer = self._http.post("/files", content=content, params={"name": path.name}, headers=headers)
        return cast(UploadedFile, _read(UploadedFile, answer))

    def sentences(self, *, corpus_id: int | None = None, article_id: int | None = None) -> Any:
        """Yield the sentences of a corpus or of an article in reading order."""
        if (corpus_id is None) is (article_id is None):
            raise ConfigError("Name a corpus or an article: client.sentences(corpus_id=…) or (article_id=…).")
        return self._methods["sentences"](corpus_id) if article_id is None else self.sentences_of_article(article_id)

    def map_points(self, map_id: int) -> PointPage:
        """Return the points of a map."""
        found: PointPage = self.points(map_id, limit=_POINTS)
        while (offset := len(found.sentence_ids)) < found.total:
            more = self.points(map_id, offset=offset, limit=_POINTS)
            for mine, other in ((found.sentence_ids, more.sentence_ids), (found.x, more.x), (found.y, more.y)):
                mine.extend(other)
        return found

    def themes(self, sentences: Iterable[str], **options: Any) -> ThemeRun:
        """Import sentences as a new corpus, wait until their themes are found, and return them.

        Requires the admin role. Options are ``corpus``, the name of the new corpus; ``k``, the number of themes;
        ``language``, ``model``, and ``groups``, the group of each sentence. ``theme_members`` and ``export_themes``
        return the theme of each sentence. Raises :class:`RequestError` if a job fails.
        """
        jobs = self.find_themes(sentences, **options)
        job = self.wait(next(job.id for job in jobs if job.kind == "find-themes"))
        if job.status is not JobStatus.DONE:
            raise RequestError(f"The job {job.id} ({job.title}) is {job.status.value}. {job.error}".strip())
        found: ThemeRun = self.theme_run(job.result["run_id"])
        return found

    def wait(self, job_id: int) -> JobSummary:
        """Wait until a job has ended, and return it. Its status says whether it is done, failed or was cancelled."""
        seconds = min(_WAIT_S, self._timeout / 2)
        while True:  # the server answers when the job has ended, or after these seconds
            job: JobSummary = self.job(job_id, wait=seconds)
            if job.status.ended:
                return job

    # --- operations of the server -----------------------------------------------------------------------------------

    @cached_property
    def _methods(self) -> dict[str, Callable[..., Any]]:
        """The operations that the server describes, by the name of their method."""
        with self._errors():
            answer = self._http.get("/openapi.json")
        found = _read(dict, answer)
        if "paths" not in found:
            raise RequestError(f"{self._address} is not a Themescope server.")
        return {
            _SHORT.get(one["operationId"]) or one["operationId"].removeprefix("list_").removeprefix("get_"): (
                self._method(http, path, one, found["components"]["schemas"])
            )
            for path, operations in found["paths"].items()
            for http, one in operations.items()
        }

    def _method(self, http: str, path: str, operation: Json, schemas: Json) -> Callable[..., Any]:
        """Return an operation as a function with its description and signature."""
        in_path = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"]
        in_query = {one["name"]: one for one in operation.get("parameters", ()) if one["in"] == "query"}
        content = next(iter(operation.get("requestBody", {}).get("content", {"": {"schema": {}}}).values()))["schema"]
        parts = [schemas[_name_of(one)] for one in content.get("anyOf", [content]) if "$ref" in one]
        body = {name: one for part in parts for name, one in part["properties"].items()}
        required = [name for name in body if len(parts) == 1 and name in parts[0].get("required", ())]
        required += [name for name, one in in_query.items() if one.get("required")]
        answers = next(operation["responses"][code] for code in ("200", "201", "204") if code in operation["responses"])
        media = answers.get("content", {})
        file = "text/csv" in media or "text/markdown" in media
        paged = (schema := media.get("application/json", {}).get("schema", {})).get("$ref", "").find("/Page_") > 0
        rest = [name for name in (*body, *in_query) if name not in required and not (file and name == "format")]
        rest.sort(key=lambda name: name in _LATER)
        either = inspect.Parameter.POSITIONAL_OR_KEYWORD
        first = [inspect.Parameter(name, either) for name in (*in_path, *required, *(["file"] if file else []))]
        signature = inspect.Signature([*first, *(inspect.Parameter(name, either, default=None) for name in rest)])

        def method(*args: Any, **options: Any) -> Any:
            given = signature.bind(*args, **options).arguments
            # Ids only: dots would be folded, so that the cluster ".." would be the labelling.
            address = path.format(**{name: index(given.pop(name)) for name in in_path})
            target = Path(given.pop("file")) if file else None
            sent = {name: _json(given[name], body[name], schemas) for name in given if name in body}
            query = {name: value for name, value in given.items() if name in in_query and value is not None}
            if target is not None:
                return self._download(address, target, query, in_query["format"]["schema"], schemas)
            if paged and "offset" not in given:
                return self._pages(_type(schema, schemas), address, query)
            with self._errors():
                answer = self._http.request(http.upper(), address, json=sent if body else None, params=query)
            return _read(_type(schema, schemas) if media else type(None), answer)

        method.__name__ = method.__qualname__ = operation["operationId"]
        method.__doc__, method.__signature__ = operation["description"], signature  # type: ignore[attr-defined]
        return method

    def _pages(self, kind: Any, path: str, query: Json) -> Iterator[Any]:
        offset, total = 0, 1
        while offset < total:
            with self._errors():
                answer = self._http.get(path, params={**query, "offset": offset, "limit": _PAGE})
            page: Page[Any] = _read(kind, answer)
            yield from page.items
            offset, total = offset + _PAGE, page.total

    def _download(self, path: str, file: Path, query: Json, format: Json, schemas: Json) -> None:
        """Write the answer into a file, whose ending says the format. An incomplete one is removed."""
        known = schemas[_name_of(format)]["enum"]
        if (ending := file.suffix.lower()[1:]) not in known:
            listed = ", ".join(f".{one}" for one in known)
            raise DataError(f"Exports are written as {listed}, not as {file.suffix or 'no ending'!r}.")
        partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        try:
            with self._errors(), self._http.stream("GET", path, params={**query, "format": ending}) as answer:
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
            raise RequestError(
                f"No answer from {self._address}: {why}. Check the address, and that it runs."
            ) from error


def _name_of(schema: Json) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _json(value: Any, schema: Json, schemas: Json) -> Any:
    """Return an argument as JSON: a table's column as a list, one text as a list of one, a record by its fields."""
    if "$ref" in schema:
        schema = schemas[_name_of(schema)]
    if is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in fields(value) if f.name in schema.get("properties", ())}
    lists = next((one for one in (schema, *schema.get("anyOf", ())) if one.get("type") == "array"), None)
    if lists is None or value is None:
        return value
    items = [value] if isinstance(value, str) else value.tolist() if hasattr(value, "tolist") else [*value]
    return [_json(one, lists.get("items", {}), schemas) for one in items]


def _type(schema: Json, schemas: Json) -> Any:
    """Return the type of an answer: records by their names, and plain values of what this version does not know."""
    if "$ref" in schema:
        name = _name_of(schema)
        if name.startswith("Page_"):
            return Page[_type(schemas[name]["properties"]["items"]["items"], schemas)]  # type: ignore[misc]
        return _records().get(name, Any)
    if schema.get("type") == "array":
        return list[_type(schema["items"], schemas)]  # type: ignore[misc]
    if "anyOf" in schema and len(schema["anyOf"]) == 2:
        return _type(schema["anyOf"][0], schemas) | None
    return Any


@lru_cache(maxsize=1)
def _records() -> dict[str, Any]:
    modules = [vars(import_module(f"themescope.core.{name}")) for name in _RECORDS]
    return {name: one for module in modules for name, one in module.items() if is_dataclass(one)}


def _read(kind: Any, answer: httpx.Response) -> Any:
    _check(answer)
    return _adapter(cast(Hashable, kind)).validate_json(answer.content or b"null")


def _check(answer: httpx.Response) -> None:
    """Raise :class:`RequestError` with the sentence of the server."""
    if answer.is_success:
        return
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"{answer.url} answered with the status {answer.status_code} {answer.reason_phrase}."
    raise RequestError(detail, answer.status_code)


@lru_cache(maxsize=128)
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cast(Any, kind))
