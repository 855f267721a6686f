"""Operations on the codebook of a labelling, and on what was predicted for its other sentences."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from themescope.core.labelling.codebook.portable import PortableCode
from themescope.core.records.stored import PredictionRecord
from themescope.jobs.api.exports import attachment
from themescope.jobs.api.problems import WRITING, CallerNow, Id, responses
from themescope.jobs.services.labelling import codebook
from themescope.jobs.services.labelling.agreement import known_labelling

router = APIRouter(tags=["labellings"], responses=responses())
_FOUND, _CHANGED = responses(404), responses(404, *WRITING)
_MEDIA = {
    "md": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8", "json": "application/json",
    "csv": "text/csv; charset=utf-8", "qdc": "application/xml",
}  # fmt: skip


class CodebookFormat(StrEnum):
    """Format of a codebook."""

    MARKDOWN = "md"
    HTML = "html"
    JSON = "json"
    CSV = "csv"
    REFI_QDA = "qdc"


_CONTENT: dict[str, Any] = {media.partition(";")[0]: {"schema": {"type": "string"}} for media in _MEDIA.values()}
_CONTENT["application/json"] = {"schema": {"type": "object"}}
_FILE = {200: {"description": "The file.", "content": _CONTENT}, **responses(404, 409)}


@router.get("/labellings/{labelling_id}/codebook", responses=_FOUND)
def get_codebook(caller: CallerNow, labelling_id: Id) -> list[PortableCode]:
    """Return the codes of a labelling with their definitions and examples."""
    with caller.store.reading() as r:
        known_labelling(r, labelling_id)
    return codebook.exported(caller.store, labelling_id).codes


@router.get("/labellings/{labelling_id}/codebook/export", responses=_FILE, response_class=Response, tags=["exports"])
def export_codebook(caller: CallerNow, labelling_id: Id, format: CodebookFormat = CodebookFormat.MARKDOWN) -> Response:
    """Export the codebook of a labelling as a file."""
    with caller.store.reading() as r:
        name = known_labelling(r, labelling_id).name
    data = codebook.written(caller.store, labelling_id, format.value)
    return Response(data, headers=attachment(f"{name}.{format.value}"), media_type=_MEDIA[format.value])


@router.get("/labellings/{labelling_id}/predictions", responses=_FOUND)
def list_predictions(caller: CallerNow, labelling_id: Id) -> list[PredictionRecord]:
    """List what was predicted for the sentences without a label, with its measured quality, oldest first."""
    with caller.store.reading() as r:
        known_labelling(r, labelling_id)
        return r.predictions.list(labelling_id)
