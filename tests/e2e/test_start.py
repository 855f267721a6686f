"""``python -m themescope``: one command starts everything, shows the demo to whoever comes, and stops everything."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Page, expect

from tests import environments
from tests.e2e.conftest import ROOT, environment_for, stop
from tests.e2e.hands import open_page, turn_to, using
from tests.jobs.helpers import wait_for
from tests.servers import answers, free_port
from themescope.webapp.shared.pages import PLACES


@pytest.fixture
def everything(tmp_path: Path) -> Iterator[psutil.Popen]:
    """The one command in an environment as ``make run`` makes it, on a data folder that is not there yet."""
    interpreter = environments.make(tmp_path / "environment", environments.extras_of_make_run())
    command = [interpreter, "-m", "themescope", "--port", str(free_port())]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = psutil.Popen(command, cwd=ROOT, env=environment_for(tmp_path / "home"), **pipes)
    yield process
    if process.is_running():
        stop(process)
    process.stdout.close()


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM cannot be sent to a process on Windows")
def test_one_command_starts_web_worker_and_demo_and_stops_them(
    everything: psutil.Popen, tab: Page, tmp_path: Path
) -> None:
    said = ""
    while "Stop with" not in said:
        line = everything.stdout.readline()
        assert line, said
        said += line
    (url,) = re.findall(r"http://127\.0\.0\.1:\d+", said)
    assert answers(f"{url}/_stcore/health")
    assert str(tmp_path / "home") in said
    children = everything.children(recursive=True)
    wait_for(lambda: any("worker" in " ".join(c.cmdline()) for c in children if c.is_running()))
    with using(tab, url):  # the first visitor comes by a link to a page, and in the midst of the demo's jobs
        open_page(tab, f"{url}/jobs", "Jobs")
        sidebar = tab.get_by_test_id("stSidebar")
        for place in PLACES[:-1]:
            expect(sidebar.get_by_role("link", name=place.title, exact=True)).to_be_visible()
        turn_to(tab, "Home")
        expect(tab.locator(".st-key-jobs_tray").get_by_text(re.compile(r"^\d+ jobs?"))).to_be_visible()
        expect(tab.get_by_role("link", name="Open the demo")).to_be_visible()
        expect(tab.get_by_test_id("stMain").get_by_text(re.compile(r"^(9\d|10\d) texts, "))).to_be_visible()
        turn_to(tab, "Texts")
        expect(tab.locator(".reader nav button").first).to_be_visible()
    everything.send_signal(signal.SIGTERM)
    assert everything.wait(60) == 0  # five seconds, and what a loaded machine adds
    assert "Traceback" not in said + everything.stdout.read()
    assert not psutil.wait_procs(children, timeout=30)[1]
