"""The pages, one package each, and their cards.

Adding a page takes a package with a ``page.py`` and a card here. Other packages add pages through the entry points of
the group ``themescope.pages``. Features do not import each other.
"""

from __future__ import annotations

from core.registry import Registry
from db.access import Right
from webapp.shared.pages import PageCard

_DATA, _METHODS, _EXPLORE, _PEOPLE, _SYSTEM = "Text", "Methods", "Explore", "People", "System"


def _page(id: str, title: str, summary: str, icon: str, group: str, right: Right = Right.LOOK) -> PageCard:
    """Return the card of a page with view state."""
    package = f"webapp.features.{id}"
    script, keys = f"{package}.page", f"{package}.state:KEYS"
    return PageCard(
        id=id, title=title, summary=summary, factory=script, keys=keys, icon=icon, group=group, right=right,
        documentation=f"pages.html#{title.lower().replace(' ', '-')}",
    )  # fmt: skip


REGISTRY = Registry(
    "page",
    [
        PageCard(
            id="home",
            title="Home",
            summary="Corpora, models, results and running jobs at a glance.",
            factory="webapp.features.home.page",
            icon=":material/home:",
            documentation="pages.html#home",
        ),
        _page("corpora", "Corpora", "Import texts and read them.", ":material/library_books:", _DATA),
        _page(
            "triplets", "Triplets", "Sample triplets, inspect them and review them.", ":material/change_history:", _DATA
        ),
        _page("train", "Train", "Train models and look them up.", ":material/model_training:", _METHODS),
        _page(
            "compare",
            "Compare",
            "Score methods on a benchmark and test their differences.",
            ":material/leaderboard:",
            _METHODS,
        ),
        _page("paper_tables", "Paper tables", "Published numbers beside our own.", ":material/science:", _METHODS),
        _page(
            "map",
            "Map",
            "See the sentences of a corpus as points and select them.",
            ":material/scatter_plot:",
            _EXPLORE,
        ),
        _page("themes", "Themes", "Find the themes of any list of sentences.", ":material/category:", _EXPLORE),
        _page(
            "summaries",
            "Summaries",
            "Summarise documents with any model and score the summaries.",
            ":material/short_text:",
            _EXPLORE,
        ),
        _page("relabel", "Relabel", "Correct the clusters of sentences.", ":material/edit_note:", _PEOPLE),
        _page("agreement", "Agreement", "Measure how far labellings agree.", ":material/handshake:", _PEOPLE),
        _page("people", "People", "Add people and set their roles.", ":material/group:", _PEOPLE, right=Right.MANAGE),
        _page("jobs", "Jobs", "Follow, cancel and retry background jobs.", ":material/work_history:", _SYSTEM),
    ],
    plugin_group="themescope.pages",
)
