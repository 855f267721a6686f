"""The document on security lists every path that the server answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from webapp.sessions import PUBLIC, PUBLIC_FILES

ROOT = Path(__file__).parents[2]
PRINT = """
import json
from webapp.asgi import app
print(json.dumps([route.path for route in app._build_starlette_app().routes]))
"""


def test_every_route_is_in_the_document() -> None:
    done = subprocess.run([sys.executable, "-c", PRINT], cwd=ROOT, capture_output=True, text=True, check=True)
    routes = set(json.loads(done.stdout.splitlines()[-1])) | {PUBLIC_FILES}
    document = (ROOT / "docs" / "security.md").read_text("utf-8")
    rows = re.findall(r"^\| (`/.*?) \| .* \| (.*) \|$", document, re.MULTILINE)
    said = {path: who for paths, who in rows for path in re.findall(r"`([^`]+)`", paths)}
    assert {path for path in said if path == "/metrics" or said[path].startswith("public")} == PUBLIC | {PUBLIC_FILES}
    unsaid = [route for route in routes if not any(is_under(route or "/", path) for path in said)]
    assert unsaid == []
    assert [path for path in said if not any(is_under(route or "/", path) for route in routes)] == []


def is_under(route: str, path: str) -> bool:
    return route == path or (path.endswith("/") and path != "/" and route.startswith(path))
