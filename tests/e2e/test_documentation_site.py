"""The documentation in a real browser: under its policy, searched, and opened from a page."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.site import built_once, shared_site


def test_pages_and_search_run_under_the_policy(page: Page, app: App, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The console reports violations of the policy, and no other host is asked: ``page`` checks both."""
    built_once(shared_site(tmp_path_factory.getbasetemp()))
    page.goto(f"{app.url}/docs")
    expect(page.get_by_role("heading", name="Themescope", level=1)).to_be_visible()
    expect(page.locator("body")).to_have_attribute("data-theme", "auto")  # set by the inline script
    page.get_by_role("button", name="Toggle Light / Dark / Auto color theme").locator("visible=true").first.click()
    expect(page.locator("body")).not_to_have_attribute("data-theme", "auto")
    page.get_by_role("link", name="Iclust", exact=True).first.click()
    box = page.locator("article math[display=block]").first.bounding_box()
    assert box is not None and box["height"] > 20
    page.get_by_role("textbox", name="Search").fill("hypergeometric")
    page.keyboard.press("Enter")
    expect(page.locator("#search-results").get_by_role("link", name="Clustering metrics").first).to_be_visible()
    expect(page.locator("#search-results .context").first).to_contain_text("hypergeometric")
