"""Errors of the HTTP API as problem details (RFC 9457); parameters of several operations; who sends a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Path, Query, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.routing import Match

from themescope.core.errors import (
    AccessError,
    ConfigError,
    ExecutorError,
    ReadError,
    SchemaError,
    StoreUnavailableError,
    ThemescopeError,
    UnknownNameError,
)
from themescope.db.access import Actor
from themescope.db.store import Store
from themescope.jobs.services.people import TooManyAttempts

MEDIA_TYPE = "application/problem+json"
_STATUS: tuple[tuple[type[ThemescopeError], int], ...] = (
    (TooManyAttempts, 429),
    (AccessError, 403),
    (StoreUnavailableError, 503),
    (SchemaError, 503),
    (UnknownNameError, 404),
    (ConfigError, 422),
    (ReadError, 422),
    (ExecutorError, 503),
)
"""Class of an error → status of the answer; the first class that fits, and 409 for all others.

A request that its description allows is not answered with 422: what the data do not allow conflicts with the store.
Settings and files are described elsewhere, by the kind of the job and by the reader.
"""
MEANINGS = {
    400: "The body is not JSON in UTF-8.",
    401: "The token is missing or wrong, has expired or was revoked.",
    403: "Your role does not allow it, or the request comes from another web site.",
    404: "There is no object with this id.",
    405: "The path does not have this method.",
    409: "The store does not allow it as it is, for example after a change by another person, or without vectors.",
    413: "The request is too large.",
    415: "A request without a token that writes needs the content type application/json, of a file octet-stream.",
    422: "A parameter or the body is invalid.",
    429: "There were too many wrong tokens from this address. The header Retry-After has the seconds to wait.",
    503: "The store cannot be used at the moment.",
}
WRITING = (400, 409, 413, 415)
"""Statuses of operations that write, besides those of all."""


class InvalidField(BaseModel):
    """A parameter or a field of the body that is invalid."""

    field: str = Field(description="Its place, such as “query.limit” or “body.sentences.0”.", examples=["query.limit"])
    message: str = Field(description="What is wrong.", examples=["Input should be less than or equal to 1000"])


class Problem(BaseModel):
    """Problem details (RFC 9457)."""

    type: str = Field(description="Always “about:blank”: the status says what kind of problem it is.")
    title: str = Field(description="Name of the status.", examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(description="What happened and what to do.", examples=["There is no corpus called '7'."])
    errors: list[InvalidField] | None = Field(
        default=None, description="The invalid fields of a request with status 422."
    )


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, errors: Iterable[InvalidField] = ()
) -> JSONResponse:
    """Return the answer for an error."""
    about = Problem(
        type="about:blank", title=HTTPStatus(status).phrase, status=status, detail=detail, errors=[*errors] or None
    )
    content = about.model_dump(exclude_none=True)
    return JSONResponse(content, status, dict(headers or {}), media_type=MEDIA_TYPE)


def problem_of(error: ThemescopeError) -> JSONResponse:
    """Return the answer for an error of Themescope."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 409)
    wait = {"Retry-After": str(max(round(error.wait_s), 1))} if isinstance(error, TooManyAttempts) else None
    return problem(status, str(error), wait)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of the answers with these statuses, and with those that every operation has."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    known = sorted({401, 403, 422, 429, 503, *statuses})
    return {status: {"description": MEANINGS[status], "content": content} for status in known}


def handle_problems(app: FastAPI) -> None:
    """Answer all errors of an application with problem details."""

    @app.exception_handler(ThemescopeError)
    async def of_themescope(request: Request, error: ThemescopeError) -> JSONResponse:
        return problem_of(error)

    @app.exception_handler(RequestValidationError)
    async def of_validation(request: Request, error: RequestValidationError) -> JSONResponse:
        found = [InvalidField(field=".".join(map(str, one["loc"])), message=str(one["msg"])) for one in error.errors()]
        shown = "; ".join(f"{one.field}: {one.message}" for one in found[:3])
        return problem(422, f"The request is invalid: {shown}.", errors=found[:100])

    @app.exception_handler(HTTPException)
    async def of_http(request: Request, error: HTTPException) -> JSONResponse:
        headers = dict(error.headers or {})
        if error.status_code == 405:  # Starlette names the methods of the first of several routes with this path
            scopes = {one: {**request.scope, "method": one} for one in ("DELETE", "GET", "PATCH", "POST", "PUT")}
            matched = ((method, [r.matches(scope)[0] for r in app.routes]) for method, scope in scopes.items())
            headers["Allow"] = ", ".join(method for method, found in matched if Match.FULL in found)
        return problem(error.status_code, MEANINGS.get(error.status_code, str(error.detail)), headers)

    @app.exception_handler(Exception)
    async def of_defect(request: Request, error: Exception) -> JSONResponse:  # logged by the server with its traceback
        return problem(500, "Internal server error. The log of the server says more.")


MOST_ITEMS = 1_000
"""Maximum number of items of a page."""
MOST_ID = 2**53 - 1
"""The largest integer that every JSON parser keeps (RFC 8259, section 6); sums with it fit into a column."""
MOST_SENTENCES = 200_000
"""Maximum number of sentences of a change: that of a labelling."""

Id = Annotated[int, Path(ge=1, le=MOST_ID, examples=[1])]
SomeId = Annotated[int | None, Query(ge=1, le=MOST_ID)]
Offset = Annotated[int, Query(ge=0, le=MOST_ID, description="Number of items to skip.")]
Limit = Annotated[int, Query(ge=1, le=MOST_ITEMS, description="Maximum number of items.")]
WithColumns = Annotated[bool, Query(description="Whether the columns of the corpus follow those of the export.")]


def _whole(value: Any) -> Any:
    """Refuse what is no integer in JSON, where 1.0 is one, and "1" and true are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("Input should be an integer")
    return value


Flag = Annotated[bool, Field(strict=True)]
"""A value of a body that is true or false, and not 0 or "no"."""
WHOLE = BeforeValidator(_whole)
"""For integers of a body."""
BodyId = Annotated[int, Field(ge=1, le=MOST_ID), WHOLE]
Sentences = Annotated[
    list[BodyId],
    Field(min_length=1, max_length=MOST_SENTENCES, description="Ids of sentences of the labelling.", examples=[[1, 2]]),
]


class Body(BaseModel):
    """Base class of bodies, which have no unknown fields."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Caller:
    """The person who sent a request."""

    whole: Store
    """The store itself; operations use :attr:`store`."""
    actor: Actor

    @property
    def store(self) -> Store:
        """The store for the person, whose role and blind tasks are looked up again in each transaction."""
        return self.whole.by(lambda: self.actor.name)


_BEARER = HTTPBearer(
    auto_error=False,
    description="Token of a person, created on the page Account or with `themescope people token`. Not needed "
    "where nobody signs in.",
)


def _caller(request: Request, documented: Annotated[object, Security(_BEARER)]) -> Caller:
    found: Caller = request.state.caller
    return found


CallerNow = Annotated[Caller, Depends(_caller)]
"""The caller, whom a middleware has put into the state of the request."""
