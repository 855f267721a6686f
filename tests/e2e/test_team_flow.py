"""Two people with a task: one by clicks without dragging, one by keyboard only; a gold labelling ends it."""

from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.db.texts import add_corpus
from tests.e2e.conftest import App
from tests.e2e.hands import at_rest, choose, open_page
from tests.e2e.test_keyboard_flows import tab_to
from tests.e2e.test_relabel_flow import name_is, said
from themescope.core.records.stored import CorpusRecord
from themescope.db.label_records import ItemRecord, ItemState

CORPUS, TASK = "Team towns", "Team pilot"
ITEMS = 3


@pytest.fixture(scope="module")
def corpus(app: App) -> CorpusRecord:
    """Three articles of twelve sentences in three sections."""
    return add_corpus(app.store, CORPUS, ITEMS)


def items(app: App, person: str) -> list[ItemRecord]:
    with app.store.reading() as r:
        return r.tasks.items(r.tasks.by_name(TASK).id, person)


def tasks_of(page: Page, app: App, person: str) -> None:
    open_page(page, f"{app.url}/tasks?{urlencode({'corpus': CORPUS})}", "Tasks")
    name_is(page, person)
    at_rest(page)


def make_task(page: Page) -> None:
    """Everything by both people, from the sections."""
    page.get_by_role("tab", name="New task").click()
    page.get_by_role("textbox", name="Name", exact=True).fill(TASK)
    people = page.get_by_role("combobox", name="People", exact=True)
    for name in ("Ada", "Ben"):
        at_rest(page)
        people.click()
        people.fill(name)
        people.press("Enter")
    people.press("Escape")
    at_rest(page)
    overlap = page.get_by_role("spinbutton", name="Items with overlap (%)", exact=True)
    overlap.fill("100")
    overlap.press("Enter")
    at_rest(page)
    choose(page, "People begin with", "Sections")
    page.get_by_role("button", name="Create task", exact=True).click()
    expect(page.get_by_text(f"0 of {2 * ITEMS} items are done")).to_be_visible()


def item_is(page: Page, place: int) -> None:
    """The bar names the item, and the columns show its sentences only."""
    expect(page.locator(".st-key-relabel_task_bar")).to_contain_text(f"item {place} of {ITEMS}")
    expect(page.locator(".columns li")).to_have_count(12)
    at_rest(page)


def test_a_task_of_two_people_ends_in_a_gold_labelling(
    page: Page, other_page: Page, app: App, corpus: CorpusRecord
) -> None:
    tasks_of(page, app, "Ada")
    make_task(page)
    assert [item.state for item in items(app, "Ada")] == [ItemState.OPEN] * ITEMS
    by_clicks(page, app)
    tasks_of(other_page, app, "Ben")
    by_keys(other_page, app)
    adjudicate(page, app)


def by_clicks(page: Page, app: App) -> None:
    page.get_by_role("tab", name="My tasks").click()
    page.get_by_role("button", name="Open next item").click()
    item_is(page, 1)
    page.locator(".columns li").first.click()
    page.locator(".toolbar .cluster").nth(2).click()
    said(page, "1 sentence →")
    for place in range(1, ITEMS + 1):
        item_is(page, place)
        page.get_by_role("button", name="Done, next").click()
    expect(page.get_by_text("All items are done")).to_be_visible()
    assert [item.state for item in items(app, "Ada")] == [ItemState.DONE] * ITEMS
    page.get_by_role("tab", name="All tasks").click()
    expect(page.get_by_text(f"{ITEMS} of {2 * ITEMS} items are done")).to_be_visible()


def by_keys(page: Page, app: App) -> None:
    tab_to(page, "Open next item")
    page.keyboard.press("Enter")
    item_is(page, 1)
    page.locator(".columns li").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("2")
    said(page, "1 sentence →")
    for place in range(1, ITEMS + 1):
        item_is(page, place)
        page.keyboard.press("Control+Enter")
    expect(page.get_by_text("All items are done")).to_be_visible()
    assert [item.state for item in items(app, "Ben")] == [ItemState.DONE] * ITEMS


def agreement(page: Page, app: App) -> None:
    query = {"corpus": CORPUS, "agreement_scope": f"Task: {TASK}"}
    open_page(page, f"{app.url}/agreement?{urlencode(query)}", "Agreement")
    expect(page.get_by_text("taken to be equally reliable")).to_be_visible()
    expect(page.get_by_text("1 sentence with different codes")).to_be_visible()
    at_rest(page)


def adjudicate(page: Page, app: App) -> None:
    agreement(page, app)
    tab_to(page, "Name")
    page.keyboard.press("Control+a")
    page.keyboard.type("Team gold by keys")
    page.keyboard.press("Tab")
    at_rest(page)
    page.keyboard.press("Shift+Tab")
    tab_to(page, "Create gold labelling")
    page.keyboard.press("Enter")
    expect(page.locator(".columns li").first).to_be_visible()
    with app.store.reading() as r:
        made = r.labellings.by_name("Team gold by keys")
        state = r.labellings.snapshot(made.id).partition
    assert made.origin["open"] == 1 and made.origin["of"] == [f"{TASK} · Ada", f"{TASK} · Ben"]
    assert state.uncertain.sum() == 1 and len(state.ids) == ITEMS * 12
