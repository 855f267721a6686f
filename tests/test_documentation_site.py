"""The documentation site is built without warnings, is complete, and needs no other host."""

import re
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.site import built_once, external_links, is_external, leads_somewhere, pages, read_page, shared_site
from themescope.webapp.features import REGISTRY
from themescope.webapp.routes import api
from themescope.webapp.routes.middleware import documentation_policy

GROUPS = ("Tutorials", "How-to guides", "Explanation", "Reference")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_once(shared_site(tmp_path_factory.getbasetemp()))


def test_every_document_is_a_page_in_the_table_of_contents(site: Path) -> None:
    made = {path.relative_to(site).with_suffix("").as_posix() for path in pages(site)}
    documents = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert {path.with_suffix("").as_posix() for path in documents if "_build" not in path.parts} <= made
    text = (site / "index.html").read_text("utf-8")
    assert all(f">{group}<" in text for group in GROUPS)


def test_links_within_the_site_lead_to_a_page_and_an_anchor(site: Path) -> None:
    wrong, followed = [], 0
    for page in pages(site):
        for link in read_page(page).links:
            if not is_external(link):
                followed += 1
                if not leads_somewhere(site, page, link):
                    wrong.append((page.name, link))
    assert wrong == []
    assert followed > 1_000


def test_nothing_is_loaded_from_other_hosts_and_links_to_them_are_encrypted(site: Path) -> None:
    assert [link for link in external_links(site) if not link.startswith("https://")] == []
    loaded = {link for page in pages(site) for link in read_page(page).loaded}
    assert loaded and not any(map(is_external, loaded))
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", style.read_text("utf-8")), style


def test_the_inline_scripts_of_all_pages_are_those_of_the_policy(site: Path) -> None:
    policy = documentation_policy((site / "index.html").read_text("utf-8"))
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert "'unsafe-inline'" not in scripts and "'sha256-" in scripts
    assert {tuple(read_page(page).scripts) for page in pages(site)} == {tuple(read_page(site / "index.html").scripts)}


def test_every_section_that_pages_link_to_is_there(site: Path) -> None:
    for card in REGISTRY:
        assert "#" in card.documentation and leads_somewhere(site, site / "index.html", card.documentation), card.id
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "webapp").rglob("*.py"))
    links = set(re.findall(r'"([a-z-]+\.html#[a-z-]+)"', code))
    assert "relabelling.html#keyboard-shortcuts" in links
    assert [link for link in sorted(links) if not leads_somewhere(site, site / "index.html", link)] == []


def test_a_site_that_is_not_built_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

    monkeypatch.setattr(api, "SITE", tmp_path / "site")
    client = TestClient(Starlette(routes=api.DOCUMENTATION_ROUTES))
    answer = client.get("/docs/pages.html")
    assert (answer.status_code, answer.text) == (404, api.NOT_BUILT)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<script>a</script>", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    answer = client.get("/docs", follow_redirects=True)
    assert answer.text == "<script>a</script>" and answer.url.path == "/docs/"
    assert answer.headers["content-security-policy"] == documentation_policy("<script>a</script>")
    assert client.get("/docs/none.html").text == api.NO_SUCH_PAGE
    for path in ("/docs/../secret.txt", "/docs/%2e%2e/secret.txt", "/docs/..%2fsecret.txt"):
        assert client.get(path).status_code == 404
