"""The web process: Streamlit, with what only the first page would wait for done before the first person comes."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from core.errors import ConfigError, ThemescopeError
from db.settings import Settings
from webapp import features

_START_S = 30.0
LOOPBACK_ADDRESS = "127.0.0.1"
_LIBRARIES = ("PIL.Image", "jobs.queue.huey_queue", "pandas.io.formats.style", "scipy.optimize", "scipy.stats")


def warm() -> None:
    """Import what pages need and open the store; on a small machine that takes seconds, too long to wait for a page."""
    for library in _LIBRARIES:
        importlib.import_module(library)
    _wait_for_the_server()
    _import_pages()
    _open_store()
    _draw()


def _import_pages() -> None:
    """Import the modules of all pages but their scripts: importing a script would draw the page."""
    for module in pkgutil.walk_packages(features.__path__, f"{features.__name__}."):
        if not module.name.endswith(".page"):
            importlib.import_module(module.name)


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
    flags = sys.argv[1:]
    script = str(Path(__file__).with_name("asgi.py"))
    sys.argv = ["streamlit", "run", script, *_secrets_flags(), *_host_flags(flags), *flags]
    cli.main()


def _secrets_flags() -> list[str]:
    """Flags that name the file of secrets; none if the settings are invalid, which the pages report."""
    try:
        return ["--secrets.files", str(Settings.from_environment().secrets_file)]
    except ConfigError:
        return []


def _host_flags(flags: list[str]) -> list[str]:
    """Flags with the host names that Streamlit itself accepts for its websocket.

    Bound to every address of this machine, Streamlit cannot tell them from foreign names, and
    :class:`webapp.middleware.HostCheck` decides alone.
    """
    from webapp.middleware import allowed_hosts

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--server.address", dest="address", default=LOOPBACK_ADDRESS)
    address = parser.parse_known_args(flags)[0].address
    hosts = ["*"] if address in ("", "0.0.0.0", "::") else allowed_hosts(address)
    return [part for host in hosts for part in ("--server.allowedHosts", host)]


if __name__ == "__main__":
    main()
