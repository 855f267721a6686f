"""Files that jobs made for a corpus, and their downloads."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from themescope.core.records.stored import CorpusRecord, JobRecord, JobStatus
from themescope.webapp.shared import input_files, queries
from themescope.webapp.shared.components import download
from themescope.webapp.shared.text import ago

_LISTED = 500


def made(corpus: CorpusRecord, kind: str, folder: str) -> JobRecord | None:
    """Return the last job of a kind that made a file of this corpus in a folder of the data folder, if it exists."""
    below = queries.store().settings.home / folder
    done = queries.read(lambda r: r.jobs.list(limit=_LISTED, status=JobStatus.DONE))
    for job in done:
        if job.kind == kind and job.args.get("corpus") == corpus.name:
            path = Path(str(job.result.get("file", "")))
            if path.parent == below and path.is_file() and (job.ended or datetime.now(UTC)) > corpus.created:
                return job
    return None


def fetch(corpus: CorpusRecord, job: JobRecord, content: str) -> None:
    """Draw the download of the ZIP file of a job; ``content`` says what it has."""
    path = Path(str(job.result["file"]))
    name = input_files.safe_name(corpus.name)
    with st.container(horizontal=True, vertical_alignment="center"):
        size = path.stat().st_size / 1e6
        download(
            f"Download ({size:,.1f} MB)", path.read_bytes, f"{name}.zip", type="primary", key=f"{job.kind}_{job.id}"
        )
        st.caption(f"created {ago(job.ended)} with {content}; deleted after a week")
