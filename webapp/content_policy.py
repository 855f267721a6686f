"""Content Security Policies: the browser runs and loads only what this server sends."""

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
    digests = _digests(index.read_text(encoding="utf-8"))
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


def documentation_policy(page: str) -> str:
    """Return the policy of the documentation site, whose pages have the inline scripts of ``page`` (HTML).

    The theme of the site chooses between light and dark in an inline script, and defines its colours in the page. The
    search reads the pages that it lists.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {_digests(page)}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'self'",
        )
    )


def _digests(page: str) -> str:
    """Return the digests of the inline scripts of a page."""
    scripts = _INLINE_SCRIPT.findall(page)
    return " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
