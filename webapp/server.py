"""The web process: Streamlit, with slow imports and the store prepared before the first request."""

from __future__ import annotations

import argparse
import gc
import hashlib
import importlib
import os
import pkgutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from themescope.core.errors import ConfigError, ThemescopeError
from themescope.db.passwords import signing_key
from themescope.db.settings import Settings
from themescope.jobs.common import logs, memory
from themescope.jobs.services import search
from themescope.webapp import features

_START_S = 30.0


def preload() -> None:
    """Import what pages need and open the store in advance, which takes seconds on a small machine."""
    for library in ("PIL.Image", "pandas.io.formats.style"):
        importlib.import_module(library)
    # Wait until Streamlit runs; it warns about every cache that is created before.
    from streamlit import runtime

    until = time.monotonic() + _START_S
    while not runtime.exists() and time.monotonic() < until:
        time.sleep(0.02)
    # Import the modules of all pages, except their scripts: importing a script would draw the page.
    for module in pkgutil.walk_packages(features.__path__, f"{features.__name__}."):
        if not module.name.endswith(".page"):
            importlib.import_module(module.name)
    logs.redirect()
    # Migrate the store and run the queries of every page; pages report errors themselves.
    from themescope.webapp.shared import queries

    with suppress(ThemescopeError):
        queries.fingerprint()
        queries.active_jobs()
        queries.workers()
    # Draw a chart without showing it, because plotly imports its parts on first use.
    from themescope.webapp.shared.figures import IntervalRow, interval_figure, tones

    interval_figure([IntervalRow("", 0.5, 0.4, 0.6)], "", tones("light"), chance=0.5).to_json()
    # Collecting garbage would stop all people's pages to traverse what has been imported.
    gc.collect()
    gc.freeze()
    rest(looks())


def looks() -> Iterator[bool]:
    """Yield every few seconds whether there is a visitor, until the server stops."""
    from streamlit.runtime import Runtime, RuntimeState, exists

    while exists():
        time.sleep(5)
        yield Runtime.instance().state is RuntimeState.ONE_OR_MORE_SESSIONS_CONNECTED


def rest(visited: Iterable[bool]) -> None:
    """Empty the caches of pages when nobody was there at six looks in a row."""
    import streamlit as st

    quiet = 6
    for someone in visited:
        quiet = 0 if someone else quiet + 1
        if quiet == 6:
            st.cache_data.clear()
            st.cache_resource.clear()
            memory.give_back()


def main() -> None:
    """Serve the pages with the flags of the command line, as ``streamlit run`` does."""
    from streamlit.web import cli

    try:
        settings = Settings.from_environment()
    except ConfigError:  # reported by the pages
        settings = None
    logs.set_up("web", settings.log_format if settings else "text")
    # The application needs it. If two threads import pandas at the same time, one may find it half initialised.
    importlib.import_module("themescope.webapp.routes.sign_in")
    memory.limit()  # each page runs in a thread of its own
    # Without it, uvicorn would believe any process of this machine what it says about the address of a client.
    os.environ.setdefault("FORWARDED_ALLOW_IPS", "")
    search.keep_models_apart()
    threading.Thread(target=preload, daemon=True).start()
    flags = sys.argv[1:]
    script = str(Path(__file__).with_name("asgi.py"))
    own = _host_flags(flags)
    if settings is not None:
        own += ["--secrets.files", str(settings.secrets_file)]
        # All web servers of the installation sign Streamlit's own cookies with one key.
        key = hashlib.sha256(signing_key(settings.home).encode()).hexdigest()
        os.environ.setdefault("STREAMLIT_SERVER_COOKIE_SECRET", key)
        if settings.log_format == "json":  # the welcome message is no log record
            own += ["--logger.hideWelcomeMessage", "true"]
    sys.argv = ["streamlit", "run", script, *own, *flags]
    cli.main()


def _host_flags(flags: list[str]) -> list[str]:
    """Return flags with the host names that Streamlit itself accepts for its websocket.

    For a server bound to every address of this machine, these names are unknown; then
    :class:`themescope.webapp.routes.middleware.HostCheck` decides alone.
    """
    from themescope.webapp.routes.middleware import allowed_hosts

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--server.address", dest="address", default="127.0.0.1")
    address = parser.parse_known_args(flags)[0].address
    hosts = ["*"] if address in ("", "0.0.0.0", "::") else allowed_hosts(address)
    return [part for host in hosts for part in ("--server.allowedHosts", host)]


if __name__ == "__main__":
    main()
