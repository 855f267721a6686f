"""Files that are sent while they are being written."""

from __future__ import annotations

from itertools import chain
from typing import Any
from urllib.parse import quote

from starlette.responses import StreamingResponse

from themescope.jobs.services.remote.exports import MEDIA_TYPES, Export, Format
from themescope.webapp.api.problems import responses

FILE: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()},
    },
    **responses(404),
}


def download(export: Export, format: Format) -> StreamingResponse:
    """Return the answer with a file. Its first rows are read now, so that errors are answered as such."""
    pieces = export.stream(format)
    name = quote(f"{export.name}.{format.value}", safe="")
    headers = {"Content-Disposition": f"attachment; filename*=utf-8''{name}"}
    return StreamingResponse(chain([next(pieces)], pieces), headers=headers, media_type=MEDIA_TYPES[format])
