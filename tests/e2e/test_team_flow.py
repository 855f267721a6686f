"""Two people with a task: one by clicks without dragging, one by keyboard only; a gold labelling ends it."""

from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.db.texts import add_corpus
from tests.e2e.conftest import App
from tests.e2e.hands import at_rest, choose, open_page
from tests.e2e.test_keyboard_flows import tab_to
from tests.e2e.test_relabel_flow import name_is, said
from themescope.core.labelling.changes import Field, SentenceChanges
from themescope.core.labelling.task_items import DistributionPlan
from themescope.core.records.stored import CorpusRecord
from themescope.core.types import Article, Paragraph, Section
from themescope.db.label_records import ItemRecord, ItemState, NewLabelling, TaskRecord
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.tasks import making, work
from themescope.jobs.services.tasks.samples import SampleForm

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
    expect(page.get_by_text(f"item {place} of {ITEMS}")).to_be_visible()
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


# --- keys and what is shown -------------------------------------------------------------------------------------------

FRAMES = """() => {
    const all = () => [...document.querySelectorAll("*")].map((one) => one.shadowRoot);
    const roots = () => all().filter((root) => root?.querySelector(".columns"));
    const texts = (root, selector) => [...root.querySelectorAll(selector)].map((one) => one.textContent);
    const shown = () => roots().flatMap((root) => texts(root, "li.on .text"));
    Object.assign(window, { pressed: [], mixed: [] });
    document.addEventListener("keydown", (event) => window.pressed.push([event.key, ...shown()]), true);
    const look = () => {
        for (const root of roots()) {
            const item = texts(root, ".heading")[0]?.match(/item (\\d+) of/)?.[1];
            const [sentence] = texts(root, "li.on .text");
            if (sentence && sentence !== `Shown ${item}.`) window.mixed.push([item, sentence]);
        }
        requestAnimationFrame(look);
    };
    look();
}"""


def one_sentence_items(store: Store, people: tuple[str, ...], n: int) -> TaskRecord:
    """A task of sentences "Shown 1.", "Shown 2.", …, by a codebook of three codes."""
    with store.writing() as w:
        corpus = w.corpora.create("Shown", "en")
        paragraphs = tuple(Paragraph("", (f"Shown {place + 1}.",)) for place in range(n))
        w.corpora.add_articles(corpus.id, [Article("list", (Section("", 1, paragraphs),))])
        w.corpora.finish(corpus.id, {"readers": ["table"]})
        ids = w.corpora.sentence_ids(corpus.id)
    names = dict(enumerate(("One", "Two", "Three")))
    begin = starts.from_labels(ids[:3], np.arange(3), names, {"from": "table"})
    codes = starts.begin(store, NewLabelling(corpus.id, "Shown codes", people[0]), begin)
    form = making.TaskForm(
        corpus.id, "Shown task", people[0], (), DistributionPlan(people, 0.0), longest=1, blind=True,
        start=making.START_CLUSTERS, start_id=codes.id, sample=SampleForm(n),
    )  # fmt: skip
    return making.make(store, form)


def test_a_key_codes_the_sentence_that_was_shown_when_it_was_pressed(page: Page, app: App) -> None:
    """Keys as fast as they come, also between two items: none of them codes what was not there to be read."""
    n = 8
    task = one_sentence_items(app.store, ("Kim",), n)
    with app.store.reading() as r:
        first = r.tasks.items(task.id, "Kim")[0]
    opened = work.open_item(app.store, first.id)
    query = {"corpus": "Shown", "code_labelling": opened.labelling.name}
    open_page(page, f"{app.url}/code?{urlencode(query)}", "Code")
    name_is(page, "Kim")
    expect(page.locator(".columns li.on")).to_have_count(1)
    at_rest(page)
    page.evaluate(FRAMES)
    for place in range(n - 1):
        page.keyboard.press("1")
        while not page.get_by_text(f"item {place + 2} of {n}").is_visible():
            for key in ("Control+Enter", "2", "3"):
                page.keyboard.press(key)
        if place % 2:
            at_rest(page)
    at_rest(page)
    pressed, mixed = page.evaluate("window.pressed"), page.evaluate("window.mixed")
    keys = {(text, key) for key, *shown in pressed if key in "123" for text in shown}
    with app.store.reading() as r:
        state = r.labellings.snapshot(opened.labelling.id).partition
        texts = {id: sentence.text for id, sentence in r.corpora.sentences_by_id(state.ids).items()}
        log = r.label_steps.since(opened.labelling.id, 0)
    written = {(texts[int(id)], str(number)) for _, changes in log for change in changes
               if isinstance(change, SentenceChanges) and change.field is Field.CLUSTER
               for id, number in zip(change.ids, change.new, strict=True)}  # fmt: skip
    assert written
    assert written <= keys, pressed
    assert mixed == [], "the item and its sentence are drawn together"
