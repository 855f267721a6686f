"""Operations on runs, clusterings and themes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from themescope.core.client.records import Clustering, Page, Run, ThemeMember, ThemeRun
from themescope.jobs.services.remote import exports, runs
from themescope.webapp.api.access import CallerNow
from themescope.webapp.api.downloads import FILE, download
from themescope.webapp.api.parameters import MOST_ID, Id, Limit, Offset, SomeId, WithColumns
from themescope.webapp.api.problems import responses

router = APIRouter(responses=responses())
_FOUND = responses(404)


@router.get("/runs", tags=["runs"])
def list_runs(
    caller: CallerNow,
    kind: Annotated[str | None, Query(max_length=100, examples=["clustering"])] = None,
    model_id: SomeId = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[Run]:
    """List runs (of one kind, of one model) with their scores, oldest first."""
    return runs.runs(caller.store, kind, model_id, offset, limit)


@router.get("/runs/{run_id}", responses=_FOUND, tags=["runs"])
def get_run(caller: CallerNow, run_id: Id) -> Run:
    """Return a run with its scores."""
    return runs.run(caller.store, run_id)


@router.get("/runs/{run_id}/articles", responses=_FOUND, tags=["runs"])
def list_clustered_articles(caller: CallerNow, run_id: Id) -> list[int]:
    """List the ids of the articles whose sentences a run put into clusters."""
    return runs.clustered_articles(caller.store, run_id)


@router.get("/runs/{run_id}/articles/{article_id}", responses=_FOUND, tags=["runs"])
def get_clustering(caller: CallerNow, run_id: Id, article_id: Id) -> Clustering:
    """Return the clusters of the sentences of an article in a run."""
    return runs.clustering(caller.store, run_id, article_id)


@router.get("/themes", tags=["themes"])
def list_theme_runs(caller: CallerNow, corpus_id: SomeId = None) -> list[ThemeRun]:
    """List the runs that found themes (in one corpus) with their themes, oldest first."""
    return runs.theme_runs(caller.store, corpus_id)


@router.get("/themes/{run_id}", responses=_FOUND, tags=["themes"])
def get_theme_run(caller: CallerNow, run_id: Id) -> ThemeRun:
    """Return a run that found themes."""
    return runs.theme_run(caller.store, run_id)


@router.get("/themes/{run_id}/sentences", responses=_FOUND, tags=["themes"])
def list_theme_members(
    caller: CallerNow,
    run_id: Id,
    theme: Annotated[int | None, Query(ge=0, le=MOST_ID, description="Number of the theme; by default all.")] = None,
    offset: Offset = 0,
    limit: Limit = 100,
) -> Page[ThemeMember]:
    """List the sentences of a theme, the most typical first, or of all themes, one theme after the other."""
    return runs.theme_members(caller.store, run_id, theme, offset, limit)


@router.get("/themes/{run_id}/export", responses=FILE, response_class=StreamingResponse, tags=["themes", "exports"])
def export_themes(
    caller: CallerNow, run_id: Id, format: exports.Format = exports.Format.CSV, columns: WithColumns = False
) -> StreamingResponse:
    """Export every sentence with its theme as a file."""
    return download(exports.themes(caller.store, run_id, columns), format)
