"""What axe-core finds on every page and in its main states, in both themes, and whether pages fit narrow windows.

docs/accessibility.md is the report on it.
"""

from pathlib import Path
from urllib.parse import urlencode, urlsplit

import axe_playwright_python
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.hands import WINDOW, at_rest, turn_to
from tests.jobs.helpers import wait_for
from tests.pages import PAGES
from tests.webapp.filled import CORPUS, SET, SEVERAL
from themescope.core.labelling.codebook import operations as codebook
from themescope.core.labelling.codebook.entries import CodebookEntry
from themescope.core.labelling.task_items import DistributionPlan
from themescope.core.records.stored import Sharing
from themescope.db.records import NewLabelling
from themescope.db.repositories.failures import CollectedFailure
from themescope.jobs.services import failures, tasks
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.choose import BROKEN

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
LABELLING, TASK = "Rivers by section", "Rivers to read"
ALL_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
MAIN = "[data-testid=stMain]"
"""The page without its frame, which is the same in all states of a page."""
# What fades while the page is drawn anew is on its way out.
VIOLATIONS = """async ([rules, part]) => (await axe.run(
  {include: [[part]], exclude: [['[data-stale=true]']]}, {resultTypes: ['violations'], runOnly: rules}
)).violations.map(v => `${v.id}: ${v.nodes.map(n => `${n.target} ${n.html.slice(0, 160)}`).join(' | ')}`)"""
STATES = [
    *((page, {}) for page in PAGES),
    ("texts", {"view": "Import report"}),
    ("map", {"shape": "0_0_65535_0_65535_65535_0_65535"}),
    ("code", {"surface": "Sort", "labelling": LABELLING}),
    ("code", {"surface": "Table", "labelling": LABELLING}),
    ("code", {"view": "Suggestions", "labelling": LABELLING}),
    ("code", {"surface": "Code", "labelling": LABELLING, "queue": "All units"}),
    ("code", {"view": "Files", "labelling": LABELLING}),
    ("code", {"view": "Settings", "labelling": LABELLING}),
    ("codebook", {"view": "Gold units", "labelling": LABELLING}),
    ("tasks", {"task": TASK}),
    ("tasks", {"view": "New task"}),
    ("compare", {"tab": "Pair", "benchmark": SEVERAL}),
    ("compare", {"tab": "Triplet accuracy"}),
    ("triplets", {"view": "Browse", "set": SET}),
    ("triplets", {"view": "Sets"}),
    *(("themes", {"view": view}) for view in ("By column", "Over time", "Compute again")),
]
PAPER = """map => getComputedStyle(map).getPropertyValue("--paper").match(/[0-9a-f]{2}/gi)
  .reduce((sum, part) => sum + parseInt(part, 16), 0)"""
GROUND = """getComputedStyle(document.querySelector('.stApp')).backgroundColor.match(/[0-9]+/g).slice(0, 3)
  .reduce((sum, part) => sum + Number(part), 0)"""
"""Red, green and blue of the ground, of a map and of the page, together."""
WIDTHS = (320, 640)
WITHOUT_BUTTONS = """() => [...document.querySelectorAll('[data-testid=stColumn]')]
  .filter(column => getComputedStyle(column).display === 'none' && column.querySelector('button')).length"""
"""Columns that are hidden with what can be pressed in them."""
WIDER = """() => {
  const width = document.documentElement.clientWidth, main = document.querySelector('[data-testid=stMain]');
  return Math.max(document.documentElement.scrollWidth, main.scrollWidth - main.clientWidth + width) - width;
}"""


@pytest.fixture(scope="module")
def project(filled: App) -> App:
    """The app with a labelling, a codebook entry, a training item, a failure and a task beside everything else."""
    store = filled.store
    with store.reading() as r:
        corpus = r.corpora.by_name(CORPUS)
        article = r.corpora.articles(corpus.id)[0].id
    made = starts.begin(store, NewLabelling(corpus.id, LABELLING, "", Sharing.SHARED), starts.from_sections)
    session = LabellingSession(store, made.id, "")
    number = next(iter(session.partition.clusters))
    first = int(session.partition.members(number)[0])
    entry = CodebookEntry("What the river is.", examples=(first,))
    session.do(codebook.write(session.partition, number, entry))
    session.do(codebook.choose_training(session.partition, ["item"], [first]))
    failures.collect(
        store, corpus.id, "a search", [CollectedFailure("sentence", "The river is long.", "a search", ())], ""
    )
    tasks.make(store, tasks.TaskForm(corpus.id, "Rivers to read", "", (article,), DistributionPlan(("",), 0.0)))
    return filled


