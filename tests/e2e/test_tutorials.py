"""The tutorials, followed literally: every numbered step of each document is done in a real browser on the demo.

With the environment variable ``SCREENSHOTS`` (a folder), as in ``make screenshots``, the images are made on the way.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.e2e.conftest import ROOT, environment_for, serving, start, stop
from tests.e2e.hands import open_page, shown, using
from tests.e2e.tutorials import Reader, form_of, steps
from tests.jobs.helpers import wait_for
from themescope.core.records.stored import JobStatus
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.queue import control as commands
from themescope.jobs.services import installation

DOCUMENTS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
UNUSED = ("kmeans", "tfidf", "static-wikipedia", "triplets-sen-titles-wikipedia", "map of", "Embed", "Find themes")
"""Words in the titles of the demo's jobs whose results no tutorial reads."""
DEMO_S = 1_500.0
PICTURES = Path(os.environ["SCREENSHOTS"]).absolute() if os.environ.get("SCREENSHOTS") else None


@pytest.mark.parametrize("document", DOCUMENTS, ids=[path.stem for path in DOCUMENTS])
def test_every_step_can_be_followed(document: Path) -> None:
    found = steps(document)
    assert len(found) > 10
    assert all(form_of(sentence) for sentence in found)


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with the demo, as far as the tutorials need it, and a worker."""
    home = tmp_path_factory.mktemp("tutorials") / "home"
    store = Store(Settings.in_folder(home))
    store.migrate()
    for job in reversed(installation.seed_demo(store)):  # what depends on a cancelled job would fail
        if any(word in job.title for word in UNUSED) and "Train" not in job.title:
            commands.cancel(store, job.id)
    with serving(home) as url:
        worker = start(
            [sys.executable, "-m", "themescope.jobs.cli", "worker", "--no-warm-up"], environment_for(home), home
        )
        try:
            wait_for(lambda: is_ready(store), DEMO_S)
            yield url
        finally:
            stop(worker)
            store.close()


def is_ready(store: Store) -> bool:
    with store.reading() as r:
        jobs = r.jobs.list(limit=100)
    assert [job.error for job in jobs if job.status is JobStatus.FAILED] == []
    return all(job.status.ended for job in jobs)


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS, ids=[path.stem for path in DOCUMENTS])
def test_a_tutorial_leads_to_its_end(document: Path, demonstrated: str, tab: Page, other_tab: Page) -> None:
    with using(tab, demonstrated), using(other_tab, demonstrated):
        reader = Reader((tab, other_tab), demonstrated, PICTURES)
        open_page(tab, demonstrated, "Home")
        try:
            reader.follow(document)
        except BaseException as error:
            error.add_note(f"after {len(reader.done)} steps: {steps(document)[len(reader.done)]}\n{shown(reader.page)}")
            raise
    assert reader.done == steps(document)
