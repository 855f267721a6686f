"""Two people with a task: one by clicks without dragging, one by keyboard only; a gold labelling ends it."""

import re
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.db.texts import add_texts, article
from tests.e2e.conftest import App
from tests.e2e.hands import LATENCY, at_rest, choose, name_is, open_page
from tests.e2e.test_keyboard_flows import tab_to
from themescope.core.labelling.task_items import DistributionPlan
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import ItemRecord, ItemState, NewLabelling, TaskRecord
from themescope.db.store import Store
from themescope.jobs.services import tasks
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.samples import SampleForm

CORPUS, TASK = "Team towns", "Team pilot"
ARTICLES, UNITS = 2, 12


def items(app: App, person: str) -> list[ItemRecord]:
    with app.store.reading() as r:
        return r.tasks.items(r.tasks.by_name(TASK).id, person)


def tasks_of(page: Page, app: App, person: str, corpus: str = CORPUS) -> None:
    open_page(page, f"{app.url}/tasks?{urlencode({'corpus': corpus})}", "Tasks")
    name_is(page, person)
    at_rest(page)


def make_task(page: Page) -> None:
    """Everything by both people, from the sections."""
    page.get_by_role("button", name="New task").click()
    page.get_by_role("textbox", name="Name", exact=True).fill(TASK)
    people = page.get_by_role("combobox", name="Who", exact=True)
    for name in ("Ada", "Ben"):
        at_rest(page)
        people.click()
        people.fill(name)
        people.press("Enter")
    people.press("Escape")
    at_rest(page)
    choose(page, "Codebook to start from", "Sections")
    page.get_by_text("Blind", exact=True).click()
    at_rest(page)
    page.get_by_text("More", exact=True).click()
    choose(page, "Which units", "All units")
    page.get_by_role("button", name="Create task", exact=True).click()
    expect(page.get_by_text(f"0 of {UNITS} units").first).to_be_visible()


def done_is(page: Page, done: int) -> None:
    expect(page.locator(".unit .count")).to_have_text(f"{done} of {UNITS}")
    expect(page.locator(".unit .text")).to_be_visible()


def test_a_task_of_two_people_ends_in_a_gold_labelling(page: Page, other_page: Page, app: App) -> None:
    with app.store.writing() as w:
        add_texts(w, CORPUS, [article(f"Town {number}", paragraphs=1) for number in range(ARTICLES)])
    tasks_of(page, app, "Ada")
    make_task(page)
    assert [item.state for item in items(app, "Ada")] == [ItemState.OPEN] * ARTICLES
    by_clicks(page, app)
    tasks_of(other_page, app, "Ben")
    by_keys(other_page, app)
    adjudicate(page, app)


def by_clicks(page: Page, app: App) -> None:
    """The first unit gets another code than its section; all others are confirmed with theirs."""
    page.get_by_role("button", name="Start").click()
    done_is(page, 0)
    page.locator(".unit li button").nth(1).click()
    for done in range(1, UNITS):
        done_is(page, done)
        page.locator(".unit li button[aria-pressed=true]").click()
    expect(page.get_by_text("All units here are done.")).to_be_visible()
    assert [item.state for item in items(app, "Ada")] == [ItemState.DONE] * ARTICLES
    page.get_by_role("link", name="Tasks").last.click()
    expect(page.get_by_text(f"{UNITS} of {UNITS} units").first).to_be_visible()


def by_keys(page: Page, app: App) -> None:
    tab_to(page, "Start")
    page.keyboard.press("Enter")
    done_is(page, 0)
    page.keyboard.press("3")
    for done in range(1, UNITS):
        done_is(page, done)
        page.keyboard.press("Enter")
    expect(page.get_by_text("All units here are done.")).to_be_visible()
    assert [item.state for item in items(app, "Ben")] == [ItemState.DONE] * ARTICLES


