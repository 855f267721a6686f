"""Memory and first paint of many browser sessions on the Relabel page, and memory in a time-lapse of a working day.

    python -m benchmarks.browser_sessions --people 20 --reruns 2000 --polls 5760 --visits 400

First, so many Chromium contexts open the page one after another, each without a cache, as on a machine of its own, and
select a sentence. Then one simulated session makes as many clicks and refreshes as a person makes in 8 hours (a click
in 14 s; the page refreshes the list of people every 5 s), as fast as the server answers; every fifth click moves a
sentence. At last, so many simulated sessions open the page and close it. Prints one JSON object; memory is the resident
memory (RSS) of the web server in MB.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from playwright.sync_api import ViewportSize, sync_playwright

from benchmarks._page_people import Page
from benchmarks.labelling_load import prepare
from benchmarks.pages import server
from themescope.db.settings import Settings
from themescope.db.store import Store

_BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
_VIEWPORT: ViewportSize = {"width": 1280, "height": 900}
_FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
_LABELLING = "load"
_SENTENCE = ".columns li"
_MOVE_EVERY, _PARTS = 5, 10


def browsers(url: str, process: psutil.Process, people: int) -> dict[str, Any]:
    """Open the page in so many browsers, and return seconds and memory."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)), None)
    painted, drawn, memory = [], [], [_mb(process)]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        for _ in range(people):
            page = chromium.new_context(viewport=_VIEWPORT).new_page()
            page.set_default_timeout(120_000)
            start = time.perf_counter()
            page.goto(f"{url}/relabel?relabel_labelling={_LABELLING}")
            page.locator(_SENTENCE).first.wait_for()
            drawn.append(time.perf_counter() - start)
            painted.append(float(page.evaluate(_FIRST_PAINT)))
            page.locator(_SENTENCE).first.click()
            page.get_by_text("Assign 1 sentence to").wait_for()
            memory.append(_mb(process))
        chromium.close()
    return {
        "first_paint_s": _percentiles(painted),
        "sentences_drawn_s": _percentiles(drawn),
        "memory_before_mb": memory[0],
        "memory_one_session_mb": memory[1],
        "memory_all_sessions_mb": memory[-1],
        "memory_per_further_session_mb": round((memory[-1] - memory[1]) / max(people - 1, 1), 2),
    }


def time_lapse(url: str, process: psutil.Process, ids: list[int], reruns: int, polls: int) -> dict[str, Any]:
    """Click and refresh in one session, and return milliseconds, and memory after each tenth."""
    page = Page(url, None, {}, _LABELLING)
    page.open()
    memory, clicks, refreshes = [_mb(process)], [], []
    for part in range(_PARTS):
        for number in range(part * reruns // _PARTS, (part + 1) * reruns // _PARTS):
            start = time.perf_counter()
            sentence = ids[number % len(ids)]
            if number % _MOVE_EVERY == 0:
                page.move(sentence, 1 + number // _MOVE_EVERY % 8)
            else:
                page.act("pick", **{"off" if number % 2 else "on": [sentence]})
            clicks.append(time.perf_counter() - start)
        for _ in range(polls // _PARTS):
            start = time.perf_counter()
            page.refresh()
            refreshes.append(time.perf_counter() - start)
        memory.append(_mb(process))
    page.close()
    return {
        "clicks": len(clicks),
        "click_ms": [round(1000 * s, 1) for s in _percentiles(clicks)],
        "refreshes": len(refreshes),
        "refresh_ms": [round(1000 * s, 1) for s in _percentiles(refreshes)],
        "memory_by_tenths_mb": memory,
    }


def visits(url: str, process: psutil.Process, ids: list[int], count: int) -> dict[str, Any]:
    """Open and close so many sessions, and return memory after each tenth."""
    memory = [_mb(process)]
    for _ in range(_PARTS):
        for _ in range(count // _PARTS):
            page = Page(url, None, {}, _LABELLING)
            page.open()
            page.act("pick", on=ids[:1])
            page.close()
        memory.append(_mb(process))
    return {"visits": count, "memory_by_tenths_of_visits_mb": memory}


def _mb(process: psutil.Process) -> float:
    return round(process.memory_info().rss / 1e6, 1)


def _percentiles(values: list[float]) -> list[float]:
    """Return median, 95th percentile and maximum."""
    return [round(float(np.percentile(values or [0.0], q)), 4) for q in (50, 95, 100)]


def main() -> None:
    """Run all three parts and print their results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=20, help="number of browsers")
    parser.add_argument("--reruns", type=int, default=2_000, help="clicks of the time-lapse")
    parser.add_argument("--polls", type=int, default=5_760, help="refreshes of the time-lapse")
    parser.add_argument("--visits", type=int, default=400, help="sessions that are opened and closed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="themescope-sessions-") as folder:
        store = Store(Settings.in_folder(Path(folder)))
        store.migrate()
        labelling = prepare(store)
        with store.reading() as r:
            ids = r.labellings.snapshot(labelling).partition.ids.tolist()
        store.close()
        with server(Path(folder)) as (url, process):
            result = browsers(url, process, args.people) if args.people else {}
            result |= time_lapse(url, process, ids, args.reruns, args.polls)
            result |= visits(url, process, ids, args.visits)
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
