"""Markup in every text of the store, in every text box and in every URL key: no page runs any of it."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
import sqlalchemy as sa
from playwright.sync_api import Page

from tests.e2e.conftest import PAYLOAD, serving
from tests.e2e.hands import at_rest, using
from tests.homes import MakeHome
from tests.webapp.filled import CORPUS, MODEL, SET, add_comparison, fill
from tests.webapp.test_map_figure import canvas
from themescope.core.records.stored import Sharing
from themescope.core.types import Sentence
from themescope.db.records import NewLabelling, Verdict
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.db.tables import metadata
from themescope.db.types import Text
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.report import report_file
from themescope.webapp.features import REGISTRY
from themescope.webapp.features.map import controls, figure
from themescope.webapp.features.map.figure import FigureSettings
from themescope.webapp.map_view import scene as map_scene

SCRIPT_ADDRESS = "javascript:window.pwned=1"
FIXED = {
    *("action", "artifact", "clusterer", "digest", "dtype", "field", "format", "key_hash", "kind", "language"),
    *("method", "metric", "operation", "page", "paper", "password", "profile", "query", "queue", "role", "session"),
    *("status", "token_hash", "verdict"),
}
"""Columns that the program fills itself: words of fixed sets, digests, and keys of other rows."""
WITHOUT_TEXTS = {"counts", "errors", "estimates", "import", "report", "tasks", "themes", "train"}
"""Pages with forms, and tables that this store has none of: only the frame has a text, the shortened name."""
OPENS = "[role=tab], summary, [data-testid=stPopover] button"


@pytest.fixture(scope="module")
def home(make_home: MakeHome) -> Path:
    def fill_hostile(store: Store) -> None:
        fill(store)
        add_comparison(store, CORPUS, MODEL)
        with store.reading() as r:
            corpus, made = r.corpora.by_name(CORPUS), r.triplets.by_name(SET)
            triplet = int(r.triplets.ids(made.id)[0])
        starts.begin(store, NewLabelling(corpus.id, "shared", "lea", Sharing.SHARED), starts.from_sections)
        with store.writing() as w:
            w.reviews.add(made.id, triplet, "lea", Verdict.GOOD, "a note")
            w.views.add("map", "mine", "a=1", "lea")
            w.audit_log.add("lea", "account added", "val", "viewer")
            replace_texts(w.people.connection)

    return make_home(fill_hostile)


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[str]:
    with serving(home) as url:
        yield url


def replace_texts(connection: sa.Connection) -> None:
    """Put the payload before every text that people write, also inside JSON."""
    for table in metadata.sorted_tables:
        texts = [c for c in table.c if isinstance(c.type, Text) and c.name not in FIXED]
        if texts:
            connection.execute(sa.update(table).values({c.name: PAYLOAD + " " + c for c in texts}))
    article, corpus, section = (metadata.tables[name] for name in ("article", "corpus", "section"))
    connection.execute(sa.update(article).values(url=SCRIPT_ADDRESS))
    for table, column in ((corpus, "report"), (section, "path")):
        for id, value in connection.execute(sa.select(table.c.id, table.c[column])).all():
            connection.execute(sa.update(table).where(table.c.id == id).values({column: hostile(value)}))


def hostile(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: hostile(v) for key, v in value.items()}
    if isinstance(value, list):
        return [hostile(v) for v in value]
    return f"{PAYLOAD} {value}" if isinstance(value, str) else value


@pytest.mark.slow
@pytest.mark.parametrize("id", REGISTRY.ids())
def test_no_text_runs(server: str, tab: Page, id: str) -> None:
    address = f"{server}/{'' if id == 'home' else id}"
    with using(tab, server):
        tab.goto(address)
        harmless(tab)
        seen = tab.get_by_text("<script>").count()
        for number in range(tab.locator(OPENS).count()):
            if (opens := tab.locator(OPENS).nth(number)).is_visible() and opens.is_enabled():
                opens.click()
            harmless(tab)
            seen += tab.get_by_text("<script>").count()
            tab.keyboard.press("Escape")
        assert seen or (id in WITHOUT_TEXTS and tab.get_by_text("<img src=x").count())
        tab.goto(address)  # what was opened may cover the rest
        at_rest(tab)
        boxes = tab.locator("input[type=text]:not([role=combobox]), textarea")
        for number in range(boxes.count()):
            if (box := boxes.nth(number)).is_visible() and box.is_enabled():
                box.fill(PAYLOAD)
                box.press("Enter")
                harmless(tab)
        keys = getattr(REGISTRY.get(id).page_keys(), "urls", {})
        values = [key for key, url in keys.items() if not url.record and key != "corpus"]
        for named in (keys, values):  # what does not exist, and what the widgets of the page refuse
            tab.goto(f"{address}?{urlencode(dict.fromkeys(named, PAYLOAD))}")
            harmless(tab)


HOSTILE = [
    PAYLOAD,
    "</text></script><script>window.pwned=1</script>",
    "]]><svg onload='window.pwned=1'>",
    "<a href='javascript:window.pwned=1' onmouseover='window.pwned=1'>here</a>",
    "<foreignObject><iframe srcdoc='<script>parent.pwned=1</script>'></iframe></foreignObject>",
    "&lt;script&gt; \x01\x08\x1b\ufffe &#60;",
]


@pytest.mark.slow
def test_no_file_runs_in_a_browser(home: Path, tab: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A figure of a map as SVG, a map as a web page, and reports as web pages."""
    store = Store(Settings.in_folder(home))
    with store.reading() as r:
        corpus = r.corpora.list()[0]
        labellings = r.labellings.list(corpus.id)
    reports = {f"{long}.html": report_file(store, corpus, labellings, ".html", long) for long in (False, True)}
    store.close()
    drawn = canvas([f"{name} {number}" for number, name in enumerate(HOSTILE)])
    drawn.scene.known[0] = SimpleNamespace(title=HOSTILE[1])  # type: ignore[assignment]
    monkeypatch.setattr(map_scene, "texts", lambda scene, rows: [Sentence(HOSTILE[row % len(HOSTILE)]) for row in rows])
    files = {
        "map.html": controls.page(drawn, PAYLOAD).encode(),
        "figure.svg": figure.svg(drawn, FigureSettings(300, 300, 4, caption=" ".join(HOSTILE))).encode(),
    }
    for name, content in (reports | files).items():
        (tmp_path / name).write_bytes(content)
        tab.goto((tmp_path / name).as_uri())
        for place in ("svg text", "canvas", "a"):
            for found in tab.locator(place).all()[:20]:
                found.dispatch_event("mouseover")
        assert tab.evaluate("window.pwned") is None
        assert tab.locator("a[href^='javascript:' i], img[src=x], parsererror, foreignObject, iframe").count() == 0
        assert "window.pwned=1" in (tab.locator(":root").text_content() or "")


def harmless(page: Page) -> None:
    at_rest(page)
    assert page.evaluate("window.pwned") is None
    assert page.locator("a[href^='javascript:' i], img[src=x]").count() == 0
