"""A codebook is written, exported as a REFI-QDA project and imported again, identical, by keyboard only."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import FileChooser, Page, expect

from tests.e2e.conftest import LABELLING, App
from tests.e2e.hands import at_rest, open_page
from tests.e2e.test_keyboard_flows import FOCUSED, tab_to
from tests.webapp.filled import CORPUS
from themescope.core.labelling.codebook.entries import codes
from themescope.core.labelling.partition import UNASSIGNED


@pytest.fixture
def caught_choosers(page: Page) -> Iterator[None]:
    """Catch file choosers from the start: Playwright begins some time after it is asked, too late for a key press."""

    def caught(chooser: FileChooser) -> None:
        pass

    page.on("filechooser", caught)
    yield
    page.remove_listener("filechooser", caught)


def facts(app: App, name: str) -> tuple[object, ...]:
    """What a labelling and its codebook say, with names in place of the numbers of clusters."""
    with app.store.reading() as r:
        partition = r.labellings.snapshot(r.labellings.by_name(name).id).partition
    names = {number: cluster.name for number, cluster in partition.clusters.items()} | {UNASSIGNED: ""}
    entries = {code.cluster.name: (code.cluster.colour, code.entry) for code in codes(partition)}
    return entries, [names[n] for n in partition.numbers.tolist()], dict(partition.notes), partition.ids.tolist()


def open_codebook(page: Page, app: App) -> None:
    query = {"corpus": CORPUS, "codebook_labelling": LABELLING, "codebook_view": "Codes"}
    open_page(page, f"{app.url}/codebook?{urlencode(query)}", "Codebook")
    at_rest(page)


@pytest.mark.usefixtures("caught_choosers")
@pytest.mark.slow
def test_a_codebook_by_keyboard_only(page: Page, labelled: App, tmp_path: Path) -> None:
    open_codebook(page, labelled)
    tab_to(page, "Edit")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Definition")).to_be_visible()
    at_rest(page)
    tab_to(page, "Definition")
    page.keyboard.type("What the river is.")
    tab_to(page, "Exclusion rules")
    page.keyboard.type("Its neighbours.")
    tab_to(page, "Save code")
    page.keyboard.press("Enter")
    expect(page.get_by_text("What the river is.")).to_be_visible()
    expect(page.get_by_role("textbox", name="Definition")).to_have_count(0)
    at_rest(page)
    tab_to(page, "New code")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Name", exact=True)).to_be_focused()
    at_rest(page)
    for name in ("Ferries", "Dams"):  # one after the other
        page.keyboard.type(name)
        page.keyboard.press("Enter")
        expect(page.get_by_text(f"Saved: {name} with 0 units")).to_be_visible()
        expect(page.get_by_role("textbox", name="Name", exact=True)).to_have_value("")
        at_rest(page)
    open_codebook(page, labelled)
    for view, content in (("Versions", "No versions yet."), ("Files", "Import")):
        tab_to(page, "⋯expand_more")
        page.keyboard.press("Enter")
        expect(page.get_by_role("menuitem", name=view)).to_be_visible()
        while page.evaluate(FOCUSED) != view:
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.get_by_text(content, exact=True)).to_be_visible()
        at_rest(page)
    tab_to(page, "Report and files")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="QDPX")).to_be_visible()
    at_rest(page)
    tab_to(page, "QDPX")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    path = tmp_path / "keys.qdpx"
    download.value.save_as(path)
    open_page(page, f"{labelled.url}/import?corpus={CORPUS}", "Import")
    at_rest(page)
    tab_to(page, "Upload")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(path)
    expect(page.get_by_text("found here")).to_be_visible()
    at_rest(page)
    tab_to(page, "Add the codings")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/code[?].*code_labelling="))
    assert facts(labelled, f"{LABELLING} 2") == facts(labelled, LABELLING)
