"""Two web servers behind a real nginx, with the configuration of docs/deploy: a page survives the end of its server."""

import os
import re
import shutil
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import ROOT, environment_for, flags_for, start, stop
from tests.e2e.hands import PATIENCE_MS, WINDOW, menu, name_is
from tests.homes import MakeHome
from tests.jobs.helpers import wait_for
from tests.servers import answers, free_port
from themescope.webapp.routes.middleware import SECURITY_HEADERS

CONFIGURATION = ROOT / "docs" / "deploy" / "nginx.conf"
ROUTE = "themescope_route"


@dataclass(frozen=True)
class Installation:
    """A running installation: its files, its address, and its web servers by the cookie that leads to them."""

    folder: Path
    url: str
    web: dict[str, psutil.Popen]


def nginx() -> str | None:
    """Return the path of nginx, which Debian keeps outside of the path of users; None if it is not installed."""
    return shutil.which("nginx", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin")))


def configuration_for(folder: Path, port: int, redirect_port: int, web_ports: list[int]) -> str:
    """Return the configuration of docs/deploy with these ports of the loopback address and files in ``folder``."""
    text = CONFIGURATION.read_text(encoding="utf-8")
    text = re.sub(r"^ *listen \[::\].*\n", "", text, flags=re.MULTILINE)
    values = {
        "listen 443 ssl": f"listen 127.0.0.1:{port} ssl",
        "listen 80": f"listen 127.0.0.1:{redirect_port}",
        "8501": str(web_ports[0]),
        "8502": str(web_ports[1]),
        "themes.example.org": "127.0.0.1",
        "/etc/ssl/themescope": str(folder),
    }
    # In one pass: a free port may contain the digits of another one.
    text = re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], text)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    user = "user root;" if hasattr(os, "geteuid") and os.geteuid() == 0 else ""
    head = f"{user}\ndaemon off;\npid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
    return f"{head}http {{\naccess_log off;\n{paths}\n{text}\n}}\n"


def write_certificate(folder: Path) -> None:
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / "privkey.pem"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
    command = ["openssl", "req", "-x509", *key, *name, "-out", folder / "fullchain.pem"]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


def trusting(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(folder / "fullchain.pem"))


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory, make_home: MakeHome) -> Iterator[Installation]:
    if nginx() is None:
        pytest.skip("nginx is not installed. On Debian: apt-get install nginx-light")
    folder = tmp_path_factory.mktemp("proxied")
    home = make_home(lambda store: None).rename(folder / "home")
    port, redirect, *web_ports = (free_port() for _ in range(4))
    write_certificate(folder)
    configuration = folder / "nginx.conf"
    configuration.write_text(configuration_for(folder, port, redirect, web_ports), encoding="utf-8")
    with ExitStack() as running:
        web = {}
        for name, web_port in zip("ab", web_ports, strict=True):
            command = [sys.executable, "-m", "themescope.webapp.server", *flags_for(web_port)]
            web[name] = start(command, environment_for(home), folder / name)
            running.callback(stop, web[name])
        for web_port in web_ports:
            wait_for(lambda at=web_port: answers(f"http://127.0.0.1:{at}/readyz"), 300, 0.1)
        running.callback(stop, start([str(nginx()), "-c", str(configuration)], dict(os.environ), folder))
        wait_for(lambda: answers(f"https://127.0.0.1:{port}/healthz", trusting(folder)), 300, 0.1)
        yield Installation(folder, f"https://127.0.0.1:{port}", web)


@pytest.fixture
def page(proxied: Installation, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WINDOW, ignore_https_errors=True, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


def route(page: Page) -> str:
    return next(str(cookie["value"]) for cookie in page.context.cookies() if cookie["name"] == ROUTE)


def test_a_page_goes_on_when_its_web_server_is_killed(proxied: Installation, page: Page) -> None:
    page.goto(f"{proxied.url}/texts")
    expect(page.get_by_role("heading", name="Texts", exact=True)).to_be_visible()
    name_is(page, "Ada")
    first = route(page)
    proxied.web[first].kill()
    proxied.web[first].wait()
    wait_for(lambda: page.evaluate("1") and route(page) != first)
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