def adjudicate(page: Page, app: App) -> None:
    query = {"corpus": CORPUS, "agreement_scope": f"Task: {TASK}"}
    open_page(page, f"{app.url}/agreement?{urlencode(query)}", "Agreement")
    expect(page.get_by_text("Disagreements (1)")).to_be_visible()
    at_rest(page)
    tab_to(page, "Settle them")
    page.keyboard.press("Enter")
    expect(page.locator(".unit .text")).to_be_visible()
    page.keyboard.press("2")
    expect(page.get_by_text("All disputes are settled.")).to_be_visible()
    with app.store.reading() as r:
        made = r.labellings.by_name(f"{TASK} gold")
        state = r.labellings.snapshot(made.id).partition
    assert made.origin["open"] == 1 and sorted(made.origin["of"]) == [f"{TASK} · Ada", f"{TASK} · Ben"]
    assert not state.uncertain.any() and len(state.ids) == UNITS


SHOWN = """() => {
    for (const one of document.querySelectorAll("*")) {
        const text = one.shadowRoot?.querySelector(".unit article .text");
        if (text) return text.textContent;
    }
    return "";
}"""
EVERY_MS = 200


def one_sentence_items(store: Store, corpus_name: str, n: int) -> TaskRecord:
    """A task of sentences "Shown 1.", "Shown 2.", …, by a codebook of three codes."""
    with store.writing() as w:
        paragraphs = tuple(Paragraph("", (f"Shown {place + 1}.",)) for place in range(n))
        corpus, ids = add_texts(w, corpus_name, [Article("list", (Section("", 1, paragraphs),))], readers=["table"])
    names = dict(enumerate(("One", "Two", "Three")))
    begin = starts.from_labels(ids[:3], np.arange(3), names, {"from": "table"})
    codes = starts.begin(store, NewLabelling(corpus, f"{corpus_name} codes", "Kim"), begin)
    form = tasks.TaskForm(
        corpus, f"{corpus_name} task", "Kim", (), DistributionPlan(("Kim",), 0.0), longest=1, blind=True,
        start=tasks.START_CLUSTERS, start_id=codes.id, sample=SampleForm(n),
    )  # fmt: skip
    return tasks.make(store, form)


def open_task(page: Page, app: App, corpus: str, person: str) -> None:
    tasks_of(page, app, person, corpus)
    page.get_by_role("button", name="Continue").or_(page.get_by_role("button", name="Start")).click()
    expect(page.locator(".unit article .text")).to_be_visible()
    at_rest(page)


def right_key(text: str) -> str:
    """What "Shown 7." is."""
    return str(int(text.removeprefix("Shown ").removesuffix(".")) % 3 + 1)


def type_keys(page: Page, n: int) -> None:
    """Press the right key of every unit as soon as it is there, five a second."""
    last = ""
    for _ in range(n):
        page.wait_for_function(f"(last) => {{ const text = ({SHOWN})(); return text && text !== last; }}", arg=last)
        last = page.evaluate(SHOWN)
        page.keyboard.press(right_key(last))
        page.wait_for_timeout(EVERY_MS)
    expect(page.locator(".unit[data-waiting='0']")).to_have_count(1)


def coded(app: App, person: str, corpus: str) -> dict[str, str]:
    """The text of each unit that has a code, and the key of that code."""
    with app.store.reading() as r:
        state = r.labellings.snapshot(r.labellings.by_name(f"{corpus} task · {person}").id).partition
        texts = {id: sentence.text for id, sentence in r.corpora.sentences_by_id(state.ids).items()}
    return {texts[id]: str(n) for id, n in zip(state.ids.tolist(), state.numbers.tolist(), strict=True) if n > 0}


