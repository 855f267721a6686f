"""An error notebook from 15 cases to a report, by keyboard only."""

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import App
from tests.e2e.hands import at_rest, open_page
from tests.e2e.test_keyboard_flows import TABLE_MS, tab_to
from tests.webapp.filled import CORPUS, SET
from themescope.core.labelling.selections import Origin, selected
from themescope.core.records.stored import Sharing
from themescope.db import label_tables as t
from themescope.db.label_records import NewLabelling
from themescope.jobs.services.labelling import starts

LABELLING, ADD = "Errors of rivers", "Add to error notebook"
WORDS, LEAD = "Shared words", "Lead fits anywhere"
NOTES = ("The sections share their words.", "The lead fits into any section.")
SAMPLED, CASES = 9, 15
SAVED = "() => !window.themescopeActions?.actions.length"
"""Whether the server has handled every key."""


@pytest.fixture(scope="module")
def prepared(filled: App) -> App:
    """The app with a labelling and a stored selection, without any case or category."""
    with filled.store.reading() as r:
        corpus = r.corpora.by_name(CORPUS)
        ids = [int(i) for i in r.corpora.sentence_ids(corpus.id)[30:34]]
    starts.begin(filled.store, NewLabelling(corpus.id, LABELLING, "", Sharing.SHARED), starts.from_sections)
    with filled.store.writing() as w:
        w.selections.add(selected(corpus.id, ids, Origin("lasso", ("lasso on map Rivers",))), LABELLING)
        for table in (t.error_coding, t.error_category, t.error_note, t.error_case, t.error_sample):
            w.people.connection.execute(table.delete())
    return filled


