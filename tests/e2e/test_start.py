"""``python -m webapp``: one command starts everything, says where, and stops everything."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.e2e.conftest import ROOT, answers, environment_for, free_port, wait_for


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM cannot be sent to a process on Windows")
def test_one_command_starts_web_and_worker_and_stops_both(tmp_path: Path) -> None:
    port, home = free_port(), tmp_path / "home"
    command = [sys.executable, "-m", "webapp", "--port", str(port), "--no-demo"]
    begun = time.monotonic()
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment_for(home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    said = ""
    while "Stop with" not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    url = re.findall(r"http://127\.0\.0\.1:\d+", said)[0]
    assert answers(url)
    assert time.monotonic() - begun < 60
    assert str(home) in said
    children = psutil.Process(process.pid).children(recursive=True)
    wait_for(lambda: any("worker" in " ".join(c.cmdline()) for c in children if c.is_running()), 5, "the worker")
    process.send_signal(signal.SIGTERM)
    assert process.wait(15) == 0
    process.stdout.close()
    assert not psutil.wait_procs(children, timeout=5)[1]


def test_an_address_that_others_reach_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "webapp", "--address", "0.0.0.0"]
    done = subprocess.run(command, cwd=ROOT, env=environment_for(tmp_path), capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "nobody can sign in yet" in done.stderr
    assert "themescope people add NAME --role admin" in done.stderr
