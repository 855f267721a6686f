"""Pages that job kinds name in their cards."""

import pytest

from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.kinds import JobCard
from themescope.webapp.features import REGISTRY as PAGES


@pytest.mark.parametrize("card", KINDS, ids=lambda card: card.id)
def test_a_kind_names_pages_and_view_parameters_that_exist(card: JobCard) -> None:
    assert set(card.pages) <= set(PAGES.ids())
    if card.link is not None:
        keys = PAGES.get(card.link.page).page_keys()
        if keys is not None:
            keys.address({**card.link.view, **dict.fromkeys(card.link.names, "")})
