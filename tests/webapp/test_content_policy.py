"""The Content Security Policy allows no script but those of the server, and the installed start page of Streamlit."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest
import streamlit

from themescope.webapp.routes.middleware import page_policy


def directives() -> dict[str, list[str]]:
    return {words[0]: words[1:] for words in (part.split() for part in page_policy().split(";"))}


def test_scripts_come_from_the_server_only() -> None:
    found = directives()
    assert found["default-src"] == ["'self'"] and found["object-src"] == ["'none'"]
    assert found["frame-ancestors"] == ["'self'"] and found["base-uri"] == ["'self'"]
    assert {source for source in found["script-src"] if not source.startswith("'sha256-")} == {"'self'", "blob:"}


def test_inline_scripts_of_the_start_page_are_allowed_by_their_digests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = '<script>\n a = 1\n</script><script type="module" src="x.js"></script><script>b()</script>'
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "index.html").write_text(page, encoding="utf-8")
    monkeypatch.setattr(streamlit, "__file__", str(tmp_path / "__init__.py"))
    digests = [f"'sha256-{b64encode(sha256(text).digest()).decode()}'" for text in (b"\n a = 1\n", b"b()")]
    assert directives()["script-src"] == ["'self'", "blob:", *digests]
