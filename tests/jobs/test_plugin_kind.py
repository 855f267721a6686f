"""A job kind of another package: listed, run from the command line, and shown on the page that its card names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.helpers import PATIENCE_S, ROOT, program
from themescope.jobs.kinds import REGISTRY, JobCard, ResultLink

pytestmark = pytest.mark.usefixtures("sqlite_store")

MODULE = '''
from dataclasses import dataclass

from themescope.core.config import option
from themescope.jobs.common.job import JobConfig
from themescope.jobs.kinds import JobCard

CARD = JobCard(
    id="count-letters",
    title="Count letters",
    summary="Counts the letters of a text.",
    factory="letter_counter:run",
    config="letter_counter:CountConfig",
    pages=("corpora",),
)


@dataclass(frozen=True)
class CountConfig(JobConfig):
    """Arguments."""

    text: str = option("", "Text whose letters are counted.")

    def validate(self):
        self.require("text")

    def title(self):
        return f"Count the letters of {self.text!r}"


def run(args, context):
    context.progress(1, 1)
    return {"letters": len(args.text)}
'''


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which a package with one more job kind is installed."""
    packages = tmp_path / "packages"
    info = packages / "letter_counter-1.0.dist-info"
    info.mkdir(parents=True)
    (packages / "letter_counter.py").write_text(MODULE, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: letter-counter\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[themescope.job_kinds]\ncount-letters = letter_counter:CARD\n", "utf-8")
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(packages)))}


def call(environment: dict[str, str], *args: str) -> dict[str, Any]:
    done = subprocess.run(
        program(*args, "--json"), env=environment, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_it_is_listed_with_its_settings_and_runs_from_the_command_line(environment: dict[str, str]) -> None:
    listed = {row["id"]: row for row in call(environment, "list", "jobs")["jobs"]}
    assert listed["count-letters"]["settings"]["text"]["help"] == "Text whose letters are counted."
    result = call(environment, "jobs", "run", "count-letters", "--set", "text=seven")
    assert result["letters"] == 5
    assert call(environment, "jobs", "show", str(result["job"]))["title"] == "Count the letters of 'seven'"


def test_it_is_queued_and_shown_on_its_page(environment: dict[str, str]) -> None:
    queued = call(environment, "jobs", "run", "count-letters", "--set", "text=a", "--background")
    assert queued["status"] == "queued"
    code = "from themescope.jobs.kinds import shown_on; print('count-letters' in shown_on('corpora'))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_a_built_in_kind_is_a_job_card() -> None:
    assert all(isinstance(card, JobCard) for card in REGISTRY)


def test_a_link_needs_every_value_that_it_names() -> None:
    link = ResultLink("map", {"view": "One"}, {"map": "name"})
    assert link.view_of({"name": "Rivers", "points": 3}) == {"view": "One", "map": "Rivers"}
    assert link.view_of({"points": 3}) is None
