"""Keys of the session and the URL: declared once per page, with the page's prefix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from themescope.core.errors import DuplicateNameError, UnknownNameError
from themescope.webapp import features
from themescope.webapp.features import REGISTRY
from themescope.webapp.shared.pages import PageKeys

FEATURES = Path(features.__file__).parent
BARE = re.compile(r"""key=["']|session_state(?:\[|\.get\(|\.pop\(|\.setdefault\()["']|query_params(?:\[|\.get\()["']""")
"""A key that is written where it is used."""


@pytest.mark.parametrize("page", [card.id for card in REGISTRY if card.keys])
def test_a_page_uses_declared_keys_only(page: str) -> None:
    for path in sorted((FEATURES / page).glob("*.py")):
        found = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if BARE.search(line)]
        assert found == [], path


def test_keys_have_the_prefix_of_their_page() -> None:
    keys = PageKeys("toys")
    assert (keys.url("view"), keys.session("draft")) == ("toys_view", "toys_draft")
    with pytest.raises(DuplicateNameError):
        keys.session("view")


def test_a_link_names_keys_without_the_prefix() -> None:
    keys = PageKeys("toys")
    keys.url("view")
    assert keys.address({"view": "Browse", "corpus": "Rivers"}) == {"toys_view": "Browse", "corpus": "Rivers"}
    with pytest.raises(UnknownNameError):
        keys.address({"veiw": "Browse"})
