"""``python -m themescope``: migrate the store, queue the demo if it is empty, start web server and worker."""

from __future__ import annotations

import argparse
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import TextIO

from themescope.core.errors import ConfigError, MissingExtraError, ThemescopeError, with_place

DEFAULT_PORT = 8501
_TRIES = 50
_ANSWER_S = 60.0
_STOP_S = 5.0
"""Seconds that a process has to stop before it is killed; see ``GRACE_S`` of the worker."""
_MOST_ENDS, _STEADY_S = 5, 60.0
_ROUTINE = re.compile(r"You can now view|URL: |Uvicorn|Press CTRL|Stopping|The worker started|missing ScriptRunContext")


def main(arguments: list[str] | None = None) -> int:
    """Run until stopped (0); return the exit code of a process that ends again and again."""
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

    Raises ``ConfigError`` if sign-in is required and no admin can sign in.
    """
    from themescope.db.settings import Settings, is_loopback
    from themescope.db.store import Store
    from themescope.jobs.services.installation import seed_demo
    from themescope.jobs.services.people import check_sharing
    from themescope.webapp.routes import sign_in

    store = Store(Settings.from_environment())
    store.migrate()
    oidc = sign_in.is_configured()
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
    options = {"server.address": address, "server.port": str(port), "server.headless": "true"}
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    shown = f"[{address}]" if ":" in address else address
    Thread(target=_announce, args=(f"http://{shown}:{port}", home), daemon=True).start()
    commands = {
        "web": [sys.executable, "-m", "themescope.webapp.server", *flags],
        "worker": [sys.executable, "-m", "themescope.jobs.cli", "worker"],
    }
    return supervise(commands, {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "PYTHONUNBUFFERED": "1"}, verbose)


def supervise(commands: Mapping[str, Sequence[str]], environment: Mapping[str, str], verbose: bool) -> int:
    """Run processes until a signal stops them (0); start one that ends again, without a change to the others.

    If one ends :data:`_MOST_ENDS` times, each time within :data:`_STEADY_S`, all are stopped and its exit code is
    returned.
    """
    stopped = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    children = [_Child(name, command, environment, verbose) for name, command in commands.items()]
    code = 0
    while not code and not stopped.wait(0.1):
        code = next((code for child in children if (code := child.restart_if_ended())), 0)
    for child in children:
        child.signal(signal.SIGTERM)
    until = time.monotonic() + _STOP_S
    for child in children:
        try:
            child.process.wait(max(until - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            child.signal(getattr(signal, "SIGKILL", signal.SIGTERM))
            child.process.wait()
        child.printing.join(1.0)
    return code


class _Child:
    """A process that is started again when it ends; its lines are printed, without routine ones unless ``verbose``."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], verbose: bool) -> None:
        self.name, self.ends = name, 0
        self._command, self._environment, self._verbose = command, environment, verbose
        self._start()

    def _start(self) -> None:
        self._began, self._again = time.monotonic(), 0.0
        self.process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=self._environment,
            start_new_session=os.name != "nt",  # Ctrl+C reaches the launcher alone; its own processes stop with it
        )
        self.printing = Thread(target=self._print, args=(self.process.stdout,), daemon=True)
        self.printing.start()

    def _print(self, lines: TextIO) -> None:
        with lines:
            for line in lines:
                if self._verbose or (line.strip() and not _ROUTINE.search(line)):
                    _say(f"{time.strftime('%H:%M:%S')} {self.name:<6} | {line.rstrip()}")

    def restart_if_ended(self) -> int:
        """Start the process again if it ended, a little later each time; return its exit code if that is hopeless."""
        code = self.process.poll()
        if code is None or time.monotonic() < self._again:
            return 0
        if self._again:
            self._start()
            return 0
        self.signal(getattr(signal, "SIGKILL", signal.SIGTERM))  # what it started holds its port and its memory
        self.ends = self.ends + 1 if time.monotonic() - self._began < _STEADY_S else 1
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        if self.ends >= _MOST_ENDS:
            _say(f"themescope: The {self.name} process {how}, for the {self.ends}th time in a row. Giving up.")
            _say("Run again with --verbose to see its log.")
            return 128 - code if code < 0 else code or 1
        _say(f"themescope: The {self.name} process {how}. It is started again.")
        self._again = time.monotonic() + 0.5 * 2 ** (self.ends - 1)
        return 0

    def signal(self, number: int) -> None:
        """Send a signal to the process and those that it started."""
        try:
            if os.name == "nt":
                self.process.terminate()
            else:
                os.killpg(self.process.pid, number)
        except OSError:
            pass  # all of them have ended


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def _announce(url: str, home: Path) -> None:
    deadline = time.monotonic() + _ANSWER_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=1):
                break
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    else:
        _say(f"The web server does not respond at {url}. Run again with --verbose to see its log.")
        return
    _say(f"\n  Themescope is ready:  {url}\n  Data folder:          {home}\n  Stop with Ctrl+C\n")


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    sys.exit(main())
