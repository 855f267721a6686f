"""What a browser gets before any script runs."""

import gzip
import re
from pathlib import Path

import pytest
import streamlit
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from themescope.webapp.routes.first_page import FirstPage

STATIC = Path(streamlit.__file__).parent / "static" / "static"


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(middleware=[Middleware(FirstPage)]))


@pytest.mark.parametrize(
    ("path", "said"), [("/", "Home"), ("/map", "Themes · Map"), ("/import?corpus=A", "Project · Import")]
)
def test_a_page_says_what_is_loading_before_its_scripts_run(client: TestClient, path: str, said: str) -> None:
    answer = client.get(path)
    body = re.sub(r"<script.*?</script>", "", answer.text, flags=re.DOTALL)
    assert answer.status_code == 200 and answer.headers["cache-control"] == "no-cache"
    assert f"{said} is loading" in body and "<title>Themescope</title>" in body
    scripts = [STATIC.parent / name for name in re.findall(r'src="\./([^"]+)"', answer.text)]
    assert scripts and all(script.is_file() for script in scripts)


def test_scripts_are_compressed_once_and_kept_for_ever(client: TestClient) -> None:
    script = max((STATIC / "js").glob("index.*.js"), key=lambda path: path.stat().st_size)
    with client.stream("GET", f"/static/js/{script.name}", headers={"accept-encoding": "gzip"}) as answer:
        raw = b"".join(answer.iter_raw())
        assert answer.headers["content-encoding"] == "gzip" and "immutable" in answer.headers["cache-control"]
    assert gzip.decompress(raw) == script.read_bytes() and len(raw) < script.stat().st_size / 2
    plain = client.get(f"/static/js/{script.name}", headers={"accept-encoding": "identity"})
    assert plain.content == script.read_bytes() and "content-encoding" not in plain.headers


@pytest.mark.parametrize("path", ["../index.html", "..%2f..%2f__init__.py", "js/none.js", "js"])
def test_no_other_file_is_served(client: TestClient, path: str) -> None:
    answer = client.get(f"/static/{path}")
    assert answer.status_code == 404 and "<html" not in answer.text
