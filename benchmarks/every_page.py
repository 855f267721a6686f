"""Measure every page in Chromium, opened by URL and from the page beside it, and the memory of the web server.

    python -m benchmarks.every_page HOME [--repeat 5] [--loads 200] [--rest 60]

``HOME`` is the data folder of an installation, for example of the demo. A page is stable at the last change of its
content before a second without a change. Values are medians in seconds: until the first contentful paint (by URL) and
until the page is stable, with the CPU seconds of server and browser, since other work on the machine lengthens the time
only. The first load is that of the start page by a new server and a browser with an empty cache, with its bytes on the
wire. Memory is the resident set of the server: at the start, after the loads, and after a rest without visitors.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from playwright.sync_api import Page, Request, ViewportSize, sync_playwright

from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.pages import MENU

_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")
VIEWPORT: ViewportSize = {"width": 1280, "height": 900}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
          "--disable-component-update", "--disable-sync"]  # fmt: skip
_IDLE_SECONDS = 3
"""Consecutive idle seconds after which the server is assumed to have imported its pages."""
_OBSERVER = """
window.lastChange = 0;
new MutationObserver(() => { window.lastChange = performance.now(); })
  .observe(document, {childList: true, subtree: true, characterData: true});
"""
_STABLE = """
() => document.querySelector('.stApp[data-test-script-state=notRunning] h1')
  && performance.now() - window.lastChange > 1000
"""
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
_MOST_S = 30


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


def stable(page: Page, since: float) -> float:
    """Wait until the page is stable, and return the seconds from ``since`` (in milliseconds of the page) to then."""
    page.wait_for_function(_STABLE, polling=100, timeout=_MOST_S * 1000)
    last: float = page.evaluate("() => window.lastChange")
    return (last - since) / 1000


class Measured:
    """Seconds and CPU seconds of steps, by name of the step."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._rows: dict[str, list[tuple[float, ...]]] = {}

    def add(self, name: str, step: Callable[[], tuple[float, ...]]) -> None:
        """Run a step, which returns its seconds, and record them with the CPU seconds of server and browser."""
        before = cpu_seconds(self._process), browser_cpu_seconds()
        seconds = step()
        cpu = cpu_seconds(self._process) - before[0], browser_cpu_seconds() - before[1]
        self._rows.setdefault(name, []).append((*seconds, *cpu))

    def medians(self, name: str) -> str:
        """Return the medians of a step."""
        return " ".join(f"{statistics.median(column):8.2f}" for column in zip(*self._rows[name], strict=True))


def open_url(page: Page, url: str) -> tuple[float, float]:
    """Open a URL; return the seconds to the first contentful paint and until the page is stable."""
    page.goto(url, wait_until="commit")
    seconds = stable(page, 0)
    return page.evaluate(_PAINT) / 1000, seconds


def switch(page: Page, title: str) -> tuple[float]:
    """Open a page by its tab in the frame; return the seconds until it is stable."""
    tab = page.locator(".st-key-frame-tabs").get_by_role("link", name=title, exact=True)
    since: float = page.evaluate("() => performance.now()")
    tab.click()
    page.get_by_role("heading", name=title, exact=True, level=1).wait_for()
    return (stable(page, since),)


def main() -> None:
    """Print the first load, the times of each page, and the memory of the server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--loads", type=int, default=200)
    parser.add_argument("--rest", type=int, default=60, help="seconds without visitors at the end")
    args = parser.parse_args()
    with sync_playwright() as playwright, server(args.home) as (url, process):
        print(f"{load_averages()}; the server: {process.memory_info().rss / 1e6:.0f} MB", flush=True)
        browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        page = browser.new_context(viewport=VIEWPORT).new_page()
        page.add_init_script(_OBSERVER)
        sizes: list[int] = []

        def finished(request: Request) -> None:
            sizes.append(request.sizes()["responseBodySize"])

        page.on("requestfinished", finished)
        measured = Measured(process)
        measured.add("first", lambda: open_url(page, url))
        page.remove_listener("requestfinished", finished)
        print(f"{'':34}   paint   stable   server  browser")
        print(f"{'first load':32}{measured.medians('first')}  {sum(sizes) / 1e6:.2f} MB in {len(sizes)} answers")
        loads = 0
        for card in REGISTRY:
            one = card.id
            for _ in range(args.repeat):
                measured.add(f"{one} by URL", lambda one=one: open_url(page, f"{url}/{one}"))  # type: ignore[misc]
                loads += 1
            print(f"{one + ', by URL':32}{measured.medians(f'{one} by URL')}", flush=True)
            beside = [other.id for other in REGISTRY if other.group == card.group and other is not card]
            if card.group == MENU or not beside:
                continue
            for _ in range(args.repeat):
                open_url(page, f"{url}/{beside[0]}")
                loads += 1
                measured.add(one, lambda title=card.title: switch(page, title))  # type: ignore[misc]
            print(f"{one + ', from ' + beside[0]:32}{'':9}{measured.medians(one)}", flush=True)
        print(f"memory after {loads} loads: {process.memory_info().rss / 1e6:.0f} MB", flush=True)
        pages = [card.id for card in REGISTRY]
        while loads < args.loads:
            open_url(page, f"{url}/{pages[loads % len(pages)]}")
            loads += 1
        print(f"memory after {loads} loads: {process.memory_info().rss / 1e6:.0f} MB; {load_averages()}")
        browser.close()
        time.sleep(args.rest)
        print(f"memory after {args.rest} seconds without visitors: {process.memory_info().rss / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
