"""Private PostgreSQL and S3 servers for the tests, on free loopback ports, gone when the session ends."""

import contextlib
import importlib.util
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

WAIT_SECONDS = 180.0
_POSTGRES_OPTIONS = (
    *(f"{name}=off" for name in ("fsync", "synchronous_commit", "full_page_writes", "autovacuum", "jit")),
    *("wal_level=minimal", "max_wal_senders=0", "unix_socket_directories="),
)


@dataclass
class PostgresServer:
    """A running server; ``new_database`` gives the URL of an empty database of its own."""

    port: int
    _control: Callable[..., None] = lambda *options: None
    _numbers: Iterator[int] = field(default_factory=count)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://themescope@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        import psycopg

        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def restart(self, mode: str = "fast") -> None:
        """Restart it: connections end, and new ones are refused for a moment; ``immediate`` is a crash."""
        self._control("-w", "-m", mode, "restart")


def missing(what: str, how: str) -> None:
    """Skip on a developer's machine, fail in CI."""
    reason = f"{what} is not installed. {how}"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(reason)
    pytest.skip(reason)


def answers(url: str, context: ssl.SSLContext | None = None) -> bool:
    """True once the server is up; the context is that of its certificate."""
    try:
        with urllib.request.urlopen(url, timeout=30, context=context):
            return True
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A PostgreSQL server, or a skip with the reason."""
    with postgres() as server:
        yield server


@contextlib.contextmanager
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server of its own."""
    binaries = _postgres_folder()
    if binaries is None:
        missing("PostgreSQL", "On Debian: apt-get install postgresql")
    assert binaries is not None
    try:
        import psycopg  # noqa: F401
    except ImportError:
        missing("psycopg", "pip install 'themescope[postgres]'")
    with _server_folder("postgres") as (folder, user):
        data = folder / "data"
        init = ["-D", data, "-U", "themescope", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
        with (folder / "log").open("wb") as log:
            _run([binaries / "initdb", *init], folder, user, log)
        options = [part for option in _POSTGRES_OPTIONS for part in ("-c", option)]
        command = [binaries / "postgres", "-D", data, "-h", "127.0.0.1", *options, "-p"]

        def control(*options: str) -> None:
            with (folder / "log").open("ab") as log:
                _run([binaries / "pg_ctl", "-D", data, "-m", "fast", *options], folder, user, log)

        with _listening(command, folder, user, lambda port: _postgres_answers(port, data)) as port:
            try:
                yield PostgresServer(port, control)
            finally:
                control("-w", "stop")  # after a restart, it is no child of this process


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The URL of a server with the protocol of S3 that keeps objects in memory, or a skip with the reason."""
    for package, extra in (("s3fs", "s3"), ("moto", "test")):
        if importlib.util.find_spec(package) is None:
            missing(package, f"pip install 'themescope[{extra}]'")
    with _server_folder(None) as (folder, user):
        command = [sys.executable, "-W", "ignore", "-m", "moto.server", "-H", "127.0.0.1", "-p"]
        with _listening(
            command, folder, user, lambda port: answers(f"http://127.0.0.1:{port}/moto-api/data.json")
        ) as port:
            yield f"http://127.0.0.1:{port}"


def _postgres_folder() -> Path | None:
    """Where initdb and postgres are: in PATH, or where Debian puts them (the newest version)."""
    found = shutil.which("initdb")
    if found and (Path(found).resolve().parent / "postgres").exists():
        return Path(found).resolve().parent
    versions = [p for p in Path("/usr/lib/postgresql").glob("*/bin") if (p / "initdb").exists()]
    return max(versions, key=lambda p: float(p.parent.name), default=None)


@contextlib.contextmanager
def _server_folder(user: str | None) -> Iterator[tuple[Path, str | None]]:
    """A temporary folder, owned by ``user`` when we are root: PostgreSQL refuses to run as root."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    user = user if root else None
    folder = Path(tempfile.mkdtemp(prefix="themescope-server-", dir=_memory()))
    try:
        if user is not None:
            try:
                shutil.chown(folder, user)
            except LookupError:
                missing(f"The account {user!r} (the server refuses to run as root)", "Run the tests as another user.")
        yield folder, user
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _memory() -> Path | None:
    """A folder in memory with room for a server, where there is one: each database is a thousand small files."""
    folder = Path("/dev/shm")
    room = folder.is_dir() and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > 2**30
    return folder if room else None


def _run(command: list[object], folder: Path, user: str | None, log: object) -> None:
    words = [str(part) for part in command]
    subprocess.run(words, cwd=folder, user=user, stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=True)


@contextlib.contextmanager
def _listening(command: list[object], folder: Path, user: str | None, answers: Callable[[int], bool]) -> Iterator[int]:
    """The port of a running server. Between our look and its start somebody else may take a port: then another one."""
    log = folder / "log"
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        port = free_port()
        with log.open("ab") as output, _running([*command, port], folder, user, output) as process:
            while process.poll() is None and time.monotonic() < until:
                if answers(port):
                    yield port
                    return
                time.sleep(0.05)
    pytest.fail(f"A test server did not start: {log.read_text(errors='replace')[-2000:]}")


@contextlib.contextmanager
def _running(command: list[object], folder: Path, user: str | None, log: object) -> Iterator[subprocess.Popen[bytes]]:
    words = [str(part) for part in command]
    # A session of its own: Ctrl+C in the terminal must reach the tests, not the server under them.
    process = subprocess.Popen(
        words, cwd=folder, user=user, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield process
    finally:
        # SIGINT is PostgreSQL's fast shutdown.
        process.send_signal(2)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _postgres_answers(port: int, data: Path) -> bool:
    """Whether our server is ready, not another one at that port."""
    import psycopg

    try:
        with psycopg.connect(PostgresServer(port).url(), connect_timeout=10) as connection:
            found = connection.execute("SHOW data_directory").fetchone()
    except psycopg.Error:
        return False
    return found is not None and Path(found[0]) == data
