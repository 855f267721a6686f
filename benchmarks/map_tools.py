"""Compare the Map page with Embedding Atlas and datamapplot: seconds, bytes and memory of maps of the same sentences.

    python -m benchmarks.map_tools URL [FILE.parquet] [--tools DIR] [--cdn DIR] [--out DIR]

URL is a map on a running server. FILE has its sentences in the columns ``text``, ``x``, ``y`` and ``topic``; without
it, the Map page is measured alone. Both tools are installed in the environment DIR, since their requirements exclude
those of Themescope. The pages of datamapplot load deck.gl and Apache Arrow from a host on the internet; without one,
--cdn has their files ``dist.min.js`` and ``Arrow.es2015.min.js``. Embedding Atlas is timed until
its charts are there: it draws the map with WebGPU and shader-f16, which Chromium does not have without a graphics card.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Route, sync_playwright

from benchmarks._browser import FLAGS, VIEWPORT, chromium, load_averages

_PORT = 8635
_MAKE = """
import sys, time
import numpy, pandas
start = time.time()
import datamapplot
table = pandas.read_parquet(sys.argv[1])
labels = table["topic"].fillna("Unlabelled").to_numpy()
plot = datamapplot.create_interactive_plot(
    table[["x", "y"]].to_numpy(), labels, hover_text=table["text"].tolist(), enable_search=True, height=800)
plot.save(sys.argv[2])
print(time.time() - start)
"""


def loaded(browser: Browser, url: str, ready: str, shot: Path, then: Callable[[Page], Any], cdn: Path | None) -> Any:
    """Open a page until the script ``ready`` is true; return seconds, megabytes, heap, and the result of ``then``."""
    page, received = browser.new_page(viewport=VIEWPORT, bypass_csp=True), list[int]()

    def local(route: Route) -> None:
        file = cdn and cdn / route.request.url.rsplit("/", 1)[-1]
        route.fulfill(path=file) if file and file.exists() else route.abort()

    page.route(lambda address: not address.startswith(("http://127.0.0.1", "file:", "data:", "blob:")), local)
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on("Network.dataReceived", lambda e: received.append(e["dataLength"]))
    session.on("Network.webSocketFrameReceived", lambda e: received.append(len(e["response"]["payloadData"])))
    start = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_function(ready, timeout=180_000, polling=50)
    seconds = time.perf_counter() - start
    page.wait_for_timeout(4_000)
    page.screenshot(path=shot)
    heap = page.evaluate("performance.memory.usedJSHeapSize")
    found = {"seconds": round(seconds, 2), "MB received": round(sum(received) / 1e6, 2), "heap, MB": round(heap / 1e6)}
    found |= then(page)
    page.close()
    return found


def main() -> None:
    """Print a JSON line for each tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--tools", type=Path, default=Path("venv-maps"))
    parser.add_argument("--cdn", type=Path)
    parser.add_argument("--out", type=Path, default=Path())
    args = parser.parse_args()
    name, servers = args.file.stem if args.file else "map", list[subprocess.Popen[bytes]]()
    ready = "[...window.themescopeViews ?? []].some((view) => view.root.dataset.ready)"
    pages: list[tuple[str, str, str, Callable[[Page], Any]]] = [("Themescope", args.url, ready, lambda page: {})]
    if args.file:
        page = args.out / f"{name}-datamapplot.html"
        make = [args.tools / "bin/python", "-c", _MAKE, args.file, page]
        seconds = float(subprocess.run(make, check=True, capture_output=True).stdout)
        made = {"made in, s": round(seconds, 1), "file, MB": round(page.stat().st_size / 1e6, 2)}
        drawn = "[...document.querySelectorAll('canvas')].some((canvas) => canvas.width > 300)"
        drawn += " && !document.querySelector('#loading')?.checkVisibility()"
        atlas = ["--text", "text", "--x", "x", "--y", "y", "--host", "127.0.0.1", "--port", str(_PORT)]
        command = [args.tools / "bin/embedding-atlas", args.file, *atlas]
        servers.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        pages.append(("datamapplot", page.resolve().as_uri(), drawn, lambda _: made))
        loading = "document.body.innerText.includes(' points')"
        pages.append(("Embedding Atlas", f"http://127.0.0.1:{_PORT}", loading, lambda _: {}))
    try:
        with sync_playwright() as playwright:
            for tool, url, ready, then in pages:
                flags = [*FLAGS, "--enable-precise-memory-info"]
                browser = playwright.chromium.launch(executable_path=chromium(), args=flags)
                found = loaded(browser, url, ready, args.out / f"{name}-{tool}.png", then, args.cdn)
                browser.close()
                print(json.dumps({"tool": tool, "map": name, **found, "machine": load_averages()}), flush=True)
    finally:
        for server in servers:
            server.terminate()


if __name__ == "__main__":
    main()
