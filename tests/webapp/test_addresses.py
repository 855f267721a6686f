"""Addresses of pages and views, and the keys that they name."""

import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from themescope.core.errors import DuplicateNameError, UnknownNameError
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.kinds import JobCard
from themescope.webapp.features import REGISTRY
from themescope.webapp.routes.api import ADDRESSES as ROUTES
from themescope.webapp.routes.api import addresses
from themescope.webapp.shared.pages import PageKeys


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("/models", "/train"),
        ("/project", "/texts"),
        ("/data?corpus=A%20b&corpora_view=Read", "/texts?corpus=A+b&texts_view=Read"),
        ("/corpora?corpus=A&corpora_view=Import", "/import?corpus=A"),
        ("/relabel?relabel_labelling=Mine&relabel_view=Edit", "/code?code_labelling=Mine&code_view=Edit"),
        (
            "/selections?corpus=A&selections_open=7&selections_part=Pair",
            "/map?corpus=A&map_selection=7&selections_part=Pair",
        ),
        ("/explore", "/map"),
        ("/search?corpus=A&search_q=gold+rush&search_in=Words", "/?find=gold+rush&corpus=A"),
        ("/search", "/?find="),
        ("/label", "/code"),
        ("/Results", "/counts"),
        ("/lab", "/compare"),
        ("/notebook", "/errors"),
        ("/home?corpus=A", "/?corpus=A"),
        ("/DATA?corpus=A", "/texts?corpus=A"),
        ("/Map", "/map"),
        ("/Paper-Tables/", "/?gone=paper-tables"),
        ("/summaries?corpus=A&summaries_view=Collections", "/?gone=summaries"),
        ("/Themes/?corpus=A", "/themes?corpus=A"),
    ],
)
def test_titles_and_places_lead_to_the_page(asked: str, page: str) -> None:
    answer = TestClient(Starlette(routes=ROUTES)).get(asked, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, page)


def test_no_page_is_hidden_and_every_redirect_arrives() -> None:
    client, pages = TestClient(Starlette(routes=ROUTES)), {card.id for card in REGISTRY if card.id != "home"}
    assert {client.get(f"/{page}", follow_redirects=False).status_code for page in pages} == {404}
    assert {*addresses().values()} == pages | {""}


WRITTEN = re.compile(r"""(?:\bkey=|session_state(?:\[|\.get\(|\.pop\(|\.setdefault\())["']([^"']*)""")
"""A key that is written where it is used."""
IN_ADDRESS = re.compile(r"""query_params(?:\[|\.get\(|\.pop\()["']""")
SCRIPTS = {card.id: card.script.parent for card in REGISTRY if card.keys}


@pytest.mark.parametrize("page", SCRIPTS)
def test_the_keys_of_a_page_begin_with_its_id(page: str) -> None:
    for path in sorted(SCRIPTS[page].glob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert [key for key in WRITTEN.findall(text) if not key.startswith(f"{page}_")] == [], path
        assert not IN_ADDRESS.search(text), path


def test_keys_have_the_prefix_of_their_page_and_links_name_them_without() -> None:
    keys = PageKeys("toys")
    assert keys.url("view") == "toys_view"
    with pytest.raises(DuplicateNameError):
        keys.url("view")
    assert keys.address({"view": "Browse", "corpus": "Rivers"}) == {"toys_view": "Browse", "corpus": "Rivers"}
    with pytest.raises(UnknownNameError):
        keys.address({"veiw": "Browse"})


@pytest.mark.parametrize("card", KINDS, ids=lambda card: card.id)
def test_a_kind_names_pages_and_view_parameters_that_exist(card: JobCard) -> None:
    assert set(card.pages) <= set(REGISTRY.ids())
    if card.link is not None:
        keys = REGISTRY.get(card.link.page).page_keys()
        if keys is not None:
            keys.address({**card.link.view, **dict.fromkeys(card.link.names, "")})
