"""Steps of the tutorials: the numbered items of a document, each with sentences that a browser can follow.

A step is written for people; its form is fixed, so that a script can do literally what it says. An item with a
sentence of another form is an error.
"""

import io
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.e2e.hands import TRIES, at_rest, choose, name_is, turn_to

JOBS_MS = 120_000
"""Time for the jobs that a tutorial waits for."""
REPLACED_MS = 500
"""Time after which a page has begun to follow a choice."""
TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
CODES = (
    ("1", r"(?i)\b(rents?|flats?|homes?|houses?|landlords?|lets|wages|housing|normal salary)\b"),
    ("2", r"(?i)\b(bus|buses|trains?|tram|ticket|cycle|traffic|station|timetable|road works|fares|parking)\b"),
    ("3", ""),
)
"""Key → words of the answers with the code of the tutorial on a survey."""
MOST_ITEMS, COLOURS = 100, 128
HEADER_MS = 5_000
"""Longest time until the header has noticed jobs that were just queued."""


def steps(document: Path) -> list[str]:
    """Return the sentences of the numbered items of a document, in order; the numbers must be 1, 2, 3 …

    An image is a step, too: its file shows the window as it is at that place of the document.
    """
    text = re.sub(r"^```.*?^```$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    items = re.findall(r"^(\d+\. |(?=!\[))(.+(?:\n {2,}.+)*)", text, re.MULTILINE)
    numbers = [int(number[:-2]) for number, _ in items if number]
    assert numbers == list(range(1, len(numbers) + 1))
    said = [" ".join(item.split()) for _, item in items]
    return [sentence for item in said for sentence in re.split(r"(?<=[.”])\s+(?=[A-Z])", item)]


@dataclass
class Reader:
    """A person who follows a tutorial in a window, and in that of a colleague."""

    windows: tuple[Page, Page]
    url: str
    pictures: Path | None = None
    """Folder into which the images of the document are written; None if they stay as they are."""
    own: bool = True
    done: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        return self.windows[0 if self.own else 1]

    def follow(self, document: Path) -> None:
        for sentence in steps(document):
            action, found = form_of(sentence)
            at_rest(self.page)
            action(self, *found.groups())
            self.done.append(sentence)

    def open_page(self, name: str) -> None:
        turn_to(self.page, name)

    def open_project(self, name: str) -> None:
        """Open a project by the menu at the start of the breadcrumb, unless it is open."""
        at = self.page.locator(".st-key-frame_project").get_by_role("button").first
        expect(at).to_be_visible()
        if name not in at.inner_text():
            at.click()
            entries = self.page.get_by_test_id("stPopoverBody").get_by_role("button")
            entries.filter(has_text=re.compile(f"{re.escape(name)}$")).click()
            expect(at).to_contain_text(name)

    def open_tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click()

    def click(self, label: str) -> None:
        """Click a button, or what unfolds; “…” in a label stands for what differs between stores."""
        name = ".*".join(re.escape(part) for part in label.split("…")) + "$"
        main = self.page.get_by_test_id("stMain")
        unfolds = main.locator("summary", has_text=re.compile(name))  # with the name of its icon in front
        main.get_by_role("button", name=re.compile(f"^{name}")).or_(unfolds).first.click()

    def click_unit(self, place: str) -> None:
        self.page.locator(".panes .unit .tick").nth(int(place) - 1).click()

    def choose_in_menu(self, name: str) -> None:
        at_rest(self.page)
        main = self.page.get_by_test_id("stMain")
        main.get_by_test_id("stMenuButtonButton").filter(has_text="⋯").locator("visible=true").click()
        self.page.get_by_role("menuitem", name=name, exact=True).click()

    def enter(self, text: str, label: str) -> None:
        """Fill a box in, and again if the page replaced it meanwhile, as after the choice of an article."""
        for _ in range(TRIES):
            self._box(label).fill(text)
            self._box(label).blur()  # Enter would send a form
            self.page.wait_for_timeout(REPLACED_MS)
            at_rest(self.page)
            if self._box(label).input_value() == text:
                return
        raise AssertionError(f"“{label}” does not keep “{text}”.")

    def enter_name(self, person: str) -> None:
        name_is(self.page, person)

    def choose(self, option: str, label: str) -> None:
        choose(self.page, label, option)

    def choose_segment(self, option: str, label: str) -> None:
        """Choose one of several segments; “…” stands for what differs between stores."""
        name = ".*".join(re.escape(part) for part in option.split("…"))
        group = self.page.get_by_role("radiogroup", name=label)
        group.get_by_role("radio", name=re.compile(f"^{name}$")).click()

    def choose_file(self, name: str, label: str) -> None:
        at_rest(self.page)
        self.page.get_by_test_id("stFileUploader").filter(has_text=label).locator("input").set_input_files(
            str(TUTORIALS / name)
        )

    def add_two(self, first: str, second: str, label: str) -> None:
        box = self.page.get_by_role("combobox", name=label, exact=True)
        for name in (first, second):
            at_rest(self.page)
            box.click()
            box.fill(name)
            box.press("Enter")
        box.press("Escape")

    def press(self, key: str) -> None:
        self.page.keyboard.press(key.lower())

    def label_all(self, end: str) -> None:
        """Give each answer that is shown the code that it is about, by keys."""
        answer, over = self.page.locator(".unit article .text"), self.page.get_by_text(end)
        for _ in range(MOST_ITEMS):
            expect(answer.or_(over).first).to_be_visible()
            if over.is_visible():
                return
            text, unit = answer.inner_text(), self.page.locator(".unit[data-unit]")
            drawn = unit.get_attribute("data-unit") or ""
            self.page.keyboard.press(next(key for key, words in CODES if re.search(words, text)))
            expect(unit).not_to_have_attribute("data-unit", drawn)
        raise AssertionError(f"There are more than {MOST_ITEMS} items.")

    def sees(self, text: str) -> None:
        expect(self.page.get_by_text(text).locator("visible=true").first).to_be_visible()

    def waits_for_header(self, text: str) -> None:
        """Wait for a text in the header, which tells the state of jobs every two seconds."""
        said = self.page.locator(".st-key-frame-header").get_by_text(text)
        with suppress(AssertionError):  # jobs that ended before the header had noticed them
            expect(said).to_have_count(0, timeout=HEADER_MS)
        expect(said).to_be_visible(timeout=JOBS_MS)

    def to_colleague(self) -> None:
        self.own = False
        self.page.goto(self.url)

    def back(self) -> None:
        self.own = True

    def picture(self, about: str, name: str) -> None:
        if self.pictures is None:
            return
        at_rest(self.page)
        self.page.mouse.move(0, 0)
        self.page.wait_for_timeout(1_000)  # maps and charts are drawn in several frames
        with Image.open(io.BytesIO(self.page.screenshot())) as image:
            small = image.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
            small.save(self.pictures / Path(name).name, optimize=True)

    def _box(self, label: str) -> Locator:
        named = self.page.get_by_label(label, exact=True)
        return named.and_(self.page.locator("input:not([role=combobox]), textarea")).first


FORMS: tuple[tuple[str, Callable[..., None]], ...] = (
    (r"Open the page \*\*(.+?)\*\*\.", Reader.open_page),
    (r"Open the project `(.+?)`\.", Reader.open_project),
    (r"Open the tab \*\*(.+?)\*\*\.", Reader.open_tab),
    (r"Click \*\*(.+?)\*\*\.", Reader.click),
    (r"Click the unit at place (\d+)\.", Reader.click_unit),
    (r"Choose \*\*(.+?)\*\* in the menu ⋯\.", Reader.choose_in_menu),
    (r"Enter `(.+?)` in \*\*(.+?)\*\*\.", Reader.enter),
    (r"Enter `(.+?)` in \*\*Your name\*\*, in the menu at the right of the header\.", Reader.enter_name),
    (r"Choose `(.+?)` under \*\*(.+?)\*\*\.", Reader.choose),
    (r"Choose \*\*(.+?)\*\* under \*\*(.+?)\*\*\.", Reader.choose_segment),
    (r"Choose the file `(.+?)` under \*\*(.+?)\*\*\.", Reader.choose_file),
    (r"Add `(.+?)` and `(.+?)` under \*\*(.+?)\*\*\.", Reader.add_two),
    (r"Press `(\w)`\.", Reader.press),
    (r"Label every answer until the page shows “(.+?)”\.", Reader.label_all),
    (r"!\[(.+)\]\((images/[\w-]+\.png)\)", Reader.picture),
    (r"(?:The page shows|Wait until the page shows) “(.+?)”\.", Reader.sees),
    (r"Wait until the header shows “(.+?)”\.", Reader.waits_for_header),
    (r"Go to the window of your colleague\.", Reader.to_colleague),
    (r"Go back to your own window\.", Reader.back),
)


def form_of(sentence: str) -> tuple[Callable[..., None], re.Match[str]]:
    for pattern, action in FORMS:
        if found := re.fullmatch(pattern, sentence):
            return action, found
    raise AssertionError(f"No script can follow this step: {sentence}")
