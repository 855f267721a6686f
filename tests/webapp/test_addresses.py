"""Other addresses of pages, which lead to the page with its query."""

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from themescope.webapp.features import REGISTRY
from themescope.webapp.routes.addresses import ROUTES, other_addresses


@pytest.mark.parametrize(
    ("asked", "page"),
    [
        ("/models", "/train"),
        ("/data?corpus=A%20b&corpora_view=Read", "/corpora?corpus=A%20b&corpora_view=Read"),
        ("/explore", "/map"),
        ("/error-notebook", "/notebook"),
        ("/home?corpus=A", "/?corpus=A"),
    ],
)
def test_titles_and_places_lead_to_the_page(asked: str, page: str) -> None:
    answer = TestClient(Starlette(routes=ROUTES)).get(asked, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, page)


def test_no_page_is_hidden_and_every_redirect_arrives() -> None:
    pages = {card.id for card in REGISTRY if card.id != "home"}
    assert not pages & {*other_addresses()}
    assert {*other_addresses().values()} <= pages | {""}