class ByKeys:
    """A person who uses the keyboard only."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, name: str, panel: bool = False) -> None:
        """Go to a control by Tab and press it; the name of one that opens a panel is followed by an icon."""
        at_rest(self.page)
        tab_to(self.page, f"{name}expand_more" if panel else name)
        self.page.keyboard.press("Enter")

    def act(self, key: str) -> None:
        """Press a key of the page."""
        at_rest(self.page)
        self.page.keyboard.press(key)

    def write(self, label: str, text: str) -> None:
        """Fill a field, and send it."""
        tab_to(self.page, label)
        self.page.keyboard.type(text)
        self.page.keyboard.press("Control+Enter")

    def turn_to_report(self) -> None:
        """Open the last tab of the page."""
        at_rest(self.page)
        while not self.page.evaluate("document.activeElement.matches('[role=tab]')"):
            self.page.keyboard.press("Tab")
        self.page.wait_for_timeout(TABLE_MS)
        at_rest(self.page)
        self.page.keyboard.press("End")


def test_fifteen_cases_become_a_report(page: Page, prepared: App) -> None:
    by = ByKeys(page)
    from_triplets(by, prepared)
    from_relabel(by, prepared)
    from_compare(by, prepared)
    from_map(by, prepared)
    sampled(by, prepared)
    coded(by, prepared)
    written = report(by)
    assert f"{CASES} cases (" in written and f"{CASES} coded" in written and "Random sample" in written
    assert all(words in written for words in (WORDS, LEAD, *NOTES, "Wilson", "<svg"))
    assert f"/notebook?corpus={CORPUS}&amp;notebook_case=" in written and "Danube Course paragraph" in written
    rows = found_cases(prepared)
    assert len(rows) == CASES and {kind for kind, _ in rows} == {"triplet", "sentence", "group", "disagreement"}
    assert {page for _, page in rows} == {"triplets", "relabel", "compare", "map"}


def found_cases(app: App) -> list[tuple[str, str]]:
    """The kind of every case and the page that it was found on."""
    with app.store.reading() as r:
        cases = r.error_notebook.list(r.corpora.by_name(CORPUS).id)
    return [(case.kind.value, case.permalink.partition("?")[0]) for case in cases]


def visit(page: Page, app: App, path: str, heading: str, **query: str) -> None:
    open_page(page, f"{app.url}/{path}?{urlencode({'corpus': CORPUS, **query})}", heading)
    at_rest(page)


def save(by: ByKeys, note: str) -> None:
    """Write the note in the open dialog, and wait until the case is stored."""
    at_rest(by.page)
    by.write("Note", note)
    expect(by.page.get_by_test_id("stToast").filter(has_text="Saved as case").last).to_be_visible()
    expect(by.page.get_by_test_id("stDialog")).to_have_count(0)


def from_triplets(by: ByKeys, app: App) -> None:
    visit(by.page, app, "triplets", "Triplets", triplets_set=SET, triplets_split="test")
    for number in range(2):
        expect(by.page.get_by_text(re.compile(f"^Triplet {number + 1} of"))).to_be_visible()
        by.act("o")
        expect(by.page.get_by_test_id("stDialog")).to_be_visible()  # the page has a field of the same name
        save(by, NOTES[number % 2])
        by.act("j")


def from_relabel(by: ByKeys, app: App) -> None:
    visit(by.page, app, "relabel", "Relabel", relabel_view="Edit", relabel_labelling=LABELLING)
    expect(by.page.locator(".columns li").first).to_be_visible()
    for number in range(2):
        line = by.page.locator(".columns li").nth(number)
        line.focus()
        by.act("Space")
        expect(by.page.locator(".columns li[aria-selected=true]")).to_have_count(number + 1)
        by.act("o")
        save(by, NOTES[number % 2])


def from_compare(by: ByKeys, app: App) -> None:
    visit(by.page, app, "compare", "Compare", compare_tab="Pair", compare_article="Danube")
    expect(by.page.get_by_role("button", name=ADD)).to_be_visible()
    by.press(ADD)
    save(by, NOTES[0])


def from_map(by: ByKeys, app: App) -> None:
    with app.store.reading() as r:
        kept = next(s for s in r.selections.list(r.corpora.by_name(CORPUS).id) if s.name == LABELLING)
    visit(by.page, app, "map", "Map", map_selection=str(kept.id))
    expect(by.page.get_by_role("button", name="Error notebook")).to_be_visible()
    by.press("Error notebook", panel=True)
    save(by, NOTES[1])


def sampled(by: ByKeys, app: App) -> None:
    """Draw failures of a clustering at random."""
    visit(by.page, app, "notebook", "Error notebook")
    by.press("Sample failures", panel=True)
    expect(by.page.get_by_role("radio", name="Sentences in the wrong cluster")).to_be_visible()
    tab_to(by.page, "Wrong triplets")
    by.page.keyboard.press("ArrowRight")
    by.page.keyboard.press("Space")
    expect(by.page.get_by_text(re.compile(r"^\d+ failures of"))).to_be_visible()
    at_rest(by.page)
    tab_to(by.page, "Number of failures")
    by.page.keyboard.press("Control+a")
    by.page.keyboard.type(str(SAMPLED))
    by.page.keyboard.press("Enter")
    expect(by.page.get_by_role("button", name=f"Draw {SAMPLED}")).to_be_visible()
    by.press(f"Draw {SAMPLED}")
    expect(by.page.get_by_text(f"1 of {SAMPLED} cases")).to_be_visible()


def coded(by: ByKeys, app: App) -> None:
    """Give each case one of two categories, which are created beside the first case."""
    page = by.page
    visit(page, app, "notebook", "Error notebook")
    for name in (WORDS, LEAD):
        by.press("New category", panel=True)
        expect(page.get_by_label("Name", exact=True)).to_be_visible()
        by.write("Name", name)
        expect(page.get_by_role("button", name=f"· {name}")).to_be_visible()
        page.keyboard.press("Escape")
    for number in range(1, CASES):
        by.act("j")
        expect(page.get_by_text(f"{number + 1} of {CASES} cases")).to_be_visible()
        by.act(str(1 + number % 2))
        page.wait_for_function(SAVED)


def report(by: ByKeys) -> str:
    """The report as HTML, as it is downloaded."""
    by.turn_to_report()
    expect(by.page.get_by_role("button", name="Report (HTML)")).to_be_visible()
    with by.page.expect_download() as download:
        by.press("Report (HTML)")
    return Path(download.value.path()).read_text(encoding="utf-8")
