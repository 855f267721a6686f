"""The launcher: a process that ends is started again, alone; all stop together."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from themescope.webapp.start import free_port

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@contextmanager
def launched(*command: str, home: Path) -> Iterator[psutil.Popen]:
    environment = {**os.environ, "THEMESCOPE_HOME": str(home)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = psutil.Popen([sys.executable, *command], env=environment, **pipes)
    try:
        yield process
    finally:
        if process.is_running():
            process.send_signal(signal.SIGTERM)
            process.wait(20)
        process.stdout.close()


def until(holds: Callable[[], object], what: str, seconds: float = 90.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


@pytest.mark.slow
def test_a_killed_web_server_or_worker_comes_back_and_the_other_goes_on(tmp_path: Path) -> None:
    port = free_port("127.0.0.1", 20_000 + os.getpid() % 20_000)
    url = f"http://127.0.0.1:{port}"
    with launched("-m", "themescope", "--no-demo", "--port", str(port), home=tmp_path) as launcher:

        def pids(word: str) -> list[int]:
            found = []
            for child in launcher.children():
                with suppress(psutil.NoSuchProcess):  # a zombie too
                    found += [child.pid] * (word in " ".join(child.cmdline()))
            return found

        until(lambda: answers(url) and pids("worker"), "started")
        (web,), (worker,) = pids("webapp.server"), pids("worker")
        os.kill(web, signal.SIGKILL)
        until(lambda: web not in pids("webapp.server") and answers(url), "the web server is back")
        assert pids("worker") == [worker]
        (web,) = pids("webapp.server")
        os.kill(worker, signal.SIGKILL)
        until(lambda: pids("worker") not in ([], [worker]), "the worker is back")
        assert pids("webapp.server") == [web] and answers(url)
        children = launcher.children(recursive=True)
        launcher.send_signal(signal.SIGTERM)
        assert launcher.wait(20) == 0
        assert not psutil.wait_procs(children, timeout=5)[1]
        said = launcher.stdout.read()
    assert said.count("killed by signal 9. It is started again.") == 2


def test_a_killed_process_is_started_again_and_one_that_ends_again_and_again_is_given_up(tmp_path: Path) -> None:
    script = """
import os, sys
from themescope.webapp import start
if __name__ == "__main__":
    worker = "import os, time; print('working', os.getpid(), flush=True); time.sleep(600)"
    commands = {"web": [sys.executable, "-c", "print('no port'); raise SystemExit(3)"],
                "worker": [sys.executable, "-c", worker]}
    sys.exit(start.supervise(commands, os.environ, False))
"""
    with launched("-c", script, home=tmp_path) as launcher:
        said = ""
        while not (first := re.findall(r"working (\d+)", said)):
            said += launcher.stdout.readline()
        os.kill(int(first[0]), signal.SIGKILL)
        assert launcher.wait(60) == 3
        said += launcher.stdout.read()
    assert "The worker process was killed by signal 9. It is started again." in said
    workers = re.findall(r"working (\d+)", said)
    assert said.count("no port") == 5 and len({*workers}) == 2 and workers[:1] == first
    assert "The web process ended with exit code 3, for the 5th time in a row. Giving up." in said
    assert not psutil.pid_exists(int(workers[1]))
