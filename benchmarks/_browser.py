"""Server of the application and Chromium for measurements, with their CPU seconds."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from playwright.sync_api import ViewportSize

_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")
VIEWPORT: ViewportSize = {"width": 1280, "height": 900}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--disable-sync"]  # fmt: skip
_IDLE_SECONDS = 3
"""Consecutive idle seconds after which the server is assumed to have imported its pages."""


@contextmanager
def server(home: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Run a server of the app in a new process; yield its URL and process once it is idle."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    flags = ["--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"]
    inherited = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"}
    environment = {**inherited, "THEMESCOPE_HOME": str(home), "OMP_NUM_THREADS": "1"}
    with (home / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "themescope.webapp.server", *flags], env=environment, stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_idle(url, psutil.Process(process.pid))
        yield url, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_idle(url: str, process: psutil.Process) -> None:
    while True:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                break
        except OSError:
            time.sleep(0.1)
    idle = 0
    while idle < _IDLE_SECONDS:
        before = cpu_seconds(process)
        time.sleep(1)
        idle = idle + 1 if cpu_seconds(process) - before < 0.05 else 0


def cpu_seconds(process: psutil.Process) -> float:
    """Return the CPU seconds that a process has used."""
    used = process.cpu_times()
    return float(used.user + used.system)


def chromium() -> str | None:
    """Return the program of the browser, or None for that of Playwright."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)), None)


def browser_cpu_seconds() -> float:
    """Return the CPU seconds of the browsers that this process has started."""
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            if "chrom" in child.name():
                total += cpu_seconds(child)
        except psutil.NoSuchProcess:
            continue
    return total


def load_averages() -> str:
    """Return the load averages over 1, 5 and 15 minutes."""
    return f"load {' '.join(f'{x:.1f}' for x in os.getloadavg())}"
