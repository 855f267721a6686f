"""A codebook is written, exported as a REFI-QDA project and imported again, identical: by clicks, and by keys only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import FileChooser, Page, expect

from tests.e2e.conftest import PAYLOAD, App
from tests.e2e.hands import at_rest, open_page
from tests.e2e.test_keyboard_flows import tab_to
from tests.webapp.filled import CORPUS
from themescope.core.labelling.codebook.entries import codes, entry_of
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.labelling.training import training_items
from themescope.db.label_records import LabellingRecord, NewLabelling, Sharing
from themescope.jobs.services.labelling import starts

BY_CLICKS, BY_KEYS = "Codebook by clicks", "Codebook by keys"


@pytest.fixture
def caught_choosers(page: Page) -> Iterator[None]:
    """Catch file choosers from the start: Playwright begins some time after it is asked, too late for a key press."""

    def caught(chooser: FileChooser) -> None:
        pass

    page.on("filechooser", caught)
    yield
    page.remove_listener("filechooser", caught)


@pytest.fixture(scope="module")
def labelled(filled: App) -> App:
    """The app with two labellings that start from the sections."""
    with filled.store.reading() as r:
        corpus = r.corpora.by_name(CORPUS)
    for name in (BY_CLICKS, BY_KEYS):
        starts.begin(filled.store, NewLabelling(corpus.id, name, "", Sharing.SHARED), starts.from_sections)
    return filled


def stored(app: App, name: str) -> tuple[LabellingRecord, Partition]:
    with app.store.reading() as r:
        record = r.labellings.by_name(name)
        return record, r.labellings.snapshot(record.id).partition


def facts(partition: Partition) -> tuple[object, ...]:
    """What a labelling and its codebook say, with names in place of the numbers of clusters."""
    names = {number: cluster.name for number, cluster in partition.clusters.items()} | {UNASSIGNED: ""}
    entries = {code.cluster.name: (code.cluster.colour, code.entry) for code in codes(partition)}
    return entries, [names[n] for n in partition.numbers.tolist()], dict(partition.notes), partition.ids.tolist()


def open_codebook(page: Page, app: App, name: str, view: str = "Codes") -> None:
    query = {"corpus": CORPUS, "codebook_labelling": name, "codebook_view": view}
    open_page(page, f"{app.url}/codebook?{urlencode(query)}", "Codebook")
    at_rest(page)


def test_a_codebook_by_clicks(page: Page, labelled: App, tmp_path: Path) -> None:
    query = {"corpus": CORPUS, "relabel_view": "Edit", "relabel_labelling": BY_CLICKS}
    open_page(page, f"{labelled.url}/relabel?{urlencode(query)}", "Relabel")
    page.locator(".columns section").nth(1).locator("li").first.click()
    page.locator(".toolbar [data-action=example]").click()
    panel = page.locator(".st-key-relabel_codebook")
    expect(panel.get_by_text("Examples", exact=True)).to_be_visible()
    at_rest(page)
    panel.get_by_role("button", name="Training item").click()
    expect(page.locator(".toolbar .status")).to_contain_text("1 training item")
    at_rest(page)
    panel.get_by_role("button", name="Edit entry").click()
    dialog = page.get_by_test_id("stDialog")
    dialog.get_by_role("textbox", name="Definition").fill(f"All about {PAYLOAD} & 😀")
    dialog.get_by_role("textbox", name="Inclusion rules").fill("Rivers\nNotes:")
    dialog.get_by_role("button", name="Save entry").click()
    expect(panel.get_by_text("All about")).to_be_visible()
    _, first = stored(labelled, BY_CLICKS)
    number = int(first.numbers[first.rows([training_items(first)[0].sentence])][0])
    assert (
        entry_of(first, number).definition == f"All about {PAYLOAD} & 😀" and len(entry_of(first, number).examples) == 1
    )
    panel.get_by_role("link", name="Open codebook").click()
    expect(page.get_by_role("heading", name="Codebook", level=1)).to_be_visible()
    at_rest(page)
    page.get_by_role("tab", name="Files").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="REFI-QDA project").click()
    path = tmp_path / "clicks.qdpx"
    download.value.save_as(path)
    page.get_by_text("Import project", exact=True).click()
    at_rest(page)
    page.locator(".st-key-codebook_project_file input[type=file]").set_input_files(path)
    expect(page.get_by_text("found in this project")).to_be_visible()
    at_rest(page)
    page.get_by_role("button", name="Import project").click()
    expect(page.get_by_role("combobox", name="Labelling")).to_have_value(f"{BY_CLICKS} 2")
    assert facts(stored(labelled, f"{BY_CLICKS} 2")[1]) == facts(first)
    assert page.evaluate("window.pwned") is None


@pytest.mark.usefixtures("caught_choosers")
def test_a_codebook_by_keyboard_only(page: Page, labelled: App, tmp_path: Path) -> None:
    open_codebook(page, labelled, BY_KEYS)
    tab_to(page, "Edit")
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Definition")).to_be_visible()
    at_rest(page)
    tab_to(page, "Definition")
    page.keyboard.type("What the river is.")
    tab_to(page, "Exclusion rules")
    page.keyboard.type("Its neighbours.")
    tab_to(page, "Save entry")
    page.keyboard.press("Enter")
    expect(page.get_by_text("What the river is.")).to_be_visible()
    expect(page.get_by_role("textbox", name="Definition")).to_have_count(0)
    at_rest(page)
    open_codebook(page, labelled, BY_KEYS)
    tab_to(page, "Codes")
    for tab, content in (("Versions", "No versions yet."), ("Practice", "No training items yet."), ("Files", "Export")):
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name=tab)).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("tabpanel").get_by_text(content, exact=True)).to_be_visible()
        at_rest(page)
    tab_to(page, "REFI-QDA project")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    path = tmp_path / "keys.qdpx"
    download.value.save_as(path)
    open_codebook(page, labelled, BY_KEYS, "Files")
    tab_to(page, "Import project")
    page.keyboard.press("Enter")
    expect(page.get_by_text("A REFI-QDA project (.qdpx)")).to_be_visible()
    expect(page.locator(".st-key-codebook_project_file button")).to_be_visible()
    at_rest(page)
    tab_to(page, "Upload")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(path)
    expect(page.get_by_text("found in this project")).to_be_visible()
    at_rest(page)
    tab_to(page, "Import project")
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Labelling")).to_have_value(f"{BY_KEYS} 2")
    assert facts(stored(labelled, f"{BY_KEYS} 2")[1]) == facts(stored(labelled, BY_KEYS)[1])
