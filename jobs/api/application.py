"""The application of the HTTP API, and its description (OpenAPI)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from themescope.jobs.api import API
from themescope.jobs.api.problems import Problem, handle_problems
from themescope.jobs.api.routes import corpora, jobs, labellings, runs

OPENAPI = "/openapi.json"
"""Path of the description, which is the same in every installation of a version and needs no token."""
ROUTERS = (corpora.router, corpora.uploads_router, runs.router, labellings.router, labellings.task_router, jobs.router)
VERSION = "1.3"
"""Version of the API: the second number grows with additions, the first one and the path with other changes."""
DESCRIPTION = (
    "Read corpora, models, maps, runs and themes, change labellings, and queue jobs, with the same roles as on the "
    "pages. Lists are returned in pages of at most 1,000 items. Errors are problem details (RFC 9457)."
)
TAGS = {
    "account": "The person of the token.",
    "corpora": "Corpora with their articles and sentences.",
    "selections": "Sentences that people selected and named.",
    "search": "Search by text, by whole words and by meaning.",
    "files": "Files for jobs.",
    "models": "Models and their cards.",
    "maps": "Projections of sentences to two dimensions.",
    "runs": "Measurements of models, and clusterings.",
    "themes": "Themes found in a corpus.",
    "labellings": "Clusters made by people. Each change is a step that its person can undo.",
    "tasks": "Labelling tasks and their items.",
    "exports": "Files with all sentences and their clusters or themes.",
    "jobs": "Background jobs. Queueing, cancelling and retrying require the admin role.",
}
_NAME = attrgetter("name")
"""Returns the id of an operation: the name of its function."""


def application(caller_check: Callable[..., ASGIApp], **options: Any) -> FastAPI:
    """Return the application; ``caller_check`` is a middleware that puts the caller into the state of a request."""
    app = FastAPI(
        title="Themescope",
        version=VERSION,
        openapi_url=OPENAPI,
        docs_url=None,  # their pages would load scripts from another host
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=_NAME,
        middleware=[Middleware(caller_check, **options)],
    )
    for router in ROUTERS:
        app.include_router(router)
    handle_problems(app)
    app.openapi = description  # type: ignore[method-assign]
    return app


@cache
def description() -> dict[str, Any]:
    """Return the OpenAPI document."""
    app = FastAPI(generate_unique_id_function=_NAME)
    for router in ROUTERS:
        app.include_router(router)
    found = get_openapi(
        title="Themescope",
        version=VERSION,
        description=DESCRIPTION,
        routes=app.routes,
        tags=[{"name": name, "description": about} for name, about in TAGS.items()],
        servers=[{"url": API}],
    )
    schemas = found["components"]["schemas"]
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs")
    schemas["Problem"] = problem
    for name, schema in schemas.items():
        schema["title"] = name  # those of parts of lists would all be "Page"
    for operation in (one for path in found["paths"].values() for one in path.values()):
        operation["summary"] = operation["operationId"].replace("_", " ").capitalize()
    return found
