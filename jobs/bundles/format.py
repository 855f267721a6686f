"""Format of bundle files."""

from __future__ import annotations

import re

from themescope.jobs.common.archive import ArchiveFormat

ARTICLES, SELECTIONS, ERROR_NOTEBOOK = "articles.jsonl", "selections.jsonl", "error-notebook.jsonl"
BUNDLE = ArchiveFormat(
    noun="bundle",
    version=1,
    names=re.compile(
        r"articles\.jsonl|selections\.jsonl|error-notebook\.jsonl|labellings/\d{4}\.jsonl|vectors/\d{2}/\d{5}\.safetensors"
        r"|models/\d{2}/[A-Za-z0-9][A-Za-z0-9_-]{0,60}\.(json|safetensors|txt|md)",
        re.ASCII,
    ),
    required=re.escape(ARTICLES),
    most_parts=20_000,
    most_bytes=20_000_000_000,
    mode=0o666,
    redo="Export or copy it again.",
)
