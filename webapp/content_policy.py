"""The Content Security Policy of pages: the browser runs and loads only what this server sends."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import streamlit

_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def page_policy() -> str:
    """Return the policy (W3C, Content Security Policy Level 3).

    Scripts come from this server, or from a ``blob:`` address, which only a running script can make: Streamlit loads
    the code of components in that way. Scripts in the page, event handlers in attributes and ``eval`` are refused; the
    only exceptions are the scripts in Streamlit's own start page, by their digests. Styles may be in the page, because
    Streamlit's components and Plotly write them there.
    """
    index = Path(streamlit.__file__).parent / "static" / "index.html"
    scripts = _INLINE_SCRIPT.findall(index.read_text(encoding="utf-8"))
    digests = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' blob: {digests}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "worker-src 'self' blob:",
            "media-src 'self' data: blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "frame-ancestors 'self'",
        )
    )
