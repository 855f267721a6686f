"""From pasted sentences to a file of named themes, in a real browser."""

import csv
import io
import re
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Page, expect

from tests.e2e.conftest import PAYLOAD, App, wait_for
from tests.e2e.hands import at_rest, open_page
from themescope.core.records.stored import JobStatus
from themescope.webapp.features.themes.new_list import EXAMPLE

NAME = "My sentences"
"""Name that the form suggests for the list."""


def themes_found(app: App) -> bool:
    """Whether the themes are there, and their map."""
    with app.store.reading() as r:
        assert [job.error for job in r.jobs.list(status=JobStatus.FAILED) if job.kind == "find-themes"] == []
        own = [corpus.id for corpus in r.corpora.list() if corpus.name == NAME]
        found = {run.config["corpus_id"] for run in r.runs.list(kind="themes")}
        return any(record.corpus_id in found for record in r.maps.list() if record.corpus_id in own)


def test_pasted_sentences_become_named_themes(page: Page, app: App, worker: object) -> None:
    open_page(page, f"{app.url}/themes?themes_view=New+list", "Themes")
    page.get_by_role("button", name="Load example").click()
    expect(page.get_by_text("48 sentences")).to_be_visible()
    expect(page.get_by_role("button", name="Find themes")).to_be_visible()
    box = page.get_by_label("One sentence per line")
    expect(box).to_have_value(re.compile("river"))
    box.fill(f"{EXAMPLE.read_text(encoding='utf-8')}=1+1 {PAYLOAD}\n")
    box.press("Control+Enter")
    expect(page.get_by_text("49 sentences")).to_be_visible()
    page.get_by_role("button", name="Find themes").click()
    wait_for(lambda: themes_found(app), 150, "the search for themes")
    open_page(page, f"{app.url}/themes?themes_view=Results&corpus={quote(NAME)}", "Themes")
    expect(page.get_by_text("probably between")).to_be_visible()
    expect(page.locator(".map-view[data-ready]")).to_be_visible(timeout=90_000)
    for number in (3, 4, 3):  # the last one is stored already
        box = page.get_by_role("spinbutton", name="Number of themes")
        box.fill(str(number))
        box.press("Enter")
        page.get_by_role("button", name="Recluster").click()
        expect(page.get_by_text(f"Why {number} themes?")).to_be_visible()
        at_rest(page)
    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").filter(has_text="CSV").get_by_role("button").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"), newline="")))
    assert len(rows) == 49 and len({row["name"] for row in rows}) == 3
    assert sum(row["sentence"].startswith("'=1+1 <img") for row in rows) == 1
    assert page.evaluate("window.pwned") is None
    assert page.locator("main img[src=x]").count() == 0
