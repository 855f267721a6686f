"""Signing in with a real browser: a reload and another tab stay in, signing out ends it, roles are told apart."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from core.labelling.records import Role
from db.settings import Settings
from db.store import Store
from jobs import people
from tests.e2e.conftest import Watched, answers, chromium, environment_for, free_port, start, stop, wait_for, watch

SECRET = "correct horse battery"
HOSTILE = "<img src=x onerror='window.pwned=1'> **b** [x](x:y) :red[r]"


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[str]:
    """The address of a server that asks people to sign in."""
    chromium()
    home, port = tmp_path / "home", free_port()
    store = Store(Settings.in_folder(home))
    store.migrate()
    people.add(store, "ada", Role.ADMIN, SECRET)
    people.add(store, "val", Role.VIEWER, SECRET)
    people.add(store, HOSTILE, Role.LABELLER, SECRET)
    store.close()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "webapp.web", "--server.address", "127.0.0.1", "--server.port", str(port)]
    web = start(command, environment_for(home) | {"THEMESCOPE_LOGIN": "always"}, home)
    try:
        wait_for(lambda: answers(url), 60, "the web's answer")
        yield url
    finally:
        stop(web)
        log = (home / "log.txt").read_text(encoding="utf-8", errors="replace")
        assert SECRET not in log and "wrong password" not in log


def sign_in(page: Page, name: str, password: str = SECRET) -> None:
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()


def test_people_sign_in_and_out(shared: str, browser: Browser) -> None:
    watched = Watched()
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    watch(page, watched, shared)
    page.goto(f"{shared}/people", wait_until="commit")
    sign_in(page, "ada", "wrong password")
    expect(page.get_by_text("do not belong together")).to_be_visible()
    sign_in(page, "ada")
    expect(page.get_by_text("Who works here and what they may do")).to_be_visible()
    expect(page.get_by_text("ada admin")).to_be_visible()
    hostile = context.new_page()
    watch(hostile, watched, shared)
    wait_for(lambda: any(c["name"].startswith("themescope-") for c in context.cookies()), 10, "the cookie")
    hostile.goto(f"{shared}/people?{urlencode({'member': HOSTILE})}", wait_until="commit")
    expect(hostile.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert hostile.evaluate("window.pwned") is None
    page.reload(wait_until="commit")
    expect(page.get_by_text("Who works here and what they may do")).to_be_visible()
    other = context.new_page()
    watch(other, watched, shared)
    other.goto(f"{shared}/corpora", wait_until="commit")
    expect(other.get_by_role("heading", name="Corpora")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Password", exact=True)).to_be_visible()
    other.reload(wait_until="commit")
    expect(other.get_by_label("Password", exact=True)).to_be_visible()
    sign_in(other, "val")
    other.get_by_role("tab", name="Import").click()
    expect(other.get_by_text("Importing takes an admin.")).to_be_visible()
    expect(other.get_by_role("link", name="People")).to_have_count(0)
    context.close()
    assert watched.complaints == []
    assert watched.foreign == []