@pytest.mark.parametrize(("latency_ms", "units"), [(0, 60), pytest.param(300, 60, marks=pytest.mark.slow)])
def test_every_key_codes_the_unit_that_is_shown(
    page: Page, other_page: Page, app: App, latency_ms: int, units: int
) -> None:
    """A second tab is told what the first one did, and writes only what it shows then."""
    corpus = f"Shown {latency_ms}"
    task = one_sentence_items(app.store, corpus, units)
    for tab in (page, other_page):
        open_task(tab, app, corpus, "Kim")
    page.evaluate(LATENCY, latency_ms)
    type_keys(page, units - 4)
    before, first = coded(app, "Kim", corpus), other_page.evaluate(SHOWN)
    wrong = str(int(right_key(first)) % 3 + 1)
    other_page.keyboard.press(wrong)
    expect(other_page.locator(".unit .conflict")).to_contain_text(f"“{first}” was changed by you, elsewhere")
    assert coded(app, "Kim", corpus) == before
    other_page.get_by_role("button", name="Show the unit").click()
    expect(other_page.locator(".unit[data-waiting='0']")).to_have_count(1)
    assert other_page.evaluate(SHOWN) == first
    other_page.keyboard.press(wrong)
    expect(other_page.locator(".unit[data-waiting='0']")).to_have_count(1)
    assert coded(app, "Kim", corpus) == {**before, first: wrong}
    type_keys(other_page, 4)
    expect(other_page.get_by_text("All units here are done.")).to_be_visible()
    shown = [f"Shown {n}." for n in range(1, units + 1)]
    assert coded(app, "Kim", corpus) == {text: right_key(text) for text in shown} | {first: wrong}
    with app.store.reading() as r:
        assert {item.state for item in r.tasks.items(task.id, "Kim")} == {ItemState.DONE}


def settled(page: Page, done: int, n: int) -> str:
    """Wait until everything is saved and so many units are done; the unit that is shown."""
    expect(page.locator(".unit[data-waiting='0'] .count")).to_have_text(f"{done} of {n}")
    expect(page.locator(".unit article .text")).to_be_visible()
    return str(page.evaluate(SHOWN))


def test_every_action_has_a_key(page: Page, app: App) -> None:
    corpus, n = "Shown by keys", 6
    one_sentence_items(app.store, corpus, n)
    open_task(page, app, corpus, "Kim")
    first = settled(page, 0, n)
    page.keyboard.press("1")
    second = settled(page, 1, n)
    page.keyboard.press("u")
    assert settled(page, 0, n) == first
    page.keyboard.press("y")
    expect(page.locator(".unit .count")).to_have_text(f"1 of {n}")
    page.keyboard.press("ArrowRight")
    assert settled(page, 1, n) == second
    page.keyboard.press("x")
    expect(page.get_by_role("button", name="Uncertain")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("f")
    page.keyboard.type("thr")
    page.keyboard.press("Enter")
    third = settled(page, 2, n)
    page.keyboard.press("j")
    page.keyboard.type("1 or 2?")
    page.keyboard.press("Enter")
    settled(page, 3, n)
    page.keyboard.press("0")
    fifth = settled(page, 4, n)
    page.keyboard.press("Enter")
    expect(page.locator(".unit .status")).to_have_text("Press the key of a code.")
    page.keyboard.press("t")
    page.keyboard.type("unclear 3")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert settled(page, 4, n) == third
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    expect(page.locator(".unit[data-waiting='0']")).to_have_count(1)
    page.get_by_role("link", name="Codebook").press("Enter")  # which accepts a suggestion where no link has the focus
    expect(page).to_have_url(re.compile("/codebook"))
    with app.store.reading() as r:
        state = r.labellings.snapshot(r.labellings.by_name(f"{corpus} task · Kim").id).partition
        texts = {sentence.text: id for id, sentence in r.corpora.sentences_by_id(state.ids).items()}
    assert coded(app, "Kim", corpus) == {first: "1", second: "3", third: "2"}
    assert state.ids[state.uncertain].tolist() == [texts[second]]
    assert state.notes[texts[third]] == "1 or 2?" and texts[fifth] not in state.notes
    assert sorted(state.notes.values()) == ["1 or 2?", "None of the codes fits."]
