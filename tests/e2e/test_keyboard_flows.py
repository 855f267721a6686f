"""The main tasks by keyboard only (WCAG 2.1.1 and 2.1.4); those on the map are in ``test_map_flow.py``."""

import re
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.e2e.conftest import LABELLING, App
from tests.e2e.hands import LATENCY, at_rest, open_page, said
from tests.jobs.helpers import wait_for
from tests.webapp.filled import CORPUS
from tests.webapp.test_themes import with_list

MOST_TABS = 150
TABLE_MS = 500
"""A table that Tab passes sends its selected cell after 150 ms, with the page that it stands on, and Streamlit takes
that for a wish to stay there. Nobody gets from a table to a link and presses Enter as fast as a test does.
"""
FOCUSED = """() => {
  let found = document.activeElement;
  while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  if (found?.matches('main')) return '';  // its text is the whole page
  return (found?.getAttribute('aria-label') || found?.textContent || '').trim();
}"""


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the control whose name or text ends with ``name`` has the focus; icons stand before it."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED).endswith(name):
            return
    raise AssertionError(f"{MOST_TABS} presses of Tab do not reach “{name}”")


def open_labelling(page: Page, app: App) -> None:
    query = {"corpus": CORPUS, "code_surface": "Sort", "code_labelling": LABELLING}
    open_page(page, f"{app.url}/code?{urlencode(query)}", "Code")
    expect(page.locator(".panes .unit").first).to_be_visible()
    at_rest(page)


def steps(app: App) -> int:
    with app.store.reading() as r:
        return len(r.label_steps.list(r.labellings.by_name(LABELLING).id))


def test_keys_lead_from_any_page_to_a_sentence(page: Page, filled: App) -> None:
    open_page(page, f"{filled.url}/?{urlencode({'corpus': CORPUS})}", "Home")
    tab_to(page, "Themes")
    page.wait_for_timeout(TABLE_MS)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Themes", level=1)).to_be_visible()
    at_rest(page)
    page.keyboard.press("/")
    dialog = page.get_by_role("dialog", name="Search")
    options = dialog.get_by_role("option")
    expect(options.filter(has_text="New task")).to_be_visible()
    page.keyboard.type("danube course")
    expect(options.filter(has_text="Danube Course paragraph").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    page.keyboard.type("danube history paragraph 1 sentence 0 has")
    expect(options.first).to_contain_text("Danube History paragraph 1 sentence 0 has some words.")
    expect(dialog.locator("mark").first).to_be_visible()
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(options.first).to_have_attribute("aria-selected", "false")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator(".reader .focus")).to_have_text("Danube History paragraph 1 sentence 0 has some words.")
    expect(page.locator(".reader .focus")).to_be_in_viewport()
    expect(page).to_have_url(re.compile("texts_sentence="))


HELD = """() => {
  const add = WebSocket.prototype.addEventListener;
  WebSocket.prototype.addEventListener = function (type, listener, options) {
    const held = (event) => (window.held ? window.held.push(() => listener(event)) : listener(event));
    add.call(this, type, type === "message" ? held : listener, options);
  };
}"""
LET_GO = """async () => {
  for (const one of window.held) {
    one();
    await new Promise(requestAnimationFrame);
  }
  window.held = null;
}"""
"""Scripts with which a page hears what the server sends only later, and then message by message."""


def test_a_page_that_a_result_opens_is_drawn_though_the_answer_is_late(page: Page, filled: App) -> None:
    """Meanwhile the page asks for the jobs, as it does every two seconds, and tells which page it still shows."""
    page.add_init_script(f"({HELD})()")
    open_page(page, f"{filled.url}/jobs?{urlencode({'corpus': CORPUS})}", "Jobs")
    at_rest(page)
    page.keyboard.press("/")
    page.keyboard.type("danube history paragraph 1 sentence 0 has")
    result = page.get_by_role("option", name=re.compile("Danube History paragraph 1 sentence 0")).first
    expect(result).to_be_visible()
    at_rest(page)
    page.evaluate("window.held = []")
    result.click()
    page.wait_for_timeout(5_000)
    page.evaluate(LET_GO)
    expect(page.locator(".reader .focus")).to_have_text("Danube History paragraph 1 sentence 0 has some words.")


DRAWN_ANEW = """(tab) => {
  const list = tab.parentElement, next = tab.nextSibling, drawn = tab.cloneNode(true);
  tab.remove();
  return new Promise((then) => setTimeout(() => { list.insertBefore(drawn, next); then(); }, 50));
}"""
"""What Streamlit does with tabs if the answer of the server arrives in parts."""


def test_a_tab_keeps_the_focus_when_it_is_drawn_anew(page: Page, filled: App) -> None:
    open_page(page, f"{filled.url}/triplets?{urlencode({'corpus': CORPUS, 'triplets_view': 'Browse'})}", "Triplets")
    at_rest(page)
    tab = page.get_by_role("tab", name="Browse")
    tab_to(page, "Browse")
    tab.evaluate(DRAWN_ANEW)
    expect(tab).to_be_focused()
    tab_to(page, "Next")
    tab.evaluate(DRAWN_ANEW)
    expect(page.get_by_role("button", name="Next")).to_be_focused()


