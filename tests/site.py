"""The documentation site as it is built: its pages, anchors and links.

``python -m tests.site`` builds it and prints the links to other sites, which no test follows; with the variable
``TESTED_SITE`` it only builds it, there.
"""

import os
import sys
import tempfile
import time
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from tests import environments
from tests.places import ROOT

_MOST_S = 600
"""Seconds that a build takes at most: a process that was killed never says that it has ended."""
_LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "link": "href"}


def build(folder: Path) -> str:
    """Build the site into ``folder`` with what ``make run`` installs, and return what was printed."""
    options = ("--quiet", "--nitpicky", "--fail-on-warning", "--keep-going", "-b", "html")
    trees = folder.with_name(f"{folder.name}-doctrees")
    interpreter = environments.make(folder.with_name(f"{folder.name}-environment"), environments.extras_of_make_run())
    done = environments.run(interpreter, "-m", "sphinx", *options, "-d", trees, ROOT / "docs", folder, folder=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def built_once(folder: Path) -> Path:
    """Build the site into ``folder``, or wait until another process of the tests has done so; return ``folder``.

    Every process fails if the build has warnings.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    said = folder.with_name(f"{folder.name}-said.txt")
    try:
        folder.with_name(f"{folder.name}-begun").touch(exist_ok=False)
    except FileExistsError:
        deadline = time.monotonic() + _MOST_S
        while not said.exists():
            assert time.monotonic() < deadline, f"Another process has not built the site within {_MOST_S} s."
            time.sleep(0.2)
        assert said.read_text("utf-8") == "", said.read_text("utf-8")
        return folder
    result = "The build of the site failed in another process."
    try:
        result = build(folder).strip()
    finally:
        unfinished = said.with_suffix(".part")
        unfinished.write_text(result, "utf-8")
        unfinished.rename(said)
    assert result == ""
    return folder


def shared_site(base: Path) -> Path:
    """Return where the site is built once for all processes of the tests; ``base`` is the temporary folder of this one.

    ``make test`` builds it beside them in ``TESTED_SITE``.
    """
    if "TESTED_SITE" in os.environ:
        return Path(os.environ["TESTED_SITE"])
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "documentation" / "site"


class SitePage(HTMLParser):
    """Anchors, links, loaded files and inline scripts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.scripts: list[str] = []
        self._inline = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if found.get(_LOADED.get(tag, ""), "") and found.get("rel") not in ("index", "search", "next", "prev"):
            self.loaded.append(found[_LOADED[tag]])
        self._inline = tag == "script" and "src" not in found

    def handle_data(self, data: str) -> None:
        if self._inline:
            self.scripts.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._inline = False


@cache
def read_page(path: Path) -> SitePage:
    """Read a page of the site."""
    page = SitePage()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def pages(folder: Path) -> list[Path]:
    """Return the pages of a built site."""
    return sorted(path for path in folder.rglob("*.html") if "_static" not in path.parts)


def is_external(link: str) -> bool:
    """Return whether a link names a host or a scheme."""
    parts = urlsplit(link)
    return bool(parts.scheme or parts.netloc)


def leads_somewhere(folder: Path, page: Path, link: str) -> bool:
    """Return whether a link within the site names a file that is there, and an anchor in it."""
    address, anchor = urldefrag(link)
    target = (page.parent / unquote(address)).resolve() if address else page.resolve()
    if not target.is_relative_to(folder.resolve()) or not target.is_file():
        return False
    return not anchor or target.suffix != ".html" or unquote(anchor) in read_page(target).anchors


def external_links(folder: Path) -> list[str]:
    """Return the links to other sites."""
    return sorted({link for page in pages(folder) for link in read_page(page).links if is_external(link)})


if __name__ == "__main__" and "TESTED_SITE" in os.environ:
    built_once(Path(os.environ["TESTED_SITE"]))
elif __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        build(Path(name) / "site")
        sys.stdout.writelines(f"{link}\n" for link in external_links(Path(name) / "site"))
