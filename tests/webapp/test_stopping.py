"""The web process on SIGTERM, with an open page; its log as JSON lines."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.jobs.helpers import wait_for
from tests.servers import free_port

ROOT = Path(__file__).parents[2]
GOING_AWAY = (1001, 1012)
"""Close codes after which Streamlit's page connects again by itself."""


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM is a matter of POSIX systems")
def test_on_sigterm_open_pages_are_told_and_the_process_ends(tmp_path: Path) -> None:
    port = free_port()
    address, log = f"127.0.0.1:{port}", tmp_path / "log.txt"
    flags = ["--server.address", "127.0.0.1", "--server.port", str(port), "--server.headless", "true"]
    environment = {**os.environ, "THEMESCOPE_HOME": str(tmp_path / "home"), "THEMESCOPE_LOG_FORMAT": "json"}
    with log.open("wb") as out:
        command = [sys.executable, "-m", "themescope.webapp.server", *flags]
        web = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        wait_for(lambda: answer(f"http://{address}/readyz"))
        with connect(f"ws://{address}/_stcore/stream", origin=f"http://{address}", open_timeout=60) as page:  # type: ignore[arg-type]
            started = time.monotonic()
            web.terminate()
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    page.recv(60)
            assert closed.value.rcvd is not None and closed.value.rcvd.code in GOING_AWAY
        web.wait(60)
        assert time.monotonic() - started < 30
    finally:
        web.kill()
        web.wait()
    lines = log.read_text().splitlines()
    assert lines and not [line for line in lines if not is_record(line)]


def answer(url: str) -> str:
    """The body of a response, or nothing before the server is up and ready."""
    try:
        with urllib.request.urlopen(url, timeout=30) as found:
            return str(found.read().decode())
    except OSError:
        return ""


def is_record(line: str) -> bool:
    try:
        return str(json.loads(line)["process"]).startswith("web@")
    except (ValueError, KeyError, TypeError):
        return False
