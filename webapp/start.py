"""``python -m themescope``: migrate the store, queue the demo if it is empty, start web server and worker."""

from __future__ import annotations

import argparse
import logging
import os
import re
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from honcho.manager import Manager
from honcho.printer import Message, Printer

from themescope.core.errors import ConfigError, MissingExtraError, ThemescopeError, with_place

DEFAULT_PORT = 8501
_TRIES = 50
_ANSWER_S = 60.0
_ROUTINE = re.compile(r"You can now view|URL: |Uvicorn|Press CTRL|Stopping|The worker started")


def main(arguments: list[str] | None = None) -> int:
    """Run until stopped; return the exit code of the first process that ended by itself."""
    parser = argparse.ArgumentParser(prog="python -m themescope", description=__doc__)
    add = parser.add_argument
    add("--port", type=int, default=DEFAULT_PORT, help="port, or the next free one (default: %(default)s)")
    reach = "address to listen on (default: %(default)s); other addresses require sign-in"
    add("--address", default="127.0.0.1", help=reach)
    add("--no-demo", action="store_true", help="do not build the demo in an empty store")
    add("--verbose", action="store_true", help="show all output of the web server and the worker")
    options = parser.parse_args(arguments)
    try:
        home = prepare(options.address, demo=not options.no_demo)
        port = free_port(options.address, options.port)
    except ThemescopeError as error:
        print(f"themescope: {with_place(error)}", file=sys.stderr)  # noqa: T201
        return 2
    return serve(options.address, port, home, options.verbose)


def free_port(address: str, first: int) -> int:
    """Return ``first``, or the next free port."""
    for port in range(first, first + _TRIES):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family) as probe:
            if os.name != "nt":
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                continue
            return port
    raise ConfigError(f"Ports {first} to {first + _TRIES - 1} on {address} are in use. Choose another with --port.")


def prepare(address: str, demo: bool) -> Path:
    """Bring the store up to date, queue the demo if it is empty, and return the data folder.

    Raises
    ------
    ConfigError
        If sign-in is required and no admin can sign in.
    """
    from themescope.db.settings import Settings, is_loopback
    from themescope.db.store import Store
    from themescope.jobs.services.accounts.people import check_sharing
    from themescope.jobs.services.installation.demo import seed_demo
    from themescope.webapp.routes import organisation

    store = Store(Settings.from_environment())
    store.migrate()
    oidc = organisation.is_configured()
    if oidc and find_spec("authlib") is None:
        raise MissingExtraError("Sign-in with an identity provider", "authlib", "oidc")
    if store.settings.login == "always" or not is_loopback(address):
        check_sharing(store, oidc, address)
    if demo:
        try:
            seed_demo(store)
        except MissingExtraError as error:
            print(f"themescope: {error} Starting without the demo.", file=sys.stderr)  # noqa: T201
    return store.settings.home


def serve(address: str, port: int, home: Path, verbose: bool) -> int:
    """Start web server and worker, print the address once the server responds, and stop both together."""
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONUNBUFFERED": "1"}
    manager = Manager(_Quiet(sys.stdout, verbose=verbose))
    options = {"server.address": address, "server.port": str(port), "server.headless": "true"}
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    manager.add_process("web", _command([sys.executable, "-m", "themescope.webapp.server", *flags]), env=environment)
    manager.add_process("worker", _command([sys.executable, "-m", "themescope.jobs.cli", "worker"]), env=environment)
    shown = f"[{address}]" if ":" in address else address
    # honcho forks: start the thread afterwards, so that no child process inherits it.
    announcement = threading.Timer(0.5, _announce, args=(f"http://{shown}:{port}", home))
    announcement.daemon = True
    announcement.start()
    manager.loop()
    stopped = {-signal.SIGTERM, -signal.SIGINT, 128 + signal.SIGTERM, 128 + signal.SIGINT}
    return 0 if manager.returncode in stopped else int(manager.returncode or 0)


def _command(parts: list[str]) -> str:
    """Return the command as one line for the shell in which honcho starts processes."""
    if os.name == "nt":
        import subprocess

        return subprocess.list2cmdline(parts)
    import shlex

    return "exec " + shlex.join(parts)


def _announce(url: str, home: Path) -> None:
    deadline = time.monotonic() + _ANSWER_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                break
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    else:
        print(f"The web server does not respond at {url}. Run again with --verbose to see its log.", flush=True)  # noqa: T201
        return
    print(f"\n  Themescope is ready:  {url}\n  Data folder:          {home}\n  Stop with Ctrl+C\n", flush=True)  # noqa: T201


class _Quiet(Printer):
    """Printer of process output; unless ``verbose``, without routine messages of honcho and Streamlit."""

    def __init__(self, output: TextIO, verbose: bool) -> None:
        super().__init__(output=output)
        self._verbose = verbose

    def write(self, message: Message) -> None:
        text = message.data.decode(errors="replace") if isinstance(message.data, bytes) else str(message.data)
        if self._verbose or (text.strip() and message.name != "system" and not _ROUTINE.search(text)):
            super().write(message)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    sys.exit(main())