def test_labels_by_keyboard_only_and_without_shortcuts_of_a_single_key(page: Page, labelled: App) -> None:
    open_labelling(page, labelled)
    tab_to(page, page.locator(".panes [role=listbox]").get_attribute("aria-label") or "")
    current = page.locator(".panes .unit.current")
    following = page.locator(".panes .unit").nth(2).get_attribute("data-id") or ""
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(page.locator(".panes .unit[aria-selected=true]")).to_have_count(1)
    said(page, "All changes saved")
    page.keyboard.press("2")
    said(page, "1 unit →")
    expect(current).to_have_attribute("data-id", following)  # where the other one was
    page.keyboard.press("u")
    said(page, "undo: 1 unit")
    for by in ("key", "button"):
        a_name_is_typed_at_once_and_runs_no_command(page, labelled, by)
    shortcuts_can_be_switched_off(page, labelled)


def test_quick_keys_in_sort_are_drawn_before_the_server_has_answered(page: Page, labelled: App) -> None:
    """Each key moves the next unit; codes have their new numbers at once, and the same once all is saved."""
    open_labelling(page, labelled)
    counts, before = page.locator(".panes .cluster .count"), steps(labelled)
    own, other = (int(counts.nth(place).inner_text()) for place in (0, 1))
    page.evaluate(LATENCY, 1_000)
    for _ in range(own - 1):
        page.keyboard.press("2")
    assert [counts.nth(place).inner_text() for place in (0, 1)] == ["1", str(other + own - 1)]
    assert page.locator(".panes .unit:not(.left)").count() == 1
    assert page.evaluate("window.themescopeActions.actions.length") > 0
    page.wait_for_function("() => window.themescopeActions.actions.length === 0")
    assert steps(labelled) == before + own - 1
    assert [counts.nth(place).inner_text() for place in (0, 1)] == ["1", str(other + own - 1)]


TYPED = "Israel and Gaza: 1 quick brown fox? jumps over 23 lazy dogs /"
"""A name with every letter, and with the other keys of the page."""


def a_name_is_typed_at_once_and_runs_no_command(page: Page, labelled: App, by: str) -> None:
    def clusters() -> tuple[dict[int, tuple[str, int | None]], list[int]]:
        with labelled.store.reading() as r:
            partition = r.labellings.snapshot(r.labellings.by_name(LABELLING).id).partition
        return {number: (c.name, c.parent) for number, c in partition.clusters.items()}, partition.numbers.tolist()

    last = page.locator(".panes .unit").last  # earlier tests may have left one in the first code
    place = last.evaluate("one => [one.offsetTop, one.offsetHeight]")
    last.locator(".text").click()  # reads it, in the pane beside, and neither ticks it nor moves a row
    expect(page.locator(".panes .details .whole")).to_contain_text(last.locator(".text").inner_text().strip("… ")[-20:])
    assert page.locator(".panes .unit[aria-selected=true]").count() == 0
    assert last.evaluate("one => [one.offsetTop, one.offsetHeight]") == place
    page.locator(".panes .unit .tick").first.click()
    expect(page.locator(".panes .unit[aria-selected=true]")).to_have_count(1)
    (names, numbers), count = clusters(), steps(labelled)
    if by == "key":
        page.keyboard.press("n")
        page.keyboard.type(TYPED)  # before the server has answered
    else:
        page.locator(".panes .bar [data-action=create]").click()
        page.keyboard.type(TYPED, delay=30)  # its answers come between the letters
    expect(page.get_by_role("textbox", name="Name of the new code")).to_have_value(TYPED)
    page.keyboard.press("Enter")
    said(page, "is now Israel and Gaza")
    at_rest(page)
    after, moved = clusters()
    (new,) = after.keys() - names.keys()
    assert after == names | {new: (TYPED, None)}
    assert [there for here, there in zip(numbers, moved, strict=True) if here != there] == [new]
    assert steps(labelled) == count + 2
    expect(page.locator("[data-testid=stDialog], dialog[open]")).to_have_count(0)
    expect(page.get_by_role("heading", name="Code", level=1)).to_be_visible()
    page.keyboard.press("u")
    page.keyboard.press("u")
    said(page, "undo: ")
    expect(page.locator(".panes .cluster")).to_have_count(len(names) + 1)
    assert clusters() == (names, numbers)


def shortcuts_can_be_switched_off(page: Page, labelled: App) -> None:
    page.locator(".st-key-frame-menu").get_by_role("button").first.click()
    page.get_by_role("checkbox", name="Shortcuts of a single key").uncheck()
    page.keyboard.press("Escape")
    page.locator(".panes .unit .tick").nth(2).click()
    selected = page.locator(".panes .unit[aria-selected=true]")
    expect(selected).to_have_count(1)
    before = steps(labelled)
    page.keyboard.press("2")
    page.keyboard.press("/")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(selected).to_have_count(2)
    assert steps(labelled) == before
    expect(page.get_by_role("heading", name="Code", level=1)).to_be_visible()


def _second_theme(app: App) -> str:
    with app.store.reading() as r:
        return str(r.runs.themes()[-1].config["themes"][1]["name"])


def test_a_theme_is_named_in_place_and_opened_by_keys(page: Page, filled: App) -> None:
    with_list(filled.store)
    open_page(page, f"{filled.url}/themes?{urlencode({'corpus': 'My list'})}", "Themes")
    names = page.locator(".theme_cards .name")
    expect(names).to_have_count(2)
    names.last.focus()
    page.keyboard.press("F2")
    page.keyboard.type("Second")
    page.keyboard.press("Escape")
    expect(names.last).to_have_text("two")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED) == "Rename (F2)"
    page.keyboard.press("Enter")
    page.keyboard.type("Second")
    page.keyboard.press("Enter")
    expect(names.last).to_be_focused()
    wait_for(lambda: _second_theme(filled) == "Second")
    at_rest(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("option", name="Sentence 7 of the list.")).to_be_visible()
    tab_to(page, "All themes")
    page.keyboard.press("Enter")
    expect(names).to_have_count(2)
