"""Measure the SQL statements of each page, their time, and the CPU time of the page's script.

    python -m benchmarks.queries [--home FOLDER] [--repeat 5]

The store is the synthetic one of ``benchmarks.pages`` (300,000 triplets, a map of 100,000 sentences, 20 methods on 700
articles); ``--home`` uses an existing one. Each page runs as its script runs on the server: first with empty caches, as
after a server start, then with filled caches. Prints medians over repetitions of both.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import streamlit as st
from sqlalchemy import event
from sqlalchemy.engine import Engine
from streamlit.testing.v1 import AppTest

from benchmarks.pages import ensure_filled, load_averages
from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.pages import translated

PAGES = {
    "Home": ("home", {}),
    "Corpora": ("corpora", {}),
    "Triplets, 300,000": ("triplets", {"set": "synthetic"}),
    "Train": ("train", {}),
    "Compare, 20 x 700": ("compare", {"benchmark": "compared"}),
    "Compare: two methods": ("compare", {"benchmark": "compared", "tab": "Two methods"}),
    "Compare: hard articles": ("compare", {"benchmark": "compared", "tab": "Hard articles"}),
    "Compare: one article": ("compare", {"benchmark": "compared", "tab": "One article"}),
    "Paper tables": ("paper_tables", {}),
    "Map, 100,000 points": ("map", {"corpus": "mapped", "map": "large"}),
    "Themes": ("themes", {}),
    "Summaries": ("summaries", {}),
    "Relabel": ("relabel", {}),
    "Agreement": ("agreement", {}),
    "People": ("people", {}),
    "Jobs": ("jobs", {}),
}
ROOT = Path(__file__).parents[1]
Row = tuple[float, float, float]
"""Number of statements, their milliseconds, CPU seconds of the script."""


class Statements:
    """Counter of SQL statements, without BEGIN and PRAGMA, and of the time of all statements."""

    def __init__(self) -> None:
        self.number, self.milliseconds = 0, 0.0
        event.listen(Engine, "before_cursor_execute", self._before)
        event.listen(Engine, "after_cursor_execute", self._after)

    def _before(self, connection: Any, cursor: Any, statement: str, values: Any, context: Any, many: bool) -> None:
        context.started = time.perf_counter()

    def _after(self, connection: Any, cursor: Any, statement: str, values: Any, context: Any, many: bool) -> None:
        self.number += not statement.startswith(("BEGIN", "PRAGMA"))
        self.milliseconds += 1e3 * (time.perf_counter() - context.started)


def run(statements: Statements, page: str, query: dict[str, str]) -> Row:
    """Run a page in a new session and return its measurements."""
    app = AppTest.from_file(str(ROOT / "webapp" / "app.py"), default_timeout=180)
    app.run()  # the start page is not part of the measurement
    for name, value in translated(REGISTRY.get(page).page_keys(), query.items()):
        app.query_params[name] = value
    app.switch_page(str(REGISTRY.get(page).script))
    number, milliseconds, started = statements.number, statements.milliseconds, time.process_time()
    app.run()
    seconds = time.process_time() - started
    if app.exception or app.error:
        raise SystemExit(f"The page {page} shows an error: {[e.value for e in (*app.exception, *app.error)]}")
    return statements.number - number, statements.milliseconds - milliseconds, seconds


def measure(statements: Statements, page: str, query: dict[str, str], repeat: int) -> tuple[Row, Row]:
    """Return the medians with empty caches and with filled caches."""
    first, later = [], []
    for _ in range(repeat):
        st.cache_data.clear()
        first.append(run(statements, page, query))
        later.append(run(statements, page, query))
    medians = [tuple(statistics.median(column) for column in zip(*rows, strict=True)) for rows in (first, later)]
    return medians[0], medians[1]  # type: ignore[return-value]


def main() -> None:
    """Print the measurements of all pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="folder of the synthetic store; filled if empty, and kept")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with ExitStack() as stack:
        home = args.home or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="themescope-pages-")))
        ensure_filled(home)
        for variable in ("DATABASE_URL", "QUEUE_URL"):
            os.environ.pop(variable, None)
        os.environ["THEMESCOPE_HOME"] = str(home)
        st.config.set_option("server.address", "127.0.0.1")  # so that no sign-in is required
        statements = Statements()
        for page, query in PAGES.values():
            run(statements, page, query)  # imports are not part of the measurement
        print(f"{load_averages()}; n = {args.repeat}")
        print(f"{'':24}{'empty: statements':>18}{'ms':>8}{'CPU s':>8}{'cached: statements':>18}{'ms':>8}{'CPU s':>8}")
        for name, (page, query) in PAGES.items():
            rows = measure(statements, page, query, args.repeat)
            print(f"{name:24}" + "".join(f"{n:>18.0f}{ms:>8.1f}{cpu:>8.2f}" for n, ms, cpu in rows), flush=True)


if __name__ == "__main__":
    main()
