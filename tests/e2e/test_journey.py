"""One project on all pages: by links, after a reload and in a new tab; jobs in the tray; a narrow window."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.hands import at_rest, open_page, turn_to
from tests.webapp.filled import CORPUS
from themescope.db.records import JobStatus
from themescope.webapp.features import REGISTRY

SECOND = "A second project"
ALL = [card.title for card in REGISTRY if card.id != "people"]


@pytest.fixture
def two(filled: App) -> App:
    """A second project, without anything made of it."""
    with filled.store.writing() as w:
        if SECOND not in [corpus.name for corpus in w.corpora.list()]:
            w.corpora.finish(w.corpora.create(SECOND, "en").id, {})
    return filled


def project_of(page: Page) -> str:
    """The project in the address, which must be the one that the breadcrumb names."""
    at_rest(page)
    (named,) = parse_qs(urlsplit(page.url).query)["corpus"]
    expect(page.locator(".st-key-frame_project")).to_contain_text(named)
    return named


def choose_project(page: Page, name: str) -> None:
    page.locator(".st-key-frame_project button").first.click()
    page.get_by_test_id("stPopoverBody").get_by_role("button", name=name).click()
    expect(page.locator(".st-key-frame_project")).to_contain_text(name)


def test_the_project_stays_on_all_pages_after_a_reload_and_in_a_new_tab(two: App, page: Page) -> None:
    open_page(page, f"{two.url}/?corpus={CORPUS}", "Home")
    choose_project(page, SECOND)
    for title in ALL:
        turn_to(page, title)
        assert project_of(page) == SECOND
        current = page.locator("[aria-current=page]")
        assert title in ("Jobs",) or title in current.all_inner_texts()[-1] or current.count() == 1
    page.reload()
    assert project_of(page) == SECOND
    page.goto(f"{two.url}/compare")  # as in a new tab: no project in the address
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()
    assert project_of(page) == SECOND
    page.goto(f"{two.url}/compare?corpus={CORPUS}&compare_tab=One+article")
    assert project_of(page) == CORPUS


def test_the_tray_shows_progress_and_cancels(two: App, page: Page) -> None:
    with two.store.writing() as w:
        w.workers.heartbeat("vm:1:tray", "default")
        job = w.jobs.add("train", "Train in the tray", {"method": "mean-vectors"})
        w.jobs.claim(job.id, "vm:1:tray")
        w.jobs.heartbeat(job.id, "vm:1:tray", 0.4, "epoch 2 of 5")
    try:
        open_page(page, f"{two.url}/map?corpus={CORPUS}", "Map")
        tray = page.locator(".st-key-jobs_tray")
        expect(tray).to_contain_text(re.compile("No worker|40%"))
        tray.get_by_role("button").first.click()
        body = page.get_by_test_id("stPopoverBody")
        expect(body.get_by_text("Train in the tray")).to_be_visible()
        expect(body.get_by_text(re.compile("epoch 2 of 5"))).to_be_visible()
        body.get_by_role("button", name="Cancel").first.click()
        expect(body.get_by_text(re.compile("Cancelling"))).to_be_visible()
    finally:
        with two.store.writing() as w:
            w.jobs.finish(job.id, "vm:1:tray", JobStatus.CANCELLED)


def test_header_and_page_fit_a_narrow_window(two: App, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    try:
        for path, title in (("", "Home"), ("map", "Map"), ("compare", "Compare")):
            open_page(page, f"{two.url}/{path}?corpus={CORPUS}", title)
            at_rest(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            boxes = [
                page.locator(part).first.bounding_box() for part in ("h1", ".st-key-jobs_tray", ".st-key-frame-menu")
            ]
            edges = [(box["x"], box["x"] + box["width"]) for box in boxes if box is not None]
            assert all(end <= start + 1 for (_, end), (start, _) in pairwise(edges))
            assert edges[-1][1] <= 390
    finally:
        page.set_viewport_size({"width": 1280, "height": 900})
