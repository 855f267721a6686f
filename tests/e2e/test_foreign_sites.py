"""Hostile web sites in a real browser: DNS rebinding, foreign websockets, and frames are refused."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import FLAGS, App, chromium
from tests.e2e.hands import PATIENCE_MS
from themescope.webapp.routes.middleware import FOREIGN_HOST

EVIL = "evil.example"
OPENS = """
url => new Promise(resolve => {
  const socket = new WebSocket(url, ["streamlit"])
  socket.onopen = () => { socket.close(); resolve(true) }
  socket.onerror = () => resolve(false)
})
"""
INJECTED = [
    "<img src='/none.png' onerror='window.ran = 1'>",
    "<iframe srcdoc='<script>parent.ran = 1</script>'></iframe>",
    "<img src='https://evil.example/pixel.png'>",
    "<a href='javascript:window.ran = 1'>x</a>",
]
INJECT = """
texts => {
  window.refused = []
  document.addEventListener("securitypolicyviolation", event => window.refused.push(event.violatedDirective))
  for (const text of texts) {
    const place = document.body.appendChild(document.createElement("div"))
    place.innerHTML = text
    place.querySelector("a")?.click()
  }
}
"""
EVALUATES = """
() => new Promise(resolve => setTimeout(() => {  // later, because the tools of the browser may evaluate text
  try { resolve((0, eval)("1")) } catch (error) { resolve(error.name) }
}))
"""
ANSWERS = "url => fetch(url).then(answer => answer.ok, () => false)"


@pytest.fixture(scope="module")
def visitor(browser: Browser) -> Iterator[Page]:
    """A tab of a browser for which a foreign name leads to this machine, as after DNS rebinding."""
    rule = f"--host-resolver-rules=MAP {EVIL} 127.0.0.1"
    started = browser.browser_type.launch(executable_path=chromium(), args=[*FLAGS, rule])
    page = started.new_page()
    page.set_default_timeout(PATIENCE_MS)
    yield page
    started.close()


@pytest.fixture(scope="module")
def evil_site(app: App) -> Iterator[str]:
    """The address of a foreign web site that shows the app in a frame, beside a page of its own."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            frames = f'<iframe name="app" src="{app.url}/texts"></iframe><iframe name="own" src="/own"></iframe>'
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<p>Own page</p>" if self.path == "/own" else frames.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://{EVIL}:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def evil(address: str) -> str:
    return address.replace("127.0.0.1", EVIL)


def test_a_foreign_name_that_leads_here_is_refused(app: App, visitor: Page) -> None:
    answer = visitor.goto(evil(app.url) + "/corpora?texts_view=Import")
    assert answer is not None and answer.status == 403
    assert visitor.locator("body").inner_text() == FOREIGN_HOST
    assert visitor.evaluate(OPENS, evil(app.url).replace("http:", "ws:") + "/_stcore/stream") is False


def test_a_foreign_site_shows_no_page_in_a_frame_and_opens_no_websocket(
    app: App, visitor: Page, evil_site: str
) -> None:
    stream = app.url.replace("http:", "ws:") + "/_stcore/stream"
    visitor.goto(evil_site)
    expect(visitor.frame_locator("iframe[name=own]").get_by_text("Own page")).to_be_visible()
    frame = visitor.frame(name="app")
    assert frame is not None
    assert frame.url.startswith("chrome-error:")
    assert visitor.evaluate(OPENS, stream) is False
    assert visitor.evaluate(ANSWERS, app.url + "/_stcore/health") is False
    visitor.goto(app.url, wait_until="commit")
    assert visitor.evaluate(OPENS, stream) is True
    assert visitor.evaluate(ANSWERS, app.url + "/_stcore/health") is True


def test_injected_markup_runs_nothing(app: App, visitor: Page) -> None:
    """Markup in the page, which no text of Themescope becomes, is harmless all the same."""
    visitor.goto(app.url, wait_until="commit")
    expect(visitor.get_by_role("heading", name="Home")).to_be_visible()
    visitor.evaluate(INJECT, INJECTED)
    assert visitor.evaluate(EVALUATES) == "EvalError"
    visitor.wait_for_function("least => window.refused.length >= least", arg=len(INJECTED))
    assert visitor.evaluate("window.ran") is None
