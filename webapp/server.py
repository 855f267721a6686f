"""The web process: Streamlit, with what only the first page would wait for done before the first person comes."""

from __future__ import annotations

import gc
import importlib
import inspect
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from core.errors import ConfigError, ThemescopeError
from db.settings import Settings

_PARTS = (
    "compare.accuracy",
    "compare.benchmarking",
    "compare.hardness",
    "corpora.articles",
    "corpora.importing",
    "home.board",
    "map.atlas",
    "map.drawing",
    "relabel.relabel_work",
    "train.training",
    "triplets.triplets",
)
_START_S = 30.0
_LIBRARIES = ("PIL.Image", "jobs.queue.huey_queue", "pandas.io.formats.style", "scipy.optimize", "scipy.stats")


def warm() -> None:
    """Import what pages need and open the store; on a small machine that takes seconds, too long to wait for a page."""
    for library in _LIBRARIES:
        importlib.import_module(library)
    _wait_for_the_server()
    for name in _PARTS:
        importlib.import_module(f"webapp.features.{name}")
    _open_store()
    _draw()
    # Streamlit asks once, in the first page, for the source of every frame: Python then goes through all modules, and
    # remembers what it found.
    inspect.stack()
    # Streamlit collects garbage after every run of a page. What is here by now stays: it need not be looked through.
    gc.collect()
    gc.freeze()


def _wait_for_the_server() -> None:
    """Streamlit says aloud, once for each cache, when one is made before it runs."""
    from streamlit import runtime

    until = time.monotonic() + _START_S
    while not runtime.exists() and time.monotonic() < until:
        time.sleep(0.02)


def _open_store() -> None:
    """Bring the store up to date and ask it what pages ask; where that fails, each page says why."""
    from webapp.shared import queries

    with suppress(ThemescopeError):
        queries.fingerprint()
        queries.active_jobs()
        queries.worker_alive()


def _draw() -> None:
    """A chart that nobody sees: plotly brings in its parts when they are first used."""
    from webapp.shared.figures import IntervalRow, interval_figure
    from webapp.shared.palette import tones

    interval_figure([IntervalRow("", 0.5, 0.4, 0.6)], "", tones("light"), chance=0.5).to_json()


def main() -> None:
    """Serve the pages with the flags given, as ``streamlit run`` does."""
    from streamlit.web import cli

    threading.Thread(target=warm, daemon=True).start()
    sys.argv = ["streamlit", "run", str(Path(__file__).with_name("served.py")), *_secrets(), *sys.argv[1:]]
    cli.main()


def _secrets() -> list[str]:
    """Flags that name the file of secrets; none where the settings make no sense, which the pages tell."""
    try:
        return ["--secrets.files", str(Settings.from_environment().secrets_file)]
    except ConfigError:
        return []


if __name__ == "__main__":
    main()