def visit(page: Page, app: App, state: tuple[str, dict[str, str]]) -> None:
    name, view = state
    query = {"corpus": CORPUS, **{f"{name}_{key}": value for key, value in view.items()}}
    page.goto(f"{app.url}/{'' if name == 'home' else name}?{urlencode(query)}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    at_rest(page)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["pages", "states"])
def test_every_page_has_no_violation_in_either_theme_and_fits_narrow_windows(
    page: Page, project: App, whole: bool
) -> None:
    """All rules in the theme of the state before, and in the other one those on colours, which alone depend on it.

    In ``make test`` each page as it opens, in one theme, the second half of them dark, and in the narrowest window.

    Pages are reached by the links of the frame, in one session; their other states by their addresses, in one theme:
    what they show has the colours of the same page. 320 px is the width of WCAG 1.4.10, and 640 px that of a window of
    1,280 px at a zoom of 200 %.
    """
    found: dict[str, object] = {}
    themes = ["light", "dark"]
    visit(page, project, ("home", {}))
    page.evaluate(AXE.read_text("utf-8"))
    for place, (name, view) in enumerate(STATES if whole else STATES[: len(PAGES)]):
        if view:
            visit(page, project, (name, view))
            page.evaluate(AXE.read_text("utf-8"))
            found[f"{name} {view} in the {themes[0]}"] = violations(page, ALL_RULES, MAIN)
            continue
        turn_to(page, REGISTRY.get(name).title)
        at_rest(page)
        assert urlsplit(page.url).path == ("/" if name == "home" else f"/{name}")
        if whole:
            found[f"{name} in the {themes[0]}"] = violations(page, ALL_RULES)
        if whole or place == len(PAGES) // 2:
            themes.reverse()
            paint(page, themes[0])
        found[f"{name} in the {themes[0]}"] = violations(page, COLOUR_RULES if whole else ALL_RULES)
        for width in WIDTHS if whole else WIDTHS[:1]:
            page.set_viewport_size({"width": width, "height": 800})
            at_rest(page)
            found[f"{name} in {width} px"] = max(0, page.evaluate(WIDER) - 1)
            found[f"{name} hides in {width} px"] = page.evaluate(WITHOUT_BUTTONS)
        if whole:
            found[f"{name} on a phone"] = violations(page, ALL_RULES)
        page.set_viewport_size(WINDOW)
        at_rest(page)
    assert {where: what for where, what in found.items() if what} == {}


def test_axe_finds_no_violation_in_menus_in_the_dark(page: Page, project: App) -> None:
    header = [f".st-key-{control} button" for control in ("frame-menu", "frame_project", "jobs_tray")]
    options = "[data-testid=stMain] [data-testid=stPopoverButton]:has-text('Options')"
    page.emulate_media(color_scheme="dark")
    for name, menus in (
        ("people", [*header, "[data-testid=stPopoverButton]:has-text('Add user')"]),
        ("compare", [options]),
    ):
        visit(page, project, (name, {}))
        page.evaluate(AXE.read_text("utf-8"))
        for button in menus:
            page.locator(button).first.click()
            expect(page.get_by_test_id("stPopoverBody").first).to_be_visible()
            at_rest(page)
            assert violations(page, ALL_RULES) == [], button
            page.keyboard.press("Escape")
            expect(page.get_by_test_id("stPopoverBody")).to_have_count(0)
    page.emulate_media(color_scheme="light")


def paint(page: Page, scheme: str) -> None:
    """Let the system ask for light or dark, and wait until the page has followed."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    dark = scheme == "dark"
    wait_for(lambda: page.evaluate(GROUND) < 150 if dark else page.evaluate(GROUND) > 600)
    grounds = page.locator(".map-view[data-ready]")
    for place in range(grounds.count()):  # maps are drawn anew by the server
        drawn = grounds.nth(place)
        wait_for(lambda map=drawn: (map.evaluate(PAPER) < 150) == dark)
    at_rest(page)


def violations(page: Page, rules: list[str], part: str = "html") -> list[str]:
    """What axe finds in a part of the page, and whether something broke."""
    broken = page.get_by_test_id("stException").or_(page.get_by_text(BROKEN)).all_inner_texts()
    return [*broken, *page.evaluate(VIOLATIONS, [rules, part])]
