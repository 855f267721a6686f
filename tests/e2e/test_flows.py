import json
import re
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.e2e.conftest import PAYLOAD, App
from tests.e2e.hands import at_rest, open_page
from tests.jobs.helpers import wait_for
from tests.webapp.filled import MODEL
from themescope.jobs.queue.runner import Runner

CORPUS = "Towns"


def test_phones_show_cards_in_place_of_tables(page: Page, filled: App) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, f"{filled.url}/train", "Train")
    card = page.locator(".table_cards").get_by_role("button").filter(has_text=MODEL)
    expect(page.get_by_test_id("stDataFrame").first).to_be_hidden()
    card.click()
    expect(page).to_have_url(re.compile("train_model="))
    page.set_viewport_size({"width": 1280, "height": 844})
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible()
    expect(card).to_be_hidden()


def corpora(app: App) -> list[str]:
    with app.store.reading() as r:
        return [corpus.name for corpus in r.corpora.list()]


def towns(folder: Path) -> Path:
    """A file of three articles; its name, and the first title and heading, are markup."""
    path = folder / "towns <b>of<b> *words*.jsonl"
    lines = []
    for title, headings in ((PAYLOAD, ("", PAYLOAD)), *((f"Town {i}", ("", "History", "Climate")) for i in (7, 8))):
        sections = [
            {"title": heading, "level": 2 if heading else 1, "paragraphs": [f"The {heading} of {title} was known."]}
            for heading in headings
        ]
        lines.append(json.dumps({"title": title, "source": "made", "url": "", "sections": sections}))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_a_file_is_seen_before_it_is_imported(page: Page, app: App, tmp_path: Path) -> None:
    open_page(page, f"{app.url}/import", "Import")
    at_rest(page)
    page.locator("input[type=file][multiple]").set_input_files(towns(tmp_path))
    expect(page.get_by_text(re.compile(r"^3 texts = 8 units · JSON lines"))).to_be_visible()
    name = page.get_by_label("Project name")
    name.fill(CORPUS)
    name.press("Enter")
    page.get_by_role("button", name="Import", exact=True).click()
    wait_for(lambda: Runner(app.store).run_next() and CORPUS in corpora(app))  # others may wait
    open_page(page, f"{app.url}/texts?{urlencode({'corpus': CORPUS, 'texts_article': 'Town 7'})}", "Texts")
    expect(page.get_by_role("heading", name="Town 7")).to_be_visible()
    sections = page.locator(".reader nav button")
    expect(sections.nth(2)).to_have_text("Climate")
    assert sections.all_inner_texts()[:3] == ["Introduction", "History", "Climate"]
