"""Downloads of models (ZIP) and of vectors (NumPy), written while they are sent."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from starlette.responses import StreamingResponse

from themescope.core.errors import DataError
from themescope.db.store import Store
from themescope.jobs.api.exports import Sink, streamed
from themescope.jobs.api.problems import responses
from themescope.jobs.services.sentences import known_corpus

_BYTES = "application/octet-stream"
"""Type of the files, which generated clients know, other than that of ZIP archives."""
_PIECE, _ARTICLES = 1 << 20, 200


_CONTENT = {_BYTES: {"schema": {"type": "string", "format": "binary"}}}
FILE: dict[int | str, dict[str, Any]] = {200: {"description": "The file.", "content": _CONTENT}, **responses(404, 409)}


def model_download(store: Store, model_id: int) -> StreamingResponse:
    """Return the answer with the folder of a model; raise ``ArtifactError`` if it is missing."""
    with store.reading() as r:
        record = r.models.get(model_id)
    return streamed(_zipped(store.artifacts.path(record.artifact)), f"{record.name}.zip", _BYTES)


def vectors_download(store: Store, model_id: int, corpus_id: int) -> StreamingResponse:
    """Return the answer with an array of the dtype ``[("id", "<i8"), ("vector", "<f4", (dim,))]``, in reading order.

    Raises ``DataError`` if the corpus has no vectors of the model, or sparse ones.
    """
    with store.reading() as r:
        model, corpus = r.models.get(model_id), known_corpus(r, corpus_id)
        there = r.embeddings.have(model_id, corpus_id)
        articles = [int(id) for id in r.corpora.article_ids(corpus_id) if int(id) in there]
        sizes = r.corpora.articles_by_id(articles)
        block = next(iter(r.embeddings.get(model_id, articles[:1]).values()), None)
    if block is None:
        raise DataError(f"{model.name!r} has no vectors of {corpus.name!r}. Queue a job of the kind “embed” first.")
    if sparse.issparse(block):
        raise DataError(f"The vectors of {model.name!r} are sparse. Download the model instead.")
    dtype = np.dtype([("id", "<i8"), ("vector", "<f4", (block.shape[1],))])
    count = sum(sizes[id].sentences for id in articles)

    def pieces() -> Iterator[bytes]:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            header, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
        )
        yield header.getvalue()
        for first in range(0, len(articles), _ARTICLES):
            part = articles[first : first + _ARTICLES]
            with store.reading() as r:
                blocks, sentences = r.embeddings.get(model_id, part), r.corpora.sentences_of(part)
            for article in part:
                rows = np.empty(sizes[article].sentences, dtype)
                rows["id"], rows["vector"] = [s.id for s in sentences[article]], blocks[article]
                yield rows.tobytes()

    return streamed(pieces(), f"{corpus.name} by {model.name}.npy", _BYTES)


def _zipped(folder: Path) -> Iterator[bytes]:
    """Yield a ZIP archive of the files of a folder, whose parts are not packed again."""
    sink = Sink()
    with zipfile.ZipFile(sink, "w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder).as_posix()
            with path.open("rb") as source, archive.open(name, "w", force_zip64=True) as out:
                while piece := source.read(_PIECE):
                    out.write(piece)
                    yield sink.taken()
    yield sink.taken()
