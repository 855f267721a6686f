"""Other addresses of pages, which lead to the page with its query."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from themescope.webapp.features import REGISTRY
from themescope.webapp.routes.addresses import ROUTES, addresses


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("/models", "/train"),
        ("/project", "/texts"),
        ("/data?corpus=A%20b&corpora_view=Read", "/texts?corpus=A+b&texts_view=Read"),
        ("/corpora?corpus=A&corpora_view=Import", "/import?corpus=A"),
        (
            "/relabel?corpus=A&relabel_labelling=Mine&relabel_view=Edit",
            "/code?corpus=A&code_labelling=Mine&code_view=Edit",
        ),
        ("/explore", "/map"),
        ("/search?corpus=A&search_q=gold+rush&search_in=Words", "/?find=gold+rush&corpus=A"),
        ("/search", "/?find="),
        ("/label", "/code"),
        ("/Results", "/agreement"),
        ("/lab", "/compare"),
        ("/notebook", "/errors"),
        ("/home?corpus=A", "/?corpus=A"),
        ("/Models", "/train"),
        ("/DATA?corpus=A", "/texts?corpus=A"),
        ("/Map", "/map"),
        ("/Paper-Tables/", "/?gone=paper-tables"),
        ("/summaries?corpus=A&summaries_view=Collections", "/?gone=summaries"),
        ("/models/", "/train"),
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
