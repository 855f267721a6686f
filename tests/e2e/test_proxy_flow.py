"""Two web servers behind a real nginx, with the configuration of docs/deploy: a page survives the end of its server."""

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import wait_for
from tests.e2e.hands import PATIENCE_MS, WINDOW, menu
from tests.e2e.proxied import Installation, installation, nginx, trusting
from tests.homes import MakeHome
from themescope.db import tables as t
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.webapp.routes.middleware import SECURITY_HEADERS

ROUTE = "themescope_route"


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory, make_home: MakeHome) -> Iterator[Installation]:
    if nginx() is None:
        pytest.skip("nginx is not installed. On Debian: apt-get install nginx-light")
    folder = tmp_path_factory.mktemp("proxied")
    make_home(lambda store: None).rename(folder / "home")
    with installation(folder, {"THEMESCOPE_HOME": str(folder / "home")}) as found:
        yield found


@pytest.fixture
def page(proxied: Installation, browser: Browser) -> Iterator[Page]:
    """A tab that accepts the certificate of the test."""
    context = browser.new_context(viewport=WINDOW, ignore_https_errors=True, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


def kept_names(proxied: Installation) -> set[str]:
    """Return the names that the store keeps for browsers."""
    store = Store(Settings.in_folder(proxied.folder / "home"))
    with store.reading() as r:
        names = set(r.people.connection.scalars(sa.select(t.session.c.person)))
    store.close()
    return names


def route(page: Page) -> str:
    return next(str(cookie["value"]) for cookie in page.context.cookies() if cookie["name"] == ROUTE)


def test_a_page_goes_on_when_its_web_server_is_killed(proxied: Installation, page: Page) -> None:
    page.goto(f"{proxied.url}/texts")
    expect(page.get_by_role("heading", name="Texts", exact=True)).to_be_visible()
    with menu(page) as opened:
        opened.get_by_role("textbox", name="Your name").fill("Ada")
        opened.get_by_role("textbox", name="Your name").press("Enter")
        wait_for(lambda: "Ada" in kept_names(proxied), 180, "the name in the store")
    first = route(page)
    proxied.web_of(first).kill()
    proxied.web_of(first).wait()
    wait_for(lambda: page.evaluate("1") and route(page) != first, 60, "the other web server")
    expect(page.locator(".stApp[data-test-connection-state=CONNECTED]")).to_be_visible()
    page.get_by_role("link", name="Code", exact=True).click()
    expect(page.get_by_role("heading", name="Code", exact=True)).to_be_visible()
    with menu(page) as opened:
        expect(opened.get_by_role("textbox", name="Your name")).to_have_value("Ada")


def test_what_the_proxy_answers(proxied: Installation) -> None:
    def answer(path: str, **headers: str) -> tuple[int, dict[str, str]]:
        request = urllib.request.Request(f"{proxied.url}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30, context=trusting(proxied.folder)) as found:
                return found.status, {key.lower(): value for key, value in found.headers.items()}
        except urllib.error.HTTPError as error:
            return error.code, {}

    status, headers = answer("/")
    assert status == 200 and {key.lower() for key in SECURITY_HEADERS} <= set(headers)
    assert headers["set-cookie"].endswith("Path=/; HttpOnly; Secure; SameSite=Lax")
    name = headers["set-cookie"].partition(";")[0]
    assert ROUTE in name and "set-cookie" not in answer("/", Cookie=name)[1]
    assert answer("/readyz")[0] == 404
    assert answer("/healthz")[0] == 200
    assert answer("/", Host="evil.example")[0] == 403
