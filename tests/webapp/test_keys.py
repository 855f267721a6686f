"""Keys of the session and the URL: with the page's prefix, and those of the URL declared once per page."""

import re

import pytest

from themescope.core.errors import DuplicateNameError, UnknownNameError
from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.pages import PageKeys

WRITTEN = re.compile(r"""(?:\bkey=|session_state(?:\[|\.get\(|\.pop\(|\.setdefault\())["']([^"']*)""")
"""A key that is written where it is used."""
IN_ADDRESS = re.compile(r"""query_params(?:\[|\.get\(|\.pop\()["']""")


PAGES = {card.id: card.script.parent for card in REGISTRY if card.keys}


@pytest.mark.parametrize("page", PAGES)
def test_the_keys_of_a_page_begin_with_its_id(page: str) -> None:
    for path in sorted(PAGES[page].glob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert [key for key in WRITTEN.findall(text) if not key.startswith(f"{page}_")] == [], path
        assert not IN_ADDRESS.search(text), path


def test_keys_have_the_prefix_of_their_page() -> None:
    keys = PageKeys("toys")
    assert keys.url("view") == "toys_view"
    with pytest.raises(DuplicateNameError):
        keys.url("view")


def test_a_link_names_keys_without_the_prefix() -> None:
    keys = PageKeys("toys")
    keys.url("view")
    assert keys.address({"view": "Browse", "corpus": "Rivers"}) == {"toys_view": "Browse", "corpus": "Rivers"}
    with pytest.raises(UnknownNameError):
        keys.address({"veiw": "Browse"})
